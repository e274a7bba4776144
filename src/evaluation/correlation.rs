//! Differences between the pairwise dependences of two tables.

use serde::Serialize;

use crate::data::Projectable;
use crate::error::Result;
use crate::evaluation::marginals::Frequencies;
use crate::query::{Workload, batches};

/// Differences of one measure of dependence over pairs of attributes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DependenceDifference {
    /// Mean over the pairs of the absolute difference.
    pub mean: f64,
    /// Largest absolute difference.
    pub max: f64,
    /// The pair with the largest difference, by name.
    pub worst: [String; 2],
}

/// Differences of pairwise dependences between a real and a synthetic table, over all pairs of attributes.
/// **Not private.**
///
/// - Pearson's correlation of the codes, from −1 to 1, as SDNist shows it. It is meaningful if the order of the codes
///   is; a missing value is the last code.
/// - Cramér's V = `√(φ² / min(r − 1, c − 1))`, from 0 to 1, where `φ² = Σ (p_ij − p_i p_j)² / (p_i p_j)` and r, c count
///   the values that occur in the table (Cramér 1946, section 21.9). It does not depend on an order of the codes.
///
/// Both are 0 if one of the two attributes is constant in the table.
///
/// ```
/// use jointly::{data::Dataset, domain::Domain, evaluation::CorrelationDifference};
/// let domain = Domain::new([("a", 2), ("b", 2)])?;
/// let real = Dataset::from_rows(domain.clone(), &[[0, 0], [1, 1]])?;
/// let synthetic = Dataset::from_rows(domain, &[[0, 1], [1, 0]])?;
/// let difference = CorrelationDifference::between(&real, &synthetic)?;
/// // A dependence turned round: Pearson's correlation sees it, Cramér's V does not.
/// assert_eq!((difference.pearson.max, difference.cramers_v.max), (2.0, 0.0));
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CorrelationDifference {
    /// Pairs of attributes.
    pub pairs: u64,
    /// Of Pearson's correlations of the codes; differences from 0 to 2.
    pub pearson: DependenceDifference,
    /// Of Cramér's V; differences from 0 to 1.
    pub cramers_v: DependenceDifference,
}

impl CorrelationDifference {
    /// Compares all pairs of attributes.
    ///
    /// # Errors
    /// Tables over different domains, fewer than two attributes, a table without records, or a marginal too large to
    /// count.
    pub fn between(real: &dyn Frequencies, synthetic: &dyn Frequencies) -> Result<Self> {
        let domain = real.attributes();
        domain.check_same(synthetic.attributes(), "the synthetic table")?;
        let pairs = Workload::all_k_way(domain, 2)?;
        let (mut pearson, mut cramers_v) = (Sums::default(), Sums::default());
        for batch in batches(domain, pairs.weighted_cliques()) {
            let cliques: Vec<_> = batch.iter().map(|c| c.clique.clone()).collect();
            let (p, q) = (real.frequencies(&cliques)?, synthetic.frequencies(&cliques)?);
            for ((clique, p), q) in cliques.iter().zip(&p).zip(&q) {
                let [a, b] = [clique.attributes()[0], clique.attributes()[1]];
                let (p, q) =
                    (Pair::new(p, domain.cardinality(b)), Pair::new(q, domain.cardinality(b)));
                pearson.add([a, b], p.pearson() - q.pearson());
                cramers_v.add([a, b], p.cramers_v() - q.cramers_v());
            }
        }
        Ok(Self {
            pairs: pairs.len() as u64,
            pearson: pearson.finish(|attribute| domain.name(attribute)),
            cramers_v: cramers_v.finish(|attribute| domain.name(attribute)),
        })
    }
}

/// Cramér's V of a pair of attributes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Association {
    /// The first attribute's position in the domain.
    pub first: usize,
    /// The second one's, above it.
    pub second: usize,
    /// V, from 0 to 1; see [`CorrelationDifference`].
    pub v: f64,
}

/// Cramér's V of all pairs of attributes of one table, in order.
///
/// # Errors
/// Fewer than two attributes, a table without records, or a marginal too large to count.
pub fn cramers_v(table: &dyn Projectable) -> Result<Vec<Association>> {
    let domain = table.domain();
    let pairs = Workload::all_k_way(domain, 2)?;
    let mut found = Vec::with_capacity(pairs.len());
    for batch in batches(domain, pairs.weighted_cliques()) {
        let cliques: Vec<_> = batch.iter().map(|c| c.clique.clone()).collect();
        for (clique, cells) in cliques.iter().zip(&table.frequencies(&cliques)?) {
            let [first, second] = [clique.attributes()[0], clique.attributes()[1]];
            let v = Pair::new(cells, domain.cardinality(second)).cramers_v();
            found.push(Association { first, second, v });
        }
    }
    Ok(found)
}

/// A two-way table of probabilities, row-major, with its margins.
struct Pair<'p> {
    cells: &'p [f64],
    rows: Vec<f64>,
    columns: Vec<f64>,
}

impl<'p> Pair<'p> {
    fn new(cells: &'p [f64], columns: usize) -> Self {
        let rows: Vec<f64> = cells.chunks_exact(columns).map(|row| row.iter().sum()).collect();
        let mut sums = vec![0.0; columns];
        for row in cells.chunks_exact(columns) {
            sums.iter_mut().zip(row).for_each(|(sum, cell)| *sum += cell);
        }
        Self { cells, rows, columns: sums }
    }

    /// The cells with the positions and probabilities of their row and column, where both occur.
    fn iter(&self) -> impl Iterator<Item = (f64, (usize, f64), (usize, f64))> + '_ {
        let columns = self.columns.len();
        self.cells.iter().enumerate().filter_map(move |(cell, p)| {
            let (i, j) = (cell / columns, cell % columns);
            let (row, column) = (self.rows[i], self.columns[j]);
            (row > 0.0 && column > 0.0).then_some((*p, (i, row), (j, column)))
        })
    }

    fn pearson(&self) -> f64 {
        let moments = |p: &[f64]| {
            let mean: f64 = p.iter().enumerate().map(|(x, p)| x as f64 * p).sum();
            let square = |(x, p): (usize, &f64)| (x as f64 - mean) * (x as f64 - mean) * p;
            (mean, p.iter().enumerate().map(square).sum::<f64>())
        };
        let ((mean_i, var_i), (mean_j, var_j)) = (moments(&self.rows), moments(&self.columns));
        if is_constant(&self.rows) || is_constant(&self.columns) {
            return 0.0;
        }
        let covariance: f64 = self
            .iter()
            .map(|(p, (i, _), (j, _))| p * (i as f64 - mean_i) * (j as f64 - mean_j))
            .sum();
        covariance / (var_i * var_j).sqrt()
    }

    fn cramers_v(&self) -> f64 {
        let occurring = |p: &[f64]| p.iter().filter(|p| **p > 0.0).count();
        let smaller = occurring(&self.rows).min(occurring(&self.columns));
        if smaller < 2 {
            return 0.0;
        }
        let phi_squared: f64 = self
            .iter()
            .map(|(p, (_, row), (_, column))| (p - row * column).powi(2) / (row * column))
            .sum();
        (phi_squared / (smaller - 1) as f64).sqrt()
    }
}

fn is_constant(p: &[f64]) -> bool {
    p.iter().filter(|p| **p > 0.0).count() < 2
}

/// Running sums over the pairs.
#[derive(Default)]
pub(super) struct Sums {
    pairs: u64,
    sum: f64,
    max: f64,
    worst: [usize; 2],
}

impl Sums {
    pub(super) fn add(&mut self, pair: [usize; 2], difference: f64) {
        let difference = difference.abs();
        if self.pairs == 0 || difference > self.max {
            (self.max, self.worst) = (difference, pair);
        }
        self.sum += difference;
        self.pairs += 1;
    }

    pub(super) fn finish<'n>(self, name: impl Fn(usize) -> &'n str) -> DependenceDifference {
        DependenceDifference {
            mean: self.sum / self.pairs.max(1) as f64,
            max: self.max,
            worst: self.worst.map(|at| name(at).to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
