use super::{Grid, round_up};
use crate::domain::Bins;

fn grid(low: f64, high: f64, whole: bool) -> Grid {
    Grid::new(&Bins::new(vec![low, high], Some(whole), "x").unwrap())
}

fn widths(grid: &Grid) -> Vec<usize> {
    grid.widths().collect()
}

#[test]
fn cells_are_whole_numbers_where_these_are_few_enough() {
    let ages = grid(0.0, 120.0, true);
    assert!(ages.is_of_units() && ages.cells() == 120 && ages.edge(7).to_bits() == 7_f64.to_bits());
    assert_eq!((widths(&ages), ages.padded()), (vec![10, 1], 120));
    let pay = grid(0.0, 10_000_000.0, true);
    assert_eq!((pay.cells(), pay.edge(1)), (1_000_000, 10.0));
    assert_eq!(widths(&pay), [10_000, 1_000, 100, 10, 1]);
    assert!(!pay.is_of_units());
    let few = grid(1.0, 17.0, true);
    assert!(widths(&few).is_empty() && few.levels() == 0 && few.padded() == 16);
    // Blocks begin at round numbers, also where the range does not.
    let odd = grid(-17.0, 2_205.0, true);
    assert_eq!((odd.skipped(), odd.cells(), widths(&odd)), (83, 2_222, vec![100, 10, 1]));
    assert_eq!(
        [83, 84, 100, 2_304, 2_305].map(|cell| odd.edge(cell).to_bits()),
        [-17.0, -16.0, 0.0, 2_204.0, 2_205.0].map(f64::to_bits)
    );
    assert_eq!(odd.padded(), 2_400);
    assert_eq!(widths(&grid(0.0, 100.0, true)), [1]);
}

#[test]
fn cells_of_real_numbers_have_round_widths_and_end_with_the_range() {
    let share = grid(0.0, 1.0, false);
    assert_eq!((share.cells(), share.edge(500_000), share.edge(2_000_000)), (1_000_000, 0.5, 1.0));
    assert_eq!(share.edge(300_001).to_bits(), 0.300_001_f64.to_bits());
    let odd = grid(-3.7, 11.3, false);
    let edges: Vec<f64> = (0..=odd.cells()).map(|cell| odd.edge(odd.skipped() + cell)).collect();
    assert!(edges.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!((edges[0], edges[edges.len() - 1]), (-3.7, 11.3));
    assert_eq!(odd.bins("x").unwrap().count() as usize, odd.cells());
    for number in [0.00013, 0.2, 1.0, 4.9, 5.0, 7.1, 300.0] {
        let round = round_up(number);
        assert!(round >= number * (1.0 - 1e-9) && round < 2.51 * number, "{number}: {round}");
    }
}
