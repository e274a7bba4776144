//! The budget of each level of groups.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::mechanism::Ide;
use crate::mechanism::ide::noise::Cost;
use crate::mechanism::ide::partition::Partition;
use crate::privacy::NoiseForm;

/// How the levels of groups share the budget, for sizes and answers together.
///
/// A level of G groups has noise of stddev `σ` on each count, and thus noise of `σ G/n` on a frequency within a group
/// of mean size. Gaussian noise at cost ρ has `σ ∝ 1/√ρ`, Laplace noise at cost ε has `σ ∝ 1/ε`. If all levels have
/// equally many answers, the sum of the levels' expected L1 errors is least at shares proportional to
///
/// ```text
/// G^(2/3)   with Gaussian noise,      √G   with Laplace noise
/// ```
///
/// (`docs/theory/run.md`, section 9): one state with 95 areas gets 0.046 of ρ, and its areas get the rest. The numbers
/// of groups follow from the schema, so they are public.
///
/// ```
/// use jointly::mechanism::LevelShares;
/// assert_eq!("12,88".parse::<LevelShares>()?, LevelShares::Given(vec![12.0, 88.0]));
/// assert_eq!(LevelShares::Equal.to_string(), "equal");
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LevelShares {
    /// Shares by the number of groups, as above.
    #[default]
    ByGroups,
    /// Equal shares, as published.
    Equal,
    /// Shares in proportion to these numbers, outermost level first; one number above 0 per level.
    Given(Vec<f64>),
}

impl LevelShares {
    /// The weight of each level. `groups`: the number of groups at each level, outermost first.
    fn weights(&self, noise: NoiseForm, groups: &[u64]) -> Result<Vec<f64>> {
        let power = match noise {
            NoiseForm::Gaussian => 2.0 / 3.0,
            NoiseForm::Laplace => 0.5,
        };
        match self {
            Self::ByGroups => {
                Ok(groups.iter().map(|groups| (*groups as f64).powf(power)).collect())
            }
            Self::Equal => Ok(vec![1.0; groups.len()]),
            Self::Given(shares) => {
                let is_share = |share: &f64| *share > 0.0 && share.is_finite();
                if shares.len() != groups.len() || !shares.iter().all(is_share) {
                    let found = format!("{shares:?} for {} levels", groups.len());
                    let expected = "a number above 0 for each level of groups";
                    return Err(Error::invalid_parameter("level shares", found, expected));
                }
                Ok(shares.clone())
            }
        }
    }
}

impl Display for LevelShares {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ByGroups => f.write_str("by-groups"),
            Self::Equal => f.write_str("equal"),
            Self::Given(shares) => {
                let shares: Vec<String> = shares.iter().map(f64::to_string).collect();
                f.write_str(&shares.join(","))
            }
        }
    }
}

impl From<LevelShares> for String {
    fn from(shares: LevelShares) -> Self {
        shares.to_string()
    }
}

impl TryFrom<String> for LevelShares {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl FromStr for LevelShares {
    type Err = Error;

    /// Parses `by-groups`, `equal`, or numbers separated by commas.
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "by-groups" => Ok(Self::ByGroups),
            "equal" => Ok(Self::Equal),
            numbers => {
                let shares = numbers.split(',').map(|share| share.trim().parse::<f64>());
                let shares = shares.collect::<std::result::Result<Vec<_>, _>>();
                shares.map(Self::Given).map_err(|_| {
                    let expected = "by-groups, equal, or numbers separated by commas";
                    Error::invalid_parameter("level shares", text, expected)
                })
            }
        }
    }
}

/// The budget of one level.
pub(super) struct LevelBudget {
    /// `None` where sizes are public.
    pub(super) sizes: Option<Cost>,
    pub(super) answers: Cost,
}

/// The parts of the budget, fixed before the first measurement.
pub(super) struct Levels {
    first: usize,
    budgets: Vec<LevelBudget>,
}

impl Levels {
    /// Computes the shares of all levels. The shares of public sizes are divided among all other parts.
    ///
    /// `records`: n, if public.
    ///
    /// # Errors
    /// Invalid shares, or a part so small that it rounds to zero.
    pub(super) fn new(
        settings: &Ide,
        domain: &Domain,
        partition: &Partition,
        records: Option<u64>,
        budget: Cost,
    ) -> Result<Self> {
        let depths = partition.depths();
        let groups = depths.clone().map(|depth| partition.number(domain, depth));
        let weights = settings.level_shares.weights(settings.noise, &groups.collect::<Vec<_>>())?;
        // A single group, with a public number of records.
        let is_public =
            |depth| records.is_some() && domain.cells(&partition.clique(depth)) == Some(1);
        let share = settings.answer_share;
        let parts: Vec<(f64, f64)> = depths
            .clone()
            .zip(&weights)
            .map(|(depth, weight)| {
                let sizes = if is_public(depth) { 0.0 } else { 1.0 - share };
                (weight * sizes, weight * share)
            })
            .collect();
        let whole: f64 = parts.iter().map(|(sizes, answers)| sizes + answers).sum();
        let budget = |(sizes, answers): &(f64, f64)| -> Result<LevelBudget> {
            let answers = budget.part(*answers, whole)?;
            let sizes = if *sizes > 0.0 { Some(budget.part(*sizes, whole)?) } else { None };
            Ok(LevelBudget { sizes, answers })
        };
        let budgets = parts.iter().map(budget).collect::<Result<_>>()?;
        Ok(Self { first: *depths.start(), budgets })
    }

    /// The budget of a level, and whether it is the last. `None`: no such level.
    pub(super) fn at(&self, depth: usize) -> Option<(&LevelBudget, bool)> {
        let level = depth.checked_sub(self.first)?;
        Some((self.budgets.get(level)?, level + 1 == self.budgets.len()))
    }
}

#[cfg(test)]
mod tests;
