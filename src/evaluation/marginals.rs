//! Marginals as probabilities.

use crate::data::Projectable;
use crate::domain::Clique;
use crate::error::{Error, Result};

/// The marginals of a table as probabilities.
pub(super) fn frequencies(table: &dyn Projectable, cliques: &[Clique]) -> Result<Vec<Vec<f64>>> {
    if table.records() == 0 {
        return Err(Error::invalid_specification("table", "no record", "at least one"));
    }
    let records = table.records() as f64;
    let share = |counts: &Vec<u32>| counts.iter().map(|n| f64::from(*n) / records).collect();
    Ok(table.project_many(cliques)?.iter().map(share).collect())
}
