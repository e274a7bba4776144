//! A schema as the metadata of SDV and its metrics.

use serde::{Serialize, Serializer};

use super::{Kind, Schema};
use crate::error::{Error, Result};

/// The metadata of one table.
#[derive(Serialize)]
struct Metadata<'s> {
    #[serde(rename = "METADATA_SPEC_VERSION")]
    version: &'static str,
    columns: Columns<'s>,
}

/// The attributes of a schema, in its order.
struct Columns<'s>(&'s Schema);

impl Serialize for Columns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let columns = self.0.attributes();
        serializer
            .collect_map(columns.map(|column| (&column.name, Column::of(column.kind.as_ref()))))
    }
}

#[derive(Serialize)]
struct Column {
    sdtype: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    computer_representation: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    datetime_format: Option<&'static str>,
}

impl Column {
    fn of(kind: Option<&Kind>) -> Self {
        let plain = |sdtype| Self { sdtype, computer_representation: None, datetime_format: None };
        match kind {
            Some(Kind::Numeric(bins)) => Self {
                computer_representation: Some(if bins.is_integer() { "Int64" } else { "Float" }),
                ..plain("numerical")
            },
            Some(Kind::Date(_)) => Self { datetime_format: Some("%Y-%m-%d"), ..plain("datetime") },
            _ => plain("categorical"),
        }
    }
}

impl Schema {
    /// The metadata of one table as SDV and its metrics take it, `SINGLE_TABLE_V1`: the text of a JSON file, indented, with the
    /// attributes alone. Weights, identifiers and constants are in no synthetic table.
    ///
    /// # Errors
    /// None in practice: the serializer's own.
    ///
    /// ```
    /// use jointly::Schema;
    /// let schema = Schema::from_json(r#"{"columns": [{"name": "age", "kind": "numeric", "edges": [0, 18, 120]}]}"#, "it")?;
    /// assert!(schema.to_sdv_metadata()?.contains(r#""sdtype": "numerical""#));
    /// # Ok::<(), jointly::Error>(())
    /// ```
    pub fn to_sdv_metadata(&self) -> Result<String> {
        let metadata = Metadata { version: "SINGLE_TABLE_V1", columns: Columns(self) };
        serde_json::to_string_pretty(&metadata).map_err(|error| {
            Error::invalid_specification("schema", error.to_string(), "a writable schema")
        })
    }
}
