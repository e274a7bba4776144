//! Jobs that complete released rows instead of drawing records: the rows stay, and get the columns that they lack.

use std::cell::Cell;
use std::path::Path;

use rand::rngs::ChaCha20Rng;

#[cfg(feature = "arrow")]
use crate::data::Labels;
use crate::data::{Dataset, PartialTable, check_form};
use crate::domain::Schema;
use crate::error::{Contradiction, Error, Result};
use crate::mechanism::Release;
use crate::model::{Drawing, MarkovRandomField, Model};
use crate::observe::{Event, Notice, Observer};
use crate::privacy::Units;
use crate::synthesis::GivenSource;
use crate::synthesis::job::ResolvedJob;

/// The rows that a job completes, and what of them the schema knows.
#[derive(Clone, Debug)]
pub struct GivenRows {
    table: PartialTable,
    /// The positions of the columns that they lack.
    lacking: Vec<usize>,
}

impl GivenRows {
    /// Refuses a row that has a forbidden combination whatever the columns that it lacks, as far as fits know the rules.
    fn check_rules(&self, schema: &Schema) -> Result<()> {
        let domain = schema.domain();
        if domain.fitted_zeros().next().is_none() || domain.zeros_of_draws().next().is_some() {
            return Ok(());
        }
        let any = Model::from(MarkovRandomField::uniform(&domain, 1.0)?);
        let Some(row) = any.without_mass(self.table.known())?.first().copied() else {
            return Ok(());
        };
        let column = self.columns().next().unwrap_or_default();
        let expected = "a value that the rules of the schema allow together with the others";
        Err(self.table.contradiction(row as usize, column, expected))
    }

    /// Names of the columns that were given.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.table.known().domain().attributes().iter().map(|attribute| attribute.name.as_str())
    }

    /// The file's name, without its folder.
    pub fn name(&self) -> String {
        let path = Path::new(self.table.name());
        path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
    }

    /// The completed rows as one record batch: as they were given, followed by the columns that they lacked.
    ///
    /// `rows`, `schema`, `seed`: of the finished job ([`Synthesized`](crate::synthesis::Synthesized)).
    ///
    /// # Errors
    /// As [`PartialTable::record_batch`].
    #[cfg(feature = "arrow")]
    pub fn record_batch(
        &self,
        rows: &Dataset,
        schema: &Schema,
        labels: Labels,
        seed: u64,
    ) -> Result<arrow_array::RecordBatch> {
        self.table.record_batch(&rows.select(&self.lacking)?, schema, labels, seed)
    }

    /// The rows with all columns. Values that the model never has with the others are left out of what is given: what was paid for
    /// is not lost for a row.
    pub(super) fn completed(
        &self,
        release: &Release,
        schema: &Schema,
        rng: &mut ChaCha20Rng,
        observer: &mut dyn Observer,
    ) -> Result<Dataset> {
        let contradicted = Cell::new(0);
        let known = self.table.known();
        let drawn = release.model.complete(known, &release.unlikely, true, rng, &|rows, _| {
            contradicted.set(contradicted.get() + rows.len() as u64);
            Ok(())
        })?;
        let (rows, left_out) = (known.records() as u64, contradicted.get());
        observer.event(&Event::Notice(Notice::RowsCompleted { rows, left_out }));
        self.with(&drawn, schema)
    }

    /// The rows with all columns of the schema.
    fn with(&self, drawn: &Dataset, schema: &Schema) -> Result<Dataset> {
        let domain = schema.domain();
        let (given, all) = (self.table.known(), domain.attributes().iter());
        let column = |name: &str| {
            let of = |rows: &Dataset| Some(rows.columns()[rows.domain().position(name)?].clone());
            of(given).or_else(|| of(drawn))
        };
        let columns = all.filter_map(|attribute| column(&attribute.name)).collect();
        Ok(Dataset::new(domain, columns)?)
    }
}

impl ResolvedJob<'_> {
    /// Refuses settings of drawn records where rows are completed instead.
    pub(super) fn check_completed(&self) -> Result<()> {
        if self.complete.is_none() {
            if self.keep_columns.is_empty() {
                return Ok(());
            }
            let (what, needed) = ("columns to keep", "`complete`");
            return Err(Contradiction::Needs { what, needed }.into());
        }
        let first = "rows to complete";
        let together = |second, why| Err(Contradiction::Together { first, second, why }.into());
        if self.rows.is_some() {
            return together("number of rows", "as many are written as are given");
        }
        if self.replicates() > 0 {
            return together("replicates", "a replicate repeats how all columns were made");
        }
        if self.compress.is_some() {
            return together("merging", "the rows given have values that are not merged");
        }
        if self.is_of_population() {
            return together("a population", "as many members are written as rows are given");
        }
        if self.linked().is_some() {
            return together("columns of units", "the rows given say what belongs together");
        }
        if self.draw != Drawing::default() {
            return together("a way to draw", "each row is completed independently of the others");
        }
        if let Some(path) = &self.out {
            check_form(path)?;
        }
        Ok(())
    }

    /// The rows to complete, if there are any. They are read before anything is spent.
    pub(super) fn given_rows(&self, schema: &Schema) -> Result<Option<GivenRows>> {
        let unit = self.unit.units().map(Units::column);
        let table = match &self.complete {
            None => return Ok(None),
            Some(GivenSource::File(path)) => {
                PartialTable::read(path, schema, &self.keep_columns, unit)?
            }
            Some(GivenSource::Table(table)) => table.as_ref().clone(),
        };
        let domain = schema.domain();
        let known = table.known().domain();
        let is_lacking = |at: &usize| known.position(domain.name(*at)).is_none();
        let lacking: Vec<usize> = (0..domain.len()).filter(is_lacking).collect();
        if lacking.is_empty() {
            let expected = "a table that lacks at least one attribute of the schema";
            return Err(Error::invalid_specification("rows to complete", "all", expected));
        }
        let given = GivenRows { table, lacking };
        given.check_rules(schema)?;
        Ok(Some(given))
    }

    /// Writes the completed rows: as they were given, followed by the columns that they lacked.
    pub(super) fn write_completed(
        &self,
        path: &Path,
        given: &GivenRows,
        rows: &Dataset,
        schema: &Schema,
        seed: u64,
    ) -> Result<()> {
        let added = rows.select(&given.lacking)?;
        given.table.write_with(&added, schema, path, self.labels, seed)
    }
}
