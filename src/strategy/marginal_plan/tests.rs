use super::*;

#[test]
fn the_optimum_is_certified_and_no_random_weights_are_better() {
    let domain = Domain::new([("a", 2), ("b", 3), ("c", 7), ("d", 1), ("e", 20)]).unwrap();
    let workload = Workload::all_k_way(&domain, 2).unwrap();
    let needed = needed(&domain, &workload);
    for widest in [0, 3] {
        let candidates = candidates(&needed, widest).unwrap();
        assert_eq!(candidates.len(), if widest == 0 { 11 } else { 15 });
        let problem = Problem::new(&domain, &workload, &needed, &candidates);
        let theta = Array1::from(problem.solve().unwrap());
        let least = problem.value(&theta);
        let (slope, _) = problem.derivatives(&theta);
        assert!(slope.iter().all(|s| -s <= least * (1.0 + 2.0 * GAP)));
        for b in 0..candidates.len() {
            let mut other = &theta * 0.99;
            other[b] += 0.01;
            assert!(problem.value(&other) >= least * (1.0 - 2.0 * GAP));
        }
    }
}

#[test]
fn a_budget_is_split_to_the_last_unit() {
    let shares: Vec<(Clique, f64)> =
        (0..7).map(|i| (Clique::new([i]), 1.0 / (i + 1) as f64)).collect();
    let parts = split(Rho::from_units(1_000_003), shares).unwrap();
    assert_eq!(parts.iter().map(|(_, rho)| rho.units()).sum::<u64>(), 1_000_003);
    assert!(
        split(Rho::from_units(3), vec![(Clique::default(), 1e-9), (Clique::new([0]), 1.0)])
            .is_err()
    );
}
