//! What mechanisms and commands write into their ledgers, against the table of `docs/theory/sensitivities.md`; and what
//! is refused of a ledger or a checkpoint that was written before.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::Path;

use crate::own;
use jointly::data::{Dataset, PublicData, Units};
use jointly::domain::{Clique, Domain};
use jointly::mechanism::{AnchorPgm, CATALOGUE, Mechanism, Task, find};
use jointly::observe::Silent;
use jointly::privacy::NeighboringRelation::{AddRemoveOne, AddRemoveUnit, ReplaceOne};
use jointly::privacy::{
    Budget, Checkpoint, Curator, Epsilon, Inputs, Ledger, LedgerEntry, LedgerFile,
    NeighboringRelation, NoiseMechanism, NoiseSeed, PrivacyUnit, Ratio, RecordsPerUnit, Rho,
    ScoreSensitivity, Selection,
};
use jointly::query::{WeightedClique, Workload};
use serde_json::{Map, Value, json};

use crate::quick::quick;
use crate::statistics::relations;

fn domain() -> Domain {
    Domain::new([("a", 2), ("b", 3), ("c", 2)]).unwrap()
}

fn table(records: u32) -> Dataset {
    let rows: Vec<[u32; 3]> = (0..records).map(|i| [i % 2, i / 2 % 3, i / 5 % 2]).collect();
    Dataset::from_rows(domain(), &rows).unwrap()
}

fn rho(value: f64) -> Rho {
    Rho::from_f64(value).unwrap()
}

/// Weights that differ from attribute to attribute: `w_r = Σ_s c_s |r ∩ s|` is 2, 2.5 and 0.5 for single attributes, 3
/// for {b, c} and 4.5 for {a, b}.
fn workload() -> Workload {
    let weighted = [([0, 1], 2.0), ([1, 2], 0.5)]
        .map(|(clique, weight)| WeightedClique { clique: Clique::new(clique), weight });
    Workload::new(weighted, &domain()).unwrap()
}

/// The sensitivity of a mechanism's scores in counts, and its largest possible weight, as the documentation has them.
fn documented(name: &str, relation: NeighboringRelation) -> Option<(u32, f64)> {
    let (error, cell) = match relation {
        ReplaceOne => (2, 1),
        AddRemoveOne => (1, 1),
        NeighboringRelation::AddRemoveUnit(most) => (most.get(), most.get()),
    };
    match name {
        "jam-pgm" => Some((2 * error, 1.0)),
        "aim" | "anchor-pgm" => Some((error, 4.5)),
        "mst" | "mwem-pgm" => Some((error, 1.0)),
        "mwem" | "pmw-pub" | "pep" | "pep-pub" | "gem" | "gem-pub" | "rap" | "rap-softmax"
        | "fem" | "dual-query" => Some((cell, 1.0)),
        _ => None,
    }
}

#[test]
fn the_selections_of_every_mechanism_state_the_documented_sensitivity() {
    let private = table(400);
    let public = [PublicData::new("p", table(90), &domain()).unwrap()];
    let mut seen = BTreeMap::new();
    for relation in relations() {
        for entry in CATALOGUE.iter().filter(|entry| entry.spends) {
            let mechanism = entry.build(&quick(entry)).unwrap();
            let mut curator =
                Curator::new(&private, relation, rho(20.0), NoiseSeed::System).unwrap();
            let workload = workload();
            let task = Task::new(&workload, &public);
            let release = mechanism.run(&mut curator, &task, &mut Silent).unwrap();
            for found in release.ledger.entries() {
                let purpose = &found.purpose;
                let (NoiseMechanism::ExponentialMechanism { sensitivity, score, .. }
                | NoiseMechanism::PermuteAndFlip { sensitivity, score, .. }) = found.mechanism
                else {
                    continue;
                };
                let (counts, weight) = documented(entry.name, relation)
                    .unwrap_or_else(|| panic!("{}: an undocumented selection", entry.name));
                // The mean error of a whole model has weights that sum to 1.
                let weight = if purpose == "choose a model" { 1.0 } else { weight };
                let score = score.unwrap();
                assert_eq!(
                    (score.counts(), score.relation()),
                    (counts, relation),
                    "{}",
                    entry.name
                );
                let expected = f64::from(counts) * weight;
                assert!(
                    (sensitivity - expected).abs() < 1e-12,
                    "{}, {relation}: {sensitivity}, expected {expected}",
                    entry.name
                );
                *seen.entry(entry.name).or_insert(0) += 1;
            }
        }
    }
    assert_eq!(seen.len(), 15, "{seen:?}");
}

#[test]
fn laplace_noise_costs_its_epsilon_squared_over_two_rounded_up() {
    let private = table(10);
    for (numerator, denominator) in [(2, 3), (1, 7), (5, 11), (1000, 1001)] {
        let limit = Rho::from_units(u64::MAX);
        let mut curator = Curator::new(&private, ReplaceOne, limit, NoiseSeed::System).unwrap();
        let epsilon = Ratio::new(numerator, denominator).unwrap();
        curator.measure_laplace(&Clique::new([0]), epsilon).unwrap();
        let exact = u128::from(numerator * numerator) << 39;
        let square = u128::from(denominator * denominator);
        assert!(!exact.is_multiple_of(square));
        assert_eq!(u128::from(curator.spent().units()), exact / square + 1, "{epsilon}");
    }
}

/// A curator that has made one selection, and its ledger as JSON.
fn with_selection(private: &Dataset, relation: NeighboringRelation) -> (Ledger, Value) {
    let mut curator = Curator::new(private, relation, rho(1.0), NoiseSeed::System).unwrap();
    curator.begin_round(1).unwrap();
    let score = ScoreSensitivity::l1_error(relation);
    let scores = own::scores(&curator, &Clique::new([0]), 2, score, |_| vec![0.0; 2]);
    curator.select(Selection::Exponential, scores, rho(0.5), "choose").unwrap();
    let ledger = curator.ledger().clone();
    let written = serde_json::to_value(&ledger).unwrap();
    (ledger, written)
}

#[test]
fn a_ledger_is_refused_whose_selections_contradict_themselves() {
    let private = table(10);
    let (_, written) = with_selection(&private, ReplaceOne);
    let read = |change: &dyn Fn(&mut Value)| {
        let mut value = written.clone();
        change(&mut value["entries"][0]["mechanism"]);
        serde_json::from_value::<Ledger>(value)
    };
    assert!(read(&|_| {}).is_ok());
    assert!(read(&|m| m["grid"] = json!(1.0)).is_err(), "another grid");
    assert!(read(&|m| m["candidates"] = json!(0)).is_err(), "no candidate");
    // A sensitivity that is not that of its score, with the grid that fits it.
    let halved = |m: &mut Value| {
        m["sensitivity"] = json!(1.0);
        m["grid"] = json!(1.0 / 65_536.0);
    };
    assert!(read(&halved).is_err(), "half the sensitivity of its score");
    assert!(read(&|m| m["score"]["counts"] = json!(3)).is_err(), "a score of no known form");
}

#[test]
fn a_selection_without_its_score_is_refused() {
    let private = table(10);
    let (ledger, mut written) = with_selection(&private, ReplaceOne);
    let curator = || Curator::new(&private, ReplaceOne, rho(1.0), NoiseSeed::System).unwrap();
    curator().resume(ledger.entries()).unwrap();
    // What a curator has measured itself has other noise than the entry of the same cost.
    let measured = || {
        let mut own = curator();
        own.measure(&Clique::new([0]), rho(0.1)).unwrap();
        own
    };
    assert!(measured().resume(measured().ledger().entries()).is_err());
    written["entries"][0]["mechanism"].as_object_mut().unwrap().remove("score");
    let lacking: Ledger = serde_json::from_value(written).unwrap();
    assert!(
        curator().resume(lacking.entries()).is_err(),
        "a run of this version wrote no such entry"
    );

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.json");
    let file = |ledger| LedgerFile::of_release("x", None, &PrivacyUnit::default(), true, ledger);
    file(&ledger).write(&path).unwrap();
    LedgerFile::read(&path).unwrap();
    file(&lacking).write(&path).unwrap();
    assert!(LedgerFile::read(&path).is_err(), "nor does a file of this version");
    // No earlier version was published, and calling itself one spares a file no check.
    for ledger in [&ledger, &lacking] {
        file(ledger).write(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        for (own, other) in [
            ("\"version\": 3", "\"version\": 2"),
            ("\"version\": 3", "\"version\": 1"),
            ("\"version\": 3", "\"version\": 4"),
            ("\"format\": \"jointly-ledger\"", "\"format\": \"jointly-answers\""),
        ] {
            assert!(text.contains(own));
            std::fs::write(&path, text.replacen(own, other, 1)).unwrap();
            let refused = LedgerFile::read(&path).unwrap_err().to_string();
            assert!(refused.contains("expected format 'jointly-ledger', version 3"), "{refused}");
        }
    }
}

#[test]
fn a_pure_run_goes_on_with_a_pure_ledger_only() {
    let private = table(10);
    let epsilon = Epsilon::new(2.0).unwrap();
    let pure = || Curator::pure(&private, ReplaceOne, epsilon, NoiseSeed::System).unwrap();
    let limit = pure().ledger().limit();
    let mut other = Curator::new(&private, ReplaceOne, limit, NoiseSeed::System).unwrap();
    other.measure(&Clique::new([0]), rho(0.1)).unwrap();
    assert!(pure().resume(other.ledger().entries()).is_err(), "Gaussian noise");
    let mut own = pure();
    own.measure_laplace(&Clique::new([0]), Ratio::new(1, 1).unwrap()).unwrap();
    pure().resume(own.ledger().entries()).unwrap();
}

/// A paid step of a curator with a checkpoint.
fn step(curator: Curator<'_>, folder: &Path) -> jointly::Result<Vec<i64>> {
    let mut curator = curator.with_checkpoint(Checkpoint::open(folder, "rows")?);
    let pay = |curator: &mut Curator<'_>| {
        let whole = curator.remaining_epsilon()?;
        let half = Ratio::new(whole.numerator(), 2 * whole.denominator())?;
        let noisy = curator.measure_laplace(&Clique::new([0]), half)?;
        Ok(noisy.values)
    };
    let of_one = |_: &Vec<i64>, entries: &[LedgerEntry]| match entries.len() {
        1 => Ok(()),
        _ => Err("one entry"),
    };
    curator.once("a step", Inputs::default, pay, of_one)
}

type Make<'a> = &'a dyn Fn() -> Curator<'a>;

#[test]
fn a_step_is_resumed_under_the_same_budget_only() {
    let private = table(10);
    let unit = |most| AddRemoveUnit(RecordsPerUnit::new(most).unwrap());
    let epsilon = |value| Epsilon::new(value).unwrap();
    let pure = |value, relation| {
        Curator::pure(&private, relation, epsilon(value), NoiseSeed::System).unwrap()
    };
    let limit = pure(2.0, ReplaceOne).ledger().limit();
    let plain = Curator::new(&private, ReplaceOne, limit, NoiseSeed::System).unwrap();
    let approximate = |part| {
        let budget = Budget::approximate(1.0, 1e-6).unwrap().with_threshold_delta(part);
        budget.unwrap().curator(&private, ReplaceOne, NoiseSeed::System).unwrap()
    };
    let curators: [Make<'_>; 7] = [
        &|| pure(2.0, ReplaceOne),
        &|| pure(2.5, ReplaceOne),
        &|| pure(2.0, AddRemoveOne),
        &|| pure(2.0, unit(3)),
        &|| pure(2.0, unit(4)),
        &|| approximate(1e-7),
        &|| approximate(2e-7),
    ];
    for (number, own) in curators.iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let first = step(own(), folder.path()).unwrap();
        for (other, make) in curators.iter().enumerate() {
            let resumed = step(make(), folder.path());
            assert_eq!(resumed.ok(), (number == other).then(|| first.clone()), "{number}, {other}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    step(pure(2.0, ReplaceOne), folder.path()).unwrap();
    assert!(step(plain, folder.path()).is_err(), "an empty ledger of rho has no limit of epsilon");
    // What was spent before is a part of what the step is after.
    let mut first = pure(1.0, ReplaceOne);
    first.measure_laplace(&Clique::new([1]), Ratio::new(1, 2).unwrap()).unwrap();
    let earlier = LedgerFile::new("earlier", None, &first);
    let after = || {
        let mut own = pure(2.0, ReplaceOne);
        own.charge_earlier(&earlier).unwrap();
        own
    };
    assert!(step(after(), folder.path()).is_err(), "an earlier ledger that was not there");
    let folder = tempfile::tempdir().unwrap();
    let kept = step(after(), folder.path()).unwrap();
    assert_eq!(step(after(), folder.path()).unwrap(), kept);
    assert!(step(pure(2.0, ReplaceOne), folder.path()).is_err(), "without it");
}

#[test]
fn a_curator_with_a_checkpoint_pays_within_steps_only() {
    let private = table(10);
    let folder = tempfile::tempdir().unwrap();
    let mut curator = Curator::new(&private, ReplaceOne, rho(1.0), NoiseSeed::System).unwrap();
    curator.measure(&Clique::new([0]), rho(0.1)).unwrap();
    // The resumed run would pay for it again, and show other noise.
    let refused = step(curator, folder.path()).unwrap_err().to_string();
    assert!(refused.contains("an access between two steps"), "{refused}");
    assert!(!folder.path().join("checkpoint.json").exists());
}

/// A ledger file of a run with some entries.
fn earlier(relation: NeighboringRelation, seed: NoiseSeed, private: &Dataset) -> LedgerFile {
    let mut curator = Curator::new(private, relation, rho(1.0), seed).unwrap();
    // One cell changes by 1 under both relations of records, so that its entry does not tell which it was.
    for cell in 0..3 {
        curator.measure_cell(&Clique::new([0, 1]), cell, rho(0.1)).unwrap();
    }
    LedgerFile::new("earlier", None, &curator)
}

#[test]
fn an_earlier_ledger_counts_entry_by_entry_if_it_is_of_the_same_guarantee() {
    let private = table(40);
    let system = NoiseSeed::System;
    let new = |relation, seed| Curator::new(&private, relation, rho(1.0), seed).unwrap();
    for relation in relations() {
        let file = earlier(relation, system, &private);
        let mut next = new(relation, system);
        next.charge_earlier(&file).unwrap();
        assert_eq!(next.ledger().entries().len(), 3);
        assert_eq!(next.spent(), file.ledger.spent());
        assert_eq!(next.remaining().units(), rho(1.0).units() - file.ledger.spent().units());
        assert!(next.measure(&Clique::new([0]), rho(0.75)).is_err(), "it counts");

        // Of other neighbors, although its entries would fit.
        for other in relations().into_iter().filter(|other| *other != relation) {
            assert!(new(other, system).charge_earlier(&file).is_err(), "{relation} for {other}");
            let mut renamed = file.clone();
            renamed.neighbors = other;
            let fits = other.unit() == relation.unit();
            assert_eq!(new(other, system).charge_earlier(&renamed).is_ok(), fits, "{other}");
        }
        // Of a fixed seed.
        let fixed = earlier(relation, NoiseSeed::Fixed(3), &private);
        assert!(new(relation, system).charge_earlier(&fixed).is_err());
        assert!(new(relation, NoiseSeed::Fixed(4)).charge_earlier(&fixed).is_ok());
        // After something was spent, which it would replace.
        let mut late = new(relation, system);
        late.measure(&Clique::new([0]), rho(0.5)).unwrap();
        assert!(late.charge_earlier(&file).is_err());
        assert_eq!(late.spent(), rho(0.5));
        let mut late = new(relation, system);
        late.begin_round(1).unwrap();
        assert!(late.charge_earlier(&file).is_err());
    }
    // Entries of another relation under the right name.
    let mut curator = new(AddRemoveOne, system);
    curator.measure(&Clique::new([0]), rho(0.1)).unwrap();
    let mut file = LedgerFile::new("earlier", None, &curator);
    file.neighbors = ReplaceOne;
    assert!(new(ReplaceOne, system).charge_earlier(&file).is_err());
}

#[test]
fn an_earlier_ledger_of_other_units_is_refused() {
    let private = table(40);
    let unit = |column: &str| PrivacyUnit::of_units(Units::new(column, 3).unwrap()).unwrap();
    let of = |column: &str| {
        let relation = unit(column).relation();
        let curator = Curator::new(&private, relation, rho(1.0), NoiseSeed::System).unwrap();
        curator.with_unit(unit(column)).unwrap()
    };
    let mut first = of("household");
    first.measure(&Clique::new([0]), rho(0.1)).unwrap();
    let file = LedgerFile::new("earlier", None, &first);
    assert!(of("household").charge_earlier(&file).is_ok());
    assert!(of("person").charge_earlier(&file).is_err());
}

/// Runs `independent` with a checkpoint in a folder.
fn resume(
    folder: &Path,
    relation: NeighboringRelation,
    seed: NoiseSeed,
    label: &str,
) -> jointly::Result<Rho> {
    let private = table(40);
    let curator = Curator::new(&private, relation, rho(1.0), seed).unwrap();
    let mut curator = curator.with_checkpoint(Checkpoint::open(folder, label)?);
    let workload = workload();
    let task = Task::new(&workload, &[]);
    let mechanism = find("independent").unwrap().build(&Map::new()).unwrap();
    Ok(mechanism.run(&mut curator, &task, &mut Silent)?.ledger.spent())
}

#[test]
fn a_checkpoint_of_other_rows_or_another_seed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (fixed, system) = (NoiseSeed::Fixed(1), NoiseSeed::System);
    let spent = resume(folder.path(), ReplaceOne, fixed, "rows").unwrap();
    assert_eq!(resume(folder.path(), ReplaceOne, fixed, "rows").unwrap(), spent, "nothing more");
    assert!(resume(folder.path(), ReplaceOne, system, "rows").is_err(), "a fixed seed's noise");
    assert!(resume(folder.path(), ReplaceOne, fixed, "other rows").is_err());
    assert!(resume(folder.path(), AddRemoveOne, fixed, "rows").is_err());
}

/// Writes a checkpoint again with a change, and with a checksum that fits: version and checksum come first.
fn rewrite(path: &Path, text: &str, change: &dyn Fn(&mut Value)) {
    use sha2::{Digest, Sha256};
    let (head, rest) = text.split_once("\",").unwrap();
    let mut value: Value = serde_json::from_str(&format!("{{{rest}")).unwrap();
    change(&mut value);
    let rest = serde_json::to_string(&value).unwrap();
    let rest = rest.strip_prefix('{').unwrap();
    let sum = Sha256::digest(rest.as_bytes());
    let sum = sum.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    let head = &head[..head.len() - sum.len()];
    std::fs::write(path, format!("{head}{sum}\",{rest}")).unwrap();
}

#[test]
fn a_checkpoint_whose_ledger_lacks_a_measurement_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let seed = NoiseSeed::Fixed(1);
    resume(folder.path(), ReplaceOne, seed, "rows").unwrap();
    let path = folder.path().join("checkpoint.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let write = |change: &dyn Fn(&mut Value)| rewrite(&path, &text, change);
    write(&|_| {});
    resume(folder.path(), ReplaceOne, seed, "rows").unwrap();
    write(&|value| {
        let end = value["ledger"]["entries"].as_array().unwrap().len() - 1;
        value["steps"][0]["entries"]["end"] = json!(end);
        let ledger = &mut value["ledger"];
        let last = ledger["entries"].as_array_mut().unwrap().pop().unwrap();
        let cost = last["rho"]["units"].as_u64().unwrap();
        let spent = ledger["spent"]["units"].as_u64().unwrap() - cost;
        let remaining = ledger["remaining"]["units"].as_u64().unwrap() + cost;
        ledger["spent"] = json!({ "units": spent });
        ledger["remaining"] = json!({ "units": remaining });
    });
    assert!(resume(folder.path(), ReplaceOne, seed, "rows").is_err());
}

/// A run that measures what homes of two are made of, with a checkpoint in a folder.
fn resume_whole_units(folder: &Path) -> jointly::Result<Rho> {
    let units = Units::new("h", 2).unwrap().linked(["t"]).unwrap();
    let unit = PrivacyUnit::of_units(units.with_members(["a"], "o").unwrap()).unwrap();
    let domain = [("t", 2), ("h.records", 2), ("a.1", 2), ("a.2", 3)];
    let domain = Domain::new(domain).unwrap();
    let rows: Vec<[u32; 4]> = (0..40).map(|i| [i % 2, i / 2 % 2, i / 4 % 2, i % 3]).collect();
    let private = Dataset::from_rows(domain.clone(), &rows).unwrap();
    let public = Dataset::from_rows(domain.clone(), &rows[3..30]).unwrap();
    let public = [PublicData::new("near", public, &domain).unwrap()];
    let curator = Curator::new(&private, unit.relation(), rho(1e4), NoiseSeed::Fixed(1)).unwrap();
    let checkpoint = Checkpoint::open(folder, "rows")?;
    let mut curator = curator.with_unit(unit).unwrap().with_checkpoint(checkpoint);
    let workload = Workload::all_k_way(&domain, 2).unwrap();
    let mechanism = AnchorPgm { rounds: Some(6), ..AnchorPgm::default() };
    let release = mechanism.run(&mut curator, &Task::new(&workload, &public), &mut Silent)?;
    assert_eq!(release.compositions.len(), 3);
    Ok(release.ledger.spent())
}

#[test]
fn a_checkpoint_that_lacks_what_was_measured_of_whole_units_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let spent = resume_whole_units(folder.path()).unwrap();
    let path = folder.path().join("checkpoint.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let change = |of: &dyn Fn(&mut Vec<Value>)| {
        rewrite(&path, &text, &|value| {
            let steps = value["steps"].as_array_mut().unwrap();
            let kept = |step: &&mut Value| step["value"]["tallied"].is_array();
            let step = steps.iter_mut().find(kept).unwrap();
            of(step["value"]["tallied"].as_array_mut().unwrap());
        });
        resume_whole_units(folder.path())
    };
    assert_eq!(change(&|_| {}).unwrap(), spent, "nothing more");
    assert!(change(&|tallied| drop(tallied.pop())).is_err(), "paid for again");
    assert!(change(&|tallied| tallied.swap(0, 1)).is_err(), "another than was paid for");
    let of_others = change(&|tallied| tallied[0]["names"] = json!(["h.records", "a.1", "a.2"]));
    assert!(of_others.is_err(), "no tally");
    let of_two = change(&|tallied| tallied[0]["measurement"]["clique"] = json!([0, 1]));
    assert!(of_two.is_err(), "another table");
}
