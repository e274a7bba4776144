//! Selects the marginals that are worth their noise, from the public table, the budget and the released sizes alone.
//! The choice reads no private record, so it costs nothing.

use crate::data::Dataset;
use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::model::{Distribution, WeightedSupport};

/// Number of pairs whose marginals are in memory at a time.
const PAIRS_AT_ONCE: usize = 64;

/// The cliques that may be measured: single attributes, then pairs or wider cliques, starting with those most dependent
/// in the public table.
pub(super) struct Candidates {
    /// Single attributes of the listed records' domain, starting with the smallest.
    singles: Vec<Clique>,
    /// Pairs with their mutual information, starting with the most dependent.
    pairs: Vec<(f64, Clique)>,
    /// Most attributes of a clique.
    widest: usize,
    domain: Domain,
}

impl Candidates {
    /// All single attributes and pairs of at most `most_cells` cells. `widest`: the most attributes of a clique.
    ///
    /// # Errors
    /// Tables that do not fit in memory.
    pub(super) fn new(prior: &WeightedSupport, most_cells: u64, widest: usize) -> Result<Self> {
        let domain = prior.domain();
        let cells = |clique: &Clique| domain.cells(clique).unwrap_or(u64::MAX);
        let singles = (0..domain.len()).map(|a| Clique::new([a]));
        let pairs = (0..domain.len()).flat_map(|a| (0..a).map(move |b| Clique::new([b, a])));
        let informative = |clique: &Clique| {
            clique.iter().all(|a| domain.cardinality(a) > 1) && cells(clique) <= most_cells
        };
        let pairs: Vec<Clique> = pairs.filter(|pair| widest > 1 && informative(pair)).collect();
        let information = mutual_information(prior.rows(), prior.weights(), &pairs)?;
        let mut pairs: Vec<(f64, Clique)> = information.into_iter().zip(pairs).collect();
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let mut singles: Vec<Clique> = singles.filter(informative).collect();
        singles.sort_by_key(cells);
        Ok(Self { singles, pairs, widest, domain: domain.clone() })
    }

    /// As many cliques as possible, at most `most`, such that each is worth its noise when that many share the budget:
    /// it has at most `most_cells(number)` cells.
    pub(super) fn choose(&self, most: usize, most_cells: impl Fn(usize) -> f64) -> Vec<Clique> {
        for number in (1..=most.min(self.singles.len() + self.pairs.len())).rev() {
            let allowed = most_cells(number);
            let fits = |clique: &Clique| {
                self.domain.cells(clique).is_some_and(|cells| cells as f64 <= allowed)
            };
            let mut chosen: Vec<Clique> =
                self.singles.iter().filter(|single| fits(single)).take(number).cloned().collect();
            let left = number - chosen.len();
            match self.widest {
                0..=2 => {
                    let pairs = self.pairs.iter().map(|(_, pair)| pair).filter(|pair| fits(pair));
                    chosen.extend(pairs.take(left).cloned());
                }
                _ => chosen.extend(self.wider(number, fits).into_iter().take(left)),
            }
            if chosen.len() == number {
                return chosen;
            }
        }
        Vec::new()
    }

    /// The maximal cliques, of two attributes and more, of the graph of the `number` most dependent pairs, starting
    /// with the largest sum of mutual information over the pairs of a clique. A pair that would join more than `widest`
    /// attributes, or a clique that does not fit, is left out of the graph.
    fn wider(&self, number: usize, fits: impl Fn(&Clique) -> bool) -> Vec<Clique> {
        let mut maximal: Vec<Clique> = (0..self.domain.len()).map(|a| Clique::new([a])).collect();
        let mut edges: Vec<&(f64, Clique)> = Vec::new();
        for edge in &self.pairs {
            if edges.len() == number {
                break;
            }
            let joined = joined(&maximal, &edge.1);
            if joined.iter().all(|clique| clique.len() <= self.widest && fits(clique)) {
                maximal.retain(|old| !joined.iter().any(|clique| old.is_subset(clique)));
                maximal.extend(joined);
                edges.push(edge);
            }
        }
        let information = |clique: &Clique| -> f64 {
            edges.iter().filter(|(_, pair)| pair.is_subset(clique)).map(|(found, _)| found).sum()
        };
        maximal.retain(|clique| clique.len() > 1);
        maximal.sort_by(|a, b| information(b).total_cmp(&information(a)).then_with(|| a.cmp(b)));
        maximal
    }
}

/// The maximal cliques that an edge makes, given the maximal cliques of the graph without it. Such a clique is the edge
/// with what a clique of the one attribute and a clique of the other share.
fn joined(maximal: &[Clique], edge: &Clique) -> Vec<Clique> {
    let of = |attribute: usize| maximal.iter().filter(move |clique| clique.contains(attribute));
    let [one, other] = edge.attributes() else { return Vec::new() };
    let mut made: Vec<Clique> =
        of(*one).flat_map(|a| of(*other).map(move |b| a.intersection(b).union(edge))).collect();
    made.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    made.dedup();
    let mut largest: Vec<Clique> = Vec::with_capacity(made.len());
    for clique in made {
        if !largest.iter().any(|larger| clique.is_subset(larger)) {
            largest.push(clique);
        }
    }
    largest
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
mod tests;
