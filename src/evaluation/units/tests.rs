use super::*;
use crate::domain::Domain;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

#[test]
fn units_are_compared_by_size_columns_and_counts() {
    let domain = Domain::new([("tenure", 2), ("sex", 2), ("head", 2)]).unwrap();
    // Real: {2 persons, consistent}, {1}, {3}. Made: {2, contradicts itself}, {2}, with units mixed in the file.
    let real = [[0, 0, 1], [0, 1, 0], [1, 1, 1], [1, 0, 1], [1, 0, 0], [1, 1, 0]];
    let made = [[0, 0, 1], [1, 1, 0], [1, 1, 1], [0, 1, 1]];
    let [real, made] = [&real[..], &made[..]].map(|rows| Dataset::from_rows(domain.clone(), rows));
    let (real, made) = (real.unwrap(), made.unwrap());
    let found = UnitComparison::between(
        UnitRecords { records: &real, units: &[0, 0, 1, 2, 2, 2] },
        UnitRecords { records: &made, units: &[0, 1, 1, 0] },
        &Clique::new([0]),
        &[("head=1".into(), Evidence::new(&domain, [("head", vec![1])]).unwrap())],
    );
    let found = found.unwrap();
    assert_eq!((found.units.real, found.units.synthetic), (3, 2));
    assert!(found.sizes.real.iter().all(|share| close(*share, 1.0 / 3.0)));
    assert_eq!(found.sizes.synthetic, [0.0, 1.0, 0.0]);
    assert!(close(found.sizes_l1, 4.0 / 3.0));
    assert_eq!(found.contradictions, Pair { real: 0.0, synthetic: 0.0 });
    let tenure = &found.columns[0];
    // 1/3 and 2/3 against 1/2 each; with sizes all but the shared cell (0, 2) are apart.
    assert!(close(tenure.l1, 1.0 / 3.0));
    assert!(close(tenure.l1_with_size, 1.0 / 6.0 + 1.0 / 3.0 + 1.0 / 3.0 + 0.5));
    let sex = &found.others[0];
    assert_eq!((sex.name.as_str(), sex.differing.real, sex.differing.synthetic), ("sex", 1.0, 0.5));
    let head = &found.counts[0].shares;
    assert!(close(head.real[1], 1.0) && close(head.real[0] + head.real[2], 0.0));
    assert!(close(head.synthetic[1], 0.5) && close(head.synthetic[2], 0.5));
}

#[test]
fn a_unit_that_contradicts_itself_is_found_and_lone_records_are_not_counted_as_equal() {
    let domain = Domain::new([("tenure", 3), ("sex", 2)]).unwrap();
    let rows = Dataset::from_rows(domain, &[[0, 0], [2, 0], [1, 0], [1, 1], [2, 1]]).unwrap();
    let table = UnitRecords { records: &rows, units: &[0, 0, 1, 1, 2] };
    let found = UnitComparison::between(table, table, &Clique::new([0]), &[]).unwrap();
    assert!(close(found.contradictions.real, 1.0 / 3.0));
    assert!(close(found.columns[0].contradictions.synthetic, 1.0 / 3.0));
    assert!(close(found.others[0].differing.real, 0.5));
    assert!(close(found.sizes_l1, 0.0) && close(found.columns[0].l1_with_size, 0.0));
    let short = UnitRecords { records: &rows, units: &[0, 0] };
    assert!(UnitComparison::between(table, short, &Clique::new([0]), &[]).is_err());
}
