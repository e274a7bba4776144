//! Records from a model, without combinations that are unlikely.
//!
//! The attributes are drawn one after another, as by [`MarkovRandomField::sample`]. Within a group of records that agree on the
//! parents, a record can have only those values of the next attribute that do not complete an unlikely combination. The group's
//! values are dealt such that it still has those that the model expects of it: with `n_s` records of each set s of possible
//! values, and `t_v` expected records of each value, the numbers `n_sv` are the nearest to `n_s p(v)`, in relative entropy, that
//! are 0 where v is not in s and have both sums (iterative proportional fitting). Where a group cannot have them, the
//! others make up for it as far as they can: all groups together have the values that the model expects.

use std::collections::HashMap;

use rand::{Rng, RngExt};

use crate::data::Dataset;
use crate::domain::{Clique, Domain, StructuralZero};
use crate::error::{Error, Result};
use crate::model::MarkovRandomField;
use crate::model::refine::generator;
use crate::model::sampling::{Dealer, Groups, Next, Sampling, check_records, table_of};
use crate::table::{row_major_strides, strides_within};

/// Passes of proportional fitting over the sums of each group, and then over those of all groups.
const PASSES: usize = 20;
/// Most numbers of an attribute that are held, 64 MiB. The groups of more are taken some at a time.
const MOST_NUMBERS: usize = 1 << 23;

/// How often independent records that have a forbidden combination are drawn again before they are drawn without it.
const ATTEMPTS: usize = 64;

/// A set of values, a bit for each.
type Values = Vec<u64>;

/// What one rule leaves to the attribute that is drawn last of those in it.
struct Limit {
    /// The other attributes, with their strides in `possible`.
    others: Vec<(usize, usize)>,
    /// The possible values for each combination of the others.
    possible: Vec<Values>,
}

impl Limit {
    /// The limit of an attribute, the last one drawn of the rule's clique.
    fn new(domain: &Domain, zero: &StructuralZero, attribute: usize) -> Self {
        let clique = zero.clique();
        let shape = domain.shape(clique);
        let values = domain.cardinality(attribute);
        let others = clique.difference(&Clique::new([attribute]));
        let extents = domain.shape(&others);
        let stride = strides_within(&[attribute], clique, &shape)[0];
        let within = strides_within(others.attributes(), clique, &shape);
        let own = row_major_strides(&extents);
        let combinations: usize = extents.iter().product();
        let possible = (0..combinations).map(|combination| {
            let codes =
                own.iter().zip(&extents).map(|(stride, extent)| combination / stride % extent);
            let start: usize = codes.zip(&within).map(|(code, stride)| code * stride).sum();
            let mut possible = vec![0; values.div_ceil(64)];
            for value in (0..values).filter(|value| !zero.forbidden()[start + value * stride]) {
                possible[value / 64] |= 1 << (value % 64);
            }
            possible
        });
        let possible = possible.collect();
        Self { others: others.iter().zip(own).collect(), possible }
    }

    fn of(&self, columns: &[Vec<u32>], record: usize) -> &Values {
        let at =
            |(attribute, stride): &(usize, usize)| columns[*attribute][record] as usize * stride;
        &self.possible[self.others.iter().map(at).sum::<usize>()]
    }
}

/// Records of a group with the same possible values.
struct Class {
    group: usize,
    possible: Values,
    records: Vec<u32>,
}

impl Class {
    fn is_possible(&self, value: usize) -> bool {
        self.possible[value / 64] >> (value % 64) & 1 == 1
    }
}

impl MarkovRandomField {
    /// Draws records as [`sample`](Self::sample) does, rounded, without unlikely combinations: each value is one of those that
    /// complete none with the values drawn before. Where the rules leave no value, the first ones count; where they leave none that
    /// the model has, none does. Groups of records have the values that the model expects of them, as far as that can be, by
    /// iterative proportional fitting (Deming & Stephan 1940).
    ///
    /// ```
    /// use jointly_pgm::{data::Projectable, domain::{Clique, Domain, StructuralZero}, model::MarkovRandomField};
    /// use rand::{SeedableRng, rngs::ChaCha20Rng};
    /// let domain = Domain::new([("child", 2), ("married", 2)])?;
    /// let unlikely = StructuralZero::of(&domain, [vec![("child", vec![1]), ("married", vec![1])]])?;
    /// let model = MarkovRandomField::uniform(&domain, 100.0)?;
    /// let rows = model.sample_without(100, &unlikely, &mut ChaCha20Rng::seed_from_u64(1))?;
    /// // About half are children and half are married, as in the model.
    /// let counts = rows.project(&Clique::new([0, 1]))?;
    /// assert!(counts[3] == 0 && counts[1].abs_diff(50) < 3 && counts[2].abs_diff(50) < 3);
    /// # Ok::<(), jointly_pgm::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`sample`](Self::sample), or combinations of another domain.
    pub fn sample_without<R: Rng + ?Sized>(
        &self,
        records: usize,
        unlikely: &[StructuralZero],
        rng: &mut R,
    ) -> Result<Dataset> {
        let domain = self.domain();
        // Forbidden ones first: where not all can be kept to, the first ones count.
        let mut rules: Vec<StructuralZero> = domain.zeros_of_draws().cloned().collect();
        let forbidden = rules.len();
        rules.extend_from_slice(unlikely);
        if rules.is_empty() {
            return self.sample_fitted(records, Sampling::Rounded, rng);
        }
        check_records(records)?;
        let steps = self.drawing_order(&rules)?;
        let limits = limits(domain, &rules, &steps);
        let mut columns: Vec<Vec<u32>> = vec![Vec::new(); domain.len()];
        for batch in self.prepared(steps.into_iter().enumerate()) {
            for next in batch? {
                match &limits[next.attribute][..] {
                    [] => next.draw(&mut columns, records, Sampling::Rounded, rng)?,
                    limits => next.draw_within(limits, &mut columns, records, rng)?,
                }
            }
        }
        allowed(table_of(domain, columns)?, &rules[..forbidden])
    }

    /// Draws independent records that keep to the structural zeros that are left to draws: the others are drawn again, and those that
    /// have a forbidden combination each time, at last by [`sample_without`](Self::sample_without).
    pub(super) fn sample_allowed<R: Rng + ?Sized>(
        &self,
        records: usize,
        rng: &mut R,
    ) -> Result<Dataset> {
        let rules: Vec<StructuralZero> = self.domain().zeros_of_draws().cloned().collect();
        let mut drawn = self.sample_fitted(records, Sampling::Independent, rng)?;
        for attempt in 1..=ATTEMPTS {
            let is_forbidden = holding(&drawn, &rules)?;
            let lacking = is_forbidden.iter().filter(|is| **is).count();
            if lacking == 0 {
                return Ok(drawn);
            }
            let mut next = check_records(records)?..;
            let kept = (0_u32..).zip(is_forbidden);
            let kept = kept.map(|(own, is)| if is { next.next().unwrap_or(own) } else { own });
            let kept: Vec<u32> = kept.collect();
            let again = if attempt < ATTEMPTS {
                self.sample_fitted(lacking, Sampling::Independent, rng)?
            } else {
                self.sample_without(lacking, &[], rng)?
            };
            drawn.append(&again)?;
            drawn = drawn.take(&kept);
        }
        allowed(drawn, &rules)
    }

    /// The attributes as they are drawn, each with its parents: its neighbors in the triangulated graph that are drawn before. By
    /// maximum cardinality search (Tarjan & Yannakakis 1984) the parents form a clique; of the attributes that it could take,
    /// the one comes first of which most records would have unlikely combinations by chance: it decides about many others,
    /// which can make up for it. Attributes of which the model says nothing come last: they make up for the others, and any
    /// values will do.
    ///
    /// # Errors
    /// Combinations of another domain.
    fn drawing_order(&self, unlikely: &[StructuralZero]) -> Result<Vec<(usize, Clique)>> {
        let domain = self.domain();
        let singles: Vec<Clique> = (0..domain.len()).map(|a| Clique::new([a])).collect();
        let singles = self.marginals(&singles)?;
        let mut importance = vec![0.0; domain.len()];
        for zero in unlikely {
            zero.check(domain)?;
            let mut shares = vec![1.0];
            for attribute in zero.clique().iter() {
                let own = singles[attribute].values();
                let of = |share: f64| own.iter().map(move |count| share * count / self.total());
                shares = shares.into_iter().flat_map(of).collect();
            }
            let cells = shares.iter().zip(zero.forbidden()).filter(|(_, forbidden)| **forbidden);
            let share: f64 = cells.map(|(share, _)| share).sum();
            zero.clique().iter().for_each(|attribute| importance[attribute] += share);
        }
        let cliques = &self.calibrated().structure.tree.triangulation().maximal_cliques;
        let mut neighbors = vec![Clique::default(); domain.len()];
        for clique in cliques {
            clique.iter().for_each(|a| neighbors[a] = neighbors[a].union(clique));
        }
        let is_open = |a: usize| neighbors[a].len() <= 1 && is_uniform(singles[a].values());
        let open: Vec<bool> = (0..domain.len()).map(is_open).collect();
        let mut drawn = Clique::default();
        let mut order = Vec::with_capacity(domain.len());
        while drawn.len() < domain.len() {
            let known = |a: &usize| neighbors[*a].intersection(&drawn).len();
            let next = (0..domain.len()).filter(|a| !drawn.contains(*a)).max_by(|a, b| {
                open[*b]
                    .cmp(&open[*a])
                    .then(known(a).cmp(&known(b)))
                    .then(importance[*a].total_cmp(&importance[*b]))
                    .then(b.cmp(a))
            });
            let Some(next) = next else { break };
            order.push((next, neighbors[next].intersection(&drawn)));
            drawn = drawn.union(&Clique::new([next]));
        }
        Ok(order)
    }
}

/// Whether all counts are equal, but for rounding.
fn is_uniform(counts: &[f64]) -> bool {
    let (least, most) = counts.iter().fold((f64::MAX, 0.0_f64), |(l, m), c| (l.min(*c), m.max(*c)));
    most - least <= 1e-9 * most
}

/// Whether each record has one of some combinations.
pub(super) fn holding(records: &Dataset, combinations: &[StructuralZero]) -> Result<Vec<bool>> {
    let mut has = vec![false; records.records()];
    for zero in combinations {
        zero.check(records.domain())?;
        let cells = records.cells(zero.clique())?;
        has.iter_mut().zip(cells).for_each(|(has, cell)| *has |= zero.forbidden()[cell as usize]);
    }
    Ok(has)
}

/// The records, of which each with an unlikely combination is a copy of one without, drawn at random. Where all have some, they stay.
/// The generator is that of [`MarkovRandomField::refine`].
///
/// # Errors
/// Records over another domain than that of the combinations.
pub fn without_unlikely(records: Dataset, unlikely: &[StructuralZero]) -> Result<Dataset> {
    let is_unlikely = holding(&records, unlikely)?;
    let others: Vec<u32> =
        (0..).zip(&is_unlikely).filter(|(_, is)| !**is).map(|(at, _)| at).collect();
    if others.is_empty() || others.len() == records.records() {
        return Ok(records);
    }
    let mut rng = generator(&records);
    let likely = |(at, is_unlikely): (u32, &bool)| {
        if *is_unlikely { others[rng.random_range(0..others.len())] } else { at }
    };
    let kept: Vec<u32> = (0..).zip(&is_unlikely).map(likely).collect();
    Ok(records.take(&kept))
}

/// The records, of which each with a forbidden combination is a copy of one without.
///
/// # Errors
/// All records have some.
pub(super) fn allowed(records: Dataset, forbidden: &[StructuralZero]) -> Result<Dataset> {
    if forbidden.is_empty() {
        return Ok(records);
    }
    let records = without_unlikely(records, forbidden)?;
    if holding(&records, forbidden)?.contains(&true) {
        let reason = "each record drawn has a forbidden combination that fits left to draws".into();
        return Err(Error::EmptyModel { reason });
    }
    Ok(records)
}

impl Next<'_> {
    /// Draws the attribute for all records, rounded, within limits.
    fn draw_within<R: Rng + ?Sized>(
        &self,
        limits: &[Limit],
        columns: &mut [Vec<u32>],
        records: usize,
        rng: &mut R,
    ) -> Result<()> {
        let Self { domain, attribute, parents, conditional, step } = self;
        let groups = Groups::new(parents, columns, records, |a| domain.cardinality(a))?;
        let values = domain.cardinality(*attribute);
        let mut dealer = Dealer::new(values, *step, Sampling::Rounded, rng);
        let mut parent_codes = vec![0_usize; parents.len()];
        let mut column = vec![0_u32; records];
        let mut hand = Hand::new(values);
        for group in groups.iter() {
            let first = group[0] as usize;
            for (code, parent) in parent_codes.iter_mut().zip(parents.iter()) {
                *code = columns[parent][first] as usize;
            }
            conditional.weights(&parent_codes, &mut dealer.weights);
            let scale = group.len() as f64 / dealer.weights.iter().sum::<f64>();
            let expected = dealer.weights.iter().map(|weight| scale * weight).collect();
            hand.take(group, expected, limits, columns);
            if hand.is_full() {
                hand.deal(&mut dealer, &mut column, rng);
            }
        }
        hand.deal(&mut dealer, &mut column, rng);
        columns[*attribute] = column;
        Ok(())
    }
}

/// For each attribute the limits of the rules of which it is drawn last.
fn limits(
    domain: &Domain,
    unlikely: &[StructuralZero],
    order: &[(usize, Clique)],
) -> Vec<Vec<Limit>> {
    let mut limits: Vec<Vec<Limit>> = (0..domain.len()).map(|_| Vec::new()).collect();
    for zero in unlikely {
        let last = order.iter().rev().find(|(attribute, _)| zero.clique().contains(*attribute));
        if let Some((last, _)) = last {
            limits[*last].push(Limit::new(domain, zero, *last));
        }
    }
    limits
}

/// Groups of records that get their values of one attribute together, as many as memory allows.
struct Hand {
    /// How many values the attribute has.
    values: usize,
    /// In the order of their groups.
    classes: Vec<Class>,
    /// For each group, how many records the model expects of each value.
    expected: Vec<Vec<f64>>,
}

impl Hand {
    fn new(values: usize) -> Self {
        Self { values, classes: Vec::new(), expected: Vec::new() }
    }

    /// Whether it holds as many numbers as it may.
    fn is_full(&self) -> bool {
        (self.classes.len() + self.expected.len()) * self.values > MOST_NUMBERS
    }

    /// Takes the records of one more group, by their possible values.
    fn take(&mut self, group: &[u32], expected: Vec<f64>, limits: &[Limit], columns: &[Vec<u32>]) {
        let mut all = vec![u64::MAX; self.values.div_ceil(64)];
        if let (Some(last), true) = (all.last_mut(), !self.values.is_multiple_of(64)) {
            *last = (1 << (self.values % 64)) - 1;
        }
        let mut found: HashMap<Values, usize> = HashMap::new();
        let mut possible = all.clone();
        for record in group {
            possible.copy_from_slice(&all);
            for limit in limits {
                let own = limit.of(columns, *record as usize);
                if possible.iter().zip(own).any(|(possible, own)| possible & own > 0) {
                    possible.iter_mut().zip(own).for_each(|(possible, own)| *possible &= own);
                }
            }
            let class = found.get(&possible).copied().unwrap_or_else(|| {
                let (group, possible) = (self.expected.len(), possible.clone());
                found.insert(possible.clone(), self.classes.len());
                self.classes.push(Class { group, possible, records: Vec::new() });
                self.classes.len() - 1
            });
            self.classes[class].records.push(*record);
        }
        self.expected.push(expected);
    }

    /// Deals the values, and lets go of the records.
    fn deal<R: Rng + ?Sized>(&mut self, dealer: &mut Dealer, column: &mut [u32], rng: &mut R) {
        let numbers = self.numbers();
        for (class, numbers) in self.classes.drain(..).zip(numbers) {
            dealer.weights = numbers;
            dealer.deal(&class.records, column, rng);
        }
        self.expected.clear();
    }

    /// For each class, how many records get each value, before rounding.
    fn numbers(&self) -> Vec<Vec<f64>> {
        let mut total = vec![0.0; self.values];
        for expected in &self.expected {
            total.iter_mut().zip(expected).for_each(|(total, expected)| *total += expected);
        }
        let start = |class: &Class| {
            let expected = &self.expected[class.group];
            let possible = |(value, count): (usize, &f64)| {
                if class.is_possible(value) { *count } else { 0.0 }
            };
            let possible: Vec<f64> = expected.iter().enumerate().map(possible).collect();
            // Rather an unlikely record than one that the model has not at all: it may be a forbidden one.
            if possible.iter().sum::<f64>() > 0.0 { possible } else { expected.clone() }
        };
        let mut numbers: Vec<Vec<f64>> = self.classes.iter().map(start).collect();
        self.to_sizes(&mut numbers);
        for _ in 0..PASSES {
            let mut start = 0;
            for same in self.classes.chunk_by(|a, b| a.group == b.group) {
                let own = start..start + same.len();
                fit(&mut numbers[own], &self.expected[same[0].group]);
                start += same.len();
            }
            self.to_sizes(&mut numbers);
        }
        for _ in 0..PASSES {
            fit(&mut numbers, &total);
            self.to_sizes(&mut numbers);
        }
        numbers
    }

    /// Scales the numbers of each class to that of its records.
    fn to_sizes(&self, numbers: &mut [Vec<f64>]) {
        for (class, numbers) in self.classes.iter().zip(numbers) {
            let sum: f64 = numbers.iter().sum();
            if sum > 0.0 {
                let scale = class.records.len() as f64 / sum;
                numbers.iter_mut().for_each(|number| *number *= scale);
            }
        }
    }
}

/// Scales the numbers of each value to a sum, where there are any.
fn fit(numbers: &mut [Vec<f64>], wanted: &[f64]) {
    let mut sums = vec![0.0; wanted.len()];
    for numbers in &*numbers {
        sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
    }
    let factor = |(sum, wanted): (&f64, &f64)| if *sum > 0.0 { wanted / sum } else { 1.0 };
    let factors: Vec<f64> = sums.iter().zip(wanted).map(factor).collect();
    for numbers in numbers {
        numbers.iter_mut().zip(&factors).for_each(|(number, factor)| *number *= factor);
    }
}

#[cfg(test)]
mod tests;
