//! Marginals of a mixture of product distributions as matrix products, forward and backward.
//!
//! A mixture of B products is a matrix with a row for each value of each attribute and a column for each component.

use std::ops::Range;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis, Slice, Zip};

use crate::domain::{Clique, Domain};
use crate::linalg::Real;

/// Components whose sum is taken in the numbers' own precision; such sums are added in 64 bits.
pub(crate) const COMPONENTS: usize = 128;

/// Where the values of each attribute lie in the matrix.
pub(crate) fn value_ranges(domain: &Domain) -> Vec<Range<usize>> {
    let mut start = 0;
    let ranges = domain.attributes().iter().map(|attribute| {
        let range = start..start + attribute.cardinality as usize;
        start = range.end;
        range
    });
    ranges.collect()
}

/// The attributes of a clique in two parts. With K and S the products of the values' probabilities within each part, a
/// column for each of B components, the marginal is `K Sᵀ / B`: one matrix product, whose result is the row-major
/// table.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    prefix: Vec<Range<usize>>,
    suffix: Vec<Range<usize>>,
}

impl Split {
    /// Cuts where K and S together are smallest. `ranges`: as of [`value_ranges`].
    pub(crate) fn new(ranges: &[Range<usize>], clique: &Clique) -> Self {
        let own: Vec<Range<usize>> =
            clique.iter().filter_map(|attribute| ranges.get(attribute).cloned()).collect();
        let size = |at: &usize| cells(&own[..*at]).saturating_add(cells(&own[*at..]));
        let cut = (0..=own.len()).min_by_key(size).unwrap_or(0);
        Self { prefix: own[..cut].to_vec(), suffix: own[cut..].to_vec() }
    }

    /// Rows and columns of the marginal's table.
    pub(crate) fn shape(&self) -> (usize, usize) {
        (cells(&self.prefix), cells(&self.suffix))
    }

    /// The marginal as probabilities, row-major: the mean over the components.
    pub(crate) fn marginal<F: Real>(&self, matrix: &ArrayView2<'_, F>) -> Vec<f64> {
        let (height, width) = self.shape();
        let mut sums = vec![0.0; height * width];
        let mut part = Array2::zeros((height, width));
        for matrix in matrix.axis_chunks_iter(Axis(1), COMPONENTS) {
            let prefix = Outer::new(&matrix, &self.prefix).whole;
            let suffix = Outer::new(&matrix, &self.suffix).whole;
            general_mat_mul(F::one(), &prefix, &suffix.t(), F::zero(), &mut part);
            sums.iter_mut().zip(&part).for_each(|(sum, part)| *sum += part.wide());
        }
        let components = matrix.ncols().max(1) as f64;
        sums.iter_mut().for_each(|sum| *sum /= components);
        sums
    }

    /// Derivatives in cells of the sum, not the mean, over all components; those of a cell that is there twice are added up.
    /// `cells`: each position in the row-major table, with its derivative.
    pub(crate) fn slopes<F: Real>(&self, cells: Vec<(usize, F)>) -> Slopes<F> {
        let (height, width) = self.shape();
        if cells.len() * FEW <= height * width {
            return Slopes::Few(cells);
        }
        let mut table = Array2::zeros((height, width));
        for (cell, slope) in cells {
            table[(cell / width, cell % width)] += slope;
        }
        Slopes::Table(table)
    }

    /// Adds to `into` the derivatives in the matrix. `matrix` and `into`: the same columns of the whole.
    pub(crate) fn pull_back<F: Real>(
        &self,
        matrix: &ArrayView2<'_, F>,
        slopes: &Slopes<F>,
        into: &mut ArrayViewMut2<'_, F>,
    ) {
        match slopes {
            Slopes::Few(cells) => self.pull_back_cells(matrix, cells, into),
            Slopes::Table(slopes) => {
                let prefix = Outer::new(matrix, &self.prefix);
                let suffix = Outer::new(matrix, &self.suffix);
                prefix.unfold(slopes.dot(&suffix.whole), matrix, &self.prefix, into);
                suffix.unfold(slopes.t().dot(&prefix.whole), matrix, &self.suffix, into);
            }
        }
    }

    /// From each cell to the row of each of its values: the slope times the rows of the other values.
    fn pull_back_cells<F: Real>(
        &self,
        matrix: &ArrayView2<'_, F>,
        cells: &[(usize, F)],
        into: &mut ArrayViewMut2<'_, F>,
    ) {
        let ranges: Vec<&Range<usize>> = self.prefix.iter().chain(&self.suffix).collect();
        let mut rows = vec![0; ranges.len()];
        let mut product = Array1::zeros(matrix.ncols());
        for (cell, slope) in cells {
            let mut rest = *cell;
            for (row, range) in rows.iter_mut().zip(&ranges).rev() {
                *row = range.start + rest % range.len();
                rest /= range.len();
            }
            for own in &rows {
                product.fill(*slope);
                for other in rows.iter().filter(|other| *other != own) {
                    product.zip_mut_with(&matrix.row(*other), |product, p| *product *= *p);
                }
                into.row_mut(*own).zip_mut_with(&product, |sum, product| *sum += *product);
            }
        }
    }
}

/// Cells are listed where at most one in so many has a derivative. It saves time. Chosen by hand, as a product of matrices does many
/// cells in the time of one.
const FEW: usize = 32;

/// Derivatives in the cells of a marginal, all others 0.
#[derive(Clone, Debug)]
pub(crate) enum Slopes<F> {
    /// Positions in the row-major table, with their derivatives.
    Few(Vec<(usize, F)>),
    /// All cells, in the form of [`Split::shape`].
    Table(Array2<F>),
}

fn cells(ranges: &[Range<usize>]) -> usize {
    ranges.iter().fold(1, |cells, range| cells.saturating_mul(range.len()))
}

/// Products of the probabilities of some attributes' values, with a row for each combination of values.
struct Outer<F> {
    /// Those of the first attribute, of the first two, and so on, without the whole.
    before: Vec<Array2<F>>,
    /// Those of all attributes; without attributes a row of ones.
    whole: Array2<F>,
}

impl<F: Real> Outer<F> {
    fn new(matrix: &ArrayView2<'_, F>, ranges: &[Range<usize>]) -> Self {
        let Some((first, rest)) = ranges.split_first() else {
            return Self { before: Vec::new(), whole: Array2::ones((1, matrix.ncols())) };
        };
        let mut before = Vec::with_capacity(rest.len());
        let mut whole = matrix.slice_axis(Axis(0), Slice::from(first.clone())).to_owned();
        for range in rest {
            let values = matrix.slice_axis(Axis(0), Slice::from(range.clone()));
            let mut next = Array2::zeros((whole.nrows() * range.len(), matrix.ncols()));
            let rows = next.axis_chunks_iter_mut(Axis(0), range.len());
            for (mut rows, factor) in rows.zip(whole.outer_iter()) {
                for (row, value) in rows.outer_iter_mut().zip(values.outer_iter()) {
                    Zip::from(row).and(factor).and(value).for_each(|cell, a, b| *cell = *a * *b);
                }
            }
            before.push(std::mem::replace(&mut whole, next));
        }
        Self { before, whole }
    }

    /// Adds the derivatives in the probabilities of each attribute. `slopes`: those in [`Outer::whole`].
    fn unfold(
        &self,
        mut slopes: Array2<F>,
        matrix: &ArrayView2<'_, F>,
        ranges: &[Range<usize>],
        into: &mut ArrayViewMut2<'_, F>,
    ) {
        for (range, before) in ranges.iter().skip(1).zip(&self.before).rev() {
            let values = matrix.slice_axis(Axis(0), Slice::from(range.clone()));
            let mut sums = into.slice_axis_mut(Axis(0), Slice::from(range.clone()));
            let mut next = Array2::zeros(before.dim());
            let rows = slopes.axis_chunks_iter(Axis(0), range.len());
            for ((rows, factor), mut next) in
                rows.zip(before.outer_iter()).zip(next.outer_iter_mut())
            {
                for ((row, value), sum) in
                    rows.outer_iter().zip(values.outer_iter()).zip(sums.outer_iter_mut())
                {
                    Zip::from(sum).and(row).and(factor).for_each(|sum, a, b| *sum += *a * *b);
                    Zip::from(&mut next).and(row).and(value).for_each(|sum, a, b| *sum += *a * *b);
                }
            }
            slopes = next;
        }
        if let Some(first) = ranges.first() {
            into.slice_axis_mut(Axis(0), Slice::from(first.clone()))
                .zip_mut_with(&slopes, |sum, a| *sum += *a);
        }
    }
}
