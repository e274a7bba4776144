use super::*;

fn domain() -> Domain {
    Domain::new([("a", 2), ("b", 3), ("c", 2)]).unwrap()
}

#[test]
fn combinations_of_the_same_attributes_share_a_table_whatever_their_order() {
    let rules = [
        vec![("b", vec![2]), ("a", vec![0])],
        vec![("a", vec![1]), ("b", vec![0, 1])],
        vec![("c", vec![1])],
    ];
    let domain = domain().forbid(rules).unwrap();
    let zeros = domain.structural_zeros();
    assert_eq!(zeros.len(), 2);
    assert_eq!(zeros[0].clique(), &Clique::new([0, 1]));
    assert_eq!(zeros[0].forbidden(), [false, false, true, true, true, false]);
    assert_eq!(zeros[1].forbidden(), [false, true]);
    assert!(zeros[0].forbids(&domain, |a| [0, 2, 0][a]));
    assert!(!zeros[0].forbids(&domain, |a| [1, 2, 0][a]));
}

#[test]
fn bad_combinations_are_refused() {
    let refused = |rule: Vec<(&str, Vec<u32>)>| domain().forbid([rule]).unwrap_err().to_string();
    assert!(refused(vec![("a", vec![0]), ("x", vec![0])]).contains("'x'"));
    assert!(refused(vec![("a", vec![2])]).contains("code 2 of 'a'"));
    assert!(refused(vec![]).contains("no attribute"));
    assert_eq!(domain().forbid([vec![("a", vec![])]]).unwrap(), domain());
}
