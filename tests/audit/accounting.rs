//! The curator's ledger: what is spent, what is refused, what is repeated.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::own;
use jointly::data::Projectable;
use jointly::domain::{Clique, Domain};
use jointly::privacy::NeighboringRelation::{AddRemoveOne, AddRemoveUnit, ReplaceOne};
use jointly::privacy::{
    Curator, Delta, Epsilon, Ledger, LedgerEntry, LedgerFile, NoiseForm, NoiseMechanism, NoiseSeed,
    Ratio, RecordsPerUnit, ResidualQuery, Rho, ScoreSensitivity, Selection, StatisticSensitivity,
    delta_from_rho_epsilon, epsilon_from_rho_delta, residual_cost, rho_from_epsilon_delta,
};
use jointly::{PrivacyError, Result};
use proptest::prelude::*;

/// Ten records of two attributes, known by their marginals.
struct Ten(Domain);

impl Ten {
    fn new() -> Self {
        Self(Domain::new([("sex", 2), ("age", 3)]).unwrap())
    }
}

impl Projectable for Ten {
    fn domain(&self) -> &Domain {
        &self.0
    }
    fn records(&self) -> u64 {
        10
    }
    fn project_many(
        &self,
        cliques: &[Clique],
    ) -> std::result::Result<Vec<Vec<u32>>, jointly::CommonError> {
        let project = |clique: &Clique| match clique.attributes() {
            [0] => vec![4, 6],
            [1] => vec![5, 0, 5],
            _ => vec![2, 0, 2, 3, 0, 3],
        };
        Ok(cliques.iter().map(project).collect())
    }
}

fn rho(value: f64) -> Rho {
    Rho::from_f64(value).unwrap()
}

fn curator(data: &Ten, limit: f64) -> Curator<'_> {
    Curator::new(data, ReplaceOne, rho(limit), NoiseSeed::Fixed(9)).unwrap()
}

/// One round of selecting and measuring, as bytes.
fn round(curator: &mut Curator<'_>, number: u32, cost: Rho) -> Result<String> {
    curator.begin_round(number)?;
    let cliques = [Clique::new([0]), Clique::new([1]), Clique::new([0, 1])];
    let marginals = curator.marginals(&cliques)?;
    let mut errors = marginals.l1_errors();
    let zeros = [&[0_u32; 2][..], &[0; 3], &[0; 6]];
    errors.compare(&marginals, &[0, 1, 2], &zeros, 1.0)?;
    let (measure, select) = cost.fraction(0.8)?;
    let how = Selection::Exponential;
    let chosen = curator.select(how, errors.plain(&[0, 1, 2])?, select, "clique")?;
    let noisy = curator.measure(&cliques[chosen], measure)?;
    Ok(format!("{noisy:?}"))
}

#[test]
fn every_access_is_in_the_ledger_and_the_sum_is_exact() {
    let data = Ten::new();
    let mut curator = curator(&data, 1.0);
    for number in 1..=10 {
        let (share, _) = curator.remaining().split(1, u64::from(11 - number)).unwrap();
        round(&mut curator, number, share).unwrap();
    }
    let ledger = curator.ledger();
    assert_eq!(ledger.entries().len(), 20);
    assert_eq!((curator.spent(), curator.remaining()), (rho(1.0), Rho::ZERO));
    let sum: u64 = ledger.entries().iter().map(|entry| entry.rho.units()).sum();
    assert_eq!(sum, 1 << 40);
    let last = ledger.entries().last().unwrap();
    assert_eq!((last.round, last.purpose.as_str()), (10, "marginal"));
    assert!(
        last.clique.as_ref().is_some_and(|names| names.iter().all(|n| n == "sex" || n == "age"))
    );
    assert!(round(&mut curator, 11, Rho::from_units(2)).is_err());
}

#[test]
fn the_variance_is_what_the_budget_pays_for_under_either_relation() {
    let data = Ten::new();
    for (relation, variance) in [(ReplaceOne, (4, 1)), (AddRemoveOne, (2, 1))] {
        let mut curator = Curator::new(&data, relation, rho(1.0), NoiseSeed::Fixed(1)).unwrap();
        let clique = Clique::new([1]);
        let noisy = curator.measure(&clique, rho(0.25)).unwrap();
        assert_eq!(noisy.variance, Ratio::new(variance.0, variance.1).unwrap());
        assert_eq!(noisy.values.len(), 3);
        assert_eq!(curator.spent(), rho(0.25));
    }
}

#[test]
fn the_number_of_records_is_public_or_paid_for() {
    let data = Ten::new();
    let mut bounded = curator(&data, 1.0);
    assert_eq!(bounded.records(), Some(10));
    assert!(bounded.measure_total(rho(0.1)).is_err());
    assert_eq!(bounded.spent(), Rho::ZERO);

    let mut unbounded =
        Curator::new(&data, AddRemoveOne, rho(1000.0), NoiseSeed::Fixed(1)).unwrap();
    assert_eq!(unbounded.records(), None);
    assert_eq!(unbounded.measure_total(rho(900.0)).unwrap(), 10, "no noise is left at rho 900");
    assert_eq!(unbounded.spent(), rho(900.0));
}

#[test]
fn what_would_overrun_is_refused_and_spends_nothing() {
    let data = Ten::new();
    let mut curator = curator(&data, 0.5);
    round(&mut curator, 1, rho(0.3)).unwrap();
    let before = curator.ledger().clone();
    let clique = Clique::new([0]);
    let too_much = curator.remaining().checked_add(Rho::from_units(1)).unwrap();
    let error = curator.measure(&clique, too_much).unwrap_err();
    assert!(matches!(error, PrivacyError::BudgetExceeded { .. }), "{error}");
    let sensitivity = ScoreSensitivity::l1_error(ReplaceOne);
    let scores = own::scores(&curator, &clique, 2, sensitivity, |_| vec![0.0, 1.0]);
    assert!(curator.select(Selection::Exponential, scores, too_much, "clique").is_err());
    assert_eq!(*curator.ledger(), before);
    // All that is left can still be spent.
    let rest = curator.remaining();
    curator.measure(&clique, rest).unwrap();
    assert_eq!(curator.remaining(), Rho::ZERO);
}

#[test]
fn nothing_is_free() {
    let data = Ten::new();
    let mut curator = curator(&data, 0.5);
    let clique = Clique::new([0]);
    assert!(curator.measure(&clique, Rho::ZERO).is_err());
    let sensitivity = ScoreSensitivity::l1_error(ReplaceOne);
    let scores = own::scores(&curator, &clique, 2, sensitivity, |_| vec![0.0, 1.0]);
    assert!(curator.select(Selection::Exponential, scores, Rho::ZERO, "clique").is_err());
}

#[test]
fn cliques_outside_the_domain_are_refused_before_anything_is_charged() {
    let data = Ten::new();
    let mut curator = curator(&data, 0.5);
    let outside = Clique::new([0, 2]);
    assert!(curator.measure(&outside, rho(0.1)).is_err());
    assert!(curator.measure_cell(&outside, 0, rho(0.1)).is_err());
    assert!(curator.measure_laplace(&outside, Ratio::new(1, 4).unwrap()).is_err());
    assert!(curator.marginals(&[Clique::new([2])]).is_err());
    assert_eq!(curator.spent(), Rho::ZERO);
}

#[test]
fn a_sensitivity_of_another_relation_is_refused_before_anything_is_charged() {
    let data = Ten::new();
    let (clique, two) = (Clique::new([0]), |_: &[u32]| vec![0.0, 1.0]);
    let relations = [ReplaceOne, AddRemoveOne, AddRemoveUnit(RecordsPerUnit::new(3).unwrap())];
    for own in relations {
        for other in relations {
            let mut curator = Curator::new(&data, own, rho(1.0), NoiseSeed::Fixed(1)).unwrap();
            let scores = own::scores(&curator, &clique, 2, ScoreSensitivity::l1_error(other), two);
            let chosen = curator.select(Selection::Exponential, scores, rho(0.1), "clique");
            let errors = StatisticSensitivity::l1_errors(other, 2).unwrap();
            let at = (NoiseForm::Gaussian, rho(0.1));
            let measured = own::measure(&mut curator, &clique, errors, two, at);
            assert_eq!((chosen.is_ok(), measured.is_ok()), (own == other, own == other));
            assert_eq!(curator.spent().is_zero(), own != other);
        }
    }
}

#[test]
fn extreme_budgets_and_units_neither_panic_nor_overrun() {
    let data = Ten::new();
    let most = AddRemoveUnit(RecordsPerUnit::new(RecordsPerUnit::MAX).unwrap());
    let clique = Clique::new([0, 1]);
    let units = [1, 2, 1 << 20, (1 << 40) + 1, (1 << 50) + 1, u64::MAX - 1, u64::MAX];
    for relation in [ReplaceOne, AddRemoveOne, most] {
        for cost in units.map(Rho::from_units) {
            let new = || Curator::new(&data, relation, cost, NoiseSeed::Fixed(2)).unwrap();
            assert!(new().measure(&clique, cost).is_ok());
            assert!(new().measure_cell(&clique, 5, cost).is_ok());
            assert_eq!(new().measure_total(cost).is_ok(), relation != ReplaceOne);
            let one = Ratio::new(1, 1).unwrap();
            let query = ResidualQuery::new(data.domain(), clique.clone(), clique.clone(), one);
            let queries = [query.unwrap()];
            let needed = residual_cost(data.domain(), &queries, relation).unwrap();
            assert_eq!(new().measure_residuals(&queries, cost).is_ok(), cost >= needed);
            for selection in [Selection::Exponential, Selection::PermuteAndFlip] {
                let mut curator = new();
                let score = ScoreSensitivity::l1_error_difference(relation);
                let far = |_: &[u32]| vec![f64::MIN, 0.0, f64::MAX];
                let far = own::scores(&curator, &clique, 3, score, far);
                curator.select(selection, far, cost, "test").unwrap();
                assert_eq!(curator.remaining(), Rho::ZERO);
            }
            for form in [NoiseForm::Gaussian, NoiseForm::Laplace] {
                let mut curator = new();
                let sensitivity = StatisticSensitivity::l1_errors(relation, 3).unwrap();
                let values = |_: &[u32]| vec![f64::MAX, f64::MIN, f64::NAN];
                let found = own::measure(&mut curator, &clique, sensitivity, values, (form, cost));
                assert!(found.is_ok() || curator.spent().is_zero());
            }
        }
    }
}

#[test]
fn hostile_ledgers_are_refused_or_read_and_never_overflow() {
    let data = Ten::new();
    let largest = u64::MAX.to_string();
    let mechanisms = [
        r#"{"kind":"discrete-gaussian","variance":V,"squared-l2-sensitivity":2}"#,
        r#"{"kind":"discrete-laplace","scale":V,"l1-sensitivity":2}"#,
        r#"{"kind":"joint-discrete-gaussian","queries":N,"squared-sensitivity":V,"relation":"replace-one"}"#,
        r#"{"kind":"exponential-mechanism","epsilon":V,"sensitivity":1.0,"grid":1.0,"candidates":N}"#,
        r#"{"kind":"permute-and-flip","epsilon":V,"sensitivity":1.0,"grid":1.0,"candidates":N}"#,
        r#"{"kind":"grid-gaussian","variance":V,"squared-sensitivity":N,"numbers":N,"grid":1.0,"relation":"replace-one"}"#,
        r#"{"kind":"grid-laplace","scale":V,"sensitivity":N,"numbers":N,"grid":1.0,"relation":"replace-one"}"#,
    ];
    let ratios = [("0", "1"), ("1", "0"), (&largest, "1"), ("1", &largest), (&largest, "7")];
    let mut read = 0;
    for mechanism in mechanisms {
        for (numerator, denominator) in ratios {
            for (units, number) in
                [("0", "0"), ("1", &largest), (&largest, "1"), (&largest, &largest)]
            {
                let ratio = format!(r#"{{"numerator":{numerator},"denominator":{denominator}}}"#);
                let mechanism = mechanism.replace('V', &ratio).replace('N', number);
                let text = format!(
                    r#"{{"limit":{{"units":{largest}}},"spent":{{"units":{units}}},
                        "remaining":{{"units":{}}},"epsilon_limit":{{"numerator":{largest},"denominator":1}},
                        "entries":[{{"round":4294967295,"purpose":"x","clique":null,
                        "rho":{{"units":{units}}},"mechanism":{mechanism}}}]}}"#,
                    u64::MAX - units.parse::<u64>().unwrap(),
                );
                let Ok(ledger) = serde_json::from_str::<Ledger>(&text) else { continue };
                read += 1;
                assert!(ledger.spent() <= ledger.limit());
                let pure = Epsilon::new(1.0).unwrap();
                let mut pure = Curator::pure(&data, ReplaceOne, pure, NoiseSeed::Fixed(1)).unwrap();
                let file = LedgerFile::of_release("x", None, pure.unit(), true, &ledger);
                _ = pure.charge_earlier(&file);
                assert!(pure.spent() <= pure.ledger().limit());
                let mut run = curator(&data, 1.0);
                assert!(run.charge_earlier(&file).is_err() || run.spent() <= rho(1.0));
            }
        }
    }
    assert!(read > 5, "{read}");
}

/// Records whose counts cannot be had.
struct Broken(Domain);

impl Projectable for Broken {
    fn domain(&self) -> &Domain {
        &self.0
    }
    fn records(&self) -> u64 {
        10
    }
    fn project_many(
        &self,
        _cliques: &[Clique],
    ) -> std::result::Result<Vec<Vec<u32>>, jointly::CommonError> {
        Ok(vec![vec![10]])
    }
}

#[test]
fn counts_of_another_shape_are_an_error_after_the_charge() {
    let data = Broken(Domain::new([("sex", 2)]).unwrap());
    let mut curator = Curator::new(&data, ReplaceOne, rho(1.0), NoiseSeed::Fixed(1)).unwrap();
    let clique = Clique::new([0]);
    let error = curator.measure(&clique, rho(0.1)).unwrap_err();
    assert!(
        matches!(error, PrivacyError::Common(jointly::CommonError::ShapeMismatch { .. })),
        "{error}"
    );
    assert!(curator.measure_cell(&clique, 1, rho(0.1)).is_err());
    assert_eq!(curator.ledger().entries().len(), 2);
}

#[test]
fn all_of_a_pure_budget_can_be_spent_at_once() {
    let data = Ten::new();
    for epsilon in [1e-6, 0.000_003, 0.1, 1.000_001, 3.7, 1024.0] {
        let limit = Epsilon::new(epsilon).unwrap();
        let mut curator = Curator::pure(&data, ReplaceOne, limit, NoiseSeed::Fixed(1)).unwrap();
        let all = curator.remaining_epsilon().unwrap();
        curator.measure_laplace(&Clique::new([0]), all).unwrap();
        assert_eq!(curator.ledger().pure_epsilon(), Some(all.to_f64()));
        assert!(curator.remaining_epsilon().unwrap().numerator() == 0 && all.to_f64() <= epsilon);
    }
}

#[test]
fn a_resumed_run_with_a_fixed_seed_repeats_the_very_same_draws() {
    let data = Ten::new();
    let cost = rho(0.1);
    let mut straight = curator(&data, 1.0);
    let whole: Vec<String> = (1..=6).map(|r| round(&mut straight, r, cost).unwrap()).collect();

    let mut first = curator(&data, 1.0);
    let mut parts: Vec<String> = (1..=3).map(|r| round(&mut first, r, cost).unwrap()).collect();
    let text = serde_json::to_string(first.ledger()).unwrap();
    let ledger: Ledger = serde_json::from_str(&text).unwrap();
    let mut second = curator(&data, 1.0);
    second.resume(ledger.entries()).unwrap();
    parts.extend((4..=6).map(|r| round(&mut second, r, cost).unwrap()));
    assert_eq!(parts, whole);
    assert_eq!(second.ledger(), straight.ledger());
    assert!(!second.is_private());
}

#[test]
fn rounds_go_forward_and_a_resumed_run_begins_one_before_it_draws() {
    let data = Ten::new();
    let mut run = curator(&data, 1.0);
    assert!(run.begin_round(0).is_err(), "round 0 is the time before the first");
    round(&mut run, 2, rho(0.1)).unwrap();
    assert!(run.begin_round(2).is_err() && run.begin_round(1).is_err());
    let limit = run.ledger().limit();
    let mut resumed = Curator::new(&data, ReplaceOne, limit, NoiseSeed::System).unwrap();
    resumed.resume(run.ledger().entries()).unwrap();
    assert!(resumed.is_private());
    let clique = Clique::new([0]);
    assert!(resumed.measure(&clique, rho(0.1)).is_err());
    assert_eq!(resumed.spent(), rho(0.1));
    assert!(resumed.begin_round(1).is_err());
    assert!(resumed.begin_round(2).is_ok() && resumed.begin_round(2).is_err());
}

#[test]
fn a_tampered_ledger_is_refused() {
    let data = Ten::new();
    let mut run = curator(&data, 0.5);
    round(&mut run, 1, rho(0.5)).unwrap();
    let text = serde_json::to_string_pretty(run.ledger()).unwrap();
    assert_eq!(serde_json::from_str::<Ledger>(&text).unwrap(), *run.ledger());

    let tamper = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
        change(&mut value);
        serde_json::from_value::<Ledger>(value)
    };
    assert!(tamper(&|_| {}).is_ok());
    // An entry taken out, an entry made cheaper, a limit lowered, a noise scale lowered, a field made up.
    assert!(tamper(&|v| drop(v["entries"].as_array_mut().unwrap().pop())).is_err());
    let cheap = serde_json::json!({ "units": 1 });
    assert!(tamper(&|v| v["entries"][1]["rho"] = cheap.clone()).is_err());
    assert!(tamper(&|v| v["limit"] = cheap.clone()).is_err());
    let small = serde_json::json!({ "numerator": 1, "denominator": 1 });
    assert!(tamper(&|v| v["entries"][1]["mechanism"]["variance"] = small.clone()).is_err());
    assert!(tamper(&|v| v["entries"][0]["mechanism"]["epsilon"] = small.clone()).is_err());
    assert!(tamper(&|v| v["entries"][0]["note"] = "free".into()).is_err());

    // A ledger of the other relation: its noise was drawn for another sensitivity.
    let mut other = Curator::new(&data, AddRemoveOne, rho(0.5), NoiseSeed::System).unwrap();
    assert!(other.resume(run.ledger().entries()).is_err());
    // Above what is left, and a curator that has spent something.
    assert!(curator(&data, 0.4).resume(run.ledger().entries()).is_err());
    let ledger = run.ledger().clone();
    assert!(run.resume(ledger.entries()).is_err());
}

proptest! {
    #[test]
    fn spent_and_remaining_add_up_to_the_limit_whatever_is_charged(
        limit in 0_u64..1 << 41,
        costs in prop::collection::vec(1_u64..1 << 40, 0..12),
    ) {
        let mut ledger = Ledger::new(Rho::from_units(limit));
        let mut expected = 0;
        for cost in costs {
            let charged = ledger.charge(LedgerEntry {
                round: 0,
                purpose: "test".into(),
                clique: None,
                cell: None,
                cells: None,
                mechanism: NoiseMechanism::DiscreteGaussian {
                    variance: Ratio::new(1 << 39, cost).unwrap(),
                    squared_l2_sensitivity: 1,
                },
                records_per_unit: None,
                rho: Rho::from_units(cost),
            });
            prop_assert_eq!(charged.is_ok(), expected + cost <= limit);
            expected += if charged.is_ok() { cost } else { 0 };
            prop_assert_eq!(ledger.spent().units(), expected);
            prop_assert_eq!(ledger.remaining().units(), limit - expected);
        }
        let text = serde_json::to_string(&ledger).unwrap();
        prop_assert_eq!(serde_json::from_str::<Ledger>(&text).unwrap(), ledger);
    }

    #[test]
    fn the_conversion_keeps_its_promise_and_wastes_nothing(
        epsilon in 1e-3..50.0_f64,
        exponent in -15.0..-0.5_f64,
    ) {
        let (epsilon, delta) =
            (Epsilon::new(epsilon).unwrap(), Delta::new(10_f64.powf(exponent)).unwrap());
        let rho = rho_from_epsilon_delta(epsilon, delta).unwrap();
        let next = Rho::from_units(rho.units() + 1);
        prop_assert!(delta_from_rho_epsilon(rho, epsilon) <= delta.value());
        prop_assert!(delta_from_rho_epsilon(next, epsilon) > delta.value());
        let back = epsilon_from_rho_delta(rho, delta).unwrap();
        prop_assert!(delta_from_rho_epsilon(rho, back) <= delta.value());
        // The bound on δ is rounded up, by steps that are not monotone in ε.
        prop_assert!(back.value() <= epsilon.value() * (1.0 + 1e-12));
        prop_assert!(back.value() >= epsilon.value() * (1.0 - 1e-3) - 1e-9);
    }

    #[test]
    fn delta_grows_with_rho_and_falls_with_epsilon(
        units in 1_u64..1 << 42,
        epsilon in 1e-3..20.0_f64,
    ) {
        let delta = |units, epsilon| {
            delta_from_rho_epsilon(Rho::from_units(units), Epsilon::new(epsilon).unwrap())
        };
        prop_assert!(delta(units, epsilon) <= delta(units + units / 4 + 1, epsilon));
        prop_assert!(delta(units, epsilon) >= delta(units, epsilon * 1.1));
    }
}

/// ρ in units of 2⁻⁴⁰ at (ε, δ), by a dense grid and ternary search over α in 40-digit arithmetic, rounded down.
const REFERENCE: [(f64, f64, u64); 9] = [
    (0.1, 1e-09, 194_765_782),
    (1.0, 1e-09, 16_463_051_015),
    (1.0, 1e-05, 33_597_331_725),
    (3.0, 1e-06, 203_486_441_749),
    (10.0, 1e-09, 1_199_331_565_396),
    (0.01, 1e-12, 1_492_968),
    (30.0, 0.001, 14_085_176_542_947),
    (1.0, 0.5, 1_117_504_412_127),
    (100.0, 1e-10, 44_542_046_636_889),
];

#[test]
fn rho_agrees_with_high_precision_references_and_is_never_above_them() {
    for (epsilon, delta, units) in REFERENCE {
        let (e, d) = (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
        let found = rho_from_epsilon_delta(e, d).unwrap().units();
        assert!(found <= units, "({epsilon}, {delta}): {found} above {units}");
        let slack = 1 + units / 100_000_000_000;
        assert!(units - found <= slack, "({epsilon}, {delta}): {found}, expected {units}");
    }
}

#[test]
#[expect(clippy::unreadable_literal, reason = "reference values, as they were computed")]
fn delta_is_never_below_its_high_precision_reference() {
    for (rho_value, epsilon, reference) in [
        (0.0078125, 1.0, 1.188677849012827e-16),
        (0.5, 0.5, 0.3998898490217078),
        (2.0, 20.0, 1.8896033873603834e-19),
        (9.5367431640625e-07, 0.0078125, 9.994154441776151e-12),
        (0.5, 0.001953125, 0.5582421125902828),
    ] {
        let found = delta_from_rho_epsilon(rho(rho_value), Epsilon::new(epsilon).unwrap());
        assert!(found >= reference, "{found}, expected at least {reference}");
        assert!(found <= reference * (1.0 + 1e-11), "{found}, expected {reference}");
    }
    assert_eq!(delta_from_rho_epsilon(Rho::ZERO, Epsilon::new(1.0).unwrap()).to_bits(), 0);
}

#[test]
fn parameters_that_promise_nothing_are_refused() {
    for epsilon in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        let error = Epsilon::new(epsilon).unwrap_err();
        assert!(matches!(error, PrivacyError::InvalidBudget { name: "epsilon", .. }), "{error}");
    }
    for delta in [0.0, 1.0, -0.1, 2.0, f64::NAN] {
        let error = Delta::new(delta).unwrap_err();
        assert!(matches!(error, PrivacyError::InvalidBudget { name: "delta", .. }), "{error}");
    }
    let huge = |epsilon| {
        rho_from_epsilon_delta(Epsilon::new(epsilon).unwrap(), Delta::new(1e-9).unwrap()).unwrap()
    };
    assert!(huge(1e6) < huge(1e9) && huge(1e9) == huge(1e300), "an epsilon that is no promise");
    let tiny = Epsilon::new(1e-9).unwrap();
    assert!(rho_from_epsilon_delta(tiny, Delta::new(1e-9).unwrap()).is_err());
    assert!(epsilon_from_rho_delta(Rho::ZERO, Delta::new(1e-9).unwrap()).is_err());
    assert!(serde_json::from_str::<Epsilon>("0.0").is_err());
}
