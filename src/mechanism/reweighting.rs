//! Distributions over listed records, reweighted by the queries answered so far: the models of MWEM, PMW^Pub, PEP and
//! PEP^Pub.

use crate::data::PublicData;
use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::measurement::Measurement;
use crate::mechanism::past_queries::{PastQueries, Weights};
use crate::mechanism::query_release::{Approximation, Iterate};
use crate::mechanism::{FitRecord, Run};
use crate::model::{Distribution, Model, WeightedSupport};
use crate::observe::Checks;

/// The records to reweight.
#[derive(Clone, Copy, Debug)]
pub(super) enum Over {
    /// All records that the domain allows, initially equally likely.
    AllCells,
    /// The records of all public tables, initially with their public frequencies.
    PublicRecords,
}

impl Over {
    /// The records with their initial weights, which sum to 1 until n is known.
    fn support(self, domain: &Domain, public: &[PublicData]) -> Result<WeightedSupport> {
        match self {
            Self::AllCells => WeightedSupport::all_cells(domain, 1.0),
            Self::PublicRecords => WeightedSupport::from_public(domain, public, 1.0),
        }
    }
}

/// An update rule: how the answers so far change the weights.
pub(super) trait Update {
    /// Reweights the records by the queries of all measurements so far, the last of which belongs to this round.
    /// Returns the number of queries used.
    fn reweight(&self, round: u32, past: &PastQueries, weights: &mut Weights) -> u32;
}

/// The distribution after some rounds.
pub(super) struct Reweighted<'u> {
    rule: &'u dyn Update,
    support: WeightedSupport,
    total: f64,
    weights: Weights,
    past: PastQueries,
    /// Sum of the distributions after each round, and their number.
    iterates: (Vec<f64>, u32),
}

impl<'u> Reweighted<'u> {
    /// The records with their first weights.
    ///
    /// # Errors
    /// Records that do not fit in memory, or public tables that lack attributes.
    pub(super) fn new(
        rule: &'u dyn Update,
        over: Over,
        domain: &Domain,
        public: &[PublicData],
    ) -> Result<Self> {
        let support = over.support(domain, public)?;
        let weights = Weights::of(&support);
        let iterates = (vec![0.0; support.size()], 0);
        Ok(Self { rule, support, total: 1.0, weights, past: PastQueries::default(), iterates })
    }
}

impl Approximation for Reweighted<'_> {
    /// Weights are not stored: they follow from the measurements.
    fn begin(&mut self, run: &mut Run<'_, '_>, total: f64) -> Result<Option<FitRecord>> {
        self.total = total;
        let mut last = None;
        for record in run.rounds() {
            let measured = &run.measurements()[record.measurements.clone()];
            last = Some(self.learn(record.round, measured, run.checks())?);
        }
        Ok(last)
    }

    fn answers(&self, cliques: &[Clique]) -> Result<Vec<Vec<f64>>> {
        Ok(self.support.rows().weighted_marginals(&self.weights.times(self.total), cliques)?)
    }

    fn learn(&mut self, round: u32, new: &[Measurement], checks: &dyn Checks) -> Result<FitRecord> {
        checks.check()?;
        self.past.begin_round();
        for measurement in new {
            self.past.push(&self.support, measurement, self.total)?;
        }
        let queries = self.rule.reweight(round, &self.past, &mut self.weights);
        self.weights.renormalize();
        let probabilities = self.weights.times(1.0);
        self.iterates.0.iter_mut().zip(probabilities).for_each(|(sum, p)| *sum += p);
        self.iterates.1 += 1;
        let largest_error = self.past.largest_error(&self.weights);
        let model_mib = self.support.size_mib();
        Ok(FitRecord::WeightedSupport { largest_error, queries, model_mib })
    }

    fn finish(self, iterate: Iterate) -> Result<Model> {
        let weights = match iterate {
            Iterate::Average if self.iterates.1 > 0 => self.iterates.0,
            Iterate::Last | Iterate::Average => self.weights.times(1.0),
        };
        Ok(self.support.reweighted(weights, self.total)?.into())
    }
}
