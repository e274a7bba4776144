//! Bins of numbers and categories of a schema together.

use std::collections::BTreeMap;

use crate::data::{RowSource, read_private_rows};
use crate::domain::Schema;
use crate::error::{Error, Result};
use crate::paid_bins::{PaidBins, PaidCategories};
use crate::privacy::{Budget, Curator, NoisyValues, PrivacyUnit, PrivateTable, Sensitive};

/// What to find of a schema by the private rows. Numbers and categories share a budget.
#[derive(Clone, Debug)]
pub struct PaidSchema {
    schema: Schema,
    /// The numbers to cut.
    pub bins: Option<PaidBins>,
    /// The columns whose categories to find.
    pub categories: Option<PaidCategories>,
    /// The share of the budget for categories, where there are also numbers to measure.
    pub category_share: f64,
}

/// A private table as [`PaidSchema`] reads it.
pub struct PaidTable {
    /// The records, coded for the bins.
    pub records: PrivateTable,
    /// The values of the columns of categories, sealed.
    values: Vec<Sensitive<BTreeMap<String, u32>>>,
}

impl PaidSchema {
    /// Cuts these numeric columns, or all with a single bin if there is no name, and finds the categories of these columns.
    /// Categories alone need no number.
    ///
    /// # Errors
    /// As [`PaidBins::new`] and [`PaidCategories::new`].
    pub fn new(schema: &Schema, columns: &[String], categories: &[String]) -> Result<Self> {
        let categories = match categories {
            [] => None,
            names => Some(PaidCategories::new(schema, names)?),
        };
        let bins = match columns {
            [] if categories.is_some() && !PaidBins::has_ranges(schema) => None,
            [] => Some(PaidBins::of_ranges(schema)?),
            names => Some(PaidBins::new(schema, names)?),
        };
        Ok(Self { schema: schema.clone(), bins, categories, category_share: 0.5 })
    }

    /// Refuses a share out of range, and numbers that need no measurement alone.
    ///
    /// # Errors
    /// As said.
    pub fn check(&self) -> Result<()> {
        let share = self.category_share;
        if !(share > 0.0 && share < 1.0) {
            let expected = "strictly between 0 and 1";
            return Err(Error::invalid_parameter("category share", share, expected));
        }
        match self.bins.as_ref().filter(|bins| bins.measurements() == 0) {
            Some(bins) if self.categories.is_none() => {
                let found = bins.names().collect::<Vec<_>>().join(", ");
                let expected = "a range that needs a measurement: each number of these gets a bin of its own, which the schema \
                                can declare";
                Err(Error::invalid_parameter("columns to cut", found, expected))
            }
            _ => Ok(()),
        }
    }

    /// A budget with the part of its δ that categories need: by default half of it, without categories nothing.
    ///
    /// # Errors
    /// A part that is not above 0 and below the budget's δ.
    pub fn with_category_delta(&self, budget: Budget, part: Option<f64>) -> Result<Budget> {
        if self.categories.is_none() {
            return Ok(budget);
        }
        let delta = part.unwrap_or(budget.delta() / 2.0);
        if !(delta > 0.0 && delta < budget.delta()) {
            let expected = "above 0 and below `delta`";
            return Err(Error::invalid_parameter("category delta", delta, expected));
        }
        Ok(budget.with_threshold_delta(delta)?)
    }

    /// Reads a private table.
    ///
    /// # Errors
    /// As [`PaidBins::read`] and [`PaidCategories::read`].
    pub fn read<'a>(
        &self,
        unit: &PrivacyUnit,
        private: impl Into<RowSource<'a>>,
    ) -> Result<PaidTable> {
        let private = private.into();
        let values = self.categories.as_ref().map(|own| own.read(unit, private)).transpose()?;
        let records = match (&self.bins, &self.categories) {
            (Some(bins), _) => bins.read(unit, private)?,
            (None, Some(own)) => {
                let names: Vec<&str> = own.names().collect();
                read_private_rows(private, &self.schema.select(&names)?, unit)?
            }
            (None, None) => read_private_rows(private, &self.schema, unit)?,
        };
        Ok(PaidTable { records, values: values.unwrap_or_default() })
    }

    /// Spends all of a curator's remaining budget: a share of it on categories, the rest on bins. Returns the schema with
    /// both, and what was found of each column of categories.
    ///
    /// # Errors
    /// As [`PaidBins::run`] and [`PaidCategories::run`].
    pub fn run(
        &self,
        curator: &mut Curator<'_>,
        values: Vec<Sensitive<BTreeMap<String, u32>>>,
    ) -> Result<(Schema, Vec<NoisyValues>)> {
        let is_shared = self.categories.is_some()
            && self.bins.as_ref().is_some_and(|bins| bins.measurements() > 0);
        if is_shared {
            curator.set_aside(self.category_share)?;
        }
        let found = self.bins.as_ref().map(|bins| bins.run(curator)).transpose()?;
        let schema = found.unwrap_or_else(|| self.schema.clone());
        curator.release_set_aside();
        let Some(categories) = &self.categories else { return Ok((schema, Vec::new())) };
        let named = categories.run(curator, values)?;
        Ok((categories.add(&schema, &named)?, named))
    }
}

impl PaidTable {
    /// The records, and the sealed values for [`PaidSchema::run`].
    pub fn into_parts(self) -> (PrivateTable, Vec<Sensitive<BTreeMap<String, u32>>>) {
        (self.records, self.values)
    }
}
