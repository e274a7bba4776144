//! Rows of record batches that are coded and not yet counted.

use arrow_array::{Array, ArrayRef};

use super::CountPlan;
use super::misfits::Misfits;
use crate::data::arrow::{ArrayCoder, check_readable};
use crate::data::blocks::empty_columns;
use crate::data::{Column, Dataset};
use crate::error::{Error, Result};

/// Coded rows, and what codes further ones.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    coder: ArrayCoder,
    columns: Vec<Column>,
    pub(super) rows: usize,
}

impl Waiting {
    pub(super) fn new(plan: &CountPlan) -> Self {
        let coder = ArrayCoder::new(plan.schema(), plan.schema());
        Self { coder, columns: empty_columns(plan.domain()), rows: 0 }
    }

    /// Codes the rows of one array for each attribute, as [`checked_rows`] wants them; those that do not fit are noted.
    pub(super) fn add(
        &mut self,
        plan: &CountPlan,
        arrays: &[ArrayRef],
        rows: usize,
        misfits: &mut Misfits,
    ) {
        let unfit = self.coder.code(arrays, rows);
        for (row, misfit) in &unfit {
            let record = self.coder.record(arrays, *row);
            misfits.note(*misfit, misfit.found(plan.domain(), |a| record.get(a)));
        }
        self.coder.append_to(&mut self.columns, &unfit);
        self.rows += rows - unfit.len();
    }

    /// The rows, which wait no longer.
    pub(super) fn take(&mut self, plan: &CountPlan) -> Result<Dataset> {
        self.rows = 0;
        let columns = std::mem::replace(&mut self.columns, empty_columns(plan.domain()));
        Ok(Dataset::new(plan.domain().clone(), columns)?)
    }
}

/// The number of rows of some arrays.
pub(super) fn checked_rows(plan: &CountPlan, arrays: &[ArrayRef]) -> Result<usize> {
    const PLACE: &str = "columns to count";
    let domain = plan.domain();
    if arrays.len() != domain.len() {
        let found = format!("{} columns", arrays.len());
        let expected = format!("{}, one for each attribute of the schema", domain.len());
        return Err(Error::invalid_specification(PLACE, found, expected));
    }
    let rows = arrays.first().map_or(0, Array::len);
    for (attribute, array) in arrays.iter().enumerate() {
        check_readable(PLACE, domain.name(attribute), array.data_type())?;
        if array.len() != rows {
            let found = format!("{} values of '{}'", array.len(), domain.name(attribute));
            let expected = format!("{rows}, as of '{}'", domain.name(0));
            return Err(Error::invalid_specification(PLACE, found, expected));
        }
    }
    Ok(rows)
}
