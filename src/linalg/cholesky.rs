//! The one factorization of this library: of symmetric matrices, definite or with rows that follow from others.

use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;

/// A pivot below this share of its diagonal is rounding error: the parameter follows from earlier ones and stays 0.
const ALIASED: f64 = 1e-9;

/// Rows that one thread takes at least.
const LEAST_ROWS: usize = 64;

/// `A = L Lᵀ` with the rows and columns of aliased parameters left out.
#[derive(Clone, Debug)]
pub(crate) struct Cholesky {
    /// The rows of L, so that all inner products run along memory.
    rows: Vec<Vec<f64>>,
    /// The parameters that do not follow from earlier ones.
    pub(crate) kept: Vec<bool>,
    /// Their number.
    pub(crate) rank: usize,
}

impl Cholesky {
    /// Leaves out parameters that follow from earlier ones. `matrix`: A, row-major, of `size` rows, of which only the lower
    /// triangle is read.
    pub(crate) fn new(matrix: &[f64], size: usize) -> Self {
        let rows = matrix.chunks_exact(size.max(1)).enumerate();
        Self::of_rows(rows.map(|(i, row)| row[..=i].to_vec()).collect(), ALIASED)
    }

    /// `None` if the matrix, of which only the lower triangle is read, is not positive definite to working precision.
    pub(super) fn definite(matrix: &ArrayView2<'_, f64>) -> Option<Self> {
        let rows = matrix.axis_iter(Axis(0)).enumerate();
        let factor = Self::of_rows(
            rows.map(|(i, row)| row.iter().take(i + 1).copied().collect()).collect(),
            0.0,
        );
        (factor.rank == factor.rows.len()).then_some(factor)
    }

    /// Column by column. `rows`: those of the lower triangle. `aliased`: the share of its diagonal that a pivot must exceed.
    fn of_rows(mut rows: Vec<Vec<f64>>, aliased: f64) -> Self {
        let mut kept = vec![false; rows.len()];
        for j in 0..rows.len() {
            let (done, below) = rows.split_at_mut(j + 1);
            let row = &mut done[j];
            let diagonal = row[j];
            let pivot = diagonal - dot(&row[..j], row);
            kept[j] = pivot > aliased * diagonal;
            row[j] = if kept[j] { pivot.sqrt() } else { 0.0 };
            let (row, is_kept) = (&*row, kept[j]);
            below.par_iter_mut().with_min_len(LEAST_ROWS).for_each(|other| {
                other[j] = if is_kept { (other[j] - dot(&other[..j], row)) / row[j] } else { 0.0 };
            });
        }
        let rank = kept.iter().filter(|kept| **kept).count();
        Self { rows, kept, rank }
    }

    /// Solves `A x = b` in place, by `L z = b`, then `Lᵀ x = z`; 0 for aliased parameters.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        self.solve_lower(b);
        self.solve_transposed(b);
    }

    /// Solves `L z = b` in place.
    pub(crate) fn solve_lower(&self, b: &mut [f64]) {
        for (i, row) in self.rows.iter().enumerate() {
            b[i] = if self.kept[i] { (b[i] - dot(&b[..i], row)) / row[i] } else { 0.0 };
        }
    }

    /// Solves `Lᵀ x = z` in place.
    pub(crate) fn solve_transposed(&self, z: &mut [f64]) {
        for (i, row) in self.rows.iter().enumerate().rev() {
            z[i] = if self.kept[i] { z[i] / row[i] } else { 0.0 };
            let (solved, rest) = (z[i], &mut z[..i]);
            rest.iter_mut().zip(row).for_each(|(x, l)| *x -= solved * l);
        }
    }

    /// `ln det A` of a definite matrix.
    pub(super) fn log_determinant(&self) -> f64 {
        2.0 * self.rows.iter().enumerate().map(|(i, row)| row[i].ln()).sum::<f64>()
    }

    /// The inverse of a definite matrix.
    pub(super) fn inverse(self) -> Array2<f64> {
        // The rows of L become those of L⁻¹, from the top: each needs only the inverted ones above it.
        let mut rows = self.rows;
        for i in 0..rows.len() {
            let (above, from_here) = rows.split_at_mut(i);
            let mut inverse = vec![0.0; i + 1];
            inverse[i] = 1.0;
            for (factor, earlier) in from_here[0].iter().zip(above) {
                inverse.iter_mut().zip(earlier).for_each(|(x, t)| *x -= factor * *t);
            }
            let pivot = from_here[0][i];
            inverse.iter_mut().for_each(|x| *x /= pivot);
            from_here[0] = inverse;
        }
        // A⁻¹ = L⁻ᵀ L⁻¹.
        let mut inverse = Array2::zeros((rows.len(), rows.len()));
        for row in &rows {
            for (own, mut target) in row.iter().zip(inverse.rows_mut()) {
                target.iter_mut().zip(row).for_each(|(x, t)| *x += own * t);
            }
        }
        inverse
    }
}

/// Inner product over the length of the shorter `a`, in eight interleaved parts.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut parts = [0.0; 8];
    let (a_runs, a_rest) = a.as_chunks::<8>();
    let (b_runs, b_rest) = b[..a.len()].as_chunks::<8>();
    for (a, b) in a_runs.iter().zip(b_runs) {
        for ((part, x), y) in parts.iter_mut().zip(a).zip(b) {
            *part += x * y;
        }
    }
    parts.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum::<f64>()
}

#[cfg(test)]
mod tests;
