use super::*;

#[test]
fn the_cliques_that_hold_an_attribute_are_connected() {
    let domain = Domain::new((0..10).map(|i| (format!("x{i}"), 2 + i % 3))).expect("a domain");
    let cliques =
        [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6, 7, 0], [1, 8, 3], [9, 9, 5]].map(Clique::new);
    let tree = JunctionTree::new(&domain, &cliques);
    for clique in &cliques {
        assert!(tree.host(clique).is_some());
    }
    for attribute in 0..10 {
        let nodes = tree.rooted();
        let holding: Vec<&RootedNode> =
            nodes.iter().filter(|n| tree.maximal_cliques()[n.clique].contains(attribute)).collect();
        let tops = holding.iter().filter(|n| !n.separator.contains(attribute)).count();
        assert_eq!(tops, 1, "attribute {attribute} has one topmost clique");
    }
}
