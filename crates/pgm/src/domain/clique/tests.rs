use super::*;

#[test]
fn subsets_of_a_triple_are_its_seven_non_empty_subsets() {
    let subsets = Clique::new([0, 2, 5]).subsets();
    assert_eq!(subsets.len(), 7);
    assert!(subsets.contains(&Clique::new([0, 5])));
    assert!(subsets.iter().all(|s| s.is_subset(&Clique::new([0, 2, 5]))));
}

#[test]
fn set_operations_keep_the_order() {
    let (a, b) = (Clique::new([3, 1]), Clique::new([3, 2]));
    assert_eq!(a.union(&b), Clique::new([1, 2, 3]));
    assert_eq!(a.intersection(&b), Clique::new([3]));
    assert_eq!(a.difference(&b), Clique::new([1]));
    assert!(!a.is_subset(&b));
}
