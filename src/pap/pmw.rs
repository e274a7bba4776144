//! Private multiplicative weights over the cells between cuts, with single queries of the class as candidates.

use crate::domain::Clique;
use crate::error::{Error, Result};
use crate::model::WeightedSupport;
use crate::pap::ranges::{Axis, product, query, sums, sums_of};
use crate::privacy::{
    CellSet, Curator, NeighboringRelation, Result as PrivacyResult, Score, ScoreSensitivity,
    Selection,
};

/// Most queries. Their private, model and scored counts are in memory: 1.5 GiB.
const MAX_QUERIES: u64 = 1 << 26;
/// Most projections after each round.
const PROJECTIONS: u32 = 100;
/// Minimum distance of answers from 0 and 1.
const MARGIN: f64 = 1e-6;
/// Error at which projections end.
const MET: f64 = 1e-12;

/// Columns whose records are counted together: one for thresholds and intervals, all for boxes, conjunctions and lists. Blocks are independent of
/// one another in the model, and stay so, as no query is about two of them.
pub(super) struct Block {
    /// Places of the columns among all, in the order of the clique.
    pub(super) columns: Vec<usize>,
    pub(super) clique: Clique,
    pub(super) axes: Vec<Axis>,
    /// The queries, if they are listed: a range of each axis. Otherwise all products of the axes' ranges.
    pub(super) listed: Option<Vec<Vec<(usize, usize)>>>,
    /// The probability of each cell, row-major.
    pub(super) weights: Vec<f64>,
}

/// A query that was measured.
pub(super) struct AnsweredQuery {
    pub(super) block: usize,
    /// For each axis of the block.
    pub(super) ranges: Vec<(usize, usize)>,
    cells: Vec<usize>,
    pub(super) count: f64,
    pub(super) variance: f64,
}

/// The number of records.
#[derive(Clone, Copy)]
pub(super) struct Records {
    /// At least 1.
    pub(super) count: f64,
    /// 0 where the number is public.
    pub(super) variance: f64,
}

/// What the rounds end with.
pub(super) struct Pmw {
    pub(super) blocks: Vec<Block>,
    pub(super) answered: Vec<AnsweredQuery>,
    pub(super) records: Records,
}

impl Block {
    /// All cells equally likely.
    ///
    /// # Errors
    /// More cells than [`WeightedSupport::MAX_CELLS`].
    pub(super) fn new(columns: Vec<usize>, clique: Clique, axes: Vec<Axis>) -> Result<Self> {
        let cells = product(axes.iter().map(|axis| axis.cells));
        if cells > WeightedSupport::MAX_CELLS {
            let most = WeightedSupport::MAX_CELLS as f64;
            return Err(Error::too_large("a grid of cuts", Some(cells as f64), most, "cells"));
        }
        let even = (cells as f64).recip();
        let weights = vec![even; axes.iter().map(|axis| axis.cells).product()];
        Ok(Self { columns, clique, axes, listed: None, weights })
    }

    /// Number of queries.
    fn queries(&self) -> u64 {
        match &self.listed {
            Some(listed) => listed.len() as u64,
            None => product(self.axes.iter().map(|axis| axis.len())),
        }
    }

    /// The sums of a table over all queries.
    fn sums(&self, table: &[f64]) -> Vec<f64> {
        match &self.listed {
            Some(listed) => sums_of(table, &self.axes, listed),
            None => sums(table, &self.axes),
        }
    }

    /// The ranges of a query, by its place.
    fn query(&self, place: usize) -> Vec<(usize, usize)> {
        match &self.listed {
            Some(listed) => listed[place].clone(),
            None => query(&self.axes, place),
        }
    }

    /// The number of records in the first cells of an axis, up to each that is not the missing value's, out of `records`.
    pub(super) fn sums_below(&self, axis: usize, records: f64) -> Vec<f64> {
        let inner: usize = self.axes[axis + 1..].iter().map(|axis| axis.cells).product();
        let cells = self.axes[axis].cells;
        let mut counts = vec![0.0; cells];
        for (at, slice) in self.weights.chunks(inner).enumerate() {
            counts[at % cells] += records * slice.iter().sum::<f64>();
        }
        let mut sum = 0.0;
        let add = |count: &f64| {
            sum += count;
            sum
        };
        counts[..cells - 1].iter().map(add).collect()
    }

    /// q(A).
    fn probability(&self, cells: &[usize]) -> f64 {
        cells.iter().map(|cell| self.weights[*cell]).sum()
    }

    /// The distribution nearest in relative entropy that gives the cells the probability a: those inside are scaled to it,
    /// the others to 1 − a.
    fn project(&mut self, cells: &[usize], a: f64) {
        let [a, b] = [a, self.probability(cells)].map(|p| p.clamp(MARGIN, 1.0 - MARGIN));
        let (inside, outside) = (a / b, (1.0 - a) / (1.0 - b));
        self.weights.iter_mut().for_each(|weight| *weight *= outside);
        cells.iter().for_each(|cell| self.weights[*cell] *= inside / outside);
        let sum: f64 = self.weights.iter().sum();
        self.weights.iter_mut().for_each(|weight| *weight /= sum);
    }
}

impl Pmw {
    /// Runs rounds until a curator's budget is spent: each selects the query with the largest error and measures it, for
    /// half of the round's budget each, and projects onto all answers so far, the worst first, as PEP does (Liu, Vietri & Wu
    /// 2021, Algorithm 2). No query is measured twice. `cuts`: the number of all cuts.
    ///
    /// # Errors
    /// Too many queries, or a budget that is too small.
    pub(super) fn run(
        curator: &mut Curator<'_>,
        blocks: Vec<Block>,
        rounds: Option<u32>,
        cuts: usize,
    ) -> Result<Self> {
        let queries = blocks.iter().fold(0, |sum: u64, block| sum.saturating_add(block.queries()));
        if queries > MAX_QUERIES {
            let most = MAX_QUERIES as f64;
            return Err(Error::too_large("the class", Some(queries as f64), most, "queries"));
        }
        let records = Records::of(curator)?;
        let mut own = Self { blocks, answered: Vec::new(), records };
        let rounds = rounds.map_or_else(|| own.default_rounds(cuts), u64::from).min(queries);
        let cliques: Vec<Clique> = own.blocks.iter().map(|block| block.clique.clone()).collect();
        let truth = curator.marginals(&cliques)?;
        let mut taken = Vec::new();
        for left in (1..=rounds).rev() {
            curator.begin_round(curator.round().saturating_add(1))?;
            let budget = curator.remaining().split(1, left).unwrap_or_default().0;
            let (select, measure) = budget.split(1, 2).unwrap_or_default();
            let free = usize::try_from(queries).unwrap_or(usize::MAX) - taken.len();
            let scores =
                RangeErrors { blocks: &own.blocks, model: own.model(), taken: &taken, free };
            let scores = truth.score(&scores)?;
            let choice =
                curator.select(Selection::Exponential, scores, select, "choose a range")?;
            // The choice is among the queries that are not taken.
            let place = taken.iter().fold(choice, |place, t| place + usize::from(*t <= place));
            taken.insert(taken.partition_point(|t| *t < place), place);
            let (block, ranges) = own.query(place);
            let codes = |code: usize| u32::try_from(code).unwrap_or(u32::MAX);
            let cells = CellSet::new(ranges.iter().map(|(from, to)| codes(*from)..codes(*to)))?;
            let noisy = curator.measure_sum(&own.blocks[block].clique, &cells, measure)?;
            let shape: Vec<usize> = own.blocks[block].axes.iter().map(|axis| axis.cells).collect();
            let cells = cells.cells(&shape);
            let (count, variance) = (noisy.value as f64, noisy.variance.to_f64());
            own.answered.push(AnsweredQuery { block, ranges, cells, count, variance });
            own.project();
        }
        Ok(own)
    }

    /// T = 4 + log₂(n m), at least 1.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "4 to 100")]
    fn default_rounds(&self, cuts: usize) -> u64 {
        4 + (self.records.count * cuts as f64).log2().round().max(0.0) as u64
    }

    /// `n q(A)` for all queries.
    fn model(&self) -> Vec<f64> {
        let of_block = |block: &Block| {
            let counts: Vec<f64> = block.weights.iter().map(|p| p * self.records.count).collect();
            block.sums(&counts)
        };
        self.blocks.iter().flat_map(of_block).collect()
    }

    /// The block of a query and its ranges, by its place among all.
    fn query(&self, mut place: usize) -> (usize, Vec<(usize, usize)>) {
        for (at, block) in self.blocks.iter().enumerate() {
            let queries = usize::try_from(block.queries()).unwrap_or(usize::MAX);
            if place < queries {
                return (at, block.query(place));
            }
            place -= queries;
        }
        (0, self.blocks[0].query(0))
    }

    /// Projects onto the answer with the largest error, again and again.
    fn project(&mut self) {
        let Self { blocks, answered, records } = self;
        let wanted = |answered: &AnsweredQuery| (answered.count / records.count).clamp(0.0, 1.0);
        for _ in 0..PROJECTIONS {
            let errors = answered.iter().map(|answered| {
                let probability = blocks[answered.block].probability(&answered.cells);
                (answered, (probability - wanted(answered)).abs())
            });
            let worst = errors.max_by(|(_, a), (_, b)| a.total_cmp(b));
            let Some((worst, _)) = worst.filter(|(_, error)| *error > MET) else { return };
            blocks[worst.block].project(&worst.cells, wanted(worst));
        }
    }
}

/// `|n q(D) − n q(A)|` for every query q that is not taken: the records in a range of cells of a block. A record is in the
/// range or not, so that the error changes by no more than that of a cell (`docs/theory/sensitivities.md`, section 3).
struct RangeErrors<'a> {
    blocks: &'a [Block],
    /// `n q(A)` for all queries.
    model: Vec<f64>,
    /// Increasing.
    taken: &'a [usize],
    /// How many are not taken.
    free: usize,
}

impl Score for RangeErrors<'_> {
    fn candidates(&self) -> usize {
        self.free
    }

    fn sensitivity(&self, relation: NeighboringRelation) -> PrivacyResult<ScoreSensitivity> {
        Ok(ScoreSensitivity::cell_error(relation))
    }

    fn scores(&self, marginals: &[Vec<u32>]) -> Vec<f64> {
        // Whole numbers below 2⁵³: their sums are exact.
        let of_block = |(block, counts): (&Block, &Vec<u32>)| {
            block.sums(&counts.iter().map(|count| f64::from(*count)).collect::<Vec<f64>>())
        };
        let truth: Vec<f64> = self.blocks.iter().zip(marginals).flat_map(of_block).collect();
        errors(&truth, &self.model, self.taken)
    }
}

/// `|n q(D) − n q(A)|` for every query that is not taken. `taken`: increasing.
fn errors(truth: &[f64], model: &[f64], taken: &[usize]) -> Vec<f64> {
    let mut taken = taken.iter().peekable();
    let pairs = truth.iter().zip(model).enumerate();
    let open = pairs.filter(|(place, _)| taken.next_if_eq(&place).is_none());
    open.map(|(_, (truth, model))| (truth - model).abs()).collect()
}

impl Records {
    /// The number where it is public; otherwise measured for [`Curator::TOTAL_SHARE`] of the budget, as a sum over the
    /// single cell of the marginal on no attribute.
    pub(super) fn of(curator: &mut Curator<'_>) -> Result<Self> {
        if let Some(records) = curator.records() {
            return Ok(Self { count: records.max(1) as f64, variance: 0.0 });
        }
        let (numerator, denominator) = Curator::TOTAL_SHARE;
        let own = curator.remaining().split(numerator, denominator).unwrap_or_default().0;
        let noisy = curator.measure_sum(&Clique::default(), &CellSet::new([])?, own)?;
        Ok(Self { count: (noisy.value as f64).max(1.0), variance: noisy.variance.to_f64() })
    }
}

/// The tightest bounds on the number of records in the first j cells of an axis, j = 0, 1, …, all, that follow from bounds
/// on ranges and on all records: shortest paths, where each range joins its two ends and each cell the one before.
///
/// `ranges`: first cell, the one after the last, and the bounds.
pub(super) fn prefix_bounds(
    cells: usize,
    ranges: &[(usize, usize, [f64; 2])],
    records: [f64; 2],
) -> Vec<[f64; 2]> {
    let (mut lows, mut highs) = (vec![0.0_f64; cells + 1], vec![records[1]; cells + 1]);
    (highs[0], lows[cells]) = (0.0, records[0]);
    // A shortest path uses each range once, and cells between.
    for _ in 0..ranges.len() + 2 {
        for cell in 0..cells {
            lows[cell + 1] = lows[cell + 1].max(lows[cell]);
        }
        for cell in (0..cells).rev() {
            highs[cell] = highs[cell].min(highs[cell + 1]);
        }
        for (from, to, [low, high]) in ranges.iter().copied() {
            lows[to] = lows[to].max(lows[from] + low);
            lows[from] = lows[from].max(lows[to] - high);
            highs[to] = highs[to].min(highs[from] + high);
            highs[from] = highs[from].min(highs[to] - low);
        }
    }
    lows.into_iter().zip(highs).map(|(low, high)| [low, high.max(0.0)]).collect()
}

#[cfg(test)]
mod tests;
