//! What runs really submit to the curator, beside what they would submit for all neighbors of a tiny table: the largest
//! change of a score or of a number against the sensitivity that the ledger states. Every mechanism of the catalogue, every
//! relation, households of several records.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use jointly::data::{Dataset, Projectable, PublicData, Recoding, SideCounts, Units};
use jointly::domain::{Clique, Domain};
use jointly::mechanism::{AnchorPgm, CATALOGUE, Mechanism, PublicTables, Release, Task, find};
use jointly::observe::Silent;
use jointly::pap::{Cuts, HalfPlanes, Pap};
use jointly::privacy::{
    Curator, Epsilon, Gain, GainOf, ImprovementOf, L1Errors, NeighboringRelation, NoiseSeed,
    ObservedChange, OwnError, PrivacyUnit, Rho, Scores, SealedMarginals, Selection, ValueWeights,
};
use jointly::query::Workload;
use jointly::trust::Trust;
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use serde_json::json;

use NeighboringRelation::{AddRemoveOne, AddRemoveUnit, ReplaceOne};

use crate::mechanisms::{self, parameters};
use crate::own;
use crate::sensitivity::choices;
use crate::statistics::relations;

/// Queries about the cuts of [`the_scores_of_thresholds_change_by_no_more_than_their_ledger_states`].
const LISTED: [&str; 4] = ["x <= 1 & y > 1", "1 < x <= 3", "x > 2", "2 < x <= 3 & y <= 1"];

/// Rounding that the grid of a selection outweighs.
const ROUNDING: f64 = 1.0 + 1e-9;

fn domain() -> Domain {
    Domain::new([("a", 2), ("b", 3), ("c", 2)]).unwrap()
}

fn random(domain: &Domain, records: usize, rng: &mut ChaCha20Rng) -> Vec<Vec<u32>> {
    let size = |a| u32::try_from(domain.cardinality(a)).unwrap();
    let record = |_| (0..domain.len()).map(|a| rng.random_range(0..size(a))).collect();
    (0..records).map(record).collect()
}

fn table(domain: &Domain, rows: &[Vec<u32>]) -> Dataset {
    Dataset::from_rows(domain.clone(), rows).unwrap()
}

/// All records of a domain.
fn everyone(domain: &Domain) -> Vec<Vec<u32>> {
    (0..domain.len()).fold(vec![vec![]], |records, a| {
        let longer = |record: Vec<u32>| {
            let size = u32::try_from(domain.cardinality(a)).unwrap();
            (0..size).map(move |v| [&record[..], &[v]].concat()).collect::<Vec<_>>()
        };
        records.into_iter().flat_map(longer).collect()
    })
}

/// All tables that differ as the relation allows. Any records may be a household that leaves, or one that comes.
fn neighbors(domain: &Domain, rows: &[Vec<u32>], relation: NeighboringRelation) -> Vec<Dataset> {
    let all = everyone(domain);
    let mut found = Vec::new();
    let without = |at: &[usize]| -> Vec<Vec<u32>> {
        let kept = rows.iter().enumerate().filter(|(i, _)| !at.contains(i));
        kept.map(|(_, row)| row.clone()).collect()
    };
    match relation {
        ReplaceOne => {
            for at in 0..rows.len() {
                for value in &all {
                    let mut other = rows.to_vec();
                    other[at].clone_from(value);
                    found.push(table(domain, &other));
                }
            }
        }
        AddRemoveOne => {
            found.extend((0..rows.len()).map(|at| table(domain, &without(&[at]))));
            found.extend(
                all.iter().map(|v| table(domain, &[rows, std::slice::from_ref(v)].concat())),
            );
        }
        AddRemoveUnit(most) => {
            for size in 1..=usize::try_from(most.get()).unwrap() {
                let leaving = choices(rows.len(), size);
                let leaving = leaving.iter().filter(|at| at.windows(2).all(|w| w[0] < w[1]));
                found.extend(leaving.map(|at| table(domain, &without(at))));
                for coming in choices(all.len(), size) {
                    let unit: Vec<Vec<u32>> = coming.iter().map(|at| all[*at].clone()).collect();
                    found.push(table(domain, &[rows, &unit].concat()));
                }
            }
        }
    }
    found
}

/// The largest share of what was stated, by purpose.
type Seen = BTreeMap<String, f64>;

/// Refuses a change above what was stated, and notes how near it came.
fn note(seen: &mut Seen, what: &str, changes: &[ObservedChange]) {
    for ObservedChange { purpose, stated, largest, neighbors } in changes {
        assert!(*neighbors > 10, "{what}, {purpose}: only {neighbors} neighbors");
        assert!(
            *largest <= stated * ROUNDING,
            "{what}, {purpose}: a neighbor changes it by {largest}, and {stated} is stated"
        );
        let purpose = purpose.split(" of near").next().unwrap_or(purpose).to_owned();
        let share = seen.entry(purpose).or_insert(0.0);
        *share = share.max(largest / stated);
    }
}

fn curator<'a>(
    private: &'a Dataset,
    neighbors: &'a [Dataset],
    relation: NeighboringRelation,
    seed: u64,
) -> Curator<'a> {
    let limit = Rho::from_f64(20.0).unwrap();
    beside(Curator::new(private, relation, limit, NoiseSeed::Fixed(seed)).unwrap(), neighbors)
}

fn beside<'a>(curator: Curator<'a>, neighbors: &'a [Dataset]) -> Curator<'a> {
    curator
        .with_neighbors(neighbors.iter().map(|table| table as &dyn Projectable).collect())
        .unwrap()
}

#[test]
fn the_scores_of_every_mechanism_change_by_no_more_than_their_ledger_states() {
    let (domain, mut rng) = (domain(), ChaCha20Rng::seed_from_u64(17));
    let workload = Workload::all_k_way(&domain, 2).unwrap();
    let mut choosing = 0;
    for entry in CATALOGUE.iter().filter(|entry| entry.spends) {
        let mut seen = Seen::new();
        for relation in relations() {
            for seed in 0..2 {
                let rows = random(&domain, 6, &mut rng);
                let (private, others) =
                    (table(&domain, &rows), neighbors(&domain, &rows, relation));
                let public = table(&domain, &random(&domain, 8, &mut rng));
                let public = [PublicData::new("near", public, &domain).unwrap()];
                let tables =
                    if entry.public_tables == PublicTables::Unused { &[][..] } else { &public[..] };
                let mechanism = entry.build(&parameters(entry.name)).unwrap();
                let mut curator = curator(&private, &others, relation, seed);
                let task = Task::new(&workload, tables);
                mechanism.run(&mut curator, &task, &mut Silent).unwrap();
                note(&mut seen, &format!("{}, {relation}", entry.name), curator.changes());
            }
        }
        choosing += usize::from(!seen.is_empty());
        // The scores of whole models change by little where the models have few records in common with the table.
        for (purpose, share) in &seen {
            let least = if purpose == "choose a model" { 0.05 } else { 0.45 };
            assert!(*share > least, "{}, {purpose}: only {share} of it was seen", entry.name);
        }
    }
    assert!(choosing >= 14, "only {choosing} mechanisms choose by scores");
}

/// Every comparison that the curator offers, with arbitrary tables, weights and constants.
#[test]
fn every_comparison_changes_by_no_more_than_it_states_and_may_change_by_that() {
    type Comparison = fn(&SealedMarginals, &mut ChaCha20Rng) -> Scores;
    const COMPARISONS: [(&str, Comparison); 8] = [
        ("gains above noise", |marginals, rng| gains(marginals, Gain::AboveNoise, rng)),
        ("shrunk gains", |marginals, rng| gains(marginals, Gain::Shrunk, rng)),
        ("weighted errors", weighted),
        ("improvements", improvements),
        ("means of models", means),
        ("cells", |marginals, rng| {
            marginals.cell_errors(&tables(rng), &[vec![1], vec![], vec![0, 3]]).unwrap()
        }),
        ("worst cells", |marginals, rng| {
            marginals.worst_cell_errors(&tables(rng), &[vec![], vec![0], vec![]]).unwrap()
        }),
        ("signed cells", |marginals, rng| marginals.signed_cell_errors(&tables(rng)).unwrap()),
    ];
    let (domain, mut rng) = (domain(), ChaCha20Rng::seed_from_u64(18));
    for relation in relations() {
        let mut seen = Seen::new();
        for seed in 0..25 {
            let rows = random(&domain, 4, &mut rng);
            let (private, others) = (table(&domain, &rows), neighbors(&domain, &rows, relation));
            let mut curator = curator(&private, &others, relation, seed);
            let cost = Rho::from_f64(0.1).unwrap();
            for (name, comparison) in COMPARISONS {
                let marginals =
                    curator.marginals(&CLIQUES.map(|c| Clique::new(c.to_vec()))).unwrap();
                let scores = comparison(&marginals, &mut rng);
                curator.select(Selection::Exponential, scores, cost, name).unwrap();
            }
            note(&mut seen, &relation.to_string(), curator.changes());
        }
        assert_eq!(seen.len(), COMPARISONS.len());
        for (name, share) in &seen {
            let least = if *name == "shrunk gains" { 0.6 } else { 0.9 };
            assert!(*share > least, "{relation}, {name}: only {share} of it was seen");
        }
    }
}

const CLIQUES: [&[usize]; 3] = [&[0], &[1], &[0, 1]];

/// A table for each of the marginals, which may or may not be near.
fn tables(rng: &mut ChaCha20Rng) -> Vec<Vec<f64>> {
    let cell =
        |rng: &mut ChaCha20Rng| if rng.random_bool(0.5) { 0.0 } else { rng.random_range(0.0..9.0) };
    [2, 3, 6].map(|cells| (0..cells).map(|_| cell(rng)).collect()).into()
}

fn l1_errors(marginals: &SealedMarginals, rng: &mut ChaCha20Rng) -> L1Errors {
    let mut errors = marginals.l1_errors();
    errors.compare(marginals, &[0, 1, 2], &tables(rng), 1.0).unwrap();
    errors
}

/// Errors of marginals in which each record counts by its value of the second attribute.
fn weighted(marginals: &SealedMarginals, rng: &mut ChaCha20Rng) -> Scores {
    let mut errors = marginals.l1_errors();
    let by = ValueWeights { weights: &[1.0, 0.0, 0.4], strides: &[1, 1] };
    let tables = [vec![rng.random_range(0.0..3.0)], vec![0.0, rng.random_range(0.0..3.0)]];
    errors.compare_weighted(marginals, &[1, 2], &tables, 1.0, by).unwrap();
    errors.plain(&[1, 2]).unwrap()
}

fn gains(marginals: &SealedMarginals, gain: Gain, rng: &mut ChaCha20Rng) -> Scores {
    let noise = if gain == Gain::Shrunk { 0.0..0.5 } else { 0.0..50.0 };
    let mut of =
        |marginal, weight| GainOf { marginal, weight, noise: rng.random_range(noise.clone()) };
    let candidates = [of(0, 2.5), of(1, -2.5), of(2, 1.0), of(2, 2.5)];
    l1_errors(marginals, rng).gains(gain, &candidates).unwrap()
}

fn improvements(marginals: &SealedMarginals, rng: &mut ChaCha20Rng) -> Scores {
    // Records of the private table between the two: one error rises where the other falls.
    let (mut far, mut near) = (marginals.l1_errors(), marginals.l1_errors());
    let zeros = [vec![0.0; 2], vec![0.0; 3], vec![0.0; 6]];
    far.compare(marginals, &[0, 1, 2], &zeros, 1.0).unwrap();
    let nines = [vec![90.0; 2], vec![90.0; 3], vec![90.0; 6]];
    near.compare(marginals, &[0, 1, 2], &nines, 1.0).unwrap();
    let other = l1_errors(marginals, rng);
    let corners = [[90.0, 0.0], [0.0, 90.0]];
    let [mut left, mut right] = [marginals.l1_errors(), marginals.l1_errors()];
    left.compare(marginals, &[0], &[&corners[0][..]], 1.0).unwrap();
    right.compare(marginals, &[0], &[&corners[1][..]], 1.0).unwrap();
    let of = |marginal, own| ImprovementOf { marginal, own };
    let sealed = [(1, &near), (2, &near), (0, &other)];
    let candidates = sealed.map(|(marginal, list)| of(marginal, OwnError::Sealed(list)));
    let expected = [of(0, OwnError::Expected(3.0)), of(2, OwnError::Expected(40.0))];
    if rng.random_bool(0.5) {
        return left.improvements(&[of(0, OwnError::Sealed(&right))]).unwrap();
    }
    far.improvements(&[&candidates[..], &expected].concat()).unwrap()
}

fn means(marginals: &SealedMarginals, rng: &mut ChaCha20Rng) -> Scores {
    let models = [l1_errors(marginals, rng), l1_errors(marginals, rng)];
    L1Errors::minus_means(&models, &[(0, 0.25), (1, 0.25), (2, 0.5)], &[0.0, 7.0]).unwrap()
}

#[test]
fn the_numbers_of_releases_change_by_no_more_than_their_ledger_states() {
    let (domain, mut rng) = (domain(), ChaCha20Rng::seed_from_u64(19));
    let workload = Workload::all_k_way(&domain, 2).unwrap();
    for relation in relations() {
        let mut seen = Seen::new();
        for seed in 0..4 {
            let rows = random(&domain, 5, &mut rng);
            let (private, others) = (table(&domain, &rows), neighbors(&domain, &rows, relation));
            let public = table(&domain, &random(&domain, 7, &mut rng));
            let tables = [PublicData::new("near", public, &domain).unwrap()];
            let mut trust = curator(&private, &others, relation, seed);
            Trust::default().run(&mut trust, &tables, &workload).unwrap();
            note(&mut seen, &format!("trust, {relation}"), trust.changes());
            let mut errors = curator(&private, &others, relation, seed);
            errors.set_aside(0.5).unwrap();
            let independent = find("independent").unwrap();
            let independent = independent.build(&parameters("independent")).unwrap();
            let mut release: Release =
                independent.run(&mut errors, &Task::new(&workload, &[]), &mut Silent).unwrap();
            release.measure_errors(&mut errors, tables[0].table().unwrap()).unwrap();
            note(&mut seen, &format!("errors, {relation}"), errors.changes());
        }
        let least = |purpose: &str| if purpose.starts_with("best mixture") { 0.2 } else { 0.9 };
        let seen_all = seen.iter().all(|(purpose, share)| *share > least(purpose));
        assert!(seen.len() >= 3 && seen_all, "{relation}: {seen:?}");
    }
}

/// Every choice that a parameter offers: enumerated from the catalogue, so that a new one is here without being named.
#[test]
fn the_scores_of_every_variant_change_by_no_more_than_their_ledger_states() {
    let (domain, mut rng) = (domain(), ChaCha20Rng::seed_from_u64(22));
    let workload = Workload::all_k_way(&domain, 2).unwrap();
    let mut variants = 0;
    for entry in CATALOGUE.iter().filter(|entry| entry.spends) {
        for given in mechanisms::variants(entry).into_iter().skip(1) {
            let is_pure = given.get("noise").is_some_and(|noise| noise == "laplace");
            let mechanism = entry.build(&given).unwrap();
            for relation in relations() {
                let rows = random(&domain, 5, &mut rng);
                let (private, others) =
                    (table(&domain, &rows), neighbors(&domain, &rows, relation));
                let public = table(&domain, &random(&domain, 8, &mut rng));
                let public = [PublicData::new("near", public, &domain).unwrap()];
                let mut curator = if is_pure {
                    let (epsilon, seed) = (Epsilon::new(6.0).unwrap(), NoiseSeed::Fixed(variants));
                    beside(Curator::pure(&private, relation, epsilon, seed).unwrap(), &others)
                } else {
                    curator(&private, &others, relation, variants)
                };
                let task = Task::new(&workload, &public);
                mechanism.run(&mut curator, &task, &mut Silent).unwrap();
                let what = format!("{} {given:?}, {relation}", entry.name);
                note(&mut Seen::new(), &what, curator.changes());
            }
            variants += 1;
        }
    }
    assert!(variants >= 40, "only {variants} variants");
}

/// Merging recodes the table and its neighbors alike: what is submitted afterwards has the sensitivity of merged records.
#[test]
fn the_scores_of_a_run_whose_values_were_merged_change_by_no_more_than_their_ledger_states() {
    let (mut rng, many) =
        (ChaCha20Rng::seed_from_u64(21), Domain::new([("a", 6), ("b", 3)]).unwrap());
    let merged = Domain::new([("a", 2), ("b", 3)]).unwrap();
    let codes = vec![Some(vec![0, 1, 1, 1, 0, 1]), None];
    let recoding = Recoding::new(many.clone(), merged.clone(), codes).unwrap();
    let workload = Workload::all_k_way(&merged, 2).unwrap();
    for relation in [ReplaceOne, AddRemoveOne] {
        let mut seen = Seen::new();
        for seed in 0..3 {
            let rows = random(&many, 5, &mut rng);
            let (private, others) = (table(&many, &rows), neighbors(&many, &rows, relation));
            let mut curator = curator(&private, &others, relation, seed);
            let tenth = Rho::from_f64(0.1).unwrap();
            curator.measure(&Clique::new([0]), tenth).unwrap();
            curator.recode(&recoding).unwrap();
            let mechanism = find("aim").unwrap().build(&parameters("aim")).unwrap();
            let task = Task::new(&workload, &[]);
            mechanism.run(&mut curator, &task, &mut Silent).unwrap();
            note(&mut seen, &format!("merged, {relation}"), curator.changes());
        }
        assert!(
            !seen.is_empty() && seen.values().all(|share| *share > 0.5),
            "{relation}: {seen:?}"
        );
    }
}

/// Homes of one or two, each a record with its members: the whole mechanism, with what it measures of them as a whole.
#[test]
fn the_scores_of_whole_units_change_by_no_more_than_their_ledger_states() {
    let units = Units::new("h", 2).unwrap().linked(["t"]).unwrap();
    let units = units.with_members(["a"], "o").unwrap();
    let domain = [("t", 2), ("h.records", 2), ("a.1", 2), ("a.2", 3)];
    let domain = Domain::new(domain).unwrap();
    let workload = Workload::of_units(&domain, &units, 3).unwrap();
    let unit = PrivacyUnit::of_units(units).unwrap();
    let (relation, mut rng) = (unit.relation(), ChaCha20Rng::seed_from_u64(22));
    let mechanism = AnchorPgm { rounds: Some(6), ..AnchorPgm::default() };
    let mut seen = Seen::new();
    for seed in 0..6 {
        let rows = random(&domain, 4, &mut rng);
        let (private, others) = (table(&domain, &rows), neighbors(&domain, &rows, relation));
        let public = random(&domain, 30, &mut rng);
        let public = [PublicData::new("near", table(&domain, &public), &domain).unwrap()];
        // Four units and so large a budget that the choice of what is published is paid for.
        let limit = Rho::from_f64(1e4).unwrap();
        let curator = Curator::new(&private, relation, limit, NoiseSeed::Fixed(seed)).unwrap();
        let mut curator = beside(curator, &others).with_unit(unit.clone()).unwrap();
        let release =
            mechanism.run(&mut curator, &Task::new(&workload, &public), &mut Silent).unwrap();
        assert_eq!(release.compositions.len(), 3);
        note(&mut seen, "whole units", curator.changes());
    }
    assert!(seen["choose a composition"] > 0.5 && seen["choose a model"] > 0.2, "{seen:?}");
}

#[test]
fn the_scores_of_thresholds_change_by_no_more_than_their_ledger_states() {
    let mut rng = ChaCha20Rng::seed_from_u64(20);
    let cuts = || [Cuts::new("x", [1.0, 2.0, 3.0]).unwrap(), Cuts::new("y", [1.0]).unwrap()];
    let listed = Pap::list(LISTED.map(|text| text.parse().unwrap())).unwrap();
    assert_eq!(listed.cuts, cuts());
    for pap in [Pap::boxes(cuts()), Pap::conjunctions(cuts()), listed] {
        for relation in relations() {
            let (mut seen, what) = (Seen::new(), format!("{:?}, {relation}", pap.class));
            for seed in 0..5 {
                let mut column =
                    |most: f64| (0..5).map(|_| Some(rng.random_range(0.0..most))).collect();
                let values: [Vec<Option<f64>>; 2] = [column(4.0), column(2.0)];
                let private = Cuts::encode(&cuts(), &values).unwrap();
                let rows: Vec<Vec<u32>> = (0..5).map(|row| private.row(row)).collect();
                let others = neighbors(private.domain(), &rows, relation);
                let mut curator = curator(&private, &others, relation, seed);
                pap.run(&mut curator).unwrap();
                note(&mut seen, &what, curator.changes());
            }
            assert!(seen.len() == 1 && seen.values().all(|share| *share > 0.9), "{what}: {seen:?}");
        }
    }
}

/// Points of a small grid, on the sides of lines between public ones.
#[test]
fn the_scores_of_half_planes_change_by_no_more_than_their_ledger_states() {
    let mut rng = ChaCha20Rng::seed_from_u64(21);
    let planes = HalfPlanes::new(["x", "y"], &[[0.5, 0.5], [1.5, 0.7], [1.0, 1.6]]).unwrap();
    let sides = planes.sides().unwrap();
    let domain = Domain::new([("x", 4), ("y", 4)]).unwrap();
    // A code of 3 is a missing number.
    let count = |table: &Dataset| {
        let number = |code: u32| (code < 3).then(|| f64::from(code));
        let point = |row| {
            let row = table.row(row);
            [number(row[0]), number(row[1])]
        };
        sides.count((0..table.records()).map(point)).unwrap()
    };
    for relation in relations() {
        let mut seen = Seen::new();
        for seed in 0..4 {
            let rows = random(&domain, 5, &mut rng);
            let private = count(&table(&domain, &rows));
            let others: Vec<SideCounts> =
                neighbors(&domain, &rows, relation).iter().map(count).collect();
            let limit = Rho::from_f64(1.0).unwrap();
            let curator = Curator::new(&private, relation, limit, NoiseSeed::Fixed(seed)).unwrap();
            let others = others.iter().map(|other| other as &dyn Projectable).collect();
            let mut curator = curator.with_neighbors(others).unwrap();
            planes.run(&mut curator).unwrap();
            note(&mut seen, &format!("half-planes, {relation}"), curator.changes());
        }
        assert!(seen.len() == 1 && seen.values().all(|share| *share > 0.9), "{relation}: {seen:?}");
    }
}

#[test]
fn an_audit_is_refused_where_the_noise_protects_the_records() {
    let domain = domain();
    let private = table(&domain, &[vec![0, 1, 1]]);
    let limit = Rho::from_f64(1.0).unwrap();
    let curator = Curator::new(&private, ReplaceOne, limit, NoiseSeed::System).unwrap();
    assert!(curator.with_neighbors(vec![&private]).is_err());
    let fixed = Curator::new(&private, ReplaceOne, limit, NoiseSeed::Fixed(1)).unwrap();
    let other = table(&Domain::new([("a", 2)]).unwrap(), &[vec![0]]);
    assert!(fixed.with_neighbors(vec![&other]).is_err());
}

/// A type of one's own that states too little is seen at once.
#[test]
fn a_score_of_ones_own_that_states_too_little_is_seen() {
    let (domain, rows) = (domain(), vec![vec![0, 1, 1], vec![1, 1, 0]]);
    let (private, others) = (table(&domain, &rows), neighbors(&domain, &rows, ReplaceOne));
    let mut curator = curator(&private, &others, ReplaceOne, 1);
    let stated = jointly::privacy::ScoreSensitivity::cell_error(ReplaceOne);
    let double =
        |counts: &[u32]| own::counts(counts).into_iter().map(|count| 2.0 * count).collect();
    let scores = own::scores(&curator, &Clique::new([1]), 3, stated, double);
    curator.select(Selection::Exponential, scores, Rho::from_f64(0.1).unwrap(), "own").unwrap();
    let [change] = curator.changes() else { unreachable!("one access") };
    assert_eq!((change.stated, change.largest, json!(change.purpose)), (1.0, 2.0, json!("own")));
}
