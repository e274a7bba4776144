//! Records of which some attributes are known, completed without a model for each of them.
//!
//! Given the known values of a record, each factor of the model is a table over the attributes that lack, and small. These tables
//! are multiplied and summed out one attribute after another, and the attributes are drawn in the reverse order: variable
//! elimination, in an order that all records share. Records with equal known values follow each other, and a step is taken again
//! only if a known value has changed that it depends on.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use rand::rngs::ChaCha20Rng;
use rand::{Rng, RngExt, SeedableRng};
use rayon::prelude::*;

use crate::domain::{Clique, Domain, StructuralZero};
use crate::error::Result;
use crate::model::MarkovRandomField;
use crate::table::row_major_strides;

/// Most cells of all tables of one record together, each as often as it is multiplied.
const MOST_CELLS: u64 = 1 << 22;
/// How often a record with a forbidden or an unlikely combination is drawn.
const ATTEMPTS: u64 = 64;
/// Groups of records that one thread completes at a time.
const GROUPS: usize = 256;

/// Records with all attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Codes of each attribute, by position.
    pub columns: Vec<Vec<u32>>,
    /// Records that were not completed, in increasing order: no record of the model has their known values together, or hardly
    /// any, or each draw had a forbidden combination. Their other codes mean nothing.
    pub left: Vec<u32>,
}

impl MarkovRandomField {
    /// Draws the attributes that records lack, each record independently from the model's distribution given its known values.
    /// `None` if a record takes tables of more than 2²² cells. Records with a structural zero that the model leaves to draws, or
    /// with an unlikely combination, are drawn again; unlikely ones stay where no draw is without. The same seed gives the same
    /// records, whatever the number of threads.
    ///
    /// `known`: the attributes that are known. `columns`: codes of each attribute, by position; of one that lacks, they are not
    /// looked at. `records`: their number. `unlikely`: combinations over the model's domain.
    ///
    /// # Errors
    /// Combinations of another domain.
    ///
    /// ```
    /// use jointly_pgm::{domain::{Clique, Domain}, model::MarkovRandomField, table::{CliqueLayout, Potentials}};
    /// let domain = Domain::new([("a", 2), ("b", 2)])?;
    /// let mut theta = Potentials::zeros(&CliqueLayout::new(&domain, [Clique::new([0, 1])])?);
    /// theta.table_mut(0).copy_from_slice(&[0.0, f64::NEG_INFINITY, f64::NEG_INFINITY, 0.0]); // a = b
    /// let model = MarkovRandomField::new(&domain, theta, 10.0)?;
    /// let done = model.complete(&Clique::new([0]), vec![vec![0, 1, 1], Vec::new()], 3, &[], 1)?;
    /// assert_eq!(done.map(|done| done.columns[1].clone()), Some(vec![0, 1, 1]));
    /// # Ok::<(), jointly_pgm::Error>(())
    /// ```
    pub fn complete(
        &self,
        known: &Clique,
        mut columns: Vec<Vec<u32>>,
        records: usize,
        unlikely: &[StructuralZero],
        seed: u64,
    ) -> Result<Option<Completion>> {
        let domain = self.domain();
        unlikely.iter().try_for_each(|zero| zero.check(domain))?;
        let Some(plan) = Plan::new(self, known) else { return Ok(None) };
        let mut groups = plan.groups(&columns, records);
        let lacking: Vec<usize> = plan.steps.iter().map(|step| step.attribute).collect();
        lacking.iter().for_each(|attribute| columns[*attribute] = vec![0; records]);
        let rules: Vec<&StructuralZero> = domain.zeros_of_draws().chain(unlikely).collect();
        let forbidden = rules.len() - unlikely.len();
        let holds = |rules: &[&StructuralZero], columns: &[Vec<u32>], record: &u32| {
            let code = |attribute: usize| columns[attribute][*record as usize];
            rules.iter().any(|rule| rule.forbids(domain, code))
        };
        let mut left = Vec::new();
        for attempt in 0..ATTEMPTS {
            let drawn = plan.draw_groups(&groups, &columns, (seed, attempt));
            for (group, codes) in groups.iter_mut().zip(drawn) {
                let Some(codes) = codes else {
                    left.append(group);
                    continue;
                };
                for (record, codes) in group.iter().zip(codes.chunks_exact(lacking.len().max(1))) {
                    for (attribute, code) in lacking.iter().zip(codes) {
                        columns[*attribute][*record as usize] = *code;
                    }
                }
                group.retain(|record| holds(&rules, &columns, record));
            }
            groups.retain(|group| !group.is_empty());
            if groups.is_empty() {
                break;
            }
        }
        let again = groups.concat();
        left.extend(again.iter().filter(|record| holds(&rules[..forbidden], &columns, record)));
        left.sort_unstable();
        Ok(Some(Completion { columns, left }))
    }

    /// The factors of the model, as weights of at most 1.
    fn factors(&self) -> Vec<(Clique, Vec<f64>)> {
        let potentials = self.potentials();
        let cliques = potentials.layout().cliques().iter().enumerate();
        let of_potentials = cliques.map(|(table, clique)| {
            let values = potentials.table(table);
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            (clique.clone(), values.iter().map(|value| (value - most).exp()).collect())
        });
        let zeros = self.domain().fitted_zeros().map(|zero| {
            let weights = zero.forbidden().iter().map(|no| if *no { 0.0 } else { 1.0 });
            (zero.clique().clone(), weights.collect())
        });
        of_potentials.chain(zeros).collect()
    }
}

/// Attributes or steps, each with its stride in a table.
type Strides = Vec<(usize, usize)>;

/// How all records are completed.
struct Plan {
    factors: Vec<Sliced>,
    /// The factors of known attributes alone.
    known: Vec<usize>,
    /// In the order of elimination.
    steps: Vec<Step>,
    /// The known attributes that make a difference. Those that much work depends on, and little beside them, come first: where
    /// records are sorted by these, they change least.
    sorted_by: Vec<usize>,
}

/// A factor, of which the known values of a record choose a slice: its axes are the known attributes, and then those that lack,
/// those that are summed out first innermost.
struct Sliced {
    weights: Vec<f64>,
    known: Strides,
}

/// An attribute that is summed out of a table over itself, innermost, and those of its neighbors that are summed out later.
struct Step {
    attribute: usize,
    values: usize,
    /// The steps of these neighbors.
    neighbors: Strides,
    cells: usize,
    /// What is multiplied: where it has the values of the attribute for each combination of the neighbors, side by side.
    inputs: Vec<(Source, Vec<u32>)>,
    /// The known attributes that it depends on, by way of earlier steps too.
    known: Clique,
}

#[derive(Clone, Copy)]
enum Source {
    /// The slice of a factor.
    Factor(usize),
    /// What an earlier step has summed.
    Message(usize),
}

/// What a step was last, for the records before.
#[derive(Clone, Default)]
struct Taken {
    is_valid: bool,
    /// The product of what does not depend on known values; empty before the first record.
    fixed: Vec<f64>,
    table: Vec<f64>,
    message: Vec<f64>,
}

impl Plan {
    /// `None` if the tables are too large.
    fn new(model: &MarkovRandomField, known: &Clique) -> Option<Self> {
        let domain = model.domain();
        let factors = model.factors();
        let order = elimination(domain, factors.iter().map(|(clique, _)| clique), known);
        let place = |attribute: usize| order.iter().position(|(own, _)| *own == attribute);
        // Axes of attributes that lack, those that are eliminated first innermost.
        let axes = |attributes: &Clique| {
            let mut steps: Vec<usize> = attributes.iter().filter_map(place).collect();
            steps.sort_unstable_by(|a, b| b.cmp(a));
            steps.into_iter().map(|step| order[step].0).collect::<Vec<usize>>()
        };
        let shape = |axes: &[usize]| -> Vec<usize> {
            axes.iter().map(|a| domain.cardinality(*a)).collect()
        };
        // Each input with its attributes that lack and their strides, by the step that it is multiplied in.
        let mut inputs: Vec<Vec<(Source, Strides)>> = vec![Vec::new(); order.len()];
        let (mut sliced, mut of_known) = (Vec::with_capacity(factors.len()), Vec::new());
        for (number, (clique, weights)) in factors.iter().enumerate() {
            let (own, lacking) = (clique.intersection(known), axes(clique));
            let all: Vec<usize> = own.iter().chain(lacking.iter().copied()).collect();
            let strides = row_major_strides(&shape(&all));
            let of_known_ones = own.iter().zip(strides.iter().copied()).collect();
            let strides = lacking.iter().copied().zip(strides[own.len()..].iter().copied());
            match lacking.last().and_then(|attribute| place(*attribute)) {
                Some(first) => inputs[first].push((Source::Factor(number), strides.collect())),
                None => of_known.push(number),
            }
            let weights = moved(domain, clique, weights, &all);
            sliced.push(Sliced { weights, known: of_known_ones });
        }
        let mut steps: Vec<Step> = Vec::with_capacity(order.len());
        let mut work = 0_u64;
        for (number, (attribute, neighbors)) in order.iter().enumerate() {
            let around = axes(neighbors);
            let sizes = shape(&around);
            let values = domain.cardinality(*attribute);
            let rows = sizes.iter().try_fold(1_u64, |all, size| all.checked_mul(*size as u64))?;
            let cells = rows.checked_mul(values as u64)?;
            work = work.checked_add(cells.checked_mul(inputs[number].len().max(1) as u64)?)?;
            if work > MOST_CELLS {
                return None;
            }
            let (rows, cells) = (usize::try_from(rows).ok()?, usize::try_from(cells).ok()?);
            let strides = row_major_strides(&sizes);
            if let Some(next) = around.last().and_then(|attribute| place(*attribute)) {
                let of_message = around.iter().copied().zip(strides.iter().copied()).collect();
                inputs[next].push((Source::Message(number), of_message));
            }
            let placed = |lacking: &[(usize, usize)]| -> Vec<u32> {
                let of_axis = |a: &usize| lacking.iter().find(|(own, _)| own == a);
                let own: Vec<usize> =
                    around.iter().map(|a| of_axis(a).map_or(0, |(_, stride)| *stride)).collect();
                let at = |row: usize| {
                    let axes = strides.iter().zip(&sizes).zip(&own);
                    axes.map(|((stride, size), own)| row / stride % size * own).sum::<usize>()
                };
                (0..rows).map(|row| u32::try_from(at(row)).unwrap_or(u32::MAX)).collect()
            };
            let found = std::mem::take(&mut inputs[number]);
            let depends = found.iter().map(|(source, _)| match source {
                Source::Factor(factor) => {
                    Clique::new(sliced[*factor].known.iter().map(|(a, _)| *a))
                }
                Source::Message(step) => steps[*step].known.clone(),
            });
            let depends = depends.fold(Clique::default(), |all, own| all.union(&own));
            steps.push(Step {
                attribute: *attribute,
                values,
                neighbors: around
                    .iter()
                    .zip(&strides)
                    .filter_map(|(a, stride)| Some((place(*a)?, stride * values)))
                    .collect(),
                cells,
                inputs: found.iter().map(|(source, own)| (*source, placed(own))).collect(),
                known: depends,
            });
        }
        let mut plan = Self { factors: sliced, known: of_known, steps, sorted_by: Vec::new() };
        plan.sorted_by = plan.by_work(known);
        Some(plan)
    }

    /// The known attributes that make a difference, by the work that depends on each and on few others.
    fn by_work(&self, known: &Clique) -> Vec<usize> {
        let of_step = |step: &Step| {
            let others = step.known.len() as f64;
            (step.cells * step.inputs.len()) as f64 / (others * others)
        };
        let score = |attribute: usize| -> f64 {
            let own = self.steps.iter().filter(|step| step.known.contains(attribute));
            own.map(of_step).sum()
        };
        let is_in = |attribute: usize, factor: &usize| {
            self.factors[*factor].known.iter().any(|(own, _)| *own == attribute)
        };
        let matters = |a: &usize| score(*a) > 0.0 || self.known.iter().any(|f| is_in(*a, f));
        let mut sorted: Vec<usize> = known.iter().filter(matters).collect();
        sorted.sort_by(|a, b| score(*b).total_cmp(&score(*a)).then(a.cmp(b)));
        sorted
    }

    /// Records with equal known values, in the order of these.
    fn groups(&self, columns: &[Vec<u32>], records: usize) -> Vec<Vec<u32>> {
        let compare = |a: &u32, b: &u32| {
            let codes = self.sorted_by.iter().map(|attribute| &columns[*attribute]);
            let orders = codes.map(|column| column[*a as usize].cmp(&column[*b as usize]));
            orders.fold(Ordering::Equal, Ordering::then)
        };
        let mut order: Vec<u32> = (0_u32..).zip(0..records).map(|(record, _)| record).collect();
        order.sort_by(compare);
        order.chunk_by(|a, b| compare(a, b).is_eq()).map(<[u32]>::to_vec).collect()
    }

    /// For each group of records with the same known values, what [`draw`](Self::draw) gives. `seed`: with the number of the attempt.
    fn draw_groups(
        &self,
        groups: &[Vec<u32>],
        columns: &[Vec<u32>],
        (seed, attempt): (u64, u64),
    ) -> Vec<Option<Vec<u32>>> {
        let chunks = groups.par_chunks(GROUPS).enumerate();
        let drawn = chunks.map(|(chunk, groups)| {
            let mut taken = vec![Taken::default(); self.steps.len()];
            let mut before: Option<&[u32]> = None;
            let mut drawn = Vec::with_capacity(groups.len());
            for (number, group) in groups.iter().enumerate() {
                let mut rng = ChaCha20Rng::seed_from_u64(seed);
                rng.set_stream(attempt << 32 | (chunk * GROUPS + number) as u64);
                let of = |record: u32, a: usize| columns[a][record as usize] as usize;
                let changed = |attribute: usize| {
                    before.is_none_or(|last| of(last[0], attribute) != of(group[0], attribute))
                };
                let code = |attribute: usize| of(group[0], attribute);
                drawn.push(self.draw(code, changed, group.len(), &mut taken, &mut rng));
                before = Some(group);
            }
            drawn
        });
        drawn.collect::<Vec<_>>().concat()
    }

    /// Codes of the attributes that lack, in the order of the steps, of each of some records with the same known values; `None` if
    /// these have no mass.
    ///
    /// `changed`: whether a known value is another one than that of the records before. `taken`: what steps were for those.
    fn draw<R: Rng + ?Sized>(
        &self,
        code: impl Fn(usize) -> usize,
        changed: impl Fn(usize) -> bool,
        records: usize,
        taken: &mut [Taken],
        rng: &mut R,
    ) -> Option<Vec<u32>> {
        let start = |factor: &Sliced| -> usize {
            factor.known.iter().map(|(attribute, stride)| code(*attribute) * stride).sum()
        };
        for (step, own) in self.steps.iter().zip(taken.iter_mut()) {
            own.is_valid &= !step.known.iter().any(&changed);
        }
        let has_mass = |factor: &usize| {
            let factor = &self.factors[*factor];
            factor.weights[start(factor)] > 0.0
        };
        if !self.known.iter().all(has_mass) {
            return None;
        }
        for (number, step) in self.steps.iter().enumerate() {
            let (earlier, own) = taken.split_at_mut(number);
            let own = &mut own[0];
            if own.is_valid {
                continue;
            }
            let input = |source: &Source| match source {
                Source::Factor(factor) => {
                    let factor = &self.factors[*factor];
                    &factor.weights[start(factor)..]
                }
                Source::Message(step) => &earlier[*step].message[..],
            };
            let is_fixed = |source: &Source| match source {
                Source::Factor(factor) => self.factors[*factor].known.is_empty(),
                Source::Message(step) => self.steps[*step].known.is_empty(),
            };
            if own.fixed.is_empty() {
                own.fixed = vec![1.0; step.cells];
                for (source, places) in step.inputs.iter().filter(|(source, _)| is_fixed(source)) {
                    multiply(&mut own.fixed, step.values, input(source), places);
                }
            }
            own.table.clear();
            own.table.extend_from_slice(&own.fixed);
            for (source, places) in step.inputs.iter().filter(|(source, _)| !is_fixed(source)) {
                multiply(&mut own.table, step.values, input(source), places);
            }
            let most = own.table.iter().copied().fold(0.0, f64::max);
            if !(most > 0.0 && most.is_finite()) {
                // So are all that depend on it.
                taken[number..].iter_mut().for_each(|step| step.is_valid = false);
                return None;
            }
            own.message.clear();
            let rows = own.table.chunks_exact(step.values);
            own.message.extend(rows.map(|row| row.iter().sum::<f64>() / most));
            own.is_valid = true;
        }
        let mut drawn = vec![0; records * self.steps.len()];
        for codes in drawn.chunks_exact_mut(self.steps.len().max(1)) {
            for (number, step) in self.steps.iter().enumerate().rev() {
                let of_neighbor = |(at, stride): &(usize, usize)| codes[*at] as usize * stride;
                let first: usize = step.neighbors.iter().map(of_neighbor).sum();
                let weights = &taken[number].table[first..first + step.values];
                codes[number] = pick(weights, rng.random())?;
            }
        }
        Some(drawn)
    }
}

/// Multiplies each row of a table with the row of another one that begins at its place.
fn multiply(table: &mut [f64], values: usize, by: &[f64], places: &[u32]) {
    for (row, place) in table.chunks_exact_mut(values).zip(places) {
        let by = &by[*place as usize..][..values];
        row.iter_mut().zip(by).for_each(|(cell, weight)| *cell *= weight);
    }
}

/// A table over a clique, row-major with other axes.
fn moved(domain: &Domain, clique: &Clique, table: &[f64], axes: &[usize]) -> Vec<f64> {
    let strides = row_major_strides(&domain.shape(clique));
    let stride_of = |a: usize| clique.iter().zip(&strides).find(|(own, _)| *own == a);
    let own: Vec<(usize, usize)> = axes
        .iter()
        .map(|a| (domain.cardinality(*a), stride_of(*a).map_or(0, |(_, stride)| *stride)))
        .collect();
    let place = |cell: usize| {
        let (mut rest, mut at) = (cell, 0);
        for (extent, stride) in own.iter().rev() {
            at += rest % extent * stride;
            rest /= extent;
        }
        at
    };
    (0..table.len()).map(|cell| table[place(cell)]).collect()
}

/// The position at which a share of the sum of the weights is reached; `None` if there is no weight.
fn pick(weights: &[f64], share: f64) -> Option<u32> {
    let sum: f64 = weights.iter().sum();
    let mut left = share * sum;
    let mut last = None;
    for (position, weight) in (0..).zip(weights).filter(|(_, weight)| **weight > 0.0) {
        last = Some(position);
        left -= weight;
        if left < 0.0 {
            break;
        }
    }
    last
}

/// The attributes that lack, in the order of elimination, each with those of its neighbors that lack and are eliminated later. Of
/// several, the one with the smallest table is next.
fn elimination<'c>(
    domain: &Domain,
    cliques: impl Iterator<Item = &'c Clique>,
    known: &Clique,
) -> Vec<(usize, Clique)> {
    let mut adjacent: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); domain.len()];
    let connect = |adjacent: &mut Vec<BTreeSet<usize>>, clique: &Clique| {
        for one in clique.iter() {
            adjacent[one].extend(clique.iter().filter(|other| *other != one));
        }
    };
    cliques.for_each(|clique| connect(&mut adjacent, &clique.difference(known)));
    let mut left: Vec<usize> = (0..domain.len()).filter(|a| !known.contains(*a)).collect();
    let mut order = Vec::with_capacity(left.len());
    let cells = |adjacent: &[BTreeSet<usize>], attribute: usize| {
        let around = adjacent[attribute].iter().map(|a| domain.cardinality(*a) as u128);
        around.fold(domain.cardinality(attribute) as u128, u128::saturating_mul)
    };
    while let Some(place) = (0..left.len()).min_by_key(|at| cells(&adjacent, left[*at])) {
        let attribute = left.remove(place);
        let neighbors = Clique::new(std::mem::take(&mut adjacent[attribute]));
        for neighbor in neighbors.iter() {
            adjacent[neighbor].remove(&attribute);
        }
        connect(&mut adjacent, &neighbors);
        order.push((attribute, neighbors));
    }
    order
}

#[cfg(test)]
mod tests;
