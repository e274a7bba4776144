//! The table whose errors are measured, beside the private one.

use crate::data::{Dataset, Projectable};
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::error_bars::l1_errors;
use crate::privacy::{Curator, L1Errors, ValueWeights};
use crate::query::{WeightedClique, Workload, batches};
use crate::survey::Weight;

/// Records that are about to be published.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReleasedTable<'a> {
    /// Without the survey weight, if the private records have one.
    pub(crate) records: &'a Dataset,
    /// How they stand for a population; `None` if they are like the private records, each of which counts the same.
    pub(crate) population: Option<Weighing<'a>>,
}

/// How private and released records stand for a population.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weighing<'a> {
    /// The weight of the private records.
    pub(crate) weight: &'a Weight,
    /// The sum of the weights of the private records, public or released.
    pub(crate) total: f64,
    /// The weights of the released ones; `None` if they count the same.
    pub(crate) of_released: Option<&'a [f64]>,
}

impl<'a> From<&'a Dataset> for ReleasedTable<'a> {
    fn from(records: &'a Dataset) -> Self {
        Self { records, population: None }
    }
}

impl ReleasedTable<'_> {
    /// The marginals whose errors are measured: those of the workload, without the survey weight, which the released table does
    /// not have. Where all of its cliques have the weight, they are taken without it.
    pub(crate) fn workload(&self, workload: &Workload, domain: &Domain) -> Result<Workload> {
        match self.population {
            None => Ok(workload.clone()),
            Some(Weighing { weight, .. }) => workload.without(weight.attribute, domain),
        }
    }

    /// How much of the population a count of 1 stands for: the largest weight of a record.
    pub(crate) fn unit(&self) -> f64 {
        self.population.map_or(1.0, |population| population.weight.largest())
    }

    /// What the released records amount to.
    fn size(&self) -> f64 {
        let weights = self.population.and_then(|population| population.of_released);
        weights.map_or(self.records.records() as f64, |weights| weights.iter().sum())
    }

    /// Refuses records of another domain than the private ones.
    pub(crate) fn check(&self, private: &Domain) -> Result<()> {
        const PLACE: &str = "the released table";
        let found = self.records.domain();
        let Some(Weighing { weight, of_released, .. }) = self.population else {
            return Ok(private.check_same(found, PLACE)?);
        };
        let others = (0..private.len()).filter(|at| *at != weight.attribute);
        let expected = others.map(|at| (private.name(at), private.attributes()[at].cardinality));
        Domain::new(expected)?.check_same(found, PLACE)?;
        let weights = of_released.map_or(self.records.records(), <[f64]>::len);
        if weights == self.records.records() && self.size() > 0.0 {
            return Ok(());
        }
        let expected = "one for each released record, and not all 0";
        Err(Error::invalid_parameter("weights of released records", weights, expected))
    }

    /// A clique of the private domain, without the survey weight, as one of the released records.
    pub(super) fn own(&self, clique: &Clique) -> Clique {
        let Some(Weighing { weight, .. }) = self.population else { return clique.clone() };
        let others = clique.iter().filter(|at| *at != weight.attribute);
        Clique::new(others.map(|at| if at > weight.attribute { at - 1 } else { at }))
    }

    /// Its marginals, as shares of it. `cliques`: by [`own`](Self::own).
    pub(super) fn shares(&self, cliques: &[Clique]) -> Result<Vec<Vec<f64>>> {
        let of_one = 1.0 / self.size();
        let mut tables = self.marginals(cliques)?;
        tables.iter_mut().flatten().for_each(|count| *count *= of_one);
        Ok(tables)
    }

    fn marginals(&self, cliques: &[Clique]) -> Result<Vec<Vec<f64>>> {
        if let Some(weights) = self.population.and_then(|population| population.of_released) {
            return Ok(self.records.weighted_marginals(weights, cliques)?);
        }
        let counts = self.records.project_many(cliques)?.into_iter();
        Ok(counts.map(|table| table.into_iter().map(f64::from).collect()).collect())
    }

    /// `‖M_r(D) − N s_r‖₁` of every clique of a workload, in counts, sealed, where s are the shares of this table; of a
    /// population M is weighted, and a count is one of the largest weight. `workload`: by [`workload`](Self::workload).
    /// `total`: N, in such counts.
    pub(super) fn errors(
        &self,
        curator: &Curator<'_>,
        workload: &Workload,
        total: f64,
    ) -> Result<L1Errors> {
        let scale = total / self.size();
        let Some(Weighing { weight, .. }) = self.population else {
            return over_batches(curator, workload.weighted_cliques(), |cliques| {
                l1_errors(curator, cliques, &self.records.project_many(cliques)?, scale)
            });
        };
        let own = Clique::new([weight.attribute]);
        let counted = workload.weighted_cliques().iter();
        let counted: Vec<WeightedClique> =
            counted.map(|c| WeightedClique { clique: c.clique.union(&own), ..*c }).collect();
        let weights: Vec<f64> = weight.means.iter().map(|mean| mean / self.unit()).collect();
        over_batches(curator, &counted, |cliques| {
            let released: Vec<Clique> = cliques.iter().map(|clique| self.own(clique)).collect();
            let tables = self.marginals(&released)?;
            let stride = |clique: &Clique| {
                let after = clique.iter().filter(|at| *at > weight.attribute);
                after.map(|at| curator.domain().cardinality(at)).product()
            };
            let strides: Vec<usize> = cliques.iter().map(stride).collect();
            let by = ValueWeights { weights: &weights, strides: &strides };
            let marginals = curator.marginals(cliques)?;
            let mut errors = marginals.l1_errors();
            let all: Vec<usize> = (0..cliques.len()).collect();
            errors.compare_weighted(&marginals, &all, &tables, scale, by)?;
            Ok(errors)
        })
    }
}

/// Errors of all cliques, so that not all marginals are held at once.
fn over_batches(
    curator: &Curator<'_>,
    cliques: &[WeightedClique],
    of_batch: impl Fn(&[Clique]) -> Result<L1Errors>,
) -> Result<L1Errors> {
    let mut errors = curator.marginals(&[])?.l1_errors();
    for batch in batches(curator.domain(), cliques) {
        let cliques: Vec<Clique> = batch.iter().map(|c| c.clique.clone()).collect();
        errors.extend(&of_batch(&cliques)?)?;
    }
    Ok(errors)
}
