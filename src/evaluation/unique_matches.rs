//! Unique records of the real table that the synthetic table repeats.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::data::{Dataset, Projectable};
use crate::error::Result;

/// Unique exact matches, as SDNist counts them. **Not private.**
///
/// A record that occurs once in the real table D, on all attributes, is unique; it is matched if the synthetic table S
/// contains it, however often. A match does not violate differential privacy, whose guarantee does not depend on it.
/// Many matches mean that marginals easily identify records.
///
/// ```
/// use jointly::{data::Dataset, domain::Domain, evaluation::UniqueMatches};
/// let domain = Domain::new([("a", 2), ("b", 3)])?;
/// let real = Dataset::from_rows(domain.clone(), &[[0, 0], [0, 0], [0, 1], [1, 2]])?;
/// let synthetic = Dataset::from_rows(domain, &[[0, 0], [0, 1], [0, 1]])?;
/// let found = UniqueMatches::between(&real, &synthetic)?;
/// assert_eq!((found.unique, found.matched, found.share_of_unique), (2, 1, 0.5));
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UniqueMatches {
    /// Records that occur once in the real table.
    pub unique: u64,
    /// The number of them in the synthetic table.
    pub matched: u64,
    /// `matched / unique`, from 0 to 1; 0 if no record is unique.
    pub share_of_unique: f64,
    /// `matched / n`, the share of all real records, from 0 to 1.
    pub share_of_records: f64,
}

impl UniqueMatches {
    /// Counts them. Memory grows with the distinct real records.
    ///
    /// # Errors
    /// Tables over different domains.
    pub fn between(real: &Dataset, synthetic: &Dataset) -> Result<Self> {
        Projectable::domain(real).check_same(synthetic.domain(), "the synthetic table")?;
        let mut records: BTreeMap<Vec<u32>, Occurrences> = BTreeMap::new();
        for record in 0..real.records() {
            records.entry(real.row(record)).or_default().real += 1;
        }
        for record in 0..synthetic.records() {
            if let Some(seen) = records.get_mut(&synthetic.row(record)) {
                seen.synthetic = true;
            }
        }
        let unique = records.values().filter(|seen| seen.real == 1).count() as u64;
        let matched = records.values().filter(|seen| seen.real == 1 && seen.synthetic).count();
        let share = |of: u64| if of == 0 { 0.0 } else { matched as f64 / of as f64 };
        Ok(Self {
            unique,
            matched: matched as u64,
            share_of_unique: share(unique),
            share_of_records: share(real.records() as u64),
        })
    }
}

/// How often a record occurs in the real table, and whether in the synthetic one.
#[derive(Default)]
struct Occurrences {
    real: u32,
    synthetic: bool,
}

#[cfg(test)]
mod tests;
