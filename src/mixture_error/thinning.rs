//! Selects rows of a large public table that reach as many of its cells as possible.

use std::collections::BTreeSet;

use super::smoothed::covered;
use super::support::{Prices, Support};
use super::working_set::keep_least;
use crate::data::PublicData;
use crate::domain::Domain;
use crate::error::Result;
use crate::query::Workload;

/// Steps in which rows are added that reach new cells.
const STEPS: usize = 16;

/// At most `most` of the distinct rows of a table, over the private domain. Public.
///
/// Half of them are evenly spaced in the order of their codes. The others reach new cells, chosen by the public
/// frequencies of these cells. The remaining ones are evenly spaced again.
pub(crate) fn thinned(
    public: &PublicData,
    workload: &Workload,
    most: usize,
    domain: &Domain,
) -> Result<PublicData> {
    let support = Support::new(public.table()?, &covered(public, workload)?)?;
    if support.rows.records() <= most {
        return PublicData::new(public.name(), support.rows, domain);
    }
    let all: Vec<u32> = (0_u32..).take(support.rows.records()).collect();
    let masses = support.masses(&all, &support.frequencies())?;
    let mut rows = even(&all, most.div_ceil(2));
    let step = (most - rows.len()).div_ceil(STEPS);
    while rows.len() < most {
        let reached = support.masses(&rows, &vec![1.0; rows.len()])?;
        let unreached = (0..).zip(masses.iter().zip(&reached)).filter(|(_, (_, r))| **r == 0.0);
        let missing: Prices = unreached.map(|(cell, (mass, _))| (cell, *mass)).collect();
        let gains = support.costs(&missing)?;
        let mut new: Vec<(f64, u32)> =
            gains.iter().map(|gain| -gain).zip(0_u32..).filter(|(gain, _)| *gain < 0.0).collect();
        if new.is_empty() {
            break;
        }
        keep_least(&mut new, step.min(most - rows.len()));
        rows.extend(new.into_iter().map(|(_, row)| row));
    }
    let chosen: BTreeSet<u32> = rows.iter().copied().collect();
    let others: Vec<u32> = all.into_iter().filter(|row| !chosen.contains(row)).collect();
    rows.extend(even(&others, most - rows.len()));
    rows.sort_unstable();
    let table = support.select(&rows)?.unwrap_or(support.rows);
    PublicData::new(public.name(), table, domain)
}

/// A number of items of a list, evenly spaced.
fn even(rows: &[u32], count: usize) -> Vec<u32> {
    (0..count).map(|i| rows[i * rows.len() / count]).collect()
}

#[cfg(test)]
mod tests;
