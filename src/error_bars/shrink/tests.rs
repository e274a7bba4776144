use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

use super::*;

/// All triples of some attributes.
fn triples(attributes: usize, rng: &mut ChaCha20Rng) -> Vec<PublicFacts> {
    let mut about = Vec::new();
    for a in 0..attributes {
        for b in a + 1..attributes {
            for c in b + 1..attributes {
                about.push(PublicFacts {
                    clique: Clique::new([a, b, c]),
                    spread: 0.02 + 0.05 * rng.random::<f64>(),
                    is_measured: rng.random::<f64>() < 0.2,
                    is_public: false,
                    supported: f64::from(rng.random_range(0..4_u8)),
                });
            }
        }
    }
    about
}

/// Errors that follow the mixed model, with these deviations of pairs and of marginals.
fn errors(about: &[PublicFacts], of_pair: f64, own: f64, rng: &mut ChaCha20Rng) -> Vec<f64> {
    let mut pair_effects = BTreeMap::new();
    let mut normal = move || rng.sample::<f64, _>(StandardNormal);
    about
        .iter()
        .map(|d| {
            let fixed = 0.1 + 1.5 * d.spread - if d.is_measured { 0.03 } else { 0.0 };
            let random: f64 = pairs(&d.clique)
                .into_iter()
                .map(|pair| *pair_effects.entry(pair).or_insert_with(|| of_pair * normal()))
                .sum();
            fixed + random + own * normal()
        })
        .collect()
}

/// Coverage at ±1.96 standard deviations, and the mean squared errors of shrunk and of raw estimates.
fn simulated(noise: f64, of_pair: f64, own: f64, seeds: std::ops::Range<u64>) -> (f64, f64, f64) {
    let (mut covered, mut count, mut shrunk_error, mut raw_error) = (0.0, 0.0, 0.0, 0.0);
    for seed in seeds {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let about = triples(10, &mut rng);
        let truth = errors(&about, of_pair, own, &mut rng);
        let draws: Vec<f64> =
            truth.iter().map(|_| noise * rng.sample::<f64, _>(StandardNormal)).collect();
        let noisy: Vec<f64> = truth.iter().zip(&draws).map(|(e, x)| e + x).collect();
        for ((e, y), (found, deviation)) in
            truth.iter().zip(&noisy).zip(shrunk(&noisy, noise, &about).unwrap())
        {
            covered += if (found - e).abs() <= 1.96 * deviation { 1.0 } else { 0.0 };
            count += 1.0;
            shrunk_error += (found - e).powi(2);
            raw_error += (y - e).powi(2);
        }
    }
    (covered / count, shrunk_error / count, raw_error / count)
}

#[test]
fn intervals_of_simulated_errors_cover_on_average_whatever_their_variances() {
    for (noise, of_pair, own) in [
        (0.03, 0.02, 0.01),
        (0.03, 0.0, 0.0),
        (0.03, 0.0, 0.03),
        (0.01, 0.03, 0.03),
        (0.003, 0.03, 0.03),
    ] {
        let (coverage, shrunk, raw) = simulated(noise, of_pair, own, 0..40);
        let place = format!("noise {noise}, pairs {of_pair}, own {own}: {coverage}");
        // 4,800 intervals; those of one vector depend on each other through the variances. Without any random effect the
        // averages over larger variances make them too wide.
        assert!((0.93..=0.995).contains(&coverage), "{place}");
        assert!(shrunk < 1.02 * raw, "{place}: {shrunk} and {raw}");
    }
}

#[test]
fn shrinking_gains_most_where_noise_hides_the_errors() {
    let (_, shrunk, raw) = simulated(0.03, 0.01, 0.005, 0..20);
    assert!(shrunk < 0.35 * raw, "{shrunk} and {raw}");
}

/// The inverse, row-major, and the logarithm of the determinant.
fn inverted(matrix: Vec<f64>, size: usize) -> (Vec<f64>, f64) {
    let matrix = Array2::from_shape_vec((size, size), matrix).unwrap();
    let (inverse, log_determinant) = inverse_positive_definite(&matrix).unwrap();
    (inverse.into_raw_vec_and_offset().0, log_determinant)
}

/// P by its definition, with V inverted as a whole.
fn dense(fixed: &[Vec<f64>], pairs: &PairEffects, lambda: f64) -> (Vec<f64>, f64) {
    let (n, p) = (pairs.rows.len(), fixed.len());
    let shared =
        |i: usize, j: usize| pairs.rows[i].iter().filter(|c| pairs.rows[j].contains(c)).count();
    let v: Vec<f64> = (0..n * n)
        .map(|at| {
            let (i, j) = (at / n, at % n);
            lambda * shared(i, j) as f64 + if i == j { 1.0 } else { 0.0 }
        })
        .collect();
    let (inverse, log_v) = inverted(v, n);
    let vx: Vec<Vec<f64>> = fixed
        .iter()
        .map(|x| (0..n).map(|i| dot(&inverse[i * n..(i + 1) * n], x)).collect())
        .collect();
    let gram: Vec<f64> = (0..p * p).map(|at| dot(&fixed[at / p], &vx[at % p])).collect();
    let (solved, log_g) = inverted(gram, p);
    let mut projection = inverse;
    for i in 0..n {
        for j in 0..n {
            for a in 0..p {
                for b in 0..p {
                    projection[i * n + j] -= vx[a][i] * solved[a * p + b] * vx[b][j];
                }
            }
        }
    }
    (projection, log_v + log_g)
}

#[test]
fn the_projection_is_that_of_its_definition() {
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let about = triples(7, &mut rng);
    let (fixed, pairs) = (fixed_effects(&about), PairEffects::of(&about));
    let y: Vec<f64> = about.iter().map(|_| rng.random()).collect();
    for lambda in [0.0, 0.3, 4.0] {
        let found = Projection::new(&y, &fixed, &pairs, lambda).unwrap();
        let (expected, logs) = dense(&fixed, &pairs, lambda);
        let n = y.len();
        for r in 0..n {
            let projected = dot(&expected[r * n..(r + 1) * n], &y);
            assert!((found.projected[r] - projected).abs() < 1e-9);
            assert!((found.diagonal[r] - expected[r * n + r]).abs() < 1e-9);
        }
        assert!((found.log_determinants - logs).abs() < 1e-9, "{lambda}");
    }
}

#[test]
fn columns_that_follow_from_others_are_left_out() {
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    // Seven attributes sum to three in every triple, and nothing is public: 1 + 3 + 7 - 1 columns.
    assert_eq!(fixed_effects(&triples(7, &mut rng)).len(), 10);
}

#[test]
fn too_few_marginals_or_no_noise_are_not_shrunk() {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let about = triples(5, &mut rng);
    assert!(shrunk(&[0.1; 10], 0.1, &about).is_none());
    let about = triples(8, &mut rng);
    assert!(shrunk(&vec![0.1; about.len()], 0.0, &about).is_none());
    assert!(shrunk(&vec![0.1; about.len()], 0.1, &about).is_some());
}
