//! The rows of record batches, one after another, as records of text.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema as ArrowSchema};
use csv::ByteRecord;

use super::cells::{cell, is_readable};
use crate::error::Result;

/// Batches as they are read.
pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch>>>;

/// The rows of some batches. Columns whose type cannot be read are left out.
pub(crate) struct ArrowRows {
    names: ByteRecord,
    /// The columns of other types, with these.
    unreadable: Vec<(String, DataType)>,
    /// Positions of the readable columns in a batch.
    readable: Vec<usize>,
    batches: Batches,
    /// The readable columns of the current batch.
    arrays: Vec<ArrayRef>,
    /// The same, where the batch is read row by row.
    columns: Vec<Column>,
    /// The next row of the current batch, and their number.
    next: usize,
    rows: usize,
    /// Rows returned so far.
    row: u64,
    missing: Vec<u8>,
    trim: bool,
    drawn: String,
}

/// A column of the current batch.
enum Column {
    Plain(ArrayRef),
    /// The text of every distinct value, and the position of each row's.
    Dictionary {
        texts: Vec<Option<String>>,
        keys: Vec<usize>,
        nulls: ArrayRef,
    },
}

impl ArrowRows {
    /// `missing`: the text of nulls. `trim`: whether blanks around texts are dropped.
    pub(crate) fn new(schema: &ArrowSchema, batches: Batches, missing: &str, trim: bool) -> Self {
        let fields = schema.fields().iter().enumerate();
        let others = schema.fields().iter().filter(|field| !is_readable(field.data_type()));
        let unreadable = others.map(|f| (f.name().clone(), f.data_type().clone())).collect();
        let readable = fields.filter(|(_, field)| is_readable(field.data_type()));
        let (readable, names): (Vec<usize>, Vec<&[u8]>) =
            readable.map(|(at, field)| (at, field.name().as_bytes())).unzip();
        Self {
            names: ByteRecord::from(names),
            unreadable,
            readable,
            batches,
            arrays: Vec::new(),
            columns: Vec::new(),
            next: 0,
            rows: 0,
            row: 0,
            missing: missing.as_bytes().to_vec(),
            trim,
            drawn: String::new(),
        }
    }

    /// The same rows, numbered as those that follow `row` others.
    #[cfg(feature = "parquet")]
    pub(crate) fn after(self, row: u64) -> Self {
        Self { row, ..self }
    }

    /// The names of the readable columns.
    pub(crate) fn names(&self) -> &ByteRecord {
        &self.names
    }

    /// The type of a column that is there but cannot be read.
    pub(crate) fn unreadable(&self, name: &str) -> Option<&DataType> {
        self.unreadable.iter().find(|(own, _)| own == name).map(|(_, kind)| kind)
    }

    /// The latest row, counted from 1.
    pub(crate) fn row(&self) -> u64 {
        self.row
    }

    /// Reads the next row; `false` at the end.
    ///
    /// # Errors
    /// A batch that cannot be read.
    pub(crate) fn read(&mut self, record: &mut ByteRecord) -> Result<bool> {
        while self.next == self.rows {
            if self.advance()?.is_break() {
                return Ok(false);
            }
        }
        record.clear();
        if self.columns.len() < self.arrays.len() {
            self.columns = self.arrays.iter().map(Column::new).collect();
        }
        for column in &self.columns {
            let text = match column {
                Column::Plain(array) => cell(array, self.next, &mut self.drawn),
                Column::Dictionary { nulls, .. } if nulls.is_null(self.next) => None,
                Column::Dictionary { texts, keys, .. } => {
                    keys.get(self.next).and_then(|key| texts.get(*key)?.as_deref())
                }
            };
            let text = text.map(|text| if self.trim { text.trim() } else { text });
            record.push_field(text.map_or(&self.missing, str::as_bytes));
        }
        self.next += 1;
        self.row += 1;
        Ok(true)
    }

    /// The readable columns of the next rows: at least one row and at most `most`, all of one batch; `None` at the end.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(crate) fn slice(&mut self, most: usize) -> Result<Option<(Vec<ArrayRef>, usize)>> {
        while self.next == self.rows {
            if self.advance()?.is_break() {
                return Ok(None);
            }
        }
        let rows = most.min(self.rows - self.next);
        let arrays = self.arrays.iter().map(|array| array.slice(self.next, rows)).collect();
        self.next += rows;
        self.row += rows as u64;
        Ok(Some((arrays, rows)))
    }

    /// Numbers the latest row.
    pub(crate) fn at_row(&mut self, row: u64) {
        self.row = row;
    }

    /// Goes to the next batch.
    fn advance(&mut self) -> Result<ControlFlow<()>> {
        let Some(batch) = self.batches.next().transpose()? else {
            return Ok(ControlFlow::Break(()));
        };
        (self.next, self.rows) = (0, batch.num_rows());
        self.arrays = self.readable.iter().map(|at| Arc::clone(batch.column(*at))).collect();
        self.columns.clear();
        Ok(ControlFlow::Continue(()))
    }
}

impl Column {
    fn new(array: &ArrayRef) -> Self {
        use arrow_array::cast::AsArray;
        if !matches!(array.data_type(), DataType::Dictionary(..)) {
            return Self::Plain(array.clone());
        }
        let dictionary = array.as_any_dictionary();
        let values = dictionary.values();
        let text = |at| cell(values, at, &mut String::new()).map(str::to_owned);
        let texts = (0..values.len()).map(text).collect();
        // A dictionary without values has nulls only.
        let keys = if values.is_empty() { Vec::new() } else { dictionary.normalized_keys() };
        Self::Dictionary { texts, keys, nulls: array.clone() }
    }
}
