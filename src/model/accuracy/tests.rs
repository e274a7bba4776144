use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

use super::*;
use crate::measurement::Provenance;

fn domain() -> Domain {
    Domain::new([("a", 2), ("b", 3), ("c", 4)]).unwrap()
}

fn measurement(clique: &[usize], values: Vec<f64>, stddev: f64) -> Measurement {
    let clique = Clique::new(clique.iter().copied());
    Measurement { clique, cell: None, values, stddev, provenance: Provenance::Private }
}

fn table(clique: &[usize], values: Vec<f64>) -> Factor {
    Factor::new(&domain(), Clique::new(clique.iter().copied()), values).unwrap()
}

fn near(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() < 1e-9 * expected.abs().max(1.0),
        "{found}, expected {expected}"
    );
}

/// The bounds of a marginal, measured or predicted.
fn bounds_of(known: &Accuracy, table: &Factor) -> Bounds {
    let measured = known.measured_bounds(&domain(), table.clique()).unwrap();
    measured.unwrap_or_else(|| known.predicted_bounds(table))
}

#[test]
fn measured_counts_are_the_least_squares_estimates() {
    let known = Accuracy::of(&[
        measurement(&[0], vec![40.0, 60.0], 3.0),
        measurement(&[0, 1], vec![10.0, 12.0, 14.0, 20.0, 21.0, 22.0], 2.0),
    ]);
    let one = table(&[0], vec![39.0, 61.0]);
    let bounds = bounds_of(&known, &one);
    assert_eq!(bounds.basis, Basis::Measured);
    // Variances 9 and 3 · 4 = 12: weights 4/7 and 3/7.
    let found = bounds.of(&[(0, 1.0)]).unwrap();
    near(found.estimate, (4.0 * 40.0 + 3.0 * 36.0) / 7.0);
    near(found.upper - found.estimate, TWO_SIDED * (36.0_f64 / 7.0).sqrt());
    // Two cells of independent noise.
    let both = bounds.of(&[(0, 1.0), (1, 1.0)]).unwrap();
    near(both.upper - both.estimate, TWO_SIDED * (72.0_f64 / 7.0).sqrt());
    // If the number of records is public, all cells together have no error, and a cell of two half of its own.
    let measured = Measured { records: Some(99.0), is_laplace: true, ..known.measured };
    let known = Accuracy { measured, ..Accuracy::default() };
    let bounds = bounds_of(&known, &one);
    let both = bounds.of(&[(0, 1.0), (1, 1.0)]).unwrap();
    near(both.estimate, 99.0);
    near(both.upper - both.lower, 0.0);
    let found = bounds.of(&[(0, 1.0)]).unwrap();
    near(found.upper - found.estimate, LAPLACE * (18.0_f64 / 7.0).sqrt());
    // What was measured cell by cell says nothing of a whole marginal.
    assert_eq!(bounds_of(&known, &table(&[2], vec![25.0; 4])).basis, Basis::Model);
}

#[test]
fn intervals_of_measured_counts_cover_as_they_say() {
    let mut rng = ChaCha20Rng::seed_from_u64(11);
    let truth: Vec<f64> = (0..24).map(|cell| 20.0 + 13.0 * f64::from(cell)).collect();
    let exact = table(&[0, 1, 2], truth);
    for records in [None, Some(exact.total())] {
        let (mut covered, mut count) = (0.0, 0.0);
        for _ in 0..2000 {
            let measured =
                [(&[0, 1, 2][..], 4.0), (&[0, 1], 9.0), (&[1], 5.0)].map(|(clique, stddev)| {
                    let clique = Clique::new(clique.iter().copied());
                    let noisy = exact.project(&clique);
                    let mut noise = || stddev * rng.sample::<f64, _>(StandardNormal);
                    let values = noisy.values().iter().map(|x| x + noise());
                    measurement(clique.attributes(), values.collect(), stddev)
                });
            let measured = Measured { records, ..Measured::of(&measured) };
            let known = Accuracy { measured, ..Accuracy::default() };
            for asked in [vec![1], vec![0, 1], vec![0, 1, 2]] {
                let target = exact.project(&Clique::new(asked));
                let bounds = bounds_of(&known, &target);
                for (cell, x) in target.values().iter().enumerate() {
                    let found = bounds.of(&[(cell, 1.0)]).unwrap();
                    covered += f64::from(u8::from((found.lower..=found.upper).contains(x)));
                    count += 1.0;
                }
                let (pair, sum) = ([(0, 1.0), (2, 1.0)], target.values()[0] + target.values()[2]);
                let found = bounds.of(&pair).unwrap();
                covered += f64::from(u8::from((found.lower..=found.upper).contains(&sum)));
                count += 1.0;
            }
        }
        let coverage: f64 = covered / count;
        assert!((coverage - 0.95).abs() < 0.005, "{coverage}");
    }
}

#[test]
fn intervals_hold_together_where_that_was_asked() {
    let mut rng = ChaCha20Rng::seed_from_u64(12);
    let (draws, truth) = (2000, vec![400.0; 24]);
    for is_laplace in [false, true] {
        let (mut each, mut all) = (0.0, [0.0; 2]);
        for _ in 0..draws {
            let mut noise = || -> f64 {
                if is_laplace {
                    let tail: f64 = rng.random_range(1e-12..1.0);
                    tail.ln() * if rng.random() { 3.0 } else { -3.0 }
                } else {
                    3.0 * rng.sample::<f64, _>(StandardNormal)
                }
            };
            let values = truth.iter().map(|x| x + noise()).collect();
            let stddev = if is_laplace { 3.0 * 2.0_f64.sqrt() } else { 3.0 };
            let measured = Measured::of(&[measurement(&[0, 1, 2], values, stddev)]);
            let measured = Measured { is_laplace, ..measured };
            let known = Accuracy { measured, ..Accuracy::default() };
            let target = table(&[0, 1, 2], truth.clone());
            for (known, all) in [known.together(24), known].iter().zip(&mut all) {
                let (_, found) = known.of_cells(&domain(), &target).unwrap();
                let misses =
                    found.unwrap().iter().filter(|i| i.lower > 400.0 || i.upper < 400.0).count();
                *all += f64::from(u8::from(misses == 0)) / f64::from(draws);
                each += if known.at_once == 0 { misses as f64 } else { 0.0 };
            }
        }
        // Of 24 with independent noise, Bonferroni's are as wide as they must be, to 0.1 %.
        assert!((all[0] - 0.95).abs() < 0.015, "{all:?}");
        assert!(all[1] < 0.4, "{all:?}");
        assert!((each / (24.0 * f64::from(draws)) - 0.05).abs() < 0.005, "{each}");
    }
}

#[test]
fn predicted_counts_spread_as_the_measured_error_says() {
    let means = vec![400.0, 300.0, 200.0, 80.0, 15.0, 5.0];
    let known = |error: f64| Accuracy {
        public: vec![PublicPart { clique: Clique::new([0, 1]), table: Some("ohio".into()) }],
        errors: vec![(Clique::new([0, 1, 2]), 1.9), (Clique::new([0, 1]), error)],
        total: 1000.0,
        ..Accuracy::default()
    };
    let target = table(&[0, 1], means.clone());
    let wide = bounds_of(&known(0.3), &target);
    assert_eq!(wide.basis, Basis::Public);
    let Form::Predicted { spread: Spread { growing: Growing::Wider { psi }, even, .. }, .. } =
        &wide.form
    else {
        panic!("wider than Poisson")
    };
    let error: f64 =
        means.iter().map(|mean| Count::new(*mean, psi * mean.powf(POWER)).mean_deviation()).sum();
    near(error / 1000.0, 1.2 * 0.3);
    // The same error, the same in all six cells: the mean distance of a normal variable.
    near(6.0 * even * (2.0 / std::f64::consts::PI).sqrt() / 1000.0, 1.2 * 0.3);
    let [large, small] = [0, 5].map(|cell| wide.of(&[(cell, 1.0)]).unwrap());
    assert!(large.lower < 350.0 && large.upper > 450.0, "{large:?}");
    near(small.upper, 5.0 + TWO_SIDED * even);
    assert!(small.lower == 0.0, "{small:?}");
    // No sum errs by more than half the L1 error.
    let all = wide.of(&[0, 1, 2, 3, 4, 5].map(|cell| (cell, 1.0))).unwrap();
    assert!((all.upper - all.lower) / 2.0 <= TWO_SIDED * 150.0 + 1e-9, "{all:?}");
    let narrow = bounds_of(&known(0.01), &target);
    let Form::Predicted { spread: Spread { growing: Growing::Narrower { factor }, .. }, .. } =
        &narrow.form
    else {
        panic!("narrower")
    };
    assert!(*factor > 0.0 && *factor < 0.3, "{factor}");
    let found = narrow.of(&[(0, 1.0)]).unwrap();
    near(found.upper - found.lower, 2.0 * TWO_SIDED * factor * 20.0);
}

#[test]
fn a_part_of_a_marginal_errs_by_no_more_than_the_whole_and_others_are_unknown() {
    let known = Accuracy {
        errors: vec![(Clique::new([0, 1]), 0.2), (Clique::new([0, 2]), 0.1)],
        total: 100.0,
        ..Accuracy::default()
    };
    let of = |clique: &[usize], cells: usize| {
        let values = vec![100.0 / cells as f64; cells];
        bounds_of(&known, &table(clique, values)).of(&[(0, 1.0)])
    };
    let (own, part) = (of(&[0, 2], 8).unwrap(), of(&[0], 2).unwrap());
    assert!(own.upper > own.estimate && part.upper > part.estimate);
    assert!(of(&[1, 2], 12).is_none(), "not in the workload");
}

#[test]
fn what_was_not_measured_together_has_its_parts_named() {
    let from = |clique: &[usize], table: &str| PublicPart {
        clique: Clique::new(clique.iter().copied()),
        table: Some(table.into()),
    };
    let mut known = Accuracy::of(&[measurement(&[0, 1], vec![10.0; 6], 1.0)]);
    let all = domain().everything();
    let parts = |known: &Accuracy| known.parts(&domain(), &all).unwrap();
    assert_eq!(parts(&known).measured, [Clique::new([0, 1])]);
    assert_eq!(parts(&known).public, []);
    assert!(known.parts(&domain(), &Clique::new([1])).is_none(), "all of it was measured");
    // What was measured is not said again, nor a part of a larger one of the same table.
    known.public = vec![from(&[0], "a"), from(&[2], "a"), from(&[1, 2], "a"), from(&[1], "b")];
    assert_eq!(parts(&known).public, [from(&[1, 2], "a")]);
    assert_eq!(known.rests_on(&domain(), &all), Basis::Model);
    known.public.push(from(&[0, 1, 2], "b"));
    assert_eq!(parts(&known).public, [from(&[1, 2], "a"), from(&[0, 1, 2], "b")]);
    assert_eq!(known.rests_on(&domain(), &all), Basis::Public);
    // Of some attributes, what is left of each part.
    let some = known.of_attributes(&[1, 2]);
    let expected = [from(&[1], "a"), from(&[0, 1], "a"), from(&[0], "b"), from(&[0, 1], "b")];
    assert_eq!(some.public, expected);
}
