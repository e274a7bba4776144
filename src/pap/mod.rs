//! Shares of records below thresholds, in intervals and in boxes of real-valued columns, with cuts from public values
//! (Bassily, Cheu, Moran, Nikolov, Ullman & Wu 2020, *Private query release assisted by public data*, PAP).
//!
//! Without public data, no private release answers all thresholds `x ≤ t` over the real numbers. A few public values make
//! it possible: with m of them as cuts, the records between two neighboring cuts are about n/m.
//!
//! ```text
//! 1  cuts:     the distinct public values of a column, c_1 < … < c_m            (no private record is seen)
//! 2  cells:    (−∞, c_1], (c_1, c_2], …, (c_m, ∞), and one for a missing value
//! 3  records:  each private record becomes its cell                             (record by record)
//! 4  tree:     sums of 2^k neighboring cells for every k, each level a marginal with discrete Gaussian noise at ρ/L;
//!              least squares over all levels, then non-decreasing sums
//! 5  answer:   F^(t) between the cuts around t, and a bracket [F^(c_j) − z, F^(c_{j+1}) + z]
//! ```
//!
//! Steps 4 and 5 differ from the paper, which runs private multiplicative weights over the cells and answers with the
//! nearest query about cuts. The tree has an error of O(log^1.5 m / (n √ρ)). [`Answering::Nearest`] is the paper's step 5,
//! and [`Release::Pmw`] its step 4, for
//! thresholds and intervals as for boxes over several columns ([`Pap::boxes`]), which have no tree:
//!
//! ```text
//! 4  PMW:      T rounds: select the range of cells with the largest error, measure its sum, project onto all sums so far
//! ```
//!
//! **The bracket needs no assumption on the public table.** F is non-decreasing, so `F(t)` lies between `F(c_j)` and
//! `F(c_{j+1})` whatever the cuts are, and z bounds the noise of all running sums at once. Public values from elsewhere
//! widen brackets, but never make them wrong. Proofs: `docs/theory/pap.md`.
//!
//! ```
//! use jointly::{Budget, Curator, NeighboringRelation, NoiseSeed, pap::{Cuts, Pap}};
//!
//! let public = (0..200).map(|i| f64::from(i * i % 1000));
//! let private: Vec<Option<f64>> = (0..5000).map(|i| Some(f64::from(i % 1000) + 0.25)).collect();
//! let cuts = [Cuts::from_public("income", public, Cuts::MOST)?.with_grid(0.0, 1000.0, 11)?];
//! let coded = Cuts::encode(&cuts, &[private])?;
//!
//! let budget = Budget::approximate(1.0, 1e-9)?;
//! let mut curator = budget.curator(&coded, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
//! let release = Pap::new(cuts).run(&mut curator)?;
//!
//! let answer = release.answer(&"250 < income <= 750.5".parse()?)?; // about a half
//! assert!(answer.low <= answer.value && answer.value <= answer.high);
//! assert_eq!(release.ledger.spent(), budget.rho());
//! # Ok::<(), jointly::Error>(())
//! ```

mod cuts;
mod half_planes;
mod joint;
mod pmw;
mod query;
mod ranges;
mod release;
mod shares;
mod sizes;
mod stored;
mod tree;

use serde::{Deserialize, Serialize};

pub use cuts::{Cuts, EvenGrid};
pub use half_planes::{HalfPlaneRelease, HalfPlanes, Linear, MeasuredSide, PlaneSide, Side};
pub use joint::{CellRange, MeasuredRange};
pub use query::{Condition, Query};
pub use release::{Answer, Answering, ColumnShares, PapRelease};
pub use shares::Shares;
pub use sizes::{RangeClass, largest_gap, private_records, public_records};

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::pap::pmw::{AnsweredQuery, Block, Pmw, prefix_bounds};
use crate::pap::ranges::Axis;
use crate::pap::release::RecordsBracket;
use crate::pap::tree::Level;
use crate::privacy::Curator;

/// How records are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// A tree of dyadic sums for each column, whatever the class. Not for boxes, conjunctions and lists.
    #[default]
    Tree,
    /// The private multiplicative weights of the paper, over all cells, with the queries of the class as candidates.
    Pmw {
        /// T, at least 1; `None` for 4 + log₂(n m), m the number of all cuts. There are no more rounds than queries.
        rounds: Option<u32>,
    },
}

/// The release of shares below all cuts of some columns, or in boxes.
#[derive(Clone, Debug, PartialEq)]
pub struct Pap {
    /// The cuts of each column.
    pub cuts: Vec<Cuts>,
    /// The queries. Thresholds and intervals are of each column on its own.
    pub class: RangeClass,
    /// How records are counted.
    pub release: Release,
    /// The queries of a [list](RangeClass::List); otherwise empty.
    pub queries: Vec<Query>,
    /// Probability that all brackets, for all queries about all columns, hold at once; in (0, 1).
    pub confidence: f64,
}

impl Pap {
    /// The release of these columns by trees, with brackets that hold with probability 0.95.
    pub fn new(cuts: impl Into<Vec<Cuts>>) -> Self {
        let (class, release) = (RangeClass::Intervals, Release::Tree);
        Self { cuts: cuts.into(), class, release, queries: Vec::new(), confidence: 0.95 }
    }

    /// The release of boxes over these columns, by PMW.
    pub fn boxes(cuts: impl Into<Vec<Cuts>>) -> Self {
        let cuts = cuts.into();
        let class = RangeClass::Boxes { columns: u32::try_from(cuts.len()).unwrap_or(u32::MAX) };
        Self { class, release: Release::Pmw { rounds: None }, ..Self::new(cuts) }
    }

    /// The release of conjunctions over these columns, by PMW: queries about one cell of each of some columns. Cells are
    /// between cuts: one cut at 0 for a column of 0 and 1, so that `x > 0` and `x <= 0` are its literals.
    ///
    /// ```
    /// use jointly::pap::{Cuts, Pap};
    /// use jointly::{Budget, NeighboringRelation, NoiseSeed};
    /// let cuts = ["smokes", "runs"].map(|name| Cuts::new(name, [0.0]).unwrap());
    /// let column = |every| (0..800).map(|i| Some(f64::from(i % every == 0))).collect();
    /// let coded = Cuts::encode(&cuts, &[column(2), column(4)])?;
    /// let budget = Budget::approximate(1.0, 1e-9)?;
    /// let mut curator = budget.curator(&coded, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
    /// let release = Pap::conjunctions(cuts).run(&mut curator)?;
    /// let answer = release.answer(&"smokes > 0 & runs <= 0".parse()?)?; // about a quarter
    /// assert!(answer.low <= answer.value && answer.value <= answer.high);
    /// # Ok::<(), jointly::Error>(())
    /// ```
    pub fn conjunctions(cuts: impl Into<Vec<Cuts>>) -> Self {
        let boxes = Self::boxes(cuts);
        let columns = u32::try_from(boxes.cuts.len()).unwrap_or(u32::MAX);
        Self { class: RangeClass::Conjunctions { columns }, ..boxes }
    }

    /// The release of these queries, by PMW, over the cells between their own bounds. No public table is needed.
    ///
    /// ```
    /// use jointly::pap::{Cuts, Pap, Query};
    /// use jointly::{Budget, NeighboringRelation, NoiseSeed};
    /// let queries = ["age <= 40 & pay > 2000", "18 < age <= 64"].map(|text| text.parse().unwrap());
    /// let pap = Pap::list(queries)?;
    /// assert_eq!(pap.cuts[0].points(), [18.0, 40.0, 64.0]);
    /// let column = |step: u32| (0..900).map(|i| Some(f64::from(i % 90 * step))).collect();
    /// let coded = Cuts::encode(&pap.cuts, &[column(1), column(50)])?;
    /// let budget = Budget::approximate(1.0, 1e-9)?;
    /// let mut curator = budget.curator(&coded, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
    /// let answer = pap.run(&mut curator)?.answer(&pap.queries[1])?; // 46/90
    /// assert!(answer.low <= answer.value && answer.value <= answer.high);
    /// # Ok::<(), jointly::Error>(())
    /// ```
    ///
    /// # Errors
    /// No query, or bounds that are no [cuts](Cuts::new).
    pub fn list(queries: impl Into<Vec<Query>>) -> Result<Self> {
        let mut distinct: Vec<Query> = Vec::new();
        for query in queries.into() {
            if !distinct.contains(&query) {
                distinct.push(query);
            }
        }
        let queries = distinct;
        let mut columns: Vec<&str> = Vec::new();
        for condition in queries.iter().flat_map(Query::conditions) {
            if !columns.contains(&condition.column()) {
                columns.push(condition.column());
            }
        }
        let of_column = |name: &&str| {
            let own = queries.iter().flat_map(Query::conditions).filter(|c| c.column() == *name);
            let bounds = own.flat_map(|condition| [condition.above(), condition.to()]);
            Cuts::new(*name, bounds.filter(|bound| bound.is_finite()))
        };
        let cuts: Vec<Cuts> = columns.iter().map(of_column).collect::<Result<_>>()?;
        let class = RangeClass::List { queries: u32::try_from(queries.len()).unwrap_or(u32::MAX) };
        let pap = Self { class, queries, ..Self::boxes(cuts) };
        pap.check()?;
        Ok(pap)
    }

    /// The release of some columns by the names of its class and of its way, without cuts and queries: a class by its
    /// [name](RangeClass::of_name), and `tree` or `pmw`. Without a way, thresholds, intervals and stumps are released by trees,
    /// all else by PMW.
    ///
    /// # Errors
    /// Another name, rounds of a tree, or as [`check`](Self::check).
    ///
    /// ```
    /// use jointly::pap::{Pap, RangeClass, Release};
    /// let pap = Pap::of_names("boxes", 2, None, Some(8), 0.9)?;
    /// assert_eq!(pap.class, RangeClass::Boxes { columns: 2 });
    /// assert_eq!(pap.release, Release::Pmw { rounds: Some(8) });
    /// assert!(Pap::of_names("circles", 2, None, None, 0.9).is_err());
    /// # Ok::<(), jointly::Error>(())
    /// ```
    pub fn of_names(
        class: &str,
        columns: usize,
        release: Option<&str>,
        rounds: Option<u32>,
        confidence: f64,
    ) -> Result<Self> {
        let class = RangeClass::of_name(class, columns)?;
        let of_class = if class.is_joint() { "pmw" } else { "tree" };
        let release = match (release.unwrap_or(of_class), rounds) {
            ("pmw", rounds) => Release::Pmw { rounds },
            ("tree", None) => Release::Tree,
            ("tree", Some(rounds)) => {
                let expected = "none with a tree: rounds are of the release pmw";
                return Err(Error::invalid_parameter("rounds", rounds, expected));
            }
            (other, _) => {
                return Err(Error::invalid_parameter("release", other.to_owned(), "tree or pmw"));
            }
        };
        let pap = Self { cuts: Vec::new(), class, release, queries: Vec::new(), confidence };
        pap.check()?;
        Ok(pap)
    }

    /// Spends all of a curator's remaining budget. By trees, all levels of all columns' trees cost the same, and the ledger
    /// gets an entry for each. By PMW, each round costs the same, and the ledger gets an entry for its choice and one for
    /// its measurement.
    ///
    /// The curator's table must be coded by the cuts ([`Cuts::encode`], [`Cuts::schema`]).
    ///
    /// # Errors
    /// A confidence outside (0, 1), boxes by trees, a class of another number of columns, no column or one twice, a column
    /// that the table lacks or that is not coded by its cuts, too many cells or queries, or a budget that is too small.
    pub fn run(&self, curator: &mut Curator<'_>) -> Result<PapRelease> {
        let attributes = self.attributes(curator.domain())?;
        let (columns, joint, measured) = match self.release {
            Release::Tree => (self.trees(curator, &attributes)?, Vec::new(), Vec::new()),
            Release::Pmw { rounds } => {
                let blocks = self.blocks(&attributes)?;
                let cuts = self.cuts.iter().map(|cuts| cuts.points().len()).sum();
                self.weighted(Pmw::run(curator, blocks, rounds, cuts)?)
            }
        };
        Ok(PapRelease {
            columns,
            joint,
            measured,
            confidence: self.confidence,
            relation: curator.relation(),
            is_private: curator.is_private(),
            ledger: curator.ledger().clone(),
        })
    }

    /// Measures all trees, level by level.
    fn trees(&self, curator: &mut Curator<'_>, attributes: &[usize]) -> Result<Vec<ColumnShares>> {
        let known = curator.records().map(|records| records.max(1) as f64);
        let depths = self.cuts.iter().map(|cuts| depth(cuts.cells()));
        // Where the number of records is private, it is one more level: a block of all cells.
        let mut levels: u64 =
            depths.map(|depth| u64::from(depth) + u64::from(known.is_none())).sum();
        let sums = |cuts: &Cuts| cuts.points().len() + 1 + usize::from(known.is_none());
        let bound = self.noise_bound(self.cuts.iter().map(sums).sum());
        let mut columns = Vec::with_capacity(self.cuts.len());
        for (cuts, attribute) in self.cuts.iter().zip(attributes) {
            let depth = depth(cuts.cells());
            let mut tree = Vec::with_capacity(depth as usize + 1);
            for level in 0..depth + u32::from(known.is_none()) {
                let own = curator.remaining().split(1, levels).unwrap_or_default().0;
                let noisy = curator.measure_blocks(*attribute, 1 << level, own)?;
                let values = noisy.values.iter().map(|count| *count as f64).collect();
                tree.push(Level { values, variance: noisy.variance.to_f64() });
                levels -= 1;
            }
            tree.extend(known.map(|records| Level { values: vec![records], variance: 0.0 }));
            columns.push(ColumnShares::new(cuts, &tree::least_squares(&tree), bound));
        }
        Ok(columns)
    }

    /// The cells that PMW counts together: all columns of boxes, otherwise each on its own.
    fn blocks(&self, attributes: &[usize]) -> Result<Vec<Block>> {
        let axis = |column: &usize| Axis { cells: self.cuts[*column].cells(), class: self.class };
        let block = |columns: Vec<usize>| {
            let clique = Clique::new(columns.iter().map(|column| attributes[*column]));
            let axes = columns.iter().map(axis).collect();
            Block::new(columns, clique, axes)
        };
        let mut columns: Vec<usize> = (0..self.cuts.len()).collect();
        if self.class.is_joint() {
            columns.sort_by_key(|column| attributes[*column]);
            let mut block = block(columns)?;
            if matches!(self.class, RangeClass::List { .. }) {
                let ranges = |query| self.ranges(query, &block.columns);
                block.listed = Some(self.queries.iter().map(ranges).collect::<Result<_>>()?);
            }
            return Ok(vec![block]);
        }
        columns.into_iter().map(|column| block(vec![column])).collect()
    }

    /// The cells that a query is about, a range for each column; all of a column about which it says nothing.
    fn ranges(&self, query: &Query, columns: &[usize]) -> Result<Vec<(usize, usize)>> {
        let range = |column: &usize| {
            let cuts = &self.cuts[*column];
            let own = query.conditions().iter().find(|c| c.column() == cuts.name());
            // The number of cells below a bound, which is a cut.
            let place = |bound: f64| cuts.points().partition_point(|point| *point <= bound);
            own.map_or((0, cuts.cells()), |condition| {
                let to = condition.to();
                let all = if to == f64::INFINITY { cuts.cells() - 1 } else { place(to) };
                (place(condition.above()), all)
            })
        };
        let is_cut = |condition: &Condition| {
            let cuts = self.cuts.iter().find(|cuts| cuts.name() == condition.column());
            let is_there = |bound: f64| {
                bound.is_infinite() || cuts.is_some_and(|cuts| cuts.points().contains(&bound))
            };
            cuts.is_some() && is_there(condition.above()) && is_there(condition.to())
        };
        if !query.conditions().iter().all(is_cut) {
            let expected = "bounds that are all cuts of their columns";
            return Err(Error::invalid_specification(
                "query of a list",
                query.to_string(),
                expected,
            ));
        }
        Ok(columns.iter().map(range).collect())
    }

    /// The release of what PMW ends with.
    fn weighted(&self, pmw: Pmw) -> (Vec<ColumnShares>, Vec<f64>, Vec<MeasuredRange>) {
        let Pmw { mut blocks, answered, records } = pmw;
        // Where n is measured, T depends on its noise: half of the failures are for n, half for the ranges given n.
        let parts = if records.variance > 0.0 { 2 } else { 1 };
        let bound = self.noise_bound(parts * answered.len());
        let width = self.noise_bound(parts) * records.variance.sqrt();
        let records = RecordsBracket::new(records.count, width);
        let bracket = |answered: &AnsweredQuery| {
            let width = bound * answered.variance.sqrt();
            [(answered.count - width).max(0.0), (answered.count + width).min(records.most)]
        };
        let (mut columns, mut measured) = (Vec::new(), Vec::new());
        for (place, block) in blocks.iter().enumerate() {
            let own = || answered.iter().filter(move |answered| answered.block == place);
            for (at, column) in block.columns.iter().enumerate() {
                let is_all = |(axis, range): (usize, &(usize, usize))| {
                    axis == at || *range == (0, block.axes[axis].cells)
                };
                let ranges = own().filter(|answered| answered.ranges[at].1 < block.axes[at].cells);
                let ranges = ranges.map(|answered| {
                    let [low, high] = bracket(answered);
                    let is_all = answered.ranges.iter().enumerate().all(is_all);
                    let (from, to) = answered.ranges[at];
                    (from, to, [low, if is_all { high } else { records.most }])
                });
                let ranges: Vec<_> = ranges.collect();
                let cells = block.axes[at].cells;
                let bounds = prefix_bounds(cells, &ranges, [records.fewest, records.most]);
                let sums = block.sums_below(at, records.value);
                let cuts = &self.cuts[*column];
                columns.push(ColumnShares::of_bounds(cuts, &sums, &bounds[1..cells], records));
            }
        }
        // Columns of boxes are in the order of the table; so are, then, the places in ranges.
        let is_joint = self.class.is_joint();
        for answered in &answered {
            let [low, high] = bracket(answered);
            let share = Answer::of_counts(answered.count, low, high, records);
            let block = &blocks[answered.block];
            let ranges = answered.ranges.iter().enumerate().map(|(at, (from, before))| CellRange {
                column: if is_joint { at } else { block.columns[at] },
                from: *from,
                before: *before,
            });
            let ranges = ranges.zip(&block.axes).filter(|(range, axis)| range.before < axis.cells);
            let ranges = ranges.map(|(range, _)| range).collect();
            measured.push(MeasuredRange { ranges, share });
        }
        let joint = if is_joint { blocks.swap_remove(0).weights } else { Vec::new() };
        (columns, joint, measured)
    }

    /// Refuses parameters out of range, whatever the cuts. [`run`](Self::run) does so too.
    ///
    /// # Errors
    /// A confidence outside (0, 1), no round, half-planes, or boxes, conjunctions or a list by trees.
    pub fn check(&self) -> Result<()> {
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            let expected = "strictly between 0 and 1";
            return Err(Error::invalid_parameter("confidence", self.confidence, expected));
        }
        match (self.class, self.release) {
            (_, Release::Pmw { rounds: Some(0) }) => {
                Err(Error::invalid_parameter("rounds", 0, "at least 1"))
            }
            (class, Release::Tree) if class.is_joint() => {
                let expected = "pmw: a tree is of one column";
                Err(Error::invalid_parameter("release of several columns", "tree", expected))
            }
            (RangeClass::HalfPlanes, _) => {
                let expected = "another class: HalfPlanes releases half-planes";
                Err(Error::invalid_parameter("class", "half-planes", expected))
            }
            _ => Ok(()),
        }
    }

    /// Refuses parameters that do not fit a table; otherwise the place of each column in it.
    fn attributes(&self, domain: &Domain) -> Result<Vec<usize>> {
        self.check()?;
        let names: Vec<&str> = self.cuts.iter().map(Cuts::name).collect();
        if let RangeClass::Stumps { columns }
        | RangeClass::Boxes { columns }
        | RangeClass::Conjunctions { columns } = self.class
            && columns as usize != names.len()
        {
            let expected = format!("{}, one for each list of cuts", names.len());
            let found = format!("a class of {columns} columns");
            return Err(Error::invalid_specification("release", found, expected));
        }
        let clique = domain.clique(&names)?;
        debug_assert_eq!(clique.len(), names.len(), "names are distinct");
        let place = |cuts: &Cuts| {
            let attribute = domain.position(cuts.name()).unwrap_or_default();
            if domain.cardinality(attribute) == cuts.cells() {
                return Ok(attribute);
            }
            Err(Error::invalid_specification(
                format!("column '{}'", cuts.name()),
                format!("{} values", domain.cardinality(attribute)),
                format!("{}, the cells of its cuts", cuts.cells()),
            ))
        };
        self.cuts.iter().map(place).collect()
    }

    /// How many standard deviations the noise of none of some numbers exceeds, with the probability of brackets.
    fn noise_bound(&self, numbers: usize) -> f64 {
        noise_bound(self.confidence, numbers)
    }
}

/// z: how many standard deviations the noise of none of k numbers exceeds, with a probability of `confidence`.
///
/// A fitted sum is a weighted sum of independent discrete Gaussians, each subgaussian with parameter σ (Canonne, Kamath &
/// Steinke 2020), so `P[|noise| > z s] ≤ 2 exp(−z²/2)`; one of k exceeds it with probability at most `2 k exp(−z²/2)`.
fn noise_bound(confidence: f64, numbers: usize) -> f64 {
    (2.0 * (2.0 * numbers as f64 / (1.0 - confidence)).ln()).sqrt()
}

/// Levels of a tree below its root: ⌈log₂ cells⌉.
fn depth(cells: usize) -> u32 {
    cells.next_power_of_two().trailing_zeros()
}

#[cfg(test)]
mod tests;
