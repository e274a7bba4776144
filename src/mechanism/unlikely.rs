//! Unlikely combinations that what was measured contradicts.

use std::collections::BTreeMap;

use crate::domain::{Clique, Combination, Domain};
use crate::error::Result;
use crate::measurement::{Measurement, Provenance};
use crate::mechanism::Release;
use crate::table::Projection;

/// A combination is contradicted if the records measured in one of its cells are more than this many standard deviations of
/// their noise above 0, ...
const OF_A_CELL: f64 = 5.0;
/// ... or those measured in all of its cells together.
const OF_ALL: f64 = 3.5;

/// If more than this share of the combinations that were measured is contradicted, none is believed: the public tables are then not
/// like the private one.
const MOST_WRONG: f64 = 0.05;

/// What was measured of the cells of a clique.
struct Known {
    shape: Vec<usize>,
    /// Estimates of counts.
    counts: Vec<f64>,
    /// Variance of each.
    variance: f64,
    /// Whether the noise of each is its own.
    is_independent: bool,
}

impl Release {
    /// Whether the measurements contradict each of some combinations: they show more records there than noise explains. Where more than one in twenty of those that were measured is contradicted,
    /// all count as contradicted. This is post-processing of released counts, and costs nothing.
    ///
    /// By chance alone, a combination of c cells is contradicted with a probability of about 0.0002, and c times 3·10⁻⁷ more.
    ///
    /// # Errors
    /// An attribute outside the domain.
    pub fn contradicted(&self, combinations: &[Combination]) -> Result<Vec<bool>> {
        let domain = self.model.domain();
        let mut known: BTreeMap<Clique, Option<Known>> = BTreeMap::new();
        let (mut found, mut measured) = (Vec::with_capacity(combinations.len()), 0);
        for combination in combinations {
            let names: Vec<&str> = combination.iter().map(|(name, _)| &**name).collect();
            let clique = domain.clique(&names)?;
            let codes = clique.iter().map(|attribute| {
                let own = combination.iter().find(|(name, _)| name == domain.name(attribute));
                own.map(|(_, codes)| &**codes).unwrap_or_default()
            });
            let codes: Vec<&[u32]> = codes.collect();
            let known = known.entry(clique).or_insert_with_key(|clique| self.known(domain, clique));
            measured += usize::from(known.is_some());
            found.push(known.as_ref().is_some_and(|known| known.contradicts(&codes)));
        }
        disbelieve(&mut found, measured);
        Ok(found)
    }

    /// What the measurements say together about the cells of a clique.
    fn known(&self, domain: &Domain, clique: &Clique) -> Option<Known> {
        let shape = domain.shape(clique);
        let cells: usize = shape.iter().product();
        let of = |measurement: &&Measurement| {
            let is_whole = measurement.cell.is_none() && clique.is_subset(&measurement.clique);
            is_whole && measurement.stddev > 0.0 && measurement.provenance == Provenance::Private
        };
        let (mut counts, mut precision, mut most) = (vec![0.0; cells], 0.0, 0.0);
        for measurement in self.measurements.iter().filter(of) {
            let own = domain.shape(&measurement.clique);
            let mut sums = vec![0.0; cells];
            Projection::between(&measurement.clique, &own, clique)
                .add_into(&measurement.values, &mut sums);
            let each = measurement.values.len() as f64 / cells as f64;
            let variance = measurement.stddev.powi(2);
            if self.has_independent_noise {
                let weight = 1.0 / (each * variance);
                counts.iter_mut().zip(sums).for_each(|(count, sum)| *count += weight * sum);
                precision += weight;
            } else if 1.0 / (each * each * variance) > most {
                // Sums of counts whose noise may be the same, from the best measurement alone.
                most = 1.0 / (each * each * variance);
                (counts, precision) = (sums.iter().map(|sum| most * sum).collect(), most);
            }
        }
        if precision == 0.0 {
            return None;
        }
        counts.iter_mut().for_each(|count| *count /= precision);
        let is_independent = self.has_independent_noise;
        Some(Known { shape, counts, variance: 1.0 / precision, is_independent })
    }
}

/// Contradicts all where much of what was measured is wrong.
fn disbelieve(contradicted: &mut [bool], measured: usize) {
    let wrong = contradicted.iter().filter(|is_wrong| **is_wrong).count();
    if wrong as f64 > MOST_WRONG * measured as f64 {
        contradicted.fill(true);
    }
}

impl Known {
    /// `codes`: those of each attribute of the clique.
    fn contradicts(&self, codes: &[&[u32]]) -> bool {
        let mut cells = vec![0];
        for (codes, extent) in codes.iter().zip(&self.shape) {
            let of = |cell: usize| codes.iter().map(move |code| cell * extent + *code as usize);
            cells = cells.into_iter().flat_map(of).collect();
        }
        let counts = cells.iter().filter_map(|cell| self.counts.get(*cell));
        let (mut sum, mut largest, mut number) = (0.0, 0.0_f64, 0.0_f64);
        for count in counts {
            (sum, largest, number) = (sum + count, largest.max(*count), number + 1.0);
        }
        let of_sum = if self.is_independent { number.sqrt() } else { number };
        let stddev = self.variance.sqrt();
        largest > OF_A_CELL * stddev || sum > OF_ALL * of_sum * stddev
    }
}

#[cfg(test)]
mod tests;
