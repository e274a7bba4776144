//! New codes for old ones.

use crate::data::{Column, Dataset};
use crate::domain::Domain;
use crate::error::{Error, Result};

/// New codes for the old ones of some attributes. Each record gets its new codes from its own old ones, so that tables that
/// differ in a record still do.
///
/// ```
/// use jointly_pgm::data::{Dataset, Recoding};
/// use jointly_pgm::domain::Domain;
/// let (three, two) = (Domain::new([("sex", 2), ("age", 3)])?, Domain::new([("sex", 2), ("age", 2)])?);
/// let young_or_not = Recoding::new(three.clone(), two.clone(), vec![None, Some(vec![0, 1, 1])])?;
/// let table = Dataset::from_rows(three, &[[1, 0], [0, 2]])?;
/// assert_eq!(table.recoded(&young_or_not)?, Dataset::from_rows(two, &[[1, 0], [0, 1]])?);
/// # Ok::<(), jointly_pgm::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recoding {
    from: Domain,
    to: Domain,
    codes: Vec<Option<Vec<u32>>>,
}

impl Recoding {
    /// `codes`: for each attribute, the new code of each old one; `None` for an attribute that stays as it is.
    ///
    /// # Errors
    /// Domains of other attributes, or codes that do not lead from one domain to the other.
    pub fn new(from: Domain, to: Domain, codes: Vec<Option<Vec<u32>>>) -> Result<Self> {
        if from.len() != to.len() || codes.len() != from.len() {
            let found = format!("{} and {} attributes, {} maps", from.len(), to.len(), codes.len());
            return Err(Error::invalid_specification("recoding", found, "as many of each"));
        }
        let pairs = from.attributes().iter().zip(to.attributes());
        for (attribute, ((old, new), map)) in pairs.zip(&codes).enumerate() {
            let (old_size, new_size) = (from.cardinality(attribute), to.cardinality(attribute));
            let leads = match map {
                None => old_size == new_size,
                Some(map) => {
                    map.len() == old_size && map.iter().all(|code| (*code as usize) < new_size)
                }
            };
            if old.name != new.name || !leads {
                let place = format!("recoding of '{}'", old.name);
                let found = format!("codes that do not lead to '{}'", new.name);
                let expected = format!("{old_size} codes below {new_size} of the same attribute");
                return Err(Error::invalid_specification(place, found, expected));
            }
        }
        Ok(Self { from, to, codes })
    }

    /// The attributes of the recoded records.
    pub fn domain(&self) -> &Domain {
        &self.to
    }

    /// Number of attributes that get new codes.
    pub fn attributes(&self) -> usize {
        self.codes.iter().flatten().count()
    }
}

impl Dataset {
    /// The same records under new codes. Attributes are found by their names: the table may have fewer, or others, which
    /// stay as they are.
    ///
    /// # Errors
    /// An attribute of another number of values than the recoding's.
    pub fn recoded(&self, recoding: &Recoding) -> Result<Self> {
        let Recoding { from, to, codes } = recoding;
        let (mut attributes, mut columns) = (Vec::new(), Vec::new());
        for (attribute, column) in self.domain().attributes().iter().zip(self.columns()) {
            let position = from.position(&attribute.name);
            let map = position.and_then(|own| codes.get(own)?.as_ref());
            let (Some(position), Some(map)) = (position, map) else {
                attributes.push((attribute.name.clone(), attribute.cardinality));
                columns.push(column.clone());
                continue;
            };
            if attribute.cardinality as usize != map.len() {
                let place = format!("table to recode, '{}'", attribute.name);
                let found = format!("{} values", attribute.cardinality);
                return Err(Error::invalid_specification(place, found, map.len().to_string()));
            }
            let code = |code: u32| map.get(code as usize).copied().unwrap_or(u32::MAX);
            let values = to.attributes()[position].cardinality;
            attributes.push((attribute.name.clone(), values));
            columns.push(Column::from_codes(column.iter().map(code), values as usize)?);
        }
        let domain = Domain::new(attributes)?;
        let domain = if domain.attributes() == to.attributes() { to.clone() } else { domain };
        Self::new(domain, columns)
    }
}

#[cfg(test)]
mod tests;
