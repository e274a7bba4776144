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
fn cliques_join_in_the_tree_or_where_they_may() {
    let domain = domain(16);
    let (mut joined, mut refused, mut without_a_pair) = (0, 0, 0);
    for seed in 0..60 {
        let measured = random_cliques(16, usize::try_from(seed).expect("small") / 3, seed);
        let tree = JunctionTree::new(&domain, &measured);
        for limit in [tree.cells() + 20, tree.cells() + 200, 2 * tree.cells()] {
            let extensions = Extensions::new(&domain, &measured, limit);
            let cliques = random_cliques(16, 20, 1000 + seed);
            for (clique, found) in cliques.iter().zip(extensions.allowed(&tree, &cliques)) {
                assert_eq!(found, tree.host(clique).is_some() || extensions.allow(clique));
                *(if found { &mut joined } else { &mut refused }) += 1;
                let pairs = clique.iter().flat_map(|a| clique.iter().map(move |b| (a, b)));
                let mut pairs = pairs.filter(|(a, b)| a < b).map(|(a, b)| Clique::new([a, b]));
                without_a_pair += usize::from(found && pairs.any(|pair| !extensions.allow(&pair)));
            }
        }
    }
    assert!(joined > 500 && refused > 500, "{joined} joined, {refused} refused");
    assert!(without_a_pair > 0, "greedy orders find models for cliques and not for their pairs");
}
