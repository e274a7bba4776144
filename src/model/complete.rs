//! Records of which some attributes are known, completed.

use rand::Rng;

use crate::data::{Column, Dataset};
use crate::domain::{Clique, StructuralZero};
use crate::error::{CommonError, Error, Result};
use crate::model::donors::{Donors, Lacking};
use crate::model::{Completion, Model, Sampling, WeightedSupport};

/// Records of a model that are listed where it is not known in another form what completes a record.
const LISTED: usize = 1 << 20;

/// What happens to records whose known values no record of the model has together: gets their positions and an attribute without
/// whose values there are some. Where it returns `Ok`, they are completed without regard to them.
pub type Contradicted<'c> = dyn Fn(&[u32], &str) -> Result<()> + 'c;

impl Model {
    /// Draws the attributes that some records lack, each record independently of the others.
    ///
    /// Of a graphical model, they come from its exact distribution given the known values
    /// ([`MarkovRandomField::complete`](crate::model::MarkovRandomField::complete)). Of a list, a record takes them from a listed
    /// one with its known values, or, where there is none, with those that say most about the others; so it does of 2²⁰ records
    /// drawn from a model of another kind, or from a graphical one whose tables are too large, or where it has no mass for what is
    /// known. The result has the lacking attributes, in the domain's order, and the records in the order of `known`.
    ///
    /// `known`: records over some of the model's attributes. `unlikely`: combinations that records are to have only where no draw
    /// of many is without. `is_population`: whether the records stand for the population that the model is of, and not for a part
    /// of it: listed records then have weights with which each lacking attribute has the model's own marginal.
    ///
    /// # Errors
    /// No attribute that lacks, an attribute that the model does not have or with other values, a record that has a forbidden
    /// combination whatever it gets, or that of `contradicted`.
    ///
    /// ```
    /// use jointly::{CommonError, data::Dataset, domain::Domain};
    /// use jointly::model::{Model, WeightedSupport};
    /// use rand::{SeedableRng, rngs::ChaCha20Rng};
    /// let domain = Domain::new([("a", 2), ("b", 3)])?;
    /// // In the model, b is 2 where a is 1.
    /// let support = Dataset::from_rows(domain.clone(), &[[0, 0], [1, 2]])?;
    /// let model = Model::from(WeightedSupport::new(&support, vec![1.0, 1.0], 2.0)?);
    /// let known = Dataset::from_rows(Domain::new([("a", 2)])?, &[[1], [0], [1]])?;
    /// let refused = |_: &[u32], _: &str| Err(CommonError::EmptyModel { reason: String::new() }.into());
    /// let drawn = model.complete(&known, &[], false, &mut ChaCha20Rng::seed_from_u64(1), &refused)?;
    /// assert_eq!([0, 1, 2].map(|record| drawn.row(record)), [[2], [0], [2]]);
    /// # Ok::<(), jointly::Error>(())
    /// ```
    pub fn complete<R: Rng + ?Sized>(
        &self,
        known: &Dataset,
        unlikely: &[StructuralZero],
        is_population: bool,
        rng: &mut R,
        contradicted: &Contradicted<'_>,
    ) -> Result<Dataset> {
        let names: Vec<&str> =
            known.domain().attributes().iter().map(|a| a.name.as_str()).collect();
        let own = self.domain().clique(&names)?;
        let lacking = self.domain().everything().difference(&own);
        if lacking.is_empty() {
            let expected = "a table that lacks at least one attribute of the model";
            return Err(Error::invalid_specification("records to complete", "all", expected));
        }
        // What is known alone decides about the others.
        let others = unlikely.iter().filter(|zero| !zero.clique().is_subset(&own));
        let unlikely = &others.cloned().collect::<Vec<StructuralZero>>()[..];
        let mut columns = self.placed(known)?;
        let records = known.records();
        let seed = rng.next_u64();
        let of_graph = match self.as_markov_random_field() {
            Some(field) => field.complete(&own, columns.clone(), records, unlikely, seed)?,
            None => None,
        };
        let everything = || (0_u32..).zip(0..records).map(|(record, _)| record).collect();
        let left: Vec<u32> = match of_graph {
            Some(Completion { columns: drawn, left }) => {
                columns = drawn;
                left
            }
            None => everything(),
        };
        if !left.is_empty() {
            let drawn =
                if self.as_weighted_support().is_none() { Some(self.listed(rng)?) } else { None };
            let list = drawn.as_ref().or(self.as_weighted_support());
            if let Some(list) = list {
                let is_population = is_population && left.len() == records;
                let lacking = Lacking { columns: &columns, known: &own, unlikely, is_population };
                let Donors { listed, left_out, impossible } = list.donors(left, &lacking, rng)?;
                for (attribute, records) in left_out {
                    contradicted(&records, self.domain().name(attribute))?;
                }
                if !impossible.is_empty() {
                    contradicted(&impossible, names.first().copied().unwrap_or_default())?;
                    let number = impossible.len();
                    let reason = format!("{number} rows to complete have a forbidden combination");
                    return Err(CommonError::EmptyModel { reason }.into());
                }
                take(&mut columns, list, &listed, &own, records);
            }
        }
        let columns = columns.into_iter().zip(self.domain().attributes());
        let columns = columns
            .map(|(codes, own)| Ok(Column::from_codes(codes, own.cardinality as usize)?))
            .collect::<Result<_>>()?;
        Ok(Dataset::new(self.domain().clone(), columns)?.select(lacking.attributes())?)
    }

    /// The positions of records whose known values no record of a graphical model has together, or that have, in each of many draws, a
    /// combination that fits leave to draws; none of another model, and none where its tables are too large to tell.
    ///
    /// # Errors
    /// An attribute that the model does not have or with other values, or no record.
    ///
    /// ```
    /// use jointly::{data::Dataset, domain::Domain, model::{MarkovRandomField, Model}};
    /// let domain = Domain::new([("a", 2), ("b", 2), ("c", 2)])?.forbid([vec![("a", vec![1]), ("b", vec![1])]])?;
    /// let model = Model::from(MarkovRandomField::uniform(&domain, 1.0)?);
    /// let known = Dataset::from_rows(Domain::new([("a", 2), ("b", 2)])?, &[[1, 0], [1, 1]])?;
    /// assert_eq!(model.without_mass(&known)?, [1]);
    /// # Ok::<(), jointly::Error>(())
    /// ```
    pub fn without_mass(&self, known: &Dataset) -> Result<Vec<u32>> {
        let columns = self.placed(known)?;
        let is_known = |a: &usize| !columns[*a].is_empty();
        let own = Clique::new((0..columns.len()).filter(is_known));
        let Some(field) = self.as_markov_random_field() else { return Ok(Vec::new()) };
        let drawn = field.complete(&own, columns, known.records(), &[], 0)?;
        Ok(drawn.map_or_else(Vec::new, |drawn| drawn.left))
    }

    /// The codes of some records by the positions of this model's attributes; none for those that they lack.
    fn placed(&self, known: &Dataset) -> Result<Vec<Vec<u32>>> {
        let domain = self.domain();
        let mut columns = vec![Vec::new(); domain.len()];
        for (attribute, column) in known.domain().attributes().iter().zip(known.columns()) {
            let place = domain.position(&attribute.name);
            let place = place.filter(|at| domain.attributes()[*at] == *attribute);
            let Some(place) = place else {
                let (name, size) = (&attribute.name, attribute.cardinality);
                let found = format!("the attribute '{name}' with {size} values");
                let expected = "attributes as in the model";
                return Err(Error::invalid_specification("records to complete", found, expected));
            };
            columns[place] = column.iter().collect();
        }
        if known.records() == 0 {
            let expected = "at least one record";
            return Err(Error::invalid_specification("records to complete", "none", expected));
        }
        Ok(columns)
    }

    /// Records of the model, as a list.
    fn listed<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<WeightedSupport> {
        let rows = self.sample(LISTED, Sampling::Independent, rng)?;
        WeightedSupport::new(&rows, vec![1.0; rows.records()], self.total())
    }
}

/// Gives records the columns that they lack from listed ones.
///
/// `listed`: records, each with its donor.
fn take(
    columns: &mut [Vec<u32>],
    list: &WeightedSupport,
    listed: &[(u32, u32)],
    known: &Clique,
    records: usize,
) {
    for (attribute, column) in columns.iter_mut().enumerate().filter(|(a, _)| !known.contains(*a)) {
        let codes: Vec<u32> = list.rows().columns()[attribute].iter().collect();
        column.resize(records, 0);
        for (record, donor) in listed {
            column[*record as usize] = codes[*donor as usize];
        }
    }
}

#[cfg(test)]
mod tests;
