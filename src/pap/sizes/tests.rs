use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

use super::RangeClass::{Boxes, Conjunctions, HalfPlanes, Intervals, List, Stumps, Thresholds};
use super::{largest_gap, private_records, public_records};

/// The probability that the largest gap that m uniform points leave in [0, 1] is above g:
/// `Σ_{k≥1} (−1)^{k+1} C(m + 1, k) (1 − kg)₊^m`.
fn largest_gap_above(m: i32, g: f64) -> f64 {
    let (mut choose, mut sum) = (1.0, 0.0);
    for k in 1..=m + 1 {
        choose *= f64::from(m + 2 - k) / f64::from(k);
        let sign = if k % 2 == 1 { 1.0 } else { -1.0 };
        sum += sign * choose * (1.0 - f64::from(k) * g).max(0.0).powi(m);
    }
    sum
}

#[test]
fn the_largest_gap_is_distributed_as_the_formula_says() {
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let (m, runs) = (20, 20_000);
    let mut gaps: Vec<f64> = (0..runs)
        .map(|_| {
            let mut points: Vec<f64> = (0..m).map(|_| rng.random()).collect();
            points.extend([0.0, 1.0]);
            points.sort_by(f64::total_cmp);
            points.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max)
        })
        .collect();
    gaps.sort_by(f64::total_cmp);
    for g in [0.1, 0.15, 0.2, 0.3] {
        let above = runs - gaps.partition_point(|gap| *gap <= g);
        let (found, expected) = (above as f64 / f64::from(20_000_u32), largest_gap_above(m, g));
        // Five standard deviations: one false alarm in 400,000.
        assert!((found - expected).abs() < 5.0 * 0.5 / 20_000_f64.sqrt(), "{found}, {expected}");
    }
}

#[test]
fn public_records_for_thresholds_bound_the_largest_gap() {
    for (alpha, beta) in [(0.9, 0.5), (0.8, 0.1), (0.5, 0.1), (0.3, 0.05)] {
        let m = public_records(Thresholds, alpha, beta).unwrap();
        assert!(largest_gap_above(i32::try_from(m).unwrap(), alpha / 4.0) <= beta / 2.0);
        let holds = |m: u64| (m + 1) as f64 * (1.0 - alpha / 4.0).powf(m as f64) <= beta / 2.0;
        assert!(holds(m) && !holds(m - 1), "{alpha} {beta} {m}");
    }
}

#[test]
fn public_records_for_intervals_are_the_least_that_the_bound_allows() {
    assert_eq!(public_records(Intervals, 0.1, 0.1).unwrap(), 4466);
    let (some, more) = (public_records(Intervals, 0.1, 0.1), public_records(Intervals, 0.01, 0.1));
    assert!(more.unwrap() > 10 * some.unwrap(), "records grow as ln(1/alpha)/alpha");
    assert!(public_records(Intervals, 1e-18, 0.1).is_err());
}

#[test]
fn private_records_grow_with_the_square_of_the_accuracy() {
    let needed = |alpha: f64| private_records(Thresholds, 1000, alpha, 0.1, 1.0, 1e-9).unwrap();
    // 200/0.01 √(ln 1001 · ln 2e9) (ln 1001 + ln(128 ln 1001 / 0.001)) = 20,000 · 12.164 · 20.600.
    assert!((needed(0.1) / 5.0116e6 - 1.0).abs() < 1e-3, "{}", needed(0.1));
    assert!(needed(0.01) > 100.0 * needed(0.1));
    assert!(private_records(Intervals, 1000, 0.1, 0.1, 1.0, 1e-9).unwrap() > needed(0.1));
    for (alpha, epsilon, public) in
        [(0.0, 1.0, 9), (0.1, 0.0, 9), (0.1, f64::NAN, 9), (0.1, 1.0, 0)]
    {
        assert!(private_records(Thresholds, public, alpha, 0.1, epsilon, 1e-9).is_err());
    }
}

#[test]
fn the_gap_that_is_exceeded_rarely_is_the_inverse_of_the_number_of_records() {
    for class in [Thresholds, Intervals] {
        for (alpha, beta) in [(0.3, 0.1), (0.05, 0.02)] {
            let m = public_records(class, alpha, beta).unwrap();
            let gap = |m| largest_gap(class, m, beta / 2.0).unwrap();
            assert!(gap(m) <= alpha / 4.0 && gap(m - 1) > alpha / 4.0, "{class:?} {alpha} {m}");
        }
        assert!(largest_gap(class, 1, 0.5).unwrap() <= 1.0);
        assert!(largest_gap(class, 0, 0.5).is_err() && largest_gap(class, 9, 1.0).is_err());
    }
    // Above this gap with probability at most 0.05.
    assert!(largest_gap_above(20, largest_gap(Thresholds, 20, 0.05).unwrap()) <= 0.05);
}

#[test]
fn finite_classes_need_no_public_record_and_half_planes_more_than_thresholds() {
    for class in [Conjunctions { columns: 6 }, List { queries: 30 }] {
        assert_eq!(public_records(class, 0.1, 0.1).unwrap(), 0);
        assert_eq!(largest_gap(class, 0, 0.1).unwrap().to_bits(), 0.0_f64.to_bits());
        let private = |public| private_records(class, public, 0.1, 0.1, 1.0, 1e-9).unwrap();
        assert!(private(0) > 1e5 && (private(0) - private(9)).abs() < 1e-6);
    }
    // 3⁶ + 1 queries over 2⁶ cells: 20,000 √(ln 64 · ln 2e9) (ln 730 + ln(128 ln 64 / 0.001)).
    let found = private_records(Conjunctions { columns: 6 }, 0, 0.1, 0.1, 1.0, 1e-9).unwrap();
    let expected = 20_000.0
        * (64_f64.ln() * 2e9_f64.ln()).sqrt()
        * (730_f64.ln() + (128.0 * 64_f64.ln() / 0.001).ln());
    assert!((found / expected - 1.0).abs() < 1e-9, "{found}, not {expected}");
    for class in [Conjunctions { columns: 0 }, List { queries: 0 }] {
        assert!(public_records(class, 0.1, 0.1).is_err() && largest_gap(class, 5, 0.1).is_err());
    }
    let planes = public_records(HalfPlanes, 0.1, 0.1).unwrap();
    assert!(planes > public_records(Thresholds, 0.1, 0.1).unwrap());
    assert!(largest_gap(HalfPlanes, planes, 0.05).unwrap() <= 0.1 / 4.0);
    assert!(largest_gap(HalfPlanes, 32, 0.05).unwrap() <= 1.0);
    for (m, expected) in [(0, 1.0), (1, 2.0), (2, 4.0), (3, 8.0), (4, 14.0)] {
        assert!((HalfPlanes.labelings(m) - expected).abs() < 1e-12, "{m}");
    }
}

#[test]
fn classes_of_several_columns_need_more_records_than_those_of_one_and_equal_them_there() {
    let one = [(Thresholds, Stumps { columns: 1 }), (Intervals, Boxes { columns: 1 })];
    for (class, same) in one {
        assert_eq!(
            public_records(class, 0.1, 0.1).unwrap(),
            public_records(same, 0.1, 0.1).unwrap()
        );
        assert!((class.labelings(7) - same.labelings(7)).abs() < 1e-12);
        let private = |class| private_records(class, 50, 0.1, 0.1, 1.0, 1e-9).unwrap();
        assert!((private(class) - private(same)).abs() < 1e-6);
    }
    // r times the probability for stumps: the bound for r columns at beta is that for one at beta/r.
    let stumps = public_records(Stumps { columns: 10 }, 0.2, 0.5).unwrap();
    assert_eq!(stumps, public_records(Thresholds, 0.2, 0.05).unwrap());
    let boxes = |columns| public_records(Boxes { columns }, 0.2, 0.1).unwrap();
    assert!(boxes(2) > boxes(1) && boxes(1000) > 100 * boxes(2), "finite for many columns");
    assert!(largest_gap(Boxes { columns: 2 }, 10_000, 0.1).unwrap() < 0.05);
    for class in [Stumps { columns: 0 }, Boxes { columns: 0 }] {
        assert!(public_records(class, 0.1, 0.1).is_err() && largest_gap(class, 5, 0.1).is_err());
        assert!(private_records(class, 5, 0.1, 0.1, 1.0, 1e-9).is_err());
    }
}
