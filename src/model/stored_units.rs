//! Units whose rows stay together, in the file of a model.

use serde::{Deserialize, Serialize};

use crate::data::{Members, Units};
use crate::domain::Schema;
use crate::error::{Error, Result};

/// Units whose rows stay together.
#[derive(Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "units {\"unit\": NAME, \"max_records\": K, \"columns\": [...]}"
)]
pub(super) struct StoredUnits {
    unit: String,
    max_records: u32,
    columns: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    members: Option<StoredMembers>,
}

/// The columns of members, where a unit is one record.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "members {\"columns\": [...], \"order\": NAME}")]
struct StoredMembers {
    columns: Vec<String>,
    order: String,
}

impl StoredUnits {
    pub(super) fn new(units: &Units) -> Self {
        let columns = units.agree().unwrap_or_default().to_vec();
        let members = units.members().map(|members| StoredMembers {
            columns: members.columns().to_vec(),
            order: members.order().to_owned(),
        });
        Self { unit: units.column().to_owned(), max_records: units.most(), columns, members }
    }

    /// The units, if their attributes are those of the schema.
    pub(super) fn checked(self, schema: &Schema) -> Result<Units> {
        let domain = schema.domain();
        let units = Units::new(self.unit, self.max_records)?.linked(self.columns)?;
        let size = domain.cells(&domain.clique(&[units.size_name()])?).unwrap_or(u64::MAX);
        if u64::from(self.max_records) != size {
            let found = format!("units of at most {} records", self.max_records);
            let expected = format!("{size}, the values of '{}'", units.size_name());
            return Err(Error::invalid_specification("member 'linked'", found, expected));
        }
        // Members may share no column.
        if let Some(agree) = units.agree().filter(|agree| !agree.is_empty()) {
            domain.clique(agree)?;
        }
        let Some(StoredMembers { columns, order }) = self.members else { return Ok(units) };
        for member in 1..=units.most() {
            let names = columns.iter().map(|column| Members::name_of(column, member));
            domain.clique(&names.collect::<Vec<_>>())?;
        }
        Ok(units.with_members(columns, order)?)
    }
}
