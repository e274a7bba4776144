//! GEM and GEM^Pub: a network that makes product distributions, trained on measured queries.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::adam::{Adam, cosine};
use super::network::{Network, Shape};
use super::pretraining::Pretraining;
use super::targets::{Targets, largest};
use super::training::{Memory, Trained, Training, fill};
use super::{check_count, check_rate, check_size};
use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::mechanism::query_release::{Approximation, Queries, QueryMechanism, QueryRelease};
use crate::mechanism::{Run, Task};
use crate::model::products::split::value_ranges;
use crate::observe::Checks;

/// The rate of the last step of a round.
const LAST_RATE: f64 = 1e-8;

/// What training minimizes, over the answers J whose error is at least the round's threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// `‖q_J - a_J‖₂ / |J|`, as in the authors' program.
    #[default]
    L2,
    /// `Σ_J |q_j - a_j| / |J|`, as in the paper.
    L1,
}

impl Loss {
    /// The derivatives of the loss in all queries, over those whose error is at least the threshold; `None` if there
    /// are none, or if none of them has an error.
    pub(super) fn slopes(self, mut errors: Vec<Vec<f64>>, threshold: f64) -> Option<Vec<Vec<f64>>> {
        let is_large = |error: &f64| error.abs() >= threshold;
        let large = || errors.iter().flatten().copied().filter(is_large);
        let count = large().count() as f64;
        let norm = large().map(|error| error * error).sum::<f64>().sqrt();
        if norm == 0.0 {
            return None;
        }
        for error in errors.iter_mut().flatten() {
            *error = match self {
                _ if !is_large(error) => 0.0,
                Self::L2 => *error / (norm * count),
                Self::L1 if *error == 0.0 => 0.0,
                Self::L1 => error.signum() / count,
            };
        }
        Some(errors)
    }
}

/// When the network's random inputs are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Latents {
    /// Once, so that each component keeps its own, as in the authors' program.
    #[default]
    Fixed,
    /// Again for every training step, as in the paper; the released mixture is made of the first ones.
    Fresh,
}

/// The network of GEM, and how a round trains it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NeuralFit {
    /// Width of each hidden layer. Each layer gets the outputs of all layers below it.
    pub hidden: Vec<u32>,
    /// E, the number of random inputs of a component.
    pub embedding: u32,
    /// B, the number of product distributions.
    pub components: u32,
    /// S, the maximum number of steps of a round. A round ends earlier when all errors are below half of a running mean
    /// of the largest errors.
    pub steps: u32,
    /// Adam's rate at the first step of a round, from where it falls along a cosine.
    pub learning_rate: f64,
    /// What training minimizes.
    pub loss: Loss,
    /// When the random inputs are drawn.
    pub latents: Latents,
    /// The seed of the first weights and inputs. It is public, and no noise comes from it: runs with several show how much of the
    /// spread of errors is the start's.
    pub start: u64,
}

impl Default for NeuralFit {
    fn default() -> Self {
        Self {
            hidden: vec![256, 256],
            embedding: 256,
            components: 1000,
            steps: 100,
            learning_rate: 2e-4,
            loss: Loss::L2,
            latents: Latents::Fixed,
            start: 0,
        }
    }
}

impl NeuralFit {
    fn check(&self) -> Result<()> {
        self.hidden.iter().try_for_each(|width| check_count("hidden", *width))?;
        if self.hidden.len() > 16 {
            return Err(Error::invalid_parameter("hidden", self.hidden.len(), "at most 16 layers"));
        }
        check_count("embedding", self.embedding)?;
        check_count("components", self.components)?;
        check_count("steps", self.steps)?;
        check_rate(self.learning_rate)
    }

    fn shape(&self) -> Shape {
        let hidden = self.hidden.iter().map(|width| *width as usize).collect();
        Shape { latents: self.embedding as usize, hidden, components: self.components as usize }
    }
}

/// GEM, a generative network with the exponential mechanism (Liu, Vietri & Wu 2021), without public tables.
///
/// The model is a mixture of product distributions that a network makes of random inputs. Each round selects the query
/// that the mixture answers worst, measures it, and trains the network on all answers so far whose error is at least
/// half of a running mean of the largest errors. The defaults are those of the authors' program, whole marginals, the
/// Euclidean norm, fixed inputs, the last network, with twice its learning rate
/// (`docs/adr/0021-mixtures-of-products.md`). The number of records n is treated as in [`crate::mechanism::Aim`].
///
/// The first weights and inputs come from a public seed, [`NeuralFit::start`]; all else follows from the released measurements.
///
/// ```
/// # use jointly::domain::Domain;
/// # use jointly::mechanism::{Mechanism, Gem, NeuralFit, QueryRelease};
/// # use jointly::{Budget, Dataset, NeighboringRelation, NoiseSeed, Silent, Task, Workload};
/// # let rows: Vec<[u32; 3]> = (0..600).map(|i| [i % 2, i % 3, i % 5 / 2]).collect();
/// # let private = Dataset::from_rows(Domain::new([("a", 2), ("b", 3), ("c", 3)])?, &rows)?;
/// # let workload = Workload::all_k_way(private.domain(), 2)?;
/// # let budget = Budget::approximate(1.0, 1e-6)?;
/// # let mut curator = budget.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
/// let release = QueryRelease { rounds: 2, ..Gem::default().release };
/// let network = NeuralFit { hidden: vec![16], components: 8, ..NeuralFit::default() };
/// let mechanism = Gem { release, network };
/// let release = mechanism.run(&mut curator, &Task::new(&workload, &[]), &mut Silent)?;
/// assert_eq!(release.rounds.len(), 2);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gem {
    /// Rounds, selection, queries and output; by default 50 rounds of whole marginals.
    #[serde(flatten)]
    pub release: QueryRelease,
    /// The network and its training.
    #[serde(flatten)]
    pub network: NeuralFit,
}

impl Default for Gem {
    fn default() -> Self {
        let release = QueryRelease::new(50, Queries::Marginals);
        Self { release, network: NeuralFit::default() }
    }
}

/// GEM^Pub (Liu, Vietri & Wu 2021): the rounds of [`Gem`], which begin with a network trained on the public tables.
///
/// It is trained on the marginals of all cliques of the workload that a public table covers; counts of several tables
/// are added up. An attribute that no public table has is uniform and independent of all others until it is measured.
///
/// ```
/// # use jointly::domain::Domain;
/// # use jointly::mechanism::{Mechanism, GemPub, NeuralFit, QueryRelease};
/// # use jointly::{Budget, Dataset, NeighboringRelation, NoiseSeed, PublicData, Silent, Task, Workload};
/// # let rows: Vec<[u32; 3]> = (0..600).map(|i| [i % 2, i % 3, i % 5 / 2]).collect();
/// # let private = Dataset::from_rows(Domain::new([("a", 2), ("b", 3), ("c", 3)])?, &rows)?;
/// # let public = [PublicData::new("last year", private.clone(), private.domain())?];
/// # let workload = Workload::all_k_way(private.domain(), 2)?;
/// # let budget = Budget::approximate(1.0, 1e-6)?;
/// # let mut curator = budget.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
/// let release = QueryRelease { rounds: 2, ..GemPub::default().release };
/// let network = NeuralFit { hidden: vec![16], components: 8, ..NeuralFit::default() };
/// let mechanism = GemPub { release, network, pretrain_steps: 100 };
/// let release = mechanism.run(&mut curator, &Task::new(&workload, &public), &mut Silent)?;
/// assert_eq!(release.rounds.len(), 2);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct GemPub {
    /// Rounds, selection, queries and output; by default 50 rounds of whole marginals.
    #[serde(flatten)]
    pub release: QueryRelease,
    /// The network and its training.
    #[serde(flatten)]
    pub network: NeuralFit,
    /// Steps of the training on the public tables; at least 1.
    pub pretrain_steps: u32,
}

impl Default for GemPub {
    fn default() -> Self {
        let Gem { release, network } = Gem::default();
        Self { release, network, pretrain_steps: 2000 }
    }
}

/// A network in training.
struct NeuralModel<'g> {
    settings: &'g NeuralFit,
    network: Network<f32>,
    public: Option<Pretraining>,
    /// Running mean of the largest errors.
    error: Option<f64>,
}

impl<'g> NeuralModel<'g> {
    fn new(settings: &'g NeuralFit, domain: &Domain) -> Result<Self> {
        let (shape, ranges) = (settings.shape(), value_ranges(domain));
        check_size(shape.numbers(ranges.last().map_or(0, |range| range.end)))?;
        let network = Network::new(shape, ranges, settings.start);
        Ok(Self { settings, network, public: None, error: None })
    }
}

impl Trained for NeuralModel<'_> {
    fn parameters(&self) -> &[Array2<f32>] {
        &self.network.parameters
    }

    fn set(&mut self, parameters: Vec<Array2<f32>>) {
        self.network.parameters = parameters;
        self.network.forward();
    }

    fn matrix(&self) -> &Array2<f32> {
        &self.network.probabilities
    }

    fn pretrain(&mut self, run: &mut Run<'_, '_>) -> Result<()> {
        let Some(public) = &self.public else { return Ok(()) };
        run.fitting_public_tables();
        public.train(&mut self.network, self.settings.loss, run.checks())
    }

    /// The box of `docs/theory/query-release.md`, section 1.
    fn train(&mut self, targets: &Targets, round: u32, checks: &dyn Checks) -> Result<u32> {
        let (network, settings) = (&mut self.network, self.settings);
        let mut errors = targets.errors(&network.probabilities, None);
        let worst = largest(&errors);
        let error = f64::midpoint(self.error.unwrap_or(worst), worst);
        self.error = Some(error);
        let mut adam = Adam::new(&network.parameters);
        let mut steps = 0;
        while steps < settings.steps {
            checks.check()?;
            let Some(slopes) = settings.loss.slopes(errors, error / 2.0) else { break };
            let slopes = targets.pull_back(&network.probabilities, &slopes);
            let gradient = network.backward(slopes);
            let rate = cosine(settings.learning_rate, LAST_RATE, steps, settings.steps);
            adam.step(&mut network.parameters, &gradient, rate);
            if settings.latents == Latents::Fresh {
                network.draw_latents((u64::from(round) << 32) + u64::from(steps));
            }
            network.forward();
            errors = targets.errors(&network.probabilities, None);
            steps += 1;
        }
        if settings.latents == Latents::Fresh {
            network.draw_latents(settings.start);
            network.forward();
        }
        Ok(steps)
    }

    fn memory(&self) -> Memory {
        Memory::Error(self.error)
    }

    fn recall(&mut self, parameters: &[Vec<f32>], memory: Memory) -> bool {
        let Memory::Error(error) = memory else { return false };
        self.error = error;
        let fits = fill(&mut self.network.parameters, parameters);
        self.network.forward();
        fits
    }

    fn probabilities(self) -> Array2<f32> {
        self.network.probabilities
    }
}

impl QueryMechanism for Gem {
    const NAME: &'static str = "gem";

    fn release(&self) -> &QueryRelease {
        &self.release
    }

    fn check_model(&self) -> Result<()> {
        self.network.check()
    }

    fn model<'m>(
        &'m self,
        domain: &Domain,
        _task: &Task<'_>,
    ) -> Result<impl Approximation + use<'m>> {
        let model = NeuralModel::new(&self.network, domain)?;
        Ok(Training::new(model, domain, self.release.rounds))
    }
}

impl QueryMechanism for GemPub {
    const NAME: &'static str = "gem-pub";
    const STARTS_FROM_PUBLIC: bool = true;

    fn release(&self) -> &QueryRelease {
        &self.release
    }

    fn check_model(&self) -> Result<()> {
        check_count("pretrain steps", self.pretrain_steps)?;
        self.network.check()
    }

    fn model<'m>(
        &'m self,
        domain: &Domain,
        task: &Task<'_>,
    ) -> Result<impl Approximation + use<'m>> {
        let public = Pretraining::new(domain, task.workload, task.public, self.pretrain_steps)?;
        let mut model = NeuralModel::new(&self.network, domain)?;
        model.network.clear(public.missing());
        model.public = Some(public);
        Ok(Training::new(model, domain, self.release.rounds))
    }
}
