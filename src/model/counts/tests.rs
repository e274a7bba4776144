use super::*;

#[test]
fn probabilities_sum_to_one_and_have_their_mean_deviation() {
    for (mean, excess) in
        [(0.02, 0.1), (0.7, 0.0), (3.4, 2.0), (30.0, 500.0), (1000.0, 0.0), (1000.0, 4e4)]
    {
        let count = Count::new(mean, excess);
        let (mut sum, mut first, mut deviation, mut variance) = (0.0, 0.0, 0.0, 0.0);
        for k in 0..40_000 {
            let (k, p) = (f64::from(k), count.probability(f64::from(k)));
            sum += p;
            first += k * p;
            deviation += (k - mean).abs() * p;
            variance += (k - mean).powi(2) * p;
        }
        let place = format!("mean {mean}, excess {excess}");
        assert!(
            (sum - 1.0).abs() < 1e-8 && (first / mean - 1.0).abs() < 1e-7,
            "{place}: {sum}, {first}"
        );
        assert!((variance / (mean + excess) - 1.0).abs() < 1e-6, "{place}: {variance}");
        assert!((count.mean_deviation() / deviation - 1.0).abs() < 1e-7, "{place}");
    }
}

#[test]
fn quantiles_are_the_smallest_counts_that_reach_their_probability() {
    for (mean, excess) in [(0.001, 0.0), (0.5, 0.3), (3.4, 2.0), (80.0, 500.0), (900.0, 3e4)] {
        let count = Count::new(mean, excess);
        let [low, high] = count.quantiles([0.025, 0.975], 1.96);
        let below = |end: f64| {
            let mut sum = 0.0;
            let mut k = 0.0;
            while k < end {
                sum += count.probability(k);
                k += 1.0;
            }
            sum
        };
        let place = format!("mean {mean}, excess {excess}: {low} to {high}");
        assert!(below(low) < 0.025 && below(low + 1.0) >= 0.025, "{place}");
        assert!(below(high) < 0.975 && below(high + 1.0) >= 0.975, "{place}");
    }
}

#[test]
fn large_counts_have_smooth_quantiles_near_the_exact_ones() {
    let exact = Count::new(20_000.0, 3.9e6 - 20_000.0);
    let smooth = Count::new(20_000.0 * 1.02, (3.9e6 - 20_000.0) * 1.07);
    let ([a, b], [c, d]) =
        (exact.quantiles([0.025, 0.975], 1.96), smooth.quantiles([0.025, 0.975], 1.96));
    assert!(
        (c / a / 1.02 - 1.0).abs() < 0.02 && (d / b / 1.02 - 1.0).abs() < 0.02,
        "{a} {b} {c} {d}"
    );
}

#[test]
fn no_records_have_no_spread() {
    let none = Count::new(0.0, 0.0);
    assert_eq!(none.quantiles([0.025, 0.975], 1.96).map(f64::to_bits), [0, 0]);
    assert!(none.mean_deviation() == 0.0);
}
