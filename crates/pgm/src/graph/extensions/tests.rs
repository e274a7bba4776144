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
            let mut scratch = Scratch::default();
            for clique in random_cliques(16, 20, 1000 + seed) {
                let mut all = measured.clone();
                all.push(clique.clone());
                let expected = JunctionTree::new(&domain, &all).cells() <= limit;
                assert_eq!(extensions.allow(&clique, &mut scratch), expected);
                *(if expected { &mut allowed } else { &mut refused }) += 1;
            }
        }
    }
    assert!(allowed > 500 && refused > 500, "{allowed} allowed, {refused} refused");
}

#[test]
fn a_clique_joins_where_it_and_all_of_its_pairs_may() {
    let domain = domain(16);
    let (mut allowed, mut refused, mut by_pairs) = (0, 0, 0);
    for seed in 0..60 {
        let measured = random_cliques(16, usize::try_from(seed).expect("small") / 3, seed);
        let tree = JunctionTree::new(&domain, &measured);
        for limit in [tree.cells() + 20, tree.cells() + 200, 2 * tree.cells()] {
            let extensions = Extensions::new(&domain, &measured, limit);
            let mut scratch = Scratch::default();
            let cliques = random_cliques(16, 20, 1000 + seed);
            let found = extensions.allowed(&tree, &cliques);
            for (clique, found) in cliques.iter().zip(found) {
                let mut may = |clique: &Clique| extensions.allow(clique, &mut scratch);
                let alone = may(clique);
                let pairs = pairs(clique).all(|(a, b)| may(&Clique::new([a, b])));
                assert_eq!(found, tree.host(clique).is_some() || (alone && pairs));
                assert!(!found || alone, "what joins is within the limit");
                *(if found { &mut allowed } else { &mut refused }) += 1;
                by_pairs += usize::from(!alone && !pairs);
            }
        }
    }
    assert!(allowed > 500 && refused > 500 && by_pairs > 100, "{allowed}, {refused}, {by_pairs}");
}
