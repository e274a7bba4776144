//! The log-linear model: `p_θ(x) ∝ p_0(x) exp(θ·t(x))`, with t the contrasts of what was measured and `p_0`
//! independent columns.

use ndarray::Array2;

use super::observed::{Observed, Part, to_contrasts, to_table};
use crate::domain::{Clique, Domain};
use crate::table::Projection;

/// Records of a value that `p_0` has at least.
const LEAST_RECORDS: f64 = 1.0;

/// A family of distributions of some columns.
#[derive(Debug)]
pub(super) struct LogLinear {
    whole: Clique,
    shape: Vec<usize>,
    /// `ln p_0`; −∞ where the rules of the domain allow no record.
    base: Vec<f64>,
    /// Attributes, extents, range of parameters, and the walk from the whole table, of each part.
    terms: Vec<Term>,
    size: usize,
}

#[derive(Debug)]
struct Term {
    clique: Clique,
    shape: Vec<usize>,
    range: std::ops::Range<usize>,
    walk: Projection,
}

impl LogLinear {
    /// `records`: n, of which single columns are shares.
    pub(super) fn new(domain: &Domain, observed: &Observed, records: f64) -> Self {
        let whole = domain.everything();
        let shape = domain.shape(&whole);
        let cells = shape.iter().product();
        let mut base = vec![0.0; cells];
        for part in observed.parts.iter().filter(|part| part.clique.len() == 1) {
            let mean = records / part.residual.len() as f64;
            let logs: Vec<f64> =
                part.residual.iter().map(|r| (mean + r).max(LEAST_RECORDS).ln()).collect();
            Projection::between(&whole, &shape, &part.clique).zip_from(
                &logs,
                &mut base,
                |sum, log| *sum += log,
            );
        }
        for zero in domain.structural_zeros() {
            let walk = Projection::between(&whole, &shape, zero.clique());
            let logs: Vec<f64> = zero
                .forbidden()
                .iter()
                .map(|is_forbidden| if *is_forbidden { f64::NEG_INFINITY } else { 0.0 })
                .collect();
            walk.zip_from(&logs, &mut base, |sum, log| *sum += log);
        }
        let term = |part: &Part| Term {
            clique: part.clique.clone(),
            shape: part.shape.clone(),
            range: part.range.clone(),
            walk: Projection::between(&whole, &shape, &part.clique),
        };
        let terms = observed.parts.iter().map(term).collect();
        Self { terms, size: observed.size, whole, shape, base }
    }

    /// The attributes of the whole table, and its shape.
    pub(super) fn whole(&self) -> (&Clique, &[usize]) {
        (&self.whole, &self.shape)
    }

    /// `θ·t(x) + start(x)` of every cell.
    fn potential(&self, theta: &[f64], mut start: Vec<f64>) -> Vec<f64> {
        for term in &self.terms {
            let table = to_table(&theta[term.range.clone()], &term.shape);
            term.walk.zip_from(&table, &mut start, |sum, x| *sum += x);
        }
        start
    }

    /// `p_θ`.
    pub(super) fn distribution(&self, theta: &[f64]) -> Vec<f64> {
        let mut values = self.potential(theta, self.base.clone());
        let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        values.iter_mut().for_each(|x| *x = (*x - largest).exp());
        let sum: f64 = values.iter().sum();
        values.iter_mut().for_each(|x| *x /= sum);
        values
    }

    /// `Σ_x weights(x) t(x)`.
    pub(super) fn means(&self, weights: &[f64]) -> Vec<f64> {
        let mut found = Vec::with_capacity(self.size);
        for term in &self.terms {
            let mut table = vec![0.0; term.shape.iter().product()];
            term.walk.add_into(weights, &mut table);
            found.extend(to_contrasts(&table, &term.shape));
        }
        found
    }

    /// `Cov(t) v` under a distribution with these means.
    pub(super) fn covariance_times(&self, p: &[f64], means: &[f64], v: &[f64]) -> Vec<f64> {
        let mut weights = self.potential(v, vec![0.0; p.len()]);
        weights.iter_mut().zip(p).for_each(|(x, p)| *x *= p);
        let mean: f64 = weights.iter().sum();
        let mut found = self.means(&weights);
        found.iter_mut().zip(means).for_each(|(x, m)| *x -= mean * m);
        found
    }

    /// `Cov(t)` under a distribution with these means.
    pub(super) fn covariance(&self, p: &[f64], means: &[f64]) -> Array2<f64> {
        let mut found = Array2::zeros((self.size, self.size));
        for (number, a) in self.terms.iter().enumerate() {
            for b in &self.terms[..=number] {
                let block = self.products(p, a, b);
                let (rows, columns) = (a.range.clone(), b.range.clone());
                for (i, row) in rows.zip(block.chunks_exact(columns.len())) {
                    for (j, x) in columns.clone().zip(row) {
                        let covariance = x - means[i] * means[j];
                        found[[i, j]] = covariance;
                        found[[j, i]] = covariance;
                    }
                }
            }
        }
        found
    }

    /// `E[t_a t_bᵀ]`, row-major.
    fn products(&self, p: &[f64], a: &Term, b: &Term) -> Vec<f64> {
        let union = a.clique.union(&b.clique);
        let place = |at: usize| self.shape[at];
        let shape: Vec<usize> = union.iter().map(place).collect();
        let mut joint = vec![0.0; shape.iter().product()];
        Projection::between(&self.whole, &self.shape, &union).add_into(p, &mut joint);
        // The table of a's cells by b's cells, zero where they disagree.
        let (rows, columns): (usize, usize) = (a.shape.iter().product(), b.shape.iter().product());
        let mut table = vec![0.0; rows * columns];
        let of_a = places((&union, &shape), &a.clique, rows);
        let of_b = places((&union, &shape), &b.clique, columns);
        for ((a, b), value) in of_a.iter().zip(of_b).zip(joint) {
            table[*a as usize * columns + b as usize] = value;
        }
        let both: Vec<usize> = a.shape.iter().chain(&b.shape).copied().collect();
        to_contrasts(&table, &both)
    }
}

/// The place of each cell of a table in that of some of its attributes, of which there are `cells`.
pub(super) fn places(
    (outer, shape): (&Clique, &[usize]),
    inner: &Clique,
    cells: usize,
) -> Vec<u32> {
    let numbers: Vec<u32> = (0_u32..).take(cells).collect();
    let mut places = vec![0; shape.iter().product()];
    Projection::between(outer, shape, inner)
        .zip_from(&numbers, &mut places, |place, number| *place = number);
    places
}

#[cfg(test)]
pub(super) mod tests;
