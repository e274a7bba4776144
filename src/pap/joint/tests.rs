//! The joint distribution, and whole releases by PMW.

use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

use crate::data::Dataset;
use crate::domain::Clique;
use crate::model::{Drawing, Refinement};
use crate::pap::RangeClass::{Boxes, Intervals, Stumps, Thresholds};
use crate::pap::{Cuts, Pap, PapRelease, Query, RangeClass, Release};
use crate::privacy::NeighboringRelation::{AddRemoveOne, AddRemoveUnit, ReplaceOne};
use crate::privacy::{
    Budget, Curator, NeighboringRelation, NoiseMechanism, NoiseSeed, RecordsPerUnit, Rho,
};

type Values = Vec<Option<f64>>;

/// Two dependent columns of numbers from 0 to 10, a tenth of the second missing.
fn records(count: usize, rng: &mut ChaCha20Rng) -> [Values; 2] {
    let draw = |_| {
        let x: f64 = rng.random::<f64>() * 10.0;
        let y = (x + rng.random::<f64>() * 4.0).min(10.0);
        (Some(x), (rng.random::<f64>() > 0.1).then_some(y))
    };
    let (x, y) = (0..count).map(draw).unzip();
    [x, y]
}

fn cuts(most: usize, rng: &mut ChaCha20Rng) -> [Cuts; 2] {
    ["x", "y"].map(|name| {
        let public = (0..most).map(|_| rng.random::<f64>() * 10.0).collect::<Vec<f64>>();
        Cuts::from_public(name, public, most).unwrap()
    })
}

fn pmw(cuts: &[Cuts], class: RangeClass) -> Pap {
    Pap { class, release: Release::Pmw { rounds: None }, ..Pap::new(cuts) }
}

fn run(
    pap: &Pap,
    data: &Dataset,
    relation: NeighboringRelation,
    rho: f64,
    seed: u64,
) -> PapRelease {
    let rho = Rho::from_f64(rho).unwrap();
    let mut curator = Curator::new(data, relation, rho, NoiseSeed::Fixed(seed)).unwrap();
    pap.run(&mut curator).unwrap()
}

fn relations() -> [NeighboringRelation; 3] {
    [ReplaceOne, AddRemoveOne, AddRemoveUnit(RecordsPerUnit::new(2).unwrap())]
}

fn classes() -> [RangeClass; 4] {
    [Thresholds, Intervals, Stumps { columns: 2 }, Boxes { columns: 2 }]
}

/// The share of records that meet a query.
fn truth(query: &Query, columns: &[Values; 2]) -> f64 {
    let meets = |record: &usize| {
        query.conditions().iter().all(|condition| {
            let column = usize::from(condition.column() == "y");
            let value = columns[column][*record];
            value.is_some_and(|x| condition.above() < x && x <= condition.to())
        })
    };
    let records = columns[0].len();
    (0..records).filter(meets).count() as f64 / records as f64
}

#[test]
fn a_budget_is_spent_to_the_last_unit_with_two_entries_for_each_round() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let (cuts, columns) = (cuts(5, &mut rng), records(50, &mut rng));
    let data = Cuts::encode(&cuts, &columns).unwrap();
    for (relation, class) in relations().into_iter().flat_map(|r| classes().map(|class| (r, class)))
    {
        let release = run(&pmw(&cuts, class), &data, relation, 0.1, 1);
        assert_eq!(release.ledger.remaining(), Rho::ZERO);
        let is_private = usize::from(relation != ReplaceOne);
        let entries = release.ledger.entries();
        // 4 + log₂(50 · 10), with n measured where it is private; or all 12 thresholds of two columns.
        let rounds = if class.starts_anywhere() { 12..=15 } else { 12..=12 };
        assert!(rounds.contains(&release.measured.len()), "{class:?}, {relation}");
        assert_eq!(entries.len(), 2 * release.measured.len() + is_private);
        for (round, pair) in (1..).zip(entries[is_private..].chunks(2)) {
            let [choice, sum] = pair else { panic!("{} entries", pair.len()) };
            assert_eq!((choice.round, sum.round), (round, round));
            assert!(choice.rho.units().abs_diff(sum.rho.units()) <= 1);
            let NoiseMechanism::ExponentialMechanism { draws: 1, .. } = choice.mechanism else {
                panic!("{choice:?}")
            };
            let columns = sum.clique.as_ref().unwrap().len();
            let is_joint = matches!(class, Boxes { .. });
            assert_eq!((columns, sum.cells.is_some()), (1 + usize::from(is_joint), true));
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_files_are_read_back() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let (cuts, columns) = (cuts(8, &mut rng), records(300, &mut rng));
    let data = Cuts::encode(&cuts, &columns).unwrap();
    for class in classes() {
        let written = |seed| run(&pmw(&cuts, class), &data, AddRemoveOne, 0.2, seed).to_json();
        let text = written(1).unwrap();
        assert_eq!(written(1).unwrap(), text);
        assert_ne!(written(2).unwrap(), text);
        assert_eq!(PapRelease::from_json(&text, "f").unwrap().to_json().unwrap(), text);
    }
    let release = run(&pmw(&cuts, Boxes { columns: 2 }), &data, ReplaceOne, 0.2, 1);
    let mut wrong: [PapRelease; 4] = std::array::from_fn(|_| release.clone());
    wrong[0].joint.pop();
    wrong[1].joint[0] = -0.1;
    wrong[2].measured[0].ranges[0].before = 99;
    wrong[3].measured[0].ranges[0].column = 2;
    for wrong in wrong {
        let error = PapRelease::from_json(&wrong.to_json().unwrap(), "f").unwrap_err();
        assert!(error.to_string().contains("do not fit the columns"), "{error}");
    }
}

#[test]
fn brackets_of_pmw_hold_for_all_queries_of_one_and_two_columns() {
    let mut failures = 0;
    for (seed, place) in (0_u64..600).zip(0_usize..) {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (cuts, columns) = (cuts(8, &mut rng), records(400, &mut rng));
        let data = Cuts::encode(&cuts, &columns).unwrap();
        let (class, relation) = (classes()[place % 4], relations()[place % 3]);
        let rho = if seed % 2 == 0 { 0.05 } else { 1.0 };
        let release = run(&pmw(&cuts, class), &data, relation, rho, seed);
        let mut holds = true;
        for trial in 0..200 {
            let mut condition = |name: &str| {
                let ends: [f64; 2] = rng.random();
                let [a, b] = ends.map(|end| end * 12.0 - 1.0);
                // A cut itself, at times.
                let points = cuts[0].points();
                let a = if trial % 5 == 0 { points[trial % points.len()] } else { a };
                let low = if trial % 3 == 0 { f64::NEG_INFINITY } else { a.min(b) };
                Query::between(name, low, a.max(b)).unwrap()
            };
            let (x, y) = (condition("x"), condition("y"));
            for query in [x.clone().and(y.clone()).unwrap(), x, y] {
                let (answer, truth) = (release.answer(&query).unwrap(), truth(&query, &columns));
                assert!(answer.low <= answer.value && answer.value <= answer.high);
                holds &= answer.low <= truth + 1e-12 && truth <= answer.high + 1e-12;
            }
        }
        failures += u32::from(!holds);
    }
    println!("{failures} of 600 releases have a bracket that fails");
    assert!(failures <= 30, "{failures} of 600");
}

#[test]
fn with_a_large_budget_and_all_queries_answers_at_cuts_are_exact() {
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let (cuts, columns) = (cuts(3, &mut rng), records(1000, &mut rng));
    let data = Cuts::encode(&cuts, &columns).unwrap();
    let pap = Pap { release: Release::Pmw { rounds: Some(121) }, ..Pap::boxes(cuts.clone()) };
    let release = run(&pap, &data, ReplaceOne, 1e6, 4);
    assert_eq!(release.measured.len(), 121);
    for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))) {
        let x = Query::at_most("x", cuts[0].points()[i]).unwrap();
        let y = Query::between("y", cuts[1].points()[j], f64::INFINITY).unwrap();
        for query in [x.clone().and(y.clone()).unwrap(), x, y] {
            let (answer, truth) = (release.answer(&query).unwrap(), truth(&query, &columns));
            let is_near = |share: f64| (share - truth).abs() < 1e-4;
            assert!(is_near(answer.value), "{query}: {answer:?}, {truth}");
            assert!(is_near(answer.low) && is_near(answer.high), "{query}: {answer:?}, {truth}");
        }
    }
    // The table is the distribution that answers came from.
    let table = release.table().unwrap();
    let found = table.marginals(&[Clique::new([0])]).unwrap();
    let exact = data.columns()[0].iter().fold(vec![0.0; 5], |mut counts, code| {
        counts[code as usize] += 1.0;
        counts
    });
    assert!(found[0].values().iter().zip(exact).all(|(a, b)| (a - b).abs() < 0.2));
    let rows = table.rows(1000, Drawing::Refined, &Refinement::default(), &mut rng).unwrap();
    assert_eq!((rows.records(), rows.domain()), (1000, data.domain()));
}

#[test]
fn tables_of_columns_released_one_by_one_are_products() {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let (cuts, columns) = (cuts(6, &mut rng), records(500, &mut rng));
    let data = Cuts::encode(&cuts, &columns).unwrap();
    for pap in [Pap::new(cuts.clone()), pmw(&cuts, Thresholds)] {
        let release = run(&pap, &data, ReplaceOne, 1.0, 5);
        let table = release.table().unwrap();
        let found = table.marginals(&[Clique::new([0, 1]), Clique::new([0])]).unwrap();
        let mut below = 0.0;
        for (cell, count) in found[1].values().iter().enumerate().take(7) {
            below += count / 500.0;
            assert!((below - release.columns[0].shares[cell].value).abs() < 1e-9);
        }
        let [x, y] = [0, 1].map(|column| release.columns[column].shares[0].value);
        assert!((found[0].values()[0] / 500.0 - x * y).abs() < 1e-9);
        let query: Query =
            format!("x <= {} & y <= {}", cuts[0].points()[0], cuts[1].points()[0]).parse().unwrap();
        let answer = release.answer(&query).unwrap();
        assert!((answer.value - x * y).abs() < 1e-9 && answer.low < 1e-9);
    }
    let many =
        Pap::new([0, 1, 2].map(|i| Cuts::new(format!("c{i}"), (0..300).map(f64::from)).unwrap()));
    let data = Cuts::encode(&many.cuts, &[vec![None], vec![None], vec![None]]).unwrap();
    assert!(run(&many, &data, ReplaceOne, 1.0, 5).table().is_err());
}

#[test]
fn columns_of_boxes_may_come_in_any_order() {
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    let (cuts, columns) = (cuts(6, &mut rng), records(800, &mut rng));
    let data = Cuts::encode(&cuts, &columns).unwrap();
    let forth = run(&Pap::boxes(cuts.clone()), &data, ReplaceOne, 1.0, 6);
    let [x, y] = cuts;
    let back = run(&Pap::boxes([y, x]), &data, ReplaceOne, 1.0, 6);
    let names = |release: &PapRelease| {
        release.columns.iter().map(|column| column.cuts.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (names(&back), names(&forth)),
        (vec!["x".into(), "y".into()], vec!["x".into(), "y".into()])
    );
    let query: Query = "2 < x <= 6.5 & y > 4".parse().unwrap();
    assert_eq!(back.answer(&query).unwrap(), forth.answer(&query).unwrap());
}

#[test]
fn wrong_classes_cost_nothing() {
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let cuts = cuts(4, &mut rng);
    let data = Cuts::encode(&cuts, &records(10, &mut rng)).unwrap();
    let fails = |pap: &Pap, part: &str| {
        let budget = Budget::approximate(1.0, 1e-9).unwrap();
        let mut curator = budget.curator(&data, ReplaceOne, NoiseSeed::Fixed(1)).unwrap();
        let message = pap.run(&mut curator).unwrap_err().to_string();
        assert!(message.contains(part) && curator.spent().is_zero(), "{message}");
    };
    fails(&Pap { release: Release::Tree, ..Pap::boxes(cuts.clone()) }, "a tree is of one column");
    fails(&Pap { release: Release::Pmw { rounds: Some(0) }, ..Pap::boxes(cuts.clone()) }, "rounds");
    fails(&pmw(&cuts, Boxes { columns: 3 }), "3 columns");
    fails(&pmw(&cuts, Stumps { columns: 1 }), "1 columns");
    let many = |name: &str, points: u32| Cuts::new(name, (0..points).map(f64::from)).unwrap();
    for (points, part) in [(127, "queries"), (3000, "cells")] {
        let cuts = [many("x", points), many("y", points)];
        let data = Cuts::encode(&cuts, &[vec![None], vec![None]]).unwrap();
        let budget = Budget::approximate(1.0, 1e-9).unwrap();
        let mut curator = budget.curator(&data, ReplaceOne, NoiseSeed::Fixed(1)).unwrap();
        let message = Pap::boxes(cuts).run(&mut curator).unwrap_err().to_string();
        assert!(message.contains(part) && curator.spent().is_zero(), "{message}");
    }
}
