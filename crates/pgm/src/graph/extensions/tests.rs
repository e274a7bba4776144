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
