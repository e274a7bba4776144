//! Drawn records joined into units, such as households.
//!
//! Drawn records that agree on the number s of records of their unit and on the unit's columns are dealt out in random
//! order to units of s records each. Of such a group r < s records may be left over. A unit is made of them with
//! probability r/s, and the records that it lacks are drawn from the model given these values; otherwise they are left
//! out. So the expected number of records of every group is the drawn one. The remainders are rounded by one systematic
//! draw over all groups, in the order of s, so that the numbers of units of every size, and of records in all, are off by
//! rounding only.

use std::collections::BTreeMap;

use rand::rngs::ChaCha20Rng;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};
use rayon::prelude::*;

use crate::data::{Dataset, Units};
use crate::domain::Clique;
use crate::error::{CommonError, Error, Result};
use crate::model::{Evidence, Model, Sampling};

/// Records that come as units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedRows {
    /// The records, over the model's domain.
    pub rows: Dataset,
    /// The number of each record's unit: from 0 and without gaps, the records of a unit one after another.
    pub numbers: Vec<u32>,
}

/// A unit in the making: drawn records, and how many more it needs.
struct Unit {
    records: Vec<u32>,
    lacking: usize,
}

/// A group of records of equal size and columns of their units: these codes, and the drawn records.
struct Group {
    codes: Vec<u32>,
    /// Records of each unit.
    size: usize,
    records: Vec<u32>,
}

impl Model {
    /// Joins records that were drawn from this model into units. All rows of a unit agree on the number of its rows and on
    /// the columns of [`Units::agree`]. Given these, they are independent in the model. It costs no privacy.
    ///
    /// The number of records changes by less than twice the largest size of a unit. At least one unit is made. If a unit is one
    /// record ([`Units::with_members`]), there is nothing to join.
    ///
    /// `records`: over the model's domain, as of [`rows`](Self::rows). `units`: those of the records from which the model
    /// was made.
    ///
    /// # Errors
    /// Records over another domain, a model without the attribute [`Units::size_name`] or a column of [`Units::agree`], or
    /// more than 2³² - 1 records.
    ///
    /// ```
    /// use jointly::{data::{Dataset, Units}, domain::Domain, model::{Drawing, Model, Refinement, WeightedSupport}};
    /// use rand::{SeedableRng, rngs::ChaCha20Rng};
    /// let domain = Domain::new([("type", 2), ("age", 3), ("home.records", 2)])?;
    /// let model = Model::from(WeightedSupport::all_cells(&domain, 100.0)?);
    /// let mut rng = ChaCha20Rng::seed_from_u64(1);
    /// let drawn = model.rows(100, Drawing::Refined, &Refinement::default(), &mut rng)?;
    /// let units = Units::new("home", 2)?.linked(["type"])?;
    /// let linked = model.link(&drawn, &units, &mut rng)?;
    /// for pair in linked.numbers.windows(2).zip(0..).filter(|(pair, _)| pair[0] == pair[1]) {
    ///     let [one, other] = [pair.1, pair.1 + 1].map(|record| linked.rows.row(record));
    ///     assert!(one[0] == other[0] && one[2] == 1 && other[2] == 1);
    /// }
    /// # Ok::<(), jointly::Error>(())
    /// ```
    pub fn link<R: Rng + ?Sized>(
        &self,
        records: &Dataset,
        units: &Units,
        rng: &mut R,
    ) -> Result<LinkedRows> {
        self.domain().check_same(records.domain(), "records to link")?;
        if units.members().is_some() {
            let numbers = (0..).take(records.records()).collect();
            return Ok(LinkedRows { rows: records.clone(), numbers });
        }
        let shared = self.shared(units)?;
        let groups = groups(records, &shared, self.size_attribute(units)?, rng)?;
        let (mut made, open) = deal(&groups, rng);
        let extra = self.missing(&groups, &open, &shared, records.records(), rng)?;
        let mut all = records.clone();
        let mut next = u32::try_from(records.records()).unwrap_or(u32::MAX);
        for ((group, mut unit), extra) in open.into_iter().zip(extra) {
            if let Some(extra) = extra {
                let extra = Dataset::new(self.domain().clone(), extra.columns().to_vec())?;
                all.append(&extra)?;
                unit.records.extend((next..).take(unit.lacking));
                next = next.saturating_add(u32::try_from(unit.lacking).unwrap_or(u32::MAX));
            } else {
                // Refining made a combination to which the model gives no weight: its records come again.
                let own = unit.records.clone();
                unit.records.extend(own.iter().cycle().take(unit.lacking));
            }
            debug_assert_eq!(unit.records.len(), groups[group].size, "a unit is complete");
            made.push(unit.records);
        }
        made.shuffle(rng);
        let numbers = (0_u32..).zip(&made);
        let numbers = numbers.flat_map(|(number, unit)| unit.iter().map(move |_| number)).collect();
        Ok(LinkedRows { rows: all.take(&made.concat()), numbers })
    }

    /// The attribute with the number of records of the unit.
    fn size_attribute(&self, units: &Units) -> Result<usize> {
        let name = units.size_name();
        Ok(self
            .domain()
            .position(&name)
            .ok_or_else(|| self.domain().unknown(&name, "the model"))?)
    }

    /// The attributes on which the rows of a unit agree.
    fn shared(&self, units: &Units) -> Result<Clique> {
        let agree = self.domain().clique(units.agree().unwrap_or_default())?;
        Ok(Clique::new(agree.iter().chain([self.size_attribute(units)?])))
    }

    /// The records that units lack, drawn given the columns of their units; `None` where the model has no such record.
    ///
    /// Most of them come from independent records of the model, the first ones with these columns, which is the same
    /// distribution and costs less than a conditional model for every combination.
    fn missing<R: Rng + ?Sized>(
        &self,
        groups: &[Group],
        open: &[(usize, Unit)],
        shared: &Clique,
        records: usize,
        rng: &mut R,
    ) -> Result<Vec<Option<Dataset>>> {
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let drawn = self.sample(records, Sampling::Independent, rng)?;
        let found = drawn.members(shared)?;
        let seeds: Vec<u64> = open.iter().map(|_| rng.next_u64()).collect();
        let names: Vec<&str> = shared.iter().map(|a| self.domain().name(a)).collect();
        open.par_iter()
            .zip(seeds)
            .map(|((group, unit), seed)| {
                let codes = &groups[*group].codes;
                let found = found.get(codes).map_or(&[][..], Vec::as_slice);
                let found = &found[..unit.lacking.min(found.len())];
                let left = unit.lacking - found.len();
                let mut rows = drawn.take(found);
                if left > 0 {
                    let known = names.iter().zip(codes).map(|(name, code)| (*name, vec![*code]));
                    let given = match self.given(&Evidence::new(self.domain(), known)?) {
                        Ok(given) => given,
                        Err(Error::Common(CommonError::EmptyModel { .. })) => return Ok(None),
                        Err(error) => return Err(error),
                    };
                    let mut rng = ChaCha20Rng::seed_from_u64(seed);
                    let more = given.sample(left, Sampling::Independent, &mut rng)?;
                    // The conditional model forbids other values; the records are over the same attributes.
                    let more = Dataset::new(drawn.domain().clone(), more.columns().to_vec())?;
                    rows.append(&more)?;
                }
                Ok(Some(rows))
            })
            .collect()
    }
}

/// The records by their values of the shared attributes, small units first, each group in random order.
fn groups<R: Rng + ?Sized>(
    records: &Dataset,
    shared: &Clique,
    size: usize,
    rng: &mut R,
) -> Result<Vec<Group>> {
    let place = shared.iter().position(|attribute| attribute == size).unwrap_or(0);
    let members: BTreeMap<Vec<u32>, Vec<u32>> = records.members(shared)?;
    let group = |(codes, mut records): (Vec<u32>, Vec<u32>)| {
        records.shuffle(rng);
        Group { size: codes[place] as usize + 1, codes, records }
    };
    let mut groups: Vec<Group> = members.into_iter().map(group).collect();
    groups.sort_by_key(|group| group.size);
    Ok(groups)
}

/// The complete units, and those that lack records, with their groups: at most one for each group.
fn deal<R: Rng + ?Sized>(groups: &[Group], rng: &mut R) -> (Vec<Vec<u32>>, Vec<(usize, Unit)>) {
    let (mut made, mut open) = (Vec::new(), Vec::new());
    let mut threshold = rng.random::<f64>();
    let mut cumulated = 0.0;
    for (number, group) in groups.iter().enumerate() {
        let units = group.records.chunks_exact(group.size);
        let rest = units.remainder();
        made.extend(units.map(<[u32]>::to_vec));
        cumulated += rest.len() as f64 / group.size as f64;
        if cumulated > threshold {
            threshold += 1.0;
            let unit = Unit { records: rest.to_vec(), lacking: group.size - rest.len() };
            open.push((number, unit));
        }
    }
    if let (true, true, Some(first)) = (made.is_empty(), open.is_empty(), groups.first()) {
        let records = first.records.clone();
        let lacking = first.size - records.len();
        open.push((0, Unit { records, lacking }));
    }
    (made, open)
}

#[cfg(test)]
mod tests;
