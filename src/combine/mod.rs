//! Valid inference from a release: estimates, intervals and tests of shares, means, differences and coefficients of
//! regressions.
//!
//! A release is one draw of a mechanism. An analyst who treats its records as the real ones takes the noise, and what the
//! model left out, for facts. What was measured about a statistic shows how far off it is ([`MeasuredStatistic`]): where it is a
//! function of counts that follow from what was measured ([`crate::least_squares`]), the law of the noise gives the interval,
//! whatever the model did. Logistic regressions of which only pairs were measured have intervals from tables that are drawn from
//! the posterior distribution of the private one ([`Imputation`]).
//!
//! Other statistics have at most the bound of the measured errors ([`Finding::bound`]). Replicates, the mechanism run again on the
//! *released* records ([`crate::mechanism::Replication`]), show how far its results lie from its input, at no privacy cost;
//! dependence that the model left out is in no replicate either, and intervals from them
//! ([`CombinedEstimate::of_replicates`]) cover too little, so that they are only listed. Guide: `docs/guide/several-tables.md`;
//! derivation: `docs/theory/several-tables.md`.

mod fit;
mod imputed;
mod measured;
mod of_file;
mod rules;
mod score_region;
mod statistic;
mod student;
mod support;

use serde::Serialize;

use crate::data::Dataset;
use crate::domain::Schema;
use crate::error::{Error, Result};
use crate::error_bars::Interval;
use crate::model::Accuracy;

use measured::Sample;

pub use imputed::Imputation;
pub use measured::MeasuredStatistic;
pub use of_file::{Combined, CombinedStatistic, StatisticTexts};
pub use rules::{CombinedEstimate, Method, Target};
pub use statistic::{Design, Statistic};
pub use support::Support;

/// One number of a statistic, with what is known about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The statistic, or a coefficient of it.
    pub name: String,
    /// Its value on the released table; `None` if it is not determined there.
    pub released: Option<f64>,
    /// Its values on the replicates, for comparison: the interval does not rest on them.
    pub replicates: Vec<Option<f64>>,
    /// What it rests on.
    pub support: Support,
    /// The estimate and the interval; `None` unless the statistic is supported, or posterior tables say something of it, and the
    /// noise is small enough.
    pub combined: Option<CombinedEstimate>,
    /// The p value of the test that it is 0, two-sided, where such a test makes sense and there is an interval.
    pub p_value: Option<f64>,
    /// For a statistic that is not supported: an interval from the measured error of the released table, if it was
    /// measured.
    pub bound: Option<Interval>,
}

impl Statistic {
    /// Estimates a statistic from a released table and its replicates.
    ///
    /// `replicates`: may be empty; the statistic's value on each is listed. `accuracy`: what the release measured, from its model
    /// file. `target`: what the interval is about. `imputation`: draws tables from the posterior distribution of the private one for
    /// logistic regressions that no measured marginal holds.
    ///
    /// ```
    /// use jointly::{AnchorPgm, Budget, Dataset, Mechanism, NeighboringRelation, NoiseSeed, Schema, Silent, Task, Workload};
    /// use jointly::combine::{Statistic, Target};
    /// let schema = Schema::from_json(r#"{"sex": 2, "work": 2}"#, "domain.json")?;
    /// let rows: Vec<[u32; 2]> = (0..2000).map(|i| [i % 2, (i / 2) % 2]).collect();
    /// let private = Dataset::from_rows(schema.domain(), &rows)?;
    /// let workload = Workload::all_k_way(&schema.domain(), 2)?;
    /// let mut curator = Budget::approximate(1.0, 1e-9)?.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::Fixed(1))?;
    /// let release = AnchorPgm::default().run(&mut curator, &Task::new(&workload, &[]), &mut Silent)?;
    /// let table = release.rows(2000, Default::default(), &mut jointly::rand::rng())?;
    /// let work = Statistic::share("work=1", &schema)?;
    /// let found = work.combine(&schema, &table, &[], &release.accuracy(), Target::PrivateTable, None)?;
    /// let combined = found[0].combined.as_ref().unwrap();
    /// assert!(combined.lower < combined.estimate && combined.estimate < combined.upper);
    /// # Ok::<(), jointly::Error>(())
    /// ```
    ///
    /// # Errors
    /// Tables over another domain than the schema's, or replicates of another number of records than the released table's.
    pub fn combine(
        &self,
        schema: &Schema,
        released: &Dataset,
        replicates: &[Dataset],
        accuracy: &Accuracy,
        target: Target,
        imputation: Option<Imputation<'_>>,
    ) -> Result<Vec<Finding>> {
        let design = self.design(schema, released)?;
        for (number, table) in (1..).zip(replicates) {
            schema.domain().check_same(table.domain(), &format!("replicate {number}"))?;
            if table.records() != released.records() {
                return Err(Error::invalid_specification(
                    format!("replicate {number}"),
                    format!("{} records", table.records()),
                    format!("{}, as in the released table", released.records()),
                ));
            }
        }
        let own = design.on_records(released);
        let others: Vec<_> = replicates.iter().map(|table| design.on_records(table)).collect();
        let support = design.support(&schema.domain(), accuracy);
        // The private table may have another number of records than the released one.
        let shrinks = released.records() as f64 / accuracy.total;
        let sample = match target {
            Target::PrivateTable => None,
            Target::Population => Some(Sample { records: released, fit: &own, shrinks }),
        };
        let measured = design.estimates(&schema.domain(), accuracy, sample.as_ref())?;
        let known = match (measured, imputation) {
            (None, Some(how)) => design.imputed(&schema.domain(), accuracy, target, how)?,
            (measured, _) => measured,
        };
        let bound = match support {
            Support::Measured => None,
            _ => design.bound(schema, released, accuracy, &own)?,
        };
        let finding = |place: usize| {
            let sampling = sample.as_ref().map_or(0.0, |_| own.sampling[place] * shrinks);
            let found: Vec<Option<f64>> = others.iter().map(|fit| fit.values[place]).collect();
            let known = known.as_ref().and_then(|known| known[place - design.reported]);
            // The intercept, a share or a mean is compared with no number.
            let tested = known.filter(|_| place > 0);
            Finding {
                name: design.names[place].clone(),
                released: own.values[place],
                replicates: found,
                support,
                combined: known.map(|found| found.estimate),
                p_value: tested.map(|found| found.p_value),
                bound: bound.map(|bound| design.widened(bound, sampling)),
            }
        };
        Ok((design.reported..design.names.len()).map(finding).collect())
    }
}

#[cfg(test)]
mod tests;
