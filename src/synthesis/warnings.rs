//! Warnings about a job that is allowed but probably a mistake.

use std::hash::{BuildHasher, RandomState};

use rayon::prelude::*;

use crate::data::Dataset;
use crate::domain::Domain;
use crate::observe::{Event, Notice, Observer};
use crate::privacy::Budget;
use crate::synthesis::Tables;

/// The ε above which a warning is due: exp(20) is half a billion.
const LARGE_EPSILON: f64 = 20.0;

/// Warns of an ε or a δ that gives almost no protection.
///
/// `records`: n if it is public or was measured.
pub fn warn_of_budget(budget: Budget, records: Option<usize>, observer: &mut dyn Observer) {
    let epsilon = budget.epsilon();
    if epsilon > LARGE_EPSILON {
        observer.event(&Event::Notice(Notice::LargeEpsilon { epsilon }));
    }
    if let Some(records) = records {
        warn_of_delta(budget, records, observer);
    }
}

/// Warns of a δ of at least 1/n.
pub(super) fn warn_of_delta(budget: Budget, records: usize, observer: &mut dyn Observer) {
    let delta = budget.delta();
    if delta * records as f64 >= 1.0 {
        observer.event(&Event::Notice(Notice::LargeDelta { delta, records }));
    }
}

/// Warns of every public table that consists of the private rows, in any order, unless the private table was only
/// counted. This warning depends on the private rows.
pub(super) fn warn_of_same_rows(tables: &Tables, observer: &mut dyn Observer) {
    let Some(private) = tables.private.rows() else { return };
    for public in &tables.public {
        if are_same_rows(private, public.table()) {
            let table = public.name().to_owned();
            observer.event(&Event::Notice(Notice::SameRows { table }));
        }
    }
}

/// Whether two tables have the same rows in the attributes that they share, compared by sums of random hashes.
fn are_same_rows(private: &Dataset, public: &Dataset) -> bool {
    let (own, other) = (private.domain(), public.domain());
    let place =
        |domain: &Domain, name: &str| domain.attributes().iter().position(|a| a.name == name);
    let shared: Vec<(usize, usize)> = other
        .attributes()
        .iter()
        .enumerate()
        .filter_map(|(there, attribute)| Some((place(own, &attribute.name)?, there)))
        .collect();
    if private.records() != public.records() || private.records() == 0 || shared.is_empty() {
        return false;
    }
    let hasher = RandomState::new();
    let sum = |table: &Dataset, columns: Vec<usize>| -> u64 {
        let row = |row: usize| {
            let codes = columns.iter().map(|a| table.columns()[*a].get(row).unwrap_or_default());
            hasher.hash_one(codes.collect::<Vec<u32>>())
        };
        (0..table.records()).into_par_iter().map(row).reduce(|| 0, u64::wrapping_add)
    };
    let columns = |of: fn(&(usize, usize)) -> usize| shared.iter().map(of).collect::<Vec<_>>();
    sum(private, columns(|pair| pair.0)) == sum(public, columns(|pair| pair.1))
}

#[cfg(test)]
mod tests;
