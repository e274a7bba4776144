//! Bins of numbers and categories of a schema together.

use std::collections::BTreeMap;
use std::path::Path;

use crate::data::read_private_csv;
use crate::domain::Schema;
use crate::error::Result;
use crate::paid_bins::{PaidBins, PaidCategories};
use crate::privacy::{Curator, NoisyValues, PrivacyUnit, PrivateTable, Sensitive};

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

    /// Reads a private table.
    ///
    /// # Errors
    /// As [`PaidBins::read`] and [`PaidCategories::read`].
    pub fn read(&self, unit: &PrivacyUnit, private: &Path) -> Result<PaidTable> {
        let values = self.categories.as_ref().map(|own| own.read(unit, private)).transpose()?;
        let records = match (&self.bins, &self.categories) {
            (Some(bins), _) => bins.read(unit, private)?,
            (None, Some(own)) => {
                let names: Vec<&str> = own.names().collect();
                read_private_csv(private, &self.schema.select(&names)?, unit)?
            }
            (None, None) => read_private_csv(private, &self.schema, unit)?,
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
