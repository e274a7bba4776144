//! What a statistic rests on, and what is known about it if that is not enough.

use serde::{Deserialize, Serialize};

use crate::combine::CombinedEstimate;
use crate::combine::fit::Fit;
use crate::combine::statistic::{Design, Link, Source};
use crate::combine::student::two_sided_quantile;
use crate::data::{Dataset, Projectable};
use crate::domain::{Domain, Schema};
use crate::error::Result;
use crate::error_bars::{CONFIDENCE, Interval};
use crate::model::{Accuracy, Basis, EMPTY};

/// What a statistic rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Support {
    /// It is a function of counts that follow from what was measured privately.
    Measured,
    /// It is a function of a marginal that was taken from a public table, whose distance from the private one no replicate
    /// shows.
    Public,
    /// It needs a marginal that follows from the model.
    Model,
}

impl Support {
    /// The name, for readers: `measured`, `public`, `model`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Public => "public",
            Self::Model => "model",
        }
    }
}

impl Design {
    /// What the statistic rests on: whether all counts that it is a function of follow from what was measured.
    pub fn support(&self, domain: &Domain, accuracy: &Accuracy) -> Support {
        if self.needed().iter().all(|clique| accuracy.measured.determines(domain, clique)) {
            return Support::Measured;
        }
        match accuracy.rests_on(domain, &self.clique) {
            Basis::Public => Support::Public,
            _ => Support::Model,
        }
    }

    /// An interval for a share, a mean or a difference of these from the measured error e of a marginal that includes
    /// theirs: within a group that is a share p of the released records, a mean of numbers from a to b differs by at most
    /// `(b − a) e / (2 p)` (`docs/theory/several-tables.md`). `None` for regressions, or if no such error was measured.
    pub(super) fn bound(
        &self,
        schema: &Schema,
        released: &Dataset,
        accuracy: &Accuracy,
        own: &Fit,
    ) -> Result<Option<Interval>> {
        let is_mean = self.terms.is_empty() && self.link == Link::Identity;
        if !is_mean && self.either.is_none() {
            return Ok(None);
        }
        let domain = schema.domain();
        let larger = accuracy.at_most.iter().filter(|(c, _)| self.clique.is_subset(c));
        // The smallest bound of several would cover less often: the choice looks at no measured number.
        let chosen = larger.min_by_key(|(c, _)| (domain.cells(c).unwrap_or(u64::MAX), c));
        let Some((estimate, (_, error))) = own.values[self.reported].zip(chosen) else {
            return Ok(None);
        };
        let counts = released.project(&self.clique)?;
        let shape = domain.shape(&self.clique);
        // Records that count, those of the first group and those of the second.
        let mut groups = [0.0_f64; 2];
        self.each_cell(&shape, |cell, row| {
            if let Some((_, x)) = row {
                let second = x.get(1).is_some_and(|is_first| *is_first == 0.0);
                groups[usize::from(second)] += f64::from(counts[cell]);
            }
        });
        let (low, high) = self.response.range();
        let groups = groups.iter().take(if self.either.is_some() { 2 } else { 1 });
        let shares = groups.map(|records| released.records() as f64 / records);
        let half = (high - low) * error / 2.0 * shares.sum::<f64>();
        Ok(Some(self.cut(Interval { estimate, lower: estimate - half, upper: estimate + half })))
    }

    /// A bound for the private table as one for the population that it is a random sample of.
    ///
    /// `sampling`: the variance of the statistic in such a sample; 0 for the private table itself.
    pub(super) fn widened(&self, bound: Interval, sampling: f64) -> Interval {
        // The measured error fails in one half of 1 - CONFIDENCE: it is the upper end of a two-sided interval. The sample
        // may fail in the other half.
        let half = two_sided_quantile((1.0 - CONFIDENCE) / 2.0, f64::INFINITY) * sampling.sqrt();
        self.cut(Interval { lower: bound.lower - half, upper: bound.upper + half, ..bound })
    }

    /// An estimate with the part of its interval in which the statistic can be. A share is empty below three standard
    /// deviations of the noise, as a count is.
    ///
    /// `noise`: the variance that it has from the noise.
    pub(super) fn within(&self, found: CombinedEstimate, noise: f64) -> CombinedEstimate {
        let is_mean = self.terms.is_empty() && self.link == Link::Identity;
        if !is_mean && self.either.is_none() {
            return found;
        }
        let CombinedEstimate { estimate, lower, upper, .. } = found;
        let Interval { lower, upper, .. } = self.cut(Interval { estimate, lower, upper });
        let is_share = is_mean && matches!(self.response, Source::Is(_));
        let is_empty = is_share && estimate < EMPTY * noise.sqrt();
        CombinedEstimate { lower: if is_empty { 0.0 } else { lower }, upper, ..found }
    }

    /// The part of an interval in which the statistic can be.
    fn cut(&self, interval: Interval) -> Interval {
        let (low, high) = self.response.range();
        let (least, most) =
            if self.either.is_some() { (low - high, high - low) } else { (low, high) };
        let cut = |x: f64| x.clamp(least, most);
        Interval { lower: cut(interval.lower), upper: cut(interval.upper), ..interval }
    }
}

#[cfg(test)]
mod tests;
