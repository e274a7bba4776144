use super::*;
use crate::data::Dataset;
use crate::domain::Domain;

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found}, expected {expected}");
}

#[test]
fn both_measures_are_those_computed_by_hand() {
    // Counts 3 1 / 1 3: covariance 1/8, variances 1/4, correlation 1/2; phi^2 = 4 (1/8)^2 / (1/4) = 1/4.
    let cells = [3.0, 1.0, 1.0, 3.0].map(|n| n / 8.0);
    let pair = Pair::new(&cells, 2);
    close(pair.pearson(), 0.5);
    close(pair.cramers_v(), 0.5);
    // Three by two, (0, 0), (1, 1), (2, 0): codes are uncorrelated, V is 1; the middle column never occurs.
    let cells = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0].map(|n| n / 3.0);
    let pair = Pair::new(&cells, 3);
    close(pair.pearson(), 0.0);
    close(pair.cramers_v(), 1.0);
}

#[test]
fn mean_largest_difference_and_worst_pair_are_over_all_pairs() {
    let domain = Domain::new([("a", 2), ("b", 2), ("c", 2)]).unwrap();
    let table = |rows: &[[u32; 3]]| Dataset::from_rows(domain.clone(), rows).unwrap();
    // Real: a = b, c constant. Synthetic: a and b independent, c constant.
    let real = table(&[[0, 0, 0], [1, 1, 0]]);
    let fake = table(&[[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]]);
    let found = CorrelationDifference::between(&real, &fake).unwrap();
    assert_eq!(found.pairs, 3);
    for part in [&found.pearson, &found.cramers_v] {
        close(part.mean, 1.0 / 3.0);
        close(part.max, 1.0);
        assert_eq!(part.worst, ["a", "b"]);
    }
    let same = CorrelationDifference::between(&real, &real).unwrap();
    close(same.pearson.max + same.cramers_v.max, 0.0);
}
