//! Statistics on what was measured, with the variance that they have from the noise.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::combine::fit::WeightedCells;
use crate::combine::statistic::{Design, Link, Row};
use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::least_squares::{EstimatedMarginal, LeastSquares, LinearForm, Measured};
use crate::linalg::Cholesky;

/// A statistic on what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeasuredStatistic {
    /// Its value.
    pub value: f64,
    /// The variance that it has from the noise, to first order.
    pub noise: f64,
    /// The relative standard deviation of the information on it, such as the size of a group that a mean is over; for a
    /// logistic regression, that of its sampling variance if larger. The first order is good if it is well below 1.
    pub looseness: f64,
}

impl Design {
    /// The cliques whose counts the statistic is a function of. A logistic regression needs all of its attributes together. Least
    /// squares are a function of sums of products of two terms, so of their attributes two terms at a time; if a record without
    /// a number is left out, all of them together.
    pub(super) fn needed(&self) -> Vec<Clique> {
        if self.link == Link::Logistic || self.has_missing() {
            return vec![self.clique.clone()];
        }
        let mut cliques: Vec<Clique> = self.pairs().map(|(a, b)| self.clique_of(a, b)).collect();
        cliques.sort_unstable();
        cliques.dedup();
        cliques
    }

    /// The numbers of the statistic as everything that was measured says, each `None` where noise leaves it undetermined;
    /// `None` unless all counts that it is a function of follow from what was measured.
    ///
    /// The variances are those of the noise, to first order: that of `Σ_r Σ_c g_c M_r(c)` with `g_c` the derivative of a coefficient
    /// by the count of cell c, which is the score of one of its records times `A⁻¹`.
    ///
    /// # Errors
    /// Measurements over another domain.
    pub fn on_measurements(
        &self,
        domain: &Domain,
        measured: &Measured,
    ) -> Result<Option<Vec<Option<MeasuredStatistic>>>> {
        let needed = self.needed();
        if !needed.iter().all(|clique| measured.determines(domain, clique)) {
            return Ok(None);
        }
        let solved = measured.estimates(domain, &needed)?;
        Ok(match self.link {
            Link::Logistic => self.logistic(domain, &solved),
            Link::Identity => self.least_squares(domain, &solved, needed),
        })
    }

    /// From the counts of all attributes together.
    fn logistic(
        &self,
        domain: &Domain,
        solved: &LeastSquares,
    ) -> Option<Vec<Option<MeasuredStatistic>>> {
        let marginal = solved.marginal(&self.clique)?;
        let counts = marginal.counts();
        let mut cells = WeightedCells::default();
        let mut places = Vec::new();
        self.each_cell(&domain.shape(&self.clique), |cell, row| {
            places.extend(row.is_some().then_some(cell));
            cells.push(row, counts[cell]);
        });
        let fit = self.fit(&cells);
        let beta: Option<Vec<f64>> = fit.values.iter().copied().collect();
        let Some(beta) = beta else { return Some(vec![None; self.names().len()]) };
        let variance = |of_cell: &dyn Fn(&Row) -> f64| {
            let weights = places.iter().zip(&cells.rows).map(|(cell, row)| (*cell, of_cell(row)));
            marginal.variance(&weights.collect::<Vec<_>>())
        };
        let inverses = self.inverses(&cells, &beta);
        let numbers = inverses.iter().enumerate().skip(self.reported).map(|(place, inverse)| {
            let inverse = inverse.as_ref()?;
            let moved = |row: &Row| -> f64 { inverse.iter().zip(&row.1).map(|(u, x)| u * x).sum() };
            let noise = variance(&|row| moved(row) * self.residual(row, &beta).0);
            let relative = |of_cell: &dyn Fn(&Row) -> f64, sum: f64| {
                if sum > 0.0 { variance(of_cell).sqrt() / sum } else { f64::INFINITY }
            };
            let square = |row: &Row| moved(row).powi(2);
            let information =
                relative(&|row| square(row) * self.residual(row, &beta).1, inverse[place]);
            // A rare outcome is in few records of many.
            let score = |row: &Row| square(row) * self.residual(row, &beta).0.powi(2);
            let looseness = information.max(relative(&score, fit.sampling[place]));
            Some(MeasuredStatistic { value: beta[place], noise, looseness })
        });
        Some(numbers.collect())
    }

    /// From sums of products of two terms, `Σ_i x_k x_l` and `Σ_i x_k y`, each a function of the counts of its own attributes.
    fn least_squares(
        &self,
        domain: &Domain,
        solved: &LeastSquares,
        needed: Vec<Clique>,
    ) -> Option<Vec<Option<MeasuredStatistic>>> {
        let marginals =
            needed.into_iter().map(|clique| Some((clique.clone(), solved.marginal(&clique)?)));
        let marginals: BTreeMap<Clique, EstimatedMarginal> = marginals.collect::<Option<_>>()?;
        let size = self.names.len();
        // The response is number `size`.
        let mut products: BTreeMap<(usize, usize), Product> = BTreeMap::new();
        for (a, b) in self.pairs() {
            let clique =
                if self.has_missing() { self.clique.clone() } else { self.clique_of(a, b) };
            let counts = marginals.get(&clique)?.counts();
            let weights = self.products(&clique, &domain.shape(&clique), a, b);
            let sum = weights.iter().zip(counts).map(|(w, count)| w * count).sum();
            products.insert((a, b), Product { clique, weights, sum });
        }
        let product = |a: usize, b: usize| &products[&(a.max(b), a.min(b))];
        let mut matrix = vec![0.0; size * size];
        for a in 0..size {
            for b in 0..=a {
                matrix[a * size + b] = product(a, b).sum;
            }
        }
        let factor = Cholesky::new(&matrix, size);
        if factor.rank < size {
            return Some(vec![None; self.names().len()]);
        }
        let mut beta: Vec<f64> = (0..size).map(|a| product(size, a).sum).collect();
        factor.solve(&mut beta);
        let numbers = (self.reported..size).map(|place| {
            let mut inverse = vec![0.0; size];
            inverse[place] = 1.0;
            factor.solve(&mut inverse);
            // Σ_a u_a x_a (y − Σ_b β_b x_b), and Σ_a Σ_b u_a u_b x_a x_b.
            let (mut score, mut square) = (BTreeMap::new(), BTreeMap::new());
            for (a, u) in inverse.iter().enumerate() {
                product(size, a).add_to(&mut score, *u);
                for b in 0..size {
                    product(a, b).add_to(&mut score, -u * beta[b]);
                    product(a, b).add_to(&mut square, u * inverse[b]);
                }
            }
            let variance = |sums: &BTreeMap<&Clique, Vec<f64>>| {
                let mut form = LinearForm::default();
                sums.iter().for_each(|(clique, weights)| form.add(domain, clique, weights));
                solved.estimate(&form).map(|found| found.variance)
            };
            let (noise, information) = (variance(&score)?, inverse[place]);
            let spread = variance(&square)?.sqrt();
            let looseness = if information > 0.0 { spread / information } else { f64::INFINITY };
            Some(MeasuredStatistic { value: beta[place], noise, looseness })
        });
        Some(numbers.collect())
    }

    /// The terms whose products are summed, the larger place first; the intercept is number 0, the response comes last.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let size = self.names.len();
        let of_terms = (0..size).flat_map(|a| (0..=a).map(move |b| (a, b)));
        of_terms.chain((0..size).map(move |a| (size, a)))
    }
}

/// The sum of the products of two terms over the records that count.
struct Product {
    clique: Clique,
    /// The product in each cell of the clique; 0 where records do not count.
    weights: Vec<f64>,
    sum: f64,
}

impl Product {
    fn add_to<'p>(&'p self, sums: &mut BTreeMap<&'p Clique, Vec<f64>>, factor: f64) {
        let own = sums.entry(&self.clique).or_insert_with(|| vec![0.0; self.weights.len()]);
        own.iter_mut().zip(&self.weights).for_each(|(sum, weight)| *sum += factor * weight);
    }
}

#[cfg(test)]
mod tests;
