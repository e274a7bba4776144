//! The public records: their share in a mixture, and whether measurements agree with them.

use rand::RngExt;

use super::*;
use crate::domain::Clique;
use crate::measurement::Provenance;
use crate::mechanism::anchor_pgm::base::PublicMarginals;
use crate::observe::Unstoppable;

const TOTAL: f64 = 1000.0;

fn public(domain: &Domain, rows: &[Vec<u32>]) -> PublicData {
    PublicData::new("p", Dataset::from_rows(domain.clone(), rows).unwrap(), domain).unwrap()
}

/// A base within a size limit of some cells.
fn base(table: &PublicData, workload: &Workload, domain: &Domain, cells: f64) -> Base {
    let cliques = workload.downward_closure();
    let found = PublicMarginals::count(std::slice::from_ref(table), &cliques).unwrap();
    let limit_mib = cells * 8.0 / f64::from(1 << 20);
    Base::build(domain, &found, &vec![1.0; cliques.len()], limit_mib, TOTAL, &Unstoppable).unwrap()
}

/// Two coins and whether they differ: no pair shows it, and the base has no room for all three.
fn parity(records: usize) -> (Domain, PublicData) {
    let domain = Domain::new([("a", 2), ("b", 2), ("c", 2)]).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut row = || {
        let (a, b) = (rng.random_range(0..2), rng.random_range(0..2));
        vec![a, b, a ^ b]
    };
    let rows: Vec<Vec<u32>> = (0..records).map(|_| row()).collect();
    let table = public(&domain, &rows);
    (domain, table)
}

fn measured(clique: Clique, values: Vec<f64>, stddev: f64) -> Measurement {
    Measurement { clique, cell: None, values, stddev, provenance: Provenance::Private }
}

#[test]
fn records_have_the_share_of_what_the_model_misses() {
    let (domain, table) = parity(400);
    let workload = Workload::all_k_way(&domain, 3).unwrap();
    let small = base(&table, &workload, &domain, 7.0);
    let share = best_share(&small, &[&table], &workload, &Unstoppable).unwrap();
    assert!(share > 0.9, "the model misses everything: {share}");

    // Independent attributes: the model is right, and 200 records in 4,096 cells are noise.
    let domain = Domain::new([("a", 16), ("b", 16), ("c", 16)]).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let rows: Vec<Vec<u32>> =
        (0..200).map(|_| (0..3).map(|_| rng.random_range(0..16)).collect()).collect();
    let table = public(&domain, &rows);
    let workload = Workload::all_k_way(&domain, 3).unwrap();
    let base = base(&table, &workload, &domain, 1e6);
    let share = best_share(&base, &[&table], &workload, &Unstoppable).unwrap();
    assert!(share < 0.1, "the records are noise: {share}");
}

#[test]
fn a_mixture_needs_records_that_agree_and_that_measurements_do_not_beat() {
    let (domain, table) = parity(400);
    let workload = Workload::all_k_way(&domain, 3).unwrap();
    let base = base(&table, &workload, &domain, 7.0);
    let tables = [table];
    let task = Task::new(&workload, &tables);
    let fit = |measurements: &[Measurement]| {
        PublicRecords::fit(&domain, &tables, measurements, TOTAL, &Unstoppable).unwrap().unwrap()
    };
    let share = |records: &PublicRecords, beaten: f64| {
        records.share_beside(&base, &task, beaten, &Unstoppable).unwrap()
    };
    let number_of =
        |records: &PublicRecords| records.mixed_with(&base.model, &[0.5, 0.25]).unwrap().len();

    let fair = fit(&[measured(Clique::new([0]), vec![700.0, 300.0], 10.0)]);
    let own = share(&fair, 0.0).expect("a share");
    let mixture = fair.mixed_with(&base.model, &[own]).unwrap().remove(0).listed().unwrap();
    let tables_of = mixture.marginals(&[Clique::new([0]), Clique::new([0, 1, 2])]).unwrap();
    let (first, all) = (tables_of[0].values(), tables_of[1].values());
    assert!((mixture.total() - TOTAL).abs() < 1e-9);
    // Nearly all of it are the reweighted records: 700 and 300, and hardly any of odd parity.
    assert!((first[0] - 700.0).abs() < 60.0, "{first:?}");
    assert!(all[1] + all[2] + all[4] + all[7] < 0.1 * TOTAL, "{all:?}");
    assert!(share(&fair, 1.1).is_none(), "measurements beat the records");

    // No weights of the records give odd parity.
    let odd = vec![0.0, 250.0, 250.0, 0.0, 250.0, 0.0, 0.0, 250.0];
    let wrong = fit(&[measured(Clique::new([0, 1, 2]), odd, 5.0)]);
    assert!(!wrong.agree);
    assert!(share(&wrong, 0.0).is_none());
    assert_eq!(number_of(&wrong), 2, "a choice that is paid for may still take it");
    assert_eq!(wrong.candidate().name, "the public records, reweighted");
    let unmeasured = fit(&[]);
    assert!(share(&unmeasured, 0.0).is_none());
    assert_eq!(number_of(&unmeasured), 0, "nothing to reweight them to");
    assert_eq!(unmeasured.candidate().name, "the public records");
}

/// A value that is common among private records and rare among public ones puts nearly all weight on few of these.
#[test]
fn few_heavy_records_are_not_mixed_in() {
    let domain = Domain::new([("a", 2), ("b", 2), ("c", 2)]).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let mut row = |i: u32| {
        let (a, b) = (u32::from(i.is_multiple_of(50)), rng.random_range(0..2));
        vec![a, b, a ^ b]
    };
    let rows: Vec<Vec<u32>> = (0..1000).map(&mut row).collect();
    let tables = [public(&domain, &rows)];
    let workload = Workload::all_k_way(&domain, 3).unwrap();
    let base = base(&tables[0], &workload, &domain, 7.0);
    let task = Task::new(&workload, &tables);
    let fit = |rare: f64| {
        let measured = [measured(Clique::new([0]), vec![TOTAL - rare, rare], 2.0)];
        PublicRecords::fit(&domain, &tables, &measured, TOTAL, &Unstoppable).unwrap().unwrap()
    };
    let share =
        |records: &PublicRecords| records.share_beside(&base, &task, 0.0, &Unstoppable).unwrap();
    // 20 of 1,000 records with a, as there are: all count.
    let fair = fit(20.0);
    assert!((fair.effective() - 1.0).abs() < 1e-3, "{}", fair.effective());
    assert!(share(&fair).is_some());
    // They stand for 900: 1 of 0.9²/0.02 + 0.1²/0.98.
    let heavy = fit(900.0);
    assert!(heavy.agree, "some weights do");
    assert!((heavy.effective() - 1.0 / 40.51).abs() < 1e-3, "{}", heavy.effective());
    assert!(share(&heavy).is_none());
}

#[test]
fn the_share_in_a_mixture_falls_with_the_number_of_records() {
    // Model errors of 3 and a variance of 1 make 3/4; with a quarter of the records the variance is 4.
    assert!((of_effective(0.75, 0.25) - 3.0 / 7.0).abs() < 1e-12);
    for share in [0.0, 0.4, 1.0] {
        assert!((of_effective(share, 1.0) - share).abs() < 1e-12);
    }
    assert!(of_effective(1.0, 0.1) >= 1.0, "a model that is never right");
}
