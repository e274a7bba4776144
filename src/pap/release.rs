//! What may be published: shares at the cuts, and answers between them.

use serde::{Deserialize, Serialize};

use crate::domain::Domain;
use crate::error::{CommonError, Error, Result};
use crate::model::{Model, WeightedSupport};
use crate::pap::joint::{Placed, bracket, interpolated};
use crate::pap::ranges::product;
use crate::pap::tree::{Fit, isotonic};
use crate::pap::{Cuts, MeasuredRange, Query, stored};
use crate::privacy::{Ledger, NeighboringRelation};

/// An estimate and a bracket around the truth. All brackets of a release hold at once with its confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The estimate.
    pub value: f64,
    /// Lower end of the bracket.
    pub low: f64,
    /// Upper end of the bracket.
    pub high: f64,
}

/// How a question is answered that is not about cuts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Answering {
    /// By straight lines between the cuts around each bound.
    #[default]
    Interpolated,
    /// As the question about cuts that holds for the same cuts: the last step of the paper. Its error is at most the share
    /// of records on which the two questions differ, and the noise.
    Nearest,
}

impl Answer {
    /// No record.
    const NONE: Self = Self { value: 0.0, low: 0.0, high: 0.0 };

    /// A count with its bracket, as a share of an uncertain number of records.
    pub(super) fn of_counts(value: f64, low: f64, high: f64, records: RecordsBracket) -> Self {
        let value = (value / records.value).clamp(0.0, 1.0);
        let high = if records.fewest > 0.0 { (high / records.fewest).min(1.0) } else { 1.0 };
        Self { value, low: (low / records.most).clamp(0.0, value), high: high.max(value) }
    }

    /// Whether it is a share in its bracket.
    pub(super) fn is_valid(&self) -> bool {
        0.0 <= self.low && self.low <= self.value && self.value <= self.high && self.high <= 1.0
    }
}

/// The number of records and its bracket.
#[derive(Clone, Copy)]
pub(super) struct RecordsBracket {
    /// At least 1.
    pub(super) value: f64,
    /// At least 0.
    pub(super) fewest: f64,
    /// At least 1.
    pub(super) most: f64,
}

impl RecordsBracket {
    pub(super) fn new(count: f64, width: f64) -> Self {
        let (fewest, most) = ((count - width).max(0.0), (count + width).max(1.0));
        Self { value: count.max(1.0), fewest, most }
    }
}

/// The shares of one column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnShares {
    /// The cuts.
    pub cuts: Cuts,
    /// The number of records: exact where it is public, otherwise measured.
    pub records: f64,
    /// The share of all records at or below each cut; last, the share that is not missing.
    pub shares: Vec<Answer>,
}

/// Shares of records at or below the cuts of some columns, and in boxes if these were released. All of it may be published if [`is_private`](Self::is_private)
/// holds, and answers cost nothing more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PapRelease {
    /// The columns, in the order of the cuts, or, of boxes, of the table.
    pub columns: Vec<ColumnShares>,
    /// The shares of all products of the columns' cells, row-major, if boxes were released; otherwise empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joint: Vec<f64>,
    /// What the rounds of PMW measured, in order; empty for a tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<MeasuredRange>,
    /// Probability that the brackets of all queries hold at once.
    pub confidence: f64,
    /// The neighboring relation of the guarantee.
    pub relation: NeighboringRelation,
    /// False if the noise came from a fixed seed.
    pub is_private: bool,
    /// What was spent, with an entry for each level of each column's tree, or two for each round.
    pub ledger: Ledger,
}

/// The form of the file.
const FORMAT: &str = "jointly-thresholds";
const VERSION: u32 = 1;

impl PapRelease {
    /// The share of all records that a query holds for, missing values among all.
    ///
    /// The value is interpolated between the cuts around a bound; a bound beyond the outer cuts has the share at the last cut,
    /// or none below the first. The bracket follows from those of the cuts: for `c_j ≤ t < c_{j+1}` it is that of `F(c_j)`
    /// below and `F(c_{j+1})` above, narrowed by the ranges that were measured.
    ///
    /// Where columns were released one by one, the value for conditions on several is as if these were independent. The
    /// bracket is not: it holds for any dependence.
    ///
    /// # Errors
    /// A column that was not released.
    pub fn answer(&self, query: &Query) -> Result<Answer> {
        self.answer_by(query, Answering::Interpolated)
    }

    /// As [`answer`](Self::answer), with a value of one's choice. The bracket is the same, but for a value outside of it,
    /// which widens it.
    ///
    /// ```
    /// use jointly::pap::{Answering, Cuts, Pap};
    /// use jointly::{Budget, NeighboringRelation, NoiseSeed};
    /// let cuts = [Cuts::new("age", [20.0, 40.0])?];
    /// let coded = Cuts::encode(&cuts, &[(0..600).map(|i| Some(f64::from(i) / 10.0)).collect()])?;
    /// let budget = Budget::approximate(1.0, 1e-9)?;
    /// let mut curator = budget.curator(&coded, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
    /// let release = Pap::new(cuts).run(&mut curator)?;
    /// let [asked, nearest] = ["age <= 39", "age <= 20"].map(|text| text.parse().unwrap());
    /// let answer = release.answer_by(&asked, Answering::Nearest)?;
    /// assert_eq!(answer.value, release.answer(&nearest)?.value); // both hold for the cut 20, and not for 40
    /// # Ok::<(), jointly::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub fn answer_by(&self, query: &Query, answering: Answering) -> Result<Answer> {
        let answer = self.interpolated(query)?;
        let value = match answering {
            Answering::Interpolated => return Ok(answer),
            Answering::Nearest => {
                match query.nearest(|name| Ok(&self.columns[self.place(name)?].cuts))? {
                    Some(nearest) => self.interpolated(&nearest)?.value,
                    None => 0.0,
                }
            }
        };
        Ok(Answer { value, low: answer.low.min(value), high: answer.high.max(value) })
    }

    fn interpolated(&self, query: &Query) -> Result<Answer> {
        let place = |name| self.place(name);
        let placed = query.conditions().iter().map(|c| Ok((place(c.column())?, c)));
        let placed = placed.collect::<Result<Vec<Placed<'_>>>>()?;
        let answers = placed.iter().map(|(column, condition)| {
            let column = &self.columns[*column];
            column.between(condition.above(), condition.to())
        });
        let answers: Vec<Answer> = answers.collect();
        let value = match &answers[..] {
            [_, _, ..] if !self.joint.is_empty() => {
                interpolated(&self.joint, &placed, &self.columns).clamp(0.0, 1.0)
            }
            _ => answers.iter().map(|answer| answer.value).product(),
        };
        let (low, high) = bracket(&placed, &answers, &self.measured, &self.columns);
        Ok(Answer { value, low: low.clamp(0.0, value), high: high.clamp(value, 1.0) })
    }

    /// The released distribution over the cells of all columns ([`Cuts::encode`]), from which records may be drawn. Columns
    /// that were released one by one are independent in it.
    ///
    /// # Errors
    /// More than [`WeightedSupport::MAX_CELLS`] products of cells.
    pub fn table(&self) -> Result<Model> {
        let cuts: Vec<&Cuts> = self.columns.iter().map(|column| &column.cuts).collect();
        let cells = |cuts: &&Cuts| u32::try_from(cuts.cells()).unwrap_or(u32::MAX);
        let domain = Domain::new(cuts.iter().map(|cuts| (cuts.name(), cells(cuts))))?;
        let records = self.columns.first().map_or(1.0, |column| column.records);
        let support = WeightedSupport::all_cells(&domain, records)?;
        let weights = if self.joint.is_empty() {
            self.columns.iter().fold(vec![1.0], |table, column| {
                let shares = column.cells();
                table.iter().flat_map(|all| shares.iter().map(move |own| all * own)).collect()
            })
        } else {
            self.joint.clone()
        };
        Ok(support.reweighted(weights, records)?.into())
    }

    /// The p-quantile of the values of a column that are not missing: the smallest t that has at least a share p of them at
    /// or below it. The value is interpolated; an end of the bracket is infinite where no cut bounds the quantile.
    ///
    /// # Errors
    /// A column that was not released, or a `p` outside (0, 1).
    pub fn quantile(&self, column: &str, p: f64) -> Result<Answer> {
        if !(p > 0.0 && p < 1.0) {
            return Err(Error::invalid_parameter("p", p, "strictly between 0 and 1"));
        }
        Ok(self.columns[self.place(column)?].quantile(p))
    }

    /// The text of a file that [`from_json`](Self::from_json) reads.
    ///
    /// # Errors
    /// Never fails in practice: all numbers are finite.
    pub fn to_json(&self) -> Result<String> {
        stored::write(FORMAT, VERSION, self)
    }

    /// Reads the text of a file. `name` stands for the file in errors.
    ///
    /// # Errors
    /// Text of another form; shares that do not fit their cuts, are outside their brackets or fall.
    pub fn from_json(text: &str, name: &str) -> Result<Self> {
        let form = "a release as written by 'jointly thresholds'";
        let wrong = |place: &str, found: &str| {
            Err(Error::invalid_specification(format!("{name}{place}"), found, form))
        };
        let release: Self = stored::read(text, name, form, (FORMAT, VERSION))?;
        if !(0.0 < release.confidence && release.confidence < 1.0) || release.columns.is_empty() {
            return wrong("", "no column, or a confidence outside (0, 1)");
        }
        if let Some(column) = release.columns.iter().find(|column| !column.is_valid()) {
            let place = format!(", column '{}'", column.cuts.name());
            return wrong(&place, "shares that contradict one another");
        }
        if !release.joint_is_valid() {
            return wrong("", "joint shares or measured ranges that do not fit the columns");
        }
        Ok(release)
    }

    /// Whether joint shares and measured ranges are those of the columns.
    fn joint_is_valid(&self) -> bool {
        let cells = product(self.columns.iter().map(|column| column.cuts.cells()));
        let is_share = |share: &f64| (0.0..=1.0).contains(share);
        let is_table = self.joint.len() as u64 == cells
            && self.joint.iter().all(is_share)
            && (self.joint.iter().sum::<f64>() - 1.0).abs() < 1e-6;
        (self.joint.is_empty() || is_table)
            && self.measured.iter().all(|range| range.is_valid(&self.columns))
    }

    fn place(&self, name: &str) -> Result<usize> {
        Ok(self.columns.iter().position(|column| column.cuts.name() == name).ok_or_else(|| {
            let known: Vec<&str> = self.columns.iter().map(|column| column.cuts.name()).collect();
            CommonError::UnknownAttribute {
                name: name.to_owned(),
                place: "the query".to_owned(),
                known: known.join(", "),
            }
        })?)
    }
}

impl ColumnShares {
    /// The shares of a fit, each with its own standard deviation times `bound` to both sides.
    ///
    /// Brackets of counts are narrowed by those of other cuts, as no count is below one of a smaller cut, and divided by the
    /// bracket of the number of records.
    pub(super) fn new(cuts: &Cuts, fit: &Fit, bound: f64) -> Self {
        let mut sum = 0.0;
        let sums: Vec<f64> = fit
            .leaves
            .iter()
            .map(|leaf| {
                sum += leaf;
                sum
            })
            .collect();
        let widths: Vec<f64> = fit.prefix_variances.iter().map(|v| bound * v.sqrt()).collect();
        let last = sums.len() - 1; // the missing value's cell: all records
        let records = RecordsBracket::new(sums[last], widths[last]);
        let mut bounds = vec![[0.0; 2]; last];
        let (mut low, mut high) = (0.0_f64, records.most);
        for cut in 0..last {
            low = low.max(sums[cut] - widths[cut]);
            bounds[cut][0] = low;
        }
        for cut in (0..last).rev() {
            high = high.min(sums[cut] + widths[cut]).max(0.0);
            bounds[cut][1] = high;
        }
        Self::of_bounds(cuts, &sums[..last], &bounds, records)
    }

    /// The shares of counts at or below each cut, last that of all values, with their brackets.
    pub(super) fn of_bounds(
        cuts: &Cuts,
        sums: &[f64],
        bounds: &[[f64; 2]],
        records: RecordsBracket,
    ) -> Self {
        let values = isotonic(sums);
        let shares = values.iter().zip(bounds);
        let shares =
            shares.map(|(value, [low, high])| Answer::of_counts(*value, *low, *high, records));
        Self { cuts: cuts.clone(), records: records.value, shares: shares.collect() }
    }

    /// The share of each cell, that of missing values last.
    fn cells(&self) -> Vec<f64> {
        let ends = self.shares.iter().map(|share| share.value).chain([1.0]);
        let mut before = 0.0;
        ends.map(|end| end - std::mem::replace(&mut before, end)).collect()
    }

    /// The share of records with `above < x <= to`.
    fn between(&self, above: f64, to: f64) -> Answer {
        let (to, above) = (self.at_most(to), self.at_most(above));
        let value = (to.value - above.value).max(0.0);
        // Both bounds in one cell: no record may be between them, or all of the cell.
        let low = (to.low - above.high).clamp(0.0, value);
        Answer { value, low, high: (to.high - above.low).clamp(value, 1.0) }
    }

    /// The share of records at or below t.
    fn at_most(&self, t: f64) -> Answer {
        let points = self.cuts.points();
        let after = points.partition_point(|point| *point <= t);
        let before = after.checked_sub(1);
        let below = before.map_or(Answer::NONE, |j| self.shares[j]);
        #[expect(clippy::float_cmp, reason = "a cut itself")]
        if before.is_some_and(|j| points[j] == t) || t == f64::NEG_INFINITY {
            return below;
        }
        let above = self.shares[after];
        let value = match (before, points.get(after)) {
            _ if t == f64::INFINITY => return above,
            (Some(j), Some(next)) => {
                let share = part_below(t, points[j], *next);
                below.value + share * (above.value - below.value)
            }
            _ => below.value,
        };
        Answer { value, low: below.low, high: above.high }
    }

    fn quantile(&self, p: f64) -> Answer {
        let points = self.cuts.points();
        let cuts = points.len();
        let (all, shares) = (self.shares[cuts], &self.shares[..cuts]);
        let wanted = p * all.value;
        let after = shares.partition_point(|share| share.value < wanted);
        let value = match (after.checked_sub(1), points.get(after)) {
            (Some(j), Some(next)) => {
                let (from, to) = (shares[j].value, shares[after].value);
                points[j] + (wanted - from) / (to - from) * (next - points[j])
            }
            (None, _) => points[0],
            (Some(j), None) => points[j],
        };
        // Certainly too few records at or below a cut; certainly enough.
        let too_few = shares.partition_point(|share| share.high < p * all.low);
        let enough = shares.partition_point(|share| share.low < p * all.high);
        let low = too_few.checked_sub(1).map_or(f64::NEG_INFINITY, |j| points[j]);
        let high = points.get(enough).copied().unwrap_or(f64::INFINITY);
        Answer { value, low: low.min(value), high: high.max(value) }
    }

    /// Whether shares read from a file could come from [`new`](Self::new).
    fn is_valid(&self) -> bool {
        let is_ordered = |pair: &[Answer]| {
            let [a, b] = pair else { return false };
            a.value <= b.value && a.low <= b.low && a.high <= b.high
        };
        self.shares.len() == self.cuts.points().len() + 1
            && self.records >= 1.0
            && self.shares.iter().all(Answer::is_valid)
            && self.shares.windows(2).all(is_ordered)
    }
}

/// The part of a cell from one cut to the next that is at or below t, if values are even in it. Halves, as the difference of
/// two numbers may be too large.
pub(super) fn part_below(t: f64, cut: f64, next: f64) -> f64 {
    if t <= cut {
        return 0.0;
    }
    ((t / 2.0 - cut / 2.0) / (next / 2.0 - cut / 2.0)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests;
