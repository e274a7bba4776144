use super::*;

#[test]
fn single_attributes_come_first_and_then_the_most_dependent_pairs() {
    let domain = Domain::new([("a", 2), ("b", 2), ("c", 3)]).unwrap();
    let rows: Vec<[u32; 3]> = (0..12).map(|i| [i % 2, i % 2, i / 4]).collect();
    let rows = Dataset::from_rows(domain, &rows).unwrap();
    let prior = WeightedSupport::new(&rows, vec![1.0; 12], 12.0).unwrap();
    let candidates = Candidates::new(&prior, 100, 2).unwrap();
    let [a, b, c] = [0, 1, 2].map(|a| Clique::new([a]));
    let pair = Clique::new([0, 1]);
    assert_eq!(candidates.choose(4, |_| 100.0), [a.clone(), b.clone(), c, pair.clone()]);
    assert_eq!(candidates.choose(3, |_| 2.0), [a.clone(), b.clone()]);
    // With fewer cliques, each gets more of the budget.
    assert_eq!(candidates.choose(9, |n| 6.0 / n as f64), [a, b]);
    assert!(candidates.choose(5, |_| 1.0).is_empty());
    let found = mutual_information(prior.rows(), prior.weights(), &[pair, Clique::new([0, 2])]);
    let found = found.unwrap();
    assert!((found[0] - 2_f64.ln()).abs() < 1e-12 && found[1].abs() < 1e-12, "{found:?}");
}

/// a, b, c and d follow one hidden coin, d with more noise than the others; e is independent.
fn of_a_coin() -> WeightedSupport {
    let domain = Domain::new([("a", 2), ("b", 2), ("c", 2), ("d", 2), ("e", 2)]).unwrap();
    let rows: Vec<[u32; 5]> = (0..800_u32)
        .map(|i| {
            let coin = i % 2;
            let flip = |every: u32| u32::from((i / 2) % every == 0);
            [coin, coin ^ flip(16), coin ^ flip(12), coin ^ flip(5), i / 2 % 2]
        })
        .collect();
    let rows = Dataset::from_rows(domain, &rows).unwrap();
    WeightedSupport::new(&rows, vec![1.0; 800], 800.0).unwrap()
}

#[test]
fn cliques_of_the_most_dependent_pairs_take_the_place_of_pairs() {
    let prior = of_a_coin();
    let cliques = |widest: usize, most: usize, cells: f64| {
        let candidates = Candidates::new(&prior, 100, widest).unwrap();
        candidates.choose(most, |_| cells)
    };
    let singles: Vec<Clique> = (0..5).map(|a| Clique::new([a])).collect();
    let triple = Clique::new([0, 1, 2]);
    assert_eq!(cliques(1, 9, 100.0), singles);
    // Six of ten pairs are among the four attributes of the coin; one clique has them all.
    let with = |wider: &[Clique]| [&singles[..], wider].concat();
    assert_eq!(cliques(4, 6, 100.0), with(&[Clique::new([0, 1, 2, 3])]));
    // Wide enough for three only: the six edges would be the four's, so one of them is left out for another pair.
    let of_three = cliques(3, 6, 100.0);
    assert_eq!(of_three, with(std::slice::from_ref(&triple)));
    // Cells that are not worth their noise keep the graph to pairs.
    let pairs = cliques(3, 7, 4.0);
    assert_eq!(pairs.len(), 7);
    assert!(pairs[5..].iter().all(|pair| pair.len() == 2), "{pairs:?}");
    // More marginals go before wider ones: nine can be worth their noise as pairs, six as a clique of three.
    let candidates = Candidates::new(&prior, 100, 3).unwrap();
    let shared = |most| candidates.choose(most, |number| 48.0 / number as f64);
    assert_eq!(shared(6), with(&[triple]));
    assert!(shared(9).len() == 9 && shared(9).iter().all(|clique| clique.len() < 3));
    assert!(candidates.choose(9, |_| 1.0).is_empty());
}

#[test]
fn an_edge_joins_the_cliques_of_its_ends_and_a_graph_of_any_order_is_the_same() {
    // Brute force: all subsets of seven attributes whose pairs are all edges.
    let edges: Vec<Clique> =
        [[0, 1], [1, 2], [0, 2], [2, 3], [3, 4], [2, 4], [0, 3], [1, 3], [5, 6]]
            .map(Clique::new)
            .to_vec();
    let everything = Clique::new(0..7);
    let is_clique = |clique: &Clique| {
        clique.subsets().iter().filter(|pair| pair.len() == 2).all(|pair| edges.contains(pair))
    };
    let all: Vec<Clique> = everything.subsets().into_iter().filter(is_clique).collect();
    let is_maximal = |clique: &&Clique| {
        !clique.is_empty() && !all.iter().any(|other| other != *clique && clique.is_subset(other))
    };
    let mut expected: Vec<Clique> = all.iter().filter(is_maximal).cloned().collect();
    expected.sort();
    for rotation in 0..edges.len() {
        let mut maximal: Vec<Clique> = (0..7).map(|a| Clique::new([a])).collect();
        for edge in edges.iter().cycle().skip(rotation).take(edges.len()) {
            let made = joined(&maximal, edge);
            maximal.retain(|old| !made.iter().any(|clique| old.is_subset(clique)));
            maximal.extend(made);
        }
        maximal.sort();
        assert_eq!(maximal, expected, "{rotation}");
    }
}
