//! Warnings about a job that is allowed but probably a mistake.

use crate::data::PublicData;
use crate::observe::{Event, Notice, Observer};
use crate::privacy::{Budget, PrivateTable};

/// The ε above which a warning is due: exp(20) is half a billion.
const LARGE_EPSILON: f64 = 20.0;

/// Warns of an ε or a δ that gives almost no protection.
///
/// `records`: n if it is public or was measured.
pub fn warn_of_budget(budget: Budget, records: Option<u64>, observer: &mut dyn Observer) {
    let epsilon = budget.epsilon();
    if epsilon > LARGE_EPSILON {
        observer.event(&Event::Notice(Notice::LargeEpsilon { epsilon }));
    }
    if let Some(records) = records {
        warn_of_delta(budget, records, observer);
    }
}

/// Warns of a δ of at least 1/n.
pub(super) fn warn_of_delta(budget: Budget, records: u64, observer: &mut dyn Observer) {
    let delta = budget.delta();
    if delta * records as f64 >= 1.0 {
        observer.event(&Event::Notice(Notice::LargeDelta { delta, records }));
    }
}

/// Warns of every public table that consists of the private rows, in any order, unless one of the two was only counted. This
/// warning depends on the private rows.
pub(super) fn warn_of_same_rows(
    private: &PrivateTable,
    public: &[PublicData],
    observer: &mut dyn Observer,
) {
    let is_private =
        |public: &&PublicData| public.table().is_ok_and(|rows| private.check_public(rows).is_err());
    for public in public.iter().filter(is_private) {
        let table = public.name().to_owned();
        observer.event(&Event::Notice(Notice::SameRows { table }));
    }
}

#[cfg(test)]
mod tests;
