//! Unit tests of `src/mechanism/ide/workload.rs`.

use super::*;

#[test]
fn single_attributes_come_first_and_then_the_most_dependent_pairs() {
    let domain = Domain::new([("a", 2), ("b", 2), ("c", 3)]).unwrap();
    let rows: Vec<[u32; 3]> = (0..12).map(|i| [i % 2, i % 2, i / 4]).collect();
    let rows = Dataset::from_rows(domain, &rows).unwrap();
    let prior = WeightedSupport::new(&rows, vec![1.0; 12], 12.0).unwrap();
    let candidates = Candidates::new(&prior, 100).unwrap();
    let [a, b, c] = [0, 1, 2].map(|a| Clique::new([a]));
    let pair = Clique::new([0, 1]);
    assert_eq!(candidates.choose(4, |_| 100.0), [a.clone(), b.clone(), c, pair.clone()]);
    assert_eq!(candidates.choose(3, |_| 2.0), [a.clone(), b.clone()]);
    // With fewer cliques, each gets more of the budget.
    assert_eq!(candidates.choose(9, |n| 6.0 / n as f64), [a, b]);
    assert!(candidates.choose(5, |_| 1.0).is_empty());
    let found = mutual_information(prior.rows(), prior.weights(), &[pair, Clique::new([0, 2])]);
    let found = found.unwrap();
    assert!((found[0] - 2_f64.ln()).abs() < 1e-12 && found[1].abs() < 1e-12, "{found:?}");
}
