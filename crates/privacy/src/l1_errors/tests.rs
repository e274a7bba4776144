use std::sync::Arc;

use super::*;
use crate::NeighboringRelation::ReplaceOne;

/// A curator of three records.
fn source() -> Source {
    Source::new(&Arc::new(()), ReplaceOne, 3.0)
}

/// Marginals of three records over two and three cells.
fn marginals(of: &Source) -> SealedMarginals {
    let shapes = vec![(2, "a".into()), (3, "b".into())];
    let counts = Sensitive::new(vec![vec![3, 0], vec![1, 0, 2]]);
    SealedMarginals::new(of.clone(), shapes, counts)
}

fn compared(of: &Source, tables: [&[f64]; 2]) -> L1Errors {
    let marginals = marginals(of);
    let mut errors = marginals.l1_errors();
    errors.compare(&marginals, &[0, 1], &tables, 1.0).unwrap();
    errors
}

const NEAR: [&[f64]; 2] = [&[2.0, 1.0], &[1.0, 0.0, 2.0]];
const FAR: [&[f64]; 2] = [&[0.0, 3.0], &[0.0, 9.0, 0.0]];

#[test]
fn scores_are_made_of_distances_as_they_say() {
    let source = source();
    let (near, far) = (compared(&source, NEAR), compared(&source, FAR));
    assert_eq!(far.plain(&[1, 0]).unwrap().values().value(), &[12.0, 6.0]);
    let of = |marginal, weight, noise| GainOf { marginal, weight, noise };
    let candidates = [of(0, 2.0, 1.5), of(1, -1.0, 0.0)];
    let scores = far.gains(Gain::AboveNoise, &candidates).unwrap();
    assert_eq!(scores.values().value(), &[9.0, -12.0]);
    assert_eq!((scores.candidates(), scores.sensitivity().value()), (2, 4.0));
    let shrunk = far.gains(Gain::Shrunk, &[of(0, 1.0, 8.0)]).unwrap();
    assert!((shrunk.values().value()[0] - 6.0 * (1.0 - 0.8)).abs() < 1e-12);
    let own = [OwnError::Expected(5.0), OwnError::Sealed(&near)];
    let better = far.improvements(&own.map(|own| ImprovementOf { marginal: 0, own })).unwrap();
    assert_eq!((better.values().value(), better.sensitivity().value()), (&vec![1.0, 4.0], 4.0));
    let means = L1Errors::minus_means(&[near, far], &[(1, 0.5), (0, 0.25)], &[1.0, 0.0]).unwrap();
    assert_eq!((means.values().value(), means.sensitivity().value()), (&vec![0.5, -7.5], 2.0));
}

#[test]
fn a_weighted_marginal_counts_records_by_their_value() {
    let here = source();
    let shapes = vec![(6, "a x b".into()), (6, "b x c".into())];
    // Over two and three values, and over three and two: b is weighted.
    let counts = Sensitive::new(vec![vec![1, 2, 0, 0, 0, 4], vec![1, 2, 0, 5, 8, 0]]);
    let marginals = SealedMarginals::new(here.clone(), shapes, counts);
    let mut errors = marginals.l1_errors();
    let by = ValueWeights { weights: &[0.5, 1.0, 0.0], strides: &[1, 2] };
    errors.compare_weighted(&marginals, &[0, 1], &[[1.0, 2.0], [0.0, 0.0]], 2.0, by).unwrap();
    // 0.5 + 2 and 0 against 2 and 4; 0.5 + 0 and 1 + 5.
    assert_eq!(errors.values.value(), &[4.5, 6.5]);
    assert_eq!(
        errors.plain(&[0]).unwrap().sensitivity(),
        compared(&here, NEAR).plain(&[0]).unwrap().sensitivity()
    );
    let mut refused = |weights: &[f64], strides: &[usize], tables: &[[f64; 2]]| {
        let by = ValueWeights { weights, strides };
        let found = errors.compare_weighted(&marginals, &[0, 1], tables, 1.0, by);
        found.unwrap_err().to_string()
    };
    let zeros = [[0.0, 0.0], [0.0, 0.0]];
    for weights in [[0.5, 1.001, 0.0], [-0.5, 1.0, 0.0], [f64::NAN, 1.0, 0.0]] {
        assert!(refused(&weights, &[1, 2], &zeros).contains("from 0 to 1"));
    }
    refused(&[1.0, 1.0], &[1, 2], &zeros);
    refused(&[], &[1, 2], &zeros);
    refused(&vec![1.0; MOST_WEIGHTED_VALUES + 1], &[1, 2], &zeros);
    for strides in [&[1, 3][..], &[0, 1], &[1]] {
        assert!(refused(&[0.5, 1.0, 0.0], strides, &zeros).contains("strides"));
    }
    refused(&[0.5, 1.0, 0.0], &[1, 2], &zeros[..1]);
    refused(&[0.5, 1.0, 0.0], &[1, 2], &[[f64::INFINITY, 0.0], [0.0, 0.0]]);
}

#[test]
fn lists_are_scaled_extended_and_averaged() {
    let here = source();
    let marginals = marginals(&here);
    let mut errors = marginals.l1_errors();
    errors.compare(&marginals, &[1], &[[2_u32, 0, 0]], 0.5).unwrap();
    assert_eq!(errors.values.value(), &[0.0, 2.0], "what was not compared is 0");
    errors.extend(&compared(&here, NEAR)).unwrap();
    assert_eq!((errors.len(), errors.values.value()), (4, &vec![0.0, 2.0, 2.0, 0.0]));
    assert_eq!(errors.mean(&[0.0, 0.5, 0.25, 0.25]).unwrap().value(), &[1.5]);
    assert!(errors.mean(&[0.5, 0.5, 0.5, 0.5]).is_err() && errors.mean(&[1.0]).is_err());
    assert!(errors.mean(&[-0.5, 0.5, 0.5, 0.5]).is_err());
}

#[test]
fn what_would_not_have_the_stated_sensitivity_is_refused() {
    let here = source();
    let marginals = marginals(&here);
    let mut errors = marginals.l1_errors();
    assert!(errors.compare(&marginals, &[0], &[[1.0; 3]], 1.0).is_err(), "another shape");
    assert!(errors.compare(&marginals, &[2], &[[1.0; 3]], 1.0).is_err(), "no such marginal");
    assert!(errors.compare(&marginals, &[0, 1], &[[1.0; 2]], 1.0).is_err(), "one table for two");
    assert!(errors.compare(&marginals, &[0], &[[f64::NAN, 1.0]], 1.0).is_err());
    assert!(errors.compare(&marginals, &[0], &[[1.0, f64::INFINITY]], 1.0).is_err());
    let of = |marginal, weight, noise| GainOf { marginal, weight, noise };
    for wrong in [
        of(2, 1.0, 0.0),
        of(0, f64::NAN, 0.0),
        of(0, f64::INFINITY, 0.0),
        of(0, 1.0, -1.0),
        of(0, 1.0, f64::NAN),
        of(0, 0.0, 0.0),
    ] {
        assert!(errors.gains(Gain::Shrunk, &[wrong]).is_err(), "{wrong:?}");
    }
    let lists = || [compared(&here, NEAR), compared(&here, FAR)];
    let refused = |shares: &[(usize, f64)], constants: &[f64]| {
        L1Errors::minus_means(&lists(), shares, constants).is_err()
    };
    assert!(refused(&[(0, 0.7), (1, 0.7)], &[0.0; 2]), "a sum, not a mean");
    assert!(refused(&[(0, 2.0), (1, -1.0)], &[0.0; 2]), "a difference");
    assert!(refused(&[(0, f64::NAN)], &[0.0; 2]));
    assert!(refused(&[(2, 0.5)], &[0.0; 2]), "no such marginal");
    assert!(refused(&[(0, 0.5)], &[0.0]), "one constant for two");
    assert!(!refused(&[(0, 0.5)], &[0.0; 2]));
    assert!(refused(&[(0, 0.5)], &[f64::NAN, 0.0]) && refused(&[(0, 0.5)], &[0.0, f64::INFINITY]));
    let expected = |own: OwnError<'_>| errors.improvements(&[ImprovementOf { marginal: 0, own }]);
    assert!(expected(OwnError::Expected(f64::NAN)).is_err());
    let near = compared(&here, NEAR);
    assert!(expected(OwnError::Sealed(&near)).is_ok());
    // Of another curator.
    let other = compared(&source(), NEAR);
    assert!(expected(OwnError::Sealed(&other)).is_err());
    assert!(errors.extend(&other).is_err());
    assert!(errors.compare(&self::marginals(&source()), &[0], &[[1.0; 2]], 1.0).is_err());
    assert!(L1Errors::minus_means(&[errors, other], &[(0, 1.0)], &[0.0; 2]).is_err());
}
