//! Dense matrices: products, and solves with two back ends, our own Cholesky factorization or, with the feature
//! `lapack`, LAPACK's.

mod cholesky;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis, NdFloat};
use rayon::prelude::*;

use crate::error::{Error, Result};

pub(crate) use cholesky::Cholesky;

/// The numbers of a model that is trained: 32 bits; 64 where a test compares gradients with differences.
pub(crate) trait Real: NdFloat {
    /// The nearest number of this type.
    fn of(number: f64) -> Self;

    /// The same number in 64 bits.
    fn wide(self) -> f64;
}

impl Real for f32 {
    #[expect(clippy::cast_possible_truncation, reason = "rounds to the nearest")]
    fn of(number: f64) -> Self {
        number as Self
    }

    fn wide(self) -> f64 {
        self.into()
    }
}

impl Real for f64 {
    fn of(number: f64) -> Self {
        number
    }

    fn wide(self) -> f64 {
        self
    }
}

/// Rows or columns of a product that one thread computes at a time. Fixed, so that no result depends on the number of
/// threads.
const PANEL: usize = 256;

/// `c = a b`, or with `add` `c += a b`.
pub(crate) fn multiply<F: Real>(
    a: &ArrayView2<'_, F>,
    b: &ArrayView2<'_, F>,
    mut c: ArrayViewMut2<'_, F>,
    add: bool,
) {
    let kept = if add { F::one() } else { F::zero() };
    let product = |a: &ArrayView2<'_, F>, b: &ArrayView2<'_, F>, mut c: ArrayViewMut2<'_, F>| {
        general_mat_mul(F::one(), a, b, kept, &mut c);
    };
    if c.nrows() > c.ncols() {
        let panels = a.axis_chunks_iter(Axis(0), PANEL);
        let panels: Vec<_> = panels.zip(c.axis_chunks_iter_mut(Axis(0), PANEL)).collect();
        panels.into_par_iter().for_each(|(a, c)| product(&a, b, c));
    } else {
        let panels = b.axis_chunks_iter(Axis(1), PANEL);
        let panels: Vec<_> = panels.zip(c.axis_chunks_iter_mut(Axis(1), PANEL)).collect();
        panels.into_par_iter().for_each(|(b, c)| product(a, &b, c));
    }
}

/// The solution x of `A x = b` for a symmetric positive definite A, of which only the lower triangle is read.
///
/// `matrix`: A, square. `right_side`: b, as long as A is wide. The result is not refined: its relative error is about
/// the condition number of A times 10⁻¹⁶.
///
/// # Errors
/// Sizes that do not agree, or a matrix that is not positive definite to working precision.
pub(crate) fn solve_positive_definite(
    matrix: &Array2<f64>,
    right_side: &Array1<f64>,
) -> Result<Array1<f64>> {
    if !matrix.is_square() || matrix.nrows() != right_side.len() {
        let found = format!("{:?} for {} unknowns", matrix.shape(), right_side.len());
        return Err(Error::invalid_parameter("matrix to solve", found, "a square of that size"));
    }
    solve(matrix, right_side)
}

#[cfg(feature = "lapack")]
fn solve(matrix: &Array2<f64>, right_side: &Array1<f64>) -> Result<Array1<f64>> {
    use ndarray_linalg::{FactorizeCInto, SolveC, UPLO};
    if matrix.is_empty() {
        return Ok(Array1::zeros(0));
    }
    let factor = matrix.to_owned().factorizec_into(UPLO::Lower).map_err(|_| not_definite())?;
    factor.solvec_into(right_side.to_owned()).map_err(|_| not_definite())
}

/// `L z = b`, then `Lᵀ x = z`.
#[cfg(not(feature = "lapack"))]
fn solve(matrix: &Array2<f64>, right_side: &Array1<f64>) -> Result<Array1<f64>> {
    let rows = factorized(matrix)?;
    let mut x = Vec::with_capacity(rows.len());
    for (row, b) in rows.iter().zip(right_side) {
        x.push((b - dot(&x, row)) / row[x.len()]);
    }
    for i in (0..x.len()).rev() {
        x[i] /= rows[i][i];
        let (solved, rest) = (x[i], &mut x[..i]);
        rest.iter_mut().zip(&rows[i]).for_each(|(x, l)| *x -= solved * l);
    }
    Ok(x.into())
}

/// The inverse of a symmetric positive definite matrix, of which only the lower triangle is read, and the logarithm of
/// its determinant.
///
/// # Errors
/// A matrix that is not square, or not positive definite to working precision.
pub(crate) fn inverse_positive_definite(matrix: &Array2<f64>) -> Result<(Array2<f64>, f64)> {
    if !matrix.is_square() {
        let found = format!("{:?}", matrix.shape());
        return Err(Error::invalid_parameter("matrix to invert", found, "a square"));
    }
    // The rows of L become those of L⁻¹, from the top: each needs only the inverted ones above it.
    let mut rows = factorized(matrix)?;
    let log_determinant = 2.0 * rows.iter().enumerate().map(|(i, row)| row[i].ln()).sum::<f64>();
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
    let mut inverse = Array2::zeros(matrix.raw_dim());
    for row in &rows {
        for (own, mut target) in row.iter().zip(inverse.rows_mut()) {
            target.iter_mut().zip(row).for_each(|(x, t)| *x += own * t);
        }
    }
    Ok((inverse, log_determinant))
}

/// Cholesky: the rows of L with `A = L Lᵀ`, so that all inner products run along memory.
fn factorized(matrix: &Array2<f64>) -> Result<Vec<Vec<f64>>> {
    let size = matrix.nrows();
    let mut rows: Vec<Vec<f64>> = Vec::with_capacity(size);
    for i in 0..size {
        let mut row = Vec::with_capacity(i + 1);
        for (j, above) in rows.iter().enumerate() {
            row.push((matrix[[i, j]] - dot(&row, above)) / above[j]);
        }
        let pivot = matrix[[i, i]] - dot(&row, &row);
        if pivot.is_nan() || pivot <= 0.0 {
            return Err(not_definite());
        }
        row.push(pivot.sqrt());
        rows.push(row);
    }
    Ok(rows)
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

fn not_definite() -> Error {
    Error::invalid_parameter("matrix to solve", "not positive definite", "a positive definite one")
}

#[cfg(test)]
mod tests;
