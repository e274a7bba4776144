//! The groups of each level, and the positions of their cells in a measured marginal.

use std::sync::Arc;

use crate::data::MAX_TOTAL_CELLS;
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::model::Group;

/// The group attributes of a domain, outermost first.
#[derive(Clone, Debug)]
pub(super) struct Partition {
    pub(super) attributes: Vec<usize>,
    /// All other attributes, in the domain's order.
    pub(super) others: Clique,
}

impl Partition {
    /// # Errors
    /// A name that is not an attribute or is given twice; no attribute left; combinations of group and other attributes
    /// that the domain forbids.
    pub(super) fn new(domain: &Domain, names: &[String]) -> Result<Self> {
        let own = if names.is_empty() { Clique::default() } else { domain.clique(names)? };
        let attributes = names.iter().filter_map(|name| domain.position(name)).collect();
        let others = domain.everything().difference(&own);
        if others.is_empty() {
            let expected = "at least one attribute that is no group";
            return Err(Error::invalid_specification("groups", names.join(","), expected));
        }
        for zero in domain.structural_zeros() {
            let clique = zero.clique();
            if !clique.is_subset(&own) && !clique.is_subset(&others) {
                return Err(Error::invalid_specification(
                    "groups",
                    format!("forbidden combinations on {}", domain.describe(clique)),
                    "none of a group attribute with another",
                ));
            }
        }
        Ok(Self { attributes, others })
    }

    /// The depths at which answers are measured: one per group attribute, or, without group attributes, a single depth
    /// for all records.
    pub(super) fn depths(&self) -> std::ops::RangeInclusive<usize> {
        self.attributes.len().min(1)..=self.attributes.len()
    }

    /// The group attributes down to a depth.
    pub(super) fn clique(&self, depth: usize) -> Clique {
        Clique::new(self.attributes[..depth].iter().copied())
    }

    /// The number of groups at a depth: the combinations of codes that the domain allows.
    pub(super) fn number(&self, domain: &Domain, depth: usize) -> u64 {
        let attributes = self.attributes.get(..depth).unwrap_or_default();
        let own = self.clique(depth);
        let all = domain.cells(&own).unwrap_or(u64::MAX);
        let zeros = domain.structural_zeros().iter();
        if all > MAX_TOTAL_CELLS || zeros.filter(|zero| zero.clique().is_subset(&own)).count() == 0
        {
            return all; // too many to be measured in any case, or all of them possible
        }
        let mut codes = vec![0_u32; depth];
        let is_group = |mut rest: u64| {
            for (code, attribute) in codes.iter_mut().zip(attributes) {
                let k = domain.cardinality(*attribute) as u64;
                *code = u32::try_from(rest % k).unwrap_or(u32::MAX);
                rest /= k;
            }
            self.is_possible(domain, &codes)
        };
        (0..all).map(is_group).map(u64::from).sum()
    }

    /// The groups at a depth, within those one level above, whose weights they inherit. Sizes are not known yet. Every
    /// code that the domain allows is a group.
    pub(super) fn children(
        &self,
        domain: &Domain,
        depth: usize,
        parents: &[Group],
    ) -> Vec<(usize, Group)> {
        let mut children = Vec::new();
        for (index, parent) in parents.iter().enumerate() {
            let own =
                self.attributes.get(parent.codes.len()).filter(|_| parent.codes.len() < depth);
            let codes = own.map_or(1, |own| domain.cardinality(*own));
            for code in (0_u32..).take(codes) {
                let mut all = parent.codes.clone();
                all.extend(own.map(|_| code));
                if self.is_possible(domain, &all) {
                    let weights = Arc::clone(&parent.weights);
                    children.push((index, Group { codes: all, size: 0.0, weights }));
                }
            }
        }
        children
    }

    /// Converts a clique over the other attributes to the attributes of the domain.
    pub(super) fn in_domain(&self, clique: &Clique) -> Clique {
        let others = self.others.attributes();
        Clique::new(clique.iter().filter_map(|a| others.get(a).copied()))
    }

    /// Whether the domain allows a group.
    fn is_possible(&self, domain: &Domain, codes: &[u32]) -> bool {
        let code = |a: usize| {
            let level = self.attributes.iter().position(|own| *own == a);
            level.and_then(|level| codes.get(level)).copied().unwrap_or(0)
        };
        let known = self.clique(codes.len());
        let zeros = domain.structural_zeros().iter();
        !zeros.filter(|zero| zero.clique().is_subset(&known)).any(|zero| zero.forbids(domain, code))
    }

    /// A group's part of the table on its attributes and a clique of others, row-major over that clique.
    pub(super) fn slice(
        &self,
        domain: &Domain,
        table: &[f64],
        codes: &[u32],
        clique: &Clique,
    ) -> Vec<f64> {
        let all = self.clique(codes.len()).union(clique);
        let mut stride = table.len();
        let mut places = vec![0_usize];
        for attribute in all.iter() {
            let k = domain.cardinality(attribute).max(1);
            stride /= k;
            let level = self.attributes.iter().position(|own| *own == attribute);
            if let Some(code) = level.and_then(|level| codes.get(level)) {
                places.iter_mut().for_each(|p| *p += *code as usize * stride);
            } else {
                let next = |p: usize| (0..k).map(move |code| p + code * stride);
                places = places.into_iter().flat_map(next).collect();
            }
        }
        places.into_iter().map(|place| table.get(place).copied().unwrap_or(0.0)).collect()
    }
}

/// Turns noisy sizes into consistent ones: at least 0, and scaled to add up to the parent's size. If none is above 0,
/// the parent's records are shared evenly.
///
/// `total`: the parent's size. `None` if unknown; it is then the sum of the sizes, at least 1.
pub(super) fn consistent_sizes(noisy: &[f64], total: Option<f64>) -> Vec<f64> {
    let sizes: Vec<f64> = noisy.iter().map(|size| size.max(0.0)).collect();
    let sum: f64 = sizes.iter().sum();
    let total = total.unwrap_or_else(|| sum.max(1.0));
    if sum > 0.0 {
        sizes.iter().map(|size| size / sum * total).collect()
    } else {
        vec![total / sizes.len().max(1) as f64; sizes.len()]
    }
}

#[cfg(test)]
mod tests;
