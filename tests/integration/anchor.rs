//! Anchor-PGM: fair public tables help, misleading ones do little harm, and the number of threads changes nothing.

use jointly::data::{Dataset, Projectable, PublicData};
use jointly::domain::{Clique, Domain};
use jointly::mechanism::{
    Aim, AnchorPgm, Chooser, ExpertKind, FitRecord, Mechanism, Release, Task,
};
use jointly::model::{Drawing, WeightedSupport};
use jointly::observe::Silent;
use jointly::privacy::{Curator, NeighboringRelation, NoiseSeed, RecordsPerUnit};
use jointly::query::Workload;
use jointly::rand::SeedableRng;
use jointly::rand::rngs::ChaCha20Rng;

use crate::support::{NAMES, Run, budget, bytes, one_turned, people, select, turned_round};

const SEEDS: std::ops::Range<u64> = 0..3;

fn anchor() -> AnchorPgm {
    AnchorPgm { size_limit_mib: 4.0, iterations: 200, ..AnchorPgm::default() }
}

fn aim() -> Aim {
    Aim { size_limit_mib: 4.0, iterations: 200, ..Aim::default() }
}

/// Mean error over some seeds.
fn mean_error(run: &Run, mechanism: &dyn Mechanism) -> f64 {
    let error = |seed| {
        let run = Run { seed: NoiseSeed::Fixed(seed), ..run.clone() };
        run.error(&run.release(mechanism).model)
    };
    SEEDS.map(error).sum::<f64>() / 3.0
}

fn drivers(release: &Release) -> Vec<ExpertKind> {
    let driver = |fit: FitRecord| match fit {
        FitRecord::Experts { driver, .. } => Some(driver),
        _ => None,
    };
    release.rounds.iter().filter_map(|round| round.fit).filter_map(driver).collect()
}

#[test]
fn without_public_tables_the_chooser_alone_is_aim() {
    let private = people(3_000, 1, 0.0);
    let run = Run::new(&private, &[]);
    let coupled = AnchorPgm { chooser: Chooser::Alone, ..anchor() };
    let (anchored, alone) = (run.release(&coupled), run.release(&aim()));
    assert_eq!(anchored.measurements, alone.measurements);
    assert_eq!(anchored.ledger.entries(), alone.ledger.entries());
    assert!((run.error(&anchored.model) - run.error(&alone.model)).abs() < 1e-12);
    assert_eq!(anchored.public_trust, None);
    assert_eq!(anchored.certificate, alone.certificate);
}

#[test]
fn without_public_tables_fits_are_pulled_to_independence() {
    let private = people(1000, 1, 0.0);
    for epsilon in [0.1, 1.0] {
        let run = Run { epsilon, ..Run::new(&private, &[]) };
        let release = run.release(&anchor());
        assert!(drivers(&release).iter().all(|driver| *driver == ExpertKind::Alone));
        assert!(release.ledger.entries().iter().all(|entry| entry.purpose != "choose a model"));
        assert_eq!(release.ledger.spent(), release.ledger.limit());
        assert_eq!(release.public_trust, None);
        let (pulled, aim) = (mean_error(&run, &anchor()), mean_error(&run, &aim()));
        eprintln!("epsilon {epsilon}: pulled to independence {pulled:.4}, AIM {aim:.4}");
        assert!(pulled < 0.9 * aim, "epsilon {epsilon}: {pulled}, AIM {aim}");
    }
}

#[test]
fn a_fair_public_table_helps_and_a_reversed_one_hardly_hurts() {
    let (private, near) = (people(10_000, 1, 0.0), people(10_000, 2, 0.0));
    for epsilon in [0.3, 3.0] {
        let with = |table: &Dataset| Run { epsilon, ..Run::new(&private, &[("near", table)]) };
        let alone = mean_error(&Run { epsilon, ..Run::new(&private, &[]) }, &aim());
        let fair = mean_error(&with(&near), &anchor());
        let reversed = mean_error(&with(&turned_round(&near)), &anchor());
        eprintln!("epsilon {epsilon}: AIM {alone:.4}, fair {fair:.4}, reversed {reversed:.4}");
        assert!(fair < 0.8 * alone, "epsilon {epsilon}: {fair}, alone {alone}");
        assert!(reversed < 1.3 * alone, "epsilon {epsilon}: {reversed}, alone {alone}");
    }
}

/// A model of a few cells loses what a public table of the private one's size has.
#[test]
fn public_records_of_equal_size_are_published() {
    let (private, near) = (people(4_000, 1, 0.0), people(4_000, 2, 0.0));
    let small = AnchorPgm { size_limit_mib: 0.002, ..anchor() };
    for (epsilon, relation) in
        [(0.05, NeighboringRelation::ReplaceOne), (1.0, NeighboringRelation::AddRemoveOne)]
    {
        let run = Run { epsilon, relation, ..Run::new(&private, &[("near", &near)]) };
        let release = run.release(&small);
        let trust = release.public_trust.as_ref().unwrap();
        assert!(trust.published.contains("public records"), "{}", trust.published);
        let own = PublicData::new("near", near.clone(), private.domain()).unwrap();
        let whole = [own];
        let table = WeightedSupport::from_public(private.domain(), &whole, 4_000.0).unwrap();
        let (mixed, table) = (run.error(&release.model), run.error(&table.into()));
        eprintln!("epsilon {epsilon}: mixture {mixed:.4}, public table {table:.4}");
        assert!(mixed < 1.05 * table, "epsilon {epsilon}: {mixed}, public table {table}");
    }
}

#[test]
fn contradictions_are_named() {
    let (private, near) = (people(20_000, 1, 0.0), people(20_000, 2, 0.0));
    let run = |table: &Dataset| {
        let run = Run { epsilon: 3.0, ..Run::new(&private, &[("near", table)]) };
        run.release(&anchor())
    };
    let (fair, reversed) = (run(&near), run(&turned_round(&near)));
    let found = |release: &Release| release.public_trust.clone().unwrap().contradicted.unwrap();
    assert!(found(&fair).len() <= 1, "{:?}", found(&fair));
    assert!(!found(&reversed).is_empty());
    assert!(found(&reversed).iter().all(|(_, share)| *share > 0.0 && *share < 1.0));
    assert!(drivers(&fair).iter().all(|driver| *driver != ExpertKind::Alone));
}

/// Where measurements contradict the public tables, fits believe them more than their noise allows; the report does not.
#[test]
fn a_certificate_knows_the_noise_that_the_measurements_have() {
    let (private, near) = (people(20_000, 1, 0.0), people(20_000, 2, 0.0));
    let table = one_turned(&near, 0);
    let run = Run { epsilon: 3.0, ..Run::new(&private, &[("near", &table)]) };
    let release = run.release(&anchor());
    let trust = release.public_trust.as_ref().unwrap();
    assert!(trust.published.contains("pulled"), "{}", trust.published);
    assert!(trust.contradicted.as_ref().unwrap().iter().any(|(_, share)| *share < 0.1));
    let excess = release.certificate.unwrap().excess;
    assert!(excess < 10.0, "{excess} standard deviations");
}

#[test]
fn the_ledger_holds_the_pick_and_spends_everything() {
    let (private, near) = (people(10_000, 1, 0.0), people(10_000, 2, 0.0));
    let release = Run::new(&private, &[("near", &near)]).release(&anchor());
    let picks: Vec<_> = release
        .ledger
        .entries()
        .iter()
        .filter(|entry| entry.purpose == "choose a model")
        .map(|entry| (100.0 * entry.rho.to_f64() / release.ledger.limit().to_f64()).round())
        .collect();
    assert_eq!(picks, [2.0]);
    assert_eq!(release.ledger.spent(), release.ledger.limit());
    // Experts, the records reweighted, and these mixed with a fit: in the share that public records say is best, and in three others.
    assert_eq!(release.rounds.last().unwrap().choices, [7]);

    // Too few records for a pick.
    let few = people(300, 1, 0.0);
    let release = Run { epsilon: 0.3, ..Run::new(&few, &[("near", &near)]) }.release(&anchor());
    assert!(release.ledger.entries().iter().all(|entry| entry.purpose != "choose a model"));
    assert_eq!(release.ledger.spent(), release.ledger.limit());
}

#[test]
fn public_tables_may_lack_attributes_and_be_several() {
    let (private, near) = (people(10_000, 1, 0.0), people(10_000, 2, 0.0));
    let (some, others) = (select(&near, &NAMES[..4]), select(&near, &NAMES[2..]));
    let both = Run::new(&private, &[("some", &some), ("others", &others)]);
    let alone = mean_error(&Run::new(&private, &[]), &aim());
    assert!(mean_error(&both, &anchor()) < alone);
    let one = Run::new(&private, &[("some", &some)]).release(&anchor());
    // No table has all attributes, so there are no public records to publish.
    assert_eq!(one.rounds.last().unwrap().choices, [2]);
}

/// The base knows nothing of it, and must not pull it anywhere.
#[test]
fn an_attribute_that_no_public_table_has_is_as_it_was_measured() {
    let (private, near) = (people(10_000, 1, 0.0), people(10_000, 2, 0.0));
    let others = |left: usize| (0..NAMES.len()).filter(move |i| *i != left).map(|i| NAMES[i]);
    for left in 0..NAMES.len() {
        let some = select(&near, &others(left).collect::<Vec<_>>());
        let run = Run { epsilon: 0.3, ..Run::new(&private, &[("some", &some)]) };
        let release = run.release(&anchor());
        let own = [jointly::domain::Clique::new([left])];
        let truth = private.project_many(&own).unwrap().swap_remove(0);
        let model = release.model.marginals(&own).unwrap().swap_remove(0);
        let apart = |(truth, model): (&u32, &f64)| (f64::from(*truth) - model).abs();
        let error: f64 = truth.iter().zip(model.values()).map(apart).sum();
        let noise = release.measurements[left].stddev * truth.len() as f64;
        assert_eq!(release.measurements[left].clique, own[0]);
        assert!(error < 1.5 * noise, "{left}: {error}, noise {noise}");
    }
}

#[test]
fn the_threads_change_nothing() {
    let (private, near) = (people(5_000, 1, 0.0), people(5_000, 2, 0.0));
    let run = Run::new(&private, &[("near", &near)]);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| bytes(&run.release(&anchor())))
    };
    assert!(on(1) == on(2));
}

#[test]
fn a_private_number_of_records_and_units() {
    let (private, near) = (people(10_000, 1, 0.0), people(10_000, 2, 0.0));
    for relation in [
        NeighboringRelation::AddRemoveOne,
        NeighboringRelation::AddRemoveUnit(RecordsPerUnit::new(3).unwrap()),
    ] {
        let run = Run { relation, ..Run::new(&private, &[("near", &near)]) };
        let release = run.release(&anchor());
        assert_eq!(release.ledger.spent(), release.ledger.limit());
        let independent = Run { public: Vec::new(), ..run.clone() };
        let alone = independent.error(&independent.release(&aim()).model);
        assert!(run.error(&release.model) < alone, "{relation}");

        let release = run.release(&AnchorPgm { chooser: Chooser::Alone, ..anchor() });
        let pick = release.ledger.entries().last().unwrap();
        let changed = if relation == NeighboringRelation::AddRemoveOne { 1.0 } else { 3.0 };
        let unit = 2.0 * changed / (release.model.total() * (8.0 * pick.rho.to_f64()).sqrt());
        let models = f64::from(u32::try_from(release.rounds.last().unwrap().choices[0]).unwrap());
        let said = release.public_trust.unwrap().above_aim.unwrap();
        let bound = unit * (models.ln() + 20_f64.ln());
        assert!((said - bound).abs() < 1e-9, "{relation}: {said}, {bound}");
    }
}

#[test]
fn structural_zeros_stay_empty() {
    let free = Domain::new([("a", 3), ("b", 3), ("c", 2)]).unwrap();
    let domain = free.clone().forbid([vec![("a", vec![0]), ("b", vec![1, 2])]]).unwrap();
    let rows: Vec<[u32; 3]> =
        (0..3_000).map(|i| [i % 3, if i % 3 == 0 { 0 } else { i / 3 % 3 }, i / 7 % 2]).collect();
    let private = Dataset::from_rows(domain.clone(), &rows).unwrap();
    let public = Dataset::from_rows(free, &rows[..900]).unwrap();
    let public = [PublicData::new("near", public, &domain).unwrap()];
    let workload = Workload::all_k_way(&domain, 2).unwrap();
    let relation = NeighboringRelation::ReplaceOne;
    let mut curator = Curator::new(&private, relation, budget(1.0), NoiseSeed::Fixed(3)).unwrap();
    let task = Task::new(&workload, &public);
    let release = anchor().run(&mut curator, &task, &mut Silent).unwrap();
    let pair = Clique::new([0, 1]);
    let found = &release.model.marginals(std::slice::from_ref(&pair)).unwrap()[0];
    assert_eq!(found.values()[1..3], [0.0, 0.0]);
    assert!(private.project(&pair).unwrap()[0] > 0 && found.values()[0] > 0.0);
}

/// A choice without a measurement has a line of its own in the report, and what was published is named.
#[test]
fn the_report_names_what_was_published() {
    let (private, near) = (people(10_000, 1, 0.0), people(10_000, 2, 0.0));
    let run = Run::new(&private, &[("near", &near)]);
    let release = run.release(&anchor());
    let attributes = run.domain().attributes().iter();
    let sizes: Vec<String> =
        attributes.map(|a| format!("\"{}\": {}", a.name, a.cardinality)).collect();
    let text = format!("{{{}}}", sizes.join(", "));
    let schema = jointly::domain::Schema::from_json(&text, "domain.json").unwrap();
    let unit = jointly::privacy::PrivacyUnit::default();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let records = release.rows(100, Drawing::Independent, &mut rng).unwrap();
    let content = jointly::report::Content {
        release: &release,
        schema: &schema,
        public: &run.public,
        budget: None,
        unit: &unit,
        workload: &run.workload,
        parameters: Vec::new(),
        table: &records,
        written: &schema,
        weight: None,
        made: jointly::report::Made::default(),
    };
    let page = jointly::report::Report::new(&content).unwrap().to_html().unwrap();
    assert!(page.contains("Nothing computed from private records"), "no budget was named");
    assert!(page.contains("a choice among 7 models"));
    assert!(page.contains(release.public_trust.unwrap().published));
}

/// Where AIM chooses, a run measures what AIM measures with the same noise, whatever the public tables are, and publishes a
/// model that is worse than AIM's by the error of one paid choice at most.
#[test]
fn coupled_with_aim_it_is_never_worse_than_aim() {
    let (private, near) = (people(10_000, 1, 0.0), people(10_000, 2, 0.0));
    let coupled = AnchorPgm { chooser: Chooser::Alone, ..anchor() };
    let constant: Vec<Vec<u32>> = (0..near.records()).map(|_| vec![0; NAMES.len()]).collect();
    let constant = Dataset::from_rows(near.domain().clone(), &constant).unwrap();
    let tables =
        [("fair", near.clone()), ("reversed", turned_round(&near)), ("constant", constant)];
    for (epsilon, seed) in [(0.3, 1), (0.3, 2), (2.0, 1)] {
        for (name, table) in &tables {
            let seed = NoiseSeed::Fixed(seed);
            let run = Run { epsilon, seed, ..Run::new(&private, &[("near", table)]) };
            let release = run.release(&coupled);
            assert_eq!(release.ledger.spent(), release.ledger.limit());
            let pick = release.ledger.entries().last().unwrap();
            assert_eq!(pick.purpose, "choose a model");

            let rest = release.ledger.limit().checked_sub(pick.rho).unwrap();
            let task = Task::new(&run.workload, &[]);
            let mut curator = Curator::new(&run.private, run.relation, rest, run.seed).unwrap();
            let aim = aim().run(&mut curator, &task, &mut Silent).unwrap();
            assert_eq!(release.measurements, aim.measurements, "{name}, epsilon {epsilon}");

            let models =
                f64::from(u32::try_from(release.rounds.last().unwrap().choices[0]).unwrap());
            let unit = 4.0 / (run.private.records() as f64 * (8.0 * pick.rho.to_f64()).sqrt());
            let bound = unit * (models.ln() + 20_f64.ln());
            let said = release.public_trust.as_ref().unwrap().above_aim.unwrap();
            assert!((said - bound).abs() < 1e-12, "{said}, {bound}");
            let (ours, theirs) = (run.error(&release.model), run.error(&aim.model));
            eprintln!("{name}, epsilon {epsilon}: {ours:.4}, AIM {theirs:.4}, bound +{bound:.4}");
            assert!(ours <= theirs + bound, "{name}, epsilon {epsilon}");
            assert!(bound < 0.7 * theirs, "the bound says something");
            if *name == "fair" {
                assert!(ours < 0.9 * theirs, "epsilon {epsilon}: {ours}, AIM {theirs}");
            }
        }
    }
}
