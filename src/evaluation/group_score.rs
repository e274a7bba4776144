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
        let (real_groups, synthetic_groups) = (members(real, groups)?, members(synthetic, groups)?);
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
            return Err(Error::invalid_parameter("draws of marginals", 0, "at least 1"));
        }
        if let Some(outside) = groups.iter().find(|a| *a >= domain.len()) {
            return Err(domain.unknown(&format!("#{outside}"), "the grouping attributes"));
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

/// Positions of the records of each group, by the codes of its grouping attributes.
fn members(table: &Dataset, groups: &Clique) -> Result<BTreeMap<Vec<u32>, Vec<u32>>> {
    let attributes: Vec<usize> = groups.iter().collect();
    let (distinct, ranks) = table.select(&attributes)?.ranked();
    let mut members = vec![Vec::new(); distinct.records()];
    for (record, rank) in (0_u32..).zip(ranks) {
        members[rank as usize].push(record);
    }
    Ok(members
        .into_iter()
        .enumerate()
        .map(|(rank, records)| (distinct.row(rank), records))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{SeedableRng, rngs::ChaCha20Rng};

    fn domain() -> Domain {
        Domain::new([("a", 2), ("puma", 3), ("b", 2), ("year", 2), ("c", 2)]).unwrap()
    }

    fn table(rows: &[[u32; 5]]) -> Dataset {
        Dataset::from_rows(domain(), rows).unwrap()
    }

    fn score(method: GroupScore, real: &Dataset, fake: &Dataset, by: &[usize]) -> GroupDistances {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        method.between(real, fake, &Clique::new(by.iter().copied()), &mut rng).unwrap()
    }

    #[test]
    fn the_score_is_that_computed_by_hand() {
        // Group 0: c differs in one of two records, so that a x c and b x c have L1 1, and a x b 0. Group 2: equal
        // shares although twice the records. Group 1: in the synthetic table only.
        let real = table(&[[0, 0, 0, 0, 0], [1, 0, 1, 0, 1], [1, 2, 0, 0, 0]]);
        let fake = table(&[
            [0, 0, 0, 0, 0],
            [1, 0, 1, 0, 0],
            [1, 2, 0, 0, 0],
            [1, 2, 0, 0, 0],
            [0, 1, 0, 0, 0],
        ]);
        // The year, which is not a grouping attribute, is the same everywhere: pairs with it have the L1 of the other
        // attribute, 1 for c and 0 for a and b. Six pairs with it, of which three have L1 1.
        let found = score(GroupScore::default(), &real, &fake, &[1]);
        assert_eq!((found.groups, found.penalized, found.marginals), (3, 1, 6));
        assert!((found.by_group[0].distance - 0.5).abs() < 1e-12);
        assert!((found.score - (0.5 + 2.0 + 0.0) / 3.0).abs() < 1e-12);
        assert!((found.points - 1000.0 * (1.0 - found.score / 2.0)).abs() < 1e-9);
        // Without the year among the attributes, two of three.
        let found = score(GroupScore::default(), &real, &fake, &[1, 3]);
        assert_eq!((found.marginals, found.by_group[2].codes.clone()), (3, vec![2, 0]));
        assert!((found.score - (2.0 / 3.0 + 2.0) / 3.0).abs() < 1e-12);
        assert!(score(GroupScore::default(), &real, &real, &[1]).score.abs() < 1e-12);
    }

    #[test]
    fn a_group_of_another_size_is_penalized_beyond_the_limit_only() {
        let of = |records: usize| table(&vec![[0, 0, 0, 0, 0]; records]);
        let found = score(GroupScore::default(), &of(1000), &of(1250), &[1]);
        assert_eq!((found.score, found.penalized), (0.0, 0));
        for other in [of(749), of(1251)] {
            let found = score(GroupScore::default(), &of(1000), &other, &[1]);
            assert_eq!((found.score, found.points, found.penalized), (2.0, 0.0, 1));
        }
        let strict = GroupScore { bias_penalty: 0, ..GroupScore::default() };
        assert_eq!(score(strict, &of(3), &of(4), &[1]).penalized, 1);
    }

    #[test]
    fn drawn_pairs_are_as_many_as_asked_for_and_without_the_grouping_attributes() {
        let wide = Domain::new((0..20).map(|i| (i.to_string(), 2))).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let (groups, method) = (Clique::new([3, 7]), GroupScore::default());
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..40 {
            let cliques = method.pairs(&wide, &groups, &mut rng).unwrap().cliques();
            assert_eq!(cliques.len(), 50);
            assert!(cliques.iter().all(|c| c.len() == 2 && !c.iter().any(|a| a == 3 || a == 7)));
            seen.extend(cliques);
        }
        // Each of 18 · 17 / 2 pairs is missed by 40 draws with probability (2/3)⁴⁰, 10⁻⁷.
        assert_eq!(seen.len(), 153);
    }

    #[test]
    fn what_has_no_score_is_refused() {
        let (real, mut rng) = (table(&[[0, 0, 0, 0, 0]]), ChaCha20Rng::seed_from_u64(1));
        let mut refused = |method: GroupScore, fake: &Dataset, by: &[usize]| {
            let groups = Clique::new(by.iter().copied());
            method.between(&real, fake, &groups, &mut rng).unwrap_err().to_string()
        };
        let plain = GroupScore::default();
        assert!(refused(plain, &real, &[9]).contains("'#9' in the grouping attributes"));
        assert!(refused(plain, &real, &[]).contains("at least one"));
        assert!(refused(plain, &real, &[0, 1, 2, 3]).contains("two others"));
        assert!(refused(plain, &table(&[]), &[1]).contains("synthetic table"));
        assert!(refused(GroupScore { draws: 0, ..plain }, &real, &[1]).contains("draws"));
    }
}
