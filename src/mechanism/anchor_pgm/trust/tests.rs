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
    let means = [0, 1].map(|i| trust.mean(i, &singles[i]));
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
fn a_marginal_counts_as_often_as_the_most_doubted_one_that_it_is_part_of() {
    let mut trust = Trust::in_public(10_000.0);
    let pair = |b| Measurement {
        clique: Clique::new([0, b]),
        ..measured(0, &[900.0, 100.0, 0.0, 0.0], 10.0)
    };
    let all =
        [measured(0, &[505.0, 495.0], 10.0), pair(1), measured(1, &[505.0, 495.0], 10.0), pair(2)];
    // The first single attribute is among those that the base moved to.
    trust.learn(&all, &[(1, vec![250.0; 4]), (2, vec![500.0, 500.0]), (3, vec![250.0; 4])]);
    let (right, wrong) = (trust.share(2), trust.share(1));
    assert!(wrong < 0.1 * right, "{wrong}, {right}");
    let counted = |held: &[usize]| -> Vec<f64> {
        let given: Vec<Measurement> = held.iter().map(|at| all[*at].clone()).collect();
        let share = |target: &Measurement| (target.stddev / 10.0).powi(2);
        trust.weighted(held, &given).iter().map(share).collect()
    };
    let close = |found: Vec<f64>, expected: &[f64]| {
        assert!(
            found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12),
            "{found:?}, {expected:?}"
        );
    };
    close(counted(&[0, 2]), &[1.0, right]);
    close(counted(&[0, 2, 3]), &[wrong, right, wrong]);
    close(counted(&[0, 2, 1]), &[wrong, wrong, wrong]);
}

#[test]
fn shrunk_targets_are_means_and_variances_by_hand() {
    let (trust, singles) = learned(&[[505.0, 495.0], [900.0, 100.0]]);
    let of_base = |_: &Clique| Ok(vec![510.0, 490.0]);
    let three = [singles.clone(), vec![measured(2, &[0.0, 1000.0], 10.0)]].concat();
    let (targets, pull) = trust.shrunk(&[0, 1, 7], &three, of_base).unwrap();
    for at in [0, 1] {
        assert_eq!(targets[at].values, trust.mean(at, &singles[at]));
        // n q/κ = 500,000/κ beside σ² = 100.
        let variance = 1.0 / (1.0 / 100.0 + trust.kappas[&at] / 500_000.0);
        assert!((targets[at].stddev.powi(2) / variance - 1.0).abs() < 1e-9);
    }
    // Not learned: the base has moved to it.
    assert_eq!((targets[2].values[0], targets[2].stddev), (510.0, 10.0));
    assert!((pull / (10_000.0 * trust.share(1)) - 1.0).abs() < 1e-12);
}

#[test]
fn a_cell_without_public_records_may_hold_many_private_ones() {
    let mut trust = Trust::in_public(10_000.0);
    let single = measured(0, &[400.0, 600.0], 10.0);
    let expected = [(0, vec![1e-3, 999.999])];
    trust.learn(std::slice::from_ref(&single), &expected);
    let mean = trust.mean(0, &single);
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

/// n/κ is the variance of an expected count of one record: 1,000 of each cell for one record, and a tenth for 10,000.
#[test]
fn what_few_records_predict_is_uncertain() {
    let density = |records: f64, values: [f64; 2]| {
        let single = measured(0, &values, 10.0);
        Trust::in_public(records).log_density(&single, &[500.0, 500.0])
    };
    // What agrees is more probable by the sure prediction, what does not by the unsure one.
    assert!(density(10_000.0, [505.0, 495.0]) > density(1.0, [505.0, 495.0]) + 5.0);
    assert!(density(10_000.0, [900.0, 100.0]) < density(1.0, [900.0, 100.0]));
    // By hand, where hardly any other κ is as likely: N(505; 500, 100 + 1000 · 500/10,000) twice, with the share of κ = m.
    let variance: f64 = 100.0 + 50.0;
    let by_hand = -(variance.ln() + 25.0 / variance);
    let found = density(10_000.0, [505.0, 495.0]);
    assert!(found < by_hand && found > by_hand - 0.2, "{found}, {by_hand}");
}

#[test]
fn densities_sum_to_one() {
    let trust = Trust::in_public(100.0);
    let density = |y: f64| {
        let single = measured(0, &[y], 10.0);
        trust.log_density(&single, &[500.0]).exp() / (2.0 * std::f64::consts::PI).sqrt()
    };
    // Cells of the log: steps of a tenth of a percent, as some κ are tiny.
    let steps = (0..30_000).map(|i| 1e-3 * (1.001_f64).powi(i));
    let sum: f64 =
        steps.map(|far| 0.001 * far * (density(500.0 + far) + density(500.0 - far))).sum();
    assert!((sum - 1.0).abs() < 0.01, "{sum}");
}
