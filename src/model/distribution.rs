//! What all kinds of models can do.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::data::Dataset;
use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::model::blocks::check_rows;
use crate::model::file::StoredForm;
use crate::model::{
    Evidence, GroupedSupport, MarkovRandomField, Products, Refinement, Sampling, WeightedSupport,
};
use crate::table::Factor;
use jointly_pgm::model::without_unlikely;

/// How a table is made from a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Drawing {
    /// Expected counts are rounded ([`Sampling::Rounded`]), and the records are then brought near the model's marginals
    /// on the workload: the smallest error. Records of a graphical model get other values ([`MarkovRandomField::refine`]), listed ones
    /// are exchanged for other listed ones ([`refined_list`](jointly_pgm::model::refined_list)).
    #[default]
    Refined,
    /// Every record is drawn independently ([`Sampling::Independent`]): for methods that assume a random sample.
    Independent,
}

impl Drawing {
    /// The names, each with its meaning.
    pub const NAMES: &'static [(&'static str, &'static str)] = &[
        (
            "refined",
            "Round the model, then move records closer to its marginals on the workload; gives the smallest error",
        ),
        ("independent", "Draw every record independently, for methods that assume a random sample"),
    ];
}

/// A distribution over the records of a domain, with the number of records it stands for.
///
/// A new kind of model implements this, and says in `model/mod.rs` how it is read from a file.
pub trait Distribution: Any + Debug + Send + Sync {
    /// The attributes.
    fn domain(&self) -> &Domain;

    /// Number of records it stands for.
    fn total(&self) -> f64;

    /// Its size in MiB; the type says what is counted.
    fn size_mib(&self) -> f64;

    /// The marginals on any cliques, in counts that sum to the total.
    ///
    /// # Errors
    /// A clique outside the domain, or one whose table does not fit memory.
    fn marginals(&self, cliques: &[Clique]) -> Result<Vec<Factor>>;

    /// Draws records.
    ///
    /// # Errors
    /// No record asked for, or more than 32 bits can count.
    fn draw(&self, records: usize, method: Sampling, rng: &mut dyn Rng) -> Result<Dataset>;

    /// Draws records, rounded, and brings them near the marginals on some cliques, where the kind of model allows it, if possible
    /// without some unlikely combinations.
    ///
    /// # Errors
    /// As [`draw`](Self::draw), or a clique or a combination of another domain.
    fn refined(
        &self,
        records: usize,
        refinement: &Refinement,
        rng: &mut dyn Rng,
    ) -> Result<Dataset> {
        Ok(without_unlikely(self.draw(records, Sampling::Rounded, rng)?, &refinement.unlikely)?)
    }

    /// The distribution of the records that agree with some evidence; its total is the number of them that it expects.
    ///
    /// # Errors
    /// Evidence that no record agrees with.
    fn given(&self, evidence: &Evidence) -> Result<Model>;

    /// What a file holds of it.
    ///
    /// # Errors
    /// Numbers that JSON cannot hold.
    fn store(&self) -> Result<StoredForm>;
}

/// A fitted model of any kind: what a release holds.
///
/// ```
/// use jointly::{domain::{Clique, Domain}, model::{Model, WeightedSupport}};
/// let domain = Domain::new([("a", 2), ("b", 2)])?;
/// let model = Model::from(WeightedSupport::all_cells(&domain, 8.0)?);
/// assert_eq!(model.marginals(&[Clique::new([1])])?[0].values(), [4.0, 4.0]);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Model(Arc<dyn Distribution>);

impl<D: Distribution> From<D> for Model {
    fn from(distribution: D) -> Self {
        Self(Arc::new(distribution))
    }
}

impl Model {
    /// The attributes.
    pub fn domain(&self) -> &Domain {
        self.0.domain()
    }

    /// Number of records the model stands for.
    pub fn total(&self) -> f64 {
        self.0.total()
    }

    /// The total as a whole number of records, at least 1.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    pub fn records(&self) -> usize {
        self.total().round().max(1.0) as usize
    }

    /// Size in MiB; the kind of model says what is counted.
    pub fn size_mib(&self) -> f64 {
        self.0.size_mib()
    }

    /// The marginals on any cliques, in counts that sum to the total.
    ///
    /// # Errors
    /// A clique outside the domain, or one whose table does not fit memory.
    pub fn marginals(&self, cliques: &[Clique]) -> Result<Vec<Factor>> {
        self.0.marginals(cliques)
    }

    /// The distribution of the records that agree with some evidence, exactly. Its total is the number of such records
    /// that this model expects.
    ///
    /// # Errors
    /// Evidence that no record agrees with.
    pub fn given(&self, evidence: &Evidence) -> Result<Self> {
        self.0.given(evidence)
    }

    /// Draws records without refining them.
    ///
    /// # Errors
    /// No record asked for, or more than 32 bits can count.
    pub fn sample<R: Rng + ?Sized>(
        &self,
        records: usize,
        method: Sampling,
        mut rng: &mut R,
    ) -> Result<Dataset> {
        self.0.draw(records, method, &mut rng)
    }

    /// Synthetic records. By default they are brought near the model's marginals on some cliques, as [`Drawing::Refined`] says, but for
    /// records of [`GroupedSupport`] and [`Products`]. They cost no privacy. Many records are drawn in
    /// [`blocks`](Self::blocks).
    ///
    /// # Errors
    /// As [`sample`](Self::sample), a clique outside the domain, or a table of more than 8 GiB.
    pub fn rows<R: Rng + ?Sized>(
        &self,
        records: usize,
        drawing: Drawing,
        refinement: &Refinement,
        rng: &mut R,
    ) -> Result<Dataset> {
        check_rows(self.domain(), records as u64)?;
        self.blocks(records as u64, drawing, refinement, rng)?.joined()
    }

    /// Draws records, rounded, and brings them near the marginals on some cliques, where the kind of model allows it.
    pub(super) fn refined<R: Rng + ?Sized>(
        &self,
        records: usize,
        refinement: &Refinement,
        mut rng: &mut R,
    ) -> Result<Dataset> {
        self.0.refined(records, refinement, &mut rng)
    }

    /// What a file holds of it.
    pub(super) fn store(&self) -> Result<StoredForm> {
        self.0.store()
    }

    /// The distribution, where it is of this type.
    pub fn downcast<D: Distribution>(&self) -> Option<&D> {
        let distribution: &dyn Any = &*self.0;
        distribution.downcast_ref()
    }

    /// The graphical model, where it is one.
    pub fn as_markov_random_field(&self) -> Option<&MarkovRandomField> {
        self.downcast()
    }

    /// The weighted support, where it is one.
    pub fn as_weighted_support(&self) -> Option<&WeightedSupport> {
        self.downcast()
    }

    /// The mixture of products, where it is one.
    pub fn as_products(&self) -> Option<&Products> {
        self.downcast()
    }

    /// The groups, where there are any.
    pub fn as_grouped_support(&self) -> Option<&GroupedSupport> {
        self.downcast()
    }
}
