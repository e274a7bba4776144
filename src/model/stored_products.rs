//! A mixture of products in a model file.

use ndarray::Array2;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::model::Distribution;
use crate::model::file::Reading;
use crate::model::products::split::value_ranges;
use crate::model::{Model, Products};

/// Components with the probabilities of every attribute's values.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredProducts {
    components: usize,
    /// The share of each component, if they are not equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weights: Option<Vec<f64>>,
    columns: Vec<StoredColumn>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredColumn {
    attribute: String,
    /// The probabilities of all values in the first component, in the second, and so on.
    probabilities: Vec<f32>,
}

/// The model, once all sizes fit.
pub(super) fn read(value: &RawValue, reading: Reading<'_>) -> Result<Model> {
    let stored: StoredProducts = reading.parse(value)?;
    Ok(stored.check(reading)?.into())
}

impl StoredProducts {
    pub(super) fn new(products: &Products) -> Self {
        let components = products.components();
        let columns = products.domain().attributes().iter().enumerate();
        let columns = columns.map(|(attribute, named)| StoredColumn {
            attribute: named.name.clone(),
            probabilities: (0..components)
                .flat_map(|b| products.distribution(b, attribute))
                .collect(),
        });
        let weights = products.weights().map(<[f64]>::to_vec);
        Self { components, weights, columns: columns.collect() }
    }

    /// The mixture, once all sizes fit.
    ///
    /// # Errors
    /// Columns that are not those of the schema, in order and with a number for each value in each component; more than
    /// the limits; or as [`Products::new`].
    fn check(self, Reading { domain, total, place, limits, .. }: Reading<'_>) -> Result<Products> {
        let wrong =
            |found: String, expected: String| Error::invalid_specification(place, found, expected);
        let names: Vec<&str> = self.columns.iter().map(|c| c.attribute.as_str()).collect();
        if !names.iter().copied().eq(domain.attributes().iter().map(|a| a.name.as_str())) {
            let expected = "the schema's attributes, in its order".to_owned();
            return Err(wrong(format!("columns {}", names.join(", ")), expected));
        }
        for (column, attribute) in self.columns.iter().zip(domain.attributes()) {
            let (found, values) = (column.probabilities.len(), attribute.cardinality as usize);
            if self.components.checked_mul(values) != Some(found) {
                return Err(wrong(
                    format!("{found} probabilities of '{}'", column.attribute),
                    format!("{} for each of {} components", values, self.components),
                ));
            }
        }
        let ranges = value_ranges(domain);
        let values = ranges.last().map_or(0, |range| range.end);
        let mib = 4.0 * values as f64 * self.components as f64 / f64::from(1 << 20);
        if mib > limits.model_mib {
            return Err(Error::too_large(
                format!("the model in {place}"),
                Some(mib),
                limits.model_mib,
                "MiB",
            ));
        }
        let mut probabilities = Array2::zeros((values, self.components));
        for (column, range) in self.columns.iter().zip(ranges) {
            let components = column.probabilities.chunks_exact(range.len().max(1)).enumerate();
            for (b, component) in components {
                for (value, p) in range.clone().zip(component) {
                    probabilities[(value, b)] = *p;
                }
            }
        }
        let products = Products::of(domain.clone(), probabilities, total)?;
        match self.weights {
            Some(weights) => products.with_weights(weights),
            None => Ok(products),
        }
    }
}
