//! Selects the marginals that are worth their noise, from the public table, the budget and the sizes alone.

use crate::data::Dataset;
use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::model::WeightedSupport;

/// Number of pairs whose marginals are in memory at a time.
const PAIRS_AT_ONCE: usize = 64;

/// The cliques that may be measured: single attributes, then pairs, starting with those most dependent in the public
/// table.
pub(super) struct Candidates {
    /// Cliques of the listed records' domain, with their cells.
    ranked: Vec<(Clique, u64)>,
}

impl Candidates {
    /// All single attributes and pairs of at most `most_cells` cells.
    ///
    /// # Errors
    /// Tables that do not fit in memory.
    pub(super) fn new(prior: &WeightedSupport, most_cells: u64) -> Result<Self> {
        let domain = prior.domain();
        let cells = |clique: &Clique| domain.cells(clique).unwrap_or(u64::MAX);
        let singles = (0..domain.len()).map(|a| Clique::new([a]));
        let pairs = (0..domain.len()).flat_map(|a| (0..a).map(move |b| Clique::new([b, a])));
        let informative = |clique: &Clique| {
            clique.iter().all(|a| domain.cardinality(a) > 1) && cells(clique) <= most_cells
        };
        let pairs: Vec<Clique> = pairs.filter(informative).collect();
        let information = mutual_information(prior.rows(), prior.weights(), &pairs)?;
        let mut by_information: Vec<(f64, Clique)> = information.into_iter().zip(pairs).collect();
        by_information.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let mut ranked: Vec<Clique> = singles.filter(informative).collect();
        ranked.sort_by_key(cells);
        ranked.extend(by_information.into_iter().map(|(_, clique)| clique));
        let with_cells = |clique: Clique| (clique.clone(), cells(&clique));
        Ok(Self { ranked: ranked.into_iter().map(with_cells).collect() })
    }

    /// As many cliques as possible, at most `most`, such that each is worth its noise when that many share the budget:
    /// it has at most `most_cells(number)` cells.
    pub(super) fn choose(&self, most: usize, most_cells: impl Fn(usize) -> f64) -> Vec<Clique> {
        for number in (1..=most.min(self.ranked.len())).rev() {
            let allowed = most_cells(number);
            let fits = self.ranked.iter().filter(|(_, cells)| *cells as f64 <= allowed);
            let chosen: Vec<Clique> = fits.take(number).map(|(clique, _)| clique.clone()).collect();
            if chosen.len() == number {
                return chosen;
            }
        }
        Vec::new()
    }
}

/// `I(a; b) = Σ p(x, y) ln(p(x, y) / (p(x) p(y)))` in nats, for pairs of attributes.
fn mutual_information(rows: &Dataset, weights: &[f64], pairs: &[Clique]) -> Result<Vec<f64>> {
    let sum: f64 = weights.iter().sum();
    let shape = |clique: &Clique, domain: &Domain| domain.shape(clique);
    let mut all = Vec::with_capacity(pairs.len());
    for pairs in pairs.chunks(PAIRS_AT_ONCE) {
        for (pair, table) in pairs.iter().zip(rows.weighted_marginals(weights, pairs)?) {
            let [_, columns] = shape(pair, rows.domain())[..] else { continue };
            let row_sums: Vec<f64> = table.chunks(columns).map(|row| row.iter().sum()).collect();
            let mut column_sums = vec![0.0; columns];
            for row in table.chunks(columns) {
                column_sums.iter_mut().zip(row).for_each(|(total, x)| *total += x);
            }
            let terms = table.iter().enumerate().filter(|(_, x)| **x > 0.0).map(|(i, x)| {
                x / sum * (x * sum / (row_sums[i / columns] * column_sums[i % columns])).ln()
            });
            all.push(terms.sum());
        }
    }
    Ok(all)
}

#[cfg(test)]
#[path = "../../../tests/unit/mechanism_ide_workload.rs"]
mod tests;
