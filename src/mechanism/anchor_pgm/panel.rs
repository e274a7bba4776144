//! The experts of a run.

use std::collections::BTreeMap;

use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::estimation::Certificate;
use crate::measurement::Measurement;
use crate::mechanism::anchor_pgm::base::Base;
use crate::mechanism::anchor_pgm::constants::{CONTRADICTED, RESTS};
use crate::mechanism::anchor_pgm::expert::Expert;
use crate::mechanism::anchor_pgm::pick::{Candidate, Form};
use crate::mechanism::anchor_pgm::setting::{Regime, Setting};
use crate::mechanism::graphical::Fitting;
use crate::mechanism::{ExpertKind, FitRecord, parameters};
use crate::observe::Checks;

/// All experts. The one with public data, if there is one, comes first.
pub(super) struct Panel {
    fitting: Fitting,
    pub(super) base: Option<Base>,
    experts: Vec<Expert>,
    /// The single attributes to which the base moved, with the share of κ that was left there.
    moved: Vec<(Clique, f64)>,
}

impl Panel {
    /// The experts. The one with public tables starts ahead by as many nats as it loses by with a probability of one in
    /// [`FAILS_ONE_IN`] at most if its predictions are right (Ville's inequality).
    ///
    /// `total`: n.
    pub(super) fn new(
        fitting: Fitting,
        domain: &Domain,
        base: Option<Base>,
        setting: &Setting,
        total: f64,
    ) -> Result<Self> {
        let anchored = base.iter().map(|base| Expert::over_public(base.clone(), setting.records));
        let alone = match setting.regime {
            Regime::CoupledWithAim => Expert::alone(domain, total)?,
            Regime::Ample | Regime::Scarce => Expert::over_independence(domain, total)?,
        };
        let experts = anchored.chain([alone]).collect();
        Ok(Self { fitting, base, experts, moved: Vec::new() })
    }

    /// Moves the bases of the experts to what the measured single attributes say.
    pub(super) fn move_bases(
        &mut self,
        singles: &[Measurement],
        checks: &dyn Checks,
    ) -> Result<()> {
        for expert in &mut self.experts {
            let shares = expert.move_base(singles, checks)?;
            if expert.kind == ExpertKind::Base {
                self.moved = shares;
            }
        }
        Ok(())
    }

    /// The expert at a position.
    pub(super) fn expert(&self, position: usize) -> &Expert {
        &self.experts[position]
    }

    /// The position of the expert that is charged least.
    pub(super) fn charged_least(&self) -> usize {
        let all = self.experts.iter().enumerate();
        all.min_by(|(_, a), (_, b)| a.charge.total_cmp(&b.charge)).map_or(0, |(i, _)| i)
    }

    /// The position of [`ExpertKind::Alone`].
    pub(super) fn alone(&self) -> usize {
        self.experts.len().saturating_sub(1)
    }

    /// Charges every expert for how badly it predicted a measurement, before it is used.
    pub(super) fn charge_all(&mut self, measurement: &Measurement) -> Result<()> {
        self.experts.iter_mut().try_for_each(|expert| expert.charge_for(measurement))
    }

    /// Charges one expert in the same way.
    pub(super) fn charge(&mut self, expert: usize, measurement: &Measurement) -> Result<()> {
        self.experts[expert].charge_for(measurement)
    }

    /// The charge above which an expert rests.
    pub(super) fn most_charge(&self) -> f64 {
        self.experts[self.charged_least()].charge + RESTS
    }

    /// Fits those experts that are due.
    pub(super) fn fit_those(
        &mut self,
        are_due: impl Fn(&Expert) -> bool,
        measurements: &[Measurement],
        checks: &dyn Checks,
    ) -> Result<()> {
        let mut due = self.experts.iter_mut().filter(|expert| are_due(expert));
        due.try_for_each(|expert| expert.fit(&self.fitting, measurements, checks))
    }

    /// The experts' models.
    pub(super) fn models(&self) -> Vec<Candidate> {
        let candidate = |expert: &Expert| Candidate {
            name: expert.kind.label(),
            is_public: expert.kind == ExpertKind::Base,
            form: Form::Graphical(expert.model.clone()),
        };
        self.experts.iter().map(candidate).collect()
    }

    /// The fits after a round.
    pub(super) fn record(&self, driver: usize) -> FitRecord {
        let driver = &self.experts[driver];
        FitRecord::Experts {
            driver: driver.kind,
            contradicted: match driver.kind {
                ExpertKind::Alone => 0,
                ExpertKind::Base => parameters::count(self.contradicted().len()),
            },
            oracle_calls: driver.oracle_calls,
            model_mib: driver.model.size_mib(),
        }
    }

    /// The cliques whose measurements contradict the base: those where less than [`CONTRADICTED`] of κ is left, with that
    /// share.
    pub(super) fn contradicted(&self) -> Vec<(Clique, f64)> {
        let learned = self.anchored().flat_map(Expert::learned);
        let mut least: BTreeMap<&Clique, f64> = BTreeMap::new();
        for (clique, share) in
            self.moved.iter().map(|(clique, share)| (clique, *share)).chain(learned)
        {
            let found = least.entry(clique).or_insert(share);
            *found = found.min(share);
        }
        let is_doubted = |(_, share): &(&Clique, f64)| *share < CONTRADICTED;
        let doubted = least.into_iter().filter(is_doubted);
        doubted.map(|(clique, share)| (clique.clone(), share)).collect()
    }

    /// The experts with public tables.
    fn anchored(&self) -> impl Iterator<Item = &Expert> {
        self.experts.iter().filter(|expert| expert.kind == ExpertKind::Base)
    }

    /// The certificate of an expert's fit.
    pub(super) fn certificate(
        &self,
        published: usize,
        checks: &dyn Checks,
    ) -> Result<Option<Certificate>> {
        let expert = self.experts.get(published);
        expert.map_or(Ok(None), |expert| expert.certificate(&self.fitting, checks))
    }
}
