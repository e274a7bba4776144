//! Exchanges drawn records for other listed ones until the records' marginals are close to the model's.
//!
//! Rounding leaves open which of the listed records are drawn once more than the integer part of their expected number: the
//! *upper* ones. Each cell of each clique gets a *target*, the expected number of records in it, rounded up or down at random so that
//! it is right on average. With the excesses `J = k - target` of cells with k records, an upper record that leaves cell i of each
//! clique for another one, which comes into cell j, changes `Σ J²` by `2 Σ_c (J_c[j] - J_c[i] + 1)` over the cliques on which i and j
//! differ. (With the expected numbers themselves as targets, cells that expect less than half a record would be best empty.)
//!
//! The others are drawn at random, by their fractions f of the expected number, and an upper record is asked with probability 1 - f.
//! If all exchanges were made, each record would be an upper one with about the probability f: they have the distribution of
//! Poisson sampling given its size, with the odds f / (1 - f). Of each batch, the records that are most in excess are compared with
//! the best of four times as many others, and those exchanges are made that reduce the sum.

use rand::{Rng, RngExt};
use rayon::prelude::*;

use crate::data::{Dataset, Projectable};
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::model::avoiding::holding;
use crate::model::refine::{BATCH, BATCHES, CHUNK, MOST_CELLS, check, with_subsets};
use crate::model::sampling::deal_records;
use crate::model::{Refinement, Sampling};
use crate::table::row_major_strides;

/// Others that are drawn for a record of a batch. On NIST's Massachusetts 2 and 16 gave about the same errors.
const OTHERS: usize = 4;
/// Most visits to every upper record.
const SWEEPS: usize = 10;
/// Visits end when a sweep exchanges one record of this many, or fewer.
const FEW_OF: usize = 100;
/// Most cells that a sweep reads: some seconds of work.
const MOST_READ: u64 = 1 << 31;

/// Where the excesses of one clique stand.
struct Table {
    /// Its attributes, with their strides.
    axes: Vec<(usize, usize)>,
    /// Its first cell among those of all tables.
    begin: usize,
    cells: usize,
}

impl Table {
    /// The cell of a record among those of all tables.
    fn cell(&self, record: &[u32]) -> usize {
        self.begin + self.axes.iter().map(|(a, stride)| stride * record[*a] as usize).sum::<usize>()
    }

    /// Adds to the sum of each record the excess in its cell. `columns`: the records' codes, attribute by attribute.
    fn add_to(&self, sums: &mut [i64], columns: &[Vec<u32>], excess: &[i32]) {
        let excess = &excess[self.begin..][..self.cells];
        match self.axes[..] {
            [(a, s), (b, t), (c, u)] => {
                let codes = columns[a].iter().zip(&columns[b]).zip(&columns[c]);
                for (sum, ((a, b), c)) in sums.iter_mut().zip(codes) {
                    let at = s * *a as usize + t * *b as usize + u * *c as usize;
                    *sum += i64::from(excess[at]);
                }
            }
            [(a, s), (b, t)] => {
                for (sum, (a, b)) in sums.iter_mut().zip(columns[a].iter().zip(&columns[b])) {
                    *sum += i64::from(excess[s * *a as usize + t * *b as usize]);
                }
            }
            _ => {
                for (record, sum) in sums.iter_mut().enumerate() {
                    let steps = self.axes.iter().map(|(a, s)| s * columns[*a][record] as usize);
                    *sum += i64::from(excess[steps.sum::<usize>()]);
                }
            }
        }
    }
}

/// Draws listed records, each about as often as its weight says, and so that their marginals are near those of the list.
///
/// Each record is drawn its expected number of times, rounded up or down. Which ones are rounded up is drawn at random, and then
/// improved by exchanges, until the marginals on the cliques and all their subsets are close, with the same weight for every clique.
/// Only the list and its weights are used, so it costs no privacy. Cliques of more than eight attributes are left out, and so are
/// the largest ones, those with most attributes first, if all of them would take more than some seconds or half a GiB.
///
/// Records with an unlikely combination are not drawn, and the others make up for what marginals lose by that; where all have some, they
/// are drawn as if none had.
///
/// `weights`: of the listed records, not normalized. Returns the positions of those drawn, in random order. They depend on the generator,
/// and not on the number of threads.
///
/// # Errors
/// A number of weights other than that of records, no record to draw, more than 32 bits can count, or a clique or an unlikely combination
/// outside the domain.
///
/// ```
/// use jointly_pgm::{data::{Dataset, Projectable}, domain::{Clique, Domain}, model::refined_list};
/// use rand::{SeedableRng, rngs::ChaCha20Rng};
/// let rows: Vec<[u32; 2]> = (0..100).map(|i| [i % 10, i / 10]).collect();
/// let rows = Dataset::from_rows(Domain::new([("a", 10), ("b", 10)])?, &rows)?;
/// let singles = [Clique::new([0]), Clique::new([1])];
/// let (weights, refinement) = ([1.0; 100], singles.to_vec().into());
/// let drawn = refined_list(&rows, &weights, 20, &refinement, &mut ChaCha20Rng::seed_from_u64(1))?;
/// let drawn = rows.take(&drawn);
/// for single in &singles {
///     assert!(drawn.project(single)?.iter().all(|count| count.abs_diff(2) <= 1));
/// }
/// # Ok::<(), jointly_pgm::Error>(())
/// ```
pub fn refined_list<R: Rng + ?Sized>(
    rows: &Dataset,
    weights: &[f64],
    records: usize,
    refinement: &Refinement,
    rng: &mut R,
) -> Result<Vec<u32>> {
    if weights.len() != rows.records() {
        let expected = format!("{}, one for each record", rows.records());
        return Err(Error::invalid_specification(
            "weights of a list",
            weights.len().to_string(),
            expected,
        ));
    }
    let Refinement { cliques, unlikely } = refinement;
    let is_unlikely = holding(rows, unlikely)?;
    let likely = weights.iter().zip(is_unlikely).map(|(w, is)| if is { 0.0 } else { *w });
    let likely: Vec<f64> = likely.collect();
    let weights = if likely.iter().any(|weight| *weight > 0.0) { &likely } else { weights };
    let mut drawn = deal_records(weights, records, Sampling::Rounded, rng)?;
    Exchange::new(rows, weights, &drawn, cliques, rng)?.run(&mut drawn, rng);
    Ok(drawn)
}

/// Which of the listed records are upper ones, and what the drawn ones have too many or too few of.
struct Exchange<'a> {
    /// The listed records.
    rows: &'a Dataset,
    tables: Vec<Table>,
    excess: Vec<i32>,
    /// f of each listed record.
    fractions: Vec<f64>,
    /// Their cumulated sums.
    cumulated: Vec<f64>,
    is_upper: Vec<bool>,
}

impl<'a> Exchange<'a> {
    /// `drawn`: positions of listed records, each as often as its expected number says, rounded up or down.
    fn new<R: Rng + ?Sized>(
        rows: &'a Dataset,
        weights: &[f64],
        drawn: &[u32],
        cliques: &[Clique],
        rng: &mut R,
    ) -> Result<Self> {
        let domain = rows.domain();
        let scale = drawn.len() as f64 / weights.iter().sum::<f64>();
        let expected: Vec<f64> = weights.iter().map(|weight| scale * weight).collect();
        let mut copies = vec![0_u32; rows.records()];
        drawn.iter().for_each(|at| copies[*at as usize] += 1);
        let is_upper = copies.iter().zip(&expected).map(|(k, e)| f64::from(*k) > e.floor());
        let fractions: Vec<f64> = expected.iter().map(|e| e.fract()).collect();
        let mut sum = 0.0;
        let cumulated = fractions.iter().map(|fraction| {
            sum += fraction;
            sum
        });
        let (is_upper, cumulated) = (is_upper.collect(), cumulated.collect());

        let cliques = within_reach(domain, cliques, drawn.len(), rows.records())?;
        let wanted = rows.weighted_marginals(&expected, &cliques)?;
        let found = rows.take(drawn).project_many(&cliques)?;
        let (mut tables, mut excess) = (Vec::with_capacity(cliques.len()), Vec::new());
        for ((clique, wanted), found) in cliques.iter().zip(wanted).zip(found) {
            let axes = clique.iter().zip(row_major_strides(&domain.shape(clique))).collect();
            tables.push(Table { axes, begin: excess.len(), cells: found.len() });
            let targets = rounded(&wanted, rng.random());
            #[expect(clippy::cast_possible_truncation, reason = "no cell has 2³¹ records too many")]
            let of_cell = |(k, target): (&u32, i64)| (i64::from(*k) - target) as i32;
            excess.extend(found.iter().zip(targets).map(of_cell));
        }
        Ok(Self { rows, tables, excess, fractions, cumulated, is_upper })
    }

    /// Makes exchanges among the drawn records, as long as they are worth it.
    fn run<R: Rng + ?Sized>(&mut self, drawn: &mut [u32], rng: &mut R) {
        if self.tables.is_empty() {
            return;
        }
        let upper = self.places_of_upper(drawn);
        let batch = (upper.len() / BATCHES).clamp(1, BATCH);
        for _ in 0..SWEEPS {
            let mut exchanged = 0;
            for places in upper.chunks(batch) {
                exchanged += self.exchange_some(places, drawn, rng);
            }
            if FEW_OF * exchanged <= upper.len() {
                break;
            }
        }
    }

    /// Exchanges those of a batch that are most in excess for the best of others. Returns how many.
    fn exchange_some<R: Rng + ?Sized>(
        &mut self,
        places: &[usize],
        drawn: &mut [u32],
        rng: &mut R,
    ) -> usize {
        let stays = |place: &usize| self.fractions[drawn[*place] as usize];
        let asked: Vec<usize> =
            places.iter().copied().filter(|place| rng.random::<f64>() >= stays(place)).collect();
        let others = self.others(OTHERS * asked.len(), rng);
        let leaving: Vec<u32> = asked.iter().map(|place| drawn[*place]).collect();
        let worst = ranked(&self.scores(&leaving)).into_iter().rev();
        let best = ranked(&self.scores(&others));
        let mut exchanged = 0;
        for (place, other) in worst.zip(best) {
            let (place, other) = (asked[place], others[other]);
            if self.exchange(drawn[place], other) {
                drawn[place] = other;
                exchanged += 1;
            }
        }
        exchanged
    }

    /// A place of each upper record among those drawn.
    fn places_of_upper(&self, drawn: &[u32]) -> Vec<usize> {
        let mut is_found = vec![false; self.is_upper.len()];
        let is_first = |(_, at): &(usize, &u32)| {
            let at = **at as usize;
            self.is_upper[at] && !std::mem::replace(&mut is_found[at], true)
        };
        drawn.iter().enumerate().filter(is_first).map(|(place, _)| place).collect()
    }

    /// Draws this many listed records by their fractions, and drops those that are upper ones. Returns their positions.
    #[expect(clippy::cast_possible_truncation, reason = "a list has positions of 32 bits")]
    fn others<R: Rng + ?Sized>(&self, number: usize, rng: &mut R) -> Vec<u32> {
        let (sum, last) = (self.cumulated.last().copied(), self.cumulated.len().saturating_sub(1));
        let mut draw = || {
            let point = rng.random::<f64>() * sum.unwrap_or(0.0);
            self.cumulated.partition_point(|cumulated| *cumulated <= point).min(last)
        };
        let drawn = (0..number).map(|_| draw());
        drawn.filter(|at| !self.is_upper[*at]).map(|at| at as u32).collect()
    }

    /// The sum of the excesses in each record's cells.
    fn scores(&self, listed: &[u32]) -> Vec<i64> {
        let listed = self.rows.take(listed);
        let codes: Vec<Vec<u32>> = listed.columns().iter().map(|c| c.iter().collect()).collect();
        let mut scores = vec![0; listed.records()];
        scores.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, sums)| {
            let own = |column: &Vec<u32>| column[chunk * CHUNK..][..sums.len()].to_vec();
            let columns: Vec<Vec<u32>> = codes.iter().map(own).collect();
            self.tables.iter().for_each(|table| table.add_to(sums, &columns, &self.excess));
        });
        scores
    }

    /// Exchanges two records, if that reduces the sum.
    fn exchange(&mut self, old: u32, new: u32) -> bool {
        if self.is_upper[new as usize] {
            return false;
        }
        let (from, to) = (self.rows.row(old as usize), self.rows.row(new as usize));
        let cells = self.tables.iter().map(|table| (table.cell(&from), table.cell(&to)));
        let cells: Vec<(usize, usize)> = cells.filter(|(i, j)| i != j).collect();
        let excess = &mut self.excess;
        let change = cells.iter().map(|(i, j)| i64::from(excess[*j]) - i64::from(excess[*i]) + 1);
        if change.sum::<i64>() >= 0 {
            return false;
        }
        for (i, j) in cells {
            excess[i] -= 1;
            excess[j] += 1;
        }
        self.is_upper[old as usize] = false;
        self.is_upper[new as usize] = true;
        true
    }
}

/// Numbers rounded up or down, of which neighbors sum to what they summed to, rounded. `offset`: uniform in [0, 1), which makes each
/// right on average.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the numbers count records, of which 32 bits count all"
)]
fn rounded(numbers: &[f64], offset: f64) -> impl Iterator<Item = i64> {
    let (mut sum, mut given) = (offset, 0);
    numbers.iter().map(move |number| {
        sum += number;
        let target = sum.floor() as i64 - given;
        given += target;
        target
    })
}

/// The positions of scores, the lowest first.
fn ranked(scores: &[i64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|i, j| scores[*i].cmp(&scores[*j]));
    order
}

/// The cliques and their subsets, small ones first, as far as their tables fit the limits of memory and time.
fn within_reach(
    domain: &Domain,
    cliques: &[Clique],
    records: usize,
    listed: usize,
) -> Result<Vec<Clique>> {
    check(domain, cliques)?;
    let wanted = with_subsets(domain, cliques.iter());
    let of_clique =
        (records as u64).saturating_mul(OTHERS as u64 + 3).saturating_add(listed as u64);
    let (mut cells, mut read) = (0_u64, 0_u64);
    let fits = |clique: &Clique| {
        cells = cells.saturating_add(domain.cells(clique).unwrap_or(u64::MAX));
        read = read.saturating_add(of_clique);
        cells <= MOST_CELLS && read <= MOST_READ
    };
    Ok(wanted.into_iter().take_while(fits).collect())
}

#[cfg(test)]
mod tests;
