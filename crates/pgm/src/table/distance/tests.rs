#![expect(clippy::cast_possible_truncation, clippy::float_cmp, reason = "whole numbers")]

use super::*;

/// The distance in whole steps of 2⁻⁴⁰, for values that are multiples of it.
fn exact(counts: &[u32], table: &[f64]) -> i128 {
    let steps = |value: f64| {
        let scaled = value * (1_u64 << 40) as f64;
        assert!(scaled == scaled.trunc(), "{value} is not on the grid");
        scaled as i128
    };
    counts.iter().zip(table).map(|(c, v)| ((i128::from(*c) << 40) - steps(*v)).abs()).sum()
}

fn error(found: f64, exact: i128) -> f64 {
    let scaled = found * (1_u64 << 40) as f64;
    (scaled as i128 - exact).abs() as f64 / (1_u64 << 40) as f64
}

#[test]
fn the_error_stays_below_its_bound_where_a_plain_sum_exceeds_it() {
    // One large count and many small ones, which a plain sum rounds away one by one.
    let cells = (1 << 20) + 3;
    let step = f64::powi(2.0, -22);
    let mut counts = vec![0_u32; cells];
    counts[0] = u32::MAX;
    let table: Vec<f64> = (0..cells).map(|i| step * (1.0 + (i % 7) as f64)).collect();
    let (true_distance, found) = (exact(&counts, &table), l1_distance(&counts, &table, 1.0));
    let plain: f64 = counts.iter().zip(&table).map(|(c, v)| (f64::from(*c) - v).abs()).sum();
    let bound = 2.001 * f64::EPSILON / 2.0 * found;
    assert!(error(found, true_distance) <= bound, "{} > {bound}", error(found, true_distance));
    assert!(error(plain, true_distance) > bound, "the instance is too easy");
}

#[test]
fn every_cell_counts_once_at_any_length() {
    for cells in 0..40_u32 {
        let counts: Vec<u32> = (0..cells).map(|i| 3 * i).collect();
        let table: Vec<u32> = (0..cells).map(|i| 100 - i).collect();
        let terms = (0..cells).map(|i| (f64::from(3 * i) - 0.5 * f64::from(100 - i)).abs());
        let found = l1_distance(&counts, &table, 0.5);
        assert!((found - terms.sum::<f64>()).abs() < 1e-9, "{cells} cells");
    }
}

#[test]
fn a_mean_of_a_million_distances_keeps_its_digits_where_a_plain_sum_loses_them() {
    // Products are exact: weights are 2⁻²⁰, values are multiples of 2⁻²⁰.
    let terms = 1 << 20;
    let weights = vec![f64::powi(2.0, -20); terms];
    let steps = |i: usize| if i == 0 { 1_u64 << 55 } else { 1 + 2 * (i as u64 % 3) };
    let values: Vec<f64> = (0..terms).map(|i| steps(i) as f64 * f64::powi(2.0, -20)).collect();
    let exact = (0..terms).map(|i| i128::from(steps(i))).sum();
    let found = weighted_sum(&weights, &values);
    let bound = 1.5 * f64::EPSILON / 2.0 * found;
    assert!(error(found, exact) <= bound, "{} > {bound}", error(found, exact));
    let plain: f64 = weights.iter().zip(&values).map(|(a, x)| a * x).sum();
    assert!(error(plain, exact) > 100.0 * bound, "the instance is too easy");
    assert_eq!(weighted_sum(&[], &[]), 0.0);
}
