//! Worst-case bounds of reweighting public records, and how many of them suffice. They read no data.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::privacy::Rho;

/// Most rounds that [`ReweightingBound::best`] considers.
const MOST_ROUNDS: u32 = 100_000;

/// An upper bound on the largest error of a query after PMW^Pub (Liu et al. 2021) in its published form, from numbers
/// that are known before the run. With probability at least 1 − β over the noise, for T rounds, every query's answer by
/// the mean of the T distributions before each round is within
///
/// ```text
/// B + f + √( 4 ln(m) / T  +  (f + N)² ),
///     B = (2/n) √( T / (8 (1 − α) ρ) ) ln(2 T |Q| / β),     N = (1/n) √( T ln(4 T / β) / (α ρ) )
/// ```
///
/// of the private table's, as a share of the records. The proof, with all constants, is ours: `docs/theory/pmw-pub.md`.
/// It is for single queries, replace-one neighbors, and a query that may be chosen again. This crate's mechanism learns
/// from past queries and publishes the last distribution by default, which no bound covers; with `Reuse::Own` and
/// `Iterate::Average` it is within 1/T more. As all worst cases, the bound is far above usual errors. It shows how the
/// error changes with n, ρ, m and f.
///
/// ```
/// use jointly::{Budget, mixture_error::ReweightingBound};
/// let bound = ReweightingBound {
///     records: 1_000_000,
///     rho: Budget::approximate(1.0, 1e-9)?.rho(),
///     measure_share: 0.5,
///     public_records: 10_000,
///     queries: 50_000,
///     mixture_error: 0.01,
///     failure: 0.05,
/// };
/// let (rounds, error) = bound.best()?;
/// assert!(rounds > 100 && error > 0.01 && error < 0.2);
/// assert!(bound.error(rounds / 4)? > error);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReweightingBound {
    /// n, the number of private records; at least 1.
    pub records: u64,
    /// ρ of the run; above 0.
    pub rho: Rho,
    /// α, the share of a round's budget for measuring; strictly between 0 and 1.
    pub measure_share: f64,
    /// m, the number of public records, repeated ones included; at least 1.
    pub public_records: u64,
    /// |Q|, the number of single queries: all cells of the workload; at least 1.
    pub queries: u64,
    /// f, the best mixture error of the public records, or an upper bound; from 0 to 1.
    pub mixture_error: f64,
    /// β, the probability that the bound fails; strictly between 0 and 1.
    pub failure: f64,
}

/// A bound at its best number of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WorstCase {
    /// The numbers it was computed from.
    #[serde(flatten)]
    pub bound: ReweightingBound,
    /// The number of rounds with the least bound.
    pub rounds: u32,
    /// The bound: the largest error of a query, as a share of the records; 1 says nothing.
    pub error: f64,
    /// The number of public records, drawn like the private ones, that suffice for the mixture error; `None` if that is
    /// 0 or 1.
    pub sufficient_records: Option<u64>,
}

impl ReweightingBound {
    fn check(&self) -> Result<()> {
        let counts = [
            ("records", self.records),
            ("public records", self.public_records),
            ("queries", self.queries),
        ];
        if let Some((name, found)) = counts.into_iter().find(|(_, found)| *found == 0) {
            return Err(Error::invalid_parameter(name, found, "at least 1"));
        }
        share("measure share", self.measure_share)?;
        share("failure", self.failure)?;
        if !(0.0..=1.0).contains(&self.mixture_error) {
            return Err(Error::invalid_parameter(
                "mixture error",
                self.mixture_error,
                "from 0 to 1",
            ));
        }
        if self.rho.is_zero() {
            return Err(Error::invalid_budget("rho", 0.0, "above 0"));
        }
        Ok(())
    }

    /// The bound after `rounds` rounds, as a share of the records; at most 1, which says nothing.
    ///
    /// # Errors
    /// No round, or a number outside its range.
    pub fn error(&self, rounds: u32) -> Result<f64> {
        self.check()?;
        if rounds == 0 {
            return Err(Error::invalid_parameter("rounds", rounds, "at least 1"));
        }
        Ok(self.after(f64::from(rounds)).min(1.0))
    }

    /// The formula, for numbers in range.
    fn after(&self, rounds: f64) -> f64 {
        let (records, rho) = (self.records as f64, self.rho.to_f64());
        let choice = (rounds / (8.0 * (1.0 - self.measure_share) * rho)).sqrt();
        let choice =
            2.0 / records * choice * (2.0 * rounds * self.queries as f64 / self.failure).ln();
        let noise =
            (rounds * (4.0 * rounds / self.failure).ln() / (self.measure_share * rho)).sqrt();
        let noise = noise / records;
        let start = 4.0 * (self.public_records as f64).ln() / rounds;
        choice + self.mixture_error + (start + (self.mixture_error + noise).powi(2)).sqrt()
    }

    /// The bound at its best number of rounds, and the public records that its mixture error takes.
    ///
    /// # Errors
    /// As [`best`](Self::best) and [`sufficient_public_records`].
    pub fn worst_case(self) -> Result<WorstCase> {
        let (rounds, error) = self.best()?;
        let target = Some(self.mixture_error).filter(|f| *f > 0.0 && *f < 1.0);
        let records = |f| sufficient_public_records(self.queries, f, self.failure, 1.0);
        let sufficient_records = target.map(records).transpose()?;
        Ok(WorstCase { bound: self, rounds, error, sufficient_records })
    }

    /// The number of rounds with the least bound, at most 100,000, and the bound, at most 1. The number follows from
    /// public numbers only.
    ///
    /// # Errors
    /// A number outside its range.
    pub fn best(&self) -> Result<(u32, f64)> {
        self.check()?;
        let all = (1..=MOST_ROUNDS).map(|rounds| (rounds, self.after(f64::from(rounds))));
        let best = all.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((1, 1.0));
        Ok((best.0, best.1.min(1.0)))
    }
}

/// The number of public records that suffice for a best mixture error of at most `error`, with probability at least 1 −
/// `failure` over their draw (`docs/theory/pmw-pub.md`).
///
/// `queries`: |Q|, at least 1. `error` and `failure`: strictly between 0 and 1. `ratio`: κ, at least 1; public records
/// are drawn independently from a distribution R with D(x) ≤ κ R(x) for every record x, where D is the private table.
/// With κ = 1 they are drawn from the private table's distribution, and m = ln(2 |Q| / β) / (2 f²) is enough.
///
/// ```
/// use jointly::mixture_error::sufficient_public_records;
/// assert_eq!(sufficient_public_records(1_000, 0.01, 0.05, 1.0)?, 52_984);
/// assert_eq!(sufficient_public_records(1_000, 0.01, 0.05, 4.0)?, 228_393);
/// # Ok::<(), jointly::Error>(())
/// ```
///
/// # Errors
/// A number outside its range, or more than 2⁵² records.
pub fn sufficient_public_records(
    queries: u64,
    error: f64,
    failure: f64,
    ratio: f64,
) -> Result<u64> {
    if queries == 0 {
        return Err(Error::invalid_parameter("queries", queries, "at least 1"));
    }
    share("mixture error", error)?;
    share("failure", failure)?;
    if !(ratio >= 1.0 && ratio.is_finite()) {
        return Err(Error::invalid_parameter("ratio", ratio, "a finite number of at least 1"));
    }
    let alike =
        |failure: f64| ((2.0 * queries as f64 / failure).ln() / (2.0 * error * error)).ceil();
    let enough = if ratio > 1.0 {
        // Half of the failures are of the sample, half of its size.
        let twice = 2.0 * (2.0 / failure).ln();
        let root = twice.sqrt().midpoint((twice + 4.0 * alike(failure / 2.0)).sqrt());
        (ratio * root * root).ceil()
    } else {
        alike(failure)
    };
    let most = (1_u64 << 52) as f64;
    if enough > most {
        let place = format!("public records for a mixture error of {error}");
        return Err(Error::too_large(place, Some(enough), most, "records"));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 2^52")]
    Ok(enough as u64)
}

fn share(name: &'static str, found: f64) -> Result<()> {
    if found > 0.0 && found < 1.0 {
        return Ok(());
    }
    Err(Error::invalid_parameter(name, found, "strictly between 0 and 1"))
}

#[cfg(test)]
mod tests;
