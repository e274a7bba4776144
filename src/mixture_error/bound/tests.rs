use super::*;

/// n = 100,000, ρ = 0.5, α = 0.5, m = 1,000, |Q| = 1,000, f = 0, β = 0.05.
fn bound() -> ReweightingBound {
    ReweightingBound {
        records: 100_000,
        rho: Rho::from_f64(0.5).unwrap(),
        measure_share: 0.5,
        public_records: 1_000,
        queries: 1_000,
        mixture_error: 0.0,
        failure: 0.05,
    }
}

#[test]
fn the_bound_is_the_one_computed_by_hand() {
    // T = 2,000: B = 2e-5 √1000 ln(8e7) = 2e-5 · 31.622777 · 18.197537 = 0.0115091;
    // N = 1e-5 √(2000 ln(160,000)/0.25) = 1e-5 · 309.618 = 0.0030962;
    // √(4 · 6.907755/2000 + N²) = √(0.01381551 + 0.00000959) = 0.1175802.
    let found = bound().error(2_000).unwrap();
    assert!((found - (0.011_509_1 + 0.117_580_2)).abs() < 1e-6, "{found}");
    // f = 0.02: √(0.01381551 + 0.0230962²) = √0.01434894 = 0.1197871, and 0.02 more.
    let found = ReweightingBound { mixture_error: 0.02, ..bound() }.error(2_000).unwrap();
    assert!((found - (0.011_509_1 + 0.02 + 0.119_787_1)).abs() < 1e-6, "{found}");
    // Unequal shares: n = 200,000, ρ = 0.25, α = 0.8, m = 5,000, |Q| = 300, f = 0.02, β = 0.1, T = 400.
    let other = ReweightingBound {
        records: 200_000,
        rho: Rho::from_f64(0.25).unwrap(),
        measure_share: 0.8,
        public_records: 5_000,
        queries: 300,
        mixture_error: 0.02,
        failure: 0.1,
    };
    // B = 1e-5 √1000 ln(2.4e6) = 1e-5 · 31.622777 · 14.690979 = 0.0046457; N = 5e-6 √(400 ln(16,000)/0.2) = 0.0006957;
    // √(4 · 8.517193/400 + 0.0206957²) = √0.08560024 = 0.2925752.
    let found = other.error(400).unwrap();
    assert!((found - (0.004_645_7 + 0.02 + 0.292_575_2)).abs() < 1e-6, "{found}");
}

#[test]
fn a_bound_above_one_says_nothing_and_is_one() {
    let few = ReweightingBound { records: 10, ..bound() };
    let said = [bound().error(1).unwrap(), few.best().unwrap().1];
    assert!(said.iter().all(|bound| (bound - 1.0).abs() < 1e-15), "{said:?}");
}

#[test]
fn the_best_number_of_rounds_has_the_least_bound_and_more_of_everything_helps() {
    let (rounds, error) = bound().best().unwrap();
    for other in [rounds / 2, rounds - 1, rounds + 1, 2 * rounds] {
        assert!(bound().error(other).unwrap() >= error, "{other}");
    }
    let best = |bound: ReweightingBound| bound.best().unwrap().1;
    assert!(best(ReweightingBound { records: 1_000_000, ..bound() }) < error);
    assert!(best(ReweightingBound { rho: Rho::from_f64(5.0).unwrap(), ..bound() }) < error);
    assert!(best(ReweightingBound { queries: 100, ..bound() }) < error);
    // A larger support costs its logarithm; it pays by a smaller mixture error.
    assert!(best(ReweightingBound { public_records: 10_000, ..bound() }) > error);
    let far = best(ReweightingBound { mixture_error: 0.1, ..bound() });
    assert!(far > error + 0.1 && far < 2.0 * 0.1 + error + 0.1, "{far}");
}

/// The bound on runs of the very algorithm, with true noise: it must hold in at least 1 − β of them.
#[test]
fn the_bound_holds_for_runs_of_the_published_algorithm() {
    use rand::rngs::ChaCha20Rng;
    use rand::{RngExt, SeedableRng};
    use rand_distr::{Distribution, Normal};
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let (public, queries, rounds) = (20_usize, 40_usize, 400_u32);
    let setting = ReweightingBound {
        records: 50_000,
        rho: Rho::from_f64(2.0).unwrap(),
        public_records: public as u64,
        queries: queries as u64,
        ..bound()
    };
    let normal: Normal<f64> = Normal::new(0.0, 1.0).unwrap();
    let n = setting.records as f64;
    let rho = setting.rho.to_f64() / f64::from(rounds);
    let (stddev, epsilon) = ((1.0 / (2.0 * 0.5 * rho)).sqrt(), (8.0 * 0.5 * rho).sqrt());
    let mut worst = 0.0_f64;
    for _ in 0..10 {
        // Queries of random records; the private table is a weighting of them, so that f = 0.
        let query: Vec<Vec<f64>> = (0..queries)
            .map(|_| (0..public).map(|_| f64::from(u8::from(rng.random_bool(0.4)))).collect())
            .collect();
        let raw: Vec<f64> = (0..public).map(|_| rng.random::<f64>().powi(4)).collect();
        let sum: f64 = raw.iter().sum();
        let answer = |q: &[f64], p: &[f64]| q.iter().zip(p).map(|(q, p)| q * p).sum::<f64>();
        let truth: Vec<f64> = query.iter().map(|q| answer(q, &raw) / sum).collect();
        let mut weights = vec![1.0 / public as f64; public];
        let mut mean = vec![0.0; public];
        for _ in 0..rounds {
            mean.iter_mut().zip(&weights).for_each(|(m, w)| *m += w / f64::from(rounds));
            let off = |i: usize| n * (truth[i] - answer(&query[i], &weights)).abs();
            // The exponential mechanism by the largest of scores with Gumbel noise.
            let gumbel = |rng: &mut ChaCha20Rng| -(-rng.random::<f64>().max(1e-300).ln()).ln();
            let noisy: Vec<f64> =
                (0..queries).map(|i| epsilon * off(i) / 2.0 + gumbel(&mut rng)).collect();
            let chosen = (0..queries).max_by(|a, b| noisy[*a].total_cmp(&noisy[*b])).unwrap();
            let noise = stddev / n * normal.sample(&mut rng);
            let a = (truth[chosen] + noise).clamp(0.0, 1.0);
            let eta = (a - answer(&query[chosen], &weights)) / 2.0;
            weights.iter_mut().zip(&query[chosen]).for_each(|(w, q)| *w *= (eta * q).exp());
            let sum: f64 = weights.iter().sum();
            weights.iter_mut().for_each(|w| *w /= sum);
        }
        let error = |i: usize| (truth[i] - answer(&query[i], &mean)).abs();
        worst = worst.max((0..queries).map(error).fold(0.0, f64::max));
    }
    let bound = setting.error(rounds).unwrap();
    assert!(worst < bound && bound < 0.3, "{worst} against {bound}");
}

#[test]
fn public_records_suffice_by_hoeffding_and_by_rejection() {
    // ln(40,000)/(2e-4) = 52,983.2.
    assert_eq!(sufficient_public_records(1_000, 0.01, 0.05, 1.0).unwrap(), 52_984);
    // ln(80)/(0.02) = 219.1.
    assert_eq!(sufficient_public_records(4, 0.1, 0.1, 1.0).unwrap(), 220);
    // κ = 4: m₀ = ⌈ln(80,000)/(2e-4)⌉ = 56,449, l = ln 40 = 3.688879,
    // ((√7.377759 + √(7.377759 + 225,796))/2)² = 57,098.04, times 4.
    assert_eq!(sufficient_public_records(1_000, 0.01, 0.05, 4.0).unwrap(), 228_393);
}

#[test]
fn numbers_out_of_range_are_refused_by_name() {
    for (wrong, name) in [
        (ReweightingBound { records: 0, ..bound() }, "records is 0"),
        (ReweightingBound { public_records: 0, ..bound() }, "public records is 0"),
        (ReweightingBound { queries: 0, ..bound() }, "queries is 0"),
        (ReweightingBound { measure_share: 1.0, ..bound() }, "measure share is 1"),
        (ReweightingBound { failure: 0.0, ..bound() }, "failure is 0"),
        (ReweightingBound { mixture_error: f64::NAN, ..bound() }, "mixture error is NaN"),
        (ReweightingBound { mixture_error: 1.5, ..bound() }, "mixture error is 1.5"),
        (ReweightingBound { rho: Rho::ZERO, ..bound() }, "rho is 0"),
    ] {
        let message = wrong.best().unwrap_err().to_string();
        assert!(message.contains(name), "{message}");
        assert_eq!(wrong.error(3).unwrap_err().to_string(), message);
    }
    assert!(bound().error(0).unwrap_err().to_string().contains("rounds is 0"));
    for (queries, error, failure, ratio) in [
        (0, 0.1, 0.1, 1.0),
        (1, 0.0, 0.1, 1.0),
        (1, 0.1, 1.0, 1.0),
        (1, 0.1, 0.1, 0.5),
        (1, 0.1, 0.1, f64::INFINITY),
        (1, 1e-9, 0.1, 1.0),
    ] {
        assert!(sufficient_public_records(queries, error, failure, ratio).is_err());
    }
}
