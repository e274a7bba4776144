//! Step 4: what is published.

use crate::error::Result;
use crate::mechanism::anchor_pgm::constants::SHARES;
use crate::mechanism::anchor_pgm::pick::{Candidate, Form};
use crate::mechanism::anchor_pgm::rows::PublicRecords;
use crate::mechanism::anchor_pgm::steps::AnchorRun;
use crate::mechanism::{ExpertKind, PublicTrust, Release};
use crate::privacy::ScoreSensitivity;

impl AnchorRun<'_, '_> {
    /// The models that may be published, those of the experts first, and the position of the favorite: that of step 3, the public
    /// records mixed with the model of this expert in a share that public records say is best, where they do, or this model. Where the
    /// choice is paid for, the same mixed in each of [`SHARES`] are compared too.
    pub(super) fn finalists(&self, expert: usize) -> Result<(Vec<Candidate>, usize)> {
        let (mut models, mut favorite) = (self.panel.models(), expert);
        let (run, public, checks) = (&self.run, self.task.public, self.run.checks());
        let measurements = run.measurements();
        let records = PublicRecords::fit(run.domain(), public, measurements, self.total, checks)?;
        let Some(records) = records else { return Ok((models, favorite)) };
        if let Some(units) = &self.units {
            favorite = models.len();
            models.push(units.candidate()?);
        } else {
            let expert = self.panel.expert(expert);
            let base = self.panel.base.as_ref().filter(|_| expert.kind == ExpertKind::Base);
            let expected = match base {
                Some(base) => {
                    records.share_beside(base, &self.task, self.setting.beaten, checks)?
                }
                None => None,
            };
            if expected.is_some() {
                favorite = models.len();
            }
            let tried = if self.setting.last_choice().is_zero() { &[][..] } else { &SHARES };
            let shares: Vec<f64> = expected.into_iter().chain(tried.iter().copied()).collect();
            let mixed = records.mixed_with(&expert.model, &shares)?;
            models.extend(mixed.into_iter().map(|mixture| Candidate {
                name: "the public records, reweighted and mixed with a fit",
                is_public: true,
                form: Form::Mixed(mixture),
            }));
        }
        models.push(records.candidate());
        Ok((models, favorite))
    }

    /// Chooses what is published by mean workload error, for all that is left. Returns its position.
    pub(super) fn choose_published(
        &mut self,
        models: &[Candidate],
        favorite: Option<usize>,
    ) -> Result<usize> {
        if self.picks.last.is_none() {
            let rho = self.run.remaining();
            self.picks.last = Some(self.choose_model(models, favorite, rho)?);
            self.run.keep(&self.picks)?;
            self.run.end_round()?;
        }
        let last = self.picks.last.filter(|last| *last < models.len());
        last.ok_or_else(|| self.run.refused("a pick that names no model"))
    }

    /// The release of one of the models.
    pub(super) fn release(self, mut models: Vec<Candidate>, published: usize) -> Result<Release> {
        let sensitivity = ScoreSensitivity::mean_workload_error(self.run.relation()).value();
        let above_aim = self.setting.last_choice_bound(models.len(), sensitivity, self.total);
        let certificate = self.panel.certificate(published, self.run.checks())?;
        let contradicted = self.setting.has_base.then(|| self.panel.contradicted());
        let published = models.swap_remove(published);
        let trust = PublicTrust { published: published.name, contradicted, above_aim };
        let is_public = published.is_public && self.setting.records > 0.0;
        let public = self.task.public;
        let mut release = self.run.finish(published.into_model()?, certificate);
        if is_public {
            release = release.starting_from(public);
        }
        release.public_trust = (self.setting.records > 0.0).then_some(trust);
        Ok(release)
    }
}
