use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

use super::{Level, isotonic, least_squares};

/// The inverse of a symmetric matrix, by elimination with pivots.
fn inverse(mut a: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = a.len();
    for (i, row) in a.iter_mut().enumerate() {
        row.extend((0..n).map(|j| f64::from(u8::from(i == j))));
    }
    for k in 0..n {
        let pivot = (k..n).max_by(|i, j| a[*i][k].abs().total_cmp(&a[*j][k].abs())).unwrap();
        a.swap(k, pivot);
        let scale = a[k][k];
        a[k].iter_mut().for_each(|x| *x /= scale);
        let row = a[k].clone();
        for (i, other) in a.iter_mut().enumerate().filter(|(i, _)| *i != k) {
            let (factor, _) = (other[k], i);
            other.iter_mut().zip(&row).for_each(|(x, y)| *x -= factor * y);
        }
    }
    a.into_iter().map(|row| row[n..].to_vec()).collect()
}

/// Weighted least squares without a tree: the fit, and the covariance of the leaves. A known root is a constraint.
fn dense(levels: &[Level]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let cells = levels[0].values.len();
    let known = levels.last().filter(|root| root.variance == 0.0);
    let size = cells + usize::from(known.is_some());
    let (mut a, mut b) = (vec![vec![0.0; size]; size], vec![0.0; size]);
    for (height, level) in levels.iter().enumerate() {
        for (block, value) in level.values.iter().enumerate() {
            let inside: Vec<usize> = (0..cells).filter(|cell| cell >> height == block).collect();
            for i in inside.iter().copied() {
                if level.variance == 0.0 {
                    a[i][cells] = 1.0;
                    a[cells][i] = 1.0;
                    b[cells] = *value;
                } else {
                    b[i] += value / level.variance;
                    inside.iter().for_each(|j| a[i][*j] += 1.0 / level.variance);
                }
            }
        }
    }
    let inverse = inverse(a);
    let row = |row: &Vec<f64>| row.iter().zip(&b).map(|(x, y)| x * y).sum();
    (inverse.iter().take(cells).map(row).collect(), inverse)
}

/// Noisy levels of any numbers; the root is known, or measured too.
fn levels(cells: usize, is_known: bool, rng: &mut ChaCha20Rng) -> Vec<Level> {
    let depth = cells.next_power_of_two().trailing_zeros();
    let of = |height: u32, rng: &mut ChaCha20Rng| {
        let blocks = cells.div_ceil(1 << height);
        let values = (0..blocks).map(|_| rng.random_range(-50.0..200.0)).collect();
        Level { values, variance: rng.random_range(0.5..20.0) }
    };
    let mut levels: Vec<Level> = (0..=depth).map(|height| of(height, rng)).collect();
    if is_known {
        levels.last_mut().unwrap().variance = 0.0;
    }
    levels
}

#[test]
fn a_fit_and_its_variances_are_those_of_dense_least_squares() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    for cells in (3..=20).chain([31, 32, 33, 47]) {
        for is_known in [true, false] {
            let levels = levels(cells, is_known, &mut rng);
            let (fit, (expected, covariance)) = (least_squares(&levels), dense(&levels));
            let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * b.abs().max(1.0);
            for (cell, (found, expected)) in fit.leaves.iter().zip(&expected).enumerate() {
                assert!(near(*found, *expected), "{cells} cells, {cell}: {found}, not {expected}");
            }
            for (last, found) in fit.prefix_variances.iter().enumerate() {
                let rows = covariance.iter().take(last + 1);
                let expected: f64 = rows.flat_map(|row| &row[..=last]).sum();
                assert!(near(*found, expected), "{cells} cells to {last}: {found}, not {expected}");
            }
            assert_eq!((fit.leaves.len(), fit.prefix_variances.len()), (cells, cells));
        }
    }
}

#[test]
fn a_known_root_is_the_sum_of_all_leaves() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let levels = levels(100, true, &mut rng);
    let fit = least_squares(&levels);
    assert!((fit.leaves.iter().sum::<f64>() - levels[7].values[0]).abs() < 1e-9);
    assert!(fit.prefix_variances[99].abs() < 1e-12);
}

#[test]
fn isotonic_regression_pools_what_falls() {
    assert_eq!(isotonic(&[1.0, 3.0, 2.0, 4.0]), [1.0, 2.5, 2.5, 4.0]);
    assert_eq!(isotonic(&[3.0, 2.0, 1.0]), [2.0, 2.0, 2.0]);
    assert_eq!(isotonic(&[]), [0.0; 0]);
    // 5, then 1 and 3: (5 + 1) / 2 = 3 is not below 3, so that all three are pooled.
    assert_eq!(isotonic(&[5.0, 1.0, 3.0, 10.0]), [3.0, 3.0, 3.0, 10.0]);
}
