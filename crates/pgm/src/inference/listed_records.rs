//! The oracle of a distribution over listed records.

use std::sync::Arc;

use rayon::prelude::*;

use crate::data::Dataset;
use crate::data::cover::cover;
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::inference::MarginalOracle;
use crate::inference::structure::{check_layout, not_logs};
use crate::inference::vector::{exp_in_place, largest_log};
use crate::table::{CliqueLayout, Marginals, Potentials, Projection};

/// The oracle of `p(x) ~ p₀(x) exp(Σ_r θ_r(x_r))` over listed records with weights, `p₀`. Its log-partition value is relative to
/// them: `A(0) = 0`. It reweights records for the same estimators that fit graphical models.
///
/// Marginals that no reweighting can reach are approached as far as the listed records allow.
///
/// ```
/// use jointly_pgm::{data::Dataset, domain::{Clique, Domain}, inference::{ListedRecords, MarginalOracle}};
/// use jointly_pgm::table::{CliqueLayout, Marginals, Potentials};
/// let domain = Domain::new([("a", 2), ("b", 2)])?;
/// let rows = Dataset::from_rows(domain.clone(), &[[0, 0], [0, 1], [1, 1]])?;
/// let layout = CliqueLayout::new(&domain, [Clique::new([0])])?;
/// let oracle = ListedRecords::new(&rows, &[1.0; 3], &layout)?;
/// let mut theta = Potentials::zeros(&layout);
/// theta.table_mut(0)[1] = 2_f64.ln(); // the record with a = 1 twice as likely
/// let mut mu = Marginals::zeros(&layout);
/// oracle.marginals(&theta, 100.0, &mut oracle.workspace(), &mut mu)?;
/// assert!((mu.table(0)[1] - 50.0).abs() < 1e-9);
/// # Ok::<(), jointly_pgm::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ListedRecords {
    layout: Arc<CliqueLayout>,
    tables: Vec<Table>,
    /// Logs of the probabilities of `p₀`.
    logs: Vec<f64>,
}

/// A table that a record is looked up in once for several cliques.
#[derive(Clone, Debug)]
struct Table {
    /// The cell of every record.
    cells: Vec<u32>,
    /// Its number of cells.
    size: usize,
    /// The cliques whose tables are sums of this one, by their places.
    cliques: Vec<(usize, Projection)>,
}

impl Table {
    fn new(
        rows: &Dataset,
        clique: &Clique,
        places: &[usize],
        layout: &CliqueLayout,
    ) -> Result<Self> {
        let (cells, shape) = (rows.cells(clique)?, rows.domain().shape(clique));
        let walk = |place: &usize| {
            (*place, Projection::between(clique, &shape, &layout.cliques()[*place]))
        };
        let cliques = places.iter().map(walk).collect();
        Ok(Self { cells, size: shape.iter().product(), cliques })
    }

    /// The sum of the potentials of its cliques.
    fn potentials(&self, theta: &Potentials) -> Vec<f64> {
        let mut sum = vec![0.0; self.size];
        for (place, walk) in &self.cliques {
            walk.zip_from(theta.table(*place), &mut sum, |sum, theta| *sum += theta);
        }
        sum
    }
}

/// Few tables of which the tables of all cliques are sums, with the places of these cliques.
fn tables(domain: &Domain, cliques: &[Clique], records: usize) -> Vec<(Clique, Vec<usize>)> {
    let is_within = |a: usize, b: usize| {
        cliques[a].is_subset(&cliques[b]) && (cliques[a].len() < cliques[b].len() || b < a)
    };
    let places = 0..cliques.len();
    let (largest, others): (Vec<usize>, Vec<usize>) =
        places.clone().partition(|a| !places.clone().any(|b| is_within(*a, b)));
    let own: Vec<Clique> = largest.iter().map(|place| cliques[*place].clone()).collect();
    let covers = cover(domain, &own, records).into_iter();
    let places = |members: Vec<usize>| members.into_iter().map(|i| largest[i]).collect();
    let mut tables: Vec<(Clique, Vec<usize>)> =
        covers.map(|cover| (cover.clique, places(cover.members))).collect();
    for place in others {
        // The smallest one, which comes last.
        let host = tables.iter_mut().rev().find(|(table, _)| cliques[place].is_subset(table));
        if let Some((_, places)) = host {
            places.push(place);
        }
    }
    tables
}

/// Records that one thread weighs at a time.
const BLOCK: usize = 1 << 12;

impl ListedRecords {
    /// The oracle for these cliques over records with weights, one for each record, not negative and not all zero.
    ///
    /// # Errors
    /// Another number of weights, weights that are negative or not finite or all zero, a clique outside the domain, or one
    /// whose cells 32 bits cannot count.
    pub fn new(rows: &Dataset, weights: &[f64], layout: &Arc<CliqueLayout>) -> Result<Self> {
        let sum: f64 = weights.iter().sum();
        if weights.len() != rows.records() {
            let (found, expected) = (weights.len().to_string(), "one for each record");
            return Err(Error::invalid_specification("weights of records", found, expected));
        }
        if weights.iter().any(|weight| weight.is_nan() || *weight < 0.0)
            || !(sum > 0.0 && sum.is_finite())
        {
            let expected = "finite numbers that are not negative, and not all zero";
            return Err(Error::invalid_specification("weights of records", "others", expected));
        }
        let known = rows.domain().len();
        if let Some(outside) = layout.cliques().iter().find(|c| c.iter().any(|a| a >= known)) {
            return Err(rows.domain().unknown(&format!("{outside}"), "the cliques of a layout"));
        }
        let tables = tables(rows.domain(), layout.cliques(), rows.records()).into_par_iter();
        let tables = tables.map(|(clique, places)| Table::new(rows, &clique, &places, layout));
        let logs = weights.iter().map(|weight| (weight / sum).ln()).collect();
        Ok(Self { layout: Arc::clone(layout), tables: tables.collect::<Result<_>>()?, logs })
    }

    /// The probabilities of the records, times a common factor, and the log of that factor's inverse.
    ///
    /// # Errors
    /// Potentials on cliques other than the oracle's, a potential that is NaN or plus infinity, or potentials that
    /// forbid every record.
    pub fn weights(&self, theta: &Potentials) -> Result<(Vec<f64>, f64)> {
        let mut weights = self.with_potentials(self.logs.clone(), theta)?;
        let largest = largest_log(&weights).ok_or_else(not_logs)?;
        if largest == f64::NEG_INFINITY {
            let reason = "the potentials forbid every listed record".to_owned();
            return Err(Error::EmptyModel { reason });
        }
        weights.par_chunks_mut(BLOCK).for_each(|block| exp_in_place(block, largest));
        Ok((weights, largest))
    }

    /// Numbers of the records, each with the sum of the record's potentials.
    fn with_potentials(&self, numbers: Vec<f64>, theta: &Potentials) -> Result<Vec<f64>> {
        check_layout(theta, &self.layout)?;
        let mut numbers = numbers;
        let potentials = self.tables.par_iter().map(|table| table.potentials(theta));
        let potentials: Vec<Vec<f64>> = potentials.collect();
        numbers.par_chunks_mut(BLOCK).enumerate().for_each(|(block, numbers)| {
            let start = block * BLOCK;
            for (Table { cells, .. }, own) in self.tables.iter().zip(&potentials) {
                let cells = &cells[start..start + numbers.len()];
                numbers.iter_mut().zip(cells).for_each(|(sum, cell)| *sum += own[*cell as usize]);
            }
        });
        Ok(numbers)
    }
}

impl MarginalOracle for ListedRecords {
    type Workspace = ();

    fn workspace(&self) {}

    fn marginals(
        &self,
        theta: &Potentials,
        total: f64,
        _workspace: &mut (),
        mu: &mut Marginals,
    ) -> Result<f64> {
        let (weights, largest) = self.weights(theta)?;
        let sum: f64 = weights.iter().sum();
        let scale = total / sum;
        let sums = self.tables.par_iter().map(|table| {
            let mut sums = vec![0.0; table.size];
            let cells = table.cells.iter().zip(&weights);
            cells.for_each(|(cell, weight)| sums[*cell as usize] += weight);
            sums.iter_mut().for_each(|sum| *sum *= scale);
            sums
        });
        let sums: Vec<Vec<f64>> = sums.collect();
        for (Table { cliques, .. }, sums) in self.tables.iter().zip(&sums) {
            for (place, walk) in cliques {
                let own = mu.table_mut(*place);
                own.fill(0.0);
                walk.add_into(sums, own);
            }
        }
        Ok(sum.ln() + largest)
    }

    /// Over the records that have a weight.
    fn largest_log_weight(&self, theta: &Potentials, _workspace: &mut ()) -> Result<Option<f64>> {
        let listed = |log: &f64| if *log > f64::NEG_INFINITY { 0.0 } else { f64::NEG_INFINITY };
        let sums = self.with_potentials(self.logs.iter().map(listed).collect(), theta)?;
        largest_log(&sums).ok_or_else(not_logs).map(Some)
    }
}

#[cfg(test)]
mod tests;
