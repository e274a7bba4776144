//! Dense matrices: products, and solves by one Cholesky factorization; with the feature `lapack`, systems of definite matrices
//! are solved by LAPACK.

mod cholesky;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis, NdFloat};
use rayon::current_num_threads;
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

/// A thread computes a multiple of this many rows or columns of a product, as its kernel does.
const PANEL: usize = 64;

/// `c = a b`, or with `add` `c += a b`. The larger side of c is shared out among the threads. Each number is summed in the same
/// order however many there are.
pub(crate) fn multiply<F: Real>(
    a: &ArrayView2<'_, F>,
    b: &ArrayView2<'_, F>,
    mut c: ArrayViewMut2<'_, F>,
    add: bool,
) {
    let kept = if add { F::one() } else { F::zero() };
    let panel = |count: usize| count.div_ceil(current_num_threads()).next_multiple_of(PANEL);
    let product = |a: &ArrayView2<'_, F>, b: &ArrayView2<'_, F>, mut c: ArrayViewMut2<'_, F>| {
        general_mat_mul(F::one(), a, b, kept, &mut c);
    };
    if c.nrows() > c.ncols() {
        let panel = panel(c.nrows());
        let panels = a.axis_chunks_iter(Axis(0), panel);
        let panels: Vec<_> = panels.zip(c.axis_chunks_iter_mut(Axis(0), panel)).collect();
        panels.into_par_iter().for_each(|(a, c)| product(&a, b, c));
    } else {
        let panel = panel(c.ncols());
        let panels = b.axis_chunks_iter(Axis(1), panel);
        let panels: Vec<_> = panels.zip(c.axis_chunks_iter_mut(Axis(1), panel)).collect();
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

#[cfg(not(feature = "lapack"))]
fn solve(matrix: &Array2<f64>, right_side: &Array1<f64>) -> Result<Array1<f64>> {
    let mut x = right_side.to_vec();
    Cholesky::definite(&matrix.view()).ok_or_else(not_definite)?.solve(&mut x);
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
    let factor = Cholesky::definite(&matrix.view()).ok_or_else(not_definite)?;
    let log_determinant = factor.log_determinant();
    Ok((factor.inverse(), log_determinant))
}

fn not_definite() -> Error {
    Error::invalid_parameter("matrix to solve", "not positive definite", "a positive definite one")
}

#[cfg(test)]
mod tests;
