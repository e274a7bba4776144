//! Unlikely combinations that what was measured contradicts.

use crate::domain::{Clique, Combination};
use crate::error::Result;
use crate::least_squares::EstimatedMarginal;
use crate::mechanism::Release;

/// A combination is contradicted if the records measured in one of its cells are more than this many standard deviations of
/// their noise above 0, ...
const OF_A_CELL: f64 = 5.0;
/// ... or those measured in all of its cells together.
const OF_ALL: f64 = 3.5;

/// If more than this share of the combinations that were measured is contradicted, none is believed: the public tables are then not
/// like the private one.
const MOST_WRONG: f64 = 0.05;

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
        let cliques = combinations.iter().map(|combination| {
            let names: Vec<&str> = combination.iter().map(|(name, _)| &**name).collect();
            Ok(domain.clique(&names)?)
        });
        let cliques: Vec<Clique> = cliques.collect::<Result<_>>()?;
        let known = self.measured_of_sample().estimates(domain, &cliques)?;
        let (mut found, mut measured) = (Vec::with_capacity(combinations.len()), 0);
        for (combination, clique) in combinations.iter().zip(&cliques) {
            let codes = clique.iter().map(|attribute| {
                let own = combination.iter().find(|(name, _)| name == domain.name(attribute));
                own.map(|(_, codes)| &**codes).unwrap_or_default()
            });
            let codes: Vec<&[u32]> = codes.collect();
            let marginal = known.marginal(clique);
            measured += usize::from(marginal.is_some());
            let shape = domain.shape(clique);
            found.push(marginal.is_some_and(|known| contradicts(&known, &shape, &codes)));
        }
        disbelieve(&mut found, measured);
        Ok(found)
    }
}

/// Contradicts all where much of what was measured is wrong.
fn disbelieve(contradicted: &mut [bool], measured: usize) {
    let wrong = contradicted.iter().filter(|is_wrong| **is_wrong).count();
    if wrong as f64 > MOST_WRONG * measured as f64 {
        contradicted.fill(true);
    }
}

/// `codes`: those of each attribute of the clique.
fn contradicts(known: &EstimatedMarginal, shape: &[usize], codes: &[&[u32]]) -> bool {
    let mut cells = vec![0];
    for (codes, extent) in codes.iter().zip(shape) {
        let of = |cell: usize| codes.iter().map(move |code| cell * extent + *code as usize);
        cells = cells.into_iter().flat_map(of).collect();
    }
    let counts = || cells.iter().filter_map(|cell| known.counts().get(*cell));
    let (sum, largest) = (counts().sum::<f64>(), counts().copied().fold(0.0, f64::max));
    let together: Vec<(usize, f64)> = cells.iter().map(|cell| (*cell, 1.0)).collect();
    let of_sum = known.variance(&together).sqrt();
    largest > OF_A_CELL * known.of_cell().sqrt() || sum > OF_ALL * of_sum
}

#[cfg(test)]
mod tests;
