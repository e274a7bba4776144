use super::*;
use crate::graph::JunctionTree;

fn domain(cardinalities: &[u32]) -> Domain {
    Domain::new(cardinalities.iter().enumerate().map(|(i, k)| (format!("x{i}"), *k)))
        .expect("a domain")
}

#[test]
fn a_cycle_of_four_is_cut_where_the_tables_are_small() {
    let domain = domain(&[10, 2, 10, 2]);
    let cycle = [[0, 1], [1, 2], [2, 3], [0, 3]].map(Clique::new);
    let triangulation = Triangulation::new(&domain, &cycle);
    // The chord {1, 3} makes two triangles of 40 cells; {0, 2} would make two of 200.
    assert_eq!(triangulation.cells, 80);
    assert_eq!(triangulation.maximal_cliques, [Clique::new([0, 1, 3]), Clique::new([1, 2, 3])]);
}

#[test]
fn free_attributes_are_cliques_of_their_own() {
    let triangulation = Triangulation::new(&domain(&[3, 4, 5]), &[Clique::new([0, 1])]);
    assert_eq!(triangulation.cells, 12 + 5);
    assert_eq!(triangulation.parents()[&2], Clique::default());
}

#[test]
fn sizes_that_do_not_fit_saturate_and_are_never_tractable() {
    let domain = domain(&[1 << 24; 12]);
    let all = [Clique::new(0..12)];
    assert_eq!(Triangulation::new(&domain, &all).cells, u64::MAX);
    assert!(!JunctionTree::is_tractable(&domain, &all, u64::MAX - 1));
}
