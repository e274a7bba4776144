//! Two tables as one: rows, such as persons, each with the cells of its unit, such as its household.

use std::collections::HashMap;
use std::io::Read;

use csv::ByteRecord;

use super::{RawTable, Rows};
use crate::domain::{Role, Schema};
use crate::error::{Error, Result};

/// Rows with the cells of their units.
pub(super) struct JoinedRows<R> {
    rows: RawTable<R>,
    /// Positions of the columns that identify a unit, in the rows.
    key: Vec<usize>,
    /// The cells of each unit, with its line or number.
    cells: HashMap<Vec<u8>, (u64, ByteRecord)>,
    /// Name of the table of units in errors.
    units: String,
    /// The columns that only the table of units has.
    added: ByteRecord,
    /// The line or the number of the latest row, and that of its unit.
    line: u64,
    line_of_unit: u64,
}

impl<R: Read> RawTable<R> {
    /// The rows of this table, each with the cells of its unit: the attributes of the schema that only the table of units has. The unit is
    /// that of the same identifiers, the columns of the role `id` that both tables have. Units without rows are left out.
    ///
    /// # Errors
    /// Tables of different forms or without an identifier in common, a unit that occurs twice; and, where rows are read, a row without
    /// a unit.
    pub(in crate::data) fn joined(self, mut units: Self, schema: &Schema) -> Result<Self> {
        if self.has_rows() != units.has_rows() {
            let found = format!("a table of another form than {}", self.name);
            return Err(Error::invalid_specification(
                units.name,
                found,
                "both CSV or both Parquet",
            ));
        }
        let is_id = |name: &&str| {
            let column = schema.column(name);
            column.is_some_and(|column| column.role == Role::Id)
        };
        let names = schema.columns().iter().map(|column| column.name.as_str());
        let both = |name: &&str| self.position(name).is_some() && units.position(name).is_some();
        let ids: Vec<&str> = names.filter(is_id).filter(both).collect();
        if ids.is_empty() {
            let found = format!("no identifier that {} has as well ({})", self.name, units.names());
            let expected = "a column with the role 'id' in the schema, by which units are joined";
            return Err(units.header_error(found, expected));
        }
        let positions = |table: &Self| ids.iter().filter_map(|id| table.position(id)).collect();
        let (own, key): (Vec<usize>, Vec<usize>) = (positions(&units), positions(&self));
        let is_added = |name: &str| {
            self.position(name).is_none() && schema.attributes().any(|column| column.name == name)
        };
        let header = units.header.iter().enumerate();
        let added = header.filter(|(_, name)| std::str::from_utf8(name).is_ok_and(is_added));
        let added: Vec<usize> = added.map(|(position, _)| position).collect();
        let mut cells = HashMap::new();
        let mut record = ByteRecord::new();
        while units.next(&mut record)? {
            let own_cells = added.iter().filter_map(|position| record.get(*position)).collect();
            let own_cells = (units.line(&record), own_cells);
            if cells.insert(identity(&record, &own), own_cells).is_some() {
                let cell = record.get(own[0]).unwrap_or_default();
                let expected = "one row for each unit".to_owned();
                return Err(units.cell_error(&record, ids[0], cell, expected));
            }
        }
        let added: ByteRecord = added.iter().filter_map(|at| units.header.get(*at)).collect();
        let mut header = self.header.clone();
        added.iter().for_each(|name| header.push_field(name));
        let (name, delimiter, units) = (self.name.clone(), self.delimiter, units.name);
        let (line, line_of_unit) = (0, 0);
        let joined = JoinedRows { rows: self, key, cells, units, added, line, line_of_unit };
        Self::with_rows(&name, Rows::Joined(Box::new(joined)), delimiter).with_header(header)
    }
}

/// The cells that identify a unit, as one key: no two units have the same.
fn identity(record: &ByteRecord, key: &[usize]) -> Vec<u8> {
    let mut identity = Vec::new();
    for cell in key.iter().filter_map(|position| record.get(*position)) {
        identity.extend_from_slice(&cell.len().to_le_bytes());
        identity.extend_from_slice(cell);
    }
    identity
}

impl<R: Read> JoinedRows<R> {
    /// Reads the next row; `false` at the end.
    pub(super) fn read(&mut self, record: &mut ByteRecord) -> Result<bool> {
        if !self.rows.next(record)? {
            return Ok(false);
        }
        self.line = self.rows.line(record);
        let Some((line, cells)) = self.cells.get(&identity(record, &self.key)) else {
            let column = self.rows.header.get(self.key[0]).unwrap_or_default();
            let column = String::from_utf8_lossy(column).into_owned();
            let cell = record.get(self.key[0]).unwrap_or_default();
            let expected = format!("a unit that {} has", self.units);
            return Err(self.rows.cell_error(record, &column, cell, expected));
        };
        self.line_of_unit = *line;
        cells.iter().for_each(|cell| record.push_field(cell));
        Ok(true)
    }

    /// The table of units and the line of the latest row's unit there, if the column comes from it.
    pub(super) fn place_in_units(&self, column: &str) -> Option<(&str, u64)> {
        let is_added = self.added.iter().any(|name| name == column.as_bytes());
        is_added.then_some((self.units.as_str(), self.line_of_unit))
    }

    pub(super) fn line(&self) -> u64 {
        self.line
    }

    pub(super) fn has_rows(&self) -> bool {
        self.rows.has_rows()
    }
}
