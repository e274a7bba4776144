use super::*;
use crate::privacy::{NeighboringRelation, NoiseSeed};
use crate::query::Workload;

fn domain() -> Domain {
    Domain::new([("a", 2), ("b", 3), ("c", 4)]).unwrap()
}

#[test]
fn every_cell_of_the_workload_is_a_candidate_in_both_signs() {
    let workload = Workload::all_k_way(&domain(), 2).unwrap();
    let queries = SignedQueries::new(&domain(), &Task::new(&workload, &[])).unwrap();
    assert_eq!(queries.candidates(), 2 * (6 + 8 + 12));
    let mut seen = Vec::new();
    for candidate in 0..queries.candidates() {
        let (clique, query) = queries.at(candidate);
        let cells = usize::try_from(domain().cells(clique).unwrap()).unwrap();
        assert!(query.cell < cells);
        assert_eq!(query.is_negated, candidate % 2 == 1);
        seen.push((clique.clone(), query.cell, query.is_negated));
    }
    seen.sort();
    let all = seen.len();
    seen.dedup();
    assert_eq!(seen.len(), all);
}

/// At a budget that leaves no doubt, the choice is the query of the largest signed error.
#[test]
fn scores_are_the_signed_errors_of_the_records() {
    let workload = Workload::all_k_way(&domain(), 2).unwrap();
    let task = Task::new(&workload, &[]);
    let queries = SignedQueries::new(&domain(), &task).unwrap();
    // Two thirds are (0, 0, 0), where the records have none; a third is (1, 2, 3), where the records have all.
    let rows: Vec<[u32; 3]> =
        (0..3000).map(|i| if i % 3 == 0 { [1, 2, 3] } else { [0, 0, 0] }).collect();
    let private = Dataset::from_rows(domain(), &rows).unwrap();
    let rho = Rho::from_f64(1e4).unwrap();
    let relation = NeighboringRelation::ReplaceOne;
    let mut curator = Curator::new(&private, relation, rho, NoiseSeed::Fixed(1)).unwrap();
    let mut observer = crate::observe::Silent;
    let mut run = Run::open("test", &0, &mut curator, &task, &mut observer).unwrap();
    let answers = run.marginals(&queries.cliques).unwrap();
    let against: [Batch; 2] = [vec![vec![1, 2, 3]], vec![vec![1, 2, 3], vec![1, 2, 3]]];
    run.begin_round().unwrap();
    let stake = Stake::Draws(40, Rho::from_f64(9e3).unwrap());
    let chosen = queries.choose(&mut run, stake, &against, 3000.0, &answers).unwrap();
    assert_eq!(chosen.len(), 40);
    for (_, query) in queries.at_all(&chosen) {
        // Either cell 0, which the records lack, or the negation of the last one, which they all have.
        assert_eq!(query.is_negated, query.cell > 0);
    }
}

#[test]
fn too_many_queries_are_refused() {
    let domain = Domain::new([("a", 6000), ("b", 6000)]).unwrap();
    let workload = Workload::all_k_way(&domain, 2).unwrap();
    let refused = SignedQueries::new(&domain, &Task::new(&workload, &[])).err();
    assert!(matches!(refused, Some(Error::Common(crate::CommonError::TooLarge { .. }))));
}
