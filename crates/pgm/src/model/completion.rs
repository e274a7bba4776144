//! Records of which some attributes are known, completed without a model for each of them.
//!
//! Given the known values of a record, each factor of the model is a table over the attributes that lack, and small. These tables
//! are multiplied and summed out one attribute after another, and the attributes are drawn in the reverse order: variable
//! elimination, in an order and with places of cells that all records share.

use std::collections::BTreeSet;

use rand::rngs::ChaCha20Rng;
use rand::{Rng, RngExt, SeedableRng};
use rayon::prelude::*;

use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::model::MarkovRandomField;
use crate::model::sampling::Groups;
use crate::table::row_major_strides;

/// Most cells of all tables of one record together, each as often as it is multiplied.
const MOST_CELLS: u64 = 1 << 22;

/// Records with all attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Codes of each attribute, by position.
    pub columns: Vec<Vec<u32>>,
    /// Records whose known values have no mass, in increasing order: no record of the model has them together, or hardly any.
    /// What was drawn for them means nothing.
    pub without_mass: Vec<u32>,
}

impl MarkovRandomField {
    /// Draws the attributes that records lack, each record independently from the model's distribution given its known values.
    /// `None` if a record takes tables of more than 2²² cells, or the model leaves structural zeros to draws. The same seed gives
    /// the same records, whatever the number of threads.
    ///
    /// `known`: the attributes that are known. `columns`: codes of each attribute, by position; of one that lacks, they are not
    /// looked at. `records`: their number.
    ///
    /// # Errors
    /// More than 2⁶⁴ combinations of known values.
    ///
    /// ```
    /// use jointly_pgm::{domain::{Clique, Domain}, model::MarkovRandomField, table::{CliqueLayout, Potentials}};
    /// let domain = Domain::new([("a", 2), ("b", 2)])?;
    /// let mut theta = Potentials::zeros(&CliqueLayout::new(&domain, [Clique::new([0, 1])])?);
    /// theta.table_mut(0).copy_from_slice(&[0.0, f64::NEG_INFINITY, f64::NEG_INFINITY, 0.0]); // a = b
    /// let model = MarkovRandomField::new(&domain, theta, 10.0)?;
    /// let done = model.complete(&Clique::new([0]), vec![vec![0, 1, 1], Vec::new()], 3, 1)?;
    /// assert_eq!(done.map(|done| done.columns[1].clone()), Some(vec![0, 1, 1]));
    /// # Ok::<(), jointly_pgm::Error>(())
    /// ```
    pub fn complete(
        &self,
        known: &Clique,
        mut columns: Vec<Vec<u32>>,
        records: usize,
        seed: u64,
    ) -> Result<Option<Completion>> {
        let domain = self.domain();
        if domain.zeros_of_draws().next().is_some() {
            return Ok(None);
        }
        let Some(plan) = Plan::new(self, known) else { return Ok(None) };
        let groups = Groups::new(known, &columns, records, |a| domain.cardinality(a))?;
        let groups: Vec<&[u32]> = groups.iter().collect();
        let drawn: Vec<Option<Vec<u32>>> = (0_u64..)
            .zip(&groups)
            .collect::<Vec<_>>()
            .into_par_iter()
            .map_init(Vec::new, |tables, (number, group)| {
                let mut rng = ChaCha20Rng::seed_from_u64(seed);
                rng.set_stream(number);
                let code = |attribute: usize| columns[attribute][group[0] as usize] as usize;
                plan.draw(code, group.len(), tables, &mut rng)
            })
            .collect();
        let lacking: Vec<usize> = plan.steps.iter().map(|step| step.attribute).collect();
        let mut found: Vec<Vec<u32>> = vec![vec![0; records]; lacking.len()];
        let mut without_mass = Vec::new();
        for (group, codes) in groups.iter().zip(drawn) {
            let Some(codes) = codes else {
                without_mass.extend_from_slice(group);
                continue;
            };
            for (record, codes) in group.iter().zip(codes.chunks_exact(lacking.len().max(1))) {
                for (column, code) in found.iter_mut().zip(codes) {
                    column[*record as usize] = *code;
                }
            }
        }
        for (attribute, column) in lacking.into_iter().zip(found) {
            columns[attribute] = column;
        }
        without_mass.sort_unstable();
        Ok(Some(Completion { columns, without_mass }))
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
}

/// A factor, of which the known values of a record choose a slice.
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
    /// What is multiplied: where each cell of the table is in it.
    inputs: Vec<(Source, Vec<u32>)>,
}

#[derive(Clone, Copy)]
enum Source {
    /// The slice of a factor.
    Factor(usize),
    /// What an earlier step has summed.
    Message(usize),
}

impl Plan {
    /// `None` if the tables are too large.
    fn new(model: &MarkovRandomField, known: &Clique) -> Option<Self> {
        let domain = model.domain();
        let factors = model.factors();
        let order = elimination(domain, factors.iter().map(|(clique, _)| clique), known);
        let place = |attribute: usize| order.iter().position(|(own, _)| *own == attribute);
        // Each input with its attributes that lack and their strides, by the step that it is multiplied in.
        let mut inputs: Vec<Vec<(Source, Strides)>> = vec![Vec::new(); order.len()];
        let (mut sliced, mut of_known) = (Vec::with_capacity(factors.len()), Vec::new());
        for (number, (clique, weights)) in factors.into_iter().enumerate() {
            let strides = row_major_strides(&domain.shape(&clique));
            let (own, lacking): (Strides, Strides) =
                clique.iter().zip(strides).partition(|(attribute, _)| known.contains(*attribute));
            match lacking.iter().filter_map(|(a, _)| place(*a)).min() {
                Some(first) => inputs[first].push((Source::Factor(number), lacking)),
                None => of_known.push(number),
            }
            sliced.push(Sliced { weights, known: own });
        }
        let mut steps = Vec::with_capacity(order.len());
        let mut work = 0_u64;
        for (number, (attribute, neighbors)) in order.iter().enumerate() {
            let axes: Vec<usize> = neighbors.iter().chain([*attribute]).collect();
            let shape: Vec<usize> = axes.iter().map(|a| domain.cardinality(*a)).collect();
            let cells = shape.iter().try_fold(1_u64, |all, size| all.checked_mul(*size as u64))?;
            work = work.checked_add(cells.checked_mul(inputs[number].len().max(1) as u64)?)?;
            if work > MOST_CELLS {
                return None;
            }
            let cells = usize::try_from(cells).ok()?;
            let strides = row_major_strides(&shape);
            // The message has the same order of attributes.
            let values = domain.cardinality(*attribute);
            let of_message: Strides =
                neighbors.iter().zip(&strides).map(|(a, stride)| (a, stride / values)).collect();
            if let Some(next) = neighbors.iter().filter_map(place).min() {
                inputs[next].push((Source::Message(number), of_message));
            }
            let placed = |lacking: &[(usize, usize)]| -> Vec<u32> {
                let of_axis = |a: &usize| lacking.iter().find(|(own, _)| own == a);
                let own: Vec<usize> =
                    axes.iter().map(|a| of_axis(a).map_or(0, |(_, stride)| *stride)).collect();
                let at = |cell: usize| {
                    let axes = strides.iter().zip(&shape).zip(&own);
                    axes.map(|((stride, size), own)| cell / stride % size * own).sum::<usize>()
                };
                (0..cells).map(|cell| u32::try_from(at(cell)).unwrap_or(u32::MAX)).collect()
            };
            let found = std::mem::take(&mut inputs[number]);
            let neighbors = neighbors.iter().zip(&strides);
            steps.push(Step {
                attribute: *attribute,
                values,
                neighbors: neighbors.filter_map(|(a, stride)| Some((place(a)?, *stride))).collect(),
                cells,
                inputs: found.iter().map(|(source, own)| (*source, placed(own))).collect(),
            });
        }
        Some(Self { factors: sliced, known: of_known, steps })
    }

    /// Codes of the attributes that lack, in the order of the steps, of each of some records with the same known values; `None` if
    /// these have no mass.
    fn draw<R: Rng + ?Sized>(
        &self,
        code: impl Fn(usize) -> usize,
        records: usize,
        tables: &mut Vec<(Vec<f64>, Vec<f64>)>,
        rng: &mut R,
    ) -> Option<Vec<u32>> {
        tables.resize_with(self.steps.len(), Default::default);
        let start = |factor: &Sliced| -> usize {
            factor.known.iter().map(|(attribute, stride)| code(*attribute) * stride).sum()
        };
        let starts: Vec<usize> = self.factors.iter().map(start).collect();
        if self.known.iter().any(|factor| self.factors[*factor].weights[starts[*factor]] == 0.0) {
            return None;
        }
        for (number, step) in self.steps.iter().enumerate() {
            let (earlier, own) = tables.split_at_mut(number);
            let (table, message) = &mut own[0];
            table.clear();
            table.resize(step.cells, 1.0);
            for (source, places) in &step.inputs {
                let from = match source {
                    Source::Factor(factor) => &self.factors[*factor].weights[starts[*factor]..],
                    Source::Message(step) => &earlier[*step].1[..],
                };
                let cells = table.iter_mut().zip(places);
                cells.for_each(|(cell, place)| *cell *= from[*place as usize]);
            }
            let most = table.iter().copied().fold(0.0, f64::max);
            if !(most > 0.0 && most.is_finite()) {
                return None;
            }
            table.iter_mut().for_each(|cell| *cell /= most);
            message.clear();
            message.extend(table.chunks_exact(step.values).map(|row| row.iter().sum::<f64>()));
        }
        let mut drawn = vec![0; records * self.steps.len()];
        for codes in drawn.chunks_exact_mut(self.steps.len().max(1)) {
            for (number, step) in self.steps.iter().enumerate().rev() {
                let of_neighbor = |(at, stride): &(usize, usize)| codes[*at] as usize * stride;
                let first: usize = step.neighbors.iter().map(of_neighbor).sum();
                let weights = &tables[number].0[first..first + step.values];
                codes[number] = pick(weights, rng.random())?;
            }
        }
        Some(drawn)
    }
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
