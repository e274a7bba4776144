//! What all measurements of a run say together: the best linear unbiased estimate of every count that follows from them, and
//! the law of its error.
//!
//! Every marginal is a sum of parts, its *residuals*: `M_r = Σ_{s ⊆ r} R_s / K_s` with `R_s = ⊗_{i ∈ s} (I − J/k_i) M_s` and
//! `K_s` the cells of r per cell of s ([`crate::strategy`]). A marginal that was measured with independent noise of one variance
//! σ² shows the residual of each of its parts, with noise of covariance `K σ² ⊗ (I − J/k_i)`, independent of that of its other
//! parts; a residual that was measured itself is one. So generalized least squares on everything that was measured falls apart
//! into one weighted average for each residual, and is exact. What is a function of measured residuals alone has an unbiased
//! estimate ([`LeastSquares::marginal`], [`LeastSquares::estimate`]), whether or not one marginal holds all of it. Counts of
//! single cells, as `pmw-pub` and `pep` measure them, have the same least squares without this structure (`cells.rs`).
//!
//! This is the one estimator behind `ask`, `answer`, `combine` and the library's intervals. Nothing in it knows a model.
//! Derivation: `docs/theory/least-squares.md`.

mod cells;
mod linear_form;
mod marginal;

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::measurement::{Measurement, Provenance};
use crate::privacy::NoisyResidual;
use crate::table::Projection;

use cells::CellQueries;
pub use linear_form::LinearForm;
pub(crate) use marginal::CellSum;
pub use marginal::EstimatedMarginal;

/// What a run measured of the private table, and what was public about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The number of records N, if it is public.
    pub records: Option<f64>,
    /// Whole marginals, in counts, each with independent noise of one variance in all cells.
    pub marginals: Vec<Measurement>,
    /// Residuals that were measured as such.
    pub residuals: BTreeMap<Clique, MeasuredResidual>,
    /// Counts of single cells with independent noise.
    pub cells: Vec<Measurement>,
    /// Whether the noise has the Laplace distribution.
    pub is_laplace: bool,
}

/// A residual `⊗_{i ∈ A} (I − J/k_i) M_A` with noise.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredResidual {
    /// In counts, row-major, centered along every attribute.
    pub values: Vec<f64>,
    /// σ: the noise has the covariance `σ² ⊗_{i ∈ A} (I − J/k_i)`.
    pub stddev: f64,
}

impl MeasuredResidual {
    /// A residual from a table with independent noise in all cells, or from one that is centered already.
    pub(crate) fn centered(
        domain: &Domain,
        clique: &Clique,
        mut values: Vec<f64>,
        stddev: f64,
    ) -> Self {
        center(&domain.shape(clique), &mut values);
        Self { values, stddev }
    }
}

/// An unbiased estimate of a linear function of counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Its value.
    pub value: f64,
    /// The variance that it has from the noise.
    pub variance: f64,
}

impl Measured {
    /// What was measured privately among some measurements.
    pub fn of<'m>(measurements: impl IntoIterator<Item = &'m Measurement>) -> Self {
        let is_noisy = |m: &&Measurement| m.provenance == Provenance::Private && m.stddev > 0.0;
        let private = measurements.into_iter().filter(is_noisy).cloned();
        let (marginals, cells) = private.partition(|measurement| measurement.cell.is_none());
        Self { marginals, cells, ..Self::default() }
    }

    /// Nothing but the number of records, if it is public.
    pub fn of_records(records: Option<u64>) -> Self {
        Self { records: records.map(|records| records as f64), ..Self::default() }
    }

    /// Adds a measured residual query: divided by its scale, and centered along all attributes.
    pub fn insert(&mut self, domain: &Domain, noisy: &NoisyResidual) {
        let (clique, scale) = (noisy.query.clique(), noisy.query.scale() as f64);
        let values = noisy.values.iter().map(|value| *value as f64 / scale).collect();
        let stddev = noisy.query.variance().to_f64().sqrt() / scale;
        let residual = MeasuredResidual::centered(domain, clique, values, stddev);
        self.residuals.insert(clique.clone(), residual);
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.marginals.is_empty() && self.residuals.is_empty() && self.cells.is_empty()
    }

    /// What is known of some attributes: their positions become 0, 1, … in this order, which is ascending.
    #[must_use]
    pub fn of_attributes(&self, kept: &[usize]) -> Self {
        let renamed = |clique: &Clique| -> Option<Clique> {
            let places = clique.iter().map(|at| kept.binary_search(&at).ok());
            places.collect::<Option<Vec<usize>>>().map(Clique::new)
        };
        let rename = |all: &[Measurement]| {
            let within =
                |m: &Measurement| Some(Measurement { clique: renamed(&m.clique)?, ..m.clone() });
            all.iter().filter_map(within).collect()
        };
        let residuals = self.residuals.iter();
        let residuals = residuals.filter_map(|(c, own)| Some((renamed(c)?, own.clone()))).collect();
        let (marginals, cells) = (rename(&self.marginals), rename(&self.cells));
        Self { marginals, residuals, cells, ..*self }
    }

    /// Whether every count of a marginal follows from whole marginals and residuals that were measured.
    pub fn determines(&self, domain: &Domain, clique: &Clique) -> bool {
        parts(clique).filter(|part| is_varied(domain, part)).all(|part| {
            (part.is_empty() && self.records.is_some())
                || self.residuals.contains_key(&part)
                || self.marginals.iter().any(|measured| part.is_subset(&measured.clique))
        })
    }

    /// Solves for all that the counts of some marginals are made of.
    ///
    /// # Errors
    /// Measurements or cliques over another domain, or a marginal that does not fit in memory.
    pub fn estimates(&self, domain: &Domain, cliques: &[Clique]) -> Result<LeastSquares> {
        let mut wanted = BTreeSet::new();
        for clique in cliques {
            let inside = clique.iter().all(|attribute| attribute < domain.len());
            if !inside || domain.cells(clique).is_none_or(|cells| cells > 1 << 40) {
                let (most, of) = (2_f64.powi(40), "cells over the attributes of the domain");
                return Err(Error::too_large(format!("the marginal on {clique}"), None, most, of));
            }
            wanted.extend(parts(clique).filter(|part| is_varied(domain, part)));
        }
        let mut found = BTreeMap::new();
        for part in wanted {
            if let Some(average) = self.average(domain, &part)? {
                found.insert(part, average);
            }
        }
        let cells = CellQueries::new(domain, self.records, &self.cells);
        Ok(LeastSquares { domain: domain.clone(), parts: found, cells })
    }

    /// The average of all that was measured of a residual, weighted by precision.
    fn average(&self, domain: &Domain, part: &Clique) -> Result<Option<Part>> {
        if let (true, Some(records)) = (part.is_empty(), self.records) {
            return Ok(Some(Part { residual: vec![records], variance: 0.0 }));
        }
        let is_known = self.residuals.contains_key(part)
            || self.marginals.iter().any(|m| part.is_subset(&m.clique));
        if !is_known {
            return Ok(None);
        }
        let shape = domain.shape(part);
        let (mut sums, mut precision) = (vec![0.0; shape.iter().product()], 0.0);
        for measured in self.marginals.iter().filter(|m| part.is_subset(&m.clique)) {
            let of_marginal = domain.shape(&measured.clique);
            let cells: usize = of_marginal.iter().product();
            if cells != measured.values.len() {
                let clique = domain.describe(&measured.clique);
                let found = measured.values.len();
                return Err(
                    jointly_pgm::Error::ShapeMismatch { clique, expected: cells, found }.into()
                );
            }
            let merged = cells as f64 / sums.len() as f64;
            let own = 1.0 / (measured.stddev.powi(2) * merged);
            let mut projected = vec![0.0; sums.len()];
            Projection::between(&measured.clique, &of_marginal, part)
                .add_into(&measured.values, &mut projected);
            sums.iter_mut().zip(projected).for_each(|(sum, count)| *sum += own * count);
            precision += own;
        }
        if let Some(MeasuredResidual { values, stddev }) = self.residuals.get(part) {
            let own = 1.0 / stddev.powi(2);
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += own * value);
            precision += own;
        }
        sums.iter_mut().for_each(|sum| *sum /= precision);
        center(&shape, &mut sums);
        Ok(Some(Part { residual: sums, variance: 1.0 / precision }))
    }
}

/// The least squares estimates of some residuals, from which those of counts are made.
#[derive(Clone, Debug)]
pub struct LeastSquares {
    domain: Domain,
    parts: BTreeMap<Clique, Part>,
    cells: CellQueries,
}

/// The estimate of a residual. Its error has the covariance `variance ⊗ (I − J/k_i)`.
#[derive(Clone, Debug)]
struct Part {
    residual: Vec<f64>,
    variance: f64,
}

impl LeastSquares {
    /// A marginal as everything that was measured says; `None` if not all of its counts follow from whole marginals and residuals.
    ///
    /// `clique`: one that was asked for ([`Measured::estimates`]), or a subset.
    pub fn marginal(&self, clique: &Clique) -> Option<EstimatedMarginal> {
        let of_part = |part: Clique| self.parts.get(&part).map(|found| (part, found));
        let parts = parts(clique).filter(|part| is_varied(&self.domain, part)).map(of_part);
        let parts: Option<Vec<(Clique, &Part)>> = parts.collect();
        Some(EstimatedMarginal::new(&self.domain, clique, &parts?))
    }

    /// A residual, centered along every attribute, and its variance v: the error has the covariance `v ⊗ (I − J/k_i)`. `None`
    /// if it was not measured.
    pub fn residual(&self, clique: &Clique) -> Option<(&[f64], f64)> {
        self.parts.get(clique).map(|part| (part.residual.as_slice(), part.variance))
    }

    /// A linear function of counts; `None` if it does not follow from whole marginals and residuals.
    pub fn estimate(&self, form: &LinearForm) -> Option<Estimate> {
        let mut found = Estimate { value: 0.0, variance: 0.0 };
        for (clique, weights) in form.parts() {
            let Some(Part { residual, variance }) = self.parts.get(clique) else {
                if form.is_without(weights) {
                    continue;
                }
                return None;
            };
            found.value += weights.iter().zip(residual).map(|(w, x)| w * x).sum::<f64>();
            found.variance += variance * weights.iter().map(|w| w * w).sum::<f64>();
        }
        Some(found)
    }

    /// The weighted sum of some cells of a marginal, from counts of single cells that were measured; `None` if it does not
    /// follow from these.
    ///
    /// `cells`: places in the marginal, row-major, with their weights.
    pub fn of_single_cells(&self, clique: &Clique, cells: &[(usize, f64)]) -> Option<Estimate> {
        self.cells.estimate(&self.domain, clique, cells)
    }
}

/// All subsets of a clique, the empty one first.
pub(crate) fn parts(clique: &Clique) -> impl Iterator<Item = Clique> {
    std::iter::once(Clique::default()).chain(clique.subsets())
}

/// Whether the residual of a clique can be other than 0: no attribute of it has a single value.
fn is_varied(domain: &Domain, clique: &Clique) -> bool {
    clique.iter().all(|attribute| domain.cardinality(attribute) > 1)
}

/// Subtracts its mean from every line along every axis: `(⊗_i (I − J/k_i)) table`, in place.
pub(crate) fn center(shape: &[usize], table: &mut [f64]) {
    let mut run = table.len();
    for extent in shape {
        let block = run;
        run /= extent.max(&1);
        for block in table.chunks_exact_mut(block.max(1)) {
            for cell in 0..run {
                let sum: f64 = block[cell..].iter().step_by(run).sum();
                let mean = sum / *extent as f64;
                block[cell..].iter_mut().step_by(run).for_each(|x| *x -= mean);
            }
        }
    }
}

#[cfg(test)]
mod tests;
