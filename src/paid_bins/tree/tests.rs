use super::{Leaf, Level, Node, fitted, projected};

fn level(width: usize, blocks: &[f64], variance: f64) -> Level {
    Level { width, blocks: blocks.to_vec(), missing: 0.0, variance }
}

fn records(leaves: &[Leaf]) -> Vec<f64> {
    leaves.iter().map(|leaf| leaf.records).collect()
}

#[test]
fn exact_counts_come_back_and_only_large_blocks_are_opened() {
    // 2 blocks of 16 cells: one with 960 records in its third cell, one with 4 records, less than a 200th.
    let mut cells = vec![0.0; 32];
    cells[2] = 960.0;
    cells[20] = 4.0;
    let levels = [level(16, &[960.0, 4.0], 1e-9), level(1, &cells, 1e-9)];
    let leaves = fitted(&levels, 964.0);
    assert_eq!(leaves.len(), 17);
    assert!((records(&leaves)[2] - 960.0).abs() < 1e-3, "{leaves:?}");
    assert_eq!((leaves[16].from, leaves[16].end), (16, 32));
    assert!((leaves[16].records - 4.0).abs() < 1e-3, "{leaves:?}");
}

#[test]
fn the_fit_is_weighted_least_squares() {
    // A block measured as 100 with parts measured as 70 and 50, one measured as 7, and no missing value, each count with
    // the same variance; 110 records in all. By hand, in units of that variance: the first block has 1/3 (2 · 100 + 120)
    // with variance 2/3, the missing ones 0 with variance 1/2.
    let levels = [level(2, &[100.0, 7.0], 4.0), level(1, &[70.0, 50.0, 5.0, 6.0], 4.0)];
    let leaves = fitted(&levels, 110.0);
    let (first, second) = (320.0 / 3.0, 7.0);
    // All estimates fall, so that the missing ones stay at 0 and the blocks share the rest.
    let slope = (110.0 - first - second) / (2.0 / 3.0 + 1.0);
    assert!(slope < 0.0);
    let first = first + slope * 2.0 / 3.0;
    let expected = [first / 2.0 + 10.0, first / 2.0 - 10.0, second + slope];
    assert_eq!(leaves.len(), 3);
    for (found, expected) in records(&leaves).iter().zip(expected) {
        assert!((found - expected).abs() < 1e-9, "{leaves:?}, expected {expected:?}");
    }
}

#[test]
fn projections_are_closest_among_numbers_that_are_not_negative() {
    let node = |value: f64, variance: f64| Node {
        leaf: Leaf { from: 0, end: 1, records: 0.0 },
        children: Vec::new(),
        value,
        variance,
    };
    let nodes = [node(5.0, 1.0), node(-4.0, 1.0), node(0.5, 2.0), node(3.0, 0.5)];
    let found = projected(&nodes, 6.0);
    assert!((found.iter().sum::<f64>() - 6.0).abs() < 1e-12 && found.iter().all(|x| *x >= 0.0));
    let distance = |x: &[f64]| -> f64 {
        x.iter().zip(&nodes).map(|(x, node)| (x - node.value).powi(2) / node.variance).sum()
    };
    // No point of a fine grid with that sum is closer.
    let steps = || (0..=60).map(|step| f64::from(step) / 10.0);
    for a in steps() {
        for b in steps().filter(|b| a + b <= 6.0) {
            for c in steps().filter(|c| a + b + c <= 6.0) {
                let other = [a, b, c, 6.0 - a - b - c];
                assert!(distance(&found) <= distance(&other) + 1e-9, "{found:?} {other:?}");
            }
        }
    }
    assert_eq!(projected(&nodes[..2], 0.0), [0.0, 0.0]);
}
