//! Exact assertions: what a budget buys, to the last unit, from constants that are written out here a second time.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::float_cmp, reason = "exact numbers")]

use crate::own;
use jointly::domain::Clique;
use jointly::privacy::NeighboringRelation::{AddRemoveOne, AddRemoveUnit, ReplaceOne};
use jointly::privacy::{
    Budget, Curator, Epsilon, MarginalSensitivity, NeighboringRelation, NoiseForm, NoiseMechanism,
    NoiseSeed, Ratio, RecordsPerUnit, Rho, ScoreSensitivity, Selection, StatisticSensitivity,
};

use crate::statistics::Counts;

fn unit(most: u32) -> NeighboringRelation {
    AddRemoveUnit(RecordsPerUnit::new(most).unwrap())
}

/// A relation and its sensitivities: of a marginal (L1, squared L2), of a cell (squared L2), of the scores.
struct Known {
    relation: NeighboringRelation,
    marginal: (u32, u32),
    cell: u32,
    l1_error: u32,
    difference: u32,
    cell_error: u32,
}

fn known() -> Vec<Known> {
    let of = |relation, marginal, cell, l1_error, difference, cell_error| Known {
        relation,
        marginal,
        cell,
        l1_error,
        difference,
        cell_error,
    };
    vec![
        of(ReplaceOne, (2, 2), 1, 2, 4, 1),
        of(AddRemoveOne, (1, 1), 1, 1, 2, 1),
        of(unit(1), (1, 1), 1, 1, 2, 1),
        of(unit(5), (5, 25), 25, 5, 10, 5),
        of(unit(32), (32, 1024), 1024, 32, 64, 32),
    ]
}

#[test]
fn every_sensitivity_is_the_one_that_is_proved() {
    for known in known() {
        let relation = known.relation;
        let marginal = MarginalSensitivity::of(relation);
        assert_eq!((marginal.l1(), marginal.squared_l2()), known.marginal, "{relation}");
        assert_eq!(MarginalSensitivity::one_cell(relation).squared_l2(), known.cell, "{relation}");
        for (score, counts) in [
            (ScoreSensitivity::l1_error(relation), known.l1_error),
            (ScoreSensitivity::l1_error_difference(relation), known.difference),
            (ScoreSensitivity::cell_error(relation), known.cell_error),
        ] {
            assert_eq!((score.counts(), score.relation()), (counts, relation));
            for weight in [1.0, 0.25, 7.0] {
                let weighted = score.weighted(weight).unwrap();
                assert_eq!(weighted.value(), f64::from(counts) * weight, "{relation}");
            }
        }
        let errors = StatisticSensitivity::l1_errors(relation, 3).unwrap();
        assert_eq!(errors.steps(), known.l1_error * 256 + 2, "{relation}");
        let mixture = StatisticSensitivity::mixture_error(relation, 0.25).unwrap();
        assert_eq!(mixture.steps(), known.cell_error * 256 + 64 + 2, "{relation}");
    }
}

/// `Δ² / 2ρ` with ρ in units of 2⁻⁴⁰, compared in integers.
fn is_variance(variance: Ratio, squared_sensitivity: u32, rho: Rho) -> bool {
    let left = u128::from(variance.numerator()) * 2 * u128::from(rho.units());
    let right = (u128::from(squared_sensitivity) * u128::from(variance.denominator())) << 40;
    left == right
}

#[test]
fn noise_is_exactly_what_the_budget_buys() {
    let data = Counts::new(vec![3, 4], 7);
    let clique = Clique::new([0]);
    for known in known() {
        let relation = known.relation;
        for units in [1_u64 << 20, 12_345_678_901, 1 << 40, 5 << 40] {
            let rho = Rho::from_units(units);
            let limit = Rho::from_units(u64::MAX);
            let mut curator = Curator::new(&data, relation, limit, NoiseSeed::System).unwrap();
            let found = curator.measure(&clique, rho).unwrap().variance;
            assert!(is_variance(found, known.marginal.1, rho), "{relation}, {rho}: {found}");
            let found = curator.measure_cell(&clique, 1, rho).unwrap().variance;
            assert!(is_variance(found, known.cell, rho), "{relation}, {rho}: {found}");
            if !relation.has_public_total() {
                curator.measure_total(rho).unwrap();
                let entry = curator.ledger().entries().last().unwrap();
                let NoiseMechanism::DiscreteGaussian { variance, .. } = entry.mechanism else {
                    panic!("{entry:?}")
                };
                assert!(is_variance(variance, known.marginal.1, rho), "{relation}: {variance}");
            }
            // Laplace noise of scale Δ₁/ε, at a cost of ε²/2, rounded up.
            let epsilon = Ratio::new(3, 8).unwrap();
            let scale = curator.measure_laplace(&clique, epsilon).unwrap().scale;
            assert_eq!(scale.to_f64(), f64::from(known.marginal.0) * 8.0 / 3.0, "{relation}");
            let cost = curator.ledger().entries().last().unwrap().rho;
            assert_eq!(cost.units(), (9_u64 << 39).div_ceil(64), "{relation}");
            assert_eq!(
                curator.ledger().spent().units(),
                curator.ledger().entries().iter().map(|entry| entry.rho.units()).sum::<u64>()
            );
        }
    }
}

#[test]
fn statistics_get_the_noise_of_their_whole_vector() {
    let data = Counts::new(vec![3; 12], 36);
    for known in known() {
        let steps = u64::from(known.l1_error * 256 + 2);
        for (form, rho) in [(NoiseForm::Gaussian, 0.7), (NoiseForm::Laplace, 0.7)] {
            let rho = Rho::from_f64(rho).unwrap();
            let mut curator = Curator::new(&data, known.relation, rho, NoiseSeed::System).unwrap();
            let sensitivity = StatisticSensitivity::l1_errors(known.relation, 12).unwrap();
            let clique = Clique::new([0]);
            own::measure(&mut curator, &clique, sensitivity, own::counts, (form, rho)).unwrap();
            match curator.ledger().entries()[0].mechanism {
                NoiseMechanism::GridGaussian { variance, squared_sensitivity, .. } => {
                    assert_eq!(squared_sensitivity, 12 * steps * steps);
                    let least = squared_sensitivity as f64 / (2.0 * rho.to_f64());
                    assert!(variance.to_f64() >= least && variance.to_f64() < 1.000_001 * least);
                }
                NoiseMechanism::GridLaplace { scale, sensitivity, .. } => {
                    assert_eq!(sensitivity, 12 * steps);
                    let least = sensitivity as f64 / (2.0 * rho.to_f64()).sqrt();
                    assert!(scale.to_f64() >= least && scale.to_f64() < 1.000_01 * least);
                }
                ref other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn a_selection_has_the_largest_exponent_that_its_cost_covers() {
    let data = Counts::new(vec![1], 1);
    for (how, divisor) in [(Selection::Exponential, 8_u128), (Selection::PermuteAndFlip, 2)] {
        for units in [1_u64, 77, 1 << 30, 123_456_789_012, 1 << 41] {
            let rho = Rho::from_units(units);
            let mut curator = Curator::new(&data, ReplaceOne, rho, NoiseSeed::System).unwrap();
            let score = ScoreSensitivity::l1_error_difference(ReplaceOne);
            let scores = own::scores(&curator, &Clique::new([0]), 3, score, |_| vec![0.0; 3]);
            curator.select(how, scores, rho, "choose").unwrap();
            let (NoiseMechanism::ExponentialMechanism {
                epsilon,
                sensitivity,
                grid,
                candidates,
                ..
            }
            | NoiseMechanism::PermuteAndFlip { epsilon, sensitivity, grid, candidates, .. }) =
                curator.ledger().entries()[0].mechanism
            else {
                panic!("not a selection")
            };
            assert_eq!((sensitivity, grid, candidates), (4.0, 4.0 / 65_536.0, 3));
            // ε in units of 2⁻³²: ε² ≤ divisor · ρ < (ε + 2⁻³²)², all times 2⁶⁴.
            let scaled = u128::from(epsilon.numerator()) << 32 >> epsilon.denominator().ilog2();
            let square = (divisor * u128::from(units)) << 24;
            assert!(scaled * scaled <= square, "{how:?}, {units}: more than is paid");
            assert!((scaled + 1) * (scaled + 1) > square, "{how:?}, {units}: less than is paid");
        }
    }
}

#[test]
fn several_draws_have_the_largest_exponent_that_their_cost_covers_together() {
    let data = Counts::new(vec![1], 1);
    for draws in [1_u32, 2, 10, 77, 10_000] {
        for units in [77_u64, 1 << 30, 123_456_789_012, 1 << 41] {
            let rho = Rho::from_units(units);
            let mut curator = Curator::new(&data, ReplaceOne, rho, NoiseSeed::System).unwrap();
            let score = ScoreSensitivity::signed_cell_error(ReplaceOne);
            let scores = own::scores(&curator, &Clique::new([0]), 3, score, |_| vec![0.0; 3]);
            let chosen = curator.select_times(scores, rho, draws, "choose").unwrap();
            assert_eq!(chosen.len(), usize::try_from(draws).unwrap());
            let [entry] = curator.ledger().entries() else { panic!("one entry") };
            let NoiseMechanism::ExponentialMechanism { epsilon, draws: stated, .. } =
                entry.mechanism
            else {
                panic!("not a selection")
            };
            assert_eq!((stated, entry.rho), (draws, rho));
            // ε in units of 2⁻³²: draws · ε² ≤ 8 ρ < draws · (ε + 2⁻³²)², all times 2⁶⁴.
            let scaled = u128::from(epsilon.numerator()) << 32 >> epsilon.denominator().ilog2();
            let (square, draws) = ((8 * u128::from(units)) << 24, u128::from(draws));
            assert!(draws * scaled * scaled <= square, "{draws}, {units}: more than is paid");
            assert!(draws * (scaled + 1) * (scaled + 1) > square, "{draws}, {units}: less");
        }
    }
}

#[test]
fn a_ledger_of_older_versions_has_one_draw_a_selection_and_one_without_draws_is_refused() {
    let data = Counts::new(vec![1], 1);
    let rho = Rho::from_f64(0.5).unwrap();
    let new = || Curator::new(&data, ReplaceOne, rho, NoiseSeed::System).unwrap();
    let written = |draws: u32| {
        let mut curator = new();
        let score = ScoreSensitivity::signed_cell_error(ReplaceOne);
        let scores = own::scores(&curator, &Clique::new([0]), 3, score, |_| vec![0.0; 3]);
        curator.select_times(scores, rho, draws, "choose").unwrap();
        serde_json::to_value(curator.ledger()).unwrap()
    };
    let continued = |ledger: &serde_json::Value| {
        let ledger = serde_json::from_value::<jointly::privacy::Ledger>(ledger.clone());
        ledger.is_ok_and(|ledger| new().resume(ledger.entries()).is_ok())
    };
    let one = written(1);
    assert!(one["entries"][0]["mechanism"].get("draws").is_none() && continued(&one));
    let mut ten = written(10);
    assert_eq!(ten["entries"][0]["mechanism"]["draws"], 10);
    assert!(continued(&ten));
    // The cost of ten draws does not cover eleven.
    for wrong in [0, 11] {
        ten["entries"][0]["mechanism"]["draws"] = wrong.into();
        assert!(!continued(&ten), "{wrong} draws");
    }
}

#[test]
fn pure_epsilon_is_that_of_every_kind_of_entry() {
    let data = Counts::new(vec![1, 2], 3);
    for known in known() {
        let relation = known.relation;
        let limit = Epsilon::new(100.0).unwrap();
        let mut curator = Curator::pure(&data, relation, limit, NoiseSeed::System).unwrap();
        let mut before = 0.0;
        let mut step = |curator: &Curator<'_>, epsilon: f64, what: &str| {
            let now = curator.ledger().pure_epsilon().unwrap();
            assert!(
                now - before >= epsilon * (1.0 - 1e-12),
                "{relation}, {what}: {}",
                now - before
            );
            assert!(now - before <= epsilon * 1.000_01, "{relation}, {what}: {}", now - before);
            before = now;
        };
        curator.measure_laplace(&Clique::new([0]), Ratio::new(5, 4).unwrap()).unwrap();
        step(&curator, 1.25, "Laplace");
        let rho = Rho::from_f64(0.5).unwrap();
        let clique = Clique::new([0]);
        let score = ScoreSensitivity::l1_error(relation);
        let sealed = |curator: &Curator<'_>| own::scores(curator, &clique, 2, score, own::counts);
        let scores = sealed(&curator);
        curator.select(Selection::Exponential, scores, rho, "choose").unwrap();
        step(&curator, 2.0, "exponential mechanism");
        let scores = sealed(&curator);
        curator.select_times(scores, rho, 4, "choose").unwrap();
        step(&curator, 4.0, "four draws of the exponential mechanism");
        let scores = sealed(&curator);
        curator.select(Selection::PermuteAndFlip, scores, rho, "choose").unwrap();
        step(&curator, 1.0, "permute-and-flip");
        let statistic = StatisticSensitivity::l1_errors(relation, 2).unwrap();
        let at = (NoiseForm::Laplace, rho);
        own::measure(&mut curator, &clique, statistic, own::counts, at).unwrap();
        step(&curator, 1.0, "statistics");
        if !relation.has_public_total() {
            let left = curator.remaining_epsilon().unwrap().to_f64();
            curator.total().unwrap();
            step(&curator, left / 100.0, "number of records");
        }
        assert!(curator.measure(&Clique::new([0]), Rho::from_units(1)).is_err());
    }
}

/// The smallest δ of ρ-zCDP at ε, by a fine grid over α (Canonne, Kamath & Steinke 2020, Corollary 13).
fn delta(rho: f64, epsilon: f64) -> f64 {
    let bound = |alpha: f64| {
        ((alpha - 1.0) * (alpha * rho - epsilon)).exp() / (alpha - 1.0)
            * ((1.0 - 1.0 / alpha).ln() * alpha).exp()
    };
    (1..400_000).map(|i| bound(1.0 + f64::from(i) * 2e-3)).fold(f64::INFINITY, f64::min)
}

#[test]
fn a_budget_buys_the_largest_rho_that_implies_it() {
    for epsilon in [0.1, 0.5, 1.0, 3.0, 10.0] {
        for target in [1e-12, 1e-9, 1e-6, 1e-3] {
            let rho = Budget::approximate(epsilon, target).unwrap().rho().to_f64();
            let found = delta(rho, epsilon);
            assert!(found <= target * 1.000_1, "epsilon {epsilon}: {found} > {target}");
            assert!(delta(rho * 1.001, epsilon) > target * 0.999, "epsilon {epsilon}: too small");
        }
        let pure = Budget::pure(epsilon).unwrap();
        let exact = epsilon * epsilon / 2.0;
        assert!((pure.rho().to_f64() - exact).abs() < 1e-5 * exact.max(1.0) && pure.delta() == 0.0);
    }
}
