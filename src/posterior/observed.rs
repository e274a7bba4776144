//! What was measured of some columns, as contrasts with independent noise.

use std::ops::Range;

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::least_squares::Measured;

/// The residuals of the columns' marginals that were measured. Written in orthonormal contrasts `H_i` of each attribute, the
/// residual of s is `⊗_{i ∈ s} H_i M_s`: numbers without redundancy, whose noise is independent with one variance.
#[derive(Debug)]
pub(super) struct Observed {
    pub(super) parts: Vec<Part>,
    /// The number of contrasts.
    pub(super) size: usize,
    /// The contrasts, part by part, in counts.
    pub(super) values: Vec<f64>,
    /// The variance that the number of records has from the noise; 0 if it is public.
    pub(super) total_variance: f64,
}

/// A residual of a set of columns.
#[derive(Debug)]
pub(super) struct Part {
    /// Positions among the columns.
    pub(super) clique: Clique,
    pub(super) shape: Vec<usize>,
    /// Where its contrasts are.
    pub(super) range: Range<usize>,
    /// The variance of the noise of each.
    pub(super) variance: f64,
    /// The residual, centered along every attribute.
    pub(super) residual: Vec<f64>,
}

impl Observed {
    /// `columns`: of the domain; each pair must have been measured.
    pub(super) fn new(domain: &Domain, measured: &Measured, columns: &Clique) -> Result<Self> {
        let found = measured.estimates(domain, std::slice::from_ref(columns))?;
        let place = |at: usize| columns.iter().position(|own| own == at).unwrap_or_default();
        let mut parts = Vec::new();
        let (mut size, mut values, mut total_variance) = (0, Vec::new(), 0.0);
        let mut subsets = columns.subsets();
        subsets.sort_by_key(|part| (part.len(), part.clone()));
        for outer in std::iter::once(Clique::default()).chain(subsets) {
            if outer.iter().any(|at| domain.cardinality(at) < 2) {
                continue;
            }
            let Some((residual, variance)) = found.residual(&outer) else {
                if outer.len() <= 2 {
                    return Err(not_measured(domain, &outer));
                }
                continue;
            };
            if outer.is_empty() {
                total_variance = variance;
                continue;
            }
            let shape = domain.shape(&outer);
            let contrasts = to_contrasts(residual, &shape);
            let range = size..size + contrasts.len();
            size = range.end;
            values.extend(contrasts);
            let clique = Clique::new(outer.iter().map(place));
            parts.push(Part { clique, shape, range, variance, residual: residual.to_vec() });
        }
        Ok(Self { parts, size, values, total_variance })
    }
}

fn not_measured(domain: &Domain, clique: &Clique) -> Error {
    let found = if clique.is_empty() {
        "no number of records".to_owned()
    } else {
        format!("nothing of {} together", domain.describe(clique))
    };
    let expected = "each pair of the columns to follow from what was measured; ledger.json says what was, and synth \
                    --workload FILE measures what an analysis needs";
    Error::invalid_specification("the measurements", found, expected)
}

/// `⊗ H_i` times a row-major table. `H` of an attribute has orthonormal rows that are orthogonal to 1 (Helmert's): row r takes the
/// mean of the first r + 1 values from the next one, up to sign and scale.
pub(super) fn to_contrasts(table: &[f64], shape: &[usize]) -> Vec<f64> {
    let mut values = table.to_vec();
    // Axes before it have become shorter, those behind it are as they were.
    for (axis, extent) in shape.iter().enumerate() {
        let inner: usize = shape[axis + 1..].iter().product();
        values = along(&values, (*extent, extent - 1), inner, |line, found| {
            let mut sum = 0.0;
            for (row, contrast) in found.iter_mut().enumerate() {
                sum += line[row];
                *contrast = scale(row) * (sum - (row + 1) as f64 * line[row + 1]);
            }
        });
    }
    values
}

/// `⊗ H_iᵀ` times contrasts: a centered table.
pub(super) fn to_table(contrasts: &[f64], shape: &[usize]) -> Vec<f64> {
    let mut values = contrasts.to_vec();
    for (axis, extent) in shape.iter().enumerate() {
        let inner: usize = shape[axis + 1..].iter().map(|extent| extent - 1).product();
        values = along(&values, (extent - 1, *extent), inner, |line, found| {
            let mut sum = 0.0;
            for (row, contrast) in line.iter().enumerate().rev() {
                let scaled = scale(row) * contrast;
                found[row + 1] = sum - (row + 1) as f64 * scaled;
                sum += scaled;
            }
            found[0] = sum;
        });
    }
    values
}

/// What makes row r of `H` a unit vector.
fn scale(row: usize) -> f64 {
    ((row + 1) as f64 * (row + 2) as f64).sqrt().recip()
}

/// Changes every line along an axis. `extents`: before and after. `inner`: cells behind the axis.
fn along(
    values: &[f64],
    (before, after): (usize, usize),
    inner: usize,
    change: impl Fn(&[f64], &mut [f64]),
) -> Vec<f64> {
    let outer = values.len() / (before * inner);
    let mut found = vec![0.0; outer * after * inner];
    let (mut line, mut changed) = (vec![0.0; before], vec![0.0; after]);
    for block in 0..outer {
        for cell in 0..inner {
            for (at, x) in line.iter_mut().enumerate() {
                *x = values[(block * before + at) * inner + cell];
            }
            change(&line, &mut changed);
            for (at, x) in changed.iter().enumerate() {
                found[(block * after + at) * inner + cell] = *x;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
