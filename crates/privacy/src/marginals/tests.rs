use std::sync::Arc;

use super::*;
use crate::NeighboringRelation::ReplaceOne;

fn marginals() -> SealedMarginals {
    let shapes = vec![(2, "a".into()), (3, "b".into())];
    let source = Source::new(&Arc::new(()), ReplaceOne, 3.0);
    SealedMarginals::new(source, shapes, Sensitive::new(vec![vec![3, 0], vec![1, 0, 2]]))
}

#[test]
fn scores_of_cells_are_their_errors_without_those_left_out() {
    let tables = [vec![1.0, 0.5], vec![1.0, 2.0, 0.0]];
    let marginals = marginals();
    let values = |scores: Result<Scores>| scores.unwrap().values().value().clone();
    let all = [vec![], vec![]];
    assert_eq!(values(marginals.cell_errors(&tables, &all)), [2.0, 0.5, 0.0, 2.0, 2.0]);
    assert_eq!(values(marginals.cell_errors(&tables, &[vec![1], vec![0, 2]])), [2.0, 2.0]);
    assert_eq!(values(marginals.worst_cell_errors(&tables, &all)), [2.0, 2.0]);
    assert_eq!(values(marginals.worst_cell_errors(&tables, &[vec![0], vec![]])), [2.0]);
    let signed = [2.0, -2.0, -0.5, 0.5, 0.0, 0.0, -2.0, 2.0, 2.0, -2.0];
    assert_eq!(values(marginals.signed_cell_errors(&tables)), signed);
    for wrong in [&tables[..1], &[vec![1.0], vec![1.0; 3]]] {
        assert!(marginals.cell_errors(wrong, &all).is_err());
        assert!(marginals.signed_cell_errors(wrong).is_err());
    }
    assert!(marginals.worst_cell_errors(&tables, &all[..1]).is_err());
}
