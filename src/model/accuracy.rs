//! How accurate single counts of a model are, from what its release measured.
//!
//! A count inside a marginal that was measured privately has an interval from the noise alone. Any other count has one
//! from the measured errors of the released table, if they were measured: calibrated on real tables, not guaranteed
//! (`docs/guide/error-bars.md`).

use serde::{Deserialize, Serialize};

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::least_squares::{EstimatedMarginal, Measured};
use crate::measurement::{Measurement, Provenance};
use crate::model::counts::Count;
use crate::normal::{CONFIDENCE, LAPLACE, TWO_SIDED, deviations};
use crate::table::Factor;

/// Standard deviations of its noise below which a measured count has 0 as its lower end. Among very many empty cells, some
/// have noise of two deviations, and those look like the counts that a reader asks for.
pub(crate) const EMPTY: f64 = 3.0;
/// Factor on the measured error of a marginal; with [`POWER`], chosen on real tables.
const MARGIN: f64 = 1.2;
/// Power of the predicted count with which its excess variance grows.
const POWER: f64 = 1.2;
/// Most attributes of a marginal whose parts are named.
const MOST_PARTED: usize = 8;
/// Correlation of the errors of the cells of one marginal, in sums of them.
const CORRELATION: f64 = 0.2;

/// What a count rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// It is part of a marginal that was measured privately.
    Measured,
    /// It is part of what the model has from a public table: a marginal that was taken from it, or the whole table, if the
    /// model starts from it and corrects it by what was measured.
    Public,
    /// It follows from the model alone.
    Model,
}

impl Basis {
    /// The name, for readers: `measured`, `public`, `model`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Public => "public",
            Self::Model => "model",
        }
    }
}

/// Attributes on which a model has what a public table says, but for what measurements corrected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicPart {
    /// The attributes: of a marginal, or all of a table that the model starts from.
    pub clique: Clique,
    /// The table's name; `None` in model files that do not say.
    pub table: Option<String>,
}

/// What the counts of a marginal rest on that was not measured as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestsOn {
    /// Its largest parts that follow from what was measured privately.
    pub measured: Vec<Clique>,
    /// Its largest parts that the model has from public tables, beyond what was measured.
    pub public: Vec<PublicPart>,
}

/// A count with an interval that aims to cover 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CountInterval {
    /// The estimate that it is around: for a measured count the least squares estimate, which may be below 0, otherwise the
    /// model's.
    pub estimate: f64,
    /// The standard deviation of the noise in a measured estimate; `None` for one by the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stddev: Option<f64>,
    /// The lower end, at least 0.
    pub lower: f64,
    /// The upper end, at least 0.
    pub upper: f64,
}

/// What a release knows about the accuracy of its model's counts. All of it is released or public.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accuracy {
    /// What was measured privately.
    pub measured: Measured,
    /// What the model has from public tables.
    pub public: Vec<PublicPart>,
    /// Estimated errors of marginals of the released table, as L1 distances of frequencies. Empty if not measured.
    pub errors: Vec<(Clique, f64)>,
    /// Upper ends of the measured 95 % intervals of these errors, which come from the law of the noise alone. Empty if not
    /// measured.
    pub at_most: Vec<(Clique, f64)>,
    /// N, the number of private records, public or released, that errors are shares of.
    pub total: f64,
    /// How many intervals of measured numbers are to hold together in 95 % of releases ([`together`](Self::together)); 0 and 1: each for
    /// itself.
    pub at_once: usize,
}

impl Accuracy {
    /// The same without the measured errors of the released table.
    #[must_use]
    pub fn without_errors(self) -> Self {
        Self { errors: Vec::new(), at_most: Vec::new(), ..self }
    }

    /// The same with wider intervals of measured numbers, of which this many hold all at once in 95 % of releases
    /// (Bonferroni). Intervals by the model stay as they are.
    #[must_use]
    pub fn together(&self, intervals: usize) -> Self {
        Self { at_once: intervals, ..self.clone() }
    }

    /// The parts of a run's measurements.
    pub fn of(measurements: &[Measurement]) -> Self {
        let public = measurements.iter().filter_map(|measurement| match &measurement.provenance {
            Provenance::Private => None,
            Provenance::Public { source } => {
                Some(PublicPart { clique: measurement.clique.clone(), table: Some(source.clone()) })
            }
        });
        let public = public.collect();
        Self { measured: Measured::of(measurements), public, ..Self::default() }
    }

    /// What is known of some attributes: their positions become 0, 1, … in this order, which is ascending.
    #[must_use]
    pub fn of_attributes(&self, kept: &[usize]) -> Self {
        let renamed = |clique: &Clique| -> Option<Clique> {
            let places = clique.iter().map(|at| kept.binary_search(&at).ok());
            places.collect::<Option<Vec<usize>>>().map(Clique::new)
        };
        let errors = |all: &[(Clique, f64)]| {
            all.iter().filter_map(|(clique, error)| Some((renamed(clique)?, *error))).collect()
        };
        // Of a marginal, any part is from the same table.
        let part = |PublicPart { clique, table }: &PublicPart| {
            let places = clique.iter().filter_map(|at| kept.binary_search(&at).ok());
            let clique = Clique::new(places);
            (!clique.is_empty()).then(|| PublicPart { clique, table: table.clone() })
        };
        Self {
            measured: self.measured.of_attributes(kept),
            public: self.public.iter().filter_map(part).collect(),
            errors: errors(&self.errors),
            at_most: errors(&self.at_most),
            ..*self
        }
    }

    /// What the counts of a marginal rest on, and an interval for each of its cells, row-major; `None` if the marginal was
    /// neither measured nor part of one whose error was.
    ///
    /// `table`: the model's marginal, in counts.
    ///
    /// # Errors
    /// Measurements over another domain.
    pub fn of_cells(
        &self,
        domain: &Domain,
        table: &Factor,
    ) -> Result<(Basis, Option<Vec<CountInterval>>)> {
        let cells: Vec<[usize; 1]> = (0..table.values().len()).map(|cell| [cell]).collect();
        self.of_sums(domain, table, &cells)
    }

    /// As [`of_cells`](Self::of_cells), of the number of records in several cells together.
    ///
    /// `sums`: the places of each sum's cells, row-major, all different.
    ///
    /// # Errors
    /// As [`of_cells`](Self::of_cells); a place beyond the marginal.
    pub fn of_sums<C: AsRef<[usize]>>(
        &self,
        domain: &Domain,
        table: &Factor,
        sums: &[C],
    ) -> Result<(Basis, Option<Vec<CountInterval>>)> {
        let bounds = match self.measured_bounds(domain, table.clique())? {
            Some(bounds) => bounds,
            None => self.predicted_bounds(table),
        };
        let cells = table.values().len();
        let mut found = Vec::with_capacity(sums.len());
        for sum in sums {
            if let Some(beyond) = sum.as_ref().iter().find(|cell| **cell >= cells) {
                let (place, found) = ("cell of a sum", beyond.to_string());
                return Err(Error::invalid_specification(place, found, format!("below {cells}")));
            }
            let whole: Vec<(usize, f64)> = sum.as_ref().iter().map(|cell| (*cell, 1.0)).collect();
            found.push(bounds.of(&whole));
        }
        Ok((bounds.basis, found.into_iter().collect()))
    }

    /// The bounds of the counts on a clique, if all of them follow from what was measured privately.
    pub(super) fn measured_bounds(
        &self,
        domain: &Domain,
        clique: &Clique,
    ) -> Result<Option<Bounds>> {
        if !self.measured.determines(domain, clique) {
            return Ok(None);
        }
        let solved = self.measured.estimates(domain, std::slice::from_ref(clique))?;
        let form = |marginal| Form::Measured { marginal, z: self.deviations() };
        let bounds = |marginal| Bounds { basis: Basis::Measured, form: form(marginal) };
        Ok(solved.marginal(clique).map(bounds))
    }

    /// The bounds of counts that follow from the model or a public table.
    ///
    /// `table`: the model's marginal, in counts.
    pub(super) fn predicted_bounds(&self, table: &Factor) -> Bounds {
        let clique = table.clique();
        let basis = self.unmeasured(clique);
        // Summing cells up cannot raise an L1 distance: the error of a larger marginal bounds it.
        let errors = self.errors.iter().filter(|(larger, _)| clique.is_subset(larger));
        let error = errors.map(|(_, error)| *error).fold(f64::INFINITY, f64::min);
        if !error.is_finite() {
            return Bounds { basis, form: Form::Unknown };
        }
        let means: Vec<f64> = table.values().iter().map(|mean| mean.max(0.0)).collect();
        let spread = Spread::of(&means, MARGIN * error * self.total, error * self.total);
        Bounds { basis, form: Form::Predicted { means, spread } }
    }

    /// What counts, means and quantiles on a clique rest on.
    pub(crate) fn rests_on(&self, domain: &Domain, clique: &Clique) -> Basis {
        if self.measured.determines(domain, clique) {
            Basis::Measured
        } else {
            self.unmeasured(clique)
        }
    }

    fn unmeasured(&self, clique: &Clique) -> Basis {
        let is_public = self.public.iter().any(|part| clique.is_subset(&part.clique));
        if is_public { Basis::Public } else { Basis::Model }
    }

    /// What the counts on a clique rest on, part by part. `None` if all of them follow from what was measured, and for more than
    /// 8 attributes.
    pub fn parts(&self, domain: &Domain, clique: &Clique) -> Option<RestsOn> {
        if clique.len() > MOST_PARTED || self.measured.determines(domain, clique) {
            return None;
        }
        let mut parts: Vec<Clique> =
            crate::least_squares::parts(clique).filter(|part| !part.is_empty()).collect();
        parts.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        let mut measured: Vec<Clique> = Vec::new();
        for part in parts {
            let is_new = !measured.iter().any(|larger| part.is_subset(larger));
            if is_new && self.measured.determines(domain, &part) {
                measured.push(part);
            }
        }
        let mut public: Vec<PublicPart> = Vec::new();
        for PublicPart { clique: own, table } in &self.public {
            let inside = |part: &Clique, other: &Clique| part.is_subset(other);
            let own = own.intersection(clique);
            let is_held = |part: &PublicPart| inside(&own, &part.clique) && part.table == *table;
            if own.is_empty()
                || measured.iter().any(|part| inside(&own, part))
                || public.iter().any(is_held)
            {
                continue;
            }
            public.retain(|part| !(inside(&part.clique, &own) && part.table == *table));
            public.push(PublicPart { clique: own, table: table.clone() });
        }
        Some(RestsOn { measured, public })
    }

    /// Standard deviations of the noise that an interval reaches to each side.
    pub(crate) fn deviations(&self) -> f64 {
        match (self.at_once, self.measured.is_laplace) {
            (0 | 1, false) => TWO_SIDED,
            (0 | 1, true) => LAPLACE,
            (many, is_laplace) => deviations((1.0 - CONFIDENCE) / many as f64, is_laplace),
        }
    }
}

/// The interval of a number of records that was measured, at least 0.
///
/// `stddev`: of its noise. `z`: standard deviations to each side.
pub(crate) fn count_interval(estimate: f64, stddev: f64, z: f64) -> CountInterval {
    let half = z * stddev;
    let lower = if estimate < EMPTY * stddev { 0.0 } else { (estimate - half).max(0.0) };
    let (upper, stddev) = ((estimate + half).max(0.0), Some(stddev));
    CountInterval { estimate, stddev, lower, upper }
}

/// Bounds on the counts of one marginal.
pub(super) struct Bounds {
    pub(super) basis: Basis,
    form: Form,
}

enum Form {
    /// The counts with the law of their noise, and the standard deviations to each side.
    Measured { marginal: EstimatedMarginal, z: f64 },
    /// Expected counts.
    Predicted { means: Vec<f64>, spread: Spread },
    /// No error was measured.
    Unknown,
}

impl Bounds {
    /// Of counts that nothing is known about.
    pub(super) const fn unknown(basis: Basis) -> Self {
        Self { basis, form: Form::Unknown }
    }

    /// The marginal as it was measured.
    pub(super) fn measured(&self) -> Option<&EstimatedMarginal> {
        match &self.form {
            Form::Measured { marginal, .. } => Some(marginal),
            _ => None,
        }
    }

    /// The interval of the number of records that agree, of which each of some cells has a share; `None` if no error of the
    /// marginal was measured.
    ///
    /// Where a share is below 1, any part of the cell's records may agree: the interval reaches from that of the whole cells to that
    /// of all cells.
    pub(super) fn of(&self, cells: &[(usize, f64)]) -> Option<CountInterval> {
        let all = self.of_whole(cells)?;
        let is_whole = |(_, share): &&(usize, f64)| *share >= 1.0;
        if cells.iter().all(|cell| is_whole(&cell)) {
            return Some(all);
        }
        let whole: Vec<(usize, f64)> = cells.iter().filter(is_whole).copied().collect();
        let lower = if whole.is_empty() { 0.0 } else { self.of_whole(&whole)?.lower };
        Some(CountInterval { lower, ..all })
    }

    /// As [`of`](Self::of), with all the records of the cells but for the estimate.
    fn of_whole(&self, cells: &[(usize, f64)]) -> Option<CountInterval> {
        let counts = match &self.form {
            Form::Unknown => return None,
            Form::Measured { marginal, .. } => marginal.counts(),
            Form::Predicted { means, .. } => means,
        };
        let picked: Vec<f64> = cells.iter().map(|(cell, _)| counts[*cell]).collect();
        let sum: f64 = picked.iter().sum();
        let estimate = picked.iter().zip(cells).map(|(count, (_, share))| count * share).sum();
        let found = match &self.form {
            Form::Measured { marginal, z } => {
                let whole: Vec<(usize, f64)> = cells.iter().map(|(cell, _)| (*cell, 1.0)).collect();
                count_interval(sum, marginal.variance(&whole).sqrt(), *z)
            }
            Form::Predicted { spread, .. } => {
                let [lower, upper] = if let [mean] = picked[..] {
                    spread.of_cell(mean)
                } else {
                    let half = TWO_SIDED * spread.of_sum(&picked);
                    [(sum - half).max(0.0), (sum + half).max(0.0)]
                };
                CountInterval { estimate: sum, stddev: None, lower, upper }
            }
            Form::Unknown => return None,
        };
        Some(CountInterval { estimate, ..found })
    }
}

/// How far counts lie from their predictions, for one marginal.
///
/// What its measured error says is a sum over the cells. Where the model is wrong about dependence, errors grow with the counts; where
/// they come from noise, they are the same in all cells. A cell's interval is the union of both.
struct Spread {
    growing: Growing,
    /// The standard deviation of each count, if it is the same in all cells.
    even: f64,
    /// Half of the estimated L1 error, which bounds any sum of cells.
    most: f64,
}

/// The law of errors that grow with the counts.
enum Growing {
    /// The variance of a count of mean μ is `μ + ψ μ^1.2`, so that the expected L1 error is that of the marginal.
    Wider { psi: f64 },
    /// The error is below that of Poisson counts: their deviations, times this factor.
    Narrower { factor: f64 },
}

impl Spread {
    /// `target`: the expected L1 error, in counts. `error`: the estimated one.
    fn of(means: &[f64], target: f64, error: f64) -> Self {
        // The mean distance of a normal variable is √(2/π) of its deviation.
        let even = target / means.len() as f64 * (std::f64::consts::PI / 2.0).sqrt();
        Self { growing: Growing::of(means, target), even, most: error / 2.0 }
    }

    /// The interval of one count.
    fn of_cell(&self, mean: f64) -> [f64; 2] {
        let [low, high] = self.growing.of_cell(mean);
        let half = TWO_SIDED * self.even;
        [low.min(mean - half).max(0.0), high.max(mean + half)]
    }

    /// The standard deviation of a sum of counts.
    fn of_sum(&self, means: &[f64]) -> f64 {
        let deviations = means.iter().map(|mean| self.growing.stddev(*mean).max(self.even));
        let deviations: Vec<f64> = deviations.collect();
        let squares: f64 = deviations.iter().map(|d| d * d).sum();
        let together = deviations.iter().sum::<f64>().powi(2);
        (squares + CORRELATION * (together - squares)).max(0.0).sqrt().min(self.most)
    }
}

impl Growing {
    /// `target`: the expected L1 error, in counts.
    fn of(means: &[f64], target: f64) -> Self {
        let sum = |psi: f64| -> f64 {
            means
                .iter()
                .map(|mean| Count::new(*mean, psi * mean.powf(POWER)).mean_deviation())
                .sum()
        };
        let poisson = sum(0.0);
        if target <= poisson {
            let factor = if poisson > 0.0 { target / poisson } else { 0.0 };
            return Self::Narrower { factor };
        }
        let (mut low, mut high) = (-20.0_f64, 20.0_f64);
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            if sum(middle.exp()) < target {
                low = middle;
            } else {
                high = middle;
            }
        }
        Self::Wider { psi: high.exp() }
    }

    fn of_cell(&self, mean: f64) -> [f64; 2] {
        let tails = [0.025, 0.975];
        match self {
            Self::Wider { psi } => {
                let [low, high] =
                    Count::new(mean, psi * mean.powf(POWER)).quantiles(tails, TWO_SIDED);
                let [other_low, other_high] = Count::new(mean, 0.0).quantiles(tails, TWO_SIDED);
                [low.min(other_low), high.max(other_high)]
            }
            Self::Narrower { factor } => {
                let half = TWO_SIDED * factor * mean.sqrt();
                [(mean - half).max(0.0), mean + half]
            }
        }
    }

    fn stddev(&self, mean: f64) -> f64 {
        match self {
            Self::Wider { psi } => (mean + psi * mean.powf(POWER)).sqrt(),
            Self::Narrower { factor } => factor * mean.sqrt(),
        }
    }
}

#[cfg(test)]
mod tests;
