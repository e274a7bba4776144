use super::*;
use crate::data::Dataset;
use crate::model::MarkovRandomField;

fn table(rows: &[[u32; 3]]) -> Dataset {
    let domain = Domain::new([("a", 2), ("b", 2), ("c", 3)]).unwrap();
    Dataset::from_rows(domain, rows).unwrap()
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found}, expected {expected}");
}

#[test]
fn errors_are_those_computed_by_hand() {
    // a x b: (1/2, 0, 0, 1/2) against (1/4, 1/4, 1/4, 1/4): L1 1, every cell off by 1/4.
    // c: (1, 0, 0) against (1/2, 1/2, 0): L1 1, cells off by 1/2, 1/2, 0.
    let real = table(&[[0, 0, 0], [1, 1, 0]]);
    let synthetic = table(&[[0, 0, 0], [0, 1, 0], [1, 0, 1], [1, 1, 1]]);
    let cliques = [(Clique::new([0, 1]), 3.0), (Clique::new([2]), 1.0)];
    let workload = Workload::new(
        cliques.map(|(clique, weight)| WeightedClique { clique, weight }),
        real.domain(),
    )
    .unwrap();
    let error = WorkloadError::between(&real, &synthetic, &workload, 1).unwrap();
    assert_eq!((error.cliques, error.queries), (2, 7));
    close(error.mean_l1, 1.0);
    close(error.max_query, 0.5);
    close(error.mean_query, 2.0 / 7.0);
    close(error.rmse_query, ((4.0 / 16.0 + 2.0 / 4.0) / 7.0_f64).sqrt());
    assert_eq!(error.worst.len(), 1);
    assert_eq!(error.worst[0].clique, ["a", "b"]);
}

#[test]
fn weights_are_those_of_the_workload() {
    let (real, synthetic) = (table(&[[0, 0, 0]]), table(&[[0, 0, 1]]));
    let weighted = |a: usize, weight| WeightedClique { clique: Clique::new([a]), weight };
    let workload = Workload::new([weighted(0, 3.0), weighted(2, 1.0)], real.domain()).unwrap();
    let error = WorkloadError::between(&real, &synthetic, &workload, 5).unwrap();
    close(error.mean_l1, 0.5);
    assert_eq!(error.worst[0].clique, ["c"]);
}

#[test]
fn a_table_has_no_error_against_itself_and_independence_has() {
    let real = table(&[[0, 0, 0], [1, 1, 2], [1, 1, 2], [0, 0, 0]]);
    let workload = Workload::all_k_way(real.domain(), 2).unwrap();
    let same = WorkloadError::between(&real, &real, &workload, 3).unwrap();
    close(same.mean_l1 + same.max_query + same.rmse_query, 0.0);
    // Every pair is (1/2, 1/2) on a diagonal; the product spreads it evenly: L1 1.
    let independent = WorkloadError::of_independence(&real, &workload, 3).unwrap();
    close(independent.mean_l1, 1.0);
}

#[test]
fn the_uniform_model_is_as_far_as_its_marginals() {
    let real = table(&[[0, 0, 0]]);
    let model = MarkovRandomField::uniform(real.domain(), 10.0).unwrap().into();
    let workload = Workload::all_k_way(real.domain(), 1).unwrap();
    let error = WorkloadError::of_model(&real, &model, &workload, 3).unwrap();
    close(error.mean_l1, (1.0 + 1.0 + 4.0 / 3.0) / 3.0);
}

#[test]
fn tables_over_different_domains_are_refused() {
    let real = table(&[[0, 0, 0]]);
    let other = Dataset::from_rows(Domain::new([("a", 2), ("b", 3)]).unwrap(), &[[0, 0]]);
    let workload = Workload::all_k_way(real.domain(), 1).unwrap();
    let error = WorkloadError::between(&real, &other.unwrap(), &workload, 1).unwrap_err();
    assert!(error.to_string().contains("attribute 'b' of 3 values"), "{error}");
}
