//! Records of which some attributes are known, completed.

use rand::rngs::ChaCha20Rng;
use rand::{Rng, SeedableRng};
use rayon::prelude::*;

use crate::data::{Column, Dataset};
use crate::domain::Clique;
use crate::error::{CommonError, Error, Result};
use crate::model::{Completion, Evidence, Model, Sampling};

impl Model {
    /// Draws the attributes that some records lack, each record from the model's exact distribution given its known values.
    /// Of a graphical model, all records are drawn by one plan where its tables are not too large
    /// ([`MarkovRandomField::complete`](crate::model::MarkovRandomField::complete)); otherwise records with equal values share
    /// one conditional model. The result has the lacking attributes, in the domain's order, and the records in the order of
    /// `known`.
    ///
    /// `known`: records over some of the model's attributes. `impossible`: the error of a record whose values no record of
    /// the model has together, by its position and the first attribute that contradicts those before it.
    ///
    /// # Errors
    /// No attribute that lacks, an attribute that the model does not have or with other values, or that of `impossible`.
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
    /// let impossible = |_, _: &str| CommonError::EmptyModel { reason: String::new() }.into();
    /// let drawn = model.complete(&known, &mut ChaCha20Rng::seed_from_u64(1), &impossible)?;
    /// assert_eq!([0, 1, 2].map(|record| drawn.row(record)), [[2], [0], [2]]);
    /// # Ok::<(), jointly::Error>(())
    /// ```
    pub fn complete<R: Rng + ?Sized>(
        &self,
        known: &Dataset,
        rng: &mut R,
        impossible: &(dyn Fn(usize, &str) -> Error + Sync),
    ) -> Result<Dataset> {
        let names: Vec<&str> =
            known.domain().attributes().iter().map(|a| a.name.as_str()).collect();
        let own = self.domain().clique(&names)?;
        let lacking: Vec<usize> =
            (0..self.domain().len()).filter(|attribute| !own.contains(*attribute)).collect();
        if lacking.is_empty() {
            let expected = "a table that lacks at least one attribute of the model";
            return Err(Error::invalid_specification("records to complete", "all", expected));
        }
        if let Some(Completion { mut columns, without_mass }) = self.at_once(known, &own, rng)? {
            if !without_mass.is_empty() {
                let of_record = |row: usize, name: &str| {
                    impossible(without_mass.get(row).map_or(0, |record| *record as usize), name)
                };
                let rest = known.take(&without_mass);
                let rest = self.one_by_one(&rest, &lacking, rng, &of_record)?;
                for (attribute, drawn) in lacking.iter().zip(rest.columns()) {
                    for (record, code) in without_mass.iter().zip(drawn.iter()) {
                        columns[*attribute][*record as usize] = code;
                    }
                }
            }
            let columns = columns.into_iter().zip(self.domain().attributes());
            let columns = columns.map(|(codes, attribute)| {
                Ok(Column::from_codes(codes, attribute.cardinality as usize)?)
            });
            let all = Dataset::new(self.domain().clone(), columns.collect::<Result<_>>()?)?;
            return Ok(all.select(&lacking)?);
        }
        self.one_by_one(known, &lacking, rng, impossible)
    }

    /// All records by one plan of a graphical model; `None` for other models, for tables that are too large, and for records
    /// that do not fit the model.
    fn at_once<R: Rng + ?Sized>(
        &self,
        known: &Dataset,
        own: &Clique,
        rng: &mut R,
    ) -> Result<Option<Completion>> {
        let Some(field) = self.as_markov_random_field() else { return Ok(None) };
        let domain = field.domain();
        let mut columns = vec![Vec::new(); domain.len()];
        for (attribute, column) in known.domain().attributes().iter().zip(known.columns()) {
            let Some(place) = domain.position(&attribute.name) else { return Ok(None) };
            if domain.cardinality(place) != attribute.cardinality as usize {
                return Ok(None);
            }
            columns[place] = column.iter().collect();
        }
        if known.records() == 0 {
            return Ok(None);
        }
        Ok(field.complete(own, columns, known.records(), rng.next_u64())?)
    }

    /// Each record from a conditional model, which records with equal values share.
    fn one_by_one<R: Rng + ?Sized>(
        &self,
        known: &Dataset,
        lacking: &[usize],
        rng: &mut R,
        impossible: &(dyn Fn(usize, &str) -> Error + Sync),
    ) -> Result<Dataset> {
        let names: Vec<&str> =
            known.domain().attributes().iter().map(|a| a.name.as_str()).collect();
        let members = known.members(&Clique::new(0..names.len()))?;
        let groups: Vec<(Vec<u32>, Vec<u32>, u64)> =
            members.into_iter().map(|(codes, records)| (codes, records, rng.next_u64())).collect();
        let drawn = groups.par_iter().map(|(codes, records, seed)| {
            let given = self.given_values(&names, codes)?.map_err(|attribute| {
                let record = records.first().map_or(0, |record| *record as usize);
                impossible(record, attribute)
            })?;
            let mut rng = ChaCha20Rng::seed_from_u64(*seed);
            Ok(given.sample(records.len(), Sampling::Independent, &mut rng)?.select(lacking)?)
        });
        // Of several errors the first, whichever thread was faster.
        let drawn: Vec<Result<Dataset>> = drawn.collect();
        let drawn: Vec<Dataset> = drawn.into_iter().collect::<Result<_>>()?;
        let mut drawn = drawn.into_iter();
        let Some(mut all) = drawn.next() else {
            let expected = "at least one record";
            return Err(Error::invalid_specification("records to complete", "none", expected));
        };
        for block in drawn {
            all.append(&block)?;
        }
        // They are in the order of the groups.
        let mut places = vec![0; known.records()];
        let records = groups.iter().flat_map(|(_, records, _)| records);
        for (place, record) in (0_u32..).zip(records) {
            places[*record as usize] = place;
        }
        Ok(all.take(&places))
    }

    /// The distribution given one value of each of some attributes, or the name of the first one that contradicts those
    /// before it.
    fn given_values<'n>(
        &self,
        names: &[&'n str],
        codes: &[u32],
    ) -> Result<std::result::Result<Self, &'n str>> {
        let first = |length: usize| -> Result<Option<Self>> {
            let known = names.iter().zip(codes).take(length);
            let known = known.map(|(name, code)| (*name, vec![*code]));
            match self.given(&Evidence::new(self.domain(), known)?) {
                Ok(given) => Ok(Some(given)),
                Err(Error::Common(CommonError::EmptyModel { .. })) => Ok(None),
                Err(error) => Err(error),
            }
        };
        if let Some(given) = first(names.len())? {
            return Ok(Ok(given));
        }
        for length in 1..names.len() {
            if first(length)?.is_none() {
                return Ok(Err(names[length - 1]));
            }
        }
        Ok(Err(names.last().copied().unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests;
