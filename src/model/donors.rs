//! Listed records from which other records take the columns that they lack (hot-deck imputation).

use std::cmp::Reverse;
use std::collections::HashMap;

use rand::{Rng, RngExt};

use crate::domain::{Clique, StructuralZero};
use crate::error::Result;
use crate::model::WeightedSupport;

/// Most attributes that are left out in every combination ...
const MOST_TOGETHER: usize = 3;
/// ... and most such combinations that are tried.
const MOST_TRIED: usize = 256;
/// Passes of proportional fitting over all lacking attributes ...
const SWEEPS: usize = 10;
/// ... and the most by which one multiplies a weight.
const MOST_FACTOR: f64 = 5.0;
/// How often a donor is drawn with which a record has a forbidden or an unlikely combination.
const ATTEMPTS: usize = 64;

/// The listed records whose columns others take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Donors {
    /// Records, each with its listed one.
    pub(super) listed: Vec<(u32, u32)>,
    /// Attributes that were left out of what is known, each with the records of which it was.
    pub(super) left_out: Vec<(usize, Vec<u32>)>,
    /// Records that have a forbidden combination with each listed one that was drawn.
    pub(super) impossible: Vec<u32>,
}

/// The listed records that agree with some others, and their weights, summed up.
struct Matches {
    /// For each of the others, its group.
    groups: Vec<usize>,
    listed: Vec<Vec<u32>>,
    weights: Vec<Vec<f64>>,
}

/// Records of which some attributes are known.
pub(super) struct Lacking<'a> {
    /// Codes of the known attributes, by position.
    pub(super) columns: &'a [Vec<u32>],
    pub(super) known: &'a Clique,
    pub(super) unlikely: &'a [StructuralZero],
    /// Whether they stand for the same population as the list.
    pub(super) is_population: bool,
}

impl WeightedSupport {
    /// Draws a listed record for each of some others, by weight, of those with the same known values; for others that stand for the
    /// same population, by [adjusted](Self::adjusted) weight. Where there is none, known attributes are left out that say least about
    /// those that lack (by mutual information, in nats, summed over these), at most three where that is enough, and otherwise as
    /// many as it takes. No record gets a forbidden combination, and an unlikely one only where all of many draws have some.
    ///
    /// `left`: the others.
    ///
    /// # Errors
    /// Marginals that cannot be counted.
    pub(super) fn donors<R: Rng + ?Sized>(
        &self,
        mut left: Vec<u32>,
        lacking: &Lacking<'_>,
        rng: &mut R,
    ) -> Result<Donors> {
        let mut listed = Vec::with_capacity(left.len());
        let mut left_out: Vec<(usize, Vec<u32>)> = Vec::new();
        let codes = |a: usize| {
            let is_known = lacking.known.contains(a);
            if is_known { self.rows().columns()[a].iter().collect() } else { Vec::new() }
        };
        let own_columns: Vec<Vec<u32>> = (0..self.rows().domain().len()).map(codes).collect();
        let exact = matches(lacking.known, self.weights(), &own_columns, lacking.columns, &left);
        let list_weights = if lacking.is_population {
            self.adjusted(&exact, lacking.known)?
        } else {
            self.weights().to_vec()
        };
        let mut tried = vec![Clique::default()].into_iter();
        let mut others = Some(|| self.sets_to_leave_out(lacking));
        while !left.is_empty() {
            let mut next = tried.next();
            if next.is_none()
                && let Some(others) = others.take()
            {
                tried = others()?.into_iter();
                next = tried.next();
            }
            let Some(without) = next else { break };
            let on = lacking.known.difference(&without);
            let found = matches(&on, &list_weights, &own_columns, lacking.columns, &left);
            let is_last = without.is_empty() || without == *lacking.known;
            let (mut next, mut own) = (Vec::new(), Vec::new());
            for (record, group) in left.iter().zip(&found.groups) {
                let weights = &found.weights[*group];
                match self.draw_donor(
                    *record,
                    &found.listed[*group],
                    weights,
                    lacking,
                    is_last,
                    rng,
                ) {
                    Some(donor) => {
                        listed.push((*record, donor));
                        own.push(*record);
                    }
                    None => next.push(*record),
                }
            }
            for attribute in without.iter().filter(|_| !own.is_empty()) {
                match left_out.iter_mut().find(|(of, _)| *of == attribute) {
                    Some((_, records)) => records.extend_from_slice(&own),
                    None => left_out.push((attribute, own.clone())),
                }
            }
            left = next;
        }
        Ok(Donors { listed, left_out, impossible: left })
    }

    /// Weights with which the lacking attributes, one by one, are as frequent among the donors as in the list: what is known of the
    /// others may be more of one kind of records than the list is. Each weight is the list's, times a factor for each value, by
    /// proportional fitting over the records that have a donor with all of their values.
    ///
    /// # Errors
    /// Marginals that cannot be counted.
    fn adjusted(&self, exact: &Matches, known: &Clique) -> Result<Vec<f64>> {
        let mut weights = self.weights().to_vec();
        let mut records = vec![0.0; exact.listed.len()];
        exact.groups.iter().for_each(|group| records[*group] += 1.0);
        let pairs = exact.listed.iter().enumerate();
        let pairs =
            pairs.flat_map(|(group, listed)| listed.iter().map(move |at| (*at as usize, group)));
        let pairs: Vec<(usize, usize)> = pairs.collect();
        let all: f64 = pairs.iter().map(|(at, _)| weights[*at]).sum();
        let matched: f64 = records
            .iter()
            .zip(&exact.listed)
            .filter(|(_, own)| !own.is_empty())
            .map(|(n, _)| n)
            .sum();
        let domain = self.rows().domain();
        let lacking: Vec<usize> = domain.everything().difference(known).iter().collect();
        let singles: Vec<Clique> = lacking.iter().map(|a| Clique::new([*a])).collect();
        let wanted = self.rows().weighted_marginals(self.weights(), &singles)?;
        let sum: f64 = self.weights().iter().sum();
        if all <= 0.0 {
            return Ok(weights);
        }
        // Of each match, the records that it is expected to complete.
        let mut expected = vec![0.0; pairs.len()];
        let mut sums = vec![0.0; records.len()];
        for _ in 0..SWEEPS {
            sums.fill(0.0);
            pairs.iter().for_each(|(at, group)| sums[*group] += weights[*at]);
            for (own, (at, group)) in expected.iter_mut().zip(&pairs) {
                *own = weights[*at] / sums[*group] * records[*group];
            }
            for (attribute, wanted) in lacking.iter().zip(&wanted) {
                let codes: Vec<u32> = self.rows().columns()[*attribute].iter().collect();
                let mut found = vec![0.0; wanted.len()];
                for (own, (at, _)) in expected.iter().zip(&pairs) {
                    found[codes[*at] as usize] += own;
                }
                let factors = found.iter().zip(wanted).map(|(found, wanted)| {
                    let factor = wanted / sum * matched / found;
                    if *found > 0.0 { factor.clamp(1.0 / MOST_FACTOR, MOST_FACTOR) } else { 1.0 }
                });
                let factors: Vec<f64> = factors.collect();
                for (own, (at, _)) in expected.iter_mut().zip(&pairs) {
                    *own *= factors[codes[*at] as usize];
                }
                for (weight, code) in weights.iter_mut().zip(&codes) {
                    *weight *= factors[*code as usize];
                }
            }
        }
        Ok(weights)
    }

    /// `None` if there is none with which the record is allowed. `is_last`: whether an unlikely one will do where all draws are.
    fn draw_donor<R: Rng + ?Sized>(
        &self,
        record: u32,
        listed: &[u32],
        weights: &[f64],
        lacking: &Lacking<'_>,
        is_last: bool,
        rng: &mut R,
    ) -> Option<u32> {
        let all = weights.last()?;
        let forbidden = self.rows().domain().structural_zeros();
        let mut unlikely = None;
        for _ in 0..ATTEMPTS {
            let share = rng.random::<f64>() * all;
            let at = weights.partition_point(|until| *until <= share).min(listed.len() - 1);
            let donor = listed[at];
            let holds = |zero: &StructuralZero| self.holds(zero, record, donor, lacking);
            if forbidden.iter().any(holds) {
                continue;
            }
            if !lacking.unlikely.iter().any(holds) {
                return Some(donor);
            }
            unlikely = Some(donor);
        }
        unlikely.filter(|_| is_last)
    }

    /// Whether a record with the columns of a listed one has a combination.
    fn holds(&self, zero: &StructuralZero, record: u32, donor: u32, of: &Lacking<'_>) -> bool {
        zero.forbids(self.rows().domain(), |attribute| {
            if of.known.contains(attribute) {
                return of.columns[attribute][record as usize];
            }
            self.rows().columns()[attribute].get(donor as usize).unwrap_or(0)
        })
    }

    /// Sets of known attributes to leave out, those that say least first, at last all of them.
    fn sets_to_leave_out(&self, lacking: &Lacking<'_>) -> Result<Vec<Clique>> {
        let known: Vec<usize> = lacking.known.iter().collect();
        let says = self.information(lacking.known)?;
        let loss = |set: &[usize]| set.iter().map(|place| says[*place]).sum::<f64>();
        let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
        let mut all: Vec<Vec<usize>> = Vec::new();
        for _ in 0..MOST_TOGETHER {
            let longer = sets.iter().flat_map(|set| {
                let first = set.last().map_or(0, |last| last + 1);
                (first..known.len()).map(move |next| [&set[..], &[next]].concat())
            });
            sets = longer.collect();
            // Only those that say least can be among the ones that are tried.
            sets.sort_by(|a, b| {
                loss(a).total_cmp(&loss(b)).then_with(|| Reverse(a).cmp(&Reverse(b)))
            });
            all.extend_from_slice(&sets[..sets.len().min(MOST_TRIED)]);
            sets.truncate(8 * MOST_TRIED);
        }
        all.sort_by(|a, b| loss(a).total_cmp(&loss(b)).then_with(|| Reverse(a).cmp(&Reverse(b))));
        all.truncate(MOST_TRIED);
        let mut order: Vec<usize> = (0..known.len()).collect();
        order.sort_by(|a, b| says[*a].total_cmp(&says[*b]).then(b.cmp(a)));
        let longer = (MOST_TOGETHER + 1..=known.len()).map(|length| order[..length].to_vec());
        all.extend(longer);
        all.push(order);
        let of = |set: Vec<usize>| Clique::new(set.into_iter().map(|place| known[place]));
        Ok(all.into_iter().map(of).collect())
    }

    /// What each known attribute says about those that lack: the sum of its mutual information with each, in nats.
    fn information(&self, known: &Clique) -> Result<Vec<f64>> {
        let domain = self.rows().domain();
        let lacking = domain.everything().difference(known);
        let entropy = |counts: &[f64]| -> f64 {
            let sum: f64 = counts.iter().sum();
            let shares = counts.iter().map(|count| count / sum).filter(|share| *share > 0.0);
            -shares.map(|share| share * share.ln()).sum::<f64>()
        };
        let mut cliques: Vec<Clique> = (0..domain.len()).map(|a| Clique::new([a])).collect();
        cliques.extend(known.iter().flat_map(|a| lacking.iter().map(move |b| Clique::new([a, b]))));
        let counts = self.rows().weighted_marginals(self.weights(), &cliques)?;
        let entropies: Vec<f64> = counts.iter().map(|own| entropy(own)).collect();
        let (singles, pairs) = entropies.split_at(domain.len());
        let of_known = known.iter().zip(pairs.chunks(lacking.len().max(1)));
        let says = of_known.map(|(a, pairs)| {
            let with = lacking.iter().zip(pairs);
            with.map(|(b, pair)| singles[a] + singles[b] - pair).sum()
        });
        Ok(says.collect())
    }
}

/// The listed records with a weight that agree with others in some attributes.
///
/// `of_list`: the weights of the listed records. `own`: their codes of known attributes, by position.
fn matches(
    on: &Clique,
    of_list: &[f64],
    own: &[Vec<u32>],
    columns: &[Vec<u32>],
    records: &[u32],
) -> Matches {
    let key = |columns: &[Vec<u32>], at: usize, codes: &mut Vec<u32>| {
        codes.clear();
        codes.extend(on.iter().map(|attribute| columns[attribute][at]));
    };
    let (mut places, mut codes) = (HashMap::<Vec<u32>, usize>::new(), Vec::new());
    let mut groups = Vec::with_capacity(records.len());
    for record in records {
        key(columns, *record as usize, &mut codes);
        let next = places.len();
        groups.push(*places.entry(codes.clone()).or_insert(next));
    }
    let filter = Filter::of(places.keys());
    let mut listed = vec![Vec::new(); places.len()];
    let mut weights = vec![Vec::new(); places.len()];
    for (number, weight) in (0_u32..).zip(of_list).filter(|(_, weight)| **weight > 0.0) {
        key(own, number as usize, &mut codes);
        if filter.may_have(&codes)
            && let Some(group) = places.get(&codes)
        {
            listed[*group].push(number);
            let before = weights[*group].last().copied().unwrap_or(0.0);
            weights[*group].push(before + weight);
        }
    }
    Matches { groups, listed, weights }
}

/// Says quickly of most codes that they are none of some, a bit for each of these.
struct Filter {
    bits: Vec<u64>,
}

impl Filter {
    fn of<'k>(all: impl ExactSizeIterator<Item = &'k Vec<u32>>) -> Self {
        let words = (all.len() / 4 + 1).next_power_of_two();
        let mut filter = Self { bits: vec![0; words] };
        for codes in all {
            let (word, bit) = filter.place(codes);
            filter.bits[word] |= bit;
        }
        filter
    }

    fn may_have(&self, codes: &[u32]) -> bool {
        let (word, bit) = self.place(codes);
        self.bits[word] & bit != 0
    }

    fn place(&self, codes: &[u32]) -> (usize, u64) {
        // Fibonacci hashing: the upper bits depend on all codes.
        let mixed = codes.iter().fold(1_u64, |mixed, code| {
            (mixed ^ u64::from(*code)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(27)
        });
        let mixed = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let word = (mixed >> 32) as usize & (self.bits.len() - 1);
        (word, 1 << (mixed >> 26 & 63))
    }
}

#[cfg(test)]
mod tests;
