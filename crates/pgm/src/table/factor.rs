//! One table over a clique.

use ndarray::{ArrayD, ArrayViewD, IxDyn};

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::table::Projection;

/// A table of numbers over a clique, row-major in the order of its sorted attributes.
///
/// ```
/// use jointly_pgm::{domain::{Clique, Domain}, table::Factor};
/// let domain = Domain::new([("a", 2), ("b", 3)])?;
/// let factor = Factor::new(&domain, Clique::new([0, 1]), vec![1., 2., 3., 4., 5., 6.])?;
/// assert_eq!(factor.project(&Clique::new([0])).values(), [6., 15.]);
/// assert_eq!(factor.view()[[1, 2]], 6.);
/// # Ok::<(), jointly_pgm::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    clique: Clique,
    values: ArrayD<f64>,
}

impl Factor {
    /// A table over `clique` with these cells.
    ///
    /// # Errors
    /// A number of values other than the clique's number of cells.
    pub fn new(domain: &Domain, clique: Clique, values: Vec<f64>) -> Result<Self> {
        let shape = domain.shape(&clique);
        let found = values.len();
        let values =
            ArrayD::from_shape_vec(IxDyn(&shape), values).map_err(|_| Error::ShapeMismatch {
                clique: domain.describe(&clique),
                expected: shape.iter().fold(1, |n, k| n.saturating_mul(*k)),
                found,
            })?;
        Ok(Self { clique, values })
    }

    /// The attributes of the table.
    pub fn clique(&self) -> &Clique {
        &self.clique
    }

    /// The cells, row-major.
    pub fn values(&self) -> &[f64] {
        self.values.as_slice().unwrap_or(&[])
    }

    /// The table as an array with one axis per attribute.
    pub fn view(&self) -> ArrayViewD<'_, f64> {
        self.values.view()
    }

    /// The table as an owned array with one axis per attribute.
    pub fn into_array(self) -> ArrayD<f64> {
        self.values
    }

    /// Sum of all cells.
    pub fn total(&self) -> f64 {
        self.values().iter().sum()
    }

    /// The table over the attributes shared with `clique`, the others summed out.
    #[must_use]
    pub fn project(&self, clique: &Clique) -> Self {
        let kept = self.clique.intersection(clique);
        let shape: Vec<usize> = self
            .clique
            .iter()
            .zip(self.values.shape())
            .filter(|(a, _)| kept.contains(*a))
            .map(|(_, k)| *k)
            .collect();
        let mut values = ArrayD::zeros(IxDyn(&shape));
        if let Some(cells) = values.as_slice_mut() {
            Projection::between(&self.clique, self.values.shape(), &kept)
                .add_into(self.values(), cells);
        }
        Self { clique: kept, values }
    }
}
