//! What may be published of half-planes.

use serde::{Deserialize, Serialize};

use super::bracket::bracket;
use super::cover::{everything, labels};
use super::linear::Linear;
use crate::data::HalfPlane;
use crate::error::{Error, Result};
use crate::pap::{Answer, HalfPlanes, stored};
use crate::privacy::{Ledger, NeighboringRelation};

/// A side of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The half-plane.
    Inside = 0,
    /// All other points.
    Outside = 1,
}

/// One side of one of the lines of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlaneSide {
    /// Place of the half-plane among those of the release.
    pub line: usize,
    /// The side.
    pub side: Side,
}

/// The share of all records on one side of a line, as a round measured it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredSide {
    /// Which side.
    pub side: PlaneSide,
    /// The measured share, clipped to [0, 1], and its bracket.
    pub share: Answer,
}

/// Shares of records in the half-planes of two columns. All of it may be published if [`is_private`](Self::is_private) holds,
/// and answers cost nothing more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HalfPlaneRelease {
    /// The columns of x and y.
    pub columns: [String; 2],
    /// The public points.
    pub points: Vec<[f64; 2]>,
    /// A half-plane for each way in which a line divides them.
    pub lines: Vec<HalfPlane>,
    /// The share of all records in each half-plane.
    pub shares: Vec<f64>,
    /// The share of records that lack a number.
    pub missing: f64,
    /// The number of records: exact where it is public, otherwise measured.
    pub records: f64,
    /// What the rounds measured, in order.
    pub measured: Vec<MeasuredSide>,
    /// Probability that the brackets of all queries hold at once.
    pub confidence: f64,
    /// The neighboring relation of the guarantee.
    pub relation: NeighboringRelation,
    /// False if the noise came from a fixed seed.
    pub is_private: bool,
    /// What was spent, with two entries for each round.
    pub ledger: Ledger,
}

const VERSION: u32 = 1;

impl HalfPlaneRelease {
    /// The form of the file.
    pub const FORMAT: &str = "jointly-half-planes";

    /// The share of all records that a query holds for, records that lack a number among all.
    ///
    /// The value is that of the half-plane of the cover that holds the same public points, the last step of the paper. The
    /// bracket follows from the measured sides alone, whatever the public points are.
    ///
    /// # Errors
    /// Another column, or only weights of 0.
    pub fn answer(&self, query: &Linear) -> Result<Answer> {
        let half = query.half_plane(&self.columns)?;
        let value = self.nearest(&half);
        let [low, high] = bracket(&half, &self.lines, &self.measured);
        Ok(Answer { value, low: low.min(value), high: high.max(value) })
    }

    /// The share of the half-plane of the cover that labels the points as another does, but for rounding as many as may be.
    pub(in crate::pap) fn nearest(&self, half: &HalfPlane) -> f64 {
        let (all, wanted) = (everything(self.points.len()), labels(half, &self.points));
        let present = 1.0 - self.missing;
        let of_cover = self.lines.iter().zip(&self.shares).flat_map(|(line, share)| {
            let own = labels(line, &self.points);
            [(own, *share), (all & !own, (present - share).max(0.0))]
        });
        let both = [(0, 0.0), (all, present)].into_iter().chain(of_cover);
        let nearest = both.min_by_key(|(own, _)| (own ^ wanted).count_ones());
        nearest.map_or(0.0, |(_, share)| share)
    }

    /// The text of a file that [`from_json`](Self::from_json) reads.
    ///
    /// # Errors
    /// Never fails in practice: all numbers are finite.
    pub fn to_json(&self) -> Result<String> {
        stored::write(Self::FORMAT, VERSION, self)
    }

    /// Reads the text of a file. `name` stands for the file in errors.
    ///
    /// # Errors
    /// Text of another form; shares that are none, or of other lines.
    pub fn from_json(text: &str, name: &str) -> Result<Self> {
        let form = "a release of half-planes as written by 'jointly thresholds'";
        let wrong = |found: &str| Err(Error::invalid_specification(name, found, form));
        let release: Self = stored::read(text, name, form, (Self::FORMAT, VERSION))?;
        let is_share = |share: &f64| (0.0..=1.0).contains(share);
        let is_inside = 0.0 < release.confidence && release.confidence < 1.0;
        if !is_inside || release.records.is_nan() || release.records < 1.0 {
            return wrong("a confidence outside (0, 1), or no record");
        }
        if !(2..=HalfPlanes::MOST).contains(&release.points.len())
            || release.lines.is_empty()
            || release.lines.len() != release.shares.len()
            || release.columns[0] == release.columns[1]
        {
            return wrong("points, lines or shares of another number");
        }
        let is_of_lines = |measured: &MeasuredSide| {
            measured.side.line < release.lines.len() && measured.share.is_valid()
        };
        if !release.shares.iter().chain([&release.missing]).all(is_share)
            || !release.measured.iter().all(is_of_lines)
        {
            return wrong("shares outside [0, 1] or their brackets, or of no line");
        }
        Ok(release)
    }
}
