use super::*;

#[test]
fn pairs_that_connect_nothing_new_are_not_counted() {
    let pair = |i, j| Clique::new([i, j]);
    let mut components = Components::of_singles(5);
    assert_eq!(components.join_all(&[pair(0, 1), pair(2, 3), pair(0, 1), pair(1, 3)]), 3);
    assert!(!components.are_apart(&pair(0, 2)) && components.are_apart(&pair(3, 4)));
    assert!(!components.join(&pair(1, 2)) && components.join(&pair(0, 4)));
}

#[test]
fn any_tree_of_the_pairs_stays_within_the_size_limit() {
    let domain = Domain::new([("a", 100), ("b", 100), ("c", 3), ("d", 2)]).unwrap();
    let limit = graph::size_mib(1200);
    let pairs = pairs_within(&domain, limit);
    assert_eq!(pairs.len(), 5, "all but a x b");
    let largest = [Clique::new([0, 2]), Clique::new([1, 2]), Clique::new([0, 3])];
    assert!(graph::size_mib(JunctionTree::new(&domain, &largest).cells()) <= limit);
    assert!(pairs_within(&domain, graph::size_mib(205)).is_empty());
}
