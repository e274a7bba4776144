use super::bins_of;
use crate::domain::Bins;
use crate::paid_bins::grid::Grid;
use crate::paid_bins::tree::Leaf;

fn grid(high: f64) -> Grid {
    Grid::new(&Bins::new(vec![0.0, high], Some(true), "x").unwrap())
}

#[test]
fn heaps_have_bins_of_their_own_and_the_others_at_most_a_twentieth() {
    // 0 has half of the records, 40 a tenth, the others 1/200 each.
    let grid = grid(100.0);
    let records = |cell: usize| match cell {
        0 => 500.0,
        40 => 100.0,
        1..=80 => 5.0,
        _ => 0.0,
    };
    let leaves: Vec<Leaf> =
        (0..112).map(|cell| Leaf { from: cell, end: cell + 1, records: records(cell) }).collect();
    let bins = bins_of(&grid, &leaves, "x").unwrap();
    let edges = bins.edges();
    assert_eq!((edges[0], edges[1], edges[edges.len() - 1]), (0.0, 1.0, 100.0));
    assert!(edges.contains(&40.0) && edges.contains(&41.0), "{edges:?}");
    let total = 995.0_f64;
    for pair in edges.windows(2).filter(|pair| pair[1] - pair[0] > 1.0) {
        let rows: f64 = (0..100)
            .filter(|cell| (pair[0]..pair[1]).contains(&f64::from(*cell)))
            .map(|cell| records(usize::try_from(cell).unwrap()))
            .sum();
        // A twentieth of all, and a tenth of the 395 without heaps.
        assert!(rows <= (total / 20.0).min(39.5), "{pair:?} has {rows}");
    }
    // Values are drawn where rows are: none from 81 on.
    let last = bins.pieces_of(bins.count() - 1);
    assert!(last.iter().all(|piece| piece.below <= 81.0) && !last.is_empty(), "{last:?}");
}

#[test]
fn without_leaves_each_number_has_a_bin() {
    let bins = bins_of(&grid(16.0), &[], "x").unwrap();
    assert_eq!((bins.count(), bins.pieces().len()), (16, 0));
}

#[test]
fn no_records_at_all_leave_bins_of_the_whole_range() {
    let grid = grid(1000.0);
    let leaves =
        [Leaf { from: 0, end: 512, records: 0.0 }, Leaf { from: 512, end: 1024, records: 0.0 }];
    let bins = bins_of(&grid, &leaves, "x").unwrap();
    assert_eq!((bins.edges()[0], *bins.edges().last().unwrap()), (0.0, 1000.0));
    assert!(bins.pieces().is_empty());
}
