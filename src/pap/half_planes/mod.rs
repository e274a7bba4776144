//! Half-planes of two columns, by private multiplicative weights over the cells that lines through public points cut
//! (Bassily, Cheu, Moran, Nikolov, Ullman & Wu 2020, the class of the paper's figure).
//!
//! ```text
//! 1  cover:    one half-plane for each way in which a line divides the m public points      (m (m − 1)/2 lines)
//! 2  cells:    those that the lines cut the plane into, and one for a missing number        (at most 123,258)
//! 3  records:  each private record becomes the sides of the lines that it is on             (record by record)
//! 4  PMW:      T rounds: select the side with the largest error, measure its records, project onto all counts so far
//! 5  answer:   that of the half-plane of the cover that holds the same public points as the asked one
//! ```
//!
//! A bracket needs no assumption on the public points: it follows from what was measured alone. Proofs:
//! `docs/theory/pap.md`, section 7.
//!
//! ```
//! use jointly::{Budget, NeighboringRelation, NoiseSeed, pap::{HalfPlanes, Linear}};
//!
//! let number = |i: u32, k: u32| f64::from(i * k % 101) / 100.0;
//! let public: Vec<[f64; 2]> = (1..9).map(|i| [number(i, 37), number(i, 53)]).collect();
//! let planes = HalfPlanes::new(["x", "y"], &public)?;
//! let records = (0..5000).map(|i| [Some(number(i, 7)), Some(number(i, 11))]);
//! let counted = planes.sides()?.count(records)?;
//!
//! let budget = Budget::approximate(1.0, 1e-9)?;
//! let mut curator = budget.curator(&counted, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
//! let release = planes.run(&mut curator)?;
//! let answer = release.answer(&"x + 2 * y <= 1.5".parse()?)?; // about a half
//! assert!(answer.low <= answer.value && answer.value <= answer.high);
//! # Ok::<(), jointly::Error>(())
//! ```

mod bracket;
pub(super) mod cells;
mod cover;
mod linear;
mod model;
mod release;

use rand::seq::SliceRandom;
use rand::{SeedableRng, rngs::ChaCha20Rng};

pub use linear::Linear;
pub use release::{HalfPlaneRelease, MeasuredSide, PlaneSide, Side};

use crate::data::{HalfPlane, Sides};
use crate::domain::Clique;
use crate::error::{Error, Result};
use crate::pap::half_planes::cells::Cells;
use crate::pap::half_planes::cover::cover;
use crate::pap::half_planes::model::Model;
use crate::pap::pmw::Records;
use crate::pap::release::RecordsBracket;
use crate::pap::{Answer, noise_bound};
use crate::privacy::{Curator, Selection};

/// The release of shares of records in half-planes of two columns.
#[derive(Clone, Debug, PartialEq)]
pub struct HalfPlanes {
    columns: [String; 2],
    points: Vec<[f64; 2]>,
    lines: Vec<HalfPlane>,
    /// T, at least 1; `None` for 4 + log₂(n M) with M lines. There are no more rounds than sides.
    pub rounds: Option<u32>,
    /// Probability that all brackets hold at once; in (0, 1).
    pub confidence: f64,
}

/// What a round measured.
struct Measured {
    side: PlaneSide,
    count: f64,
    variance: f64,
}

impl HalfPlanes {
    /// Maximum number of public points. They have 496 lines, which cut the plane into at most 123,257 cells.
    pub const MOST: usize = 32;

    /// Half-planes that divide public points, **never private ones**. Of more than [`MOST`](Self::MOST) distinct points,
    /// takes as many at random, always the same.
    ///
    /// `columns`: those of x and y. `points`: their numbers.
    ///
    /// # Errors
    /// One column for both, a number that is not finite, fewer than two distinct points, or numbers so large or so close
    /// that no line divides them.
    pub fn new(columns: [impl Into<String>; 2], points: &[[f64; 2]]) -> Result<Self> {
        let columns = columns.map(Into::into);
        if let Some([x, y]) = points.iter().find(|p| p.iter().any(|number| !number.is_finite())) {
            let expected = "finite numbers";
            return Err(Error::invalid_specification(
                "public points",
                format!("({x}, {y})"),
                expected,
            ));
        }
        let mut distinct: Vec<[f64; 2]> =
            points.iter().map(|p| p.map(|number| number + 0.0)).collect();
        distinct.sort_by(|p, q| p[0].total_cmp(&q[0]).then(p[1].total_cmp(&q[1])));
        distinct.dedup();
        if distinct.len() > Self::MOST {
            distinct.shuffle(&mut ChaCha20Rng::seed_from_u64(0));
            distinct.truncate(Self::MOST);
        }
        if distinct.len() < 2 {
            let found = format!("{} distinct points with both numbers", distinct.len());
            return Err(Error::invalid_specification("public points", found, "at least 2"));
        }
        let lines = cover(&distinct)?;
        let own = Self { columns, points: distinct, lines, rounds: None, confidence: 0.95 };
        own.sides()?;
        Ok(own)
    }

    /// The same half-planes with these [`rounds`](Self::rounds) and this [`confidence`](Self::confidence).
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn with(self, rounds: Option<u32>, confidence: f64) -> Result<Self> {
        let own = Self { rounds, confidence, ..self };
        own.check()?;
        Ok(own)
    }

    /// The public points whose divisions are the cover.
    pub fn points(&self) -> &[[f64; 2]] {
        &self.points
    }

    /// The half-planes of the cover. The outside of each is of the cover too.
    pub fn lines(&self) -> &[HalfPlane] {
        &self.lines
    }

    /// What a record is coded by: [`count_private_sides`](crate::data::count_private_sides) reads a file in this way.
    ///
    /// # Errors
    /// One column for both x and y.
    pub fn sides(&self) -> Result<Sides> {
        Sides::new(self.columns.clone(), self.lines.clone())
    }

    /// Refuses parameters out of range. [`run`](Self::run) does so too.
    ///
    /// # Errors
    /// A confidence outside (0, 1), or no round.
    pub fn check(&self) -> Result<()> {
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            let expected = "strictly between 0 and 1";
            return Err(Error::invalid_parameter("confidence", self.confidence, expected));
        }
        if self.rounds == Some(0) {
            return Err(Error::invalid_parameter("rounds", 0, "at least 1"));
        }
        Ok(())
    }

    /// Spends all of a curator's remaining budget. Each round costs the same, and the ledger gets an entry for its choice and
    /// one for its measurement.
    ///
    /// The curator's table must be coded by [`sides`](Self::sides).
    ///
    /// # Errors
    /// Parameters out of range, a table of other attributes, or a budget that is too small.
    pub fn run(&self, curator: &mut Curator<'_>) -> Result<HalfPlaneRelease> {
        self.check()?;
        if curator.domain() != self.sides()?.domain() {
            let (found, expected) = ("a table of other attributes", "the sides of these lines");
            return Err(Error::invalid_specification("private table", found, expected));
        }
        let records = Records::of(curator)?;
        let mut model = Model::new(Cells::new(&self.lines));
        let measured = self.weigh(curator, &mut model, records.count)?;
        // Where n is measured, T depends on its noise: half of the failures are for n, half for the sides given n.
        let parts = if records.variance > 0.0 { 2 } else { 1 };
        let bound = noise_bound(self.confidence, parts * measured.len());
        let width = noise_bound(self.confidence, parts) * records.variance.sqrt();
        let records = RecordsBracket::new(records.count, width);
        let of_side = |Measured { side, count, variance }: Measured| {
            let width = bound * variance.sqrt();
            let (low, high) =
                ((count - width).max(0.0), (count + width).min(records.most).max(0.0));
            MeasuredSide { side, share: Answer::of_counts(count, low, high, records) }
        };
        Ok(HalfPlaneRelease {
            columns: self.columns.clone(),
            points: self.points.clone(),
            shares: model.shares(self.lines.len()).iter().map(|[inside, ..]| *inside).collect(),
            lines: self.lines.clone(),
            missing: model.missing(),
            records: records.value,
            measured: measured.into_iter().map(of_side).collect(),
            confidence: self.confidence,
            relation: curator.relation(),
            is_private: curator.is_private(),
            ledger: curator.ledger().clone(),
        })
    }

    /// The rounds: select the side of a line with the largest error `|n q(D) − n q(A)|`, measure it, and project.
    fn weigh(&self, curator: &mut Curator<'_>, model: &mut Model, n: f64) -> Result<Vec<Measured>> {
        let cliques: Vec<Clique> = (0..self.lines.len()).map(|line| Clique::new([line])).collect();
        let truth = curator.marginals(&cliques)?;
        // No side is measured twice, and the records that lack a number are no side.
        let mut taken = vec![vec![2]; self.lines.len()];
        let mut measured = Vec::new();
        for left in (1..=self.rounds_for(n)).rev() {
            curator.begin_round(curator.round().saturating_add(1))?;
            let budget = curator.remaining().split(1, left).unwrap_or_default().0;
            let (select, measure) = budget.split(1, 2).unwrap_or_default();
            let shares = model.shares(self.lines.len());
            let counts: Vec<Vec<f64>> = shares
                .iter()
                .map(|shares| shares.iter().map(|share| share * n).collect())
                .collect();
            let scores = truth.cell_errors(&counts, &taken)?;
            let choice = curator.select(Selection::Exponential, scores, select, "choose a side")?;
            let Some(side) = free(&taken).nth(choice) else { break };
            taken[side.line].push(side.side as usize);
            taken[side.line].sort_unstable();
            let noisy = curator.measure_cell(&cliques[side.line], side.side as usize, measure)?;
            let (count, variance) = (noisy.value as f64, noisy.variance.to_f64());
            model.learn(side, count / n);
            measured.push(Measured { side, count, variance });
        }
        Ok(measured)
    }

    /// T, no more than there are sides.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "4 to 100")]
    fn rounds_for(&self, n: f64) -> u64 {
        let lines = self.lines.len() as u64;
        let most = 4 + (n * lines as f64).log2().round().max(0.0) as u64;
        self.rounds.map_or(most, u64::from).min(2 * lines)
    }
}

/// The sides that are not taken, in the order of their scores.
fn free(taken: &[Vec<usize>]) -> impl Iterator<Item = PlaneSide> + '_ {
    let sides = taken.iter().enumerate().flat_map(|(line, taken)| {
        let both = [Side::Inside, Side::Outside].into_iter();
        both.filter(|side| !taken.contains(&(*side as usize))).map(move |side| (line, side))
    });
    sides.map(|(line, side)| PlaneSide { line, side })
}

#[cfg(test)]
mod tests;
