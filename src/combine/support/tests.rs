use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use crate::combine::{Statistic, Support, Target};
use crate::data::{Dataset, Projectable};
use crate::domain::{Clique, Schema};
use crate::measurement::{Measurement, Provenance};
use crate::model::Accuracy;

fn schema() -> Schema {
    let text = r#"{"na_token": "NA", "columns": [
        {"name": "a", "role": "attribute", "kind": "numeric", "edges": [0, 1, 2, 5], "integer": true},
        {"name": "b", "role": "attribute", "kind": "categorical", "codes": ["x", "y", "z"]},
        {"name": "c", "role": "attribute", "kind": "categorical", "codes": ["x", "y"]}
    ]}"#;
    Schema::from_json(text, "schema.json").unwrap()
}

fn measured(clique: &[usize], cells: usize) -> Measurement {
    let (clique, values) = (Clique::new(clique.iter().copied()), vec![100.0; cells]);
    Measurement { clique, cell: None, values, stddev: 1.0, provenance: Provenance::Private }
}

#[test]
fn a_statistic_is_supported_where_one_measured_marginal_holds_it() {
    let schema = schema();
    let rows = [[0, 0, 0], [1, 1, 1], [2, 2, 0], [0, 1, 1]];
    let table = Dataset::from_rows(schema.domain(), &rows).unwrap();
    let public = Measurement {
        provenance: Provenance::Public { source: "p".into() },
        ..measured(&[0, 2], 6)
    };
    let known = [measured(&[0, 1], 9), measured(&[2], 2), public];
    let accuracy = Accuracy { total: 4.0, ..Accuracy::of(&known) };
    let support = |statistic: crate::Result<Statistic>| {
        statistic.unwrap().design(&schema, &table).unwrap().support(&schema.domain(), &accuracy)
    };
    assert_eq!(support(Statistic::mean("a", &schema)), Support::Measured);
    assert_eq!(support(Statistic::difference("a: b=x vs b=y", &schema)), Support::Measured);
    assert_eq!(support(Statistic::logistic("c=x ~ a", &schema)), Support::Public);
    assert_eq!(support(Statistic::linear("a ~ b + c", &schema)), Support::Model);
    let among = Statistic::share("c=x", &schema).unwrap().among("b=x", &schema);
    assert_eq!(support(among), Support::Model);
}

#[test]
fn an_unsupported_statistic_has_no_interval_but_its_bound() {
    let schema = schema();
    let rows: Vec<[u32; 3]> = (0..60).map(|i| [i % 3, i / 3 % 3, i / 9 % 2]).collect();
    let table = Dataset::from_rows(schema.domain(), &rows).unwrap();
    let replicates = vec![table.clone(); 4];
    let accuracy = Accuracy {
        total: 60.0,
        at_most: vec![(Clique::new([0, 1, 2]), 0.1)],
        ..Accuracy::of(&[measured(&[0], 3)])
    };
    let combine = |statistic: crate::Result<Statistic>| {
        let found = statistic.unwrap().combine(
            &schema,
            &table,
            &replicates,
            &accuracy,
            Target::PrivateTable,
            None,
        );
        found.unwrap().pop().unwrap()
    };
    let supported = combine(Statistic::share("a=0", &schema));
    assert!(supported.combined.is_some() && supported.bound.is_none());
    let share = combine(Statistic::share("b=x, c=x", &schema));
    let bound = share.bound.unwrap();
    assert!(share.combined.is_none() && share.p_value.is_none());
    assert!((bound.upper - bound.lower - 0.1).abs() < 1e-12, "e / 2 to both sides");
    let regression = combine(Statistic::logistic("c=x ~ a + b", &schema));
    assert!(regression.combined.is_none() && regression.bound.is_none());
}

/// Pairs of random tables with their exact L1 distance: no statistic differs by more than its bound.
#[test]
fn no_statistic_of_two_tables_differs_by_more_than_the_bound() {
    let schema = schema();
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    let statistics = [
        Statistic::share("a=0..1, b=y", &schema).unwrap(),
        Statistic::mean("a", &schema).unwrap().among("b=x", &schema).unwrap(),
        Statistic::difference("a: b=x vs b=y", &schema).unwrap(),
        Statistic::difference("c=x: b=z vs a=0", &schema).unwrap(),
    ];
    let (mut compared, mut tight) = (0, 0.0_f64);
    for _ in 0..300 {
        let mut table = || {
            let [p, q] = [rng.random_range(1..4_u32), rng.random_range(1..4_u32)];
            let row = |rng: &mut ChaCha20Rng| {
                [
                    rng.random_range(0..p.min(3)),
                    rng.random_range(0..3),
                    rng.random_range(0..q.min(2)),
                ]
            };
            let rows: Vec<[u32; 3]> = (0..40).map(|_| row(&mut rng)).collect();
            Dataset::from_rows(schema.domain(), &rows).unwrap()
        };
        let (released, private) = (table(), table());
        let clique = Clique::new([0, 1, 2]);
        let [x, y] = [&released, &private].map(|table| table.project(&clique).unwrap());
        let distance = x.iter().zip(&y).map(|(x, y)| f64::from(x.abs_diff(*y))).sum::<f64>() / 40.0;
        let accuracy =
            Accuracy { total: 40.0, at_most: vec![(clique, distance)], ..Accuracy::default() };
        for statistic in &statistics {
            let design = statistic.design(&schema, &released).unwrap();
            let own = design.on_records(&released);
            let bound = design.bound(&schema, &released, &accuracy, &own).unwrap();
            if let (Some(bound), Some(truth)) = (bound, design.values(&private)[0]) {
                compared += 1;
                let slack = 1e-9;
                assert!(
                    bound.lower - slack <= truth && truth <= bound.upper + slack,
                    "{statistic}"
                );
                tight = tight
                    .max((truth - bound.estimate).abs() / (bound.upper - bound.estimate).max(1e-9));
            }
        }
    }
    assert!(compared > 600 && tight > 0.5, "{compared}, {tight}");
}
