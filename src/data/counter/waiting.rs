//! Rows of record batches that are coded and not yet counted.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};

use super::CountPlan;
use super::misfits::Misfits;
use crate::data::arrow::{ArrayCoder, check_readable};
use crate::data::blocks::empty_columns;
use crate::data::units::RecordOrder;
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

    /// Adds records by their keys, and the sizes of their units.
    pub(super) fn add_keys(
        &mut self,
        plan: &CountPlan,
        keys: &ArrayRef,
        sizes: Option<&ArrayRef>,
    ) -> Result<()> {
        const PLACE: &str = "keys to count";
        let refused =
            |found: &str, expected: &str| Err(Error::invalid_specification(PLACE, found, expected));
        let Some(keys) = keys.as_binary_opt::<i32>() else {
            return refused("another type", "keys as UnitOrder makes them");
        };
        let mut of_size = None;
        if let Some(sizes) = sizes {
            let sizes = sizes.as_primitive_opt::<Int64Type>().filter(|s| s.len() == keys.len());
            let Some(sizes) = sizes else {
                return refused(
                    "other numbers of records",
                    "whole numbers of 64 bits, one for each key",
                );
            };
            of_size = Some((sizes, self.columns.len() - 1));
        }
        let attributes = of_size.as_ref().map_or(self.columns.len(), |(_, last)| *last);
        let order = RecordOrder::new(plan.domain(), attributes);
        let mut codes = Vec::new();
        for (row, key) in keys.iter().enumerate() {
            let fits = |codes: &[u32]| {
                (0..).zip(codes).all(|(a, code)| (*code as usize) < plan.domain().cardinality(a))
            };
            if key.and_then(|key| order.codes(key, &mut codes)).is_none() || !fits(&codes) {
                return refused("a key of other records", "keys of the plan's schema");
            }
            if let Some((sizes, last)) = &of_size {
                let size = u32::try_from(sizes.value(row)).unwrap_or(0);
                if sizes.is_null(row)
                    || size == 0
                    || size as usize > plan.domain().cardinality(*last)
                {
                    return refused("a number of records out of range", "1 to the most of a unit");
                }
                codes.push(size - 1);
            }
            codes.iter().zip(&mut self.columns).for_each(|(code, column)| column.push(*code));
            self.rows += 1;
        }
        Ok(())
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
