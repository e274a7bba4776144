//! Counts of single cells that were measured one by one, and what follows from them.

use crate::domain::{Clique, Domain};
use crate::least_squares::Estimate;
use crate::linalg::Cholesky;
use crate::measurement::Measurement;
use crate::table::row_major_strides;

/// The part of a function that must be a combination of what was measured, up to rounding.
const SPANNED: f64 = 1e-9;

/// Least squares without the structure of whole marginals: the functions that are combinations of the indicators of measured
/// cells, and of the constant if N is public.
///
/// The weights w of a function f solve `G w = b`, with `G` and `b` the inner products of the measured indicators with each
/// other and with f, under the uniform distribution; f is one of them if `w·b = ‖f‖²`. A cell that was measured several
/// times counts once, with its average. A cell that follows from those before it in another way is left out.
#[derive(Clone, Debug)]
pub(super) struct CellQueries {
    queries: Vec<CellQuery>,
    /// Of G.
    factor: Cholesky,
}

/// The number of records with some codes.
#[derive(Clone, Debug)]
struct CellQuery {
    /// Sorted by attribute.
    codes: Vec<(usize, usize)>,
    measured: Estimate,
}

impl CellQueries {
    pub(super) fn new(domain: &Domain, records: Option<f64>, measured: &[Measurement]) -> Self {
        let mut queries: Vec<CellQuery> = Vec::new();
        if let (Some(value), false) = (records, measured.is_empty()) {
            queries
                .push(CellQuery { codes: Vec::new(), measured: Estimate { value, variance: 0.0 } });
        }
        for own in measured {
            let Some((cell, value)) = own.cell.zip(own.values.first()) else { continue };
            let codes = codes(domain, &own.clique, cell);
            let more = Estimate { value: *value, variance: own.stddev.powi(2) };
            match queries.iter_mut().find(|query| query.codes == codes) {
                Some(query) => query.measured = query.measured.averaged(more),
                None => queries.push(CellQuery { codes, measured: more }),
            }
        }
        let pairs = queries
            .iter()
            .flat_map(|a| queries.iter().map(move |b| shared(domain, &a.codes, &b.codes)));
        let gram: Vec<f64> = pairs.collect();
        let factor = Cholesky::new(&gram, queries.len());
        Self { queries, factor }
    }

    pub(super) fn estimate(
        &self,
        domain: &Domain,
        clique: &Clique,
        cells: &[(usize, f64)],
    ) -> Option<Estimate> {
        if self.queries.is_empty() {
            return None;
        }
        let cells: Vec<(Vec<(usize, usize)>, f64)> =
            cells.iter().map(|(cell, weight)| (codes(domain, clique, *cell), *weight)).collect();
        let with = |other: &[(usize, usize)]| -> f64 {
            cells.iter().map(|(codes, weight)| weight * shared(domain, codes, other)).sum()
        };
        let products: Vec<f64> = self.queries.iter().map(|query| with(&query.codes)).collect();
        let size: f64 = cells.iter().map(|(codes, weight)| weight * with(codes)).sum();
        let mut weights = products.clone();
        self.factor.solve(&mut weights);
        let spanned: f64 = weights.iter().zip(&products).map(|(w, b)| w * b).sum();
        if size - spanned > SPANNED * size {
            return None;
        }
        let sum = |of: fn(Estimate, f64) -> f64| {
            self.queries.iter().zip(&weights).map(|(query, w)| of(query.measured, *w)).sum()
        };
        Some(Estimate {
            value: sum(|own, w| w * own.value),
            variance: sum(|own, w| w * w * own.variance),
        })
    }
}

impl Estimate {
    /// The average of two estimates of one number with independent errors, weighted by precision.
    fn averaged(self, other: Self) -> Self {
        let all = self.variance + other.variance;
        let value = (self.value * other.variance + other.value * self.variance) / all;
        Self { value, variance: self.variance * other.variance / all }
    }
}

/// The codes of a cell with their attributes.
fn codes(domain: &Domain, clique: &Clique, cell: usize) -> Vec<(usize, usize)> {
    let shape = domain.shape(clique);
    let strides = row_major_strides(&shape);
    let code = |((attribute, stride), extent): ((usize, &usize), &usize)| {
        (attribute, cell / stride % extent)
    };
    // An attribute of a single value says nothing.
    let codes = clique.iter().zip(&strides).zip(&shape).map(code);
    codes.filter(|(attribute, _)| domain.cardinality(*attribute) > 1).collect()
}

/// The share of all combinations of values that have both kinds of codes.
fn shared(domain: &Domain, a: &[(usize, usize)], b: &[(usize, usize)]) -> f64 {
    let share = |codes: &[(usize, usize)]| -> f64 {
        codes.iter().map(|(attribute, _)| 1.0 / domain.cardinality(*attribute) as f64).product()
    };
    let mut product = share(a) * share(b);
    for (attribute, code) in a {
        match b.iter().find(|(other, _)| other == attribute) {
            Some((_, other)) if other != code => return 0.0,
            Some(_) => product *= domain.cardinality(*attribute) as f64,
            None => {}
        }
    }
    product
}
