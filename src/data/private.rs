//! Private tables, of which the records that count under a unit of privacy are read, and sealed.

use std::collections::BTreeMap;
use std::path::Path;

use crate::data::csv::Reading;
use crate::data::{
    CountPlan, CountedParts, Sides, read_csv, read_csv_or_empty, read_units_csv, sides, unlisted,
};
use crate::domain::Schema;
use crate::error::{Contradiction, Result};
use crate::observe::Checks;
use crate::privacy::{PrivacyUnit, PrivateTable, Sensitive};

/// Reads a private table and seals it. Of each unit, only the records that count are kept. Where the number of records is
/// private, the table may be empty, so that an error cannot tell whether it is.
///
/// # Errors
/// As [`read_csv`] and [`read_units_csv`].
///
/// ```
/// use jointly::data::{Units, read_private_csv};
/// use jointly::privacy::PrivacyUnit;
/// let schema = jointly::Schema::from_json(r#"{"sex": 2}"#, "domain.json")?;
/// let households = PrivacyUnit::of_units(Units::new("home", 4)?)?;
/// let table = read_private_csv("people.csv".as_ref(), &schema, &households);
/// assert!(table.is_err(), "no such file");
/// # Ok::<(), jointly::Error>(())
/// ```
pub fn read_private_csv(path: &Path, schema: &Schema, unit: &PrivacyUnit) -> Result<PrivateTable> {
    let records = match unit.units() {
        Some(units) => read_units_csv(path, schema, units),
        None if unit.relation().has_public_total() => read_csv(path, schema),
        None => read_csv_or_empty(path, schema),
    };
    Ok(PrivateTable::of_records(records?, unit.clone())?)
}

/// As [`read_private_csv`], from a table in memory, or from batches as they come.
///
/// # Errors
/// As [`read_private_csv`].
#[cfg(feature = "arrow")]
pub fn read_private_arrow(
    table: impl Into<crate::data::arrow::ArrowStream>,
    schema: &Schema,
    unit: &PrivacyUnit,
) -> Result<PrivateTable> {
    let table = table.into();
    let records = match unit.units() {
        Some(units) => table.read_units(schema, units),
        None if unit.relation().has_public_total() => table.read(schema),
        None => table.read_or_empty(schema),
    };
    Ok(PrivateTable::of_records(records?, unit.clone())?)
}

/// Where the rows of a table are, for what reads files and tables in memory alike.
#[derive(Clone, Copy, Debug)]
pub enum RowSource<'a> {
    /// A file, or a folder or a pattern of files.
    File(&'a Path),
    /// A table in memory.
    #[cfg(feature = "arrow")]
    Memory(&'a crate::data::arrow::ArrowTable),
}

impl<'a, P: AsRef<Path> + ?Sized> From<&'a P> for RowSource<'a> {
    fn from(path: &'a P) -> Self {
        Self::File(path.as_ref())
    }
}

/// As [`read_private_csv`], from wherever the rows are.
///
/// # Errors
/// As [`read_private_csv`].
pub fn read_private_rows(
    rows: RowSource<'_>,
    schema: &Schema,
    unit: &PrivacyUnit,
) -> Result<PrivateTable> {
    match rows {
        RowSource::File(path) => read_private_csv(path, schema, unit),
        #[cfg(feature = "arrow")]
        RowSource::Memory(table) => read_private_arrow(table, schema, unit),
    }
}

/// Counts a private table block by block, so that its records are never held all at once. The counts are those of
/// [`read_private_csv`]'s table. A file of [`CountedParts`] was counted before.
///
/// # Errors
/// As [`read_private_csv`]; units of several records, unless they were counted before: which of their records count depends on
/// rows all over the file; counts of other marginals than the plan's, of other units, or of a table of which a part is missing.
pub fn count_private_file(
    path: &Path,
    plan: &CountPlan,
    unit: &PrivacyUnit,
    checks: &dyn Checks,
) -> Result<PrivateTable> {
    if CountedParts::is_file(path) {
        let counts =
            CountedParts::read(path)?.table_for(plan, unit, &path.display().to_string())?;
        return Ok(PrivateTable::of_counts(counts, unit.clone())?);
    }
    check_counted(unit)?;
    let counts = if unit.relation().has_public_total() {
        plan.count_file(path, checks)
    } else {
        plan.count_file_or_empty(path, checks)
    };
    Ok(PrivateTable::of_counts(counts?, unit.clone())?)
}

/// Refuses units of several records in a table that is counted block by block.
pub(crate) fn check_counted(unit: &PrivacyUnit) -> Result<()> {
    if unit.units().is_none() {
        return Ok(());
    }
    let why = "which rows of a unit count depends on rows all over the file";
    Err(Contradiction::Together { first: "counting", second: "units", why }.into())
}

/// Counts the records of a private table on each side of some lines, and seals the counts. No record is held any longer.
///
/// # Errors
/// As [`read_private_csv`]; a column of `sides` that the header lacks, or a cell there that is neither a finite number nor a
/// missing one.
///
/// ```
/// use jointly::data::{HalfPlane, Sides, count_private_sides};
/// use jointly::privacy::PrivacyUnit;
/// let sides = Sides::new(["age", "pay"], vec![HalfPlane::new(1.0, 2.0, 3.0)?])?;
/// let table = count_private_sides("people.csv".as_ref(), &sides, &PrivacyUnit::default());
/// assert!(table.is_err(), "no such file");
/// # Ok::<(), jointly::Error>(())
/// ```
pub fn count_private_sides(path: &Path, sides: &Sides, unit: &PrivacyUnit) -> Result<PrivateTable> {
    let counts = sides::count_file(path, sides, Reading::private(unit))?;
    Ok(PrivateTable::of_counts(counts, unit.clone())?)
}

/// As [`count_private_sides`], from a table in memory.
///
/// # Errors
/// As [`count_private_sides`].
#[cfg(feature = "arrow")]
pub fn count_private_arrow_sides(
    table: &crate::data::arrow::ArrowTable,
    sides: &Sides,
    unit: &PrivacyUnit,
) -> Result<PrivateTable> {
    let counts = sides::count_arrow(table, sides, Reading::private(unit))?;
    Ok(PrivateTable::of_counts(counts, unit.clone())?)
}

/// Counts the values of some columns that the schema does not list, of the records that [`read_private_csv`] keeps: the texts
/// that are neither listed nor missing, each with its number of records. Which texts occur is as private as how often, so
/// they are sealed; [`Curator::measure_unlisted`](crate::Curator::measure_unlisted) releases some.
///
/// # Errors
/// A file that cannot be read, a header without one of the columns, a column that is not categorical or has no code
/// `other`, a cell that is no text, a record without a unit.
pub fn read_unlisted<'a>(
    rows: impl Into<RowSource<'a>>,
    schema: &Schema,
    columns: &[String],
    unit: &PrivacyUnit,
) -> Result<Vec<Sensitive<BTreeMap<String, u32>>>> {
    let read = unlisted::read(rows.into(), schema, columns, unit.units())?;
    Ok(read.into_iter().map(Sensitive::new).collect())
}
