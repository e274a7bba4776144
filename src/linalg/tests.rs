use ndarray::array;
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use super::*;

#[test]
fn random_systems_are_solved_whichever_back_end_is_built() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    for size in [0, 1, 2, 7, 40, 150] {
        let root = Array2::from_shape_fn((size, size), |_| rng.random_range(-1.0..1.0));
        let matrix: Array2<f64> = root.dot(&root.t()) + Array2::<f64>::eye(size);
        let expected = Array1::from_shape_fn(size, |_| rng.random_range(-1.0..1.0));
        let right_side = matrix.dot(&expected);
        let found = solve_positive_definite(&matrix, &right_side).unwrap();
        let furthest = (found - expected).iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        assert!(furthest < 1e-10, "{size}: {furthest}");
    }
}

#[test]
fn inverses_undo_and_determinants_are_those_of_known_matrices() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    for size in [0, 1, 2, 9, 60] {
        let root = Array2::from_shape_fn((size, size), |_| rng.random_range(-1.0..1.0));
        let matrix: Array2<f64> = root.dot(&root.t()) + Array2::<f64>::eye(size);
        let (inverse, log_determinant) = inverse_positive_definite(&matrix).unwrap();
        let unit = matrix.dot(&inverse) - Array2::<f64>::eye(size);
        assert!(unit.iter().all(|x| x.abs() < 1e-10), "{size}");
        let scaled = inverse_positive_definite(&(2.0 * &matrix)).unwrap().1;
        assert!((scaled - log_determinant - size as f64 * 2_f64.ln()).abs() < 1e-9);
    }
    let (inverse, log_determinant) =
        inverse_positive_definite(&array![[4.0, 99.0], [2.0, 3.0]]).unwrap();
    assert!((log_determinant - 8_f64.ln()).abs() < 1e-15);
    assert!((inverse[[0, 1]] + 0.25).abs() < 1e-15 && (inverse[[1, 1]] - 0.5).abs() < 1e-15);
    assert!(inverse_positive_definite(&array![[1.0, 2.0], [2.0, 1.0]]).is_err());
    assert!(inverse_positive_definite(&array![[1.0], [2.0]]).is_err());
}

#[test]
fn only_the_lower_triangle_is_read() {
    let matrix = array![[4.0, 99.0], [2.0, 3.0]];
    let x = solve_positive_definite(&matrix, &array![2.0, 5.0]).unwrap();
    assert!((x[0] + 0.5).abs() < 1e-15 && (x[1] - 2.0).abs() < 1e-15);
}

#[test]
fn what_is_not_positive_definite_is_refused() {
    let ones = array![1.0, 1.0];
    for matrix in [array![[1.0, 2.0], [2.0, 1.0]], array![[0.0, 0.0], [0.0, 1.0]]] {
        assert!(solve_positive_definite(&matrix, &ones).is_err());
    }
    assert!(solve_positive_definite(&array![[1.0], [2.0]], &ones).is_err());
    assert!(solve_positive_definite(&Array2::eye(3), &ones).is_err());
}

/// Sizes below and above a panel and the kernel's blocks, wide and tall, whole matrices and transposed ones.
#[test]
fn products_are_the_same_bits_on_any_number_of_threads() {
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    for (rows, inner, columns) in [(3, 5, 1), (70, 700, 1000), (1000, 130, 143), (257, 1, 64)] {
        let mut random = |rows, columns| {
            Array2::from_shape_simple_fn((rows, columns), || rng.random_range(-1.0_f32..1.0))
        };
        let (a, b, start) = (random(rows, inner), random(columns, inner), random(rows, columns));
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut c = start.clone();
            pool.install(|| multiply(&a.view(), &b.t(), c.view_mut(), true));
            c
        };
        let alone = on(1);
        let exact = a.mapv(f64::from).dot(&b.t().mapv(f64::from)) + start.mapv(f64::from);
        let furthest = (alone.mapv(f64::from) - exact).iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        assert!(furthest < 1e-3, "{rows} {inner} {columns}: {furthest}");
        for threads in 2..=5 {
            let bits = on(threads).mapv(f32::to_bits);
            assert_eq!(
                bits,
                alone.mapv(f32::to_bits),
                "{rows} {inner} {columns}, {threads} threads"
            );
        }
    }
}
