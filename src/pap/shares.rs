//! A release of any class, by its file.

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::pap::{Answer, Answering, HalfPlaneRelease, PapRelease};

/// A release of any class, which answers questions in words.
#[derive(Clone, Debug, PartialEq)]
pub enum Shares {
    /// Of columns between cuts.
    Cuts(PapRelease),
    /// Of half-planes of two columns.
    HalfPlanes(HalfPlaneRelease),
}

/// What all files have.
#[derive(Deserialize)]
struct Head {
    format: String,
}

impl Shares {
    /// Reads the text of a file of either form. `name` stands for the file in errors.
    ///
    /// # Errors
    /// As [`PapRelease::from_json`] and [`HalfPlaneRelease::from_json`].
    pub fn from_json(text: &str, name: &str) -> Result<Self> {
        match serde_json::from_str::<Head>(text) {
            Ok(head) if head.format == HalfPlaneRelease::FORMAT => {
                Ok(Self::HalfPlanes(HalfPlaneRelease::from_json(text, name)?))
            }
            _ => Ok(Self::Cuts(PapRelease::from_json(text, name)?)),
        }
    }

    /// The text of a file that [`from_json`](Self::from_json) reads.
    ///
    /// # Errors
    /// Never fails in practice: all numbers are finite.
    pub fn to_json(&self) -> Result<String> {
        match self {
            Self::Cuts(release) => release.to_json(),
            Self::HalfPlanes(release) => release.to_json(),
        }
    }

    /// Answers a question: a [`Query`](crate::pap::Query), or of half-planes a [`Linear`](crate::pap::Linear) one. Half-planes
    /// are always answered as the nearest of the cover.
    ///
    /// # Errors
    /// A text of another form, or a column that was not released.
    pub fn answer(&self, question: &str, answering: Answering) -> Result<Answer> {
        match self {
            Self::Cuts(release) => release.answer_by(&question.parse()?, answering),
            Self::HalfPlanes(release) => release.answer(&question.parse()?),
        }
    }

    /// A quantile of a column, as of [`PapRelease::quantile`].
    ///
    /// # Errors
    /// As there; half-planes, which have none.
    pub fn quantile(&self, column: &str, p: f64) -> Result<Answer> {
        match self {
            Self::Cuts(release) => release.quantile(column, p),
            Self::HalfPlanes(_) => {
                let expected = "a release of shares between cuts";
                let found = "a release of half-planes";
                Err(Error::invalid_specification("quantile", found, expected))
            }
        }
    }

    /// Probability that the brackets of all questions hold at once.
    pub fn confidence(&self) -> f64 {
        match self {
            Self::Cuts(release) => release.confidence,
            Self::HalfPlanes(release) => release.confidence,
        }
    }

    /// False if the noise came from a fixed seed.
    pub fn is_private(&self) -> bool {
        match self {
            Self::Cuts(release) => release.is_private,
            Self::HalfPlanes(release) => release.is_private,
        }
    }
}
