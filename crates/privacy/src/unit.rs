//! The unit of privacy.

use crate::error::{CommonError, Error, Result};
use crate::{NeighboringRelation, RecordsPerUnit};

/// What differs between neighboring tables: a record, or a unit of records identified by a column of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrivacyUnit {
    relation: NeighboringRelation,
    units: Option<Units>,
}

impl PrivacyUnit {
    /// A record that is replaced by another one, or added or removed.
    pub fn of_record(relation: NeighboringRelation) -> Self {
        Self { relation, units: None }
    }

    /// A unit of several records that are all added or removed together.
    ///
    /// # Errors
    /// More than [`RecordsPerUnit::MAX`] records per unit.
    pub fn of_units(units: Units) -> Result<Self> {
        let records = RecordsPerUnit::new(units.most())?;
        Ok(Self { relation: NeighboringRelation::AddRemoveUnit(records), units: Some(units) })
    }

    /// The relation between neighboring tables.
    pub fn relation(&self) -> NeighboringRelation {
        self.relation
    }

    /// The column that identifies the units, and the maximum number of records counted per unit.
    pub fn units(&self) -> Option<&Units> {
        self.units.as_ref()
    }
}

/// The column that names the unit of each record, and how many records of a unit count: the first ones in the file.
/// Further records are dropped while reading, so nothing is ever computed from them.
///
/// With this limit, adding or removing one unit changes at most that many records. The number of dropped records is
/// private.
///
/// ```
/// use jointly_privacy::Units;
/// assert!(Units::new("SERIALNO", 4).is_ok() && Units::new("SERIALNO", 0).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Units {
    column: String,
    most: u32,
    agree: Option<Vec<String>>,
}

impl Units {
    /// `column`: its name in the header; it must not be an attribute. `most`: records of a unit, at least 1.
    ///
    /// # Errors
    /// No record.
    pub fn new(column: impl Into<String>, most: u32) -> Result<Self> {
        if most == 0 {
            return Err(Error::invalid_parameter("max records", most, "1 to 32"));
        }
        Ok(Self { column: column.into(), most, agree: None })
    }

    /// The same units, whose rows stay together: each record gets the number of records of its unit as one more attribute,
    /// [`size_name`](Self::size_name), and synthetic records come as units whose rows agree on these columns.
    ///
    /// The attribute counts the records that count, 1 to [`most`](Self::most). It depends on the records of the unit
    /// alone, so adding or removing a unit still changes that unit's records only.
    ///
    /// # Errors
    /// A column twice, or units of more than 65,536 records.
    pub fn linked<N: Into<String>>(mut self, columns: impl IntoIterator<Item = N>) -> Result<Self> {
        const MOST: u32 = 1 << 16;
        if self.most > MOST {
            let expected = "at most 65,536 where rows stay together";
            return Err(Error::invalid_parameter("records per unit", self.most, expected));
        }
        let columns: Vec<String> = columns.into_iter().map(Into::into).collect();
        for (i, name) in columns.iter().enumerate() {
            if columns[..i].contains(name) {
                let (name, place) = (name.clone(), "the unit columns".to_owned());
                return Err(CommonError::DuplicateAttribute { name, place }.into());
            }
        }
        self.agree = Some(columns);
        Ok(self)
    }

    /// The columns on which the rows of a synthetic unit agree; `None` if rows do not stay together.
    pub fn agree(&self) -> Option<&[String]> {
        self.agree.as_deref()
    }

    /// Name of the attribute with the number of records of the unit, where rows stay together.
    pub fn size_name(&self) -> String {
        format!("{}.records", self.column)
    }

    /// Name of the column.
    pub fn column(&self) -> &str {
        &self.column
    }

    /// Records of a unit that count, at most.
    pub fn most(&self) -> u32 {
        self.most
    }
}
