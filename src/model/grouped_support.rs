//! Distributions over the same listed records, one for each group.

use std::sync::Arc;

use rand::Rng;

use crate::data::{Column, Dataset, MAX_TOTAL_CELLS};
use crate::domain::{Clique, Domain};
use crate::error::{CommonError, Error, Result};
use crate::model::stored_groups::StoredGroups;
use crate::model::{Distribution, Evidence, Model, Sampling, StoredForm, impossible};
use crate::table::Factor;
use jointly_pgm::model::sampling::deal_records;

/// One group of a [`GroupedSupport`], such as an area.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its code in each group attribute, in their order.
    pub codes: Vec<u32>,
    /// Number of records it stands for: finite, at least 0.
    pub size: f64,
    /// The weight of each listed record, not normalized; groups may share theirs.
    pub weights: Arc<Vec<f64>>,
}

/// Groups, each with a size and its own weights on listed records that all groups share: the model of hierarchical
/// prior-aware estimation (Tao et al. 2021, Algorithm 2).
///
/// The listed records have no group attributes; a record of the model is a group's codes and a listed record. The list
/// is held once, and the weights take 8 bytes per record and group.
///
/// ```
/// use std::sync::Arc;
/// use jointly::{data::Dataset, domain::{Clique, Domain}, model::{Distribution, Group, GroupedSupport}};
/// let domain = Domain::new([("a", 2), ("area", 2)])?;
/// let rows = Dataset::from_rows(Domain::new([("a", 2)])?, &[[0], [1]])?;
/// let group = |area, size, weights| Group { codes: vec![area], size, weights: Arc::new(weights) };
/// let groups = vec![group(0, 10.0, vec![1.0, 0.0]), group(1, 30.0, vec![1.0, 2.0])];
/// let model = GroupedSupport::new(&domain, &[1], rows, groups)?;
/// assert_eq!(model.marginals(&[Clique::new([0, 1])])?[0].values(), [10.0, 10.0, 0.0, 20.0]);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GroupedSupport {
    domain: Domain,
    /// The group attributes, outermost first.
    group_attributes: Vec<usize>,
    /// The other attributes, in the domain's order: those of the rows.
    row_attributes: Vec<usize>,
    rows: Dataset,
    groups: Vec<Group>,
    total: f64,
}

impl GroupedSupport {
    /// Groups over listed records.
    ///
    /// `group_attributes`: positions in the domain. `rows`: the other attributes, in the domain's order.
    ///
    /// # Errors
    /// Attributes that are not those of the domain; codes outside it; a group twice; sizes or weights that are negative
    /// or not finite, a number of weights other than that of records; a group with records but without weights; no
    /// records at all.
    pub fn new(
        domain: &Domain,
        group_attributes: &[usize],
        rows: Dataset,
        groups: Vec<Group>,
    ) -> Result<Self> {
        let own = Clique::new(group_attributes.iter().copied());
        let row_attributes: Vec<usize> = domain.everything().difference(&own).iter().collect();
        let wrong =
            |found: String, expected: &str| Error::invalid_specification("groups", found, expected);
        let is_same = |(own, there): (&usize, &crate::domain::Attribute)| {
            domain.attributes().get(*own) == Some(there)
        };
        let listed = rows.domain().attributes();
        if own.len() != group_attributes.len()
            || row_attributes.len() != listed.len()
            || !row_attributes.iter().zip(listed).all(is_same)
        {
            let found = format!("group attributes {own} beside {} others", listed.len());
            return Err(wrong(found, "every attribute of the domain once"));
        }
        let mut all: Vec<&[u32]> = groups.iter().map(|group| group.codes.as_slice()).collect();
        all.sort_unstable();
        if all.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(wrong("a group twice".into(), "distinct groups"));
        }
        let is_number = |x: &f64| x.is_finite() && *x >= 0.0;
        for Group { codes, size, weights } in &groups {
            let fits = |(code, a): (&u32, &usize)| (*code as usize) < domain.cardinality(*a);
            let has_codes = codes.len() == group_attributes.len()
                && codes.iter().zip(group_attributes).all(fits);
            let sum: f64 = weights.iter().sum();
            let has_weights = weights.len() == rows.records()
                && weights.iter().all(is_number)
                && sum.is_finite()
                && (sum > 0.0 || *size == 0.0);
            if !(has_codes && is_number(size) && has_weights) {
                let expected = "codes of the group attributes, a size, and a weight per record";
                return Err(wrong(format!("group {codes:?} of size {size}"), expected));
            }
        }
        let total = groups.iter().map(|group| group.size).sum::<f64>();
        if !(total > 0.0 && total.is_finite()) {
            let reason = format!("the sizes of the groups add up to {total}");
            return Err(CommonError::EmptyModel { reason }.into());
        }
        let (domain, group_attributes) = (domain.clone(), group_attributes.to_vec());
        Ok(Self { domain, group_attributes, row_attributes, rows, groups, total })
    }

    /// The group attributes, by position in the domain, outermost first.
    pub fn group_attributes(&self) -> &[usize] {
        &self.group_attributes
    }

    /// The groups.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The listed records, without the group attributes.
    pub fn rows(&self) -> &Dataset {
        &self.rows
    }

    /// The sources of the cells of a clique's marginal.
    fn place(&self, clique: &Clique) -> Result<Place> {
        if let Some(outside) = clique.iter().find(|a| *a >= self.domain.len()) {
            return Err(self.domain.unknown(&format!("#{outside}"), "a marginal of groups").into());
        }
        let cells = self.domain.cells(clique).unwrap_or(u64::MAX);
        let mut strides = vec![None; self.group_attributes.len()];
        let (mut own, mut offsets) = (Vec::new(), vec![0_usize]);
        let mut stride = usize::try_from(cells).unwrap_or(usize::MAX);
        for attribute in clique.iter() {
            let k = self.domain.cardinality(attribute);
            stride /= k.max(1);
            if let Some(level) = self.group_attributes.iter().position(|a| *a == attribute) {
                strides[level] = Some(stride);
                continue;
            }
            own.extend(self.row_attributes.iter().position(|a| *a == attribute));
            if cells <= MAX_TOTAL_CELLS {
                let codes = |offset: usize| (0..k).map(move |code| offset + code * stride);
                offsets = offsets.into_iter().flat_map(codes).collect();
            }
        }
        Ok(Place { cells, strides, local: Clique::new(own), offsets })
    }
}

/// Positions of the cells of a marginal, row-major over the clique.
struct Place {
    cells: u64,
    /// Cells from one code of each group attribute to the next; `None` if it is not in the clique.
    strides: Vec<Option<usize>>,
    /// The clique's other attributes, in terms of the rows.
    local: Clique,
    /// For each cell of the marginal on those, its place for codes 0 of the group attributes.
    offsets: Vec<usize>,
}

impl Distribution for GroupedSupport {
    fn domain(&self) -> &Domain {
        &self.domain
    }

    fn total(&self) -> f64 {
        self.total
    }

    /// Size in MiB: 8 bytes per record and group, and the codes; weights that groups share count once.
    fn size_mib(&self) -> f64 {
        let mut weights: Vec<*const Vec<f64>> =
            self.groups.iter().map(|group| Arc::as_ptr(&group.weights)).collect();
        weights.sort_unstable();
        weights.dedup();
        let width = |column: &Column| match column {
            Column::U8(_) => 1,
            Column::U16(_) => 2,
            Column::U32(_) => 4,
        };
        let bytes = 8 * weights.len() + self.rows.columns().iter().map(width).sum::<usize>();
        (bytes * self.rows.records()) as f64 / f64::from(1 << 20)
    }

    fn marginals(&self, cliques: &[Clique]) -> Result<Vec<Factor>> {
        let places = cliques.iter().map(|clique| self.place(clique)).collect::<Result<Vec<_>>>()?;
        let cells = places.iter().fold(0_u64, |sum, place| sum.saturating_add(place.cells));
        if cells > MAX_TOTAL_CELLS {
            return Err(Error::too_large(
                "marginals of groups",
                Some(cells as f64),
                MAX_TOTAL_CELLS as f64,
                "cells",
            ));
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most MAX_TOTAL_CELLS")]
        let empty = |place: &Place| vec![0.0; place.cells as usize];
        let mut tables: Vec<Vec<f64>> = places.iter().map(empty).collect();
        let (within, across): (Vec<usize>, Vec<usize>) =
            (0..cliques.len()).partition(|i| places[*i].strides.iter().any(Option::is_some));
        let mut add = |which: &[usize], codes: &[u32], counts: &[f64]| -> Result<()> {
            let local: Vec<Clique> = which.iter().map(|i| places[*i].local.clone()).collect();
            for (i, table) in which.iter().zip(self.rows.weighted_marginals(counts, &local)?) {
                let place = &places[*i];
                let steps = codes.iter().zip(&place.strides);
                let base: usize =
                    steps.map(|(code, stride)| *code as usize * stride.unwrap_or(0)).sum();
                for (offset, count) in place.offsets.iter().zip(table) {
                    tables[*i][base + offset] += count;
                }
            }
            Ok(())
        };
        let mut everyone = vec![0.0; self.rows.records()];
        for group in self.groups.iter().filter(|group| group.size > 0.0) {
            let scale = group.size / group.weights.iter().sum::<f64>();
            let counts: Vec<f64> = group.weights.iter().map(|weight| scale * weight).collect();
            everyone.iter_mut().zip(&counts).for_each(|(sum, count)| *sum += count);
            if !within.is_empty() {
                add(&within, &group.codes, &counts)?;
            }
        }
        if !across.is_empty() {
            add(&across, &[], &everyone)?;
        }
        let factors = cliques.iter().zip(tables);
        factors
            .map(|(clique, table)| Ok(Factor::new(&self.domain, clique.clone(), table)?))
            .collect()
    }

    /// Draws records: groups in proportion to their sizes, and records of the list by the group's weights.
    /// [`Sampling::Rounded`] gives every group its expected number of records, rounded up or down, and does the same
    /// for every record in it.
    fn draw(&self, records: usize, method: Sampling, rng: &mut dyn Rng) -> Result<Dataset> {
        let sizes: Vec<f64> = self.groups.iter().map(|group| group.size).collect();
        let group_of = deal_records(&sizes, records, method, rng)?;
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); self.groups.len()];
        for (record, group) in group_of.iter().enumerate() {
            members[*group as usize].push(record);
        }
        let mut drawn = vec![0_u32; records];
        for (group, members) in self.groups.iter().zip(&members) {
            if !members.is_empty() {
                let rows = deal_records(&group.weights, members.len(), method, rng)?;
                members.iter().zip(rows).for_each(|(record, row)| drawn[*record] = row);
            }
        }
        let rows = self.rows.take(&drawn);
        let columns = (0..self.domain.len()).map(|attribute| {
            if let Some(level) = self.group_attributes.iter().position(|a| *a == attribute) {
                let codes = group_of.iter().map(|group| self.groups[*group as usize].codes[level]);
                return Column::from_codes(codes, self.domain.cardinality(attribute));
            }
            let own = self.row_attributes.iter().position(|a| *a == attribute);
            let column = own.and_then(|own| rows.column(own)).cloned();
            Ok(column.unwrap_or_else(|| Column::new(0)))
        });
        let columns = columns.collect::<jointly_pgm::Result<Vec<_>>>()?;
        Ok(Dataset::new(self.domain.clone(), columns)?)
    }

    fn given(&self, evidence: &Evidence) -> Result<Model> {
        let row = |record: usize, attribute: usize| {
            let place = self.row_attributes.iter().position(|own| *own == attribute);
            place.and_then(|place| self.rows.column(place)).and_then(|column| column.get(record))
        };
        let groups = self.groups.iter().map(|group| {
            let own = |attribute: usize| {
                let place = self.group_attributes.iter().position(|own| *own == attribute);
                place.map(|place| group.codes[place])
            };
            let code = |record: usize, attribute: usize| {
                own(attribute).or_else(|| row(record, attribute)).unwrap_or(0)
            };
            let weights = group.weights.iter().enumerate().map(|(record, weight)| {
                weight * evidence.share(|attribute| code(record, attribute))
            });
            let weights: Vec<f64> = weights.collect();
            let sums = (weights.iter().sum::<f64>(), group.weights.iter().sum::<f64>());
            let size = if sums.0 > 0.0 { group.size * sums.0 / sums.1 } else { 0.0 };
            Group { codes: group.codes.clone(), size, weights: Arc::new(weights) }
        });
        let groups: Vec<Group> = groups.filter(|group| group.size > 0.0).collect();
        if groups.is_empty() {
            return Err(impossible());
        }
        Ok(Self::new(&self.domain, &self.group_attributes, self.rows.clone(), groups)?.into())
    }

    fn store(&self) -> Result<StoredForm> {
        StoredForm::new("groups", &StoredGroups::new(self))
    }
}

#[cfg(test)]
mod tests;
