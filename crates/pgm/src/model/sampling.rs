//! Records from a model.

use rand::rngs::ChaCha20Rng;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};
use rayon::prelude::*;

use crate::data::{Column, Dataset};
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::inference::{Conditional, bounded};
use crate::model::MarkovRandomField;

/// Blocks of the records that marginals are counted in.
const BLOCKS: usize = 8;
/// Cells of the conditional distributions that are held at a time; a larger one is held alone.
const PREPARED_CELLS: u64 = 1 << 22;

/// How records are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sampling {
    /// Expected counts given the parents are rounded: integer parts are kept, and the remainders are spread evenly over
    /// neighboring groups, so that the table is off by rounding only.
    #[default]
    Rounded,
    /// Every record drawn independently.
    Independent,
}

impl MarkovRandomField {
    /// Draws records, attribute by attribute in the reverse order of elimination, each given its neighbors in the
    /// junction tree.
    ///
    /// Within a group of records that agree on the parents, values are dealt in random order, so that attributes that
    /// are independent in the model stay independent.
    ///
    /// Records keep to the structural zeros that fits left to draws ([`Domain::with_fits_within`](crate::domain::Domain::with_fits_within)):
    /// rounded ones as by [`sample_without`](Self::sample_without), independent ones by drawing those that do not keep to them again.
    ///
    /// # Errors
    /// No records requested, or more than fit in 32 bits; or structural zeros that are left to draws and forbid all records drawn.
    ///
    /// ```
    /// use jointly_pgm::{domain::Domain, model::{MarkovRandomField, Sampling}};
    /// use rand::{SeedableRng, rngs::ChaCha20Rng};
    /// let domain = Domain::new([("a", 2), ("b", 5)])?;
    /// let model = MarkovRandomField::uniform(&domain, 100.0)?;
    /// let rows = model.sample(100, Sampling::Rounded, &mut ChaCha20Rng::seed_from_u64(1))?;
    /// assert_eq!(rows.records(), 100);
    /// # Ok::<(), jointly_pgm::Error>(())
    /// ```
    pub fn sample<R: Rng + ?Sized>(
        &self,
        records: usize,
        method: Sampling,
        rng: &mut R,
    ) -> Result<Dataset> {
        if self.domain().zeros_of_draws().next().is_none() {
            return self.sample_fitted(records, method, rng);
        }
        match method {
            Sampling::Rounded => self.sample_without(records, &[], rng),
            Sampling::Independent => self.sample_allowed(records, rng),
        }
    }

    /// Draws records from the model as it is, which does not know the structural zeros that are left to draws.
    pub(super) fn sample_fitted<R: Rng + ?Sized>(
        &self,
        records: usize,
        method: Sampling,
        rng: &mut R,
    ) -> Result<Dataset> {
        check_records(records)?;
        let mut columns: Vec<Vec<u32>> = vec![Vec::new(); self.domain().len()];
        for batch in self.prepared(self.steps_of_draws().enumerate()) {
            for next in batch? {
                next.draw(&mut columns, records, method, rng)?;
            }
        }
        table_of(self.domain(), columns)
    }

    /// Records to count marginals on some cliques in, drawn on all cores: in blocks, each rounded for itself and with a stream of
    /// its own. They depend on the seed, not on the number of threads. Attributes that no clique needs are 0 in all of them.
    ///
    /// # Errors
    /// As [`sample`](Self::sample).
    pub fn sample_for(&self, cliques: &[Clique], records: usize, seed: u64) -> Result<Dataset> {
        check_records(records)?;
        let domain = self.domain();
        let stream = |block: usize| {
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            rng.set_stream(block as u64);
            rng
        };
        if domain.zeros_of_draws().next().is_some() {
            return self.sample(records, Sampling::Rounded, &mut stream(0));
        }

        let needed = self.needed(cliques);
        let number = BLOCKS.min(records);
        let size = |block: usize| (block + 1) * records / number - block * records / number;
        let mut blocks: Vec<(Vec<Vec<u32>>, usize, ChaCha20Rng)> = (0..number)
            .map(|block| (vec![Vec::new(); domain.len()], size(block), stream(block)))
            .collect();
        let order = self.steps_of_draws().enumerate();
        for batch in self.prepared(order.filter(|(_, (attribute, _))| needed[*attribute])) {
            let batch = batch?;
            blocks.par_iter_mut().try_for_each(|(columns, records, rng)| {
                let mut draws = batch.iter();
                draws.try_for_each(|next| next.draw(columns, *records, Sampling::Rounded, rng))
            })?;
        }
        let joined = |(attribute, needed): (usize, &bool)| {
            let drawn = blocks.iter().flat_map(|(columns, ..)| columns[attribute].iter().copied());
            let zeros = std::iter::repeat_n(0, if *needed { 0 } else { records });
            Column::from_codes(drawn.chain(zeros), domain.cardinality(attribute))
        };
        let columns = needed.par_iter().enumerate().map(joined).collect::<Result<_>>()?;
        Dataset::new(domain.clone(), columns)
    }

    /// The attributes in the order in which they are drawn, each with its parents, which are drawn before it.
    fn steps_of_draws(&self) -> impl Iterator<Item = (usize, Clique)> {
        let triangulation = self.calibrated().structure.tree.triangulation();
        let steps = triangulation.order.iter().zip(&triangulation.elimination_cliques);
        steps
            .rev()
            .map(|(attribute, clique)| (*attribute, clique.difference(&Clique::new([*attribute]))))
    }

    /// Draws of attributes given their parents, in this order, in batches: each as many as can be held, so that several threads
    /// prepare them. `order`: the step, attribute and parents of each.
    pub(super) fn prepared(
        &self,
        order: impl Iterator<Item = (usize, (usize, Clique))>,
    ) -> impl Iterator<Item = Result<Vec<Next<'_>>>> {
        let domain = self.domain();
        let cells = |(_, (attribute, parents)): &(usize, (usize, Clique))| {
            domain.cells(&parents.union(&Clique::new([*attribute]))).unwrap_or(u64::MAX)
        };
        let prepare = move |(step, (attribute, parents)): (usize, (usize, Clique))| {
            let conditional = self.calibrated().conditional(attribute, &parents)?;
            Ok(Next { domain, attribute, parents, conditional, step })
        };
        let batches = bounded(order, PREPARED_CELLS, cells).into_iter();
        batches.map(move |batch| batch.into_par_iter().map(prepare).collect())
    }

    /// Whether each attribute is in one of the cliques, or drawn on the way to one that is.
    fn needed(&self, cliques: &[Clique]) -> Vec<bool> {
        let mut needed = vec![false; self.domain().len()];
        cliques.iter().flat_map(Clique::iter).for_each(|attribute| needed[attribute] = true);
        let order: Vec<(usize, Clique)> = self.steps_of_draws().collect();
        for (attribute, parents) in order.into_iter().rev() {
            if needed[attribute] {
                parents.iter().for_each(|parent| needed[parent] = true);
            }
        }
        needed
    }
}

/// The attribute that is drawn next, given its parents.
pub(super) struct Next<'a> {
    pub(super) domain: &'a Domain,
    pub(super) attribute: usize,
    pub(super) parents: Clique,
    pub(super) conditional: Conditional,
    pub(super) step: usize,
}

impl Next<'_> {
    /// Draws the attribute for all records.
    pub(super) fn draw<R: Rng + ?Sized>(
        &self,
        columns: &mut [Vec<u32>],
        records: usize,
        method: Sampling,
        rng: &mut R,
    ) -> Result<()> {
        let Self { domain, attribute, parents, conditional, step } = self;
        let groups = Groups::new(parents, columns, records, |a| domain.cardinality(a))?;
        let mut dealer = Dealer::new(domain.cardinality(*attribute), *step, method, rng);
        let mut column = vec![0_u32; records];
        let mut parent_codes = vec![0_usize; parents.len()];
        for group in groups.iter() {
            let first = group[0] as usize;
            for (code, parent) in parent_codes.iter_mut().zip(parents.iter()) {
                *code = columns[parent][first] as usize;
            }
            conditional.weights(&parent_codes, &mut dealer.weights);
            dealer.deal(group, &mut column, rng);
        }
        columns[*attribute] = column;
        Ok(())
    }
}

/// The table with these codes, attribute by attribute.
pub(super) fn table_of(domain: &Domain, columns: Vec<Vec<u32>>) -> Result<Dataset> {
    let columns = columns.into_iter().enumerate();
    let columns =
        columns.map(|(attribute, codes)| Column::from_codes(codes, domain.cardinality(attribute)));
    Dataset::new(domain.clone(), columns.collect::<Result<Vec<_>>>()?)
}

/// The number of records to draw, which 32 bits must count.
///
/// # Errors
/// No record, or too many.
pub fn check_records(records: usize) -> Result<u32> {
    let fits = u32::try_from(records).ok().filter(|records| *records > 0);
    fits.ok_or_else(|| Error::invalid_parameter("rows", records, "from 1 to 4,294,967,295"))
}

/// One position in a list of weights per record, in random order, each as often as its weight requires.
///
/// # Errors
/// As [`MarkovRandomField::sample`].
pub fn deal_records<R: Rng + ?Sized>(
    weights: &[f64],
    records: usize,
    method: Sampling,
    rng: &mut R,
) -> Result<Vec<u32>> {
    let all: Vec<u32> = (0..check_records(records)?).collect();
    let mut dealer = Dealer::new(weights.len(), 0, method, rng);
    dealer.weights.copy_from_slice(weights);
    let mut positions = vec![0; records];
    dealer.deal(&all, &mut positions, rng);
    Ok(positions)
}

/// Records sorted by their parents' codes, and where each group ends.
pub(super) struct Groups {
    order: Vec<u32>,
    ends: Vec<usize>,
}

impl Groups {
    pub(super) fn new(
        parents: &Clique,
        columns: &[Vec<u32>],
        records: usize,
        cardinality: impl Fn(usize) -> usize,
    ) -> Result<Self> {
        let count = u32::try_from(records).unwrap_or(u32::MAX);
        let mut cells = 1_u64;
        let mut keys = vec![0_u64; records];
        for parent in parents.iter() {
            let k = cardinality(parent) as u64;
            cells = cells.checked_mul(k).ok_or_else(|| {
                Error::too_large(
                    format!("the combinations of {} parents", parents.len()),
                    None,
                    2_f64.powi(64),
                    "combinations",
                )
            })?;
            for (key, code) in keys.iter_mut().zip(&columns[parent]) {
                *key = *key * k + u64::from(*code);
            }
        }
        if cells == 1 {
            return Ok(Self { order: (0..count).collect(), ends: vec![records] });
        }
        if cells <= 4 * u64::from(count) {
            // Counting sort.
            let mut starts = vec![0_u32; usize::try_from(cells).unwrap_or(0) + 1];
            for key in &keys {
                starts[usize::try_from(*key).unwrap_or(0) + 1] += 1;
            }
            for i in 1..starts.len() {
                starts[i] += starts[i - 1];
            }
            let mut order = vec![0; records];
            for (record, key) in (0..count).zip(&keys) {
                let start = &mut starts[usize::try_from(*key).unwrap_or(0)];
                order[*start as usize] = record;
                *start += 1;
            }
            // Each start has moved to the end of its group; those of empty groups are repeats.
            let mut ends: Vec<usize> = starts.iter().map(|end| *end as usize).collect();
            ends.dedup();
            let empty = ends.iter().take_while(|end| **end == 0).count();
            ends.drain(..empty);
            return Ok(Self { order, ends });
        }
        let mut order: Vec<u32> = (0..count).collect();
        order.sort_by_key(|record| keys[*record as usize]);
        let key = |i: usize| keys[order[i] as usize];
        let mut ends: Vec<usize> = (1..records).filter(|i| key(*i) != key(*i - 1)).collect();
        ends.push(records);
        Ok(Self { order, ends })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.order[start..*end])
    }
}

/// Deals the values of one attribute out to groups of records.
pub struct Dealer {
    method: Sampling,
    /// Weights of the values in the current group.
    pub weights: Vec<f64>,
    /// Their cumulated sums, for drawing records one by one.
    cumulated: Vec<f64>,
    hand: Vec<u32>,
    /// Offset for drawing the remainders of the next group: uniform in [0, 1), and evenly spread from group to group.
    offset: f64,
    /// Step of the offset: the fractional part of the square root of a prime, a different one for each attribute, so
    /// that attributes that are independent given the same groups stay independent.
    stride: f64,
}

impl Dealer {
    /// A dealer for an attribute of `values` values, the `step`-th that is dealt.
    pub fn new<R: Rng + ?Sized>(values: usize, step: usize, method: Sampling, rng: &mut R) -> Self {
        let stride = prime(step).sqrt().fract();
        let weights = vec![0.0; values];
        let (cumulated, hand) = (Vec::new(), Vec::new());
        Self { method, weights, cumulated, hand, offset: rng.random(), stride }
    }

    /// Writes a value for every record of a group, by the current weights.
    pub fn deal<R: Rng + ?Sized>(&mut self, group: &[u32], column: &mut [u32], rng: &mut R) {
        self.offset = match self.method {
            Sampling::Rounded => (self.offset + self.stride).fract(),
            Sampling::Independent => rng.random(),
        };
        if let [record] = group {
            self.cumulate();
            column[*record as usize] = pick(&self.cumulated, self.offset);
            return;
        }
        if self.method == Sampling::Independent {
            self.cumulate();
            for record in group {
                column[*record as usize] = pick(&self.cumulated, rng.random());
            }
            return;
        }
        self.round(group.len());
        self.hand.shuffle(rng);
        for (record, value) in group.iter().zip(&self.hand) {
            column[*record as usize] = *value;
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an expected count is between 0 and the number of records"
    )]
    /// Fills the hand with `count` values: the integer part of each expected count, and the remainders by one
    /// systematic draw, which includes each value with the probability of its fractional part.
    fn round(&mut self, count: usize) {
        self.hand.clear();
        let scale = count as f64 / self.weights.iter().sum::<f64>();
        let mut threshold = self.offset;
        let mut cumulated = 0.0;
        for (value, weight) in (0_u32..).zip(&self.weights) {
            let expected = weight * scale;
            let whole = expected.floor();
            cumulated += expected - whole;
            let extra = cumulated > threshold;
            if extra {
                threshold += 1.0;
            }
            let copies = whole as usize + usize::from(extra);
            self.hand.extend(std::iter::repeat_n(value, copies.min(count - self.hand.len())));
        }
        // Rounding of the cumulated sum can leave the last remainder undealt.
        if self.hand.len() < count {
            self.cumulate();
            let value = pick(&self.cumulated, self.offset);
            self.hand.resize(count, value);
        }
    }

    fn cumulate(&mut self) {
        self.cumulated.clear();
        let mut sum = 0.0;
        self.cumulated.extend(self.weights.iter().map(|weight| {
            sum += weight;
            sum
        }));
    }
}

/// The value at a point in [0, 1) of a distribution given by its cumulated weights; one of positive weight.
fn pick(cumulated: &[f64], point: f64) -> u32 {
    let total = cumulated.last().copied().unwrap_or(0.0);
    let mut value = cumulated.partition_point(|sum| *sum <= point * total);
    if value == cumulated.len() {
        // The product was rounded up to the total.
        value = cumulated.partition_point(|sum| *sum < total);
    }
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// The prime number at a position, counted from 0.
fn prime(position: usize) -> f64 {
    let is_prime = |n: &u32| (2..*n).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d));
    (2_u32..=1 << 20).filter(is_prime).nth(position).map_or(2.0, f64::from)
}

#[cfg(test)]
mod tests;
