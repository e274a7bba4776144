//! The order of the records of units in record batches.

use arrow_array::ArrayRef;

use super::check_readable;
use super::columns::{ArrayCoder, text_at};
use crate::data::csv::Misfit;
use crate::data::units::{NAMED, RecordOrder, UnitsOfSchema, is_missing};
use crate::data::{Units, quoted};
use crate::domain::{Domain, Schema};
use crate::error::{Error, Result};

/// The table in errors.
const PLACE: &str = "rows of units";

/// Orders the records of each unit as [`Keep::Hash`](crate::data::Keep::Hash) does, for engines that bring the rows of a unit
/// together: those with the K smallest keys of a unit count, and none of the others.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, Int64Array, StringArray};
/// use jointly::{Schema, data::{Keep, Units, arrow::UnitOrder}};
/// let schema = Schema::from_json(r#"{"sex": 2}"#, "domain.json")?;
/// let units = Units::new("home", 2)?.keeping(Keep::Hash);
/// let homes: ArrayRef = Arc::new(StringArray::from(vec!["A", "B", "A"]));
/// let sex: ArrayRef = Arc::new(Int64Array::from(vec![0, 0, 0]));
/// let mut order = UnitOrder::new(&schema, &units)?;
/// let keys = order.keys(&order.names(&homes)?, &[sex])?;
/// assert!(keys[0] == keys[2] && keys[0] != keys[1]);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct UnitOrder {
    domain: Domain,
    order: RecordOrder,
    coder: ArrayCoder,
    unit: String,
    na_token: String,
    trim: bool,
}

impl UnitOrder {
    /// `schema`: of the rows, without their number in a unit.
    ///
    /// # Errors
    /// A unit column that is an attribute, or columns of [`Units::agree`] that are none.
    pub fn new(schema: &Schema, units: &Units) -> Result<Self> {
        units.widened(schema)?;
        let domain = schema.domain();
        Ok(Self {
            order: RecordOrder::new(&domain, domain.len()),
            domain,
            coder: ArrayCoder::new(schema, schema),
            unit: units.column().to_owned(),
            na_token: schema.na_token().to_owned(),
            trim: schema.table().trim,
        })
    }

    /// The unit of each row, as it is written in a file: rows with the same name are of one unit.
    ///
    /// # Errors
    /// A column whose type cannot be read, or a row without a unit.
    pub fn names(&self, unit: &ArrayRef) -> Result<Vec<String>> {
        check_readable(PLACE, &self.unit, unit.data_type())?;
        let mut drawn = String::new();
        let mut name = |row: usize| {
            let name = text_at(unit, row, &mut drawn).unwrap_or(&self.na_token);
            let name = if self.trim { name.trim() } else { name };
            if is_missing(name.as_bytes(), &self.na_token) {
                let found = format!("a row whose '{}' is {}", self.unit, quoted(name.as_bytes()));
                return Err(Error::invalid_specification(PLACE, found, NAMED));
            }
            Ok(name.to_owned())
        };
        (0..unit.len()).map(&mut name).collect()
    }

    /// The key of each row, to compare byte by byte. `names`: of the rows' units; `columns`: of the schema's attributes, in its
    /// order.
    ///
    /// # Errors
    /// Another number of columns, one whose type cannot be read, or a row that does not fit the schema.
    pub fn keys(
        &mut self,
        names: &[impl AsRef<str>],
        columns: &[ArrayRef],
    ) -> Result<Vec<Vec<u8>>> {
        let rows = names.len();
        if columns.len() != self.domain.len() || columns.iter().any(|column| column.len() != rows) {
            let found = format!("{} columns, or some of other lengths", columns.len());
            let expected = format!("{} columns of {rows} rows each", self.domain.len());
            return Err(Error::invalid_specification(PLACE, found, expected));
        }
        for (attribute, column) in columns.iter().enumerate() {
            check_readable(PLACE, self.domain.name(attribute), column.data_type())?;
        }
        if let Some((row, misfit)) = self.coder.code(columns, rows).first() {
            let record = self.coder.record(columns, *row);
            let name = match misfit {
                Misfit::Cell(attribute) => format!("'{}'", self.domain.name(*attribute)),
                Misfit::Combination(_) => "a rule of the schema".to_owned(),
            };
            let found = misfit.found(&self.domain, |attribute| record.get(attribute));
            let found = format!("a row against {name}, {found}");
            return Err(Error::invalid_specification(PLACE, found, "rows that fit the schema"));
        }
        let codes: Vec<&[u32]> = self.coder.codes().collect();
        let key = |(row, name): (usize, &_)| {
            let codes: Vec<u32> = codes.iter().map(|codes| codes[row]).collect();
            self.order.key(AsRef::<str>::as_ref(name).as_bytes(), &codes)
        };
        Ok(names.iter().enumerate().map(key).collect())
    }
}
