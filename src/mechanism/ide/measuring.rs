//! Measuring at a cost, durably, within what is left.

use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::measurement::{Measurement, Provenance};
use crate::mechanism::Task;
use crate::mechanism::checkpoint::{Checkpoint, Identity};
use crate::mechanism::ide::noise::Cost;
use crate::observe::{Event, Observer};
use crate::privacy::{Curator, NoiseForm};

/// The part of a run that spends. One marginal is a round, which is durable before it is told, and not measured again by a
/// run that goes on from a checkpoint: all else follows from the measurements, and is computed anew.
pub(super) struct Measuring<'r, 'c> {
    curator: &'r mut Curator<'c>,
    observer: &'r mut dyn Observer,
    domain: Domain,
    state: Checkpoint,
    /// The number of the last round, durable before or not.
    round: u32,
    planned: u32,
    budget: Cost,
    left: Cost,
}

impl<'r, 'c> Measuring<'r, 'c> {
    /// Takes up the state of a run that was cut short. `planned`: most rounds; `cliques`: most marginals of a level.
    ///
    /// # Errors
    /// A checkpoint that is refused.
    pub(super) fn open(
        identity: &Identity<'_>,
        noise: NoiseForm,
        curator: &'r mut Curator<'c>,
        task: &Task<'_>,
        observer: &'r mut dyn Observer,
        (planned, cliques): (u32, usize),
    ) -> Result<Self> {
        // Of the whole run, whatever a checkpoint says was spent of it.
        let budget = Cost::remaining(curator, noise)?;
        let state = Checkpoint::open(identity, curator, task)?;
        observer.event(&Event::Started {
            mechanism: identity.name,
            rounds: planned,
            first_round: state.next_round(),
            candidates: cliques,
            limit: curator.ledger().limit(),
        });
        let domain = curator.domain().clone();
        Ok(Self { curator, observer, domain, state, round: 0, planned, budget, left: budget })
    }

    /// What there was at the start.
    pub(super) fn budget(&self) -> Cost {
        self.budget
    }

    /// What the measurements so far have left of it.
    pub(super) fn left(&self) -> Cost {
        self.left
    }

    /// n, where it is public.
    pub(super) fn records(&self) -> Option<u64> {
        self.curator.records()
    }

    /// Variance of the noise on each cell of `marginals` marginals that share a cost evenly.
    pub(super) fn variance(&self, cost: Cost, marginals: usize) -> f64 {
        cost.variance(self.curator, marginals)
    }

    /// Measures marginals that share a cost evenly; the last one has what rounding leaves. Noisy counts, row-major.
    ///
    /// # Errors
    /// A part so small that it is nothing, a failure to count or to keep the state, or a checkpoint of other marginals.
    pub(super) fn measure(&mut self, cliques: &[Clique], cost: Cost) -> Result<Vec<Vec<f64>>> {
        let each = cost.part(1.0, cliques.len() as f64)?;
        let mut rest = cost;
        let mut measured = Vec::with_capacity(cliques.len());
        for (i, clique) in cliques.iter().enumerate() {
            let own = if i + 1 == cliques.len() { rest } else { each };
            rest = rest.less(own);
            self.left = self.left.less(own);
            self.round += 1;
            if let Some(known) = self.state.durable(self.round, clique)? {
                measured.push(known.values.clone());
                continue;
            }
            self.curator.begin_round(self.round)?;
            let noisy = own.measure(self.curator, clique)?;
            measured.push(noisy.values.clone());
            self.keep(noisy)?;
        }
        Ok(measured)
    }

    /// Makes a measurement durable, and then tells it.
    fn keep(&mut self, noisy: Measurement) -> Result<()> {
        let (clique, stddev) = (noisy.clique.clone(), noisy.stddev);
        self.state.record(self.round, 0, noisy, self.curator.ledger())?;
        self.observer.event(&Event::Measured {
            round: self.round,
            rounds: self.planned.max(self.round),
            clique: clique.iter().map(|a| self.domain.name(a).into()).collect(),
            provenance: Provenance::Private,
            stddev,
            spent: self.curator.spent(),
            limit: self.curator.ledger().limit(),
        });
        Ok(())
    }

    /// The curator and all that was measured.
    pub(super) fn finish(self) -> (&'r Curator<'c>, Checkpoint) {
        (self.curator, self.state)
    }
}
