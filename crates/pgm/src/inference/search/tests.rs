use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use super::*;

/// Cliques of two to six axes, of one to four inputs and one or two outputs.
fn problem(rng: &mut ChaCha20Rng) -> Problem {
    let axes = rng.random_range(2..=6);
    let sizes = (0..axes).map(|_| rng.random_range(2..=20)).collect();
    let table = |rng: &mut ChaCha20Rng| rng.random_range(1..1_u32 << axes);
    let inputs = (0..rng.random_range(1..=4)).map(|_| (table(rng), rng.random_bool(0.2))).collect();
    let outputs = (0..rng.random_range(1..=2)).map(|_| table(rng)).collect();
    Problem::new(sizes, inputs, outputs)
}

/// All orders of some axes.
fn orders(axes: &[usize]) -> Vec<Vec<usize>> {
    if axes.is_empty() {
        return vec![Vec::new()];
    }
    let with_last = |last: usize| {
        let others: Vec<usize> = axes.iter().copied().filter(|axis| *axis != last).collect();
        orders(&others).into_iter().map(move |order| [order, vec![last]].concat())
    };
    axes.iter().copied().flat_map(with_last).collect()
}

fn cost_of(problem: &Problem, lanes: u32, order: &[usize]) -> f64 {
    let walk = Walk::new(problem, lanes);
    let (mut fixed, mut depths) = (0, 0.0);
    for axis in order {
        depths += walk.depth_cost(fixed, *axis);
        fixed |= 1 << axis;
    }
    depths + walk.outermost_cost() + problem.spread_cost(lanes)
}

#[test]
fn the_layout_is_the_cheapest_of_all() {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    for _ in 0..200 {
        let problem = problem(&mut rng);
        let layout = problem.best(0.0, f64::INFINITY).unwrap();
        let cheapest = problem.lane_choices().into_iter().map(|lanes| {
            let axes: Vec<usize> =
                (0..problem.sizes.len()).filter(|axis| lanes >> axis & 1 == 0).collect();
            let costs = orders(&axes).into_iter().map(|order| cost_of(&problem, lanes, &order));
            costs.fold(f64::INFINITY, f64::min)
        });
        let cheapest = cheapest.fold(f64::INFINITY, f64::min);
        assert!((layout.cost / cheapest - 1.0).abs() < 1e-12, "{} {cheapest}", layout.cost);
        let own = cost_of(&problem, layout.lanes, &layout.order);
        assert!((own / cheapest - 1.0).abs() < 1e-12, "{own} {cheapest}");
        // A limit that it does not reach, and one that it does.
        assert!(problem.best(3.0, layout.cost + 3.001).is_some());
        assert!(problem.best(3.0, layout.cost + 2.999).is_none());
    }
}

#[test]
fn cells_are_those_of_the_axes() {
    for axes in [3, LISTED_AXES + 1] {
        let problem = Problem::new((1..=axes).collect(), Vec::new(), Vec::new());
        let product: usize = (1..=axes).product();
        for (mask, cells) in [(0, 1.0), (0b101, 3.0), (problem.all(), product as f64)] {
            assert!((problem.cells(mask) - cells).abs() < 0.5, "{mask}");
        }
    }
}
