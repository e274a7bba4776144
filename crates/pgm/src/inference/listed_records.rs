//! The oracle of a distribution over listed records.

use std::sync::Arc;

use rayon::prelude::*;

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::inference::MarginalOracle;
use crate::inference::structure::{check_layout, not_logs};
use crate::inference::vector::{exp_in_place, largest_log};
use crate::table::{CliqueLayout, Marginals, Potentials};

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
    /// For each clique, the cell of every record.
    cells: Vec<Vec<u32>>,
    /// Logs of the probabilities of `p₀`.
    logs: Vec<f64>,
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
        let cliques = layout.cliques().par_iter();
        let cells = cliques.map(|clique| rows.cells(clique)).collect::<Result<Vec<_>>>()?;
        let logs = weights.iter().map(|weight| (weight / sum).ln()).collect();
        Ok(Self { layout: Arc::clone(layout), cells, logs })
    }

    /// The probabilities of the records, times a common factor, and the log of that factor's inverse.
    ///
    /// # Errors
    /// Potentials on cliques other than the oracle's, a potential that is NaN or plus infinity, or potentials that
    /// forbid every record.
    pub fn weights(&self, theta: &Potentials) -> Result<(Vec<f64>, f64)> {
        check_layout(theta, &self.layout)?;
        let mut weights = self.logs.clone();
        weights.par_chunks_mut(BLOCK).enumerate().for_each(|(block, logs)| {
            let start = block * BLOCK;
            for (clique, cells) in self.cells.iter().enumerate() {
                let table = theta.table(clique);
                let cells = &cells[start..start + logs.len()];
                logs.iter_mut().zip(cells).for_each(|(log, cell)| *log += table[*cell as usize]);
            }
        });
        let largest = largest_log(&weights).ok_or_else(not_logs)?;
        if largest == f64::NEG_INFINITY {
            let reason = "the potentials forbid every listed record".to_owned();
            return Err(Error::EmptyModel { reason });
        }
        weights.par_chunks_mut(BLOCK).for_each(|block| exp_in_place(block, largest));
        Ok((weights, largest))
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
        let mut tables = Vec::with_capacity(self.cells.len());
        let mut rest = mu.values_mut();
        for clique in 0..self.cells.len() {
            let (table, after) = rest.split_at_mut(self.layout.range(clique).len());
            tables.push(table);
            rest = after;
        }
        let scale = total / sum;
        tables.into_par_iter().zip(&self.cells).for_each(|(table, cells)| {
            table.fill(0.0);
            cells.iter().zip(&weights).for_each(|(cell, weight)| table[*cell as usize] += weight);
            table.iter_mut().for_each(|cell| *cell *= scale);
        });
        Ok(sum.ln() + largest)
    }
}

#[cfg(test)]
mod tests;
