//! What all kinds of models can do.

use rand::Rng;

use crate::data::Dataset;
use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::model::{GroupedSupport, MarkovRandomField, Sampling, WeightedSupport};
use crate::table::Factor;

/// A distribution over the records of a domain, with the number of records it stands for: what a release holds.
///
/// ```
/// use jointly::{domain::{Clique, Domain}, model::{Model, WeightedSupport}};
/// let domain = Domain::new([("a", 2), ("b", 2)])?;
/// let model = Model::from(WeightedSupport::all_cells(&domain, 8.0)?);
/// assert_eq!(model.marginals(&[Clique::new([1])])?[0].values(), [4.0, 4.0]);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Model {
    /// A graphical model.
    MarkovRandomField(Box<MarkovRandomField>),
    /// Listed records with weights.
    WeightedSupport(WeightedSupport),
    /// Listed records with weights of their own for each group.
    GroupedSupport(GroupedSupport),
}

impl From<MarkovRandomField> for Model {
    fn from(model: MarkovRandomField) -> Self {
        Self::MarkovRandomField(Box::new(model))
    }
}

impl From<WeightedSupport> for Model {
    fn from(model: WeightedSupport) -> Self {
        Self::WeightedSupport(model)
    }
}

impl From<GroupedSupport> for Model {
    fn from(model: GroupedSupport) -> Self {
        Self::GroupedSupport(model)
    }
}

impl Model {
    /// The attributes.
    pub fn domain(&self) -> &Domain {
        match self {
            Self::MarkovRandomField(model) => model.domain(),
            Self::WeightedSupport(model) => model.domain(),
            Self::GroupedSupport(model) => model.domain(),
        }
    }

    /// Number of records the model stands for.
    pub fn total(&self) -> f64 {
        match self {
            Self::MarkovRandomField(model) => model.total(),
            Self::WeightedSupport(model) => model.total(),
            Self::GroupedSupport(model) => model.total(),
        }
    }

    /// Size in MiB, as [`MarkovRandomField::size_mib`], [`WeightedSupport::size_mib`] or [`GroupedSupport::size_mib`]
    /// states it.
    pub fn size_mib(&self) -> f64 {
        match self {
            Self::MarkovRandomField(model) => model.size_mib(),
            Self::WeightedSupport(model) => model.size_mib(),
            Self::GroupedSupport(model) => model.size_mib(),
        }
    }

    /// The marginals on any cliques, in counts that sum to the total.
    ///
    /// # Errors
    /// A clique outside the domain, or one whose table does not fit memory.
    pub fn marginals(&self, cliques: &[Clique]) -> Result<Vec<Factor>> {
        match self {
            Self::MarkovRandomField(model) => model.marginals(cliques),
            Self::WeightedSupport(model) => model.marginals(cliques),
            Self::GroupedSupport(model) => model.marginals(cliques),
        }
    }

    /// Brings drawn records near a graphical model's marginals on some cliques ([`MarkovRandomField::refine`]). Records of a
    /// listed support stay as they are: others may not be in it.
    ///
    /// # Errors
    /// As [`MarkovRandomField::refine`].
    pub fn refine(&self, records: Dataset, cliques: &[Clique]) -> Result<Dataset> {
        match self {
            Self::MarkovRandomField(model) => model.refine(&records, cliques),
            Self::WeightedSupport(_) | Self::GroupedSupport(_) => Ok(records),
        }
    }

    /// Draws records.
    ///
    /// # Errors
    /// No record asked for, or more than fit 32 bits.
    pub fn sample<R: Rng + ?Sized>(
        &self,
        records: usize,
        method: Sampling,
        rng: &mut R,
    ) -> Result<Dataset> {
        match self {
            Self::MarkovRandomField(model) => model.sample(records, method, rng),
            Self::WeightedSupport(model) => model.sample(records, method, rng),
            Self::GroupedSupport(model) => model.sample(records, method, rng),
        }
    }

    /// The graphical model, where it is one.
    pub fn as_markov_random_field(&self) -> Option<&MarkovRandomField> {
        match self {
            Self::MarkovRandomField(model) => Some(model),
            Self::WeightedSupport(_) | Self::GroupedSupport(_) => None,
        }
    }

    /// The weighted support, where it is one.
    pub fn as_weighted_support(&self) -> Option<&WeightedSupport> {
        match self {
            Self::MarkovRandomField(_) | Self::GroupedSupport(_) => None,
            Self::WeightedSupport(model) => Some(model),
        }
    }

    /// The groups, where there are any.
    pub fn as_grouped_support(&self) -> Option<&GroupedSupport> {
        match self {
            Self::MarkovRandomField(_) | Self::WeightedSupport(_) => None,
            Self::GroupedSupport(model) => Some(model),
        }
    }
}
