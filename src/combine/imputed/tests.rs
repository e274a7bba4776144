use crate::combine::{Imputation, Method, Statistic, Target};
use crate::data::{Dataset, Projectable};
use crate::domain::{Clique, Schema};
use crate::measurement::{Measurement, Provenance};
use crate::model::Accuracy;
use crate::observe::Unstoppable;
use crate::query::Workload;

/// 2,000 people over three columns of which pairs were measured without much noise.
#[test]
fn a_logistic_regression_over_pairs_has_an_interval_and_a_share_of_three_columns_has_none() {
    let schema = Schema::from_json(r#"{"a": 2, "b": 2, "c": 2}"#, "domain.json").unwrap();
    let domain = schema.domain();
    let mut rows = Vec::new();
    for (cell, count) in (0..).zip([400, 150, 250, 200, 120, 330, 150, 400]) {
        rows.extend((0..count).map(|_| [cell / 4, cell / 2 % 2, cell % 2]));
    }
    let table = Dataset::from_rows(domain.clone(), &rows).unwrap();
    let noisy = |clique: &Clique| Measurement {
        clique: clique.clone(),
        cell: None,
        values: table.project(clique).unwrap().into_iter().map(f64::from).collect(),
        stddev: 2.0,
        provenance: Provenance::Private,
    };
    let pairs = Workload::all_k_way(&domain, 2).unwrap();
    let measured: Vec<Measurement> = pairs.cliques().iter().map(noisy).collect();
    let mut accuracy = Accuracy { total: 2000.0, ..Accuracy::of(&measured) };
    accuracy.measured.records = Some(2000.0);
    let how = Imputation { tables: 20, seed: 1, checks: &Unstoppable };
    let found = |statistic: &Statistic, target, how| {
        statistic.combine(&schema, &table, &[], &accuracy, target, how).unwrap()
    };
    let logistic = Statistic::logistic("c=1 ~ a=1 + b=1", &schema).unwrap();
    let without = found(&logistic, Target::PrivateTable, None);
    assert!(without.iter().all(|finding| finding.combined.is_none()));
    let of_table = found(&logistic, Target::PrivateTable, Some(how));
    let of_population = found(&logistic, Target::Population, Some(how));
    for (narrow, wide) in of_table.iter().zip(&of_population) {
        let (one, other) = (narrow.combined.unwrap(), wide.combined.unwrap());
        assert_eq!((one.method, other.method), (Method::Posterior, Method::Posterior));
        // The three-way dependence that no pair shows is small here.
        assert!(other.covers(narrow.released.unwrap()), "{other:?}");
        assert!(one.standard_error < other.standard_error);
    }
    assert!(of_population[1].p_value.unwrap() < 1e-4 && of_population[0].p_value.is_none());
    let share = Statistic::share("a=1, b=1, c=1", &schema).unwrap();
    assert!(found(&share, Target::Population, Some(how))[0].combined.is_none());
    let among = Statistic::logistic("c=1 ~ a=1", &schema).unwrap().among("b=1", &schema).unwrap();
    assert!(found(&among, Target::Population, Some(how))[0].combined.is_none());
}
