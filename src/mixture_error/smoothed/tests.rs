use super::*;
use crate::data::{Dataset, Projectable};
use crate::domain::Domain;
use crate::privacy::NeighboringRelation::ReplaceOne;
use crate::privacy::StatisticSensitivity;

/// N v over all neighbors of small tables: v is the middle of a bracket of the smoothed value.
#[test]
fn what_is_released_changes_by_no_more_than_is_stated() {
    let domain = Domain::new([("a", 2), ("b", 3)]).unwrap();
    let table = |rows: &[[u32; 2]]| Dataset::from_rows(domain.clone(), rows).unwrap();
    let values: Vec<[u32; 2]> = (0..6).map(|v| [v % 2, v / 2]).collect();
    let workload = Workload::all_k_way(&domain, 2).unwrap();
    let stated = StatisticSensitivity::mixture_error(ReplaceOne, SmoothedError::WIDTH).unwrap();
    let stated = f64::from(stated.steps()) * StatisticSensitivity::GRID;
    let own = [[0, 0], [0, 0], [1, 1], [1, 2], [0, 1]];
    let total = own.len() as f64;
    let mut largest = 0.0_f64;
    for public in [vec![[0, 0], [1, 1]], vec![[0, 1], [1, 2], [0, 0], [1, 0]]] {
        let public = PublicData::new("public", table(&public), &domain).unwrap();
        for (smoothing, cells) in [
            (0.02, ScoredCells::All),
            (0.02, ScoredCells::Supported),
            (0.1, ScoredCells::Supported),
            (0.1, ScoredCells::All),
        ] {
            let smoothed = SmoothedError::new(&public, &workload, cells, smoothing).unwrap();
            let release = |rows: &[[u32; 2]]| {
                let real = table(rows);
                let mut answers = SmoothedAnswers::default();
                for batch in smoothed.batches() {
                    smoothed.extend(&mut answers, &real.project_many(&batch).unwrap());
                }
                smoothed.value(&answers, total)
            };
            let before = release(&own);
            for place in 0..own.len() {
                for value in &values {
                    let mut other = own;
                    other[place] = *value;
                    largest = largest.max((release(&other) - before).abs());
                }
            }
        }
    }
    assert!(largest <= stated && largest > 0.9, "{largest} against {stated}");
}
