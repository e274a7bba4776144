//! The only road from records to a publishable number.

mod noisy;
mod pure;

pub use noisy::{NoisyCell, NoisyMarginal, NoisyResidual};
pub use pure::LaplaceMarginal;

use rand::rngs::ChaCha20Rng;

use crate::data::Projectable;
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::privacy::sampler::{DiscreteGaussian, LARGEST_PART};
use crate::privacy::select::Selector;
use crate::privacy::statistic::GridNoise;
use crate::privacy::{
    Accountant, Ledger, LedgerEntry, MarginalSensitivity, NeighboringRelation, NoiseForm,
    NoiseMechanism, NoiseSeed, NoisyStatistics, Ratio, RecordsPerUnit, ResidualQuery, Rho,
    ScoreSensitivity, Selection, Sensitive, StatisticSensitivity, residual_cost,
};

/// Private records, the budget that is left, and the noise generator.
///
/// Everything that leaves is charged to the ledger before it is drawn, in one function; what is not charged is
/// [`Sensitive`]. Error messages say nothing that depends on the records.
///
/// Under [`NeighboringRelation::ReplaceOne`] the number of records is public; otherwise it must be measured. Under
/// [`NeighboringRelation::AddRemoveUnit`] no unit may have more records than it says: [`crate::data::read_units_csv`] cuts
/// a table so.
pub struct Curator<'a> {
    data: &'a dyn Projectable,
    relation: NeighboringRelation,
    accountant: Accountant,
    seed: NoiseSeed,
    round: u32,
    /// `None` between a resumption and the first round after it.
    noise: Option<ChaCha20Rng>,
}

impl<'a> Curator<'a> {
    /// Takes records in charge, with nothing spent of a limit, before the first round (round 0).
    ///
    /// # Errors
    /// [`Error::Entropy`] when the system's random generator fails.
    pub fn new(
        data: &'a dyn Projectable,
        relation: NeighboringRelation,
        limit: Rho,
        seed: NoiseSeed,
    ) -> Result<Self> {
        Self::of_ledger(data, relation, Ledger::new(limit), seed)
    }

    fn of_ledger(
        data: &'a dyn Projectable,
        relation: NeighboringRelation,
        ledger: Ledger,
        seed: NoiseSeed,
    ) -> Result<Self> {
        let noise = Some(seed.generator(0)?);
        let accountant = Accountant::of(ledger.of_unit(relation.unit()));
        Ok(Self { data, relation, accountant, seed, round: 0, noise })
    }

    /// Goes on from the ledger of a run that was cut short, in place of an empty one.
    /// [`begin_round`](Self::begin_round) must come before the next access.
    ///
    /// # Errors
    /// A ledger of another limit or one that overruns it, an entry that its cost does not cover or that was measured
    /// under another relation, or a curator that has spent something already.
    pub fn continue_from(&mut self, ledger: &Ledger) -> Result<()> {
        let limit = self.ledger().limit();
        let is_as_pure = ledger.epsilon_limit() == self.ledger().epsilon_limit();
        if !self.spent().is_zero() || ledger.limit() != limit || !is_as_pure {
            return Err(Error::invalid_specification(
                "ledger to continue",
                format!("limit {}, after spending {}", ledger.limit(), self.spent()),
                format!("limit {limit}, pure or not as in this run, before anything is spent"),
            ));
        }
        self.check_relation(ledger)?;
        let accountant = Accountant::resume(ledger)?;
        self.round = ledger.entries().iter().map(|entry| entry.round).max().unwrap_or(0);
        self.accountant = accountant;
        self.noise = None;
        Ok(())
    }

    /// Counts what an earlier run has spent on the same records against this run's limit, before anything else: its
    /// entries come first in the ledger, and count as of before the first round.
    ///
    /// # Errors
    /// A ledger that spends more than the limit, an entry that its cost does not cover or that was measured under
    /// another relation, or a curator that has spent something already.
    pub fn charge_earlier(&mut self, ledger: &Ledger) -> Result<()> {
        if !self.spent().is_zero() || self.round > 0 {
            return Err(Error::invalid_specification(
                "earlier ledger",
                format!("a run that has spent {} by round {}", self.spent(), self.round),
                "before anything is spent",
            ));
        }
        self.check_relation(ledger)?;
        let mut accountant = Accountant::of(self.ledger().emptied());
        for entry in ledger.entries() {
            accountant.charge(LedgerEntry { round: 0, ..entry.clone() })?;
        }
        self.accountant = accountant;
        Ok(())
    }

    /// Refuses a ledger of another unit, or with an entry that was measured under another relation.
    fn check_relation(&self, ledger: &Ledger) -> Result<()> {
        if ledger.records_per_unit() != self.relation.unit() {
            let of = |unit: Option<RecordsPerUnit>| match unit {
                None => "units of one record".to_owned(),
                Some(records) => format!("units of {} records at most", records.get()),
            };
            let found = of(ledger.records_per_unit());
            return Err(Error::invalid_specification("ledger", found, of(self.relation.unit())));
        }
        let foreign = ledger.entries().iter().find(|entry| !entry.is_of(self.relation));
        match foreign {
            None => Ok(()),
            Some(entry) => Err(Error::invalid_specification(
                format!("ledger, round {}, {}", entry.round, entry.purpose),
                "a sensitivity of another relation",
                format!("that of the relation {}", self.relation),
            )),
        }
    }

    /// Where the noise comes from.
    pub fn seed(&self) -> NoiseSeed {
        self.seed
    }

    /// Begins a round with a noise generator of its own: fresh from the system, or derived from a fixed seed and the
    /// round, so that a resumed run repeats the same draws.
    ///
    /// `round`: counted from 1, above the round before; directly after [`continue_from`](Self::continue_from) it may be the last
    /// round of the ledger again.
    ///
    /// # Errors
    /// A round that is not above the one before, or [`Error::Entropy`].
    pub fn begin_round(&mut self, round: u32) -> Result<()> {
        let first = if self.noise.is_some() { self.round.saturating_add(1) } else { self.round };
        if round < first.max(1) {
            let expected = "at least 1 and above every round before";
            return Err(Error::invalid_parameter("round", round, expected));
        }
        self.noise = Some(self.seed.generator(round)?);
        self.round = round;
        Ok(())
    }

    /// The attributes of the records; public.
    pub fn domain(&self) -> &Domain {
        self.data.domain()
    }

    /// Which tables are indistinguishable.
    pub fn relation(&self) -> NeighboringRelation {
        self.relation
    }

    /// Number of records where it is public: under replace-one.
    pub fn records(&self) -> Option<u64> {
        self.relation.has_public_total().then(|| self.data.records())
    }

    /// The round, counted from 1; 0 before the first.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// What is spent.
    pub fn spent(&self) -> Rho {
        self.accountant.spent()
    }

    /// What is left.
    pub fn remaining(&self) -> Rho {
        self.accountant.remaining()
    }

    /// The ledger so far.
    pub fn ledger(&self) -> &Ledger {
        self.accountant.ledger()
    }

    /// Whether the noise protects anything: not when its seed is fixed.
    pub fn is_private(&self) -> bool {
        self.seed.is_private()
    }

    /// The exact marginals on some cliques, sealed. Free of charge, as nothing leaves.
    ///
    /// # Errors
    /// A clique outside the domain, or a failure to count.
    pub fn marginals(&self, cliques: &[Clique]) -> Result<Sensitive<Vec<Vec<u32>>>> {
        for clique in cliques {
            self.check_clique(clique)?;
        }
        self.data.project_many(cliques).map(Sensitive::new)
    }

    /// Measures the number of records, where it is private, at a cost of `rho`: discrete Gaussian noise with
    /// σ² = 1/(2ρ), and K²/(2ρ) where neighbors differ by a unit of K records.
    ///
    /// # Errors
    /// Under replace-one, where the number is public; a `rho` of 0 or above what is left.
    pub fn measure_total(&mut self, rho: Rho) -> Result<i64> {
        if self.relation.has_public_total() {
            let expected = "add-remove-one: otherwise the number of records is public";
            return Err(Error::invalid_parameter("neighboring relation", self.relation, expected));
        }
        let records = i64::try_from(self.data.records()).unwrap_or(i64::MAX >> 1);
        let what = Measured { purpose: "number of records", clique: None, cell: None };
        let mut values = self.add_gaussian_noise(what, rho, &[records])?.0;
        Ok(values.swap_remove(0))
    }

    /// Measures a marginal at a cost of `rho`: discrete Gaussian noise in every cell, with σ² = Δ₂²/(2ρ), which is 1/ρ
    /// under replace-one, 1/(2ρ) under add-remove-one and K²/(2ρ) for units. σ² is not below 2⁻¹¹ Δ₂², whatever the budget.
    ///
    /// `marginal`: the exact counts on `clique`, as of [`marginals`](Self::marginals).
    ///
    /// # Errors
    /// Counts that are not those of the clique (another size or sum), a `rho` of 0 or above what is left.
    pub fn measure(
        &mut self,
        clique: &Clique,
        marginal: Sensitive<&[u32]>,
        rho: Rho,
    ) -> Result<NoisyMarginal> {
        self.check_marginal(clique, marginal.as_ref())?;
        let counts = marginal.open();
        let values: Vec<i64> = counts.iter().map(|count| i64::from(*count)).collect();
        let names = clique.iter().map(|a| self.domain().name(a).to_owned()).collect();
        let what = Measured { purpose: "marginal", clique: Some(names), cell: None };
        let (values, variance) = self.add_gaussian_noise(what, rho, &values)?;
        Ok(NoisyMarginal { clique: clique.clone(), values, variance })
    }

    /// Measures one cell of a marginal at a cost of `rho`: discrete Gaussian noise with σ² = 1/(2ρ) where neighbors
    /// differ by a record, which changes a single count by one at most, and K²/(2ρ) where they differ by a unit. σ² is not below 2⁻¹¹, whatever the budget.
    ///
    /// `marginal`: the exact counts on `clique`, as of [`marginals`](Self::marginals). `cell`: row-major over the clique.
    ///
    /// # Errors
    /// As [`measure`](Self::measure), and a cell that the marginal does not have.
    pub fn measure_cell(
        &mut self,
        clique: &Clique,
        cell: usize,
        marginal: Sensitive<&[u32]>,
        rho: Rho,
    ) -> Result<NoisyCell> {
        self.check_marginal(clique, marginal.as_ref())?;
        let counts = marginal.open();
        let Some(count) = counts.get(cell) else {
            let expected = "a cell of the marginal, counted from 0";
            return Err(Error::invalid_parameter("cell to measure", cell, expected));
        };
        let names = clique.iter().map(|a| self.domain().name(a).to_owned()).collect();
        let what = Measured {
            purpose: "cell of a marginal",
            clique: Some(names),
            cell: Some(cell as u64),
        };
        let (mut values, variance) = self.add_gaussian_noise(what, rho, &[i64::from(*count)])?;
        Ok(NoisyCell { clique: clique.clone(), cell, value: values.swap_remove(0), variance })
    }

    /// Measures residuals, all at once, at a cost of `rho`: discrete Gaussian noise in every cell of every query, with the
    /// variance of each. The records are counted here, after the charge.
    ///
    /// # Errors
    /// No query, queries that cost more than `rho` (by [`residual_cost`]), a `rho` of 0 or above what is left, or a
    /// failure to count.
    pub fn measure_residuals(
        &mut self,
        queries: &[ResidualQuery],
        rho: Rho,
    ) -> Result<Vec<NoisyResidual>> {
        let cliques: Vec<Clique> = queries.iter().map(|query| query.clique().clone()).collect();
        cliques.iter().try_for_each(|clique| self.check_clique(clique))?;
        queries.iter().try_for_each(|query| query.check_domain(self.data.domain()))?;
        let cost = residual_cost(self.domain(), queries, self.relation)?;
        if queries.is_empty() || rho.is_zero() || cost > rho {
            let expected = "above 0, and what the queries' noise costs";
            return Err(Error::invalid_parameter("rho of residuals", rho, expected));
        }
        let entry = LedgerEntry {
            round: self.round,
            purpose: "residuals of marginals".to_owned(),
            clique: None,
            cell: None,
            mechanism: NoiseMechanism::JointDiscreteGaussian {
                queries: queries.len() as u64,
                squared_sensitivity: Ratio::new(cost.units(), 1 << (Rho::UNIT_BITS - 1))?,
                relation: self.relation,
            },
            rho,
        };
        let noise = self.noise.as_mut().ok_or_else(no_round)?;
        self.accountant.charge(entry)?;
        let counts = self.data.project_many(&cliques)?;
        let measured = queries.iter().zip(counts).map(|(query, counts)| {
            let exact = query.apply(self.data.domain(), &counts).into_iter();
            let values = exact.map(|v| v.saturating_add(query.noise().sample(noise))).collect();
            NoisyResidual { query: query.clone(), values }
        });
        Ok(measured.collect())
    }

    /// Selects a candidate at a cost of `rho`: the index of a score, large scores being likely. The exponential mechanism
    /// has ε = √(8ρ), permute-and-flip ε = √(2ρ), rounded down.
    ///
    /// Scores are rounded to a grid of 2⁻¹⁶ of the sensitivity, and two steps are added to it, which pays for the
    /// rounding and for floating-point errors in the scores of up to half a step each
    /// (`docs/theory/sensitivities.md`).
    ///
    /// # Errors
    /// A `rho` of 0 or above what is left. After the charge: no score, or one that is not finite.
    pub fn select(
        &mut self,
        selection: Selection,
        scores: Sensitive<Vec<f64>>,
        sensitivity: ScoreSensitivity,
        rho: Rho,
        purpose: &str,
    ) -> Result<usize> {
        let selector = Selector::new(selection, rho, sensitivity)?;
        let scores = scores.open();
        let entry = LedgerEntry {
            round: self.round,
            purpose: purpose.to_owned(),
            clique: None,
            cell: None,
            mechanism: selector.noise_mechanism(scores.len() as u64)?,
            rho,
        };
        let noise = self.noise.as_mut().ok_or_else(no_round)?;
        self.accountant.charge(entry)?;
        selector.draw(&scores, noise)
    }

    /// Measures real numbers, in counts, at a cost of `rho`, all at once and with the same noise: each is rounded to a grid
    /// of 2⁻⁸ counts, whose rounding the sensitivity pays for, and gets exact noise on it.
    ///
    /// # Errors
    /// Another number of values or another relation than the sensitivity's; a `rho` of 0, below what the sampler can
    /// serve, or above what is left.
    pub fn measure_statistics(
        &mut self,
        values: Sensitive<Vec<f64>>,
        sensitivity: StatisticSensitivity,
        form: NoiseForm,
        rho: Rho,
        purpose: &str,
    ) -> Result<NoisyStatistics> {
        if sensitivity.relation() != self.relation {
            let expected = "the curator's";
            let found = sensitivity.relation();
            return Err(Error::invalid_parameter("relation of a sensitivity", found, expected));
        }
        let values = values.open();
        if values.len() != sensitivity.numbers() {
            let expected = "as many as the sensitivity is of";
            return Err(Error::invalid_parameter("numbers to release", values.len(), expected));
        }
        let (distribution, mechanism) = GridNoise::new(sensitivity, form, rho)?;
        let purpose = purpose.to_owned();
        let entry =
            LedgerEntry { round: self.round, purpose, clique: None, cell: None, mechanism, rho };
        let noise = self.noise.as_mut().ok_or_else(no_round)?;
        self.accountant.charge(entry)?;
        Ok(distribution.add(&values, noise))
    }

    /// Charges, then adds discrete Gaussian noise to counts: a whole marginal, or one cell. The number of records is a
    /// marginal, on no attribute, under add-remove-one.
    fn add_gaussian_noise(
        &mut self,
        what: Measured,
        rho: Rho,
        values: &[i64],
    ) -> Result<(Vec<i64>, Ratio)> {
        let sensitivity = match what.cell {
            Some(_) => MarginalSensitivity::one_cell(self.relation),
            None => MarginalSensitivity::of(self.relation),
        };
        let squared_l2_sensitivity = sensitivity.squared_l2();
        let variance = gaussian_variance(squared_l2_sensitivity, rho)?;
        let distribution = DiscreteGaussian::new(variance)?;
        let entry = LedgerEntry {
            round: self.round,
            purpose: what.purpose.to_owned(),
            clique: what.clique,
            cell: what.cell,
            mechanism: NoiseMechanism::DiscreteGaussian { variance, squared_l2_sensitivity },
            rho,
        };
        let noise = self.noise.as_mut().ok_or_else(no_round)?;
        self.accountant.charge(entry)?;
        let values = values.iter().map(|value| value.saturating_add(distribution.sample(noise)));
        Ok((values.collect(), variance))
    }

    /// Refuses counts that are not a marginal on the clique. The message does not quote them.
    fn check_marginal(&self, clique: &Clique, marginal: Sensitive<&&[u32]>) -> Result<()> {
        self.check_clique(clique)?;
        let counts = marginal.open();
        let expected = self.domain().shape(clique).iter().product::<usize>();
        if counts.len() != expected {
            return Err(Error::ShapeMismatch {
                clique: self.domain().describe(clique),
                expected,
                found: counts.len(),
            });
        }
        if counts.iter().map(|count| u64::from(*count)).sum::<u64>() != self.data.records() {
            return Err(Error::invalid_parameter(
                "marginal to measure",
                "another sum than the number of records",
                "the counts that the curator handed out",
            ));
        }
        Ok(())
    }

    /// Refuses an attribute outside the domain.
    fn check_clique(&self, clique: &Clique) -> Result<()> {
        match clique.iter().next_back() {
            Some(last) if last >= self.domain().len() => Err(Error::invalid_specification(
                format!("clique {clique}"),
                format!("attribute {last}"),
                format!("one of the {} attributes of the domain", self.domain().len()),
            )),
            _ => Ok(()),
        }
    }
}

/// What a measurement is called in the ledger.
struct Measured {
    purpose: &'static str,
    clique: Option<Vec<String>>,
    cell: Option<u64>,
}

/// σ² = Δ₂² / (2ρ), exactly, but not below `Δ₂² / 2¹¹`: more noise than paid for, of no effect on counts.
///
/// `squared_l2_sensitivity`: Δ₂², in squared counts.
fn gaussian_variance(squared_l2_sensitivity: u32, rho: Rho) -> Result<Ratio> {
    if rho.is_zero() {
        return Err(Error::invalid_parameter("rho of a measurement", rho, "above 0"));
    }
    let numerator = u64::from(squared_l2_sensitivity) << (Rho::UNIT_BITS - 1);
    Ratio::new(numerator, rho.units().min(LARGEST_PART))
}

/// The error of an access after a resumption, before a round has begun.
fn no_round() -> Error {
    Error::invalid_parameter("round", "none", "one begun after the run was resumed")
}
