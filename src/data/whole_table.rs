//! A table with all that measures of its holder need.

use std::io::Read;
use std::path::Path;

use csv::ByteRecord;

#[cfg(feature = "arrow")]
use crate::data::arrow::{ArrowStream, ArrowTable};
use crate::data::csv::{Reading, of_file, read_keeping};
use crate::data::numeric_columns::NumericReader;
use crate::data::raw_table::{RawTable, text};
use crate::data::units::UnitsOfSchema;
use crate::data::{Dataset, NumericColumns, Units, read_units_csv};
use crate::domain::{Kind, Schema};
use crate::error::Result;

/// A table with the codes of its records, their numbers as they are, and their units, read once. **Not private**: for
/// measures whose results stay with the holder of the records.
#[derive(Clone, Debug)]
pub struct WholeTable {
    /// The records.
    pub records: Dataset,
    /// Their numbers; `None` if they are not known.
    pub numbers: Option<NumericColumns>,
    /// The unit of each record: numbers from 0, in the order of the units' first records. Empty if no unit was asked for.
    pub units: Vec<u32>,
    /// The survey weight of each record; `None` if the table has no such column, or none was asked for.
    pub weights: Option<Vec<f64>>,
    /// The units, one record each with its members; `None` if none were asked for.
    pub together: Option<Dataset>,
}

impl WholeTable {
    /// Reads a file. `unit`: the column that names the unit of each record.
    ///
    /// # Errors
    /// As [`read_csv`](crate::data::read_csv), and as [`read_units_csv`](crate::data::read_units_csv) if there is a unit.
    pub fn read(path: &Path, schema: &Schema, unit: Option<&str>) -> Result<Self> {
        Self::of_table(of_file(path, schema)?, schema, (unit, None))
    }

    /// Reads a file, and again its units, one record each with its members ([`Units::with_members`]).
    ///
    /// # Errors
    /// As [`read_units_csv`](crate::data::read_units_csv).
    pub(crate) fn read_together(path: &Path, schema: &Schema, units: &Units) -> Result<Self> {
        let together = Some(read_units_csv(path, schema, units)?);
        Ok(Self { together, ..Self::read(path, schema, Some(units.column()))? })
    }

    /// As [`read_together`](Self::read_together), of a table in memory.
    ///
    /// # Errors
    /// As [`read_together`](Self::read_together), with row and column.
    #[cfg(feature = "arrow")]
    pub(crate) fn together_of_arrow(
        table: &ArrowTable,
        schema: &Schema,
        units: &Units,
    ) -> Result<Self> {
        let together = Some(ArrowStream::from(table).read_units(schema, units)?);
        Ok(Self { together, ..table.read_whole(schema, Some(units.column()))? })
    }

    /// Reads a file with the survey weights of its records, if it has the column.
    ///
    /// # Errors
    /// As [`read`](Self::read), and a weight that is no number or below 0.
    pub fn read_weighted(path: &Path, schema: &Schema, weight: &str) -> Result<Self> {
        Self::of_table(of_file(path, schema)?, schema, (None, Some(weight)))
    }

    /// Reads any source of bytes; `name` stands for the file in errors.
    ///
    /// ```
    /// use jointly::{Schema, data::WholeTable};
    /// let schema = r#"{"na_token": "NA", "columns": [
    ///     {"name": "age", "kind": "numeric", "na": true, "edges": [0, 18, 100], "integer": true}
    /// ]}"#;
    /// let schema = Schema::from_json(schema, "schema.json")?;
    /// let people = b"home,age\nA,30\nB,NA\nA,17\n";
    /// let table = WholeTable::read_from(&people[..], "t.csv", &schema, Some("home"))?;
    /// let numbers = table.numbers.unwrap();
    /// let ages = &numbers.columns()[0].values;
    /// assert!(ages[0] == 30.0 && ages[1].is_nan() && ages[2] == 17.0);
    /// assert_eq!((table.records.row(2), table.units), (vec![0], vec![0, 1, 0]));
    /// # Ok::<(), jointly::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_from(
        source: impl Read,
        name: &str,
        schema: &Schema,
        unit: Option<&str>,
    ) -> Result<Self> {
        Self::of_table(RawTable::open(source, name, schema.table())?, schema, (unit, None))
    }

    /// Reads a table of any form.
    pub(super) fn of_table<R: Read>(
        table: RawTable<R>,
        schema: &Schema,
        (unit, weight): (Option<&str>, Option<&str>),
    ) -> Result<Self> {
        let units = unit.map(|column| Units::new(column, u32::MAX)).transpose()?;
        units.iter().try_for_each(|units| units.check(schema))?;
        let reading = Reading::measured(units.as_ref());
        let mut numbers = NumericReader::new(&table, schema)?;
        let weight = weight.and_then(|name| Some((name, table.position(name)?)));
        let mut weights = weight.map(|_| Vec::new());
        let kind = weight.and_then(|(name, _)| schema.column(name)?.kind.as_ref());
        let notation = match kind {
            Some(Kind::Numeric(bins)) if !table.has_rows() => bins.notation(),
            _ => None,
        };
        let mut keep = |record: &ByteRecord, table: &RawTable<R>| {
            if let (Some((name, position)), Some(weights)) = (weight, &mut weights) {
                let cell = record.get(position).unwrap_or_default();
                let number = text(cell).and_then(|cell| match notation {
                    Some(notation) => notation.read(cell),
                    None => cell.trim().parse::<f64>().ok(),
                });
                let number = number.filter(|number| number.is_finite() && *number >= 0.0);
                weights.push(number.ok_or_else(|| {
                    table.cell_error(record, name, cell, "a weight of at least 0".to_owned())
                })?);
            }
            numbers.push(record, table)
        };
        let (records, units) = read_keeping(table, schema, reading, &mut keep)?;
        Ok(Self { records, numbers: Some(numbers.finish()), units, weights, together: None })
    }
}

/// A table of codes alone.
impl From<Dataset> for WholeTable {
    fn from(records: Dataset) -> Self {
        Self { records, numbers: None, units: Vec::new(), weights: None, together: None }
    }
}
