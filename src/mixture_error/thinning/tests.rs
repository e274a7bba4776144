use super::*;
use crate::data::{Dataset, Projectable};
use crate::domain::Clique;

#[test]
fn rows_that_reach_rare_cells_are_among_the_few() {
    let domain = Domain::new([("a", 40), ("b", 40)]).unwrap();
    // All pairs of the first thirty values, and each other value with itself only.
    let common = (0..30_u32).flat_map(|a| (0..30_u32).map(move |b| [a, b]));
    let rows: Vec<[u32; 2]> = common.chain((30..40).map(|v| [v, v])).collect();
    let table = Dataset::from_rows(domain.clone(), &rows).unwrap();
    let public = PublicData::new("p", table, &domain).unwrap();
    let workload = Workload::all_k_way(&domain, 1).unwrap();
    for most in [60, 64, 100, 910, 1000] {
        let few = thinned(&public, &workload, most, &domain).unwrap();
        assert_eq!(few.table().unwrap().records(), most.min(910));
        for attribute in 0..2 {
            let counts = few.table().unwrap().project(&Clique::new([attribute])).unwrap();
            assert!(counts.iter().all(|count| *count > 0), "{most}: {counts:?}");
        }
        assert_eq!(few.table().unwrap().distinct().0.records(), most.min(910));
    }
}
