use super::*;
use crate::domain::Clique;
use crate::measurement::Provenance;

fn measured(clique: usize, values: &[f64], stddev: f64) -> Measurement {
    Measurement {
        clique: Clique::new([clique]),
        cell: None,
        values: values.to_vec(),
        stddev,
        provenance: Provenance::Private,
    }
}

/// m = 10,000, and noise of 10 on 1,000 records in two cells.
fn learned(values: &[[f64; 2]]) -> (Trust, Vec<Measurement>) {
    let mut trust = Trust::in_public(10_000.0);
    let singles: Vec<Measurement> =
        values.iter().enumerate().map(|(i, values)| measured(i, values, 10.0)).collect();
    let expected: Vec<(usize, Vec<f64>)> =
        (0..values.len()).map(|i| (i, vec![500.0, 500.0])).collect();
    trust.learn(&singles, &expected);
    (trust, singles)
}

#[test]
fn what_agrees_keeps_its_trust_and_what_contradicts_loses_it() {
    let (trust, singles) = learned(&[[505.0, 495.0], [900.0, 100.0]]);
    let shares = [trust.share(0), trust.share(1)];
    assert!(shares[0] > 0.5 && shares[1] < 0.05, "{shares:?}");
    assert_eq!(trust.shares().map(|(_, share)| share).collect::<Vec<_>>(), shares);
    let means = [0, 1].map(|i| trust.mean(i, &singles[i], &[500.0, 500.0]));
    // σ² = 100 and n q/m = 50: two thirds of the way stay with the base, where κ = m.
    assert!((means[0][0] - 501.7).abs() < 0.5, "{means:?}");
    assert!((means[1][0] - 900.0).abs() < 4.0, "{means:?}");
    assert!((means[1].iter().sum::<f64>() - 1000.0).abs() < 1e-6);
}

/// Ten marginals are taken beforehand to be as in the public tables, and none to be independent of one another.
#[test]
fn public_tables_are_trusted_beforehand_and_independence_is_not() {
    let share = |mut trust: Trust| {
        let single = measured(0, &[525.0, 475.0], 10.0);
        trust.learn(std::slice::from_ref(&single), &[(0, vec![500.0, 500.0])]);
        trust.share(0)
    };
    let (public, independent) =
        (share(Trust::in_public(10_000.0)), share(Trust::in_independence(10_000.0)));
    assert!(independent < 0.5 * public, "{independent}, {public}");
}

#[test]
fn a_cell_without_public_records_may_hold_many_private_ones() {
    let mut trust = Trust::in_public(10_000.0);
    let single = measured(0, &[400.0, 600.0], 10.0);
    let expected = [(0, vec![1e-3, 999.999])];
    trust.learn(std::slice::from_ref(&single), &expected);
    let mean = trust.mean(0, &single, &expected[0].1);
    assert!((mean[0] - 400.0).abs() < 5.0, "{mean:?}");
}

/// An error that one marginal alone may have by chance is believed where most others are off as well.
#[test]
fn marginals_learn_from_one_another() {
    let doubtful = [520.0, 480.0];
    let share = |others: [f64; 2]| {
        let mut all = vec![others; 30];
        all.push(doubtful);
        learned(&all).0.share(30)
    };
    let (among_right, among_wrong) = (share([501.0, 499.0]), share([600.0, 400.0]));
    assert!(among_wrong < 0.5 * among_right, "{among_wrong}, {among_right}");
}

/// The likelihood of two values of κ by hand, up to a constant that both share.
#[test]
fn the_likelihood_is_that_of_two_variances() {
    let (trust, ..) = learned(&[[520.0, 480.0]]);
    let by_hand = |kappa: f64| {
        let variance = 100.0 + 1000.0 * 500.0 / kappa;
        -(variance.ln() + 400.0 / variance)
    };
    let found = &trust.evidence[&0].likelihoods;
    assert!((found[0] - by_hand(10_000.0)).abs() < 1e-9);
    assert!((found[1] - by_hand(2_500.0)).abs() < 1e-9);
}
