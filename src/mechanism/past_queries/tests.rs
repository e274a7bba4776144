use super::*;
use crate::data::Dataset;
use crate::domain::{Clique, Domain};
use crate::measurement::Provenance;

fn support() -> WeightedSupport {
    let domain = Domain::new([("a", 2), ("b", 3)]).unwrap();
    let rows = Dataset::from_rows(domain, &[[0, 0], [0, 2], [1, 0], [1, 2]]).unwrap();
    WeightedSupport::new(&rows, vec![1.0, 2.0, 3.0, 4.0], 10.0).unwrap()
}

fn measured(cell: Option<usize>, values: &[f64]) -> Measurement {
    let (clique, provenance) = (Clique::new([1]), Provenance::Private);
    Measurement { clique, cell, values: values.to_vec(), stddev: 1.0, provenance }
}

#[test]
fn queries_count_their_records_and_answers_are_clamped() {
    let (support, mut past) = (support(), PastQueries::default());
    past.push(&support, &measured(None, &[-3.0, 5.0, 12.0]), 10.0).unwrap();
    past.push(&support, &measured(Some(2), &[7.0]), 10.0).unwrap();
    past.push(&support, &measured(Some(1), &[7.0]), 10.0).unwrap();
    let weights = Weights::of(&support);
    // No record has the second value: its answer cannot change.
    let errors = past.errors(&weights);
    let expected = [0.4 - 0.0, 0.5, 1.0 - 0.6, 0.7 - 0.6, 0.7];
    let close = |(a, b): (&f64, f64)| (a - b).abs() < 1e-12;
    assert!(errors.iter().flatten().zip(expected).all(close), "{errors:?}");
    assert_eq!(past.records(Query(1, 0)), [1, 3]);
    assert_eq!(past.answer(Query(0, 2)).to_bits(), 1_f64.to_bits());
    assert!((past.largest_error(&weights) - 0.7).abs() < 1e-12);
    let (worst, error) = past.worst(&weights).unwrap();
    assert!(worst.0 == 0 && worst.1 != 1 && (error - 0.4).abs() < 1e-12);
    past.begin_round();
    past.push(&support, &measured(Some(0), &[6.0]), 10.0).unwrap();
    assert_eq!(past.of_the_round(), [Query(3, 0)]);
    let bad = past.as_bad_as_the_round(&weights, 0.5);
    assert_eq!(bad, [(0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (3, 0)].map(|(i, j)| Query(i, j)));
}

#[test]
fn a_query_that_is_measured_again_counts_once_with_its_last_answer() {
    let (support, mut past) = (support(), PastQueries::default());
    let weights = Weights::of(&support);
    let mut round = |cell, values: &[f64]| {
        past.begin_round();
        past.push(&support, &measured(cell, values), 10.0).unwrap();
        let answers = |query: &Query| past.answer(*query);
        let own: Vec<f64> = past.of_the_round().iter().map(answers).collect();
        (past.errors(&weights).len(), own)
    };
    assert_eq!(round(Some(0), &[1.0]), (1, vec![0.1]));
    assert_eq!(round(Some(2), &[2.0]), (2, vec![0.2]));
    assert_eq!(round(None, &[3.0, 0.0, 7.0]), (3, vec![0.3, 0.0, 0.7]));
    assert_eq!(round(Some(0), &[5.0]), (3, vec![0.5]));
    assert_eq!(round(Some(0), &[8.0]), (3, vec![0.8]));
    assert_eq!(round(None, &[4.0, 0.0, 6.0]), (3, vec![0.4, 0.0, 0.6]));
    // The answers left: 0.2 of the last value, 0.8 of the first, and the marginal, whose weights it meets.
    let errors: Vec<f64> = past.errors(&weights).concat();
    let expected = [0.4, 0.4, 0.0, 0.0, 0.0];
    let close = |(a, b): (&f64, f64)| (a - b).abs() < 1e-12;
    assert!(errors.len() == 5 && errors.iter().zip(expected).all(close), "{errors:?}");
}

#[test]
fn weights_never_underflow_for_good_and_zero_stays_zero() {
    let support = support().reweighted(vec![0.0, 1.0, 1.0, 2.0], 10.0).unwrap();
    let mut weights = Weights::of(&support);
    for _ in 0..100 {
        weights.scale(&[3], -27.0);
    }
    weights.renormalize();
    assert!(weights.answer(&[3]).abs() < f64::MIN_POSITIVE);
    for _ in 0..100 {
        weights.scale(&[3, 0], 27.0);
        weights.renormalize();
    }
    let found = weights.times(4.0);
    for (found, expected) in found.iter().zip([0.0, 1.0, 1.0, 2.0]) {
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }
}
