//! Mechanisms that answer a workload, and the model fitted to their answers.

use serde::Serialize;

use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::error_bars::Interval;
use crate::least_squares::{LeastSquares, Measured};
use crate::measurement::Measurement;
use crate::mechanism::graphical::{Fitting, GraphicalModel, tractable};
use crate::mechanism::{Mechanism, PlanFor, Release, Run, RunPlan, Task};
use crate::model::{CountInterval, count_interval};
use crate::normal::TWO_SIDED;
use crate::observe::Observer;
use crate::privacy::{Curator, Ledger, NeighboringRelation};
use crate::query::Workload;
use crate::strategy::ResidualVariances;

/// Noisy marginals of a workload. They are unbiased and agree with one another on shared attributes, and each comes
/// with the exact standard deviation of its cells. Errors of overlapping marginals, and of the cells of one marginal,
/// are correlated.
///
/// All of it may be published if [`Answers::is_private`] is true.
#[derive(Clone, Debug)]
pub struct Answers {
    /// The mechanism's name.
    pub mechanism: &'static str,
    /// The attributes.
    pub domain: Domain,
    /// The cliques of the workload, in its order.
    pub cliques: Vec<Clique>,
    /// What was measured.
    pub measured: Measured,
    /// The marginals that it says together.
    estimates: LeastSquares,
    /// The cost of each access.
    pub ledger: Ledger,
    /// The neighboring relation of the guarantee.
    pub relation: NeighboringRelation,
    /// False if the noise came from a fixed seed; the answers are then not private.
    pub is_private: bool,
}

/// A noisy marginal, for files.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NamedMarginal {
    /// Names of the attributes.
    pub attributes: Vec<String>,
    /// Number of values of each.
    pub shape: Vec<usize>,
    /// Standard deviation of the noise in every cell, in counts.
    pub stddev: f64,
    /// Row-major: the last attribute's value changes fastest.
    pub counts: Vec<f64>,
}

impl Answers {
    /// Solves for the workload's marginals.
    ///
    /// `measured`: what the curator measured, all of it on the workload.
    pub(super) fn new(
        mechanism: &'static str,
        workload: &Workload,
        curator: &Curator<'_>,
        measured: Measured,
    ) -> Result<Self> {
        let (domain, cliques) = (curator.domain().clone(), workload.cliques());
        Ok(Self {
            mechanism,
            estimates: measured.estimates(&domain, &cliques)?,
            domain,
            cliques,
            measured,
            ledger: curator.ledger().clone(),
            relation: curator.relation(),
            is_private: curator.is_private(),
        })
    }

    /// The noisy marginals of the workload, in its order.
    ///
    /// # Errors
    /// A table that does not fit in memory.
    pub fn named(&self) -> Result<Vec<NamedMarginal>> {
        let named = |clique: &Clique| {
            let Measurement { values, stddev, .. } = self.marginal(clique)?;
            let attributes = clique.iter().map(|a| self.domain.name(a).to_owned()).collect();
            Ok(NamedMarginal {
                attributes,
                shape: self.domain.shape(clique),
                stddev,
                counts: values,
            })
        };
        self.cliques.iter().map(named).collect()
    }

    /// The noisy marginal on a clique of the workload, or a subset of one, in counts. Cells may be negative.
    ///
    /// # Errors
    /// A clique that is not a subset of any workload clique, or a table that does not fit in memory.
    pub fn marginal(&self, clique: &Clique) -> Result<Measurement> {
        let Some(found) = self.estimates.marginal(clique) else {
            let names: Vec<String> =
                clique.iter().map(|attribute| format!("#{attribute}")).collect();
            return Err(self.domain.unknown(&names.join(" x "), "the answered workload").into());
        };
        let stddev = found.of_cell().sqrt();
        Ok(Measurement::new(clique.clone(), found.counts().to_vec(), stddev))
    }

    /// Root mean squared error over all cells of the workload's marginals, in counts.
    ///
    /// # Errors
    /// None in practice: as [`marginal`](Self::marginal).
    pub fn rmse(&self) -> Result<f64> {
        let (mut squares, mut cells) = (0.0, 0.0);
        for clique in &self.cliques {
            let found = self.marginal(clique)?;
            squares += found.values.len() as f64 * found.stddev.powi(2);
            cells += found.values.len() as f64;
        }
        Ok((squares / cells).sqrt())
    }

    /// A 95 % interval for the true count of a cell, as [`Accuracy`](crate::model::Accuracy) has it: the noise alone, `± 1.96` standard
    /// deviations, as the answers depend on no model. Cut at 0, where the lower end is below three standard deviations, and at the
    /// number of records where that is public.
    ///
    /// `count` and `stddev`: those of the cell in [`marginal`](Self::marginal), whose noise is a sum of many draws or
    /// Gaussian itself.
    ///
    /// # Errors
    /// None in practice: as [`marginal`](Self::marginal).
    pub fn interval(&self, count: f64, stddev: f64) -> Result<Interval> {
        let most = if self.relation.has_public_total() { self.total()? } else { f64::INFINITY };
        let CountInterval { lower, upper, .. } = count_interval(count, stddev, TWO_SIDED);
        Ok(Interval { estimate: count, lower: lower.min(most), upper: upper.min(most) })
    }

    /// The number of records, either public or noisy.
    ///
    /// # Errors
    /// None in practice: as [`marginal`](Self::marginal).
    pub fn total(&self) -> Result<f64> {
        Ok(self.marginal(&Clique::default())?.values[0])
    }
}

/// A mechanism that answers all marginals of a workload at once, with noise planned in advance.
///
/// ```
/// use jointly::mechanism::{AnswerWorkload, ResidualPlanner};
/// use jointly::{Budget, Dataset, NeighboringRelation, NoiseSeed, Workload, domain::{Clique, Domain}};
/// let private = Dataset::from_rows(Domain::new([("a", 2), ("b", 2)])?, &[[0, 1]; 900])?;
/// let workload = Workload::all_k_way(private.domain(), 1)?;
/// let budget = Budget::approximate(1.0, 1e-6)?;
/// let mut curator = budget.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
/// let answers = ResidualPlanner::default().answer(&mut curator, &workload)?;
/// assert!((answers.marginal(&Clique::new([1]))?.values[1] - 900.0).abs() < 200.0);
/// # Ok::<(), jointly::Error>(())
/// ```
pub trait AnswerWorkload {
    /// Spends the curator's remaining budget in round 1. Spends nothing if the workload reveals nothing about the
    /// records.
    ///
    /// # Errors
    /// A budget too small for the workload, a curator that has begun its rounds, tables that do not fit in memory, or a
    /// failure of the system's random generator. Messages reveal nothing about the records.
    fn answer(&self, curator: &mut Curator<'_>, workload: &Workload) -> Result<Answers>;
}

/// Answers the workload, and fits a model to the answers that stand out from the noise, as far as the size limit
/// allows. Single attributes come first, then the cliques of the downward closure, ordered by their distance from
/// independence. Everything after the answers is post-processing. The budget is spent at once, in a single round
/// without a checkpoint.
pub(super) fn release<M: AnswerWorkload + Mechanism + Serialize>(
    mechanism: &M,
    fitting: Fitting,
    curator: &mut Curator<'_>,
    task: &Task<'_>,
    observer: &mut dyn Observer,
) -> Result<Release> {
    mechanism.check()?;
    Run::refuse_checkpoint(mechanism.name(), curator)?;
    fitting.check_domain(curator.domain())?;
    let answers = mechanism.answer(curator, task.workload)?;
    let total = answers.total()?.max(1.0);
    let measurements = worth_fitting(&answers, total, task.workload, fitting.size_limit_mib)?;
    let mut run = Run::open(mechanism.name(), mechanism, curator, task, observer)?;
    let mut model = GraphicalModel::with_total(fitting, &run, total)?;
    run.start(1, answers.cliques.len());
    measurements.into_iter().for_each(|measurement| run.take(measurement));
    run.end_round()?;
    model.fit(&mut run)?;
    Ok(Release { answered: Some(answers.measured), ..model.finish(run)? })
}

/// The plan of such a mechanism: one round. `variances`: the variances of the answers.
pub(super) fn plan(
    about: &PlanFor<'_>,
    variances: &ResidualVariances,
    size_limit_mib: f64,
) -> RunPlan {
    let stddev = variances.workload_rmse(about.workload);
    let step = about.step_of("marginals of the workload", about.workload.len(), stddev);
    RunPlan { rounds: 1, steps: vec![step], ..RunPlan::default() }.within(size_limit_mib)
}

/// The answers to which a model is fitted.
fn worth_fitting(
    answers: &Answers,
    total: f64,
    workload: &Workload,
    size_limit_mib: f64,
) -> Result<Vec<Measurement>> {
    let (singles, wider): (Vec<Clique>, Vec<Clique>) =
        workload.downward_closure().into_iter().partition(|clique| clique.len() == 1);
    let mut chosen =
        singles.iter().map(|single| answers.marginal(single)).collect::<Result<Vec<_>>>()?;
    let mut scored = Vec::new();
    for clique in wider {
        let answer = answers.marginal(&clique)?;
        let score = dependence(&answers.domain, &answer, &chosen, total);
        if score > 0.0 {
            scored.push((score, answer));
        }
    }
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    for (_, answer) in scored {
        let cliques: Vec<Clique> = chosen.iter().map(|m| m.clique.clone()).collect();
        let next = std::slice::from_ref(&answer.clique);
        let is_said = cliques.iter().any(|clique| answer.clique.is_subset(clique));
        if !is_said && tractable(&answers.domain, &cliques, next, size_limit_mib)[0] {
            chosen.push(answer);
        }
    }
    Ok(chosen)
}

/// `‖y − n ∏_i y_i/n‖₁ − √(2/π) σ k`: the distance of a noisy marginal from independence, minus the part expected from
/// noise.
///
/// `singles`: the noisy marginals of single attributes.
fn dependence(domain: &Domain, answer: &Measurement, singles: &[Measurement], total: f64) -> f64 {
    let mut product = vec![total];
    for attribute in answer.clique.iter() {
        let single = singles.iter().find(|single| single.clique.contains(attribute));
        let values = single.map_or(&[][..], |single| &single.values);
        let uniform = (domain.cardinality(attribute) as f64).recip();
        product = product
            .iter()
            .flat_map(|p| {
                let share = move |v: Option<&f64>| p * v.map_or(uniform, |v| v.max(0.0) / total);
                (0..domain.cardinality(attribute)).map(move |code| share(values.get(code)))
            })
            .collect();
    }
    let distance: f64 = answer.values.iter().zip(&product).map(|(y, p)| (y - p).abs()).sum();
    let noise = (2.0 / std::f64::consts::PI).sqrt() * answer.stddev;
    distance - noise * answer.values.len() as f64
}
