//! Where a job's tables and its schema come from: files, or memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::data::{
    CountPlan, CountedTable, Dataset, Units, UnitsOfSchema, count_private_file, read_private_csv,
    read_public_csv, read_public_units_csv,
};
use crate::domain::Schema;
use crate::error::{Error, Result};
use crate::observe::Checks;
use crate::privacy::PrivacyUnit;

/// A table of a job.
#[derive(Clone, Debug)]
pub enum TableSource {
    /// A file: CSV, plain or gzip, or Parquet if this program was built with it.
    File(PathBuf),
    /// Records in memory.
    Rows {
        /// The records, coded under the job's schema.
        rows: Arc<Dataset>,
        /// The units that they were limited to while they were read
        /// ([`read_units_csv`](crate::data::read_units_csv)). They must be those of the job.
        units: Option<Units>,
        /// Tells tables apart in a checkpoint, which needs one, and is resumed only with the label that it was begun with. The
        /// caller chooses it, and it must not depend on the records.
        label: String,
    },
}

impl From<Dataset> for TableSource {
    /// Records without units and without a label.
    fn from(rows: Dataset) -> Self {
        Self::Rows { rows: Arc::new(rows), units: None, label: String::new() }
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

from_paths!(TableSource, SchemaSource);

macro_rules! as_paths {
    ($($source:ty),*) => {$(
        impl Default for $source {
            /// No file yet.
            fn default() -> Self {
                Self::File(PathBuf::new())
            }
        }
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

as_paths!(TableSource, SchemaSource);

impl TableSource {
    /// The private records.
    ///
    /// `schema`: of the file; where rows stay together, records have one attribute more.
    ///
    /// # Errors
    /// A file that cannot be read; records in memory that were limited to other units than `unit`'s, or that have other
    /// attributes.
    pub fn private(&self, unit: &PrivacyUnit, schema: &Schema) -> Result<Arc<Dataset>> {
        let (rows, units) = match self {
            Self::File(path) => return read_private_csv(path, schema, unit).map(Arc::new),
            Self::Rows { rows, units, .. } => (rows, units),
        };
        if units.as_ref() != unit.units() {
            let found = units.as_ref().map_or("no units".to_owned(), of_units);
            let expected = unit.units().map_or("no units".to_owned(), of_units);
            return Err(Error::invalid_specification("private records", found, expected));
        }
        let domain = match unit.units() {
            Some(units) => units.widened(schema)?.domain(),
            None => schema.domain(),
        };
        domain.check_same(rows.domain(), "private records")?;
        if rows.records() == 0 && unit.relation().has_public_total() {
            let (found, expected) = ("no record", "at least one record");
            return Err(Error::invalid_specification("private records", found, expected));
        }
        Ok(Arc::clone(rows))
    }

    /// The counts of the private table by a plan.
    pub(super) fn counted(
        &self,
        unit: &PrivacyUnit,
        plan: &CountPlan,
        checks: &dyn Checks,
    ) -> Result<CountedTable> {
        match self {
            Self::File(path) => count_private_file(path, plan, unit, checks),
            Self::Rows { .. } => {
                let mut counter = plan.counter();
                counter.update(&*self.private(unit, plan.schema())?)?;
                counter.finish()
            }
        }
    }

    /// Public records. `linked`: units whose rows stay together.
    pub(super) fn public(&self, schema: &Schema, linked: Option<&Units>) -> Result<Dataset> {
        match (self, linked) {
            (Self::File(path), None) => read_public_csv(path, schema),
            (Self::File(path), Some(units)) => read_public_units_csv(path, schema, units),
            (Self::Rows { rows, .. }, _) => Ok(rows.as_ref().clone()),
        }
    }

    /// Identifies the table in a checkpoint: a file by its path and modification time, never by its records or their
    /// number. The time is an identity only: it may lie in the future or before 1970, and is never compared with the
    /// clock.
    pub(super) fn label(&self) -> Result<String> {
        let path = match self {
            Self::File(path) => path,
            Self::Rows { label, .. } if label.is_empty() => {
                let expected = "a label, as the table in memory has no file name: a resumed run knows its table by it";
                return Err(Error::invalid_parameter(
                    "label of the private table",
                    "empty",
                    expected,
                ));
            }
            Self::Rows { label, .. } => return Ok(format!("records in memory {label}")),
        };
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
}

fn of_units(units: &Units) -> String {
    let agree = units.agree().map_or_else(String::new, |columns| {
        format!(", linked by their number and [{}]", columns.join(", "))
    });
    format!("units of column '{}', {} records each{agree}", units.column(), units.most())
}

impl SchemaSource {
    /// The schema.
    pub(super) fn read(&self) -> Result<Schema> {
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
