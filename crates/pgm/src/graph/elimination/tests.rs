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
