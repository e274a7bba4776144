//! Tables that are each as likely to be the private one as what was measured allows: draws from a posterior distribution, for
//! analyses in ordinary software by Rubin's rules.
//!
//! A released table is one point. [`Posterior`] keeps the uncertainty: a log-linear model of a few columns whose terms are what
//! was measured of them, with the law of the noise as likelihood (Räisä, Jälkö, Kaski, Honkela 2023, *Noise-aware statistical
//! inference with differentially private synthetic data*). Each table is drawn with its own parameters, and is one that may have
//! been measured with these noisy results. So tables differ by what nobody knows, and multiple imputation applies as it stands
//! ([`CombinedEstimate::of_imputations`](crate::combine::CombinedEstimate::of_imputations)).
//!
//! Everything here is computed from released numbers. Derivation: `docs/theory/posterior.md`.

mod chain;
mod log_linear;
mod observed;
mod records;

use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use crate::data::{Column, Dataset};
use crate::domain::{Clique, Domain};
use crate::error::{Contradiction, Error, Result};
use crate::model::Accuracy;
use crate::observe::Checks;
use crate::table::row_major_strides;

use chain::Chains;
use log_linear::LogLinear;
use observed::Observed;
use records::Records;

/// Most columns.
const MOST_COLUMNS: usize = 12;
/// Most combinations of their values.
const MOST_CELLS: u64 = 1 << 18;
/// Most parameters: contrasts of measured marginals.
const MOST_PARAMETERS: usize = 2_000;
/// Most records of a table.
const MOST_RECORDS: f64 = (1_u64 << 26) as f64;

/// Tables in memory at a time. No result depends on it.
const AT_ONCE: usize = 4;

/// The posterior distribution of a private table's columns, given what a release measured of them.
///
/// ```
/// use jointly::{Budget, Dataset, Mechanism, NeighboringRelation, NoiseSeed, Schema, Silent, Task, Workload};
/// use jointly::{mechanism::ResidualPlanner, observe::Unstoppable, posterior::Posterior};
/// let schema = Schema::from_json(r#"{"sex": 2, "work": 3, "rich": 2}"#, "domain.json")?;
/// let rows: Vec<[u32; 3]> = (0..3000).map(|i| [i % 2, (i / 2) % 3, (i / 7) % 2]).collect();
/// let private = Dataset::from_rows(schema.domain(), &rows)?;
/// let workload = Workload::all_k_way(&schema.domain(), 2)?;
/// let mut curator = Budget::approximate(1.0, 1e-9)?.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::Fixed(1))?;
/// let release = ResidualPlanner::default().run(&mut curator, &Task::new(&workload, &[]), &mut Silent)?;
/// let domain = schema.domain();
/// let posterior = Posterior::new(&domain, &release.accuracy(), &domain.everything())?;
/// let tables = posterior.tables(4, 1, &Unstoppable)?;
/// assert!(tables.len() == 4 && tables.iter().all(|table| table.records() == 3000));
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Debug)]
pub struct Posterior {
    domain: Domain,
    observed: Observed,
    model: LogLinear,
    records: usize,
}

impl Posterior {
    /// Prepares the posterior of some columns.
    ///
    /// `domain`: of the release. `accuracy`: what it measured. `columns`: 2 to 12, of which each pair follows from what was measured.
    ///
    /// # Errors
    /// A pair of columns that no measurement holds; columns with more than 2¹⁸ combinations of values or 2,000 parameters; noise
    /// of the Laplace distribution; more than 2²⁶ records.
    pub fn new(domain: &Domain, accuracy: &Accuracy, columns: &Clique) -> Result<Self> {
        let needs = |needed| Contradiction::Needs { what: "a posterior", needed };
        if accuracy.measured.is_laplace {
            return Err(needs("measurements with Gaussian noise").into());
        }
        if !(2..=MOST_COLUMNS).contains(&columns.len()) {
            let found = columns.len().to_string();
            return Err(Error::invalid_specification("the columns", found, "2 to 12 of them"));
        }
        let cells = domain.cells(columns).unwrap_or(u64::MAX);
        if cells > MOST_CELLS {
            let what = format!("the table of {}", domain.describe(columns));
            return Err(Error::too_large(what, Some(cells as f64), MOST_CELLS as f64, "cells"));
        }
        let records = accuracy.total.round();
        if !(1.0..=MOST_RECORDS).contains(&records) {
            return Err(Error::too_large("each table", Some(records), MOST_RECORDS, "records"));
        }
        let observed = Observed::new(domain, &accuracy.measured, columns)?;
        if observed.size > MOST_PARAMETERS {
            let what = format!("the posterior of {}", domain.describe(columns));
            let (found, most) = (observed.size as f64, MOST_PARAMETERS as f64);
            return Err(Error::too_large(what, Some(found), most, "parameters"));
        }
        let own = domain.restricted(columns)?;
        let model = LogLinear::new(&own, &observed, records);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 2^26")]
        let records = records as usize;
        Ok(Self { domain: own, observed, model, records })
    }

    /// Draws tables of as many records as the private table has, or is estimated to have.
    ///
    /// `many`: at least 1. `seed`: for the draws; it has nothing to do with privacy.
    ///
    /// # Errors
    /// Chains that do not agree, or an interruption.
    pub fn tables(&self, many: usize, seed: u64, checks: &dyn Checks) -> Result<Vec<Dataset>> {
        let mut tables = Vec::new();
        self.each_table(many, seed, checks, &mut |table| {
            tables.push(table);
            Ok(())
        })?;
        Ok(tables)
    }

    /// Draws the same tables, of which a few are in memory at a time.
    ///
    /// # Errors
    /// As [`tables`](Self::tables), and those of `each`.
    pub fn each_table(
        &self,
        many: usize,
        seed: u64,
        checks: &dyn Checks,
        each: &mut dyn FnMut(Dataset) -> Result<()>,
    ) -> Result<()> {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let chains = Chains::start(&self.model, &self.observed, self.records as f64, checks)?;
        let drawn = chains.draw(many, rng.random(), checks)?.ok_or_else(|| {
            let columns = self.domain.describe(&self.domain.everything());
            let found = "chains that do not agree after 1,200 steps or more";
            let expected = "fewer columns, or columns with fewer values, or less noise";
            Error::invalid_specification(format!("the posterior of {columns}"), found, expected)
        })?;
        let drawn: Vec<(Vec<f64>, u64)> =
            drawn.into_iter().map(|theta| (theta, rng.random())).collect();
        let records = Records::new(&self.model, &self.observed);
        for part in drawn.chunks(AT_ONCE) {
            checks.check()?;
            let tables = part.par_iter().map(|(theta, seed)| {
                let rng = &mut ChaCha20Rng::seed_from_u64(*seed);
                let cells = records.draw(&self.model.distribution(theta), self.records, rng)?;
                self.table(&cells)
            });
            let tables: Vec<Dataset> = tables.collect::<Result<_>>()?;
            tables.into_iter().try_for_each(&mut *each)?;
        }
        Ok(())
    }

    /// The records of a table by the cell of each.
    fn table(&self, cells: &[u32]) -> Result<Dataset> {
        let shape = self.domain.shape(&self.domain.everything());
        let strides = row_major_strides(&shape);
        let column = |(extent, stride): (&usize, &usize)| {
            #[expect(clippy::cast_possible_truncation, reason = "a code fits in 32 bits")]
            let code = |cell: &u32| (*cell as usize / stride % extent) as u32;
            Column::from_codes(cells.iter().map(code), *extent)
        };
        let columns = shape.iter().zip(&strides).map(column);
        let columns = columns.collect::<std::result::Result<Vec<Column>, _>>()?;
        Ok(Dataset::new(self.domain.clone(), columns)?)
    }
}

#[cfg(test)]
mod tests;
