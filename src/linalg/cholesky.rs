//! The factorization of a regression: parameters that follow from others are left out.

use rayon::prelude::*;

/// A pivot below this share of its diagonal is rounding error: the parameter follows from earlier ones and stays 0.
const ALIASED: f64 = 1e-9;

/// `H = L Lᵀ` with the rows and columns of aliased parameters left out.
pub(crate) struct Cholesky {
    size: usize,
    lower: Vec<f64>,
    /// The parameters that do not follow from earlier ones.
    pub(crate) kept: Vec<bool>,
    /// Their number.
    pub(crate) rank: usize,
}

impl Cholesky {
    /// `matrix`: H, row-major, of which only the lower triangle is read.
    pub(crate) fn new(mut matrix: Vec<f64>, size: usize) -> Self {
        let diagonal: Vec<f64> = (0..size).map(|i| matrix[i * size + i]).collect();
        let mut kept = vec![false; size];
        let mut column = vec![0.0; size];
        for j in 0..size {
            let pivot = matrix[j * size + j];
            kept[j] = pivot > ALIASED * diagonal[j];
            let scale = if kept[j] { pivot.sqrt().recip() } else { 0.0 };
            for i in j..size {
                matrix[i * size + j] *= scale;
                column[i] = matrix[i * size + j];
            }
            if !kept[j] {
                continue;
            }
            let rest = &mut matrix[(j + 1) * size..];
            rest.par_chunks_mut(size).with_min_len(64).enumerate().for_each(|(below, line)| {
                let i = j + 1 + below;
                let factor = column[i];
                if factor != 0.0 {
                    let line = &mut line[j + 1..=i];
                    line.iter_mut().zip(&column[j + 1..=i]).for_each(|(x, l)| *x -= factor * l);
                }
            });
        }
        let rank = kept.iter().filter(|kept| **kept).count();
        Self { size, lower: matrix, kept, rank }
    }

    /// Solves `H x = b` in place; 0 for aliased parameters.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        for i in 0..self.size {
            let line = &self.lower[i * self.size..];
            let known: f64 = line[..i].iter().zip(&b[..i]).map(|(l, x)| l * x).sum();
            b[i] = if self.kept[i] { (b[i] - known) / line[i] } else { 0.0 };
        }
        for i in (0..self.size).rev() {
            let line = &self.lower[i * self.size..];
            b[i] = if self.kept[i] { b[i] / line[i] } else { 0.0 };
            let x = b[i];
            b[..i].iter_mut().zip(&line[..i]).for_each(|(b, l)| *b -= l * x);
        }
    }
}

#[cfg(test)]
mod tests;
