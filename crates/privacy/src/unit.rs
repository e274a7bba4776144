//! The unit of privacy.

use serde::{Deserialize, Serialize};

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

    /// A unit of several records that are all added or removed together; or of one record that holds all of its members
    /// ([`Units::with_members`]).
    ///
    /// # Errors
    /// More than [`RecordsPerUnit::MAX`] records per unit.
    pub fn of_units(units: Units) -> Result<Self> {
        RecordsPerUnit::new(units.most())?;
        let records = RecordsPerUnit::new(units.records())?;
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

/// Which records of a unit count, if it has more than may count. Either way this depends on the records of that unit alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// The first ones in the file.
    #[default]
    First,
    /// Those with the smallest hashes of the unit's name and of the record's own values; records with equal hashes are ordered
    /// by their values. So records that are equal may stand for one another, and the order of the rows says nothing.
    Hash,
}

impl Keep {
    /// The names, each with its meaning.
    pub const NAMES: &'static [(&'static str, &'static str)] = &[
        ("first", "The first ones in the file"),
        ("hash", "Those with the smallest hashes, whatever the order of the rows"),
    ];

    /// Whether it is the default.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(crate) fn is_first(&self) -> bool {
        *self == Self::First
    }
}

/// The column that names the unit of each record, and how many records of a unit count: the first ones in the file, unless
/// [`keeping`](Self::keeping) says otherwise. Further records are dropped while reading, so nothing is ever computed from them.
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
    keep: Keep,
    agree: Option<Vec<String>>,
    members: Option<Members>,
}

/// The columns of a unit's members, and how these are ordered, where a unit is one record ([`Units::with_members`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    columns: Vec<String>,
    order: String,
}

impl Members {
    /// The columns of each member.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The column of numbers by which the members of a unit are ordered.
    pub fn order(&self) -> &str {
        &self.order
    }

    /// Name of the attribute with a column of one member. `member`: from 1.
    pub fn name_of(column: &str, member: u32) -> String {
        format!("{column}.{member}")
    }
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
        Ok(Self { column: column.into(), most, keep: Keep::First, agree: None, members: None })
    }

    /// The same units, of which other records count.
    ///
    /// ```
    /// use jointly_privacy::{Keep, Units};
    /// assert_eq!(Units::new("SERIALNO", 4)?.keeping(Keep::Hash).keep(), Keep::Hash);
    /// # Ok::<(), jointly_privacy::Error>(())
    /// ```
    #[must_use]
    pub fn keeping(self, keep: Keep) -> Self {
        Self { keep, ..self }
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

    /// The same units, each of which is one record: its columns on which rows agree, the number of its rows, and these
    /// columns of each of its members in order ([`Members::name_of`]). So what its members have in common is in the record, and
    /// adding or removing a unit changes one record, whatever the number of its rows.
    ///
    /// A unit of more rows than [`most`](Self::most) has the first ones in the order. `order`: a column of numbers; rows with
    /// equal numbers come as in the file.
    ///
    /// # Errors
    /// As [`linked`](Self::linked); no column, one that is a column of the unit, or that of the order.
    ///
    /// ```
    /// use jointly_privacy::{NeighboringRelation::AddRemoveUnit, PrivacyUnit, RecordsPerUnit, Units};
    /// let homes = Units::new("SERIALNO", 7)?.linked(["TEN"])?.with_members(["AGEP", "SEX"], "SPORDER")?;
    /// let unit = PrivacyUnit::of_units(homes)?;
    /// assert_eq!(unit.relation(), AddRemoveUnit(RecordsPerUnit::new(1)?));
    /// # Ok::<(), jointly_privacy::Error>(())
    /// ```
    pub fn with_members<N: Into<String>>(
        self,
        columns: impl IntoIterator<Item = N>,
        order: impl Into<String>,
    ) -> Result<Self> {
        let columns: Vec<String> = columns.into_iter().map(Into::into).collect();
        let order = order.into();
        let linked = if self.agree.is_some() { self } else { self.linked::<String>([])? };
        let shared = linked.agree.as_deref().unwrap_or_default();
        let refused = |found: String, expected: &str| {
            Err(Error::invalid_specification("the columns of members", found, expected))
        };
        if columns.is_empty() {
            return refused("none".to_owned(), "at least one");
        }
        for (i, name) in columns.iter().enumerate() {
            if columns[..i].contains(name) {
                let (name, place) = (name.clone(), "the columns of members".to_owned());
                return Err(CommonError::DuplicateAttribute { name, place }.into());
            }
            if shared.contains(name) {
                return refused(
                    format!("'{name}', a column of units"),
                    "columns that differ in a unit",
                );
            }
        }
        if columns.contains(&order) || shared.contains(&order) || order == linked.column {
            let found = format!("'{order}', by which they are ordered");
            return refused(found, "other columns than that of the order");
        }
        Ok(Self { members: Some(Members { columns, order }), ..linked })
    }

    /// The columns of members and their order, where a unit is one record.
    pub fn members(&self) -> Option<&Members> {
        self.members.as_ref()
    }

    /// The records of a unit, at most: one where it is one record, otherwise [`most`](Self::most).
    pub fn records(&self) -> u32 {
        if self.members.is_some() { 1 } else { self.most }
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

    /// Which records of a unit count.
    pub fn keep(&self) -> Keep {
        self.keep
    }

    /// Rows of a unit that count, at most.
    pub fn most(&self) -> u32 {
        self.most
    }
}
