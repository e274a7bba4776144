//! Measuring the errors of a release's records: a paid step after the rounds.

use sha2::{Digest, Sha256};

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::error_bars::{self, MeasuredErrors, ReleasedTable, Total, Weighing};
use crate::mechanism::Release;
use crate::model::Accuracy;
use crate::privacy::files::hex;
use crate::privacy::{Curator, Inputs, LedgerEntry, NoiseMechanism, NoisyStatistics, Rho};
use crate::survey::Weight;

impl Release {
    /// Measures the errors of the records that are about to be published, on the workload, with what was set aside
    /// before the run ([`Curator::set_aside`]). One vector, one entry of the ledger, exact noise; the intervals assume
    /// nothing about the mechanism. They are against the records that the curator holds: of units, the first K of each.
    /// A checkpoint keeps them ([`Curator::once`]).
    ///
    /// `records`: drawn from this release and fixed: publish these, and not others drawn again.
    ///
    /// # Errors
    /// Nothing set aside, a curator that has spent something since the run or is of another run, records over another
    /// domain, or a marginal that cannot be counted; a checkpoint that has the errors of other records.
    ///
    /// ```
    /// use jointly::{Budget, Drawing, JamPgm, Mechanism, NeighboringRelation, NoiseSeed, Silent, Task, Workload,
    ///               demo::Generator, rand::{SeedableRng, rngs::ChaCha20Rng}};
    /// let private = Generator { records: 2_000, seed: 1, drift: 0.0 }.generate()?;
    /// let workload = Workload::all_k_way(private.domain(), 2)?;
    /// let budget = Budget::approximate(1.0, 1e-9)?;
    /// let mut curator = budget.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
    /// curator.set_aside(0.05)?;
    /// let mechanism = JamPgm { rounds: Some(3), ..JamPgm::default() };
    /// let mut release = mechanism.run(&mut curator, &Task::new(&workload, &[]), &mut Silent)?;
    /// let records = release.rows(2_000, Drawing::Refined, &mut ChaCha20Rng::seed_from_u64(1))?;
    /// release.measure_errors(&mut curator, &records)?;
    /// let errors = release.errors().expect("just measured");
    /// assert_eq!(errors.marginals.len(), workload.len());
    /// println!("{}", errors.sentence());
    /// # Ok::<(), jointly::Error>(())
    /// ```
    pub fn measure_errors(&mut self, curator: &mut Curator<'_>, records: &Dataset) -> Result<()> {
        self.measure_errors_of(curator, records.into())
    }

    /// As [`measure_errors`](Self::measure_errors), for records of the population that the private table is a sample of: the
    /// errors are those against the private records, each counted by the mean weight of its bin.
    ///
    /// `records`: without the weight. `weights`: of these records; `None` if they count the same. `weight`: of the private ones.
    /// `total`: the sum of the weights of the private ones, public or released ([`ReleasedPopulation::weighted`]); if it
    /// is 1 % off, errors are off by at most 0.01.
    ///
    /// [`ReleasedPopulation::weighted`]: crate::mechanism::ReleasedPopulation::weighted
    ///
    /// # Errors
    /// As [`measure_errors`](Self::measure_errors), and weights that do not fit the records.
    pub fn measure_weighted_errors(
        &mut self,
        curator: &mut Curator<'_>,
        records: &Dataset,
        weights: Option<&[f64]>,
        weight: &Weight,
        total: f64,
    ) -> Result<()> {
        let population = Some(Weighing { weight, total, of_released: weights });
        self.measure_errors_of(curator, ReleasedTable { records, population })?;
        if let Some(errors) = &mut self.errors {
            let name = curator.domain().name(weight.attribute);
            errors.left_out.within_bins_of = Some(name.to_owned());
        }
        Ok(())
    }

    fn measure_errors_of(
        &mut self,
        curator: &mut Curator<'_>,
        table: ReleasedTable<'_>,
    ) -> Result<()> {
        let cost = self.cost_of_errors(curator)?;
        let workload = table.workload(&self.workload, curator.domain())?;
        let total = self.total(curator, table);
        let is_pure = curator.ledger().epsilon_limit().is_some();
        let numbers = if is_pure { 1 } else { workload.len() };
        let inputs = || Inputs::default().with("released records", [hash(table)]);
        let begun = self.rounds.last().map_or(0, |round| round.round);
        let noisy = curator.once(
            "errors of the released table",
            inputs,
            |curator| {
                // In a round of their own.
                curator.begin_round(begun.max(curator.round()).saturating_add(1))?;
                error_bars::measure(curator, table, &workload, total, cost)
            },
            |noisy, entries| check_paid(noisy, entries, cost, numbers),
        )?;
        let (measurements, unit) = (&self.measurements, curator.unit());
        let errors = MeasuredErrors::new(&noisy, table, &workload, measurements, total, unit)?;
        (self.errors, self.ledger) = (Some(errors), curator.ledger().clone());
        Ok(())
    }

    /// The errors of the released records, if they were measured.
    pub fn errors(&self) -> Option<&MeasuredErrors> {
        self.errors.as_ref()
    }

    /// What is known about the accuracy of single counts of what the model is of, for [`Model::ask_with`](crate::model::Model::ask_with).
    pub fn accuracy(&self) -> Accuracy {
        // An estimate near 0 of a wide interval says little: half of the upper end at least.
        let errors = self.errors.iter().flat_map(|errors| &errors.marginals).map(|error| {
            let best = error.best();
            (error.clique.clone(), best.estimate.max(best.upper / 2.0))
        });
        // Where N is private, its own error comes on top of that of the frequencies. That of a population is.
        let is_public = self.relation.has_public_total() && self.population.is_none();
        let errors_at_most = self.errors.iter().filter(|_| is_public);
        let marginals = errors_at_most.flat_map(|errors| &errors.marginals);
        let at_most = marginals.map(|error| (error.clique.clone(), error.measured.upper));
        let from_measurements = Accuracy::of(&self.measurements);
        Accuracy {
            measured: self.measured().unwrap_or_default(),
            errors: errors.collect(),
            at_most: at_most.collect(),
            total: self.errors.as_ref().map_or_else(|| self.model.total(), |errors| errors.total),
            public: self.starts_from.iter().cloned().chain(from_measurements.public).collect(),
            ..from_measurements
        }
    }

    /// Releases what was set aside for the errors.
    fn cost_of_errors(&self, curator: &mut Curator<'_>) -> Result<Rho> {
        if self.ledger != *curator.ledger() {
            let found = format!("rho = {}", curator.spent());
            let expected = format!("rho = {}, as in the release", self.ledger.spent());
            return Err(Error::invalid_specification(
                "what the curator has spent",
                found,
                expected,
            ));
        }
        let expected = "a part set aside before the run, by Curator::set_aside";
        let part = curator.release_set_aside();
        part.ok_or_else(|| Error::invalid_budget("rho of the released table's errors", 0, expected))
    }

    /// N: the number of private records, or what the model stands for where that number is private; of weighted records, the
    /// sum of their weights.
    fn total(&self, curator: &Curator<'_>, table: ReleasedTable<'_>) -> Total {
        if let Some(Weighing { weight, total, .. }) = table.population {
            return Total { records: total.max(weight.largest()), is_public: false };
        }
        let public = curator.records();
        let records = public.map_or_else(|| self.model.total(), |records| records as f64);
        Total { records: records.max(1.0), is_public: public.is_some() }
    }
}

/// Refuses errors that the entries did not pay for. `cost`: what they must have cost. `numbers`: how many there must be.
fn check_paid(
    noisy: &NoisyStatistics,
    entries: &[LedgerEntry],
    cost: Rho,
    numbers: usize,
) -> std::result::Result<(), &'static str> {
    let paid = |entry: &LedgerEntry| match &entry.mechanism {
        NoiseMechanism::GridGaussian { numbers, .. }
        | NoiseMechanism::GridLaplace { numbers, .. } => Some((*numbers, entry.rho)),
        _ => None,
    };
    let values = &noisy.values;
    let is_whole = values.iter().all(|value| value.is_finite()) && noisy.stddev > 0.0;
    let is_paid = entries.iter().map(paid).eq([Some((numbers as u64, cost))]);
    if is_whole && is_paid && values.len() == numbers {
        return Ok(());
    }
    Err("the measured errors do not match their ledger entry")
}

/// SHA-256 of the records' codes, in order, and of their weights. They are public.
fn hash(table: ReleasedTable<'_>) -> String {
    let ReleasedTable { records, population } = table;
    let mut hash = Sha256::new();
    hash.update((records.records() as u64).to_le_bytes());
    for column in records.columns() {
        let codes: Vec<u8> = column.iter().flat_map(u32::to_le_bytes).collect();
        hash.update(codes);
    }
    if let Some(weights) = population.and_then(|population| population.of_released) {
        hash.update(weights.iter().flat_map(|weight| weight.to_le_bytes()).collect::<Vec<u8>>());
    }
    hex(&hash.finalize())
}
