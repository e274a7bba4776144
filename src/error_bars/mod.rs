//! The errors of a released table, measured against the private records at a cost, with intervals.
//!
//! Let S be the records that are about to be published, fixed once they are drawn, and N the number of private records,
//! public or released. For every clique r of the workload, `e_r = ‖M_r(D) − (N/|S|) M_r(S)‖₁` changes by at most 2 when a
//! record is replaced and by at most 1 when one is added or removed, so that all of them together can be released with
//! exact noise, as one vector. The intervals assume nothing about the model or the mechanism. Of a survey, the private records
//! count by their weights, as shares of the largest one, and so a record changes an error by no more. Proofs:
//! `docs/theory/sensitivities.md`, section 9; how to read the numbers: `docs/guide/error-bars.md`.

mod named;
mod released;
mod shrink;

pub(crate) use named::NamedErrors;
pub(crate) use released::{ReleasedTable, Weighing};

use serde::Serialize;

use crate::domain::Clique;
use crate::error::Result;
use crate::measurement::{Measurement, Provenance};
use crate::normal::upper_quantile;
use crate::privacy::{
    Curator, L1Errors, NoiseForm, NoisyStatistics, PrivacyUnit, Rho, StatisticSensitivity,
};
use crate::query::{WeightedClique, Workload, batches};

use shrink::{PublicFacts, shrunk};

/// The probability that an interval covers: 95 %.
pub const CONFIDENCE: f64 = crate::normal::CONFIDENCE;

/// The most marginals that are shrunk; the errors of more are only reported as measured.
const MOST_SHRUNK: usize = 50_000;

/// What the ledger calls the access.
const PURPOSE: &str = "errors of the released table";

/// A number between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The number as it was released: without bias, and so possibly outside its range, such as an error below 0.
    pub estimate: f64,
    /// The lower end, cut to the range.
    pub lower: f64,
    /// The upper end, cut to the range.
    pub upper: f64,
}

impl Interval {
    /// `value ± half_width`, cut to `[0, most]`.
    pub(crate) fn around(value: f64, half_width: f64, most: f64) -> Self {
        let cut = |x: f64| x.clamp(0.0, most);
        let (lower, upper) = (cut(value - half_width), cut(value + half_width));
        Self { estimate: value, lower, upper }
    }

    /// The estimate cut to its range, to be shown.
    pub fn shown(&self) -> f64 {
        self.estimate.max(self.lower).min(self.upper)
    }

    /// Whether a number is in the interval, its ends included.
    pub fn covers(&self, number: f64) -> bool {
        (self.lower..=self.upper).contains(&number)
    }
}

/// The error of one marginal of a released table: an L1 distance of frequencies, 0 to 2.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MarginalError {
    /// The attributes.
    pub clique: Clique,
    /// The measured error. The interval covers the true error with probability 95 %, whatever the mechanism did.
    pub measured: Interval,
    /// An estimate that also uses the errors of similar marginals: more precise on average over the marginals, with
    /// intervals that cover 95 % on that average only. `None` if the workload is too small for it.
    pub shrunk: Option<Interval>,
}

impl MarginalError {
    /// The shrunk estimate, or the measured one where there is none.
    pub fn best(&self) -> Interval {
        self.shrunk.unwrap_or(self.measured)
    }
}

/// What of the private table errors are not measured against.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Where neighbors differ by a unit: the column of units, and the number of records of each that count. The private table
    /// has the records beyond it too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond: Option<(String, u32)>,
    /// Whether rare values were merged for the run. The published records have single values in place of merged ones, drawn
    /// by public shares and by what was measured; the errors are those of the merged values.
    pub merged_values: bool,
    /// The survey weight by which private records count, if the release is of a population: each counts by the mean weight of its
    /// bin. Weights differ within a bin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_bins_of: Option<String>,
}

impl LeftOut {
    /// What the errors are against, for a sentence; empty if nothing is left out.
    fn sentence(&self) -> String {
        let mut parts = Vec::new();
        if let Some((column, most)) = &self.beyond {
            let records = if *most == 1 { "record" } else { "records" };
            parts.push(format!(
                "against at most {most} {records} of each {column}; what the others would add is not measured"
            ));
        }
        if self.merged_values {
            parts.push(
                "over values as they were merged for the run; the error within merged values is not measured"
                    .to_owned(),
            );
        }
        if let Some(weight) = &self.within_bins_of {
            parts.push(format!(
                "against the records weighted by the mean {weight} of their bin; how weights differ within a bin is not measured"
            ));
        }
        if parts.is_empty() { String::new() } else { format!(", {}", parts.join("; and ")) }
    }
}

/// The errors of a released table on the workload, as L1 distances of frequencies (0 to 2). The ledger paid for them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredErrors {
    /// The number of released records whose errors they are.
    pub records: usize,
    /// N, the number of private records, public or released, by which errors in counts are divided; for a population its
    /// number of members.
    pub total: f64,
    /// The workload error, `(Σ c_r)⁻¹ Σ c_r e_r / N` with the workload's weights. The interval covers with probability
    /// 95 %, whatever the mechanism did.
    pub mean: Interval,
    /// With probability 95 %, the error of every marginal is below this. `None` if only the mean was measured.
    pub none_above: Option<f64>,
    /// Standard deviation of the noise in the error of each marginal, or in the mean if only that was measured.
    pub stddev: f64,
    /// The error of each marginal, in the order of the workload. Empty under a budget of pure ε, whose noise would leave
    /// nothing of them: there, only the mean is measured.
    pub marginals: Vec<MarginalError>,
    /// What of the private table they are not measured against.
    pub left_out: LeftOut,
}

impl MeasuredErrors {
    /// The errors that follow from the released numbers.
    ///
    /// `noisy`: the result of [`measure`] on this table. `workload`: by [`ReleasedTable::workload`]. `measurements`: those of the
    /// run. `total`: N. `unit`: of the curator.
    pub(crate) fn new(
        noisy: &NoisyStatistics,
        table: ReleasedTable<'_>,
        workload: &Workload,
        measurements: &[Measurement],
        total: Total,
        unit: &PrivacyUnit,
    ) -> Result<Self> {
        let beyond = unit.units().map(|units| (units.column().to_owned(), units.most()));
        let left_out = LeftOut { beyond, ..LeftOut::default() };
        // ‖M_r(D)‖₁ = n may be more than N where n is private.
        let most = if total.is_public { 2.0 } else { f64::INFINITY };
        let (total, counts) = (total.records, total.records / table.unit());
        // A released number lies within half a step of the noisy error, and a step is ample for a mean.
        let (step, stddev) = (StatisticSensitivity::GRID / counts, noisy.stddev / counts);
        let values: Vec<f64> = noisy.values.iter().map(|value| value / counts).collect();
        let records_drawn = table.records.records();
        if noisy.form == NoiseForm::Laplace {
            // P[|X| > t] = exp(−t/b) with b = σ/√2.
            let half = stddev / std::f64::consts::SQRT_2 * (1.0 / (1.0 - CONFIDENCE)).ln() + step;
            let mean = Interval::around(values.first().copied().unwrap_or(0.0), half, most);
            let (none_above, marginals) = (None, Vec::new());
            let records = records_drawn;
            return Ok(Self { records, total, mean, none_above, stddev, marginals, left_out });
        }
        let z = upper_quantile((1.0 - CONFIDENCE) / 2.0);
        let weights: Vec<f64> = workload.weighted_cliques().iter().map(|c| c.weight).collect();
        let sum: f64 = weights.iter().sum();
        let mean = weights.iter().zip(&values).map(|(c, value)| c * value).sum::<f64>() / sum;
        let of_mean = stddev * weights.iter().map(|c| c * c).sum::<f64>().sqrt() / sum;
        // All k noises lie above −x σ with probability Φ(x)^k; −ln(Φ)/k is their tail to within its square.
        let all = -f64::exp_m1(CONFIDENCE.ln() / values.len() as f64);
        let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let none_above = (largest + upper_quantile(all) * stddev + step).clamp(0.0, most);
        let better = if values.len() <= MOST_SHRUNK {
            shrunk(&values, stddev, &describe(table, workload, measurements)?)
        } else {
            None
        };
        let marginals = workload.weighted_cliques().iter().zip(&values).enumerate();
        let marginals = marginals.map(|(i, (weighted, value))| MarginalError {
            clique: weighted.clique.clone(),
            measured: Interval::around(*value, z * stddev + step, most),
            shrunk: better
                .as_ref()
                .map(|all| Interval::around(all[i].0, z * all[i].1 + step, most)),
        });
        Ok(Self {
            records: records_drawn,
            total,
            mean: Interval::around(mean, z * of_mean + step, most),
            none_above: Some(none_above),
            stddev,
            marginals: marginals.collect(),
            left_out,
        })
    }

    /// The mean error in words: `the mean error over the workload is 0.160 ± 0.003 (95 %, measured privately)`, with what it
    /// leaves out.
    pub fn sentence(&self) -> String {
        let (found, left_out) = (self.shown_mean(1.0, ""), self.left_out.sentence());
        format!("the mean error over the workload is {found} (95 %, measured privately){left_out}")
    }

    /// What the errors are against, for a sentence; empty if nothing is left out.
    pub(crate) fn says_left_out(&self) -> String {
        self.left_out.sentence()
    }

    /// The mean with its interval, times a factor.
    pub(crate) fn shown_mean(&self, factor: f64, unit: &str) -> String {
        let (estimate, Interval { lower, upper, .. }) = (self.mean.shown(), self.mean);
        let [estimate, lower, upper] = [estimate, lower, upper].map(|x| x * factor);
        let half = upper - estimate;
        // Cut to the range of an error at its upper end.
        let is_cut = upper - estimate < 0.99 * (estimate - lower);
        if lower > 0.0 && is_cut {
            let wide = upper - lower;
            format!("between {}{unit} and {}{unit}", fixed(lower, wide), fixed(upper, wide))
        } else if lower > 0.0 {
            format!("{}{unit} \u{b1} {}{unit}", fixed(estimate, half), fixed(half, half))
        } else {
            format!("at most {}{unit}", fixed(upper, upper))
        }
    }

    /// The marginals with the largest errors, by their best estimates, worst first.
    pub fn worst(&self, most: usize) -> Vec<&MarginalError> {
        let mut worst: Vec<&MarginalError> = self.marginals.iter().collect();
        worst.sort_by(|a, b| b.best().estimate.total_cmp(&a.best().estimate));
        worst.truncate(most);
        worst
    }
}

/// A number with the digits that its half width leaves: two of the half width.
fn fixed(x: f64, half_width: f64) -> String {
    let digits = if half_width > 0.0 { 1.0 - half_width.log10().floor() } else { 6.0 };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 9")]
    let digits = digits.clamp(1.0, 9.0) as usize;
    format!("{x:.digits$}")
}

/// N: the number of private records where it is public, otherwise a released number; of a population, that of its members.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Total {
    pub(crate) records: f64,
    pub(crate) is_public: bool,
}

/// Measures the errors of a table on a workload, at a cost of `rho`: one number per clique with discrete Gaussian
/// noise, or, under a budget of pure ε, their mean with discrete Laplace noise.
///
/// `table`: fixed before this access, and made only of released numbers, public tables and randomness. `workload`: by
/// [`ReleasedTable::workload`]. `total`: N.
///
/// # Errors
/// Records over another domain, a marginal that cannot be counted, or as [`Curator::measure_l1_errors`].
pub(crate) fn measure(
    curator: &mut Curator<'_>,
    table: ReleasedTable<'_>,
    workload: &Workload,
    total: Total,
    rho: Rho,
) -> Result<NoisyStatistics> {
    table.check(curator.domain())?;
    let errors = table.errors(curator, workload, total.records / table.unit())?;
    if curator.ledger().epsilon_limit().is_none() {
        return Ok(curator.measure_l1_errors(errors, NoiseForm::Gaussian, rho, PURPOSE)?);
    }
    let weights: Vec<f64> = workload.weighted_cliques().iter().map(|c| c.weight).collect();
    let sum: f64 = weights.iter().sum();
    let weights: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
    Ok(curator.measure_mean_l1_error(&errors, &weights, NoiseForm::Laplace, rho, PURPOSE)?)
}

/// `‖M_r(D) − scale v_r‖₁` of some cliques, in counts, sealed.
pub(crate) fn l1_errors(
    curator: &Curator<'_>,
    cliques: &[Clique],
    tables: &[Vec<u32>],
    scale: f64,
) -> Result<L1Errors> {
    let marginals = curator.marginals(cliques)?;
    let mut errors = marginals.l1_errors();
    errors.compare(&marginals, &(0..cliques.len()).collect::<Vec<_>>(), tables, scale)?;
    Ok(errors)
}

/// What is public about each marginal and may say something about its error.
fn describe(
    table: ReleasedTable<'_>,
    workload: &Workload,
    measurements: &[Measurement],
) -> Result<Vec<PublicFacts>> {
    let whole = |m: &&Measurement| m.cell.is_none();
    let (private, public): (Vec<&Measurement>, Vec<&Measurement>) =
        measurements.iter().filter(whole).partition(|m| m.provenance == Provenance::Private);
    let n = table.records.records().max(1) as f64;
    let within =
        |clique: &Clique, of: &[&Measurement]| of.iter().any(|m| clique.is_subset(&m.clique));
    let mut described = Vec::with_capacity(workload.len());
    let own = workload.weighted_cliques().iter();
    let own: Vec<WeightedClique> =
        own.map(|c| WeightedClique { clique: table.own(&c.clique), ..*c }).collect();
    let mut cliques = workload.weighted_cliques().iter().map(|c| &c.clique);
    for batch in batches(table.records.domain(), &own) {
        let own: Vec<Clique> = batch.iter().map(|c| c.clique.clone()).collect();
        for (shares, clique) in table.shares(&own)?.iter().zip(cliques.by_ref()) {
            let spread = |p: &f64| (p * (1.0 - p) / n).max(0.0).sqrt();
            let pairs = shrink::pairs(clique);
            let supported = pairs.iter().filter(|(a, b)| within(&Clique::new([*a, *b]), &private));
            described.push(PublicFacts {
                spread: shares.iter().map(spread).sum(),
                is_measured: within(clique, &private),
                is_public: within(clique, &public),
                supported: supported.count() as f64,
                clique: clique.clone(),
            });
        }
    }
    Ok(described)
}

#[cfg(test)]
mod tests;
