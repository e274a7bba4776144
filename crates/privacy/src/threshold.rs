//! The count from which a value may be named: `docs/theory/sensitivities.md`, section 10.

use std::f64::consts::PI;

use crate::error::{Error, Result};
use crate::{Delta, NeighboringRelation, Ratio};

/// The largest threshold: beyond any count, which has 32 bits.
const LARGEST: u64 = 1 << 33;

/// The smallest T such that, but for a probability of `delta`, no value reaches it whose records are all of one neighbor:
/// `K P[Z ≥ T − K] ≤ δ` with discrete Gaussian noise Z and K records of a unit, 1 if neighbors differ by a record.
///
/// `variance`: σ² of the noise, in squared counts.
///
/// # Errors
/// A threshold beyond any count.
pub(super) fn threshold(
    relation: NeighboringRelation,
    variance: Ratio,
    delta: Delta,
) -> Result<u64> {
    let (mut failing, mut holding) = (u64::from(relation.changed_cell()), LARGEST);
    if !is_covered(relation, variance, holding, delta.value()) {
        let expected = "more budget, or a larger delta";
        return Err(Error::invalid_budget("delta of a threshold", delta.value(), expected));
    }
    while holding - failing > 1 {
        let middle = failing + (holding - failing) / 2;
        if is_covered(relation, variance, middle, delta.value()) {
            holding = middle;
        } else {
            failing = middle;
        }
    }
    Ok(holding)
}

/// Whether a δ covers a threshold.
pub(super) fn is_covered(
    relation: NeighboringRelation,
    variance: Ratio,
    threshold: u64,
    delta: f64,
) -> bool {
    let records = relation.changed_cell();
    let above = threshold.saturating_sub(records.into());
    let log = f64::from(records).ln() + log_tail(variance.to_f64(), above);
    // Sums of a few terms, each accurate to parts in 10¹⁶ of the largest.
    log + 1e-12 * (1.0 + log.abs()) <= delta.ln()
}

/// An upper bound on `ln P[Z ≥ m]` for discrete Gaussian noise, infinite where m is 0:
/// `P[Z ≥ m] ≤ exp(−m²/2σ²) / (max(1, σ√2π) (1 − exp(−(2m + 1)/2σ²)))`.
fn log_tail(variance: f64, m: u64) -> f64 {
    if m == 0 {
        return f64::INFINITY;
    }
    let m = m as f64;
    let all = (2.0 * PI * variance).sqrt().max(1.0);
    let ratio = -((2.0 * m + 1.0) / (2.0 * variance));
    -(m * m) / (2.0 * variance) - all.ln() - (-ratio.exp()).ln_1p()
}

#[cfg(test)]
mod tests;
