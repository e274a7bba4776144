//! What the records of a weighted release are.

use serde::{Deserialize, Serialize};

/// What the records of a release for a population are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Emission {
    /// Members of the population, which all count the same. There is no weight.
    #[default]
    Population,
    /// Records like those of the sample, or of a list that is reweighted, with weights under which they stand for the population.
    Weighted,
}

impl Emission {
    /// The names, each with its meaning.
    pub const NAMES: &'static [(&'static str, &'static str)] = &[
        ("population", "Members of the population, which all count the same; no weight"),
        ("weighted", "Records with weights under which they stand for the population"),
    ];
}
