use super::*;

fn domain(sizes: [(&str, u32); 2]) -> Domain {
    Domain::new(sizes).unwrap()
}

#[test]
fn what_does_not_lead_from_one_domain_to_the_other_is_refused() {
    let (from, to) = (domain([("a", 3), ("b", 2)]), domain([("a", 2), ("b", 2)]));
    let new = |to: &Domain, codes| Recoding::new(from.clone(), to.clone(), codes);
    assert!(new(&to, vec![Some(vec![0, 0, 1]), None]).is_ok());
    for codes in [
        vec![None, None],
        vec![Some(vec![0, 1]), None],
        vec![Some(vec![0, 1, 2]), None],
        vec![Some(vec![0, 0, 1])],
    ] {
        assert!(new(&to, codes).is_err());
    }
    assert!(new(&domain([("c", 2), ("b", 2)]), vec![Some(vec![0, 0, 1]), None]).is_err());
}

#[test]
fn a_table_may_lack_attributes_and_have_others_but_not_other_values() {
    let (from, to) = (domain([("a", 3), ("b", 2)]), domain([("a", 2), ("b", 2)]));
    let recoding = Recoding::new(from, to, vec![Some(vec![1, 0, 0]), None]).unwrap();
    let table = Dataset::from_rows(domain([("x", 9), ("a", 3)]), &[[8, 0], [7, 2]]).unwrap();
    let recoded = table.recoded(&recoding).unwrap();
    let expected = Dataset::from_rows(domain([("x", 9), ("a", 2)]), &[[8, 1], [7, 0]]).unwrap();
    assert_eq!(recoded, expected);
    let other = Dataset::from_rows(domain([("x", 9), ("a", 4)]), &[[8, 0]]).unwrap();
    assert!(other.recoded(&recoding).is_err());
}
