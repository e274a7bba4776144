//! Where a job's tables and its schema come from: files, or memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::data::{
    CountPlan, CountedParts, CountedTable, Dataset, Keep, PartialTable, Units, UnitsOfSchema,
    count_private_file, known_files_of, read_private_csv, read_public_csv, read_public_units_csv,
};
use crate::domain::Schema;
use crate::error::{Error, Result};
use crate::observe::Checks;
use crate::privacy::{PrivacyUnit, PrivateTable};
use crate::synthesis::QueriedTable;

/// The private table of a job.
#[derive(Clone, Debug)]
pub enum PrivateSource {
    /// A file, or a folder or a pattern of files: CSV, plain or gzip, or Parquet if this program was built with it.
    File(PathBuf),
    /// A table that was read and sealed before.
    Sealed {
        /// The table, coded under the job's schema. Its unit of privacy must be the job's.
        table: PrivateTable,
        /// Tells tables apart in a checkpoint, which needs one, and is resumed only with the label that it was begun with. The
        /// caller chooses it, and it must not depend on the records.
        label: String,
    },
    /// A table that another program counts.
    Queried(QueriedTable),
    /// What was counted of a table, and not written to a file.
    Counts {
        /// The counts.
        counts: Arc<CountedParts>,
        /// As of a sealed table.
        label: String,
    },
}

impl From<PrivateTable> for PrivateSource {
    /// A table without a label.
    fn from(table: PrivateTable) -> Self {
        Self::Sealed { table, label: String::new() }
    }
}

/// A public table of a job.
#[derive(Clone, Debug)]
pub enum TableSource {
    /// A file, or a folder or a pattern of files: CSV, plain or gzip, or Parquet if this program was built with it.
    File(PathBuf),
    /// Records in memory, coded under the job's schema.
    Rows(Arc<Dataset>),
}

impl From<Dataset> for TableSource {
    fn from(rows: Dataset) -> Self {
        Self::Rows(Arc::new(rows))
    }
}

/// The rows that a job completes.
#[derive(Clone, Debug)]
pub enum GivenSource {
    /// A file.
    File(PathBuf),
    /// A table in memory, coded under the job's schema.
    Table(Arc<PartialTable>),
}

impl From<PartialTable> for GivenSource {
    fn from(table: PartialTable) -> Self {
        Self::Table(Arc::new(table))
    }
}

/// A job's schema.
#[derive(Clone, Debug)]
pub enum SchemaSource {
    /// `schema.json` or `domain.json`.
    File(PathBuf),
    /// A schema in memory.
    Value(Arc<Schema>),
}

impl From<Schema> for SchemaSource {
    fn from(schema: Schema) -> Self {
        Self::Value(Arc::new(schema))
    }
}

macro_rules! from_paths {
    ($($source:ty),*) => {$(
        impl From<PathBuf> for $source {
            fn from(path: PathBuf) -> Self {
                Self::File(path)
            }
        }
        impl From<&Path> for $source {
            fn from(path: &Path) -> Self {
                Self::File(path.into())
            }
        }
        impl From<&str> for $source {
            fn from(path: &str) -> Self {
                Self::File(path.into())
            }
        }
        impl $source {
            /// The file, if it is one.
            pub fn file(&self) -> Option<&Path> {
                match self {
                    Self::File(path) => Some(path),
                    _ => None,
                }
            }
        }
    )*};
}

from_paths!(PrivateSource, TableSource, GivenSource, SchemaSource);

macro_rules! of_no_file {
    ($($source:ty),*) => {$(
        impl Default for $source {
            /// No file yet.
            fn default() -> Self {
                Self::File(PathBuf::new())
            }
        }
    )*};
}

of_no_file!(PrivateSource, SchemaSource);

macro_rules! as_paths {
    ($($source:ty),*) => {$(
        impl Serialize for $source {
            /// The path of a file; nothing of what is in memory.
            fn serialize<S: Serializer>(
                &self,
                serializer: S,
            ) -> std::result::Result<S::Ok, S::Error> {
                self.file().serialize(serializer)
            }
        }
        impl<'de> Deserialize<'de> for $source {
            fn deserialize<D: Deserializer<'de>>(
                deserializer: D,
            ) -> std::result::Result<Self, D::Error> {
                PathBuf::deserialize(deserializer).map(Self::File)
            }
        }
    )*};
}

as_paths!(PrivateSource, GivenSource, SchemaSource);

impl TableSource {
    /// What was counted of a public table, if this is a file of its counts. Its columns must be those of the schema.
    pub(super) fn counts(&self, schema: &Schema) -> Result<Option<CountedTable>> {
        let Some(path) = self.file().filter(|path| CountedParts::is_public_file(path)) else {
            return Ok(None);
        };
        let place = path.display().to_string();
        let counted = CountedParts::read(path)?;
        for column in counted.plan().schema().attributes() {
            if schema
                .column(&column.name)
                .is_some_and(|own| own.kind != column.kind || own.na != column.na)
            {
                let found = format!("counts of '{}' in other values or bins", column.name);
                let expected = "counts under the schema of this run";
                return Err(Error::invalid_specification(place, found, expected));
            }
        }
        counted.finish(&place).map(Some)
    }

    /// Public records. `linked`: units whose rows stay together.
    pub(super) fn read(&self, schema: &Schema, linked: Option<&Units>) -> Result<Dataset> {
        match (self, linked) {
            (Self::File(path), None) => read_public_csv(path, schema),
            (Self::File(path), Some(units)) => read_public_units_csv(path, schema, units),
            (Self::Rows(rows), _) => Ok(rows.as_ref().clone()),
        }
    }
}

impl PrivateSource {
    /// The table, read and sealed.
    ///
    /// `schema`: of the file; where rows stay together, records have one attribute more.
    ///
    /// # Errors
    /// A file that cannot be read; a table in memory of another unit of privacy, or of other attributes.
    pub fn sealed(&self, unit: &PrivacyUnit, schema: &Schema) -> Result<PrivateTable> {
        let table = match self {
            Self::File(path) => return read_private_csv(path, schema, unit),
            Self::Sealed { table, .. } => table,
            Self::Counts { .. } | Self::Queried(_) => {
                let (found, expected) = ("counts", "records");
                return Err(Error::invalid_specification("private table", found, expected));
            }
        };
        if table.unit() != unit {
            let place = "the private table in memory";
            return Err(Error::invalid_specification(
                place,
                described(table.unit()),
                described(unit),
            ));
        }
        let domain = match unit.units() {
            Some(units) => units.widened(schema)?.domain(),
            None => schema.domain(),
        };
        domain.check_same(table.domain(), "private records")?;
        Ok(table.clone())
    }

    /// Whether only counts are there, and no records.
    pub fn is_counts(&self) -> bool {
        match self {
            Self::File(path) => CountedParts::is_file(path),
            Self::Sealed { .. } => false,
            Self::Counts { .. } | Self::Queried(_) => true,
        }
    }

    /// The counts of the private table by a plan, sealed; a table in memory itself, which needs no counting.
    ///
    /// # Errors
    /// As [`count_private_file`], and as [`sealed`](Self::sealed); a program that fails to count.
    pub fn counted(
        &self,
        unit: &PrivacyUnit,
        plan: &CountPlan,
        checks: &dyn Checks,
    ) -> Result<PrivateTable> {
        match self {
            Self::File(path) => count_private_file(path, plan, unit, checks),
            Self::Sealed { .. } => self.sealed(unit, plan.schema()),
            Self::Queried(table) => {
                let counts = table.count(plan, unit)?.table_for(plan, unit, "the counted table")?;
                Ok(PrivateTable::of_counts(counts, unit.clone())?)
            }
            Self::Counts { counts, .. } => {
                let counts =
                    counts.as_ref().clone().table_for(plan, unit, "the counts in memory")?;
                Ok(PrivateTable::of_counts(counts, unit.clone())?)
            }
        }
    }

    /// Identifies the table in a checkpoint: each file by its path and modification time, never by its records or their
    /// number. The time is an identity only: it may lie in the future or before 1970, and is never compared with the
    /// clock.
    pub(super) fn label(&self) -> Result<String> {
        let path = match self {
            Self::File(path) => path,
            // What it reads may change unseen, as the guide says.
            Self::Queried(table) => return Ok(format!("query {}", table.query())),
            Self::Sealed { label, .. } | Self::Counts { label, .. } if label.is_empty() => {
                let expected = "a label, as the table in memory has no file name: a resumed run knows its table by it";
                return Err(Error::invalid_parameter(
                    "label of the private table",
                    "empty",
                    expected,
                ));
            }
            Self::Sealed { label, .. } | Self::Counts { label, .. } => {
                return Ok(format!("records in memory {label}"));
            }
        };
        let files = known_files_of(path);
        Ok(files.iter().map(|file| identity(file)).collect::<Result<Vec<_>>>()?.join("\n"))
    }
}

/// A file's path and modification time.
fn identity(path: &Path) -> Result<String> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Io { action: "read", path, source }
    };
    let place = fs::canonicalize(path).map_err(failed(path))?;
    let about = fs::metadata(&place).map_err(failed(&place))?;
    let changed = match about.modified().map(|time| time.duration_since(UNIX_EPOCH)) {
        Ok(Ok(since)) => since.as_nanos().to_string(),
        Ok(Err(earlier)) => format!("-{}", earlier.duration().as_nanos()),
        Err(_) => "0".to_owned(),
    };
    Ok(format!("{} {changed}", place.display()))
}

fn described(unit: &PrivacyUnit) -> String {
    let Some(units) = unit.units() else { return format!("neighbors {}", unit.relation()) };
    let agree = units.agree().map_or_else(String::new, |columns| {
        format!(", linked by their number and [{}]", columns.join(", "))
    });
    let by_hash = if units.keep() == Keep::Hash { ", kept by hash" } else { "" };
    let members = units.members().map_or_else(String::new, |members| {
        format!(", one record each, of [{}] by {}", members.columns().join(", "), members.order())
    });
    let (column, most) = (units.column(), units.most());
    format!("units of column '{column}', {most} records each{by_hash}{agree}{members}")
}

impl SchemaSource {
    /// The schema.
    pub(crate) fn read(&self) -> Result<Schema> {
        match self {
            Self::File(path) => Schema::read(path),
            Self::Value(schema) => Ok(schema.as_ref().clone()),
        }
    }

    /// Its text.
    pub(super) fn text(&self) -> Result<String> {
        match self {
            Self::File(path) => fs::read_to_string(path).map_err(|source| Error::Io {
                action: "read",
                path: path.clone(),
                source,
            }),
            Self::Value(schema) => schema.to_json(),
        }
    }
}

#[cfg(test)]
mod tests;
