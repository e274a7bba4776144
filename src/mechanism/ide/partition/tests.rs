use super::*;

#[test]
fn sizes_are_made_to_add_up_and_none_is_negative() {
    assert_eq!(consistent_sizes(&[-3.0, 10.0, 30.0], Some(80.0)), [0.0, 20.0, 60.0]);
    assert_eq!(consistent_sizes(&[-3.0, 10.0], None), [0.0, 10.0]);
    assert_eq!(consistent_sizes(&[-3.0, -1.0], Some(5.0)), [2.5, 2.5]);
    assert_eq!(consistent_sizes(&[-3.0, -1.0], None), [0.5, 0.5]);
}

#[test]
fn a_group_finds_its_cells_wherever_its_attributes_are() {
    let domain = Domain::new([("x", 2), ("puma", 3), ("y", 2), ("state", 2)]).unwrap();
    let partition = Partition::new(&domain, &["state".into(), "puma".into()]).unwrap();
    // Each cell's value encodes its position: x, puma, y, state as digits.
    let table: Vec<f64> = (0..24)
        .map(|i: u32| f64::from(1000 * (i / 12) + 100 * (i / 4 % 3) + 10 * (i / 2 % 2) + i % 2))
        .collect();
    let both = Clique::new([0, 2]);
    let found = partition.slice(&domain, &table, &[1, 2], &both);
    assert_eq!(found, [201.0, 211.0, 1201.0, 1211.0]);
    let groups = vec![Group { codes: vec![], size: 9.0, weights: Arc::new(vec![1.0]) }];
    let states: Vec<Group> =
        partition.children(&domain, 1, &groups).into_iter().map(|(_, g)| g).collect();
    assert_eq!(states.len(), 2);
    let all = partition.children(&domain, 2, &states);
    assert_eq!((all.len(), all[4].0, &all[4].1.codes), (6, 1, &vec![1, 1]));
}

#[test]
fn forbidden_groups_are_none_and_mixed_rules_are_refused() {
    let domain = || Domain::new([("x", 2), ("puma", 2), ("state", 2)]).unwrap();
    let names = ["state".to_owned(), "puma".to_owned()];
    let rule = vec![("puma", vec![0]), ("state", vec![1])];
    let ruled = domain().forbid([rule]).unwrap();
    let partition = Partition::new(&ruled, &names).unwrap();
    let root = vec![Group { codes: vec![], size: 1.0, weights: Arc::new(vec![1.0]) }];
    let states: Vec<Group> =
        partition.children(&ruled, 1, &root).into_iter().map(|(_, g)| g).collect();
    assert_eq!(partition.children(&ruled, 2, &states).len(), 3);
    assert_eq!((partition.number(&ruled, 1), partition.number(&ruled, 2)), (2, 3));
    assert_eq!(partition.number(&domain(), 2), 4);
    let mixed = domain().forbid([vec![("x", vec![0]), ("state", vec![1])]]).unwrap();
    assert!(Partition::new(&mixed, &names).is_err());
}
