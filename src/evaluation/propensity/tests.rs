use super::*;
use crate::domain::Domain;
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-7, "{found}, expected {expected}");
}

fn table(rows: &[[u32; 2]]) -> Dataset {
    Dataset::from_rows(Domain::new([("a", 3), ("b", 4)]).unwrap(), rows).unwrap()
}

#[test]
fn equal_tables_cannot_be_told_apart_and_disjoint_ones_fully() {
    let (real, fake) = (table(&[[0, 1], [1, 2], [1, 0]]), table(&[[2, 3]]));
    let same = PropensityScore::between(&real, &real).unwrap();
    close(same.pmse, 0.0);
    // c = 1/4: the most there is.
    let apart = PropensityScore::between(&real, &fake).unwrap();
    close(apart.pmse, 3.0 / 16.0);
}

#[test]
fn tables_of_different_sizes_have_the_value_computed_by_hand() {
    // Value 0: 6 real, 2 synthetic; value 1: 2 real, 2 synthetic: probabilities 1/4 and 1/2, c = 1/3.
    let rows = |zeros, ones| [vec![[0, 0]; zeros], vec![[1, 0]; ones]].concat();
    let score = PropensityScore::between(&table(&rows(6, 2)), &table(&rows(2, 2))).unwrap();
    close(score.pmse, (8.0 / 144.0 + 4.0 / 36.0) / 12.0);
    close(score.expected, (2.0_f64 / 3.0).powi(2) / 3.0 / 12.0);
    assert_eq!(score.parameters, 2);
}

#[test]
fn an_attribute_that_repeats_another_adds_no_parameter() {
    let real = table(&[[0, 0], [0, 0], [1, 1], [2, 2]]);
    let fake = table(&[[0, 0], [1, 1], [1, 1], [2, 2]]);
    let score = PropensityScore::between(&real, &fake).unwrap();
    assert_eq!(score.parameters, 3);
    // The same with the first attribute alone.
    let alone = |t: &Dataset| t.select(&[0]).unwrap();
    let single = PropensityScore::between(&alone(&real), &alone(&fake)).unwrap();
    close(score.pmse, single.pmse);
}

/// 11 parameters: the ratio is that of χ² with 10 degrees to 10, so that the mean of 200 has a standard deviation of
/// 0.032; five of them are a false alarm in 10⁶.
#[test]
fn records_drawn_from_the_real_table_have_a_mean_ratio_of_one() {
    let domain = Domain::new([("a", 4), ("b", 3), ("c", 6)]).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let rows: Vec<[u32; 3]> = (0..1500)
        .map(|_| {
            let a = rng.random_range(0..4);
            [a, (a + rng.random_range(0..2)) % 3, rng.random_range(0..6)]
        })
        .collect();
    let real = Dataset::from_rows(domain.clone(), &rows).unwrap();
    let mut sum = 0.0;
    for _ in 0..200 {
        let drawn: Vec<[u32; 3]> =
            (0..1000).map(|_| rows[rng.random_range(0..rows.len())]).collect();
        let fake = Dataset::from_rows(domain.clone(), &drawn).unwrap();
        let score = PropensityScore::between(&real, &fake).unwrap();
        assert_eq!(score.parameters, 11);
        sum += score.ratio;
    }
    assert!((sum / 200.0 - 1.0).abs() < 0.16, "{}", sum / 200.0);
}
