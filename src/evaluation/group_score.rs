//! The score of NIST's Temporal Map challenge: small marginals, group by group.

use std::collections::BTreeMap;

use rand::{Rng, RngExt};
use serde::Serialize;

use crate::data::{Dataset, Projectable};
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::evaluation::WorkloadError;
use crate::query::{WeightedClique, Workload};

/// The score of NIST's Temporal Map challenge for a synthetic table S and a real table D. **Not private.**
///
/// A group g is a combination of values of the grouping attributes that occurs in D or in S: of `n_g` records in D and
/// `N_g` in S. Its distance is
///
/// ```text
/// d_g = 2                                               where |n_g - N_g| > b, or n_g or N_g is 0
/// d_g = mean_τ ‖ M_τ(D_g)/n_g - M_τ(S_g)/N_g ‖₁         otherwise
/// ```
///
/// over pairs τ of the other attributes, the same ones for all groups; b is the bias penalty. The score is the mean of
/// `d_g` over the groups: from 0, all marginals equal, to 2. In NIST's points it is `1000 (1 - score/2)`.
///
/// ```
/// use jointly::{data::Dataset, domain::{Clique, Domain}, evaluation::GroupScore};
/// use rand::{SeedableRng, rngs::ChaCha20Rng};
/// let domain = Domain::new([("area", 2), ("a", 2), ("b", 2)])?;
/// let real = Dataset::from_rows(domain.clone(), &[[0, 0, 0], [0, 1, 1], [1, 0, 0]])?;
/// let synthetic = Dataset::from_rows(domain, &[[0, 0, 0], [0, 1, 0]])?;
/// let mut rng = ChaCha20Rng::seed_from_u64(1);
/// let found = GroupScore::default().between(&real, &synthetic, &Clique::new([0]), &mut rng)?;
/// assert_eq!((found.groups, found.penalized, found.score), (2, 1, 1.5)); // 1 in the first area, 2 in the other
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupScore {
    /// Number of pairs of attributes that are drawn; all of them if there are no more.
    pub draws: usize,
    /// A group whose number of records is off by more than this has the distance 2.
    pub bias_penalty: u64,
}

impl Default for GroupScore {
    fn default() -> Self {
        Self { draws: 50, bias_penalty: 250 }
    }
}

/// Distances of all groups, and their mean.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupDistances {
    /// The mean over the groups, from 0 to 2.
    pub score: f64,
    /// The same in NIST's points: from 1000, all equal, to 0.
    pub points: f64,
    /// Number of groups, in either table.
    pub groups: u64,
    /// Groups that occur in only one table, or whose number of records is off by more than the bias penalty.
    pub penalized: u64,
    /// Marginals in each group's mean.
    pub marginals: u64,
    /// The groups, in the order of their codes.
    pub by_group: Vec<GroupDistance>,
}

/// Distance of one group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupDistance {
    /// Codes of the grouping attributes, in domain order.
    pub codes: Vec<u32>,
    /// Records in the real table.
    pub real: u64,
    /// Records in the synthetic table.
    pub synthetic: u64,
    /// From 0 to 2.
    pub distance: f64,
}

impl GroupScore {
    /// The distances of all groups. `groups`: the grouping attributes. The random numbers draw the marginals only.
    ///
    /// # Errors
    /// Tables over different domains, a table without records, no draw, a grouping attribute that the domain does not
    /// have, fewer than two other attributes, or marginals too large to count.
    pub fn between<R: Rng + ?Sized>(
        &self,
        real: &Dataset,
        synthetic: &Dataset,
        groups: &Clique,
        rng: &mut R,
    ) -> Result<GroupDistances> {
        real.domain().check_same(Projectable::domain(synthetic), "the synthetic table")?;
        for (name, table) in [("real table", real), ("synthetic table", synthetic)] {
            if table.records() == 0 {
                return Err(Error::invalid_specification(name, "no record", "at least one"));
            }
        }
        let workload = self.pairs(real.domain(), groups, rng)?;
        let (real_groups, synthetic_groups) = (real.members(groups)?, synthetic.members(groups)?);
        let mut all: Vec<&Vec<u32>> = real_groups.keys().chain(synthetic_groups.keys()).collect();
        all.sort_unstable();
        all.dedup();
        let mut by_group = Vec::with_capacity(all.len());
        let mut penalized = 0;
        for codes in all {
            let of = |groups: &BTreeMap<Vec<u32>, Vec<u32>>| {
                groups.get(codes).map_or(0, |records| records.len() as u64)
            };
            let (n, other) = (of(&real_groups), of(&synthetic_groups));
            let distance = match (real_groups.get(codes), synthetic_groups.get(codes)) {
                (Some(a), Some(b)) if n.abs_diff(other) <= self.bias_penalty => {
                    let (a, b) = (real.take(a), synthetic.take(b));
                    WorkloadError::between(&a, &b, &workload, 0)?.mean_l1
                }
                _ => {
                    penalized += 1;
                    2.0
                }
            };
            let codes = codes.clone();
            by_group.push(GroupDistance { codes, real: n, synthetic: other, distance });
        }
        let score = by_group.iter().map(|g| g.distance).sum::<f64>() / by_group.len() as f64;
        Ok(GroupDistances {
            score,
            points: 1000.0 * (1.0 - score / 2.0),
            groups: by_group.len() as u64,
            penalized,
            marginals: workload.len() as u64,
            by_group,
        })
    }

    /// The drawn pairs, without repetition, in lexicographic order.
    fn pairs<R: Rng + ?Sized>(
        &self,
        domain: &Domain,
        groups: &Clique,
        rng: &mut R,
    ) -> Result<Workload> {
        if self.draws == 0 {
            return Err(Error::invalid_parameter("draws", 0, "at least 1"));
        }
        if let Some(outside) = groups.iter().find(|a| *a >= domain.len()) {
            return Err(domain.unknown(&format!("#{outside}"), "the grouping attributes").into());
        }
        let others: Vec<usize> = domain.everything().difference(groups).iter().collect();
        if others.len() < 2 || groups.is_empty() {
            let found = format!("{} grouping attributes of {}", groups.len(), domain.len());
            let expected = "at least one, and two others";
            return Err(Error::invalid_specification("groups", found, expected));
        }
        let pairs = others.iter().enumerate();
        let pairs = pairs.flat_map(|(i, a)| others[i + 1..].iter().map(move |b| [*a, *b]));
        let mut pairs: Vec<[usize; 2]> = pairs.collect();
        // Selection sampling: takes each pair in turn with probability draws left over pairs left.
        let (mut left, mut wanted) = (pairs.len(), self.draws);
        pairs.retain(|_| {
            let chosen = rng.random_range(0..left) < wanted;
            left -= 1;
            wanted -= usize::from(chosen);
            chosen
        });
        let weighted =
            pairs.into_iter().map(|pair| WeightedClique { clique: Clique::new(pair), weight: 1.0 });
        Workload::new(weighted, domain)
    }
}

#[cfg(test)]
mod tests;
