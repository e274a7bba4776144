use super::*;
use crate::graph::JunctionTree;
use crate::graph::tests::{domain, random_cliques};

#[test]
fn a_clique_may_join_where_the_model_of_all_cliques_is_within_the_limit() {
    let domain = domain(16);
    let (mut allowed, mut refused) = (0, 0);
    for seed in 0..60 {
        let measured = random_cliques(16, usize::try_from(seed).expect("small") / 3, seed);
        let cells = JunctionTree::new(&domain, &measured).cells();
        for limit in [cells, cells + 20, cells + 200, 2 * cells] {
            let extensions = Extensions::new(&domain, &measured, limit);
            for clique in random_cliques(16, 20, 1000 + seed) {
                let mut all = measured.clone();
                all.push(clique.clone());
                let expected = JunctionTree::new(&domain, &all).cells() <= limit;
                assert_eq!(extensions.allow(&clique), expected);
                *(if expected { &mut allowed } else { &mut refused }) += 1;
            }
        }
    }
    assert!(allowed > 500 && refused > 500, "{allowed} allowed, {refused} refused");
}

#[test]
fn a_clique_joins_where_it_may_unless_one_of_its_pairs_is_far_from_it() {
    let domain = domain(16);
    let (mut joined, mut refused, mut without_a_pair) = (0, 0, 0);
    for seed in 0..60 {
        let measured = random_cliques(16, usize::try_from(seed).expect("small") / 3, seed);
        let tree = JunctionTree::new(&domain, &measured);
        for limit in [tree.cells() + 20, tree.cells() + 200, 2 * tree.cells()] {
            let extensions = Extensions::new(&domain, &measured, limit);
            let wide = Extensions::new(&domain, &measured, FAR * limit);
            let cliques = random_cliques(16, 20, 1000 + seed);
            for (clique, found) in cliques.iter().zip(extensions.allowed(&tree, &cliques)) {
                let all_in = |extensions: &Extensions| {
                    pairs(clique).all(|(a, b)| extensions.allow(&Clique::new([a, b])))
                };
                let (alone, is_near) =
                    (extensions.allow(clique), clique.len() < 3 || all_in(&wide));
                assert_eq!(found, tree.host(clique).is_some() || (alone && is_near));
                *(if found { &mut joined } else { &mut refused }) += 1;
                without_a_pair += usize::from(found && !all_in(&extensions));
            }
        }
    }
    assert!(joined > 500 && refused > 500, "{joined} joined, {refused} refused");
    assert!(without_a_pair > 0, "greedy orders find models for cliques and not for their pairs");
}

#[test]
fn a_pair_that_closes_a_long_cycle_is_far() {
    let domain = Domain::new((0..16).map(|i| (format!("x{i}"), 30))).expect("a domain");
    let chain: Vec<Clique> = (0..15).map(|i| Clique::new([i, i + 1])).collect();
    let tree = JunctionTree::new(&domain, &chain);
    let limit = tree.cells() + 100;
    let asked = [Clique::new([0, 1]), Clique::new([0, 8, 9]), Clique::new([0, 8])];
    let allowed = Extensions::new(&domain, &chain, limit).allowed(&tree, &asked);
    assert_eq!(allowed, [true, false, false]);
    // The cycle of nine needs seven tables of 27,000 cells.
    assert!(!Extensions::new(&domain, &chain, FAR * limit).allow(&asked[2]));
}

/// Attributes of very different sizes, which min-fill does not see.
#[test]
fn counts_beyond_what_is_enough_never_hide_a_model_that_is_small_enough() {
    let domain =
        Domain::new((0..16).map(|i| (format!("x{i}"), [2, 3, 60, 5][i % 4]))).expect("a domain");
    let (mut within, mut by_weight_alone) = (0, 0);
    for seed in 0..60 {
        let measured = random_cliques(16, 4 + usize::try_from(seed).expect("small") / 6, seed);
        let tree = JunctionTree::new(&domain, &measured);
        let enough = 2 * tree.cells();
        let extensions = Extensions::new(&domain, &measured, 4 * enough);
        let cliques = random_cliques(16, 20, 1000 + seed);
        let found = extensions.cells_with(&tree, &cliques, enough);
        let of_first = extensions.cells_with(&tree, &cliques, 4 * enough);
        for ((clique, found), of_first) in cliques.iter().zip(found).zip(of_first) {
            let mut all = measured.clone();
            all.push(clique.clone());
            let cells = JunctionTree::new(&domain, &all).cells();
            if clique.len() < 3 {
                assert_eq!(found <= enough, cells <= enough);
            }
            assert!(found > enough || cells <= enough);
            within += usize::from(found <= enough);
            by_weight_alone += usize::from(found <= enough && of_first > enough);
        }
    }
    assert!(within > 100 && by_weight_alone > 0, "{within}, {by_weight_alone} by min-weight alone");
}
