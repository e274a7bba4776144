//! The private table, sealed from where it is read.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::ops::Deref;
use std::sync::Arc;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::{Budget, Curator, LedgerFile, NoiseSeed, PrivacyUnit, Rho};
use jointly_pgm::data::{Dataset, Projectable, Recoding};
use jointly_pgm::domain::Domain;

/// The private table of a program. Whoever reads it seals it first; from then on a [`Curator`] is the only way to what it
/// holds, and the ledger has what came out.
///
/// What is public can be asked for: the attributes, the unit of privacy, and the number of records where neighboring tables
/// have the same. Copies share the records.
///
/// ```
/// use jointly_pgm::{Clique, Dataset, Domain};
/// use jointly_privacy::{Budget, NoiseSeed, PrivacyUnit, PrivateTable};
/// let records = Dataset::from_rows(Domain::new([("sex", 2), ("age", 4)])?, &[[0, 3], [1, 2], [1, 1]])?;
/// let table = PrivateTable::of_records(records, PrivacyUnit::default())?;
/// let budget = Budget::approximate(1.0, 1e-9)?;
/// let mut curator = table.curator(Some(budget), NoiseSeed::System, None)?;
/// let noisy = curator.measure(&Clique::new([0]), budget.rho())?;
/// assert_eq!((noisy.values.len(), curator.remaining().is_zero()), (2, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Counts, records and their true number are out of reach, and nothing prints or writes them:
///
/// ```compile_fail
/// fn count(table: &jointly_privacy::PrivateTable) -> Vec<u32> {
///     jointly_pgm::data::Projectable::project(table, &jointly_pgm::Clique::new([0])).unwrap()
/// }
/// ```
/// ```compile_fail
/// fn row(table: &jointly_privacy::PrivateTable) -> Vec<u32> { table.records.row(0) }
/// ```
/// ```compile_fail
/// fn open(table: jointly_privacy::PrivateTable) -> jointly_pgm::Dataset { table.into() }
/// ```
/// ```compile_fail
/// fn true_number(table: &jointly_privacy::PrivateTable) -> u64 { table.records() } // `None` where it is private
/// ```
/// ```compile_fail
/// fn write(table: &jointly_privacy::PrivateTable) -> String { serde_json::to_string(table).unwrap() }
/// ```
/// ```compile_fail
/// fn equal(table: &jointly_privacy::PrivateTable) -> bool { table == table }
/// ```
#[derive(Clone)]
pub struct PrivateTable {
    records: Records,
    unit: PrivacyUnit,
}

#[derive(Clone)]
enum Records {
    Held(Arc<Dataset>),
    /// Their counts alone.
    Counted(Arc<dyn Projectable>),
}

impl Deref for Records {
    type Target = dyn Projectable;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Held(records) => records.as_ref(),
            Self::Counted(counts) => counts.as_ref(),
        }
    }
}

impl PrivateTable {
    /// Seals records.
    ///
    /// `unit`: what differs between neighboring tables. If it is a unit of several records, no unit has more of them here
    /// than it says: a reader has dropped the others.
    ///
    /// # Errors
    /// No records, if neighboring tables have the same number of them: there is nothing to release then.
    pub fn of_records(records: impl Into<Arc<Dataset>>, unit: PrivacyUnit) -> Result<Self> {
        Self::sealed(Records::Held(records.into()), unit)
    }

    /// Seals counts of records that are not held. The curator can answer only what was counted.
    ///
    /// # Errors
    /// As [`of_records`](Self::of_records).
    pub fn of_counts(counts: impl Projectable + 'static, unit: PrivacyUnit) -> Result<Self> {
        Self::sealed(Records::Counted(Arc::new(counts)), unit)
    }

    fn sealed(records: Records, unit: PrivacyUnit) -> Result<Self> {
        if unit.relation().has_public_total() && records.records() == 0 {
            let (found, expected) = ("no record", "at least one record");
            return Err(Error::invalid_specification("private records", found, expected));
        }
        Ok(Self { records, unit })
    }

    /// The attributes; public.
    pub fn domain(&self) -> &Domain {
        self.records.domain()
    }

    /// What differs between neighboring tables.
    pub fn unit(&self) -> &PrivacyUnit {
        &self.unit
    }

    /// The number of records where it is public, that is, under replace-one.
    pub fn records(&self) -> Option<u64> {
        self.unit.relation().has_public_total().then(|| self.records.records())
    }

    /// The only way to what the table holds: a curator that has spent nothing but what an earlier ledger says.
    ///
    /// `budget`: `None` for a curator that can spend nothing.
    ///
    /// # Errors
    /// As [`Budget::curator_following`].
    pub fn curator(
        &self,
        budget: Option<Budget>,
        seed: NoiseSeed,
        earlier: Option<&LedgerFile>,
    ) -> Result<Curator<'static>> {
        let table: Arc<dyn Projectable> = match &self.records {
            Records::Held(records) => Arc::<Dataset>::clone(records),
            Records::Counted(counts) => Arc::clone(counts),
        };
        let (data, relation) = (Table::Shared(table), self.unit.relation());
        let Some(budget) = budget else {
            return Curator::of(data, relation, Rho::ZERO, seed)?.with_unit(self.unit.clone());
        };
        budget.curator_of(data, &self.unit, seed, earlier)
    }

    /// The same table under new codes, by a rule that does not depend on the records: whoever makes it cannot see them.
    ///
    /// # Errors
    /// A table that was only counted, or codes of other attributes.
    pub fn recoded(&self, recoding: &Recoding) -> Result<Self> {
        let records = match &self.records {
            Records::Held(records) => Records::Held(Arc::new(records.recoded(recoding)?)),
            Records::Counted(counts) => Records::Counted(counts.recode(recoding)?.into()),
        };
        Ok(Self { records, unit: self.unit.clone() })
    }

    /// Refuses a public table that consists of the private rows, in any order, in the attributes that both have: a mistake that
    /// undoes all protection. It is for whoever holds the private file, and of no use to anybody else. A table that was
    /// only counted passes.
    ///
    /// # Errors
    /// The private rows.
    pub fn check_public(&self, public: &Dataset) -> Result<()> {
        match &self.records {
            Records::Held(records) if are_same_rows(records, public) => {
                let (found, expected) = ("the private rows", "other rows");
                Err(Error::invalid_specification("public table", found, expected))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for PrivateTable {
    /// The names of the attributes, and nothing of the records.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attributes = self.domain().attributes().iter();
        let names: Vec<&str> = attributes.map(|attribute| attribute.name.as_str()).collect();
        formatter.debug_struct("PrivateTable").field("attributes", &names).finish_non_exhaustive()
    }
}

/// What a curator holds: a table of its caller, or a sealed one.
pub(crate) enum Table<'a> {
    Borrowed(&'a dyn Projectable),
    Shared(Arc<dyn Projectable>),
}

impl<'a> Deref for Table<'a> {
    type Target = dyn Projectable + 'a;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Borrowed(table) => *table,
            Self::Shared(table) => table.as_ref(),
        }
    }
}

impl Table<'_> {
    pub(crate) fn recode(&mut self, recoding: &Recoding) -> Result<()> {
        *self = Self::Shared(Projectable::recode(&**self, recoding)?.into());
        Ok(())
    }
}

/// Whether two tables have the same rows in the attributes that they share, compared by sums of random hashes.
fn are_same_rows(private: &Dataset, public: &Dataset) -> bool {
    let (own, other) = (private.domain(), public.domain());
    let shared: Vec<(usize, usize)> = (0..)
        .zip(other.attributes())
        .filter_map(|(there, attribute)| Some((own.position(&attribute.name)?, there)))
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
