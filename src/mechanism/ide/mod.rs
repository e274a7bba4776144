//! Hierarchical prior-aware release: each group's table is the public one, scaled to what was measured of the group.

mod levels;
mod measuring;
mod noise;
mod partition;
mod workload;

use std::sync::Arc;

use rayon::prelude::*;

use crate::data::PublicData;
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::estimation::prior::{Answers, PriorAware};
use crate::mechanism::checkpoint::{CheckpointFolder, Identity};
use crate::mechanism::{Mechanism, Release, Task};
use crate::model::{Group, GroupedSupport, WeightedSupport};
use crate::observe::Observer;
use crate::privacy::{Curator, NoiseForm};

pub use levels::LevelShares;
use levels::Levels;
use measuring::Measuring;
use noise::Cost;
use partition::{Partition, consistent_sizes};
use workload::Candidates;

/// IDE (Tao, Bater & Machanavajjhala 2021, Algorithm 2), for groups within groups such as areas within states:
///
/// 1. *Prior*: the distinct records of the public tables, without the group attributes.
/// 2. *Sizes* of all groups of a level, and *answers* on some marginals within each, with noise.
/// 3. *Posterior* of each group: its parent's, scaled to the group's answers ([`PriorAware`], Algorithm 1).
/// 4. The same one level below, with what step 3 made as the prior.
///
/// Levels share the budget by [`LevelShares`], and each shares its part between sizes and answers. [`LevelShares::Equal`] and an
/// `answer_share` of 1/2 are as published, ε₀ = ε/4 for each step of two levels. What a level leaves over, because no marginal was
/// worth its noise, goes to the answers of the last level. Answers of all groups of a level are one marginal, on the group attributes and the clique.
/// A record is in one cell of it, so one sensitivity covers all groups, even where one individual has records in several
/// (`docs/theory/run.md`). Sizes below 0 become 0, and all are scaled to the size of the parent. A size that the relation
/// makes public is not measured.
///
/// *Which marginals*: single attributes, then the pairs that depend most on each other in the public table, as many as are
/// worth their noise: with the budget shared by so many, the noise's variance on a cell is at most `noise_to_count` times
/// the mean count of a cell in a group of mean size. At a ratio of 1 the noise is what chance does to the counts of so many
/// records, at 4 twice as much. Released sizes, the public table and the budget decide this; the answers do not.
///
/// Every code of the group attributes is a group, so that none is lost or invented. The workload of the task is not heeded.
///
/// ```
/// use jointly::data::PublicData;
/// use jointly::demo::Generator;
/// use jointly::mechanism::{Ide, Mechanism, Task};
/// use jointly::observe::Silent;
/// use jointly::privacy::{Curator, NeighboringRelation, NoiseSeed, Rho};
/// use jointly::query::Workload;
/// let private = Generator { records: 2_000, seed: 1, drift: 0.0 }.generate()?;
/// let other = Generator { records: 2_000, seed: 2, drift: 0.3 }.generate()?;
/// let public = [PublicData::new("other state", other, private.domain())?];
/// let workload = Workload::all_k_way(private.domain(), 1)?;
/// let relation = NeighboringRelation::ReplaceOne;
/// let limit = Rho::from_f64(1.0)?;
/// let mut curator = Curator::new(&private, relation, limit, NoiseSeed::System)?;
/// let groups = vec![private.domain().name(0).to_owned()];
/// let mechanism = Ide { groups, ..Ide::default() };
/// let task = Task { workload: &workload, public: &public };
/// let release = mechanism.run(&mut curator, &task, &mut Silent)?;
/// assert!((release.model.total() - 2_000.0).abs() < 1e-6);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ide {
    /// Names of the group attributes, outermost first; none for one table of everyone.
    pub groups: Vec<String>,
    /// Gaussian for zCDP, Laplace for pure ε.
    pub noise: NoiseForm,
    /// The share of the budget for each level.
    pub level_shares: LevelShares,
    /// The share of a level's budget that pays for the answers; the rest is for sizes; in (0, 1).
    pub answer_share: f64,
    /// Most marginals that are measured at a level; `None`: one for every attribute that is no group.
    pub cliques: Option<usize>,
    /// Largest variance of the noise on a cell, in mean counts of a cell; above 0.
    pub noise_to_count: f64,
    /// How a group's table is scaled to its answers.
    pub update: PriorAware,
    /// Where the state is kept after each measurement, so that a run that is cut short goes on without paying again.
    pub checkpoint: Option<CheckpointFolder>,
}

impl Default for Ide {
    fn default() -> Self {
        Self {
            groups: Vec::new(),
            noise: NoiseForm::Gaussian,
            level_shares: LevelShares::default(),
            answer_share: 0.9,
            cliques: None,
            noise_to_count: 4.0,
            update: PriorAware { passes: 20, ..PriorAware::default() },
            checkpoint: None,
        }
    }
}

impl Mechanism for Ide {
    fn name(&self) -> &'static str {
        "ide"
    }

    fn run(
        &self,
        curator: &mut Curator<'_>,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Release> {
        self.check()?;
        let domain = curator.domain().clone();
        let partition = Partition::new(&domain, &self.groups)?;
        let prior = prior(&domain, &partition, task)?;
        let mut run = Run::new(self, curator, &partition, &prior, task, observer)?;

        let mut total = run.measuring.records().map(|records| records as f64);
        let everyone = Arc::new(prior.weights().to_vec());
        let size = total.unwrap_or(1.0);
        let mut groups = vec![Group { codes: Vec::new(), size, weights: everyone }];
        for depth in partition.depths() {
            let sizes = run.sizes(depth, total)?;
            groups = run.within(depth, &groups, total, &sizes);
            let budget = run.budget_of_answers(depth)?;
            let cliques = run.worth_measuring(&groups, budget)?;
            let answers = run.answers(depth, &cliques, budget)?;
            groups = run.posteriors(groups, &cliques, &answers)?;
            total = Some(groups.iter().map(|group| group.size).sum());
        }
        let model =
            GroupedSupport::new(&domain, &partition.attributes, prior.rows().clone(), groups)?;
        Ok(run.finish(self.name(), model))
    }
}

impl Ide {
    fn check(&self) -> Result<()> {
        if !(self.answer_share > 0.0 && self.answer_share < 1.0) {
            let found = self.answer_share;
            return Err(Error::invalid_parameter("answer share", found, "above 0 and below 1"));
        }
        if self.cliques == Some(0) {
            return Err(Error::invalid_parameter("cliques of a level", 0, "at least 1"));
        }
        if !(self.noise_to_count > 0.0 && self.noise_to_count.is_finite()) {
            let found = self.noise_to_count;
            return Err(Error::invalid_parameter("noise to count", found, "above 0"));
        }
        Ok(())
    }

    /// What tells a checkpoint of this run from others.
    fn identity(&self) -> Identity<'_> {
        let Self {
            groups, noise, level_shares, answer_share, cliques, noise_to_count, update, ..
        } = self;
        // Floating-point numbers are written so that no two have the same text.
        let parameters = format!(
            "{groups:?} {noise:?} {level_shares:?} {answer_share:?} {cliques:?} {noise_to_count:?} {update:?}"
        );
        let checkpoint = self.checkpoint.as_ref();
        Identity { name: "ide", parameters, measures_total: false, checkpoint }
    }
}

/// The distinct public records, without the group attributes, weighted by how often they occur.
fn prior(domain: &Domain, partition: &Partition, task: &Task<'_>) -> Result<WeightedSupport> {
    let own = domain.restricted(&partition.others)?;
    let tables = task.public.iter();
    let tables = tables.map(|table| PublicData::new(table.name(), table.table().clone(), &own));
    WeightedSupport::from_public(&own, &tables.collect::<Result<Vec<_>>>()?, 1.0)
}

/// A run under way.
struct Run<'r, 'c> {
    settings: &'r Ide,
    measuring: Measuring<'r, 'c>,
    domain: Domain,
    partition: &'r Partition,
    prior: &'r WeightedSupport,
    levels: Levels,
}

impl<'r, 'c> Run<'r, 'c> {
    fn new(
        settings: &'r Ide,
        curator: &'r mut Curator<'c>,
        partition: &'r Partition,
        prior: &'r WeightedSupport,
        task: &Task<'_>,
        observer: &'r mut dyn Observer,
    ) -> Result<Self> {
        let domain = curator.domain().clone();
        let cliques = settings.cliques.unwrap_or(partition.others.len());
        let most = cliques.saturating_add(1).saturating_mul(partition.depths().count());
        let planned = (u32::try_from(most).unwrap_or(u32::MAX), cliques);
        let (identity, noise) = (settings.identity(), settings.noise);
        let measuring = Measuring::open(&identity, noise, curator, task, observer, planned)?;
        let (records, budget) = (measuring.records(), measuring.budget());
        let levels = Levels::new(settings, &domain, partition, records, budget)?;
        Ok(Self { settings, measuring, domain, partition, prior, levels })
    }

    /// Noisy sizes of all groups of a level, row-major over its attributes; one that is public as it is.
    fn sizes(&mut self, depth: usize, total: Option<f64>) -> Result<Vec<f64>> {
        let cost = self.levels.at(depth).and_then(|(budget, _)| budget.sizes);
        match (cost, total) {
            (Some(cost), _) => {
                let clique = self.partition.clique(depth);
                Ok(self.measuring.measure(&[clique], cost)?.swap_remove(0))
            }
            (None, total) => Ok(total.into_iter().collect()),
        }
    }

    /// The groups of a level, with the sizes that add up to those of the groups they are in.
    fn within(
        &self,
        depth: usize,
        parents: &[Group],
        total: Option<f64>,
        noisy: &[f64],
    ) -> Vec<Group> {
        let children = self.partition.children(&self.domain, depth, parents);
        let own = |group: &Group| {
            self.partition.slice(&self.domain, noisy, &group.codes, &Clique::default())[0]
        };
        let mut groups = Vec::with_capacity(children.len());
        for family in children.chunk_by(|a, b| a.0 == b.0) {
            let noisy: Vec<f64> = family.iter().map(|(_, group)| own(group)).collect();
            let size = total.map(|_| parents[family[0].0].size);
            let sizes = consistent_sizes(&noisy, size);
            let sized = family.iter().zip(sizes);
            groups.extend(sized.map(|((_, group), size)| Group { size, ..group.clone() }));
        }
        groups
    }

    /// What the answers of a level may cost: of the last one, all that is left.
    fn budget_of_answers(&self, depth: usize) -> Result<Cost> {
        match self.levels.at(depth) {
            Some((budget, false)) => Ok(budget.answers),
            Some((_, true)) => Ok(self.measuring.left()),
            None => Err(Error::invalid_parameter("level", depth, "one that has a budget")),
        }
    }

    /// The cliques of a level: as many as are worth their noise in a group of mean size.
    fn worth_measuring(&self, groups: &[Group], budget: Cost) -> Result<Vec<Clique>> {
        let inhabited = groups.iter().filter(|group| group.size > 0.0).count().max(1) as f64;
        let mean = groups.iter().map(|group| group.size).sum::<f64>() / inhabited;
        let most_cells = |number: usize| {
            self.settings.noise_to_count * mean / self.measuring.variance(budget, number)
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let candidates = Candidates::new(self.prior, most_cells(1) as u64)?;
        let most = self.settings.cliques.unwrap_or(self.partition.others.len());
        Ok(candidates.choose(most, most_cells))
    }

    /// Noisy counts on the cliques in all groups of a level: tables over the group attributes and each clique.
    fn answers(&mut self, depth: usize, cliques: &[Clique], budget: Cost) -> Result<Vec<Vec<f64>>> {
        if cliques.is_empty() {
            return Ok(Vec::new());
        }
        let groups = self.partition.clique(depth);
        let all: Vec<Clique> =
            cliques.iter().map(|clique| groups.union(&self.partition.in_domain(clique))).collect();
        self.measuring.measure(&all, budget)
    }

    /// Each group's weights, from those it has, scaled to its answers; a group without records keeps them.
    fn posteriors(
        &self,
        groups: Vec<Group>,
        cliques: &[Clique],
        answers: &[Vec<f64>],
    ) -> Result<Vec<Group>> {
        let (domain, partition, prior) = (&self.domain, self.partition, self.prior);
        let update = self.settings.update;
        let posterior = |group: Group| -> Result<Group> {
            if cliques.is_empty() || group.size <= 0.0 {
                return Ok(group);
            }
            let own = |(clique, table): (&Clique, &Vec<f64>)| {
                let there = partition.in_domain(clique);
                let counts = partition.slice(domain, table, &group.codes, &there);
                let frequencies = counts.iter().map(|count| count / group.size).collect();
                Answers { clique: clique.clone(), frequencies }
            };
            let own: Vec<Answers> = cliques.iter().zip(answers).map(own).collect();
            let prior = prior.clone().reweighted(group.weights.to_vec(), 1.0)?;
            let weights = update.update(&prior, &own)?.model.weights().to_vec();
            Ok(Group { weights: Arc::new(weights), ..group })
        };
        groups.into_par_iter().map(posterior).collect()
    }

    fn finish(self, mechanism: &'static str, model: GroupedSupport) -> Release {
        let (curator, state) = self.measuring.finish();
        let mut rounds = state.rounds;
        if let Some(last) = rounds.last_mut() {
            last.model_mib = model.size_mib();
        }
        Release {
            mechanism,
            model: model.into(),
            certificate: None,
            measurements: state.measurements,
            rounds,
            ledger: curator.ledger().clone(),
            relation: curator.relation(),
            is_private: curator.is_private(),
        }
    }
}
