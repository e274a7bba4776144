//! The experts of a run.

use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::estimation::Certificate;
use crate::measurement::Measurement;
use crate::mechanism::anchor_pgm::base::Base;
use crate::mechanism::anchor_pgm::constants::{HEAD_START, LIGHTLY, RESTS};
use crate::mechanism::anchor_pgm::expert::Expert;
use crate::mechanism::anchor_pgm::pick::{Candidate, Form};
use crate::mechanism::anchor_pgm::setting::Setting;
use crate::mechanism::graphical::Fitting;
use crate::mechanism::{ExpertKind, FitRecord};
use crate::observe::Checks;

/// All experts. The one with public data that is trusted most comes first, the one without public data last.
pub(super) struct Panel {
    fitting: Fitting,
    pub(super) base: Option<Base>,
    experts: Vec<Expert>,
}

impl Panel {
    /// `total`: n.
    pub(super) fn new(
        fitting: Fitting,
        domain: &Domain,
        base: Option<Base>,
        setting: &Setting,
        total: f64,
    ) -> Result<Self> {
        let expert = |kind: &ExpertKind| {
            let pull = match kind {
                ExpertKind::Base => setting.records,
                ExpertKind::TenthOfBase => LIGHTLY * setting.records,
                ExpertKind::FromBase => 0.0,
                ExpertKind::Alone => return Expert::alone(domain, total),
            };
            base.as_ref().map_or_else(
                || Expert::alone(domain, total),
                |base| Ok(Expert::over_base(*kind, base, pull)),
            )
        };
        let experts = setting.experts.iter().map(expert).collect::<Result<_>>()?;
        Ok(Self { fitting, base, experts })
    }

    pub(super) fn len(&self) -> usize {
        self.experts.len()
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

    pub(super) fn give_head_start(&mut self, expert: usize) {
        self.experts[expert].charge -= HEAD_START;
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

    /// Fits those experts that are due. `doubted`: how often a fit is repeated at most while measurements contradict the base.
    pub(super) fn fit_those(
        &mut self,
        are_due: impl Fn(&Expert) -> bool,
        doubted: u32,
        measurements: &[Measurement],
        checks: &dyn Checks,
    ) -> Result<()> {
        let mut due = self.experts.iter_mut().filter(|expert| are_due(expert));
        due.try_for_each(|expert| expert.fit(&self.fitting, measurements, doubted, checks))
    }

    /// The experts' models.
    pub(super) fn models(&self) -> Vec<Candidate> {
        let candidate = |expert: &Expert| Candidate {
            name: expert.kind.label(),
            form: Form::Graphical(expert.model.clone()),
        };
        self.experts.iter().map(candidate).collect()
    }

    /// The fits after a round.
    pub(super) fn record(&self, driver: usize) -> FitRecord {
        let driver = &self.experts[driver];
        FitRecord::Experts {
            driver: driver.kind,
            contradicted: u32::try_from(driver.contradicted().count()).unwrap_or(u32::MAX),
            oracle_calls: driver.oracle_calls,
            model_mib: driver.model.size_mib(),
        }
    }

    /// The cliques whose measurements contradict the base, with the share of κ that is left there.
    pub(super) fn contradicted(&self) -> Vec<(Clique, f64)> {
        let first = self.experts.first().into_iter().flat_map(Expert::contradicted);
        first.map(|(clique, share)| (clique.clone(), share)).collect()
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
