//! Training a network on public tables, before a run's first round.

use std::collections::BTreeSet;

use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use super::Loss;
use super::adam::{Adam, cosine};
use super::network::Network;
use super::targets::{Targets, largest};
use super::training::is_finite;
use crate::data::PublicData;
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::observe::Checks;
use crate::query::Workload;

/// The first and the last rate.
const RATES: (f64, f64) = (5e-4, 1e-7);
/// Steps between two looks at all errors.
const LOOK: u32 = 50;
/// Cells of the marginals that a step looks at, about.
const CELLS: usize = 100_000;

/// Answers of public tables.
pub(super) struct Pretraining {
    targets: Targets,
    /// The attributes that no table has.
    missing: Vec<usize>,
    steps: u32,
}

impl Pretraining {
    /// The marginals of the public tables on the cliques of the workload. Counts of several tables are added up. A
    /// table that lacks attributes of a clique does not count there; where it has attributes that are in no clique it
    /// covers, the parts of cliques that it has are used.
    ///
    /// # Errors
    /// No table, or marginals that do not fit in memory.
    pub(super) fn new(
        domain: &Domain,
        workload: &Workload,
        tables: &[PublicData],
        steps: u32,
    ) -> Result<Self> {
        if tables.is_empty() {
            let expected = "at least one: the network is trained on it";
            return Err(Error::invalid_parameter("number of public tables", 0, expected));
        }
        let mut cliques = BTreeSet::new();
        for table in tables {
            let own = table.attributes();
            let workload = workload.cliques();
            let covered: Vec<&Clique> = workload.iter().filter(|c| table.covers(c)).collect();
            let reached = covered.iter().fold(Clique::new([]), |all, clique| all.union(clique));
            let rest = own.difference(&reached);
            let parts = workload.iter().map(|clique| clique.intersection(&own));
            cliques.extend(parts.filter(|part| part.iter().any(|a| rest.contains(a))));
            cliques.extend(covered.into_iter().cloned());
        }
        let mut targets = Targets::new(domain);
        let cliques: Vec<Clique> = cliques.into_iter().collect();
        let mut sums: Vec<Vec<f64>> = vec![Vec::new(); cliques.len()];
        let mut records = vec![0.0; cliques.len()];
        for table in tables {
            let own: Vec<usize> =
                (0..cliques.len()).filter(|i| table.covers(&cliques[*i])).collect();
            let wanted: Vec<Clique> = own.iter().map(|i| cliques[*i].clone()).collect();
            for (i, counts) in own.into_iter().zip(table.project_many(&wanted)?) {
                sums[i].resize(counts.len(), 0.0);
                sums[i].iter_mut().zip(counts).for_each(|(sum, count)| *sum += f64::from(count));
                records[i] += table.records() as f64;
            }
        }
        for ((clique, mut sums), records) in cliques.iter().zip(sums).zip(records) {
            sums.iter_mut().for_each(|sum| *sum /= records);
            targets.push_answers(clique, 0, sums);
        }
        let has = |attribute: usize| tables.iter().any(|t| t.attributes().contains(attribute));
        let missing = (0..domain.len()).filter(|attribute| !has(*attribute)).collect();
        Ok(Self { targets, missing, steps })
    }

    /// The attributes that no table has.
    pub(super) fn missing(&self) -> &[usize] {
        &self.missing
    }

    /// Trains by Adam and keeps the parameters with the least of the largest errors seen. Of a large workload, each
    /// step takes marginals that are drawn in proportion to their last known L1 errors.
    pub(super) fn train(
        &self,
        network: &mut Network<f32>,
        loss: Loss,
        checks: &dyn Checks,
    ) -> Result<()> {
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        let mut adam = Adam::new(&network.parameters);
        let is_large = self.targets.sizes().sum::<usize>() > CELLS;
        let mut errors = self.targets.errors(&network.probabilities, None);
        let mut best = (largest(&errors), network.parameters.clone());
        let mut known = l1(&errors);
        for step in 0..self.steps {
            checks.check()?;
            if is_large {
                let drawn = self.draw(&known, &mut rng);
                errors = self.targets.errors(&network.probabilities, Some(&drawn));
            }
            let Some(slopes) = loss.slopes(errors, 0.0) else { break };
            let slopes = self.targets.pull_back(&network.probabilities, &slopes);
            let gradient = network.backward(slopes);
            adam.step(
                &mut network.parameters,
                &gradient,
                cosine(RATES.0, RATES.1, step, self.steps),
            );
            network.forward();
            errors = Vec::new();
            let looks = (step + 1) % LOOK == 0 || step + 1 == self.steps;
            if looks || !is_large {
                errors = self.targets.errors(&network.probabilities, None);
                known = l1(&errors);
            }
            let is_better = looks && largest(&errors) < best.0;
            if is_better && is_finite(&network.parameters) {
                best = (largest(&errors), network.parameters.clone());
            }
        }
        network.parameters = best.1;
        network.forward();
        Ok(())
    }

    /// Lists, each with a probability in proportion to its L1 error, until they have [`CELLS`] cells.
    fn draw(&self, known: &[f64], rng: &mut ChaCha20Rng) -> Vec<usize> {
        // The first of independent exponential clocks with these rates.
        let times = known.iter().map(|l1| -(1.0 - rng.random::<f64>()).ln() / l1.max(1e-12));
        let mut order: Vec<(f64, usize)> = times.zip(0..).collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let sizes: Vec<usize> = self.targets.sizes().collect();
        let mut cells = 0;
        let drawn = order.into_iter().map(|(_, list)| list).take_while(|list| {
            let within = cells < CELLS;
            cells += sizes[*list];
            within
        });
        drawn.collect()
    }
}

/// The L1 error of each list.
fn l1(errors: &[Vec<f64>]) -> Vec<f64> {
    errors.iter().map(|errors| errors.iter().map(|error| error.abs()).sum()).collect()
}
