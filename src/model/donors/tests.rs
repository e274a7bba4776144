use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use super::*;
use crate::data::Dataset;
use crate::domain::Domain;

/// x repeats a and b; c says nothing. The pair a = 1, b = 2 is not listed; nor, as it is forbidden, is x = 4 with c = 1, and a = 0,
/// b = 2, c = 1 has no weight.
fn list() -> WeightedSupport {
    let domain = Domain::new([("a", 2), ("b", 3), ("c", 2), ("x", 6)]).unwrap();
    let rule = vec![("c".to_owned(), vec![1]), ("x".to_owned(), vec![4])];
    let mut rows = Vec::new();
    for (a, b) in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)] {
        rows.extend([0, 1].map(|c| [a, b, c, 3 * a + b]));
    }
    let domain = domain.forbid([rule]).unwrap();
    let rows = Dataset::from_rows(domain, &rows).unwrap();
    WeightedSupport::new(&rows, vec![1.0, 3.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0], 10.0)
        .unwrap()
}

fn drawn(
    known: &[usize],
    rows: &[[u32; 3]],
    unlikely: &[StructuralZero],
    is_population: bool,
) -> (Vec<Vec<u32>>, Donors) {
    let list = list();
    let columns: Vec<Vec<u32>> =
        (0..3).map(|a| rows.iter().map(|row| row[a]).collect()).chain([Vec::new()]).collect();
    let known = Clique::new(known.iter().copied());
    let lacking = Lacking { columns: &columns, known: &known, unlikely, is_population };
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let donors =
        list.donors((0_u32..).zip(rows).map(|(at, _)| at).collect(), &lacking, &mut rng).unwrap();
    let mut listed = donors.listed.clone();
    listed.sort_unstable();
    (listed.iter().map(|(_, at)| list.rows().row(*at as usize)).collect(), donors)
}

#[test]
fn a_record_takes_the_columns_of_one_with_its_values_by_weight() {
    let rows: Vec<[u32; 3]> = (0..4_000).map(|i| [0, i % 3, 0]).collect();
    let (taken, donors) = drawn(&[0, 1], &rows, &[], false);
    assert!(donors.left_out.is_empty());
    assert!(taken.iter().zip(&rows).all(|(own, row)| own[..2] == row[..2]));
    let of = |taken: &[Vec<u32>], values: [u32; 3]| {
        taken.iter().filter(|own| own[..3] == values).count() as f64
    };
    // Of the two with a = b = 0, the second has three times the weight of the first.
    assert!((of(&taken, [0, 0, 1]) - 1_000.0).abs() < 100.0);
    // Of the list, half have c = 1. Where the records stand for the same population, half of them get it, by a factor.
    let (taken, _) = drawn(&[0, 1], &rows, &[], true);
    assert!((of(&taken, [0, 0, 1]) + of(&taken, [0, 1, 1]) - 2_000.0).abs() < 150.0);
    let odds = |b: u32| of(&taken, [0, b, 1]) / of(&taken, [0, b, 0]);
    assert!((odds(0) / odds(1) - 3.0).abs() < 0.8, "{} {}", odds(0), odds(1));
}

/// c says nothing about x, and a and b say much: c is left out first, and what says less of these next.
#[test]
fn what_says_least_is_left_out_first() {
    let (taken, donors) = drawn(&[0, 1, 2], &[[0, 2, 1], [1, 1, 0], [1, 2, 0]], &[], false);
    assert_eq!((&taken[0], &taken[1]), (&vec![0, 2, 0, 2], &vec![1, 1, 0, 4]));
    // The third has no donor with a = 1 and b = 2: x comes from one with its b, as b says more than a.
    assert_eq!(taken[2], [0, 2, 0, 2]);
    assert_eq!(donors.left_out, [(2, vec![0]), (0, vec![2])]);
}

/// The first record may not have x = 4 with its own c: without c alone, every donor has it.
#[test]
fn forbidden_combinations_are_kept_to_across_records() {
    let (taken, _) = drawn(&[0, 1, 2], &[[1, 1, 1]; 50], &[], false);
    assert!(taken.iter().all(|own| own[3] != 4));
    let rule = vec![("a", vec![0]), ("x", vec![0])];
    let domain = Domain::new([("a", 2), ("b", 3), ("c", 2), ("x", 6)]).unwrap();
    let unlikely = StructuralZero::of(&domain, [rule]).unwrap();
    let (taken, _) = drawn(&[0], &[[0, 0, 0]; 50], &unlikely, false);
    assert!(taken.iter().all(|own| own[0] == 0 && own[3] != 0));
    // Where all with the known values have it, it stays.
    let (taken, donors) = drawn(&[0, 1], &[[0, 0, 0]], &unlikely, false);
    assert_eq!((taken[0][3], donors.left_out.len()), (0, 0));
}
