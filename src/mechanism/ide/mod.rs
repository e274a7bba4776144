//! Hierarchical prior-aware release: each group's table is the public one, scaled to the group's measurements.

mod levels;
mod measuring;
mod noise;
mod partition;
mod workload;

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::data::PublicData;
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::estimation::prior::{Answers, PriorAware, Projection, TwoStages};
use crate::mechanism::{Mechanism, Parameter, PlanFor, Release, Run, RunPlan, Task, parameters};
use crate::model::{Group, GroupedSupport, WeightedSupport};
use crate::observe::Observer;
use crate::privacy::{Curator, NoiseForm};
use crate::settings::Form;

pub use levels::LevelShares;
use levels::Levels;
use measuring::Measuring;
use noise::Cost;
use partition::{Partition, consistent_sizes};
use workload::Candidates;

/// IDE (Tao, Bater & Machanavajjhala 2021, Algorithm 2), for groups within groups such as areas within states:
///
/// 1. *Prior*: the distinct records of the public tables, without the group attributes.
/// 2. Noisy *sizes* of all groups of a level, and noisy *answers* on some marginals within each group.
/// 3. *Posterior* of each group: its parent's table, scaled to the group's answers ([`PriorAware`], Algorithm 1).
/// 4. The same one level below, with the posterior of step 3 as the prior.
///
/// [`LevelShares`] divides the budget among the levels. Each level divides its part between sizes and answers.
/// [`LevelShares::Equal`] and an `answer_share` of 1/2 are as published, ε₀ = ε/4 for each step of two levels. If no
/// marginal is worth its noise, the level's unspent part goes to the answers of the last level. The answers of all
/// groups of a level form one marginal, on the group attributes and the clique. A record is in one cell of that
/// marginal, so one sensitivity covers all groups, even if one individual has records in several groups
/// (`docs/theory/run.md`). Negative sizes become 0, and all sizes are scaled to add up to the parent's size. Sizes that
/// are public under the relation are not measured.
///
/// *Which marginals*: single attributes, then the pairs that depend most on each other in the public table, as many as
/// are worth their noise. That is, when that many share the budget, the noise's variance on a cell is at most
/// `noise_to_count` times the mean count of a cell in a group of mean size. At a ratio of 1 the noise equals the
/// sampling error of that many records, at 4 it is twice as large. With a `clique_size` of 3 or more, cliques take the
/// place of pairs: the maximal cliques of the graph whose edges are the most dependent pairs, as many edges as
/// marginals that share the budget. An edge is left out if it would make a clique too wide or not worth its noise.
/// Released sizes, the public table and the budget determine this choice; the answers do not, so the choice costs
/// nothing.
///
/// Every code of the group attributes is a group, so that no group is lost or invented. The task's workload is not
/// used.
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
/// let task = Task::new(&workload, &public);
/// let release = mechanism.run(&mut curator, &task, &mut Silent)?;
/// assert!((release.model.total() - 2_000.0).abs() < 1e-6);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ide {
    /// Names of the group attributes, outermost first; empty for a single table of all records.
    pub groups: Vec<String>,
    /// Gaussian for zCDP, Laplace for pure ε.
    pub noise: NoiseForm,
    /// The share of the budget for each level.
    pub level_shares: LevelShares,
    /// The share of a level's budget for the answers; in (0, 1). The rest is for sizes.
    pub answer_share: f64,
    /// Maximum number of marginals measured per level; `None`: the number of attributes that are not group attributes.
    pub cliques: Option<usize>,
    /// Maximum number of attributes of a measured marginal; at least 1. Up to 2, pairs are measured as above. From 3
    /// on, the maximal cliques of the graph of the most dependent pairs take their place.
    pub clique_size: usize,
    /// Maximum variance of the noise on a cell, as a multiple of the mean count per cell; above 0.
    pub noise_to_count: f64,
    /// How a group's answers are projected onto a distribution.
    pub projection: GroupProjection,
    /// Maximum number of passes over a group's answers; at least 1.
    pub passes: u32,
}

/// How a group's noisy answers are projected onto a distribution, to which its table is then scaled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupProjection {
    /// One marginal after the other, in closed form ([`Projection::LeastEntropy`]).
    #[default]
    ClosedForm,
    /// One marginal after the other, by a linear program ([`Projection::LinearProgram`]): Algorithm 1 as published.
    Lp,
    /// All marginals together: one linear program over the records, then the weights nearest the prior ([`TwoStages`]):
    /// section 3 of the paper. Only for small tables.
    TwoStages,
}

impl Default for Ide {
    fn default() -> Self {
        Self {
            groups: Vec::new(),
            noise: NoiseForm::Gaussian,
            level_shares: LevelShares::default(),
            answer_share: 0.9,
            cliques: None,
            clique_size: 2,
            noise_to_count: 4.0,
            projection: GroupProjection::default(),
            passes: 20,
        }
    }
}

impl Mechanism for Ide {
    fn name(&self) -> &'static str {
        "ide"
    }

    fn check(&self) -> Result<()> {
        parameters::check_share("answer share", self.answer_share)?;
        if self.cliques == Some(0) {
            return Err(Error::invalid_parameter("cliques", 0, "at least 1"));
        }
        if self.clique_size == 0 {
            return Err(Error::invalid_parameter("clique size", 0, "at least 1"));
        }
        if !(self.noise_to_count > 0.0 && self.noise_to_count.is_finite()) {
            let found = self.noise_to_count;
            return Err(Error::invalid_parameter("noise to count", found, "above 0"));
        }
        if self.passes == 0 {
            return Err(Error::invalid_parameter("passes", 0, "at least 1"));
        }
        Ok(())
    }

    /// The noise of the answers depends on sizes that are not known yet, so only the noise of the sizes is planned.
    fn plan(&self, about: &PlanFor<'_>) -> Result<RunPlan> {
        let partition = Partition::new(about.domain, &self.groups)?;
        let records = about.relation.has_public_total().then_some(about.records);
        let budget = match self.noise {
            NoiseForm::Gaussian => Cost::Rho(about.rho),
            NoiseForm::Laplace => Cost::of_pure(about.rho),
        };
        let levels = Levels::new(self, about.domain, &partition, records, budget)?;
        let depths = partition.depths().filter_map(|depth| levels.at(depth));
        let sizes = depths.filter_map(|(budget, _)| budget.sizes);
        let steps = sizes.map(|cost| {
            about.step_of(
                "sizes of the groups of a level",
                1,
                cost.variance(about.relation, 1).sqrt(),
            )
        });
        Ok(RunPlan {
            rounds: self.most_rounds(&partition),
            steps: steps.collect(),
            ..RunPlan::default()
        })
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
        // The budget of the whole run, including the part that a checkpoint has already spent.
        let budget = Cost::remaining(curator, self.noise)?;
        let mut run = Run::open(self.name(), self, curator, task, observer)?;
        let records = run.public_records();
        let levels = Levels::new(self, &domain, &partition, records, budget)?;
        let posterior =
            Posterior { settings: self, domain: &domain, partition: &partition, prior: &prior };
        let mut measuring = Measuring::new(budget);
        run.start(self.most_rounds(&partition), self.most_cliques(&partition));

        let mut total = records.map(|records| records as f64);
        let everyone = Arc::new(prior.weights().to_vec());
        let size = total.unwrap_or(1.0);
        let mut groups = vec![Group { codes: Vec::new(), size, weights: everyone }];
        for depth in partition.depths() {
            let Some((level, is_last)) = levels.at(depth) else { continue };
            let own = partition.clique(depth);

            // Sizes of the groups, scaled to those of their parents. A public size is used as it is.
            let sizes = match level.sizes {
                Some(cost) => {
                    measuring.measure(&mut run, std::slice::from_ref(&own), cost)?.swap_remove(0)
                }
                None => total.into_iter().collect(),
            };
            groups = posterior.within(depth, &groups, total, &sizes);

            // Answers on the cliques that are worth their noise. The last level gets all that is left.
            let budget = if is_last { measuring.left() } else { level.answers };
            let noise = |cliques: usize| budget.variance(run.relation(), cliques);
            let cliques = posterior.worth_measuring(&groups, noise)?;
            let asked: Vec<Clique> =
                cliques.iter().map(|clique| own.union(&partition.in_domain(clique))).collect();
            let answers = match asked.len() {
                0 => Vec::new(),
                _ => measuring.measure(&mut run, &asked, budget)?,
            };
            groups = posterior.of_each(groups, &cliques, &answers)?;
            total = Some(groups.iter().map(|group| group.size).sum());
        }
        let model =
            GroupedSupport::new(&domain, &partition.attributes, prior.rows().clone(), groups)?;
        Ok(run.finish(model, None).starting_from(task.public))
    }
}

impl Ide {
    /// A prior scaled to the answers of a group.
    fn scaled(&self, prior: &WeightedSupport, answers: &[Answers]) -> Result<WeightedSupport> {
        let projection = match self.projection {
            GroupProjection::ClosedForm => Projection::LeastEntropy,
            GroupProjection::Lp => Projection::LinearProgram,
            GroupProjection::TwoStages => {
                let steps = TwoStages { steps: self.passes, ..TwoStages::default() };
                return Ok(steps.update(prior, answers)?.model);
            }
        };
        let passes = PriorAware { passes: self.passes, projection, ..PriorAware::default() };
        Ok(passes.update(prior, answers)?.model)
    }

    /// Maximum number of marginals per level.
    fn most_cliques(&self, partition: &Partition) -> usize {
        self.cliques.unwrap_or(partition.others.len())
    }

    fn most_rounds(&self, partition: &Partition) -> u32 {
        let of_level = self.most_cliques(partition).saturating_add(1);
        parameters::count(of_level.saturating_mul(partition.depths().count()))
    }
}

/// The distinct public records, without the group attributes, weighted by how often they occur.
fn prior(domain: &Domain, partition: &Partition, task: &Task<'_>) -> Result<WeightedSupport> {
    let own = domain.restricted(&partition.others)?;
    let tables = task.public.iter();
    let tables = tables.map(|table| PublicData::new(table.name(), table.table()?.clone(), &own));
    WeightedSupport::from_public(&own, &tables.collect::<Result<Vec<_>>>()?, 1.0)
}

/// Computes the weights of groups. Uses only released numbers and the public table.
struct Posterior<'r> {
    settings: &'r Ide,
    domain: &'r Domain,
    partition: &'r Partition,
    prior: &'r WeightedSupport,
}

impl Posterior<'_> {
    /// The groups of a level, with sizes that add up to those of their parent groups.
    fn within(
        &self,
        depth: usize,
        parents: &[Group],
        total: Option<f64>,
        noisy: &[f64],
    ) -> Vec<Group> {
        let children = self.partition.children(self.domain, depth, parents);
        let own = |group: &Group| {
            self.partition.slice(self.domain, noisy, &group.codes, &Clique::default())[0]
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

    /// The cliques to measure at a level: as many as are worth their noise in a group of mean size.
    ///
    /// `noise`: the variance on a cell, as a function of the number of cliques that share the budget.
    fn worth_measuring(
        &self,
        groups: &[Group],
        noise: impl Fn(usize) -> f64,
    ) -> Result<Vec<Clique>> {
        let inhabited = groups.iter().filter(|group| group.size > 0.0).count().max(1) as f64;
        let mean = groups.iter().map(|group| group.size).sum::<f64>() / inhabited;
        let most_cells = |number: usize| self.settings.noise_to_count * mean / noise(number);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let candidates =
            Candidates::new(self.prior, most_cells(1) as u64, self.settings.clique_size)?;
        Ok(candidates.choose(self.settings.most_cliques(self.partition), most_cells))
    }

    /// Scales each group's weights to its answers. A group without records keeps its weights.
    fn of_each(
        &self,
        groups: Vec<Group>,
        cliques: &[Clique],
        answers: &[Vec<f64>],
    ) -> Result<Vec<Group>> {
        let Self { domain, partition, prior, .. } = *self;
        let posterior = |group: Group| -> Result<Group> {
            if cliques.is_empty() || group.size <= 0.0 {
                return Ok(group);
            }
            let own = |(clique, table): (&Clique, &Vec<f64>)| {
                let there = partition.in_domain(clique);
                let counts = partition.slice(domain, table, &group.codes, &there);
                let frequencies = counts.iter().map(|count| count / group.size).collect();
                Answers::new(clique.clone(), frequencies)
            };
            let own: Vec<Answers> = cliques.iter().zip(answers).map(own).collect();
            let prior = prior.clone().reweighted(group.weights.to_vec(), 1.0)?;
            let weights = self.settings.scaled(&prior, &own)?.weights().to_vec();
            Ok(Group { weights: Arc::new(weights), ..group })
        };
        groups.into_par_iter().map(posterior).collect()
    }
}

/// The parameters specific to this mechanism.
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "groups",
        value_name: "NAME,...",
        help: "Group attributes, outermost first, such as STATE,PUMA; public tables may lack them",
        form: Form::Names,
        unset: "",
    },
    Parameter {
        name: "noise",
        value_name: "FORM",
        help: "Form of the noise",
        form: Form::Choice(&[
            ("gaussian", "Discrete Gaussian, for (epsilon, delta)"),
            ("laplace", "Discrete Laplace; without delta the release is purely epsilon-private"),
        ]),
        unset: "",
    },
    Parameter {
        name: "level-shares",
        value_name: "by-groups|equal|SHARE,...",
        help: "Shares of the budget for the levels of groups, in proportion, outermost first",
        form: Form::Text,
        unset: "",
    },
    Parameter {
        name: "answer-share",
        value_name: "A",
        help: "Share of a level's budget for answers; the rest is for sizes",
        form: Form::Number,
        unset: "",
    },
    Parameter {
        name: "cliques",
        value_name: "N",
        help: "Most marginals measured at each level of groups; of those, the ones worth their noise",
        form: Form::Count,
        unset: "one per attribute",
    },
    Parameter {
        name: "clique-size",
        value_name: "K",
        help: "Most attributes of a measured marginal; from 3 on, cliques of the most dependent pairs are measured",
        form: Form::Count,
        unset: "",
    },
    Parameter {
        name: "noise-to-count",
        value_name: "X",
        help: "Largest variance of the noise on a cell, in mean counts of a cell",
        form: Form::Number,
        unset: "",
    },
    Parameter {
        name: "projection",
        value_name: "HOW",
        help: "How a group's noisy answers are moved onto a distribution",
        form: Form::Choice(&[
            (
                "closed-form",
                "One marginal after the other: nearest in L1, then least relative entropy",
            ),
            ("lp", "One marginal after the other: nearest in L1 by a linear program, as published"),
            (
                "two-stages",
                "All marginals together by one linear program, then the nearest weights",
            ),
        ]),
        unset: "",
    },
    Parameter {
        name: "passes",
        value_name: "N",
        help: "Most passes over the answers of a group",
        form: Form::Count,
        unset: "",
    },
];
