use proptest::prelude::*;

use super::{Block, errors, prefix_bounds};
use crate::domain::Clique;
use crate::pap::RangeClass::{Boxes, Intervals};
use crate::pap::ranges::Axis;

fn block(shape: &[usize]) -> Block {
    let class = Boxes { columns: u32::try_from(shape.len()).unwrap() };
    let axes = shape.iter().map(|cells| Axis { cells: *cells, class }).collect();
    Block::new((0..shape.len()).collect(), Clique::new(0..shape.len()), axes).unwrap()
}

#[test]
fn a_projection_meets_its_answer_and_changes_no_ratio_inside_or_outside() {
    let mut block = block(&[2, 3]);
    block.weights = vec![0.1, 0.2, 0.3, 0.1, 0.1, 0.2];
    block.project(&[1, 2], 0.25);
    let expected = [0.15, 0.1, 0.15, 0.15, 0.15, 0.3];
    for (found, expected) in block.weights.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{:?}", block.weights);
    }
    // Answers of 0 and 1 leave a margin, so that later answers may be met.
    for (answer, met) in [(0.0, 1e-6), (1.0, 1.0 - 1e-6), (0.5, 0.5)] {
        block.project(&[0, 3], answer);
        assert!((block.probability(&[0, 3]) - met).abs() < 1e-12);
    }
}

#[test]
fn sums_below_are_those_of_one_axis() {
    let mut block = block(&[2, 3]);
    block.weights = vec![0.1, 0.2, 0.3, 0.1, 0.1, 0.2];
    let near = |found: Vec<f64>, expected: &[f64]| {
        assert!(found.len() == expected.len());
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    };
    near(block.sums_below(0, 10.0), &[6.0]);
    near(block.sums_below(1, 10.0), &[2.0, 5.0]);
    assert!(
        Block::new(vec![0], Clique::new([0]), vec![Axis { cells: 1 << 23, class: Intervals }])
            .is_err()
    );
}

#[test]
fn errors_are_those_of_the_queries_that_are_not_taken() {
    assert_eq!(errors(&[1.0, 5.0, 2.0, 0.0], &[0.5, 7.0, 2.0, 3.0], &[1, 2]), [0.5, 3.0]);
    assert_eq!(errors(&[1.0, 5.0], &[0.5, 7.0], &[]), [0.5, 2.0]);
}

#[test]
fn bounds_on_running_sums_follow_from_chains_of_ranges() {
    // Five cells; 10 to 12 in cells 1 and 2, 3 to 4 in cells 0 and 1, 20 of all: so at most 4 up to 1, and so on.
    let ranges = [(1, 3, [10.0, 12.0]), (0, 2, [3.0, 4.0])];
    let bounds = prefix_bounds(5, &ranges, [20.0, 20.0]);
    assert_eq!(
        bounds,
        [[0.0, 0.0], [0.0, 4.0], [3.0, 4.0], [10.0, 16.0], [10.0, 20.0], [20.0, 20.0]]
    );
}

proptest! {
    /// Whatever the counts, bounds that hold for ranges give bounds that hold for running sums, and the bounds of a range
    /// that starts at the first cell are no wider than its own.
    #[test]
    fn bounds_on_running_sums_hold(
        counts in prop::collection::vec(0_u16..20, 2..9),
        ranges in prop::collection::vec((0_usize..9, 0_usize..9, 0.0..5.0_f64, 0.0..5.0_f64), 0..8),
    ) {
        let mut sums = vec![0.0];
        counts.iter().for_each(|count| sums.push(sums[sums.len() - 1] + f64::from(*count)));
        let cells = counts.len();
        let ranges = ranges.into_iter().map(|(a, b, less, more)| {
            let (a, b) = (a % (cells + 1), b % (cells + 1));
            (a.min(b), a.max(b), less, more)
        });
        let ranges = ranges.filter(|(from, to, ..)| from < to).map(|(from, to, less, more): (usize, usize, f64, f64)| {
            let count: f64 = sums[to] - sums[from];
            (from, to, [(count - less).max(0.0), count + more])
        });
        let ranges: Vec<_> = ranges.collect();
        let all = sums[cells];
        let bounds = prefix_bounds(cells, &ranges, [all, all]);
        for ([low, high], sum) in bounds.iter().zip(&sums) {
            prop_assert!(*low <= sum + 1e-9 && *sum <= high + 1e-9);
        }
        for (from, to, [low, high]) in ranges {
            prop_assert!(from > 0 || low <= bounds[to][0] && bounds[to][1] <= high);
            prop_assert!(bounds[to][1] - high <= bounds[from][1] + 1e-9);
        }
    }
}
