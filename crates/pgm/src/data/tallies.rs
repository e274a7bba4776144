//! How many columns of a record have certain values.

use crate::data::{Column, Dataset};
use crate::domain::Domain;
use crate::error::{Error, Result};

/// An attribute of a record: the number of its columns that have certain values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Its name.
    pub name: String,
    /// The columns, by position, each with the codes that count. The attribute has one value more than there are columns.
    pub of: Vec<(usize, Vec<u32>)>,
}

/// Some attributes of a record and tallies of others, as a table of its own. Each record gets its tallies from its own codes,
/// so that tables that differ in a record still do.
///
/// ```
/// use jointly_pgm::data::{Dataset, Tallies, Tally};
/// use jointly_pgm::domain::Domain;
/// let couples = Domain::new([("size", 2), ("age.1", 3), ("age.2", 4)])?; // the last age: there is no second person
/// let young = Tally { name: "age<2".into(), of: vec![(1, vec![0, 1]), (2, vec![0, 1])] };
/// let tallies = Tallies::new(couples.clone(), [0], vec![young])?;
/// let table = Dataset::from_rows(couples, &[[0, 1, 3], [1, 2, 2], [1, 0, 1]])?;
/// assert_eq!(tallies.domain(), &Domain::new([("size", 2), ("age<2", 3)])?);
/// assert_eq!(table.tallied(&tallies)?, Dataset::from_rows(tallies.domain().clone(), &[[0, 1], [1, 0], [1, 2]])?);
/// # Ok::<(), jointly_pgm::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tallies {
    from: Domain,
    to: Domain,
    kept: Vec<usize>,
    /// Of each tally, the columns, and for each code whether it counts.
    counted: Vec<Vec<(usize, Vec<bool>)>>,
}

impl Tallies {
    /// `from`: the attributes of the records. `kept`: positions of those that stay. They come first, then the tallies.
    ///
    /// # Errors
    /// Positions or codes outside the domain, a column twice in a tally, or names twice.
    pub fn new(
        from: Domain,
        kept: impl IntoIterator<Item = usize>,
        tallies: Vec<Tally>,
    ) -> Result<Self> {
        let kept: Vec<usize> = kept.into_iter().collect();
        let outside = |position: usize| from.unknown(&format!("#{position}"), "tallies");
        let mut attributes = Vec::with_capacity(kept.len() + tallies.len());
        for position in &kept {
            let own = from.attributes().get(*position).ok_or_else(|| outside(*position))?;
            attributes.push((own.name.clone(), own.cardinality));
        }
        let mut counted = Vec::with_capacity(tallies.len());
        for Tally { name, of } in tallies {
            if from.position(&name).is_some() {
                let (place, expected) = (format!("tally '{name}'"), "another name");
                return Err(Error::invalid_specification(place, "an attribute's name", expected));
            }
            let mut columns: Vec<(usize, Vec<bool>)> = Vec::with_capacity(of.len());
            for (position, codes) in of {
                let own = from.attributes().get(position).ok_or_else(|| outside(position))?;
                let is_twice = columns.iter().any(|(other, _)| *other == position);
                if is_twice || codes.iter().any(|code| *code >= own.cardinality) {
                    let found = format!("a column twice, or a code that '{}' lacks", own.name);
                    let expected = "columns once each, with codes of their own";
                    return Err(Error::invalid_specification(
                        format!("tally '{name}'"),
                        found,
                        expected,
                    ));
                }
                let counts = (0..own.cardinality).map(|code| codes.contains(&code)).collect();
                columns.push((position, counts));
            }
            attributes.push((name, u32::try_from(columns.len()).unwrap_or(u32::MAX - 1) + 1));
            counted.push(columns);
        }
        Ok(Self { to: Domain::new(attributes)?, from, kept, counted })
    }

    /// The attributes that stay, and the tallies.
    pub fn domain(&self) -> &Domain {
        &self.to
    }
}

impl Dataset {
    /// The attributes that stay and the tallies of every record, in the same order of records.
    ///
    /// # Errors
    /// Tallies of another domain.
    pub fn tallied(&self, tallies: &Tallies) -> Result<Self> {
        let Tallies { from, to, kept, counted } = tallies;
        if self.domain().attributes() != from.attributes() {
            let expected = "the attributes that the tallies are of";
            return Err(Error::invalid_specification("table to tally", "others", expected));
        }
        let mut columns: Vec<Column> = Vec::with_capacity(to.len());
        columns.extend(kept.iter().map(|position| self.columns()[*position].clone()));
        for of in counted {
            let mut numbers = vec![0_u32; self.records()];
            for (position, counts) in of {
                let codes = self.columns()[*position].iter();
                numbers.iter_mut().zip(codes).for_each(|(number, code)| {
                    *number += u32::from(counts[code as usize]);
                });
            }
            columns.push(Column::from_codes(numbers, of.len() + 1)?);
        }
        Self::new(to.clone(), columns)
    }
}

#[cfg(test)]
mod tests;
