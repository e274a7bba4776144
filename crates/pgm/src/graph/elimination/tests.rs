use super::*;
use crate::graph::attribute_set::Words;
use crate::graph::tests::{domain, random_cliques};

#[test]
fn costs_kept_up_to_date_equal_costs_made_anew() {
    let domain = domain(14);
    for seed in 0..50 {
        let graph: MoralGraph<Words<1>> = MoralGraph::new(&domain, &random_cliques(14, 12, seed));
        for heuristic in [EliminationHeuristic::MinFill, EliminationHeuristic::MinWeight] {
            let mut elimination = Elimination::default();
            elimination.begin(&graph, heuristic);
            while elimination.step(&graph).is_some() {
                let remaining = elimination.remaining();
                for a in remaining.left().iter() {
                    assert_eq!(remaining.costs[a], remaining.cost(&graph, a));
                }
            }
        }
    }
}

#[test]
fn each_step_takes_the_first_cheapest_attribute_and_keeps_what_no_earlier_clique_contains() {
    // Products of five of the large attributes do not fit.
    let sizes = [2, 30_000, 5_000].into_iter().cycle().take(14);
    let large = Domain::new(sizes.enumerate().map(|(i, n)| (format!("a{i}"), n))).unwrap();
    for (domain, cliques) in [(domain(14), 12), (large, 40)] {
        for seed in 0..30 {
            let graph: MoralGraph<Words<1>> =
                MoralGraph::new(&domain, &random_cliques(14, cliques, seed));
            for heuristic in [EliminationHeuristic::MinFill, EliminationHeuristic::MinWeight] {
                let mut elimination = Elimination::default();
                elimination.begin(&graph, heuristic);
                let mut maximal: Vec<Words<1>> = Vec::new();
                loop {
                    let remaining = elimination.remaining();
                    let left = remaining.left().iter();
                    let cheapest = left.min_by_key(|a| remaining.cost(&graph, *a));
                    assert_eq!(elimination.step(&graph), cheapest);
                    if cheapest.is_none() {
                        break;
                    }
                    let clique = *elimination.clique();
                    if !maximal.iter().any(|earlier| clique.is_subset(earlier)) {
                        maximal.push(clique);
                    }
                }
                let kept: Vec<Words<1>> =
                    elimination.maximal().iter().map(|kept| kept.attributes).collect();
                assert_eq!(kept, maximal);
            }
        }
    }
}
