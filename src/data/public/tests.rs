use super::*;

#[test]
fn permuted_and_missing_columns_give_the_layout_of_the_private_domain() {
    let private = Domain::new([("a", 2), ("b", 3), ("c", 4), ("d", 5)]).unwrap();
    let public = Domain::new([("d", 5), ("extra", 9), ("a", 2), ("c", 4)]).unwrap();
    let rows = [[4, 8, 1, 3], [4, 0, 1, 3], [0, 0, 0, 2]];
    let table = Dataset::from_rows(public, &rows).unwrap();
    let public = PublicData::new("p", table, &private).unwrap();
    assert_eq!((public.records(), public.attributes()), (3, Clique::new([0, 2, 3])));
    let clique = Clique::new([0, 2, 3]);
    assert!(public.covers(&clique) && !public.covers(&Clique::new([0, 1])));
    assert!(!public.covers(&Clique::new([9])));
    let in_private_order: Vec<Vec<u32>> =
        rows.iter().map(|[d, _, a, c]| vec![*a, 0, *c, *d]).collect();
    let reference = Dataset::from_rows(private, &in_private_order).unwrap();
    let cliques = [clique, Clique::new([0, 3]), Clique::new([2])];
    assert_eq!(public.project_many(&cliques).unwrap(), reference.project_many(&cliques).unwrap());
    let error = public.project_many(&[Clique::new([1, 2])]).unwrap_err().to_string();
    assert!(error.contains("unknown attribute 'b' in the public table 'p'"), "{error}");
}

#[test]
fn a_public_table_that_does_not_fit_is_refused() {
    let private = Domain::new([("a", 2), ("b", 3)]).unwrap();
    let table =
        |name: &str, k| Dataset::from_rows(Domain::new([(name, k)]).unwrap(), &[[0]]).unwrap();
    let error = PublicData::new("p", table("a", 3), &private).unwrap_err().to_string();
    assert!(error.contains("3 values, expected 2, as in the private domain"), "{error}");
    assert!(PublicData::new("p", table("z", 3), &private).is_err());
}
