#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole numbers")]

use super::{is_covered, log_tail, threshold};
use crate::NeighboringRelation::{self, AddRemoveOne, AddRemoveUnit, ReplaceOne};
use crate::{Delta, Ratio, RecordsPerUnit};

/// `P[Z ≥ m]`, term by term.
fn exact(variance: f64, m: i64) -> f64 {
    let reach = m + (60.0 * variance.sqrt()) as i64 + 60;
    let weight = |x: i64| (-(x * x) as f64 / (2.0 * variance)).exp();
    (m..=reach).map(weight).sum::<f64>() / (-reach..=reach).map(weight).sum::<f64>()
}

#[test]
fn the_tail_is_bounded_closely() {
    for variance in [0.05, 0.4, 1.0, 17.3, 2_500.0] {
        let stddev: f64 = f64::sqrt(variance);
        for sigmas in [0.5, 1.0, 3.0, 6.0] {
            let m = (sigmas * stddev).ceil();
            let (bound, found) = (log_tail(variance, m as u64), exact(variance, m as i64).ln());
            assert!(bound >= found - 1e-12, "{variance}, {m}: {bound} below {found}");
            // Within a factor of 2.5 at half a standard deviation, and of 1.1 far out.
            let close = if sigmas > 2.0 { 0.1 } else { 1.0 };
            assert!(bound < found + close, "{variance}, {m}: {bound} far above {found}");
        }
    }
    assert!(log_tail(1.0, 0).is_infinite());
}

fn unit(records: u32) -> NeighboringRelation {
    AddRemoveUnit(RecordsPerUnit::new(records).unwrap())
}

#[test]
fn a_value_of_one_neighbor_passes_with_a_probability_of_at_most_delta() {
    for relation in [ReplaceOne, AddRemoveOne, unit(3)] {
        let records = i64::from(relation.changed_cell());
        for (variance, delta) in [(1, 1e-3), (40, 1e-6), (900, 1e-9), (3, 0.2)] {
            let (of, delta) = (Ratio::new(variance, 1).unwrap(), Delta::new(delta).unwrap());
            let least = threshold(relation, of, delta).unwrap();
            let lowest = i64::try_from(least).unwrap();
            let passes = |count: i64| exact(variance as f64, lowest - count);
            // All divisions of the records among values.
            for part in 1..=records {
                let (whole, rest) = (records / part, records % part);
                let alone = if rest > 0 { passes(rest) } else { 0.0 };
                let sum = whole as f64 * passes(part) + alone;
                assert!(sum <= delta.value(), "{relation}, {variance}: {sum:e} of {delta}");
            }
            // Not much larger than it must be.
            let below = records as f64 * exact(variance as f64, lowest - 2 - records);
            assert!(below > delta.value(), "{relation}, {variance}: {least}");
            assert!(!is_covered(relation, of, least - 1, delta.value()));
        }
    }
}

#[test]
fn a_threshold_beyond_any_count_is_refused() {
    let variance = Ratio::new(u64::MAX, 1).unwrap();
    assert!(threshold(ReplaceOne, variance, Delta::new(1e-9).unwrap()).is_err());
}
