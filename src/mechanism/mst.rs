//! MST: a spanning tree of dependent pairs of attributes.

use serde::{Deserialize, Serialize};

use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::estimation::EstimatorKind;
use crate::graph::{self, JunctionTree};
use crate::mechanism::graphical::{Fitting, GraphicalModel, single_attributes, tractable};
use crate::mechanism::parameters::count;
use crate::mechanism::{Mechanism, PlanFor, Release, Run, RunPlan, Task};
use crate::observe::Observer;
use crate::privacy::{Curator, Rho};
use crate::query::Workload;

/// MST (`McKenna`, Miklau & Sheldon 2021, Algorithm 2), with neither workload nor public tables.
///
/// One third of the budget measures all single attributes, and a model is fitted to them alone. The other two thirds
/// choose and measure a maximum spanning tree of pairs: `d - 1` times, the exponential mechanism draws a pair of
/// attributes that are not connected yet, with score `‖M_ij(D) - M_ij(model)‖₁`, and the pair is measured. (The paper
/// draws the whole tree first. No choice depends on a measured pair, so the order makes no difference.)
///
/// A pair is a candidate only if it takes at most a `(d - 1)`-th of the size limit, so that every tree fits. If there
/// is no such pair, the whole budget goes to single attributes. The number of records n is treated as in
/// [`crate::mechanism::Aim`].
///
/// ```
/// # use jointly::domain::Domain;
/// # use jointly::mechanism::{Mechanism, Mst};
/// # use jointly::{Budget, Dataset, NeighboringRelation, NoiseSeed, Silent, Task, Workload};
/// # let rows: Vec<[u32; 3]> = (0..600).map(|i| [i % 2, i % 3, i % 5 / 2]).collect();
/// # let private = Dataset::from_rows(Domain::new([("a", 2), ("b", 3), ("c", 3)])?, &rows)?;
/// # let workload = Workload::all_k_way(private.domain(), 2)?;
/// # let budget = Budget::approximate(1.0, 1e-6)?;
/// # let mut curator = budget.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
/// let mechanism = Mst::default();
/// let release = mechanism.run(&mut curator, &Task::new(&workload, &[]), &mut Silent)?;
/// assert_eq!(release.measurements.len(), 3 + 2, "single attributes, and a tree of pairs");
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mst {
    /// Maximum size of the model, in MiB (8 bytes per cell of every maximal clique).
    pub size_limit_mib: f64,
    /// Maximum number of oracle calls per fit.
    pub iterations: u32,
    /// The estimation method.
    pub estimator: EstimatorKind,
}

impl Default for Mst {
    fn default() -> Self {
        Self {
            size_limit_mib: Fitting::SIZE_LIMIT_MIB,
            iterations: Fitting::ITERATIONS,
            estimator: EstimatorKind::default(),
        }
    }
}

impl Mechanism for Mst {
    fn name(&self) -> &'static str {
        "mst"
    }

    fn check(&self) -> Result<()> {
        self.fitting().check()
    }

    fn plan(&self, about: &PlanFor<'_>) -> Result<RunPlan> {
        let singles = about.domain.len();
        let pairs = pairs_within(about.domain, self.size_limit_mib);
        let edges = Components::of_singles(singles).join_all(&pairs);
        let budget = about.after_total();
        let (of_singles, of_pairs) = budget.split(1, singles_parts(edges)).unwrap_or_default();
        let each = |budget: Rho, n: usize| budget.split(1, n.max(1) as u64).unwrap_or_default().0;
        let pair = each(of_pairs, edges).split(1, 2).unwrap_or_default().0;
        let mut steps = vec![about.step("single attributes", singles, each(of_singles, singles))];
        steps.extend((edges > 0).then(|| about.step("pairs of the tree", edges, pair)));
        Ok(RunPlan { rounds: count(singles + edges), steps, ..RunPlan::default() }
            .within(self.size_limit_mib))
    }

    fn counts(&self, domain: &Domain, workload: &Workload) -> Result<Vec<Clique>> {
        let pairs = pairs_within(domain, self.size_limit_mib);
        Ok(single_attributes(domain).into_iter().chain(pairs).chain(workload.cliques()).collect())
    }

    fn run(
        &self,
        curator: &mut Curator<'_>,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Release> {
        self.check()?;
        let mut run = Run::open(self.name(), self, curator, task, observer)?;
        let mut model = GraphicalModel::open(self.fitting(), &mut run)?;
        let singles = single_attributes(run.domain());
        let pairs = pairs_within(run.domain(), self.size_limit_mib);
        let edges = Components::of_singles(singles.len()).join_all(&pairs);
        let (first_pair, rounds) = (count(singles.len()) + 1, count(singles.len() + edges));
        run.start(rounds, singles.len() + pairs.len());

        // All single attributes. A run that resumes after them already has their model.
        let first_part = run.budget().split(1, singles_parts(edges)).unwrap_or_default().0;
        run.measure_each(&singles, first_part)?;
        if run.next_round() == first_pair {
            model.fit(&mut run)?;
        }

        // The distance of every pair from independence.
        let answers = run.marginals(&pairs)?;
        let all: Vec<usize> = (0..pairs.len()).collect();
        let dependence = model.errors(&run, &pairs, &all, &answers, first_pair)?;
        let mut components = Components::of_singles(singles.len());
        let done = run.measurements().iter().skip(singles.len());
        components.join_all(done.map(|measurement| &measurement.clique));
        while run.next_round() <= rounds {
            // Structural zeros join attributes too: with them, a spanning tree may be larger than its pairs.
            let measured: Vec<Clique> =
                run.measurements().iter().map(|own| own.clique.clone()).collect();
            let fits = tractable(run.domain(), &measured, &pairs, self.size_limit_mib);
            let may_join = |i: &usize| fits[*i] && components.are_apart(&pairs[*i]);
            let apart: Vec<usize> = all.iter().copied().filter(may_join).collect();
            if apart.is_empty() {
                break;
            }
            let round = run.begin_round()?;
            let shares = run.even_share(rounds - round + 1, 0.5)?;
            let choice = model.select(&mut run, dependence.plain(&apart)?, shares.select)?;
            let pair = &pairs[apart[choice]];
            run.measure(pair, shares.measure)?;
            run.end_round()?;
            components.join(pair);
        }
        if edges > 0 {
            model.fit(&mut run)?;
        }
        model.finish(run)
    }
}

impl Mst {
    fn fitting(&self) -> Fitting {
        Fitting::new(self.size_limit_mib, self.iterations, self.estimator)
    }
}

/// The number of parts of the budget, of which single attributes get one: three, or one if no pair can be measured.
const fn singles_parts(edges: usize) -> u64 {
    if edges == 0 { 1 } else { 3 }
}

/// All pairs that any spanning tree may contain within the size limit: the cells of its pairs, and of attributes that
/// it does not reach, add up to at most that limit.
fn pairs_within(domain: &Domain, limit_mib: f64) -> Vec<Clique> {
    let independent = JunctionTree::new(domain, &[]).cells();
    let for_pairs = graph::cells_within_mib(limit_mib).saturating_sub(independent);
    let limit_cells = for_pairs / (domain.len() as u64).saturating_sub(1).max(1);
    let pairs = (0..domain.len()).flat_map(|i| (i + 1..domain.len()).map(move |j| [i, j]));
    let fits = |pair: &Clique| domain.cells(pair).is_some_and(|cells| cells <= limit_cells);
    pairs.map(Clique::new).filter(fits).collect()
}

/// Sets of attributes connected by pairs.
struct Components(Vec<usize>);

impl Components {
    /// Every attribute is a component of its own.
    fn of_singles(attributes: usize) -> Self {
        Self((0..attributes).collect())
    }

    fn are_apart(&self, pair: &Clique) -> bool {
        let mut names = pair.iter().map(|attribute| self.0[attribute]);
        names.next() != names.next()
    }

    /// Merges two components. Returns whether they were separate.
    fn join(&mut self, pair: &Clique) -> bool {
        let were_apart = self.are_apart(pair);
        let names: Vec<usize> = pair.iter().map(|attribute| self.0[attribute]).collect();
        for name in &mut self.0 {
            if names.contains(name) {
                *name = names[0];
            }
        }
        were_apart
    }

    /// Joins by all pairs. Returns the number of pairs that merged two components, which does not depend on the order.
    fn join_all<'p>(&mut self, pairs: impl IntoIterator<Item = &'p Clique>) -> usize {
        pairs.into_iter().map(|pair| usize::from(self.join(pair))).sum()
    }
}

#[cfg(test)]
mod tests;
