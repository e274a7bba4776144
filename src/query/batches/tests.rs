use super::*;
use crate::query::Workload;

#[test]
fn batches_hold_every_clique_once() {
    let domain = Domain::new((0..9).map(|i| (i.to_string(), 200))).unwrap();
    let workload = Workload::all_k_way(&domain, 3).unwrap();
    let sizes: Vec<usize> = batches(&domain, workload.weighted_cliques()).map(<[_]>::len).collect();
    assert_eq!(sizes.iter().sum::<usize>(), workload.len());
    assert!(sizes.iter().all(|n| *n == 1));
}
