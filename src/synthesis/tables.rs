//! The tables that a job reads.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::data::{CountPlan, Dataset, PublicData, UnitsOfSchema};
use crate::domain::{Clique, Domain, Schema, StructuralZero};
use crate::error::{Contradiction, Error, Result};
use crate::mechanism::{Mechanism, PublicTables, Release};
use crate::model::{Accuracy, ModelFile, check_rows};
use crate::observe::{Event, Notice, Observer, SharedObserver};
use crate::privacy::PrivateTable;
use crate::query::Workload;
use crate::survey::Population;
use crate::synthesis::job::ResolvedJob;
use crate::synthesis::{GivenRows, TableSource};

/// Cells of a workload's marginals above which counting them takes many seconds and more than half a GiB.
const LARGE_CELLS: u64 = 1 << 27;

/// A public table of a job.
#[derive(Clone, Debug)]
pub struct PublicTable {
    /// Its name in the ledger and the report.
    pub name: String,
    /// The records. Those in memory may lack attributes of the schema.
    pub source: TableSource,
}

impl Serialize for PublicTable {
    /// `NAME=FILE`; of records in memory, the name alone.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let path = self.source.file().map_or_else(String::new, |path| path.display().to_string());
        serializer.serialize_str(&format!("{}={path}", self.name))
    }
}

impl Serialize for PublicFile {
    /// `NAME=FILE`.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{}={}", self.name, self.path.display()))
    }
}

/// As text on a command line.
macro_rules! from_text {
    ($($named:ty),*) => {$(
        impl<'de> Deserialize<'de> for $named {
            fn deserialize<D: Deserializer<'de>>(
                deserializer: D,
            ) -> std::result::Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    )*};
}

from_text!(PublicTable, PublicFile);

impl From<PublicFile> for PublicTable {
    fn from(file: PublicFile) -> Self {
        Self { name: file.name, source: file.path.into() }
    }
}

impl FromStr for PublicTable {
    type Err = Error;

    /// As a [`PublicFile`].
    fn from_str(text: &str) -> Result<Self> {
        text.parse::<PublicFile>().map(Self::from)
    }
}

/// A public table to read, with its name in the ledger and the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicFile {
    /// The name.
    pub name: String,
    /// A file, or a folder or a pattern of files: CSV, plain or gzip, or Parquet.
    pub path: PathBuf,
}

impl FromStr for PublicFile {
    type Err = Error;

    /// `NAME=FILE`, or `FILE`, which uses the file's stem as the name. A name contains no path separator.
    fn from_str(text: &str) -> Result<Self> {
        let (name, path) = match text.split_once('=') {
            Some((name, path)) if !name.contains(['/', '\\']) => (name.to_owned(), path),
            _ => (Self::stem(Path::new(text)), text),
        };
        if name.is_empty() || path.is_empty() {
            return Err(Contradiction::PublicFile { text: text.to_owned() }.into());
        }
        Ok(Self { name, path: path.into() })
    }
}

impl PublicFile {
    /// A file's name without its folder, and without `.gz`, `.csv`, `.parquet`, `.arrow` and `.feather`.
    pub fn stem(path: &Path) -> String {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let ends = [".parquet", ".arrow", ".feather", ".csv"];
        let stem = ends.iter().fold(name, |name, end| name.strip_suffix(end).unwrap_or(name));
        stem.to_owned()
    }
}

/// The tables of a job after reading, but for the private one, and what belongs to them.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Columns and their codes.
    pub schema: Schema,
    /// The schema as it was given: without the number of records of a unit, and before rare values were merged.
    pub given: Schema,
    /// The public tables.
    pub public: Vec<PublicData>,
    /// The marginals that the synthetic table should preserve.
    pub workload: Workload,
    /// What is known of the population that the private table is a sample of; nothing if it is not weighted and has no totals.
    pub population: Population,
    /// The rows that are completed, instead of drawing records.
    pub completed: Option<GivenRows>,
}

impl Tables {
    /// The model of a release with its schema.
    pub fn model_file(&self, release: &Release) -> ModelFile {
        let file = release.model_file(self.schema.clone());
        match &self.completed {
            // The measured errors are those of rows that the model did not draw.
            Some(_) => ModelFile { accuracy: file.accuracy.map(Accuracy::without_errors), ..file },
            None => file,
        }
    }

    /// Takes the unlikely combinations that what was measured contradicts out of the schema, and returns the others.
    pub(super) fn without_contradicted(
        &mut self,
        release: &Release,
        observer: &mut dyn Observer,
    ) -> Result<Vec<StructuralZero>> {
        let contradicted = release.contradicted(self.schema.unlikely())?;
        let (of, found) = (contradicted.len(), contradicted.iter().filter(|is| **is).count());
        if found > 0 {
            let (number, of) = (found as u64, of as u64);
            observer.event(&Event::Notice(Notice::UnlikelyMeasured { contradicted: number, of }));
            let kept: Vec<bool> = contradicted.iter().map(|is| !is).collect();
            self.schema = self.schema.keeping_unlikely(&kept)?;
        }
        Ok(self.schema.avoided().to_vec())
    }
}

impl Tables {
    /// Reads all tables, and seals the private one. This spends no budget.
    pub(super) fn read(
        job: &ResolvedJob<'_>,
        mechanism: &dyn Mechanism,
        observer: &mut dyn Observer,
    ) -> Result<(Self, PrivateTable)> {
        let (tables, of_files) = Self::of_public(job, observer)?;
        let for_errors = tables.counted_for_errors(job)?;
        let private = if job.is_counted() {
            let plan = tables.plan(mechanism, for_errors)?;
            let checks = SharedObserver::new(observer);
            job.private().counted(&job.unit, &plan, &checks)?
        } else {
            job.private().sealed(&job.unit, &of_files)?
        };
        Ok((tables, private))
    }

    /// What must be counted of the private table for a job, and the schema of its file. Both follow from public inputs alone, and
    /// no private row is read.
    pub(super) fn count_plan(
        job: &ResolvedJob<'_>,
        mechanism: &dyn Mechanism,
        observer: &mut dyn Observer,
    ) -> Result<(CountPlan, Schema)> {
        let (tables, of_files) = Self::of_public(job, observer)?;
        let for_errors = tables.counted_for_errors(job)?;
        Ok((tables.plan(mechanism, for_errors)?, of_files))
    }

    fn counted_for_errors(&self, job: &ResolvedJob<'_>) -> Result<Vec<Clique>> {
        job.counted_for_errors(&self.workload, &self.schema.domain(), &self.population)
    }

    /// The marginals that a mechanism and the measured errors need.
    fn plan(&self, mechanism: &dyn Mechanism, for_errors: Vec<Clique>) -> Result<CountPlan> {
        let mut counts = mechanism.counts(&self.schema.domain(), &self.workload)?;
        counts.extend(for_errors);
        CountPlan::new(&self.schema, &counts)
    }

    /// Reads all tables but the private one; with them comes the schema of the files.
    fn of_public(job: &ResolvedJob<'_>, observer: &mut dyn Observer) -> Result<(Self, Schema)> {
        let given = job.schema.read()?;
        let of_files = job.with_weight(&given)?;
        let schema = match job.linked() {
            Some(units) => units.widened(&of_files)?,
            None => of_files.clone(),
        };
        let domain = schema.domain();
        if let Some(rows) = job.rows {
            check_rows(&domain, rows)?;
        }
        if let left @ 1.. = domain.zeros_of_draws().count() {
            let (left, of) = (left as u64, domain.structural_zeros().len() as u64);
            observer.event(&Event::Notice(Notice::ForbiddenLeftToDraws { left, of }));
        }
        let workload = if job.compress.is_none() {
            job.workload_over(&domain, observer)?
        } else {
            job.read_workload(&domain)?.0
        };
        job.check_linked_workload(&workload, &domain)?;
        let public_schema = job.public_schema(&of_files)?;
        let kept = job.public_schema(&schema)?;
        let mut public = Vec::with_capacity(job.public.len());
        for table in &job.public {
            public.push(if let Some(counted) = table.source.counts(&public_schema)? {
                job.check_counted_public(&table.name)?;
                let counted = PublicData::counted(&table.name, counted, &domain)?;
                check_counts(&counted, &workload, &domain)?;
                counted
            } else {
                let rows = without(&kept, table.source.read(&public_schema, job.linked())?)?;
                PublicData::new(&table.name, rows, &domain)?
            });
        }
        job.check_linked_public(&public, &domain)?;
        // Before the private table is read: a mistake in a file of totals costs nothing then.
        let population = job.population(&schema, observer)?;
        let completed = job.given_rows(&schema)?;
        Ok((Self { schema, given, public, workload, population, completed }, of_files))
    }
}

/// Refuses counts of a public table for another workload: what it does not have would quietly not be used.
fn check_counts(public: &PublicData, workload: &Workload, domain: &Domain) -> Result<()> {
    let has = public.attributes();
    let mut cliques = workload.weighted_cliques().iter().map(|weighted| &weighted.clique);
    match cliques.find(|clique| clique.is_subset(&has) && !public.covers(clique)) {
        None => Ok(()),
        Some(clique) => {
            let place = format!("public table '{}'", public.name());
            let found = format!("no counts of {}", domain.describe(clique));
            let expected = "counts for the workload and the largest marginals of this run";
            Err(Error::invalid_specification(place, found, expected))
        }
    }
}

/// The records with the attributes of a schema alone.
fn without(schema: &Schema, rows: Dataset) -> Result<Dataset> {
    let wanted = schema.domain();
    let names = rows.domain().attributes().iter().map(|attribute| &attribute.name);
    let kept: Vec<usize> =
        (0..).zip(names).filter(|(_, n)| wanted.position(n).is_some()).map(|(i, _)| i).collect();
    if kept.len() == rows.domain().len() { Ok(rows) } else { Ok(rows.select(&kept)?) }
}

/// The notice of a workload whose marginals have too many cells to be counted quickly.
fn large(workload: &Workload, domain: &Domain) -> Option<Notice> {
    let sizes = workload.weighted_cliques().iter().map(|c| domain.cells(&c.clique));
    let cells = sizes.fold(0_u64, |sum, cells| sum.saturating_add(cells.unwrap_or(u64::MAX)));
    let largest = domain.attributes().iter().max_by_key(|attribute| attribute.cardinality)?;
    let (attribute, values) = (largest.name.clone(), largest.cardinality.into());
    (cells > LARGE_CELLS).then_some(Notice::LargeWorkload { cells, attribute, values })
}

impl ResolvedJob<'_> {
    /// Refuses a public table without records where these are used, before anything is spent.
    fn check_counted_public(&self, name: &str) -> Result<()> {
        let why = match self.entry.public_tables {
            _ if self.compress.is_some() => "merging values changes the codes of its records",
            _ if self.members().is_some() => "units are made of its rows",
            _ if self.linked().is_some() => "rows that come as units are taken from it",
            _ if self.parameters.contains_key("groups") => "its records are scaled",
            PublicTables::Used | PublicTables::Needed if !self.entry.takes_counts => {
                "they are used themselves"
            }
            _ => return Ok(()),
        };
        let (place, mechanism) = (format!("public table '{name}'"), self.entry.name);
        let expected = format!("records, as {why} (mechanism {mechanism}): give the file of rows");
        Err(Error::invalid_specification(place, "counts alone", expected))
    }

    /// The workload over a domain; tells what is left out of it, and whether it is large.
    pub(super) fn workload_over(
        &self,
        domain: &Domain,
        observer: &mut dyn Observer,
    ) -> Result<Workload> {
        let (workload, left_out) = self.read_workload(domain)?;
        let workload = self.crossed(workload, domain)?;
        if left_out > 0 {
            observer.event(&Event::Notice(Notice::CliquesLeftOut { left_out }));
        }
        if let Some(notice) = large(&workload, domain) {
            observer.event(&Event::Notice(notice));
        }
        Ok(workload)
    }

    /// The schema for public tables. It omits group attributes, as their codes describe other places.
    fn public_schema(&self, schema: &Schema) -> Result<Schema> {
        let groups = self.parameters.get("groups").and_then(|groups| groups.as_array());
        let groups = groups.into_iter().flatten().filter_map(|name| name.as_str());
        without_groups(&groups.map(str::to_owned).collect::<Vec<_>>(), schema)
    }
}

/// A schema without the attributes that define groups.
///
/// # Errors
/// A name that is not in the schema.
pub fn without_groups(groups: &[String], schema: &Schema) -> Result<Schema> {
    if groups.is_empty() {
        return Ok(schema.clone());
    }
    schema.domain().clique(groups).map_err(|error| error.in_file("groups"))?;
    let names = schema.attributes().map(|attribute| attribute.name.clone());
    let others: Vec<String> = names.filter(|name| !groups.contains(name)).collect();
    if others.is_empty() {
        let found = format!("all {} attributes", groups.len());
        let expected = "at least one attribute that is no group";
        return Err(Error::invalid_specification("groups", found, expected));
    }
    schema.select(&others)
}

#[cfg(test)]
mod tests;
