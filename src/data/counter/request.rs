//! What another program is asked to count.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::CountPlan;
use super::parts::StoredUnits;
use super::plan::VERSION;
use crate::data::Units;
use crate::error::{Error, Result};

/// A private table that another program is to count, as that program reads it from its standard input: one line of JSON. It
/// answers with [`CountedParts::to_bytes`](super::CountedParts::to_bytes) on its standard output.
///
/// ```
/// use jointly::{Schema, data::{CountPlan, CountRequest}, domain::Clique};
/// let schema = Schema::from_json(r#"{"sex": 2}"#, "domain.json")?;
/// let plan = CountPlan::new(&schema, &[Clique::new([0])])?;
/// let request = CountRequest { query: "SELECT * FROM 'people.parquet'".to_owned(), units: None, plan };
/// let read = CountRequest::from_json(&request.to_json()?)?;
/// assert_eq!((read.query, read.plan.cells()), (request.query, 2));
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CountRequest {
    /// The rows of the table, in SQL.
    pub query: String,
    /// The units of several records, of which only some are counted; `None` if every record is.
    pub units: Option<Units>,
    /// What to count.
    pub plan: CountPlan,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored<'a> {
    version: u32,
    query: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    units: Option<StoredUnits>,
    #[serde(borrow)]
    plan: &'a RawValue,
}

impl CountRequest {
    /// The request as JSON. It has nothing of any record.
    ///
    /// # Errors
    /// None in practice.
    pub fn to_json(&self) -> Result<String> {
        let unwritten = |error: serde_json::Error| {
            Error::invalid_specification("what to count", error.to_string(), "a writable request")
        };
        let plan = RawValue::from_string(self.plan.to_json()?).map_err(unwritten)?;
        let units = self.units.as_ref().map(StoredUnits::new);
        let stored = Stored { version: VERSION, query: self.query.clone(), units, plan: &plan };
        serde_json::to_string(&stored).map_err(unwritten)
    }

    /// A request that [`to_json`](Self::to_json) wrote.
    ///
    /// # Errors
    /// Another text, or of another version.
    pub fn from_json(text: &str) -> Result<Self> {
        const PLACE: &str = "what to count";
        let expected = "a request of jointly, of this version";
        let refused = |found: String| Error::invalid_specification(PLACE, found, expected);
        let stored: Stored<'_> =
            serde_json::from_str(text).map_err(|error| refused(error.to_string()))?;
        if stored.version != VERSION {
            return Err(refused(format!("version {}", stored.version)));
        }
        let units = stored.units.map(StoredUnits::units).transpose()?;
        let plan = CountPlan::from_json(stored.plan.get(), PLACE)?;
        Ok(Self { query: stored.query, units, plan })
    }
}
