//! What is known about answers: numbers that were measured, and intervals.

use std::collections::BTreeMap;

use crate::domain::{Bins, Clique, Domain};
use crate::error::Result;
use crate::least_squares::{CellSum, EstimatedMarginal, LeastSquares};
use crate::model::accuracy::{Bounds, count_interval};
use crate::model::ask::{AnswerInterval, AnswerRow, FromModel, Grade, Question};
use crate::model::binned_numbers::{LOOSE, MeasuredNumbers, mean, quantile};
use crate::model::{Accuracy, Basis, CountInterval, Evidence};
use crate::table::Factor;

/// What is known about the cells that answers are made of.
pub(super) struct Known {
    bounds: Bounds,
    /// What a mean or a quantile rests on.
    rests_on: Basis,
    /// The cells by group, each with the share of its records that the model is of.
    cells: BTreeMap<Vec<u32>, Vec<Cell>>,
    deviations: f64,
    /// The number of all records, where the answers are about all of them.
    all_records: Option<f64>,
    /// Counts of single cells of the clique, if any were measured.
    single: Option<(Clique, LeastSquares)>,
}

impl Known {
    /// `table`: the model's marginal. `given`: what the model was conditioned on, whose attributes must have been measured too.
    pub(super) fn of(
        accuracy: &Accuracy,
        slices: Slices<'_>,
        table: &Factor,
        given: Option<&Evidence>,
    ) -> Result<Self> {
        let domain = slices.domain;
        let clique = given.map_or_else(Clique::default, Evidence::attributes).union(table.clique());
        let rests_on = accuracy.rests_on(domain, &clique);
        let is_of_all = given.is_none() && slices.groups.is_empty();
        let (mut single, mut cells) = (None, BTreeMap::new());
        let bounds = match accuracy.measured_bounds(domain, &clique)? {
            Some(bounds) => {
                cells = slices.of(&clique, given);
                bounds
            }
            // Of the attributes that are given, the table may be very large.
            None if given.is_some() => Bounds::unknown(rests_on),
            None => {
                cells = slices.of(&clique, given);
                // Without N, a share of a measured count has the error of N besides.
                let has_records = accuracy.measured.records.is_some();
                if is_of_all && has_records && !accuracy.measured.cells.is_empty() {
                    single = Some((clique, accuracy.measured.estimates(domain, &[])?));
                }
                accuracy.predicted_bounds(table)
            }
        };
        let all_records = (is_of_all && accuracy.total > 0.0).then_some(accuracy.total);
        let deviations = accuracy.deviations();
        Ok(Self { bounds, rests_on, cells, deviations, all_records, single })
    }

    /// What is known of one group.
    pub(super) fn group(&self, codes: &[u32]) -> KnownGroup<'_> {
        let cells = self.cells.get(codes).map_or(&[][..], Vec::as_slice);
        let all = self.bounds.measured().map(|marginal| {
            let places: Vec<(usize, f64)> =
                cells.iter().map(|cell| (cell.place, cell.share)).collect();
            let counts = marginal.counts();
            let records: f64 = places.iter().map(|(cell, share)| share * counts[*cell]).sum();
            let sum = marginal.sum(&places);
            let stddev = marginal.covariance(&sum, &sum).max(0.0).sqrt();
            let is_precise = records > 0.0 && stddev < LOOSE * records;
            let is_cut = cells.iter().any(|cell| cell.share < 1.0);
            AllOfGroup { records, sum, variance: stddev * stddev, is_precise, is_cut }
        });
        let mut by_codes: BTreeMap<&[u32], Vec<(usize, f64)>> = BTreeMap::new();
        for cell in cells {
            by_codes.entry(&cell.codes).or_default().push((cell.place, cell.share));
        }
        KnownGroup { known: self, cells, by_codes, all }
    }

    /// The interval of the number of records in some cells, from counts of single ones.
    fn single_count(&self, cells: &[(usize, f64)]) -> Option<CountInterval> {
        let (clique, solved) = self.single.as_ref()?;
        if cells.iter().any(|(_, share)| *share < 1.0) {
            return None;
        }
        let found = solved.of_single_cells(clique, cells)?;
        Some(count_interval(found.value, found.variance.sqrt(), self.deviations))
    }
}

/// What is known of a group of records.
pub(super) struct KnownGroup<'k> {
    known: &'k Known,
    cells: &'k [Cell],
    /// The places of the cells with some codes, each with the share of its records that the model is of.
    by_codes: BTreeMap<&'k [u32], Vec<(usize, f64)>>,
    /// Of all of its records, if they were measured.
    all: Option<AllOfGroup>,
}

impl KnownGroup<'_> {
    /// The places of the cells with these codes of what the question is about, with their shares.
    pub(super) fn with_codes(&self, codes: &[u32]) -> &[(usize, f64)] {
        self.by_codes.get(codes).map_or(&[], Vec::as_slice)
    }

    /// The places of the cells of which some records agree, with their shares.
    pub(super) fn agreeing(&self, share: impl Fn(&Cell) -> f64) -> Vec<(usize, f64)> {
        let cells = self.cells.iter().map(|cell| (cell.place, share(cell) * cell.share));
        cells.filter(|(_, share)| *share > 0.0).collect()
    }
}

/// The number of records of a group, as measured.
struct AllOfGroup {
    records: f64,
    sum: CellSum,
    variance: f64,
    /// Whether it is known well enough for shares of it.
    is_precise: bool,
    /// Whether evidence cuts a bin of its records.
    is_cut: bool,
}

impl AllOfGroup {
    /// The interval of a share of the group, to first order in the noise: that of a ratio of sums.
    fn share_of(
        &self,
        marginal: &EstimatedMarginal,
        cells: &[(usize, f64)],
        known: &Known,
    ) -> CountInterval {
        let counts = marginal.counts();
        let part: f64 = cells.iter().map(|(cell, _)| counts[*cell]).sum();
        let (sum, share) = (marginal.sum(cells), part / self.records);
        let own = marginal.covariance(&sum, &sum).max(0.0);
        let common = marginal.covariance(&sum, &self.sum);
        let variance = own - 2.0 * share * common + share * share * self.variance;
        let stddev = variance.max(0.0).sqrt() / self.records;
        let found = count_interval(share, stddev, known.deviations);
        CountInterval { lower: found.lower.min(1.0), upper: found.upper.min(1.0), ..found }
    }
}

/// How the cells of a marginal are asked about: group by group.
#[derive(Clone, Copy)]
pub(super) struct Slices<'t> {
    pub(super) domain: &'t Domain,
    pub(super) groups: &'t Clique,
    pub(super) about: &'t Clique,
}

/// A cell of a marginal.
pub(super) struct Cell {
    /// The codes of the attributes that the question is about.
    pub(super) codes: Vec<u32>,
    /// Its position in the marginal, row-major.
    pub(super) place: usize,
    /// The share of its records that agree with the evidence.
    share: f64,
}

impl Slices<'_> {
    /// The groups' codes in order, each with its cells in a marginal, without those in which no record agrees with some evidence. A
    /// cell whose attributes include a group's own has that group's value.
    ///
    /// `clique`: that of the marginal.
    pub(super) fn of(
        &self,
        clique: &Clique,
        given: Option<&Evidence>,
    ) -> BTreeMap<Vec<u32>, Vec<Cell>> {
        let shape = self.domain.shape(clique);
        let places = |part: &Clique| -> Vec<usize> {
            part.iter().filter_map(|a| clique.iter().position(|own| own == a)).collect()
        };
        let (of_groups, of_about) = (places(self.groups), places(self.about));
        let mut groups: BTreeMap<Vec<u32>, Vec<Cell>> = BTreeMap::new();
        let mut codes = vec![0_u32; shape.len()];
        for place in 0..shape.iter().product() {
            let pick = |places: &[usize]| places.iter().map(|place| codes[*place]).collect();
            let code = |attribute| clique.iter().zip(&codes).find(|(own, _)| *own == attribute);
            let share =
                given.map_or(1.0, |given| given.share(|a| code(a).map_or(0, |(_, code)| *code)));
            if share > 0.0 {
                let cell = Cell { codes: pick(&of_about), place, share };
                groups.entry(pick(&of_groups)).or_default().push(cell);
            }
            // The last attribute changes fastest.
            for (code, size) in codes.iter_mut().zip(&shape).rev() {
                *code += 1;
                if (*code as usize) < *size {
                    break;
                }
                *code = 0;
            }
        }
        groups
    }
}

impl AnswerRow {
    /// The row with what is known about the number of records in some cells of its group, and about their share of it.
    ///
    /// `cells`: the cells with the share of their records that is meant.
    pub(super) fn about(self, group: &KnownGroup<'_>, cells: &[(usize, f64)]) -> Self {
        let known = group.known;
        let Some((marginal, all)) = known.bounds.measured().zip(group.all.as_ref()) else {
            let single = known.single_count(cells);
            let basis = Some(single.map_or(known.bounds.basis, |_| Basis::Measured));
            let interval = single.or_else(|| known.bounds.of(cells));
            let share_of_all =
                interval.zip(known.all_records).map(|(interval, all)| AnswerInterval {
                    stddev: interval.stddev.map(|stddev| stddev / all),
                    lower: interval.lower / all,
                    upper: (interval.upper / all).min(1.0),
                });
            let row = Self { basis, interval, answer_interval: share_of_all, ..self };
            return match (single, known.all_records) {
                (Some(found), Some(all)) => row.measured(found.estimate / all),
                _ => row,
            };
        };
        let Some(interval) = known.bounds.of(cells) else { return self };
        let row = Self { basis: Some(Basis::Measured), interval: Some(interval), ..self };
        if !all.is_precise {
            // Too few records for a share of them: the model's.
            let answer = row.answer;
            return Self { answer, ..row.measured(0.0) };
        }
        let whole = |only: bool| -> Vec<(usize, f64)> {
            let kept = cells.iter().filter(|(_, share)| !only || *share >= 1.0);
            kept.map(|(cell, _)| (*cell, 1.0)).collect()
        };
        // The records that surely agree, and those that may.
        let [least, most] = [true, false].map(|only| all.share_of(marginal, &whole(only), known));
        let answer_interval = (!all.is_cut).then_some(AnswerInterval {
            stddev: most.stddev,
            lower: least.lower,
            upper: most.upper,
        });
        let row = Self { answer_interval, ..row };
        row.measured(interval.estimate / all.records)
    }

    /// The row with measured numbers, cut to their intervals. `share`: the estimate of the answer.
    fn measured(self, share: f64) -> Self {
        let model = Some(FromModel { count: self.count, answer: self.answer });
        let count = self.interval.map_or(self.count, |i| i.estimate.clamp(i.lower, i.upper));
        let ends = self.answer_interval.map_or((0.0, 1.0), |i| (i.lower, i.upper));
        let answer = Some(share.clamp(ends.0, ends.1));
        let grade_of_count = self.interval.and_then(|i| Some(Grade::of(i.estimate, i.stddev?)));
        let grade_of_share = self.answer_interval.and_then(|i| Some(Grade::of(share, i.stddev?)));
        Self { count, answer, model, grade: grade_of_share.or(grade_of_count), ..self }
    }
}

impl Question {
    /// A mean or quantile with what it rests on, as measured and with an interval if the cells were.
    ///
    /// `is_amount`: whether the numbers are amounts, to which an error can be compared.
    pub(super) fn with_interval(
        &self,
        row: AnswerRow,
        (bins, is_amount): (&Bins, bool),
        group: &KnownGroup<'_>,
    ) -> AnswerRow {
        let KnownGroup { known, cells, .. } = group;
        let row = AnswerRow { basis: Some(known.rests_on), ..row };
        let Some(marginal) = known.bounds.measured() else { return row };
        let cells = cells.iter().filter_map(|cell| {
            let bin = *cell.codes.first()?;
            (bin < bins.count()).then_some((bin, cell.place, cell.share))
        });
        let (cells, deviations) = (cells.collect(), known.deviations);
        let measured = MeasuredNumbers { bins, marginal, cells, deviations };
        let own = measured.of_bins();
        let is_mean = matches!(self, Self::Mean(_));
        if (is_mean && !measured.is_precise()) || own.iter().sum::<f64>() <= 0.0 {
            return row;
        }
        let (answer, ends) = match self {
            Self::Quantile(_, share) => {
                (quantile(bins, &own, *share), measured.quantile_interval(*share))
            }
            _ => (mean(bins, &own), measured.mean_interval()),
        };
        let stddev = is_mean.then(|| measured.mean_stddev());
        let answer_interval = ends.map(|(lower, upper)| AnswerInterval { stddev, lower, upper });
        let model = Some(FromModel { count: row.count, answer: row.answer });
        let grade = answer_interval.filter(|_| is_amount).map(|found| {
            let half = (found.upper - found.lower) / 2.0;
            Grade::of(answer, stddev.unwrap_or(half / deviations))
        });
        let answer = ends.map_or(answer, |(lower, upper)| answer.clamp(lower, upper));
        let (count, answer) = (own.iter().sum(), Some(answer));
        AnswerRow { count, answer, model, answer_interval, grade, ..row }
    }
}
