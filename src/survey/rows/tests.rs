#![expect(clippy::float_cmp, reason = "whole numbers, which are exact")]

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use super::*;
use crate::domain::Domain;

fn domain() -> Domain {
    Domain::new([("a", 4), ("b", 3), ("c", 2), ("d", 3)]).unwrap()
}

/// Records without a pattern.
fn rows(domain: &Domain, records: u32) -> Dataset {
    let codes = |i: u32| [i * 7 % 4, i * i % 3, i / 3 % 2, (i + i / 5) % 3];
    let rows: Vec<[u32; 4]> = (0..records).map(codes).collect();
    Dataset::from_rows(domain.clone(), &rows).unwrap()
}

/// The totals of other records.
fn totals(domain: &Domain, records: u32, cliques: &[&[usize]]) -> Totals {
    let codes = |i: u32| [i % 5 % 4, i * i * i % 7 % 3, i % 11 / 8, i * 5 % 3];
    let rows: Vec<[u32; 4]> = (0..records).map(codes).collect();
    let rows = Dataset::from_rows(domain.clone(), &rows).unwrap();
    let tables = cliques.iter().map(|attributes| {
        let clique = Clique::new(attributes.iter().copied());
        let size = usize::try_from(domain.cells(&clique).unwrap()).unwrap();
        let counts = counted(&rows.cells(&clique).unwrap(), size);
        (clique, counts.into_iter().map(|count| count as f64).collect())
    });
    Totals::new(domain, tables).unwrap()
}

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(1)
}

#[test]
fn totals_without_a_cycle_hold_exactly() {
    let domain = domain();
    for cliques in
        [&[&[0, 1][..], &[2, 3]][..], &[&[0, 1], &[1, 2], &[2, 3]], &[&[0], &[0, 1, 2], &[1, 3]]]
    {
        let totals = totals(&domain, 1000, cliques);
        let found = with_totals(&rows(&domain, 1000), &totals, &mut rng()).unwrap();
        assert_eq!((found.rows.records(), found.largest_difference), (1000, 0.0), "{cliques:?}");
    }
}

#[test]
fn of_another_number_of_records_they_are_rounded() {
    let domain = domain();
    let totals = totals(&domain, 1000, &[&[0, 1], &[1, 2]]);
    let found = with_totals(&rows(&domain, 77), &totals, &mut rng()).unwrap();
    assert!(found.largest_difference > 0.0 && found.largest_difference < 2.0, "{found:?}");
}

#[test]
fn records_change_only_as_far_as_totals_ask() {
    let domain = domain();
    let given = rows(&domain, 1000);
    let clique = Clique::new([0, 1]);
    let mut counts: Vec<f64> =
        counted(&given.cells(&clique).unwrap(), 12).into_iter().map(|c| c as f64).collect();
    let largest = (0..12).max_by(|i, j| counts[*i].total_cmp(&counts[*j])).unwrap();
    counts[largest] -= 3.0;
    counts[(largest + 1) % 12] += 3.0;
    let totals = Totals::new(&domain, [(clique, counts)]).unwrap();
    let found = with_totals(&given, &totals, &mut rng()).unwrap();
    let differ = (0..1000).filter(|i| given.row(*i) != found.rows.row(*i)).count();
    assert_eq!((differ, found.largest_difference), (3, 0.0));
    assert!((0..1000).all(|i| given.row(i)[2..] == found.rows.row(i)[2..]));
}

#[test]
fn no_record_becomes_impossible_and_what_is_left_is_told() {
    let plain = domain();
    let domain = plain.clone().forbid([vec![("a", vec![3]), ("d", vec![0, 1])]]).unwrap();
    let possible: Vec<Vec<u32>> = (0..300_usize)
        .map(|i| rows(&plain, 300).row(i))
        .map(|mut row| {
            if row[0] == 3 {
                row[3] = 2;
            }
            row
        })
        .collect();
    let given = Dataset::from_rows(domain.clone(), &possible).unwrap();
    let totals = Totals::new(&domain, [(Clique::new([0]), vec![0.0, 0.0, 0.0, 300.0])]).unwrap();
    let found = with_totals(&given, &totals, &mut rng()).unwrap();
    assert!(found.largest_difference > 0.0);
    assert!((0..300).map(|i| found.rows.row(i)).all(|row| row[0] != 3 || row[3] == 2));
}

#[test]
fn of_totals_in_a_cycle_the_earlier_ones_hold() {
    let domain = domain();
    let totals = totals(&domain, 500, &[&[0, 1], &[1, 3], &[0, 3]]);
    let found = with_totals(&rows(&domain, 500), &totals, &mut rng()).unwrap();
    let counts = counted(&found.rows.cells(&Clique::new([0, 1])).unwrap(), 12);
    assert!(counts.iter().zip(totals.table(0)).all(|(count, total)| *count as f64 == *total));
}
