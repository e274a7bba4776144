//! The common parts of mechanisms with a graphical model: the size filter, model errors as scores, and fits.

mod fit;
mod scores;

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::estimation::{EstimatorKind, Stopping, Weighting};
use crate::graph::{self, Extensions, JunctionTree};
use crate::measurement::Measurement;
use crate::mechanism::{FitRecord, Release, Run};
use crate::model::MarkovRandomField;
use crate::observe::Checks;
use crate::privacy::{L1Errors, Rho, Scores, SealedMarginals, Selection};

pub(super) use fit::Fit;
use fit::PotentialsState;
use scores::Coverage;
pub(super) use scores::{model_errors, table_distances, whole_records};

/// The size limit of a model, and how it is fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitting {
    /// Maximum size of the model, in MiB at 8 bytes per cell of every maximal clique.
    pub size_limit_mib: f64,
    /// The estimation method.
    pub estimator: EstimatorKind,
    /// The stopping rule of a fit.
    pub stopping: Stopping,
    /// The weighting of measurements.
    pub weighting: Weighting,
}

impl Fitting {
    /// The default size limit, in MiB.
    pub const SIZE_LIMIT_MIB: f64 = 80.0;
    /// The default maximum number of oracle calls per fit.
    pub const ITERATIONS: u32 = 1000;

    /// Fits of at most `iterations` oracle calls, which weight every measurement by `1/σ²`.
    pub fn new(size_limit_mib: f64, iterations: u32, estimator: EstimatorKind) -> Self {
        let stopping = Stopping::default().at_most(iterations);
        Self { size_limit_mib, estimator, stopping, weighting: Weighting::InverseVariance }
    }

    /// Checks that the settings are in range.
    ///
    /// # Errors
    /// A size limit or a number of iterations that is not above 0.
    pub fn check(&self) -> Result<()> {
        if !(self.size_limit_mib > 0.0 && self.size_limit_mib.is_finite()) {
            let found = self.size_limit_mib;
            return Err(Error::invalid_parameter("size limit mib", found, "above 0"));
        }
        if self.stopping.iterations == 0 {
            return Err(Error::invalid_parameter("iterations", 0, "at least 1"));
        }
        Ok(())
    }

    /// Refuses a size limit below the size of the model of independent attributes and structural zeros, which every
    /// model contains. Also refuses structural zeros that allow no record.
    ///
    /// # Errors
    /// As above, and settings out of range.
    pub fn check_domain(&self, domain: &Domain) -> Result<()> {
        self.check()?;
        let needed_mib = graph::size_mib(JunctionTree::new(domain, &[]).cells());
        if needed_mib <= self.size_limit_mib {
            return Ok(MarkovRandomField::uniform(domain, 1.0).map(drop)?);
        }
        Err(Error::SizeLimit { limit_mib: self.size_limit_mib, needed_mib })
    }
}

/// The graphical model of a run, refitted from round to round.
pub struct GraphicalModel {
    fitting: Fitting,
    total: f64,
    model: MarkovRandomField,
    last_fit: Option<Fit>,
    coverage: Coverage,
}

impl GraphicalModel {
    /// The model of independent uniform attributes, or the model at the end of the resumed rounds. Determines the
    /// number of records ([`Run::total`]).
    ///
    /// # Errors
    /// Settings out of range, a size limit below the smallest model, or a checkpoint that does not match.
    pub fn open(fitting: Fitting, run: &mut Run<'_, '_>) -> Result<Self> {
        fitting.check_domain(run.domain())?;
        let total = run.total()?;
        Self::with_total(fitting, run, total)
    }

    /// As [`open`](Self::open), but with a known number of records, so nothing is spent.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn with_total(fitting: Fitting, run: &Run<'_, '_>, total: f64) -> Result<Self> {
        fitting.check_domain(run.domain())?;
        let domain = run.domain();
        let model = match run.restored::<PotentialsState>()? {
            Some(state) => {
                let potentials = state.potentials(domain, run.measurements());
                let potentials = potentials.map_err(|why| run.refused(why))?;
                MarkovRandomField::new(domain, potentials, total)?
            }
            None => MarkovRandomField::uniform(domain, total)?,
        };
        Ok(Self { fitting, total, model, last_fit: None, coverage: Coverage::default() })
    }

    /// As [`open`](Self::open), but uniform in a resumed run too.
    pub(super) fn unfitted(fitting: Fitting, run: &mut Run<'_, '_>) -> Result<Self> {
        fitting.check_domain(run.domain())?;
        let total = run.total()?;
        let model = MarkovRandomField::uniform(run.domain(), total)?;
        Ok(Self { fitting, total, model, last_fit: None, coverage: Coverage::default() })
    }

    /// The number of records n, or its estimate.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The model of the last fit; uniform before the first fit. A resumed run starts from the model that its last round
    /// started from.
    pub fn model(&self) -> &MarkovRandomField {
        &self.model
    }

    /// Positions of the cliques that keep the model within a size limit if measured next.
    ///
    /// # Errors
    /// No such clique.
    pub fn within(
        &self,
        run: &Run<'_, '_>,
        cliques: &[Clique],
        limit_mib: f64,
    ) -> Result<Vec<usize>> {
        let measured: Vec<Clique> = run.measurements().iter().map(|m| m.clique.clone()).collect();
        let kept = tractable(run.domain(), &measured, cliques, limit_mib);
        let wanted: Vec<usize> = (0..cliques.len()).filter(|i| kept[*i]).collect();
        if wanted.is_empty() {
            return Err(Error::NoCandidates { round: run.next_round(), limit_mib });
        }
        Ok(wanted)
    }

    /// `‖M_τ(D) - M_τ(model)‖₁` for the wanted cliques, in counts.
    ///
    /// `answers`: the private marginals of all cliques. `wanted`: the positions of the cliques to score. `round`: the
    /// seed for records drawn from the model, used where its exact marginals would be costly.
    ///
    /// # Errors
    /// A table that does not fit in memory, or an interruption.
    pub fn errors(
        &mut self,
        run: &Run<'_, '_>,
        cliques: &[Clique],
        wanted: &[usize],
        answers: &SealedMarginals,
        round: u32,
    ) -> Result<L1Errors> {
        let checks = run.checks();
        let (errors, coverage) =
            scores::model_errors(&self.model, cliques, wanted, answers, round, checks)?;
        self.coverage = coverage;
        Ok(errors)
    }

    /// Chooses one of the candidates by the exponential mechanism.
    ///
    /// # Errors
    /// As [`Run::select`].
    pub fn select(&self, run: &mut Run<'_, '_>, scores: Scores, rho: Rho) -> Result<usize> {
        run.scored(scores.candidates(), self.coverage.exact, self.coverage.sampled);
        run.select(Selection::Exponential, scores, rho, "choose a marginal")
    }

    /// Fits the model to all measurements of the run, starting from the potentials of the last fit. Without
    /// measurements the model stays uniform.
    ///
    /// # Errors
    /// A model that does not fit in memory.
    pub fn fit(&mut self, run: &mut Run<'_, '_>) -> Result<()> {
        self.advance(run.domain(), run.measurements(), run.checks())?;
        self.report(run)
    }

    /// Starts again from the uniform model.
    pub(super) fn forget(&mut self) -> Result<()> {
        self.model = MarkovRandomField::uniform(self.model.domain(), self.total)?;
        self.last_fit = None;
        Ok(())
    }

    /// Fits the model to some measurements.
    pub(super) fn advance(
        &mut self,
        domain: &Domain,
        measurements: &[Measurement],
        checks: &dyn Checks,
    ) -> Result<()> {
        if measurements.is_empty() {
            return Ok(());
        }
        let earlier = self.last_fit.as_ref();
        let fit = Fit::new(&self.fitting, domain, measurements, &self.model, earlier, checks)?;
        self.model = fit.model.clone();
        self.last_fit = Some(fit);
        Ok(())
    }

    /// Records the last fit, and keeps its potentials for the checkpoint.
    pub(super) fn report(&self, run: &mut Run<'_, '_>) -> Result<()> {
        let Some(fit) = &self.last_fit else { return Ok(()) };
        run.fitted(FitRecord::GraphicalModel {
            loss: fit.estimate.loss,
            oracle_calls: fit.estimate.oracle_calls,
            model_mib: fit.model.size_mib(),
        });
        run.keep(&PotentialsState::new(&fit.estimate.potentials))
    }

    /// The release, with the certificate of the last fit.
    ///
    /// # Errors
    /// A model that does not fit in memory.
    pub fn finish(self, run: Run<'_, '_>) -> Result<Release> {
        let iterations = self.fitting.stopping.iterations;
        let work = run.rounds().iter().map(|record| match record.fit {
            Some(FitRecord::GraphicalModel { oracle_calls, model_mib, .. }) => {
                f64::from(oracle_calls) * model_mib
            }
            _ => 0.0,
        });
        let work = work.sum();
        let certificate =
            self.last_fit.map(|fit| fit.certify(iterations, work, run.checks())).transpose()?;
        Ok(run.finish(self.model, certificate))
    }
}

/// Which of the cliques keep the model within `limit_mib` if measured in addition to `measured`: [`Extensions::allowed`].
pub(super) fn tractable(
    domain: &Domain,
    measured: &[Clique],
    cliques: &[Clique],
    limit_mib: f64,
) -> Vec<bool> {
    let tree = JunctionTree::new(domain, measured);
    let extensions = Extensions::new(domain, measured, graph::cells_within_mib(limit_mib));
    extensions.allowed(&tree, cliques)
}

/// The one-attribute cliques of a domain.
pub(super) fn single_attributes(domain: &Domain) -> Vec<Clique> {
    (0..domain.len()).map(|attribute| Clique::new([attribute])).collect()
}
