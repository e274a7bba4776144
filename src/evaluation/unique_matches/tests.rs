use super::*;
use crate::domain::Domain;

fn table(rows: &[[u32; 2]]) -> Dataset {
    Dataset::from_rows(Domain::new([("a", 3), ("b", 3)]).unwrap(), rows).unwrap()
}

#[test]
fn a_table_matches_all_of_its_own_unique_records_and_none_that_is_repeated() {
    let real = table(&[[0, 0], [0, 0], [1, 1], [2, 2]]);
    let found = UniqueMatches::between(&real, &real).unwrap();
    assert_eq!((found.unique, found.matched), (2, 2));
    assert_eq!((found.share_of_unique, found.share_of_records), (1.0, 0.5));
    let none = UniqueMatches::between(&table(&[[0, 0], [0, 0]]), &real).unwrap();
    assert_eq!((none.unique, none.matched, none.share_of_unique), (0, 0, 0.0));
}
