use super::*;

#[test]
fn weights_count_the_attributes_shared_with_the_workload() {
    let domain = Domain::new([("a", 2), ("b", 2), ("c", 2), ("d", 2)]).unwrap();
    let text = r#"[{"clique": ["a", "b", "c"], "weight": 2.0}, ["c", "d"], ["a", "d"]]"#;
    let workload = Workload::from_text(text, "w", &domain).unwrap();
    let cliques = workload.downward_closure();
    let found = relevance(&workload, &cliques, &domain);
    for (r, weight) in cliques.iter().zip(found) {
        let overlap = |s: &Clique| s.iter().filter(|a| r.iter().any(|b| b == *a)).count();
        let all = workload.weighted_cliques().iter();
        let expected: f64 = all.map(|s| s.weight * overlap(&s.clique) as f64).sum();
        assert!((weight - expected).abs() < 1e-12, "{r}: {weight}, expected {expected}");
    }
}

#[test]
fn the_gain_grows_by_less_than_the_error() {
    for noise in [0.0, 1e-9, 1.0, 37.5, 1e9] {
        for error in [0.0, 1e-12, 0.5, 30.0, 1e4, 1e9] {
            let gain = Gain::Shrunk.of(error, noise);
            // Without the cancellation: e (1 - a/h) = e³ / (h (h + a)).
            let both = (error * error + noise * noise).sqrt().max(f64::MIN_POSITIVE);
            let exact = error * (error / (both + noise)) * (error / both);
            assert!(gain >= 0.0 && gain <= error);
            assert!((gain - exact).abs() <= 1e-15 * error, "{error} {noise}");
            for change in [1.0, 2.0, 32.0] {
                let moved = Gain::Shrunk.of(error + change, noise) - gain;
                assert!(moved >= 0.0 && moved <= change * (1.0 + 1e-6), "{error} {noise} {moved}");
            }
        }
    }
    assert!((Gain::AboveNoise.of(5.0, 7.0) + 2.0).abs() < 1e-12);
}
