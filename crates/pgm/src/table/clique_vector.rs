//! One table for each clique of a set, stored contiguously: potentials and marginals.

use std::sync::Arc;

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::table::{Factor, Projection};

/// Which cliques a vector of tables has, and where each table lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CliqueLayout {
    cliques: Vec<Clique>,
    shapes: Vec<Vec<usize>>,
    offsets: Vec<usize>,
}

impl CliqueLayout {
    /// Lays out one table for each distinct clique, in the order given.
    ///
    /// # Errors
    /// A table whose cells do not fit the memory's address range.
    pub fn new(domain: &Domain, cliques: impl IntoIterator<Item = Clique>) -> Result<Arc<Self>> {
        let mut distinct: Vec<Clique> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        for clique in cliques {
            if seen.insert(clique.clone()) {
                distinct.push(clique);
            }
        }
        let mut offsets = vec![0_usize];
        let mut end = 0_usize;
        for clique in &distinct {
            end = domain
                .cells(clique)
                .and_then(|cells| usize::try_from(cells).ok())
                .and_then(|cells| end.checked_add(cells))
                .filter(|end| *end <= isize::MAX as usize / size_of::<f64>())
                .ok_or_else(|| {
                    Error::too_large(
                        format!("the marginal on {}", domain.describe(clique)),
                        None,
                        2_f64.powi(60),
                        "cells",
                    )
                })?;
            offsets.push(end);
        }
        let shapes = distinct.iter().map(|c| domain.shape(c)).collect();
        Ok(Arc::new(Self { cliques: distinct, shapes, offsets }))
    }

    /// The cliques, in order.
    pub fn cliques(&self) -> &[Clique] {
        &self.cliques
    }

    /// Cardinalities of the attributes of clique `index`.
    pub fn shape(&self, index: usize) -> &[usize] {
        &self.shapes[index]
    }

    /// The values of a cell of one table, in the order of its clique.
    ///
    /// `cell`: row-major, below the size of the table.
    pub fn codes(&self, index: usize, cell: usize) -> Vec<u32> {
        let mut rest = cell;
        let mut codes = vec![0; self.shape(index).len()];
        for (code, size) in codes.iter_mut().zip(self.shape(index)).rev() {
            *code = u32::try_from(rest % size).unwrap_or(u32::MAX);
            rest /= size;
        }
        codes
    }

    /// Position of a clique among the cliques.
    pub fn position(&self, clique: &Clique) -> Option<usize> {
        self.cliques.iter().position(|c| c == clique)
    }

    /// Cells of all tables together.
    pub fn cells(&self) -> usize {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// Where the table of clique `index` lies.
    pub fn range(&self, index: usize) -> std::ops::Range<usize> {
        self.offsets[index]..self.offsets[index + 1]
    }
}

macro_rules! clique_vector {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            layout: Arc<CliqueLayout>,
            values: Vec<f64>,
        }

        impl $name {
            /// All tables zero.
            pub fn zeros(layout: &Arc<CliqueLayout>) -> Self {
                Self { layout: Arc::clone(layout), values: vec![0.0; layout.cells()] }
            }

            /// The tables' cliques and places.
            pub fn layout(&self) -> &Arc<CliqueLayout> {
                &self.layout
            }

            /// All cells of all tables, table after table.
            pub fn values(&self) -> &[f64] {
                &self.values
            }

            /// All cells of all tables, table after table.
            pub fn values_mut(&mut self) -> &mut [f64] {
                &mut self.values
            }

            /// Cells of the table of clique `index`, row-major.
            pub fn table(&self, index: usize) -> &[f64] {
                &self.values[self.layout.range(index)]
            }

            /// Cells of the table of clique `index`, row-major.
            pub fn table_mut(&mut self, index: usize) -> &mut [f64] {
                &mut self.values[self.layout.range(index)]
            }
        }
    };
}

clique_vector! {
    /// Log-potentials θ: `p(x) ~ exp(Σ_r θ_r(x_r))`, one table per clique. Minus infinity forbids a cell.
    Potentials
}

clique_vector! {
    /// Marginals μ in counts, one table per clique; each sums to the total.
    Marginals
}

impl Potentials {
    /// The same function over more cliques: each table moves to the first clique of `layout` that holds its own.
    ///
    /// Used for the warm start: the distribution does not change.
    ///
    /// # Errors
    /// A clique that no clique of `layout` holds.
    pub fn expand(&self, layout: &Arc<CliqueLayout>) -> Result<Self> {
        let mut expanded = Self::zeros(layout);
        for (index, clique) in self.layout.cliques().iter().enumerate() {
            let host = layout
                .position(clique)
                .or_else(|| layout.cliques().iter().position(|c| clique.is_subset(c)))
                .ok_or_else(|| {
                    Error::invalid_specification(
                        "warm start",
                        format!("potentials on {clique}"),
                        "potentials on subsets of the measured cliques",
                    )
                })?;
            let walk = Projection::between(&layout.cliques()[host], layout.shape(host), clique);
            walk.zip_from(self.table(index), expanded.table_mut(host), |x, s| *x += s);
        }
        Ok(expanded)
    }
}

impl Marginals {
    /// The tables of two different cliques, the second for writing.
    pub fn table_pair(&mut self, read: usize, write: usize) -> (&[f64], &mut [f64]) {
        let (a, b) = (self.layout.range(read), self.layout.range(write));
        if a.start < b.start {
            let (low, high) = self.values.split_at_mut(b.start);
            (&low[a], &mut high[..b.len()])
        } else {
            let (low, high) = self.values.split_at_mut(a.start);
            (&high[..a.len()], &mut low[b])
        }
    }

    /// The table of clique `index` as a [`Factor`].
    ///
    /// # Errors
    /// Never for a layout of this domain.
    pub fn factor(&self, domain: &Domain, index: usize) -> Result<Factor> {
        Factor::new(domain, self.layout.cliques()[index].clone(), self.table(index).to_vec())
    }
}
