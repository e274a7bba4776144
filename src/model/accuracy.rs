//! How accurate single counts of a model are, from what its release measured.
//!
//! A count inside a marginal that was measured privately has an interval from the noise alone. Any other count has one
//! from the measured errors of the released table, if they were measured: calibrated on real tables, not guaranteed
//! (`docs/guide/error-bars.md`).

use serde::{Deserialize, Serialize};

use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::measurement::{Measurement, Provenance};
use crate::model::MeasuredMarginal;
use crate::model::counts::Count;
use crate::normal::{LAPLACE, TWO_SIDED};
use crate::table::Factor;

/// Standard deviations of its noise below which a measured count has 0 as its lower end. Among very many empty cells, some
/// have noise of two deviations, and those look like the counts that a reader asks for.
const EMPTY: f64 = 3.0;
/// Factor on the measured error of a marginal; with [`POWER`], chosen on real tables.
const MARGIN: f64 = 1.2;
/// Power of the predicted count with which its excess variance grows.
const POWER: f64 = 1.2;
/// Correlation of the errors of the cells of one marginal, in sums of them.
const CORRELATION: f64 = 0.2;

/// What a count rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// It is part of a marginal that was measured privately.
    Measured,
    /// It is part of a marginal that was taken from a public table.
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

/// A count with an interval that aims to cover 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CountInterval {
    /// The estimate that it is around: for a measured count the mean of its measurements, which may be below 0, otherwise the
    /// model's.
    pub estimate: f64,
    /// The lower end, at least 0.
    pub lower: f64,
    /// The upper end, at least 0.
    pub upper: f64,
}

impl CountInterval {
    /// The interval, widened to a count if that lies outside. It covers no less for it.
    pub(super) fn with(self, count: f64) -> Self {
        Self { lower: self.lower.min(count), upper: self.upper.max(count), ..self }
    }
}

/// What a release knows about the accuracy of its model's counts. All of it is released or public.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accuracy {
    /// Marginals measured privately, whole.
    pub measured: Vec<Measurement>,
    /// Marginals taken from public tables.
    pub public: Vec<Clique>,
    /// Whether the noise in different cells and measurements is independent.
    pub is_independent: bool,
    /// Whether it has the Laplace distribution.
    pub is_laplace: bool,
    /// Estimated errors of marginals of the released table, as L1 distances of frequencies. Empty if not measured.
    pub errors: Vec<(Clique, f64)>,
    /// Upper ends of the measured 95 % intervals of these errors, which come from the law of the noise alone. Empty if not
    /// measured.
    pub at_most: Vec<(Clique, f64)>,
    /// N, the number of private records, public or released, that errors are shares of.
    pub total: f64,
}

impl Accuracy {
    /// The parts of a run's measurements that say something about whole marginals.
    pub fn of(measurements: &[Measurement]) -> Self {
        let whole = measurements.iter().filter(|m| m.cell.is_none());
        let (private, public): (Vec<&Measurement>, Vec<&Measurement>) =
            whole.partition(|m| m.provenance == Provenance::Private);
        Self {
            measured: private.into_iter().cloned().collect(),
            public: public.into_iter().map(|m| m.clique.clone()).collect(),
            ..Self::default()
        }
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
        let measured = self.measured.iter();
        let measured =
            measured.filter_map(|m| Some(Measurement { clique: renamed(&m.clique)?, ..m.clone() }));
        Self {
            measured: measured.collect(),
            public: self.public.iter().filter_map(renamed).collect(),
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
        let bounds = self.bounds(domain, table)?;
        let cells = (0..table.values().len()).map(|cell| bounds.of(&[(cell, 1.0)]));
        Ok((bounds.basis, cells.collect()))
    }

    /// A marginal as it was measured privately; `None` unless it is part of a measured one, and the noise in all cells is
    /// independent.
    ///
    /// # Errors
    /// Measurements over another domain.
    pub fn measured_marginal(
        &self,
        domain: &Domain,
        clique: &Clique,
    ) -> Result<Option<MeasuredMarginal>> {
        let within = |part: &Clique| -> Vec<&Measurement> {
            let held = self.measured.iter().filter(|m| m.stddev > 0.0 && part.is_subset(&m.clique));
            held.collect()
        };
        if !self.is_independent || within(clique).is_empty() {
            return Ok(None);
        }
        let mut averages = Vec::new();
        for part in clique.subsets().into_iter().chain([Clique::default()]) {
            if let Some((counts, variance)) = self.average(domain, &part, &within(&part))? {
                averages.push((part, counts, variance));
            }
        }
        MeasuredMarginal::new(domain, clique, averages).map(Some)
    }

    /// What the counts on a clique rest on, and their bounds.
    ///
    /// `table`: the model's marginal on the clique, in counts.
    pub(super) fn bounds(&self, domain: &Domain, table: &Factor) -> Result<Bounds> {
        let clique = table.clique();
        let bounds = self.bounds_measured(domain, clique)?;
        if matches!(bounds.form, Form::Measured { .. }) {
            return Ok(bounds);
        }
        // Summing cells up cannot raise an L1 distance: the error of a larger marginal bounds it.
        let errors = self.errors.iter().filter(|(larger, _)| clique.is_subset(larger));
        let error = errors.map(|(_, error)| *error).fold(f64::INFINITY, f64::min);
        if !error.is_finite() {
            return Ok(bounds);
        }
        let means: Vec<f64> = table.values().iter().map(|mean| mean.max(0.0)).collect();
        let spread = Spread::of(&means, MARGIN * error * self.total, error * self.total);
        Ok(Bounds { estimates: means, form: Form::Predicted(spread), ..bounds })
    }

    /// What the counts on a clique rest on, with bounds if they were measured privately with noise that can
    /// be added up.
    pub(super) fn bounds_measured(&self, domain: &Domain, clique: &Clique) -> Result<Bounds> {
        let within = |m: &&Measurement| {
            let is_own = m.clique == *clique;
            m.stddev > 0.0 && if self.is_independent { clique.is_subset(&m.clique) } else { is_own }
        };
        let held: Vec<&Measurement> = self.measured.iter().filter(within).collect();
        if let Some(bounds) = self.of_measurements(domain, clique, &held)? {
            return Ok(bounds);
        }
        let is_public = self.public.iter().any(|public| clique.is_subset(public));
        let basis = if is_public { Basis::Public } else { Basis::Model };
        Ok(Bounds { basis, estimates: Vec::new(), form: Form::Unknown })
    }

    /// What a mean or a quantile rests on: whether one marginal that holds all its attributes was measured.
    pub(crate) fn rests_on(&self, clique: &Clique) -> Basis {
        if self.measured.iter().any(|m| m.stddev > 0.0 && clique.is_subset(&m.clique)) {
            Basis::Measured
        } else if self.public.iter().any(|public| clique.is_subset(public)) {
            Basis::Public
        } else {
            Basis::Model
        }
    }

    /// Standard deviations of the noise that an interval reaches to each side.
    pub(super) fn deviations(&self) -> f64 {
        if self.is_laplace { LAPLACE } else { TWO_SIDED }
    }

    /// The average of the measurements on a clique, weighted by their precision.
    fn of_measurements(
        &self,
        domain: &Domain,
        clique: &Clique,
        held: &[&Measurement],
    ) -> Result<Option<Bounds>> {
        let Some((estimates, variance)) = self.average(domain, clique, held)? else {
            return Ok(None);
        };
        let z = self.deviations();
        let (half, is_independent) = (z * variance.sqrt(), self.is_independent);
        let form = Form::Measured { half, z, is_independent };
        Ok(Some(Bounds { basis: Basis::Measured, estimates, form }))
    }

    /// The average of some measurements on a clique, weighted by their precision, and the variance of each of its cells;
    /// `None` for no measurement.
    fn average(
        &self,
        domain: &Domain,
        clique: &Clique,
        held: &[&Measurement],
    ) -> Result<Option<(Vec<f64>, f64)>> {
        if held.is_empty() {
            return Ok(None);
        }
        let cells = |clique: &Clique| domain.cells(clique).unwrap_or(u64::MAX) as f64;
        // With dependent noise, measurements cannot be averaged: the most precise one alone.
        let held = if self.is_independent { held } else { &held[..1] };
        let (mut sums, mut precision) = (vec![0.0; table_len(domain, clique)], 0.0);
        for measurement in held {
            let factor =
                Factor::new(domain, measurement.clique.clone(), measurement.values.clone())?;
            let merged = cells(&measurement.clique) / cells(clique);
            let own = 1.0 / (measurement.stddev.powi(2) * merged);
            let projected = factor.project(clique);
            sums.iter_mut().zip(projected.values()).for_each(|(sum, value)| *sum += own * value);
            precision += own;
        }
        sums.iter_mut().for_each(|sum| *sum /= precision);
        Ok(Some((sums, 1.0 / precision)))
    }
}

fn table_len(domain: &Domain, clique: &Clique) -> usize {
    domain.shape(clique).iter().product()
}

/// Bounds on the counts of one marginal.
pub(super) struct Bounds {
    pub(super) basis: Basis,
    estimates: Vec<f64>,
    form: Form,
}

enum Form {
    /// Half the width of the interval of one cell, and the standard deviations that it is.
    Measured {
        half: f64,
        z: f64,
        is_independent: bool,
    },
    Predicted(Spread),
    /// No error was measured.
    Unknown,
}

impl Bounds {
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
        let picked =
            cells.iter().filter_map(|(cell, share)| Some((*self.estimates.get(*cell)?, share)));
        let (picked, shares): (Vec<f64>, Vec<f64>) = picked.unzip();
        let sum: f64 = picked.iter().sum();
        let estimate = picked.iter().zip(shares).map(|(count, share)| count * share).sum();
        let around = |half: f64| CountInterval {
            estimate,
            lower: (sum - half).max(0.0),
            upper: (sum + half).max(0.0),
        };
        match &self.form {
            Form::Unknown => None,
            Form::Measured { half, z, is_independent } => {
                let many = picked.len() as f64;
                let half = half * if *is_independent { many.sqrt() } else { many };
                let found = around(half);
                let is_empty = sum < EMPTY * half / z;
                Some(CountInterval { lower: if is_empty { 0.0 } else { found.lower }, ..found })
            }
            Form::Predicted(spread) => match picked[..] {
                [mean] => {
                    let [lower, upper] = spread.of_cell(mean);
                    Some(CountInterval { estimate, lower, upper })
                }
                _ => Some(around(TWO_SIDED * spread.of_sum(&picked))),
            },
        }
    }
}

/// How far counts lie from their predictions, for one marginal.
enum Spread {
    /// The variance of a count of mean μ is `μ + ψ μ^1.2`, so that the expected L1 error is that of the marginal.
    Wider { psi: f64, most: f64 },
    /// The error is below that of Poisson counts: their deviations, times this factor.
    Narrower { factor: f64, most: f64 },
}

impl Spread {
    /// `target`: the expected L1 error, in counts. `error`: the estimated one, half of which bounds any sum of cells.
    fn of(means: &[f64], target: f64, error: f64) -> Self {
        let most = error / 2.0;
        let sum = |psi: f64| -> f64 {
            means
                .iter()
                .map(|mean| Count::new(*mean, psi * mean.powf(POWER)).mean_deviation())
                .sum()
        };
        let poisson = sum(0.0);
        if target <= poisson {
            let factor = if poisson > 0.0 { target / poisson } else { 0.0 };
            return Self::Narrower { factor, most };
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
        Self::Wider { psi: high.exp(), most }
    }

    /// The interval of one count.
    fn of_cell(&self, mean: f64) -> [f64; 2] {
        let tails = [0.025, 0.975];
        match self {
            Self::Wider { psi, .. } => {
                let [low, high] =
                    Count::new(mean, psi * mean.powf(POWER)).quantiles(tails, TWO_SIDED);
                let [other_low, other_high] = Count::new(mean, 0.0).quantiles(tails, TWO_SIDED);
                [low.min(other_low), high.max(other_high)]
            }
            Self::Narrower { factor, .. } => {
                let half = TWO_SIDED * factor * mean.sqrt();
                [(mean - half).max(0.0), mean + half]
            }
        }
    }

    /// The standard deviation of a sum of counts.
    fn of_sum(&self, means: &[f64]) -> f64 {
        let deviation = |mean: &f64| match self {
            Self::Wider { psi, .. } => (mean + psi * mean.powf(POWER)).sqrt(),
            Self::Narrower { factor, .. } => factor * mean.sqrt(),
        };
        let deviations: Vec<f64> = means.iter().map(deviation).collect();
        let squares: f64 = deviations.iter().map(|d| d * d).sum();
        let together = deviations.iter().sum::<f64>().powi(2);
        let (Self::Wider { most, .. } | Self::Narrower { most, .. }) = self;
        (squares + CORRELATION * (together - squares)).max(0.0).sqrt().min(*most)
    }
}

#[cfg(test)]
mod tests;
