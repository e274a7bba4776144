//! Jobs whose synthetic rows come as units, such as households.

use std::path::Path;

use rand::rngs::ChaCha20Rng;

use crate::data::{Dataset, Keep, Members, PublicData, UnitTable, Units, write_csv_file};
use crate::domain::{Clique, Domain, Schema};
use crate::error::{Contradiction, Error, Result};
use crate::mechanism::Release;
use crate::model::LinkedRows;
use crate::query::Workload;
use crate::synthesis::job::ResolvedJob;

impl ResolvedJob<'_> {
    /// The units, if synthetic rows come as units.
    pub(super) fn linked(&self) -> Option<&Units> {
        self.unit.units().filter(|units| units.agree().is_some())
    }

    /// Refuses replicates of rows that come as units, and a table of units of rows that do not.
    pub(super) fn check_linked(&self) -> Result<()> {
        if self.units_out.is_some() {
            let what = "a table of units";
            if self.linked().is_none() {
                return Err(Contradiction::Needs { what, needed: "`unit_columns`" }.into());
            }
            if self.out.is_none() {
                return Err(Contradiction::Needs { what, needed: "`out`" }.into());
            }
        }
        if self.linked().is_none() || self.replicates() == 0 {
            return Ok(());
        }
        let (first, second) = ("columns of units", "replicates");
        let why = "the intervals of combine are for rows that are drawn one by one";
        Err(Contradiction::Together { first, second, why }.into())
    }

    /// The columns of members, if a unit is one record.
    pub(super) fn members(&self) -> Option<&Members> {
        self.unit.units().and_then(Units::members)
    }

    /// Refuses what needs the rows of members, where a unit is one record.
    pub(super) fn check_members(&self) -> Result<()> {
        if self.members().is_none() {
            return Ok(());
        }
        let second = "columns of members";
        let (first, why) = if self.compress.is_some() {
            ("merging", "each member would get values of its own")
        } else if self.is_counted() {
            ("counting", "a record is made of rows all over the file")
        } else if self.keep == Keep::Hash {
            ("keeping rows by hash", "their order says which rows of a unit count")
        } else {
            return Ok(());
        };
        Err(Contradiction::Together { first, second, why }.into())
    }

    /// The workload over a domain, with the number of cliques that were left out. Where a unit is one record, a built-in
    /// workload is that of the columns of the unit and of its members.
    pub(super) fn read_workload(&self, domain: &Domain) -> Result<(Workload, usize)> {
        match self.unit.units() {
            Some(units) if units.members().is_some() => self.workload.read_of_units(domain, units),
            _ => self.workload.read(domain),
        }
    }

    /// Refuses a workload that does not have the number of records of the unit: nobody would measure it.
    pub(super) fn check_linked_workload(&self, workload: &Workload, domain: &Domain) -> Result<()> {
        let Some(size) = self.size_clique(domain)? else { return Ok(()) };
        let has = |clique: &Clique| size.iter().all(|attribute| clique.contains(attribute));
        if workload.weighted_cliques().iter().any(|weighted| has(&weighted.clique)) {
            return Ok(());
        }
        let name = self.linked().map_or_else(String::new, Units::size_name);
        let found = format!("no clique with '{name}'");
        let expected = "at least one: synthetic units need the number of their records";
        Err(Error::invalid_specification("the workload", found, expected))
    }

    /// Refuses a mechanism that uses nothing but a public table without the number of records of the unit.
    pub(super) fn check_linked_public(&self, public: &[PublicData], domain: &Domain) -> Result<()> {
        let Some(size) = self.size_clique(domain)? else { return Ok(()) };
        let Some(first) = public.first().filter(|first| !first.covers(&size)) else {
            return Ok(());
        };
        if self.entry.spends {
            return Ok(());
        }
        let column = self.linked().map_or("", Units::column);
        let place = format!("public table '{}'", first.name());
        let found = format!("no column '{column}'");
        let expected = "the unit of each record, as the model comes from this table alone";
        Err(Error::invalid_specification(place, found, expected))
    }

    /// The attribute with the number of records of the unit.
    fn size_clique(&self, domain: &Domain) -> Result<Option<Clique>> {
        Ok(self.linked().map(|units| domain.clique(&[units.size_name()])).transpose()?)
    }

    /// Joins drawn records into units, if they come as units. Returns the numbers of the units, too.
    pub(super) fn link(
        &self,
        release: &Release,
        rows: Dataset,
        rng: &mut ChaCha20Rng,
    ) -> Result<(Dataset, Option<Vec<u32>>)> {
        let Some(units) = self.linked() else { return Ok((rows, None)) };
        let LinkedRows { rows, numbers } = release.model.link(&rows, units, rng)?;
        Ok((rows, Some(numbers)))
    }

    /// Writes the synthetic table.
    pub(super) fn write_table(
        &self,
        path: &Path,
        rows: &Dataset,
        units: Option<&[u32]>,
        schema: &Schema,
        seed: u64,
    ) -> Result<()> {
        match (self.linked(), units) {
            (Some(units), Some(numbers)) => {
                let table = UnitTable { rows, numbers, units };
                let alone = self.units_out.as_deref();
                table.write((path, alone), schema, self.labels, seed)
            }
            _ => write_csv_file(path, rows, schema, self.labels, seed),
        }
    }
}
