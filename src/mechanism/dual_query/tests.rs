use super::*;

#[test]
fn the_queries_of_a_round_grow_with_the_rounds_and_the_rounds_with_the_budget() {
    let usual = DualQuery::default();
    let mut last = (0, 0);
    for (rho, records) in
        [(1e-4, 1e3), (0.01, 1e3), (0.01, 1e5), (0.1, 1e5), (1.0, 1e5), (1.0, 1e6)]
    {
        let rounds = usual.rounds(Rho::from_f64(rho).unwrap(), records);
        let samples = usual.samples(rounds);
        assert_eq!(samples, (rounds / 5).max(10));
        // s T³ is the cost, but for rounding, or T the least there may be.
        let cost = 6.0 * rho * records * records / 4.0;
        let of = |t: f64| (t / 5.0).max(10.0) * t.powi(3);
        assert!(of(f64::from(rounds)) <= cost || rounds == 2, "{rounds} rounds for {cost}");
        assert!(of(f64::from(rounds) + 1.0) > cost, "{rounds} rounds for {cost}");
        assert!((rounds, samples) >= last);
        last = (rounds, samples);
    }
    assert!(last.1 > 100, "{last:?}");
    assert_eq!(usual.samples(100_000), MAX_SAMPLES, "the most rounds that may be given");
    let given = DualQuery { samples: Some(50), ..usual };
    let rounds = given.rounds(Rho::from_f64(1.0).unwrap(), 1e6);
    assert_eq!((rounds, given.samples(rounds)), (3_107, 50));
}
