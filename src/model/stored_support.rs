//! A weighted support in a model file.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::data::{Column, Dataset};
use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::model::file::Reading;
use crate::model::{Model, WeightedSupport};

/// Records column by column, with a weight for each.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredSupport {
    columns: Vec<StoredColumn>,
    weights: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredColumn {
    attribute: String,
    codes: Vec<u32>,
}

/// Records, column by column.
pub(super) fn columns_of(rows: &Dataset) -> Vec<StoredColumn> {
    let columns = rows.domain().attributes().iter().zip(rows.columns());
    let columns = columns.map(|(attribute, column)| StoredColumn {
        attribute: attribute.name.clone(),
        codes: column.iter().collect(),
    });
    columns.collect()
}

/// `records` records from their columns.
///
/// # Errors
/// Columns that are not those of the domain, in order and with one code per record; codes that the domain does not
/// have.
pub(super) fn rows_of(
    domain: &Domain,
    columns: Vec<StoredColumn>,
    records: usize,
    place: &str,
) -> Result<Dataset> {
    let wrong =
        |found: String, expected: &str| Error::invalid_specification(place, found, expected);
    let names: Vec<&str> = columns.iter().map(|c| c.attribute.as_str()).collect();
    if !names.iter().copied().eq(domain.attributes().iter().map(|a| a.name.as_str())) {
        let expected = "the schema's attributes, in its order";
        return Err(wrong(format!("columns {}", names.join(", ")), expected));
    }
    if let Some(column) = columns.iter().find(|c| c.codes.len() != records) {
        let found = format!("{} codes of '{}'", column.codes.len(), column.attribute);
        return Err(wrong(found, "as many as weights"));
    }
    let columns = domain.attributes().iter().zip(columns);
    let columns = columns
        .map(|(a, column)| Column::from_codes(column.codes, a.cardinality as usize))
        .collect::<jointly_pgm::Result<Vec<_>>>()?;
    Ok(Dataset::new(domain.clone(), columns)?)
}

/// The model, once all sizes fit.
pub(super) fn read(value: &RawValue, reading: Reading<'_>) -> Result<Model> {
    let stored: StoredSupport = reading.parse(value)?;
    Ok(stored.check(reading)?.into())
}

impl StoredSupport {
    pub(super) fn new(support: &WeightedSupport) -> Self {
        Self { columns: columns_of(support.rows()), weights: support.weights().to_vec() }
    }

    /// The support, once all sizes fit.
    ///
    /// # Errors
    /// Columns that are not those of the schema, in order and of equal length; more than the limits; codes that the
    /// schema does not have; records out of order, repeated or forbidden; or as [`WeightedSupport::new`].
    fn check(
        self,
        Reading { domain, total, place, limits, .. }: Reading<'_>,
    ) -> Result<WeightedSupport> {
        let wrong =
            |found: String, expected: &str| Error::invalid_specification(place, found, expected);
        let records = self.weights.len();
        let bytes = (8 + 4 * self.columns.len() as u64).saturating_mul(records as u64);
        let mib = bytes as f64 / f64::from(1 << 20);
        if mib > limits.model_mib {
            return Err(Error::too_large(
                format!("the model in {place}"),
                Some(mib),
                limits.model_mib,
                "MiB",
            ));
        }
        let rows = rows_of(domain, self.columns, records, place)?;
        let support = WeightedSupport::new(&rows, self.weights, total)?;
        if *support.rows() != rows {
            let found = "records out of order, repeated, or forbidden by the schema".to_owned();
            return Err(wrong(found, "distinct records in the order of their codes"));
        }
        Ok(support)
    }
}
