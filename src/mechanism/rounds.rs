//! The shape that all mechanisms share: rounds that choose, measure, record and fit.

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::estimation::{Stopping, Weighting};
use crate::measurement::Measurement;
use crate::mechanism::adaptive::{self, Coverage, Fit};
use crate::mechanism::checkpoint::{Checkpoint, CheckpointFolder, Identity};
use crate::mechanism::{Release, Task};
use crate::model::MarkovRandomField;
use crate::observe::{Event, Observer};
use crate::privacy::{
    Curator, MarginalSensitivity, NeighboringRelation, Rho, ScoreSensitivity, Selection, Sensitive,
};

/// Share of the budget that the number of records costs under add-remove-one: 1/100.
const TOTAL_SHARE: (u64, u64) = (1, 100);

/// What shapes a run, save its inputs.
#[derive(Clone, Debug)]
pub(super) struct Settings<'m> {
    /// The mechanism's name.
    pub name: &'static str,
    /// T; `None` where the mechanism has no such parameter.
    pub rounds: Option<u32>,
    /// The share of a round's budget that measures; `None` where the mechanism has no such parameter.
    pub measure_share: Option<f64>,
    /// Largest model, in MiB.
    pub size_limit_mib: f64,
    /// When a fit ends.
    pub stopping: Stopping,
    /// What a measurement weighs in the fits.
    pub weighting: Weighting,
    /// Where the state is kept.
    pub checkpoint: Option<&'m CheckpointFolder>,
}

impl<'m> Settings<'m> {
    fn identity(&self) -> Identity<'m> {
        let parameters = format!(
            "{:?} {:?} {} {}",
            self.rounds,
            self.measure_share.map(f64::to_bits),
            self.size_limit_mib.to_bits(),
            self.stopping.iterations,
        );
        Identity { name: self.name, parameters, measures_total: true, checkpoint: self.checkpoint }
    }

    fn check(&self, domain: &Domain) -> Result<()> {
        if self.rounds == Some(0) {
            return Err(Error::invalid_parameter("rounds", 0, "at least 1"));
        }
        if let Some(found) = self.measure_share
            && !(found > 0.0 && found < 1.0)
        {
            return Err(Error::invalid_parameter("measure share", found, "above 0 and below 1"));
        }
        if !(self.size_limit_mib > 0.0 && self.size_limit_mib.is_finite()) {
            let found = self.size_limit_mib;
            return Err(Error::invalid_parameter("size limit", found, "above 0 MiB"));
        }
        if self.stopping.iterations == 0 {
            return Err(Error::invalid_parameter("iterations", 0, "at least 1"));
        }
        adaptive::check_domain(domain, self.size_limit_mib)
    }
}

/// A run under way. Every round takes one marginal, and is durable before anything of it is seen.
pub(super) struct Rounds<'r, 'c> {
    settings: Settings<'r>,
    curator: &'r mut Curator<'c>,
    observer: &'r mut dyn Observer,
    state: Checkpoint,
    domain: Domain,
    total: f64,
    /// What an earlier run had spent of the limit.
    earlier: Rho,
    budget: Rho,
    model: MarkovRandomField,
    last_fit: Option<Fit>,
    coverage: Coverage,
    planned: u32,
}

impl<'r, 'c> Rounds<'r, 'c> {
    /// Checks the settings, takes up the state of a run that was cut short, and settles the number of records n: public
    /// under replace-one, otherwise a paid estimate, made once and kept.
    ///
    /// # Errors
    /// Settings out of range, or a checkpoint that is refused.
    pub(super) fn open(
        settings: Settings<'r>,
        curator: &'r mut Curator<'c>,
        task: &Task<'_>,
        observer: &'r mut dyn Observer,
    ) -> Result<Self> {
        settings.check(curator.domain())?;
        let earlier = curator.spent();
        let mut state = Checkpoint::open(&settings.identity(), curator, task)?;
        let total = records(curator, &mut state)?;
        Self::with_total(settings, curator, observer, state, (total, earlier))
    }

    /// A run that spends nothing and keeps no state, with a number of records known from elsewhere.
    ///
    /// # Errors
    /// Settings out of range.
    pub(super) fn open_free(
        settings: Settings<'r>,
        curator: &'r mut Curator<'c>,
        total: f64,
        observer: &'r mut dyn Observer,
    ) -> Result<Self> {
        settings.check(curator.domain())?;
        let earlier = curator.spent();
        Self::with_total(settings, curator, observer, Checkpoint::default(), (total, earlier))
    }

    fn with_total(
        settings: Settings<'r>,
        curator: &'r mut Curator<'c>,
        observer: &'r mut dyn Observer,
        state: Checkpoint,
        (total, earlier): (f64, Rho),
    ) -> Result<Self> {
        let domain = curator.domain().clone();
        let of_total = curator.ledger().entries().iter().take_while(|entry| entry.round == 0);
        let of_total = of_total.map(|entry| entry.rho.units()).sum::<u64>();
        let limit = curator.ledger().limit();
        let budget = Rho::from_units(limit.units().saturating_sub(of_total));
        let model = match &state.potentials {
            Some(potentials) => MarkovRandomField::new(&domain, potentials.clone(), total)?,
            None => MarkovRandomField::uniform(&domain, total)?,
        };
        let (coverage, planned) = (Coverage::default(), 0);
        let own = Self {
            settings,
            curator,
            observer,
            state,
            domain,
            total,
            earlier,
            budget,
            model,
            last_fit: None,
            coverage,
            planned,
        };
        Ok(own)
    }

    /// Tells the observer that the rounds begin.
    pub(super) fn start(&mut self, planned: u32, candidates: usize) {
        self.planned = planned;
        self.observer.event(&Event::Started {
            mechanism: self.settings.name,
            rounds: planned,
            first_round: self.next_round(),
            candidates,
            limit: self.curator.ledger().limit(),
        });
    }

    /// The attributes.
    pub(super) fn domain(&self) -> &Domain {
        &self.domain
    }

    /// n, or its estimate.
    pub(super) fn total(&self) -> f64 {
        self.total
    }

    /// The budget of all rounds together, spent or not: the limit without what the number of records cost.
    pub(super) fn budget(&self) -> Rho {
        self.budget
    }

    /// What is left of it.
    pub(super) fn remaining(&self) -> Rho {
        self.curator.remaining()
    }

    /// Share that is spent, once this cost is, too, of what the limit left this run to spend.
    pub(super) fn spent_share_with(&self, cost: Rho) -> f64 {
        let own = |rho: Rho| rho.units().saturating_sub(self.earlier.units());
        let spent = own(self.curator.spent()).saturating_add(cost.units());
        let limit = own(self.curator.ledger().limit()).max(1);
        Rho::from_units(spent).to_f64() / Rho::from_units(limit).to_f64()
    }

    /// The model of the last fit; uniform before the first. A continued run begins with the model that its last round
    /// had begun with.
    pub(super) fn model(&self) -> &MarkovRandomField {
        &self.model
    }

    /// What was measured, in order.
    pub(super) fn measurements(&self) -> &[Measurement] {
        &self.state.measurements
    }

    /// What the last measurement cost.
    pub(super) fn last_cost(&self) -> Rho {
        self.curator.ledger().entries().last().map_or(Rho::ZERO, |entry| entry.rho)
    }

    /// The first round that is not durable yet, counted from 1.
    pub(super) fn next_round(&self) -> u32 {
        self.state.next_round()
    }

    /// Changes how many rounds the observer is told to expect.
    pub(super) fn plan(&mut self, rounds: u32) {
        self.planned = rounds;
    }

    /// The exact marginals on some cliques, sealed.
    ///
    /// # Errors
    /// A failure to count.
    pub(super) fn marginals(&self, cliques: &[Clique]) -> Result<Sensitive<Vec<Vec<u32>>>> {
        self.curator.marginals(cliques)
    }

    /// Begins the next round, and returns its number.
    ///
    /// # Errors
    /// A failure of the system's random generator.
    pub(super) fn begin_round(&mut self) -> Result<u32> {
        let round = self.next_round();
        self.curator.begin_round(round)?;
        Ok(round)
    }

    /// What the next of the `left` rounds may cost, in two parts: for measuring, the share asked for; and for choosing.
    ///
    /// # Errors
    /// One of them is nothing.
    pub(super) fn even_share(&self, left: u32, measure_share: f64) -> Result<(Rho, Rho)> {
        let budget = self.remaining().split(1, left.into()).unwrap_or_default().0;
        positive(budget.fraction(measure_share)?, budget)
    }

    /// Positions of the cliques that keep the model within a size when measured next.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn within(&self, cliques: &[Clique], limit_mib: f64) -> Result<Vec<usize>> {
        let measured: Vec<Clique> = self.measurements().iter().map(|m| m.clique.clone()).collect();
        let kept = adaptive::tractable(&self.domain, &measured, cliques, limit_mib);
        let wanted: Vec<usize> = (0..cliques.len()).filter(|i| kept[*i]).collect();
        if wanted.is_empty() {
            let reason = format!("no clique fits a model of {limit_mib:.3} MiB");
            return Err(Error::NoCandidates { round: self.next_round(), reason });
        }
        Ok(wanted)
    }

    /// `‖M_τ(D) - M_τ(model)‖₁` for the wanted cliques, in counts. `round` seeds records drawn from the model, where
    /// its marginals are dear.
    ///
    /// # Errors
    /// A table that does not fit memory.
    pub(super) fn model_errors(
        &mut self,
        cliques: &[Clique],
        wanted: &[usize],
        answers: &Sensitive<Vec<Vec<u32>>>,
        round: u32,
    ) -> Result<Sensitive<Vec<f64>>> {
        let (errors, coverage) =
            adaptive::model_errors(&self.model, cliques, wanted, answers, round)?;
        self.coverage = coverage;
        Ok(errors)
    }

    /// `√(2/π) σ`: expected absolute noise of a cell measured at this cost, `σ² = Δ₂²/(2ρ)`.
    pub(super) fn expected_noise(&self, measure_budget: Rho) -> f64 {
        let relation = self.curator.relation();
        let squared_l2 = f64::from(MarginalSensitivity::of(relation).squared_l2());
        let variance = squared_l2 / (2.0 * measure_budget.to_f64());
        (2.0 * variance / std::f64::consts::PI).sqrt()
    }

    /// Chooses one of `candidates` scores by the exponential mechanism.
    ///
    /// `sensitivity`: of the scores, from the neighboring relation.
    ///
    /// # Errors
    /// As [`Curator::select`].
    pub(super) fn select(
        &mut self,
        scores: Sensitive<Vec<f64>>,
        candidates: usize,
        sensitivity: ScoreSensitivity,
        rho: Rho,
    ) -> Result<usize> {
        self.observer.event(&Event::Scored {
            round: self.next_round(),
            candidates,
            exact: self.coverage.exact,
            sampled: self.coverage.sampled,
        });
        let how = Selection::Exponential;
        self.curator.select(how, scores, sensitivity, rho, "choose a marginal")
    }

    /// Which tables are neighbors.
    pub(super) fn relation(&self) -> NeighboringRelation {
        self.curator.relation()
    }

    /// Measures a clique privately, and ends the round's part that touches records.
    ///
    /// `candidates`: among how many it was chosen; 0 for a marginal that is taken in any case.
    ///
    /// # Errors
    /// As [`Curator::measure`], or a checkpoint that cannot be written.
    pub(super) fn measure(&mut self, candidates: usize, clique: &Clique, rho: Rho) -> Result<()> {
        let noisy = self.curator.measure(clique, rho)?;
        self.record(candidates, Measurement::from(noisy))
    }

    /// Measures each of some cliques, one a round, at equal parts of a budget. Rounds of a continued run that are
    /// durable are not repeated.
    ///
    /// `cliques`: the first to be measured.
    ///
    /// # Errors
    /// As [`Rounds::measure`]; a part that is nothing.
    pub(super) fn measure_each(&mut self, cliques: &[Clique], budget: Rho) -> Result<()> {
        let all = cliques.len() as u64;
        let up_to = |i: u64| budget.split(i, all).unwrap_or_default().0;
        for (i, clique) in (0_u64..).zip(cliques).skip(self.measurements().len()) {
            let rho = up_to(i + 1).checked_sub(up_to(i)).unwrap_or_default();
            self.begin_round()?;
            self.measure(0, clique, rho)?;
        }
        Ok(())
    }

    /// Keeps a measurement: durable first, then told.
    ///
    /// `candidates`: as in [`Rounds::measure`].
    ///
    /// # Errors
    /// A checkpoint that cannot be written.
    pub(super) fn record(&mut self, candidates: usize, measurement: Measurement) -> Result<()> {
        let round = self.next_round();
        let event = Event::Measured {
            round,
            rounds: self.planned.max(round),
            clique: measurement.clique.iter().map(|a| self.domain.name(a).to_owned()).collect(),
            provenance: measurement.provenance.clone(),
            stddev: measurement.stddev,
            spent: self.curator.spent(),
            limit: self.curator.ledger().limit(),
        };
        self.state.record(round, candidates, measurement, self.curator.ledger())?;
        self.observer.event(&event);
        Ok(())
    }

    /// Fits all measurements, from the potentials of the last fit. Without measurements the model stays uniform.
    ///
    /// # Errors
    /// A model that does not fit memory.
    pub(super) fn fit(&mut self) -> Result<()> {
        let Some(record) = self.state.rounds.last_mut() else { return Ok(()) };
        let fit = Fit::new(
            &self.domain,
            &self.state.measurements,
            self.total,
            self.state.potentials.as_ref(),
            self.settings.stopping,
            self.settings.weighting,
            self.last_fit.as_ref(),
        )?;
        record.loss = fit.estimate.loss;
        record.oracle_calls = fit.estimate.oracle_calls;
        record.model_mib = fit.model.size_mib();
        self.observer.event(&Event::Fitted {
            round: record.round,
            loss: record.loss,
            oracle_calls: record.oracle_calls,
            model_mib: record.model_mib,
        });
        self.state.potentials = Some(fit.estimate.potentials.clone());
        self.model = fit.model.clone();
        self.last_fit = Some(fit);
        Ok(())
    }

    /// What the run hands back, with the certificate of its last fit.
    ///
    /// # Errors
    /// A model that does not fit memory.
    pub(super) fn finish(self) -> Result<Release> {
        let iterations = self.settings.stopping.iterations;
        let rounds = self.state.rounds.iter();
        let work = rounds.map(|r| f64::from(r.oracle_calls) * r.model_mib).sum();
        let certificate = self.last_fit.map(|fit| fit.certify(iterations, work)).transpose()?;
        if let Some(certificate) = certificate {
            self.observer.event(&Event::Certified(certificate));
        }
        Ok(Release {
            mechanism: self.settings.name,
            model: self.model.into(),
            certificate,
            measurements: self.state.measurements,
            rounds: self.state.rounds,
            ledger: self.curator.ledger().clone(),
            relation: self.curator.relation(),
            is_private: self.curator.is_private(),
        })
    }
}

/// Every attribute of a domain alone.
pub(super) fn single_attributes(domain: &Domain) -> Vec<Clique> {
    (0..domain.len()).map(|attribute| Clique::new([attribute])).collect()
}

/// A number of rounds.
pub(super) fn count(rounds: usize) -> u32 {
    u32::try_from(rounds).unwrap_or(u32::MAX)
}

/// Two parts of a round's budget, both above 0.
///
/// # Errors
/// One of them is nothing.
pub(super) fn positive(parts: (Rho, Rho), of: Rho) -> Result<(Rho, Rho)> {
    if parts.0.is_zero() || parts.1.is_zero() {
        let expected = "a positive rho for each step of each round: more budget or fewer rounds";
        return Err(Error::invalid_parameter("budget of a round", of, expected));
    }
    Ok(parts)
}

/// n: public under replace-one; otherwise a paid estimate, made once and kept in the checkpoint.
pub(super) fn records(curator: &mut Curator<'_>, state: &mut Checkpoint) -> Result<f64> {
    if let Some(records) = curator.records() {
        return Ok((records as f64).max(1.0));
    }
    if let Some(total) = state.total {
        return Ok(total);
    }
    let (numerator, denominator) = TOTAL_SHARE;
    let budget = curator.remaining().split(numerator, denominator).unwrap_or_default().0;
    let total = (curator.measure_total(budget)? as f64).max(1.0);
    state.record_total(total, curator.ledger())?;
    Ok(total)
}
