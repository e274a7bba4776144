//! How large an error is: that of random samples of the real records.

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand::seq::SliceRandom;
use serde::Serialize;

use crate::error::Result;
use crate::evaluation::{Weighted, WorkloadError};
use crate::query::Workload;

/// Marginals of a larger workload that are looked at.
const MARGINALS: usize = 200;

/// Records of the smallest sample.
const FEWEST: usize = 10;

/// The seed of the samples of marginals and of records.
const SEED: u64 = 1;

/// A synthetic table beside random samples of the real records, drawn without replacement. **Not private.**
///
/// NIST's sampling-fraction equivalent (SDNist) compares scores in this way: the share of the real records whose random sample
/// is as far from the real table as the synthetic one. Samples of a half, a quarter, ... of the records are drawn, each from the
/// one before, until one is further away; between two of them the error is taken as a power of the share. Above a half, the
/// error of a sample of a share f is that of the half times `√((1 − f)/f)`.
///
/// ```
/// use jointly::{data::Dataset, domain::Domain, evaluation::Yardstick, query::Workload};
/// let domain = Domain::new([("a", 2), ("b", 3)])?;
/// let rows: Vec<[u32; 2]> = (0..900).map(|i| [i % 2, i % 9 / 3]).collect();
/// let real = Dataset::from_rows(domain.clone(), &rows)?;
/// let pair = Workload::all_k_way(&domain, 2)?;
/// let same = Yardstick::of((&real).into(), (&real).into(), &pair)?.unwrap();
/// assert_eq!((same.error, same.fraction), (0.0, Some(1.0)));
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Yardstick {
    /// Marginals of the workload that it is about: all, or 200 drawn at random.
    pub marginals: u64,
    /// The mean L1 distance of the synthetic table on these, 0 to 2.
    pub error: f64,
    /// The same of a random half of the real records.
    pub half_error: f64,
    /// The share of the real records whose random sample has the synthetic table's error; `None` if even ten records have less.
    pub fraction: Option<f64>,
}

impl Yardstick {
    /// Compares a synthetic table with samples of the real one; `None` for fewer than 20 real records.
    ///
    /// # Errors
    /// As [`WorkloadError::between`].
    pub fn of(
        real: Weighted<'_>,
        synthetic: Weighted<'_>,
        workload: &Workload,
    ) -> Result<Option<Self>> {
        let n = real.records.records();
        if n < 2 * FEWEST {
            return Ok(None);
        }
        let workload = match workload.len() {
            0..=MARGINALS => workload.clone(),
            _ => workload.clone().sampled(MARGINALS, SEED)?,
        };
        let far = |other: Weighted<'_>| -> Result<f64> {
            Ok(WorkloadError::between(&real, &other, &workload, 0)?.mean_l1)
        };
        let error = far(synthetic)?;
        let mut positions: Vec<u32> = (0..u32::try_from(n).unwrap_or(u32::MAX)).collect();
        positions.shuffle(&mut ChaCha20Rng::seed_from_u64(SEED));
        let mut of_samples: Vec<(f64, f64)> = Vec::new();
        let mut size = n / 2;
        while size >= FEWEST {
            let drawn = &positions[..size];
            let records = real.records.take(drawn);
            let weights =
                real.weights.map(|all| drawn.iter().map(|at| all[*at as usize]).collect());
            let weights: Option<Vec<f64>> = weights;
            let sample = Weighted { records: &records, weights: weights.as_deref() };
            let found = far(sample)?;
            of_samples.push((size as f64 / n as f64, found));
            if found >= error {
                break;
            }
            size /= 2;
        }
        let half_error = of_samples.first().map_or(0.0, |(_, error)| *error);
        let (marginals, fraction) = (workload.len() as u64, fraction(error, &of_samples));
        Ok(Some(Self { marginals, error, half_error, fraction }))
    }
}

/// The share of the records whose sample has an error. `of_samples`: shares and errors, the largest share first.
fn fraction(error: f64, of_samples: &[(f64, f64)]) -> Option<f64> {
    let (half, of_half) = *of_samples.first()?;
    if error <= of_half {
        let ratio = if of_half > 0.0 { error / of_half } else { 0.0 };
        return Some(1.0 / (1.0 + ratio * ratio * (1.0 - half) / half));
    }
    let place = of_samples.iter().position(|(_, found)| *found >= error)?;
    let [(more, least), (less, most)] = [of_samples[place - 1], of_samples[place]];
    let between =
        if most > least && least > 0.0 { (error / least).ln() / (most / least).ln() } else { 1.0 };
    Some(more * (less / more).powf(between))
}

#[cfg(test)]
mod tests;
