//! The experts of a run, and which of them drives.

use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::estimation::Certificate;
use crate::measurement::Measurement;
use crate::mechanism::FitRecord;
use crate::mechanism::adaptive;
use crate::mechanism::anchor_pgm::base::Base;
use crate::mechanism::anchor_pgm::expert::{AnchorExpert, Expert};
use crate::mechanism::anchor_pgm::pick::{Candidate, Form};
use crate::mechanism::anchor_pgm::setting::{Regime, Setting};
use crate::mechanism::graphical::Fitting;
use crate::observe::Checks;

/// Nats by which the first driver starts ahead.
const HEAD_START: f64 = 2.0;
/// Nats behind the leader from which an expert rests: it is fitted again only before the last pick.
const RESTS: f64 = 5000.0;
/// How often a fit whose measurements contradict the base is repeated with less trust in it.
const DOUBTED: u32 = 1;
/// The same for experts of a coupled run, which fit all measurements at once.
const DOUBTED_AT_ONCE: u32 = 8;

/// All experts. The one with public data that is trusted most comes first, the one without public data last.
pub(super) struct Panel {
    fitting: Fitting,
    pub(super) base: Option<Base>,
    pub(super) experts: Vec<Expert>,
    /// Whether the expert without public data drives whatever it predicts, and the others wait for the last pick.
    coupled: bool,
}

impl Panel {
    /// `records`: m.
    pub(super) fn new(
        fitting: Fitting,
        domain: &Domain,
        base: Option<Base>,
        setting: &Setting,
        records: f64,
        total: f64,
    ) -> Result<Self> {
        let mut experts = Vec::new();
        if let Some(base) = &base {
            let with = |which, pull| Expert::over_base(which, base, pull);
            experts.push(with(AnchorExpert::Base, records));
            if setting.regime != Regime::Predicted {
                experts.push(with(AnchorExpert::TenthOfBase, 0.1 * records));
                experts.push(with(AnchorExpert::FromBase, 0.0));
            }
        }
        experts.push(Expert::alone(domain, total)?);
        let coupled = setting.regime == Regime::Coupled;
        Ok(Self { fitting, base, experts, coupled })
    }

    /// Gives one expert its head start.
    pub(super) fn favor(&mut self, expert: usize) {
        self.experts[expert].surprise -= HEAD_START;
    }

    /// The position of the expert that predicted the measurements best; in a coupled run, of that without public data.
    pub(super) fn leader(&self) -> usize {
        if self.coupled {
            return self.experts.len() - 1;
        }
        let all = self.experts.iter().enumerate();
        all.min_by(|(_, a), (_, b)| a.surprise.total_cmp(&b.surprise)).map_or(0, |(i, _)| i)
    }

    /// The leader, if it has a base; in a coupled run, the expert with public data that is trusted most.
    pub(super) fn believer(&self) -> Option<&Expert> {
        if self.coupled {
            return self.experts.first();
        }
        Some(self.driver()).filter(|expert| expert.which != AnchorExpert::Alone)
    }

    /// The expert whose model is scored in the next round.
    pub(super) fn driver(&self) -> &Expert {
        &self.experts[self.leader()]
    }

    /// Compares a measurement with what every expert expected, before it is used.
    pub(super) fn observe(&mut self, measurement: &Measurement) -> Result<()> {
        self.experts.iter_mut().try_for_each(|expert| expert.observe(measurement))
    }

    /// Fits all experts.
    pub(super) fn fit(&mut self, measurements: &[Measurement], checks: &dyn Checks) -> Result<()> {
        self.fit_those(|_| true, DOUBTED, measurements, checks)
    }

    /// Fits the experts that do not rest: those that the leader is not far ahead of, or in a coupled run the leader alone.
    fn fit_contenders(&mut self, measurements: &[Measurement], checks: &dyn Checks) -> Result<()> {
        let most = self.driver().surprise + RESTS;
        let coupled = self.coupled;
        let is_due = |expert: &Expert| {
            if coupled { expert.which == AnchorExpert::Alone } else { expert.surprise <= most }
        };
        self.fit_those(is_due, DOUBTED, measurements, checks)
    }

    /// Fits the experts that rest. In a coupled run those with public data have seen none of the rounds, so they may doubt
    /// the base as often as they would have in these.
    pub(super) fn wake(&mut self, measurements: &[Measurement], checks: &dyn Checks) -> Result<()> {
        let doubted = if self.coupled { DOUBTED_AT_ONCE } else { DOUBTED };
        self.fit_those(|expert| expert.fitted < measurements.len(), doubted, measurements, checks)
    }

    fn fit_those(
        &mut self,
        are_due: impl Fn(&Expert) -> bool,
        doubted: u32,
        measurements: &[Measurement],
        checks: &dyn Checks,
    ) -> Result<()> {
        let mut due = self.experts.iter_mut().filter(|expert| are_due(expert));
        due.try_for_each(|expert| expert.fit(&self.fitting, measurements, doubted, checks))
    }

    /// Adds the last measurement. Returns whether it told the driver nothing beyond noise: by what the driver expected; for
    /// the expert without public tables, as long as it does not rest, by how far its model moved, as in AIM.
    pub(super) fn take(
        &mut self,
        measurements: &[Measurement],
        checks: &dyn Checks,
    ) -> Result<bool> {
        let Some(last) = measurements.last() else { return Ok(false) };
        let asked = std::slice::from_ref(&last.clique);
        let driver = self.leader();
        let old = self.experts[driver].model.marginals(asked)?;
        self.observe(last)?;
        self.fit_contenders(measurements, checks)?;
        let driver = &self.experts[driver];
        if driver.which == AnchorExpert::Alone && driver.fitted == measurements.len() {
            let new = driver.model.marginals(asked)?;
            return Ok(adaptive::moved_nothing(last, old[0].values(), new[0].values()));
        }
        Ok(adaptive::told_nothing(last, old[0].values()))
    }

    /// The experts' models.
    pub(super) fn models(&self) -> Vec<Candidate> {
        let candidate = |expert: &Expert| Candidate {
            name: expert.which.label(),
            form: Form::Graphical(expert.model.clone()),
        };
        self.experts.iter().map(candidate).collect()
    }

    /// The fit after a round.
    pub(super) fn record(&self) -> FitRecord {
        let driver = self.driver();
        FitRecord::Experts {
            driver: driver.which,
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
