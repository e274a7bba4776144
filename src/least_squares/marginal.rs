//! A marginal as everything that was measured says.

use crate::domain::{Clique, Domain};
use crate::least_squares::Part;
use crate::table::{Projection, row_major_strides, strides_within};

/// The unbiased counts of a marginal, from all measurements that say something about it, and the law of their error.
///
/// With `v_s` the variance of the residual of s, a weighted sum of counts has the variance `Σ_s v_s ‖P_s g_s‖² / K_s²`, where
/// `g_s` are the weights summed over the attributes outside of s and `P_s` centers them. As `P_s` is a projection,
///
/// ```text
/// ‖P_s g_s‖² = Σ_{t ⊆ s} (−1)^{|s∖t|} ‖g_t‖² / ∏_{i ∈ s∖t} k_i
/// ```
///
/// so that the variance is `Σ_t c_t ‖g_t‖²` with constants of the marginal: a sum over the cells that have a weight.
#[derive(Clone, Debug, PartialEq)]
pub struct EstimatedMarginal {
    counts: Vec<f64>,
    shape: Vec<usize>,
    /// Each subset t of the clique: the strides of its table by attribute of the clique, and `c_t`.
    terms: Vec<(Vec<usize>, f64)>,
}

impl EstimatedMarginal {
    /// `parts`: those residuals of the clique that can be other than 0.
    pub(super) fn new(domain: &Domain, clique: &Clique, parts: &[(Clique, &Part)]) -> Self {
        let shape = domain.shape(clique);
        let size = |part: &Clique| domain.shape(part).iter().product::<usize>() as f64;
        let cells: usize = shape.iter().product();
        let mut counts = vec![0.0; cells];
        let mut terms: Vec<(Clique, f64)> =
            parts.iter().map(|(part, _)| (part.clone(), 0.0)).collect();
        for (part, found) in parts {
            let share = size(part) / cells as f64;
            Projection::between(clique, &shape, part).zip_from(
                &found.residual,
                &mut counts,
                |count, r| *count += share * r,
            );
            for (within, constant) in terms.iter_mut().filter(|(w, _)| w.is_subset(part)) {
                let beyond = part.difference(within);
                let sign = if beyond.len().is_multiple_of(2) { 1.0 } else { -1.0 };
                *constant += sign * found.variance * share * share / size(&beyond);
            }
        }
        let terms = terms.into_iter().map(|(part, constant)| {
            let inner = domain.shape(&part);
            (strides_within(clique.attributes(), &part, &inner), constant)
        });
        Self { counts, terms: terms.collect(), shape }
    }

    /// The counts, row-major; noise can make them negative.
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// The variance of the error of each count.
    pub fn of_cell(&self) -> f64 {
        self.terms.iter().map(|(_, constant)| constant).sum::<f64>().max(0.0)
    }

    /// The variance of the error of a weighted sum of counts.
    ///
    /// `cells`: the places of different cells, with their weights.
    pub fn variance(&self, cells: &[(usize, f64)]) -> f64 {
        if let [(_, weight)] = cells {
            return weight * weight * self.of_cell();
        }
        let sum = self.sum(cells);
        self.covariance(&sum, &sum).max(0.0)
    }

    /// A weighted sum of counts, for [`covariance`](Self::covariance). `cells`: as in [`variance`](Self::variance).
    pub(crate) fn sum(&self, cells: &[(usize, f64)]) -> CellSum {
        let strides = row_major_strides(&self.shape);
        let code = |cell: usize, axis: usize| cell / strides[axis] % self.shape[axis];
        let of_term = |(inner, _): &(Vec<usize>, f64)| {
            let place = |cell: usize| {
                let axes = inner.iter().enumerate().filter(|(_, stride)| **stride > 0);
                axes.map(|(axis, stride)| stride * code(cell, axis)).sum::<usize>()
            };
            let places = cells.iter().map(|(cell, weight)| (place(*cell), *weight));
            let mut places: Vec<(usize, f64)> = places.collect();
            places.sort_unstable_by_key(|(place, _)| *place);
            places.dedup_by(|next, kept| {
                let is_same = next.0 == kept.0;
                kept.1 += if is_same { next.1 } else { 0.0 };
                is_same
            });
            places
        };
        CellSum { by_term: self.terms.iter().map(of_term).collect() }
    }

    /// The covariance of the errors of two weighted sums, `Σ_t c_t ⟨a_t, b_t⟩`: quick where the first has few cells.
    pub(crate) fn covariance(&self, a: &CellSum, b: &CellSum) -> f64 {
        let of_term = |((_, constant), (a, b)): (&(Vec<usize>, f64), (&Places, &Places))| {
            let products = a.iter().filter_map(|(place, weight)| {
                let found = b.binary_search_by_key(place, |(other, _)| *other).ok()?;
                Some(weight * b[found].1)
            });
            constant * products.sum::<f64>()
        };
        self.terms.iter().zip(a.by_term.iter().zip(&b.by_term)).map(of_term).sum()
    }
}

/// Cells of a table in order, each with the sum of its weights.
type Places = Vec<(usize, f64)>;

/// A weighted sum of the counts of a marginal: for each subset of its attributes, the weights summed over the others.
pub(crate) struct CellSum {
    by_term: Vec<Places>,
}
