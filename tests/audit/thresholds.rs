//! Values that a schema does not list, named from a threshold on: the law of what is named, the privacy of small tables by
//! brute force, and the δ that it costs.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole numbers")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use jointly::data::{Units, read_unlisted};
use jointly::domain::Schema;
use jointly::privacy::{
    Budget, Curator, Delta, Epsilon, Ledger, LedgerFile, NeighboringRelation, NoiseMechanism,
    NoiseSeed, NoisyValues, PrivacyUnit, RecordsPerUnit, Rho, Sensitive, delta_from_rho_epsilon,
};
use serde_json::json;
use tempfile::TempDir;

use crate::statistics::{ALARM, Counts, check_independent, check_law, chi_square, relations};

/// A file of private rows, one column of which has values that the schema does not list.
struct Rows {
    _folder: TempDir,
    path: PathBuf,
    schema: Schema,
    unit: PrivacyUnit,
}

impl Rows {
    /// Each value is a record of its own unit.
    fn new(values: &[&str], relation: NeighboringRelation) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("private.csv");
        let rows: Vec<String> =
            values.iter().enumerate().map(|(i, v)| format!("{v},u{i}\n")).collect();
        std::fs::write(&path, format!("x,unit\n{}", rows.concat())).unwrap();
        let schema = r#"{"columns": [
            {"name": "x", "kind": "categorical", "codes": ["known", "other"], "other": "other"}
        ]}"#;
        let schema = Schema::from_json(schema, "schema.json").unwrap();
        let unit = match relation.unit() {
            None => PrivacyUnit::of_record(relation),
            Some(most) => PrivacyUnit::of_units(Units::new("unit", most.get()).unwrap()).unwrap(),
        };
        Self { _folder: folder, path, schema, unit }
    }

    fn sealed(&self) -> Sensitive<BTreeMap<String, u32>> {
        let columns = ["x".to_owned()];
        read_unlisted(&self.path, &self.schema, &columns, &self.unit).unwrap().swap_remove(0)
    }
}

fn budget(epsilon: f64, delta: f64, thresholds: f64) -> Budget {
    Budget::approximate(epsilon, delta).unwrap().with_threshold_delta(thresholds).unwrap()
}

/// A curator whose ledger takes a δ of almost 1, so that one test makes many accesses.
fn curator(data: &Counts, relation: NeighboringRelation) -> Curator<'_> {
    budget(4_096.0, 0.999_999, 0.99).curator(data, relation, NoiseSeed::System).unwrap()
}

fn measure(curator: &mut Curator<'_>, rows: &Rows, rho: Rho, delta: f64) -> NoisyValues {
    curator.measure_unlisted("x", rows.sealed(), rho, Delta::new(delta).unwrap()).unwrap()
}

/// What the last entry states: σ², the threshold and δ.
fn stated(ledger: &Ledger) -> (f64, i64, f64) {
    match &ledger.entries().last().unwrap().mechanism {
        NoiseMechanism::ThresholdedGaussian { variance, threshold, delta, .. } => {
            (variance.to_f64(), i64::try_from(*threshold).unwrap(), delta.value())
        }
        other => panic!("no threshold: {other:?}"),
    }
}

/// `P[Z = x]` for whole x up to 40 standard deviations from 0, summed term by term.
fn law(variance: f64) -> impl Fn(i64) -> f64 {
    let weight = move |x: i64| (-((x * x) as f64) / (2.0 * variance)).exp();
    let reach = (40.0 * variance.sqrt()) as i64 + 40;
    let sum: f64 = (-reach..=reach).map(weight).sum();
    move |x| weight(x) / sum
}

fn tail(variance: f64, from: i64) -> f64 {
    let (probability, reach) = (law(variance), (40.0 * variance.sqrt()) as i64 + 40);
    (from..=from.max(0) + reach).map(probability).sum()
}

#[test]
fn a_value_of_many_records_has_the_noise_of_its_entry() {
    let data = Counts::new(vec![1], 1);
    for relation in relations() {
        let rows = Rows::new(&["many"; 400].map(|v| v), relation);
        let mut curator = curator(&data, relation);
        let rho = Rho::from_f64(0.05).unwrap();
        let drawn: Vec<i64> = (0..3_000)
            .map(|_| {
                let found = measure(&mut curator, &rows, rho, 1e-4);
                assert_eq!(found.values.len(), 1, "{relation}");
                found.values[0].1 - 400
            })
            .collect();
        let variance = stated(curator.ledger()).0;
        let weight = |x: f64| (-x * x / (2.0 * variance)).exp();
        check_law(&format!("named, {relation}"), &drawn, variance.sqrt(), weight);
        let pairs: Vec<_> = drawn.windows(2).map(|pair| (pair[0], pair[1])).collect();
        check_independent(&format!("named, {relation}"), &pairs);
        let expected = f64::from(relations_squared(relation)) / (2.0 * 0.05);
        assert!((variance - expected).abs() < 1e-6, "{relation}: {variance}");
    }
}

/// Δ₂² of a marginal, written out a second time.
fn relations_squared(relation: NeighboringRelation) -> u32 {
    match relation {
        NeighboringRelation::ReplaceOne => 2,
        NeighboringRelation::AddRemoveOne => 1,
        NeighboringRelation::AddRemoveUnit(most) => most.get() * most.get(),
    }
}

const DRAWS: usize = 4_000;

/// Values of a few records: how often they are named, and with which noisy counts.
#[test]
fn a_value_of_few_records_is_named_as_often_as_its_entry_states() {
    let data = Counts::new(vec![1], 1);
    for relation in relations() {
        let rows = Rows::new(&["one", "three", "known", "three", "other", "three"], relation);
        let mut curator = curator(&data, relation);
        let rho = Rho::from_f64(0.2).unwrap();
        let mut seen: [BTreeMap<i64, f64>; 2] = [BTreeMap::new(), BTreeMap::new()];
        for _ in 0..DRAWS {
            let found = measure(&mut curator, &rows, rho, 2e-4);
            for (value, seen) in ["one", "three"].iter().zip(&mut seen) {
                let count = found.values.iter().find(|(text, _)| text == value);
                *seen.entry(count.map_or(i64::MIN, |(_, count)| *count)).or_insert(0.0) += 1.0;
            }
            assert!(found.values.iter().all(|(text, _)| text == "one" || text == "three"));
        }
        let (variance, threshold, _) = stated(curator.ledger());
        let probability = law(variance);
        for (count, seen) in [1, 3].into_iter().zip(seen) {
            let mut observed = vec![seen.get(&i64::MIN).copied().unwrap_or(0.0)];
            let mut expected = vec![1.0 - tail(variance, threshold - count)];
            for noisy in threshold..threshold + 60 {
                observed.push(seen.get(&noisy).copied().unwrap_or(0.0));
                expected.push(probability(noisy - count));
            }
            assert_eq!(
                observed.iter().sum::<f64>() as usize,
                DRAWS,
                "{relation}: below {threshold}"
            );
            let z = chi_square(&observed, &expected);
            assert!(z.is_nan() || z < ALARM, "{relation}, {count} records: {z:.1} sd");
        }
    }
}

#[test]
fn thresholds_are_covered_by_their_delta_for_every_division_of_a_units_records() {
    let data = Counts::new(vec![1], 1);
    for relation in relations() {
        let rows = Rows::new(&["one"], relation);
        let records = relation.unit().map_or(1, |most| i64::from(most.get()));
        for (rho, delta) in [(0.3, 1e-3), (0.01, 1e-9), (0.2, 0.02)] {
            let mut curator = curator(&data, relation);
            measure(&mut curator, &rows, Rho::from_f64(rho).unwrap(), delta);
            let (variance, threshold, stated) = stated(curator.ledger());
            assert_eq!(stated.to_bits(), delta.to_bits());
            for part in 1..=records {
                let rest = records % part;
                let alone = if rest > 0 { tail(variance, threshold - rest) } else { 0.0 };
                let whole = (records / part) as f64 * tail(variance, threshold - part);
                assert!(whole + alone <= delta, "{relation}, {rho}: {:e}", whole + alone);
            }
            // Two records less, and the bound that is proved fails.
            let less = records as f64 * tail(variance, threshold - 2 - records);
            assert!(less > delta, "{relation}, {rho}: {less:e} at {threshold} - 2");
        }
    }
}

/// Counts of the values "a", "b", "c" in a table.
type Small = [i64; 3];

fn neighbors(table: Small, relation: NeighboringRelation) -> Vec<Small> {
    let moved = |changes: &[(usize, i64)]| {
        let mut other = table;
        changes.iter().for_each(|(value, change)| other[*value] += change);
        other.iter().all(|count| *count >= 0).then_some(other)
    };
    let values = 0..3;
    match relation {
        NeighboringRelation::ReplaceOne => {
            let pairs = values.clone().flat_map(|from| values.clone().map(move |to| (from, to)));
            // A listed value takes part too: a record may leave the values that count, or enter them.
            let singles = values.clone().flat_map(|value| [(value, -1), (value, 1)]);
            let moves = pairs.map(|(from, to)| vec![(from, -1), (to, 1)]);
            moves.chain(singles.map(|change| vec![change])).filter_map(|m| moved(&m)).collect()
        }
        NeighboringRelation::AddRemoveOne => values.filter_map(|v| moved(&[(v, 1)])).collect(),
        NeighboringRelation::AddRemoveUnit(most) => {
            let most = i64::from(most.get());
            let of = |a: i64, b: i64, c: i64| moved(&[(0, a), (1, b), (2, c)]);
            let all = (0..=most).flat_map(|a| (0..=most).map(move |b| (a, b)));
            let all = all.flat_map(|(a, b)| (0..=most).map(move |c| (a, b, c)));
            let all = all.filter(|(a, b, c)| (1..=most).contains(&(a + b + c)));
            all.filter_map(|(a, b, c)| of(a, b, c)).collect()
        }
    }
}

/// The distribution of what one value's count becomes: not named, or named with a noisy count from the threshold on.
fn outcomes(count: i64, variance: f64, threshold: i64, reach: i64) -> Vec<f64> {
    if count == 0 {
        let mut never = vec![0.0; reach as usize + 1];
        never[0] = 1.0;
        return never;
    }
    let probability = law(variance);
    let named = (threshold..threshold + reach).map(|noisy| probability(noisy - count));
    let mut all = vec![1.0 - tail(variance, threshold - count)];
    all.extend(named);
    all
}

/// `max over sets S of P[S] − e^ε Q[S]` for products of distributions.
fn hockey_stick(one: &[Vec<f64>], other: &[Vec<f64>], epsilon: f64) -> f64 {
    let products = |parts: &[Vec<f64>]| {
        parts.iter().fold(vec![1.0], |all: Vec<f64>, part| {
            all.iter().flat_map(|p| part.iter().map(move |q| p * q)).collect()
        })
    };
    let (one, other) = (products(one), products(other));
    let factor = epsilon.exp();
    one.iter().zip(&other).map(|(p, q)| (p - factor * q).max(0.0)).sum()
}

/// The exact δ of all pairs of neighbors among small tables, at several ε, is at most what the ledger's entry promises: its δ
/// and that of its ρ. At some pair the former is needed.
#[test]
fn all_neighbors_of_small_tables_are_as_close_as_the_entry_promises() {
    let data = Counts::new(vec![1], 1);
    for relation in relations() {
        let rows = Rows::new(&["one"], relation);
        let mut curator = curator(&data, relation);
        measure(&mut curator, &rows, Rho::from_f64(0.5).unwrap(), 0.01);
        let rho = curator.ledger().entries().last().unwrap().rho;
        let (variance, threshold, delta) = stated(curator.ledger());
        let (reach, mut closest) = ((8.0 * variance.sqrt()) as i64, 0.0_f64);
        let tables = (0..2).flat_map(|a| (0..2).map(move |b| [a, b, 3]));
        for table in tables.chain([[5, 0, 0], [4, 4, 0]]) {
            for other in neighbors(table, relation) {
                // Values that do not change have the same distribution in both.
                let changed: Vec<usize> = (0..3).filter(|v| table[*v] != other[*v]).collect();
                let of = |table: Small| -> Vec<Vec<f64>> {
                    let one = |v: &usize| outcomes(table[*v], variance, threshold, reach);
                    changed.iter().map(one).collect()
                };
                let (one, other_law) = (of(table), of(other));
                for epsilon in [0.2, 1.0, 2.5] {
                    let of_rho = delta_from_rho_epsilon(rho, Epsilon::new(epsilon).unwrap());
                    let found = hockey_stick(&one, &other_law, epsilon)
                        .max(hockey_stick(&other_law, &one, epsilon));
                    let promised = delta + of_rho;
                    assert!(found <= promised, "{relation}, {table:?} and {other:?}: {found}");
                    // A value of one neighbor alone: its whole δ is paid, and nothing else.
                    if changed.iter().all(|v| table[*v] == 0 || other[*v] == 0) {
                        closest = closest.max(found / delta);
                        assert!(found <= delta, "{relation}, {table:?} and {other:?}: {found}");
                    }
                }
            }
        }
        // For units the bound covers all divisions of their records, none of which attains it.
        let least = if relation.unit().is_some() { 0.15 } else { 0.25 };
        assert!(closest > least, "{relation}: {closest} of delta");
    }
}

#[test]
fn the_order_of_the_rows_does_not_show() {
    let data = Counts::new(vec![1], 1);
    let mut values = ["b"; 90].to_vec();
    values.extend(["a"; 70]);
    values.extend(["z", "c", "y"]);
    let run = |values: &[&str]| {
        let rows = Rows::new(values, NeighboringRelation::ReplaceOne);
        let budget = budget(1.0, 1e-3, 5e-4);
        let of = |seed| budget.curator(&data, NeighboringRelation::ReplaceOne, seed).unwrap();
        measure(&mut of(NoiseSeed::Fixed(3)), &rows, Rho::from_f64(0.01).unwrap(), 4e-4).values
    };
    let forward = run(&values);
    assert_eq!(forward.iter().map(|(text, _)| &**text).collect::<Vec<_>>(), ["a", "b"]);
    values.reverse();
    assert_eq!(run(&values), forward);
}

/// One unit has 200 records, of which two count.
#[test]
fn only_records_that_count_are_counted() {
    let data = Counts::new(vec![1], 1);
    let relation = NeighboringRelation::AddRemoveUnit(RecordsPerUnit::new(2).unwrap());
    let rows = Rows::new(&["seldom"; 100], relation);
    let more = "seldom,u0\n".repeat(199);
    let text = std::fs::read_to_string(&rows.path).unwrap() + &more;
    std::fs::write(&rows.path, text).unwrap();
    let mut curator = curator(&data, relation);
    let found = measure(&mut curator, &rows, Rho::from_f64(50.0).unwrap(), 0.1);
    let (variance, ..) = stated(curator.ledger());
    let (text, count) = &found.values[0];
    let off = (count - 101).abs() as f64 / variance.sqrt();
    assert!(text == "seldom" && off < 10.0, "{count} with variance {variance}");
}

#[test]
fn delta_is_charged_summed_and_never_exceeded() {
    let data = Counts::new(vec![1], 1);
    let relation = NeighboringRelation::ReplaceOne;
    let rows = Rows::new(&["one"], relation);
    let small = Rho::from_units(1 << 20);
    let ask = |curator: &mut Curator<'_>, delta: f64| {
        curator.measure_unlisted("x", rows.sealed(), small, Delta::new(delta).unwrap())
    };
    // A budget without a part for thresholds names nothing.
    let plain = Budget::approximate(1.0, 1e-6).unwrap();
    let mut curator = plain.curator(&data, relation, NoiseSeed::System).unwrap();
    assert!(ask(&mut curator, 1e-30).is_err() && curator.spent().is_zero());
    let mut pure = Budget::pure(1.0).unwrap().curator(&data, relation, NoiseSeed::System).unwrap();
    assert!(ask(&mut pure, 1e-30).is_err() && pure.spent().is_zero());

    let mut curator = budget(1.0, 1e-6, 6e-7).curator(&data, relation, NoiseSeed::System).unwrap();
    ask(&mut curator, 2e-7).unwrap();
    ask(&mut curator, 3e-7).unwrap();
    let spent = curator.spent();
    assert!(ask(&mut curator, 1.1e-7).is_err());
    assert_eq!(curator.spent(), spent, "a refused access costs nothing");
    let ledger = curator.ledger();
    assert!(ledger.delta_spent() >= 5e-7 && ledger.delta_spent() < 5.000_001e-7);
    assert!((ledger.remaining_delta() - 1e-7).abs() < 1e-15);

    // The ledger's text, and what is refused of it.
    let text = serde_json::to_value(ledger).unwrap();
    assert_eq!(serde_json::from_value::<Ledger>(text.clone()).unwrap(), *ledger);
    let tampered = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut text = text.clone();
        change(&mut text);
        serde_json::from_value::<Ledger>(text).is_err()
    };
    assert!(tampered(&|v| v["delta_limit"] = json!(4e-7)), "below what is spent");
    assert!(tampered(&|v| v["delta_limit"] = json!(1.5)));
    assert!(tampered(&|v| v["delta_spent"] = json!(0.0)));
    assert!(tampered(&|v| v["entries"][0]["mechanism"]["delta"] = json!(1e-9)), "a δ too small");
    assert!(tampered(&|v| v["entries"][0]["mechanism"]["threshold"] = json!(2)));
    assert!(tampered(&|v| v["entries"][0]["rho"] = json!({ "units": 1 })));
    assert!(!tampered(&|_| {}));
    // A run with less for thresholds does not go on with it.
    let other = |part: f64| {
        let mut other =
            budget(1.0, 1e-6, part).curator(&data, relation, NoiseSeed::System).unwrap();
        let ledger = serde_json::from_value::<Ledger>(text.clone()).unwrap();
        other.resume(ledger.entries()).is_ok()
    };
    assert!(other(6e-7) && !other(4e-7));
}

/// ε and δ of a second command are those of both: its ρ is what δ leaves beside the thresholds of the first.
#[test]
fn a_later_budget_pays_for_the_delta_of_an_earlier_ledger() {
    let data = Counts::new(vec![1], 1);
    let folder = TempDir::new().unwrap();
    for relation in relations() {
        let rows = Rows::new(&["one"], relation);
        let mut first =
            budget(0.2, 1e-6, 5e-7).curator(&data, relation, NoiseSeed::System).unwrap();
        first = first.with_unit(rows.unit.clone()).unwrap();
        measure(&mut first, &rows, Rho::from_units(1 << 20), 5e-7);
        let path = folder.path().join("first.json");
        LedgerFile::new("bins", None, &first).write(&path).unwrap();
        let file = LedgerFile::read(&path).unwrap();

        let whole = Budget::approximate(1.0, 1e-6).unwrap();
        let after = whole.after(&file).unwrap();
        assert!((after.epsilon() - 1.0).abs() < 1e-15 && (after.delta() - 1e-6).abs() < 1e-21);
        let of_rho = delta_from_rho_epsilon(after.rho(), Epsilon::new(1.0).unwrap());
        assert!(of_rho + file.ledger.delta_spent() <= 1e-6, "{relation}: {of_rho:e}");
        let seed = NoiseSeed::System;
        let next = whole.curator_following(&data, &rows.unit, seed, Some(&file)).unwrap();
        assert_eq!((next.ledger().limit(), next.spent()), (after.rho(), first.spent()));
        assert_eq!(next.ledger().delta_spent().to_bits(), 5e-7_f64.to_bits());
        // Nothing is left for thresholds of its own, and a budget that does not pay for the first is refused.
        assert!(next.remaining_delta() < 1e-20);
        let mut plain = whole.curator(&data, relation, NoiseSeed::System).unwrap();
        plain = plain.with_unit(rows.unit.clone()).unwrap();
        assert!(plain.charge_earlier(&file).is_err() && plain.spent().is_zero());
        assert!(Budget::approximate(1.0, 5e-7).unwrap().after(&file).is_err());
        assert!(Budget::pure(1.0).unwrap().after(&file).is_err());
    }
}
