use super::*;

#[test]
fn more_rows_than_can_be_counted_are_refused() {
    assert_eq!(rows(5).unwrap(), 5);
    assert!(rows(0).is_err() && rows(1 << 32).is_err());
}
