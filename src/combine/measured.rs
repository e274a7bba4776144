//! Statistics on what was measured, with the variance that they have from the noise.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::combine::CombinedEstimate;
use crate::combine::fit::{Fit, WeightedCells};
use crate::combine::rules::tail;
use crate::combine::score_region::Scores;
use crate::combine::statistic::{Design, Link, Row};
use crate::data::Dataset;
use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::least_squares::{EstimatedMarginal, LeastSquares, LinearForm, Measured};
use crate::linalg::Cholesky;
use crate::model::{Accuracy, LOOSE};

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

    /// The numbers of the statistic as everything that was measured says, with their intervals and the p values of tests that
    /// they are 0; each `None` where noise leaves it undetermined. `None` unless all counts that the statistic is a function of follow
    /// from what was measured.
    ///
    /// # Errors
    /// Measurements over another domain.
    pub(super) fn estimates(
        &self,
        domain: &Domain,
        accuracy: &Accuracy,
        sample: Option<&Sample<'_>>,
    ) -> Result<Option<Vec<Option<Tested>>>> {
        let measured = &accuracy.measured;
        let Some(solved) = self.solved(domain, measured)? else { return Ok(None) };
        let sampling =
            |place: usize| sample.map_or(0.0, |sample| sample.fit.sampling[place] * sample.shrinks);
        if self.link == Link::Identity {
            let Some(found) = self.least_squares(domain, &solved) else { return Ok(None) };
            let numbers = (self.reported..).zip(found).map(|(place, found)| {
                let found = found.filter(|found| found.looseness < LOOSE)?;
                let estimate =
                    CombinedEstimate::of_measurements(&found, sampling(place), measured.is_laplace);
                let p_value = estimate.p_value(0.0);
                Some(Tested { estimate: self.within(estimate, found.noise), p_value })
            });
            return Ok(Some(numbers.collect()));
        }
        let Some(fitted) = self.logistic(domain, &solved) else {
            return Ok(solved.marginal(&self.clique).map(|_| vec![None; self.names().len()]));
        };
        let released = sample.map(|sample| (self.cells_of(sample.records), sample.shrinks.recip()));
        let scores = Scores {
            design: self,
            marginal: &fitted.marginal,
            cells: &fitted.cells,
            places: &fitted.places,
            sample: released.as_ref().map(|(cells, scale)| (cells, *scale)),
        };
        let numbers = (self.reported..self.names.len()).map(|place| {
            let found = self.to_first_order(&fitted, place)?;
            let error = (found.noise + sampling(place)).sqrt();
            let z = accuracy.deviations();
            let ([lower, upper], distance) = scores.interval(&fitted.beta, place, error, z)?;
            let p_value = tail(distance.sqrt(), f64::INFINITY, measured.is_laplace);
            let estimate = CombinedEstimate::of_region(found.value, error, [lower, upper]);
            Some(Tested { estimate, p_value })
        });
        Ok(Some(numbers.collect()))
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
        let Some(solved) = self.solved(domain, measured)? else { return Ok(None) };
        Ok(match self.link {
            Link::Identity => self.least_squares(domain, &solved),
            Link::Logistic => {
                let places = self.reported..self.names.len();
                let fitted = self.logistic(domain, &solved);
                let number = |place| self.to_first_order(fitted.as_ref()?, place);
                Some(places.map(number).collect())
            }
        })
    }

    /// The least squares estimates of all counts that the statistic is a function of, if they follow from what was measured.
    fn solved(&self, domain: &Domain, measured: &Measured) -> Result<Option<LeastSquares>> {
        let needed = self.needed();
        if needed.iter().all(|clique| measured.determines(domain, clique)) {
            return measured.estimates(domain, &needed).map(Some);
        }
        Ok(None)
    }

    /// A logistic regression on the counts of all its attributes together; `None` if it is not determined.
    fn logistic(&self, domain: &Domain, solved: &LeastSquares) -> Option<Logistic> {
        let marginal = solved.marginal(&self.clique)?;
        let (mut cells, mut places) = (WeightedCells::default(), Vec::new());
        self.each_cell(&domain.shape(&self.clique), |cell, row| {
            places.extend(row.is_some().then_some(cell));
            cells.push(row, marginal.counts()[cell]);
        });
        let fit = self.fit(&cells);
        let beta = fit.values.iter().copied().collect::<Option<Vec<f64>>>()?;
        let inverses = self.inverses(&cells, &beta);
        Some(Logistic { marginal, cells, places, beta, inverses, sampling: fit.sampling })
    }

    /// A coefficient with its variance to first order.
    fn to_first_order(&self, fitted: &Logistic, place: usize) -> Option<MeasuredStatistic> {
        let Logistic { marginal, cells, places, beta, inverses, sampling } = fitted;
        let inverse = inverses[place].as_ref()?;
        let variance = |of_cell: &dyn Fn(&Row) -> f64| {
            let weights = places.iter().zip(&cells.rows).map(|(cell, row)| (*cell, of_cell(row)));
            marginal.variance(&weights.collect::<Vec<_>>())
        };
        let moved = |row: &Row| -> f64 { inverse.iter().zip(&row.1).map(|(u, x)| u * x).sum() };
        let noise = variance(&|row| moved(row) * self.residual(row, beta).0);
        let relative = |of_cell: &dyn Fn(&Row) -> f64, sum: f64| {
            if sum > 0.0 { variance(of_cell).sqrt() / sum } else { f64::INFINITY }
        };
        let square = |row: &Row| moved(row).powi(2);
        let information = relative(&|row| square(row) * self.residual(row, beta).1, inverse[place]);
        // A rare outcome is in few records of many.
        let score = |row: &Row| square(row) * self.residual(row, beta).0.powi(2);
        let looseness = information.max(relative(&score, sampling[place]));
        Some(MeasuredStatistic { value: beta[place], noise, looseness })
    }

    /// From sums of products of two terms, `Σ_i x_k x_l` and `Σ_i x_k y`, each a function of the counts of its own attributes.
    fn least_squares(
        &self,
        domain: &Domain,
        solved: &LeastSquares,
    ) -> Option<Vec<Option<MeasuredStatistic>>> {
        let marginals = self
            .needed()
            .into_iter()
            .map(|clique| Some((clique.clone(), solved.marginal(&clique)?)));
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
    pub(super) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let size = self.names.len();
        let of_terms = (0..size).flat_map(|a| (0..=a).map(move |b| (a, b)));
        of_terms.chain((0..size).map(move |a| (size, a)))
    }
}

/// A number with its interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tested {
    pub(super) estimate: CombinedEstimate,
    /// Of the test that it is 0, two-sided.
    pub(super) p_value: f64,
}

/// A random sample from a population, which the private table is taken for.
pub(super) struct Sample<'s> {
    /// The released records.
    pub(super) records: &'s Dataset,
    pub(super) fit: &'s Fit,
    /// The number of released records for each private one: variances in a sample of the private table's size are this much
    /// larger.
    pub(super) shrinks: f64,
}

/// A logistic regression on measured counts.
struct Logistic {
    marginal: EstimatedMarginal,
    cells: WeightedCells,
    places: Vec<usize>,
    beta: Vec<f64>,
    inverses: Vec<Option<Vec<f64>>>,
    sampling: Vec<f64>,
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
