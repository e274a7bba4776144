use proptest::prelude::*;

use super::{Axis, query, sums, sums_of};
use crate::pap::RangeClass::{self, Boxes, Conjunctions, Intervals, Stumps, Thresholds};
use crate::privacy::CellSet;

fn classes() -> [RangeClass; 5] {
    [
        Thresholds,
        Intervals,
        Stumps { columns: 2 },
        Boxes { columns: 2 },
        Conjunctions { columns: 2 },
    ]
}

#[test]
fn ranges_are_the_queries_of_the_class() {
    let ranges = |class| Axis { cells: 4, class }.ranges().collect::<Vec<_>>();
    assert_eq!(ranges(Thresholds), [(0, 1), (0, 2), (0, 3)]);
    assert_eq!(ranges(Intervals), [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]);
    assert_eq!(ranges(Stumps { columns: 9 }), ranges(Thresholds));
    assert_eq!(ranges(Boxes { columns: 2 })[..3], [(0, 4), (0, 1), (0, 2)]);
    assert_eq!(ranges(Conjunctions { columns: 2 }), [(0, 4), (0, 1), (1, 2), (2, 3)]);
    for class in classes() {
        assert_eq!(ranges(class).len(), Axis { cells: 4, class }.len());
    }
}

proptest! {
    #[test]
    fn running_sums_are_the_sums_of_the_cells_of_every_query(
        shape in prop::collection::vec(2_usize..6, 1..4),
        class in 0_usize..5,
        counts in prop::collection::vec(0_u16..50, 125),
    ) {
        let class = classes()[class];
        let axes: Vec<Axis> = shape.iter().map(|cells| Axis { cells: *cells, class }).collect();
        let cells: usize = shape.iter().product();
        let table: Vec<f64> = counts[..cells].iter().map(|count| f64::from(*count)).collect();
        let found = sums(&table, &axes);
        prop_assert_eq!(found.len(), axes.iter().map(|axis| axis.len()).product::<usize>());
        for (place, sum) in found.iter().enumerate() {
            let code = |code: usize| u32::try_from(code).unwrap();
            let ranges = query(&axes, place);
            let set = CellSet::new(ranges.iter().map(|(from, to)| code(*from)..code(*to)));
            let cells = set.unwrap().cells(&shape);
            let exact: f64 = cells.into_iter().map(|cell| table[cell]).sum();
            prop_assert!((sum - exact).abs() < 1e-12);
            // A list of one query.
            let listed = sums_of(&table, &axes, &[ranges]);
            prop_assert!(listed.len() == 1 && (listed[0] - exact).abs() < 1e-12);
        }
    }
}
