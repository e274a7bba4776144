//! MWEM+PGM: each round measures a workload marginal that the model approximates badly.

use serde::{Deserialize, Serialize};

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::estimation::EstimatorKind;
use crate::graph::{JunctionTree, cells_within_mib};
use crate::mechanism::graphical::{Fitting, GraphicalModel};
use crate::mechanism::{Mechanism, PlanFor, Release, Run, RunPlan, Task, parameters};
use crate::observe::Observer;
use crate::privacy::{Curator, Gain, GainOf};

/// MWEM with a graphical model (`McKenna`, Sheldon & Miklau 2019, section 5), without public tables.
///
/// Each of `rounds` rounds draws a clique of the workload by the exponential mechanism with score
/// `‖M_r(D) - M_r(model)‖₁ - n_r`, measures it, and fits a model to everything measured. The score and the equal
/// budgets of rounds follow the variant that the AIM paper compares with (2022, Algorithm 2), where the number of cells
/// penalizes marginals that noise would drown out. As in the authors' code, but not in the papers, only cliques that
/// keep the model within a size limit are candidates. The limit grows evenly to its full value in the last round. (If
/// no clique fits the first round's share of the limit, that round uses the full limit.) The weights of the workload's
/// cliques are ignored.
///
/// The number of records n is treated as in [`crate::mechanism::Aim`].
///
/// ```
/// # use jointly::domain::Domain;
/// # use jointly::mechanism::{Mechanism, MwemPgm};
/// # use jointly::{Budget, Dataset, NeighboringRelation, NoiseSeed, Silent, Task, Workload};
/// # let rows: Vec<[u32; 3]> = (0..600).map(|i| [i % 2, i % 3, i % 5 / 2]).collect();
/// # let private = Dataset::from_rows(Domain::new([("a", 2), ("b", 3), ("c", 3)])?, &rows)?;
/// # let workload = Workload::all_k_way(private.domain(), 2)?;
/// # let budget = Budget::approximate(1.0, 1e-6)?;
/// # let mut curator = budget.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
/// let mechanism = MwemPgm { rounds: Some(4), ..MwemPgm::default() };
/// let release = mechanism.run(&mut curator, &Task::new(&workload, &[]), &mut Silent)?;
/// assert_eq!(release.rounds.len(), 4);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct MwemPgm {
    /// T, at least 1; `None`: the number of attributes.
    pub rounds: Option<u32>,
    /// The share of a round's budget for the measurement; in (0, 1).
    pub measure_share: f64,
    /// Maximum size of the model, in MiB (8 bytes per cell of every maximal clique); reached only in the last round.
    pub size_limit_mib: f64,
    /// Maximum number of oracle calls per fit.
    pub iterations: u32,
    /// The estimation method.
    pub estimator: EstimatorKind,
}

impl Default for MwemPgm {
    fn default() -> Self {
        Self {
            rounds: None,
            measure_share: 0.5,
            size_limit_mib: Fitting::SIZE_LIMIT_MIB,
            iterations: Fitting::ITERATIONS,
            estimator: EstimatorKind::default(),
        }
    }
}

impl Mechanism for MwemPgm {
    fn name(&self) -> &'static str {
        "mwem-pgm"
    }

    fn check(&self) -> Result<()> {
        parameters::check_rounds(self.rounds)?;
        parameters::check_share("measure share", self.measure_share)?;
        self.fitting().check()
    }

    fn plan(&self, about: &PlanFor<'_>) -> Result<RunPlan> {
        let rounds = self.rounds.unwrap_or_else(|| parameters::count(about.domain.len()));
        Ok(about.even_rounds(rounds, self.measure_share)?.within(self.size_limit_mib))
    }

    fn run(
        &self,
        curator: &mut Curator<'_>,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Release> {
        self.check()?;
        let rounds = self.rounds.unwrap_or_else(|| parameters::count(curator.domain().len()));
        let cliques = task.workload.cliques();
        check_cliques(curator.domain(), &cliques, self.size_limit_mib)?;
        let mut run = Run::open(self.name(), self, curator, task, observer)?;
        let mut model = GraphicalModel::open(self.fitting(), &mut run)?;
        let answers = run.marginals(&cliques)?;
        run.start(rounds, cliques.len());
        model.fit(&mut run)?;
        while run.next_round() <= rounds {
            let round = run.begin_round()?;
            let shares = run.even_share(rounds - round + 1, self.measure_share)?;
            let limit_mib = self.size_limit_mib * f64::from(round) / f64::from(rounds);
            let wanted = model
                .within(&run, &cliques, limit_mib)
                .or_else(|_| model.within(&run, &cliques, self.size_limit_mib))?;

            let errors = model.errors(&run, &cliques, &wanted, &answers, round)?;
            let domain = run.domain();
            let cells = |i: usize| domain.cells(&cliques[i]).unwrap_or(u64::MAX) as f64;
            let less_cells = |i: &usize| GainOf { marginal: *i, weight: 1.0, noise: cells(*i) };
            let candidates: Vec<GainOf> = wanted.iter().map(less_cells).collect();
            let scores = errors.gains(Gain::AboveNoise, &candidates)?;
            let choice = model.select(&mut run, scores, shares.select)?;
            run.measure(&cliques[wanted[choice]], shares.measure)?;
            run.end_round()?;
            model.fit(&mut run)?;
        }
        model.finish(run)
    }
}

impl MwemPgm {
    fn fitting(&self) -> Fitting {
        Fitting::new(self.size_limit_mib, self.iterations, self.estimator)
    }
}

/// Refuses a size limit that no clique of the workload fits. A clique that fits once also fits in later rounds.
fn check_cliques(domain: &Domain, cliques: &[Clique], limit_mib: f64) -> Result<()> {
    let limit_cells = cells_within_mib(limit_mib);
    let fits =
        |clique| JunctionTree::is_tractable(domain, std::slice::from_ref(clique), limit_cells);
    if cliques.iter().any(fits) {
        return Ok(());
    }
    Err(Error::NoCandidates { round: 1, limit_mib })
}
