//! Every node once, after those below it or before them, on any number of threads.

use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use crate::domain::Clique;
use crate::inference::belief_propagation::sweeps::Sweeps;
use crate::inference::structure::Node;

/// Nodes with these parents, each before all nodes below it.
fn nodes(parents: &[Option<usize>]) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for (at, parent) in parents.iter().enumerate() {
        let mut rank = 0;
        if let Some(parent) = parent {
            rank = nodes[*parent].children.len();
            nodes[*parent].children.push(at);
        }
        nodes.push(Node {
            clique: Clique::default(),
            separator: Clique::default(),
            parent: *parent,
            rank,
            children: Vec::new(),
            end: at + 1,
            factors: Vec::new(),
            masks: Vec::new(),
        });
    }
    for at in (0..nodes.len()).rev() {
        if let Some(last) = nodes[at].children.last() {
            nodes[at].end = nodes[*last].end;
        }
    }
    nodes
}

/// A forest of some nodes: the parent of each is on the path to the node before it, or there is none.
fn random_forest(size: usize, rng: &mut ChaCha20Rng) -> Vec<Option<usize>> {
    let mut path: Vec<usize> = Vec::new();
    (0..size)
        .map(|at| {
            path.truncate(rng.random_range(0..=path.len()).max(usize::from(at % 7 > 0)));
            let parent = path.last().copied();
            path.push(at);
            parent
        })
        .collect()
}

/// What a sweep leaves at a node: how often it was visited, the nodes of its subtree, and those above it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    visits: usize,
    subtree: usize,
    above: usize,
}

fn both_sweeps(nodes: &[Node], work: impl Fn(usize) -> u64, threads: usize) -> Vec<Seen> {
    let sweeps = Sweeps::new(nodes, (0..nodes.len()).map(work));
    let mut seen = vec![Seen::default(); nodes.len()];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    pool.install(|| {
        sweeps.upwards(&mut seen, &|at, node, below| {
            assert!(below.len() >= nodes[at].end - at - 1);
            node.visits += 1;
            let children = nodes[at].children.iter().map(|child| below[child - at - 1].subtree);
            node.subtree = 1 + children.sum::<usize>();
        });
        sweeps.downwards(&mut seen, &|at, node, below, parent| {
            node.visits += 1;
            assert_eq!(parent.is_some(), nodes[at].parent.is_some());
            node.above = parent.map_or(0, |parent| parent.above + 1);
            // Children come later.
            assert!(nodes[at].children.iter().all(|child| below[child - at - 1].visits == 1));
        });
    });
    seen
}

fn expected(nodes: &[Node]) -> Vec<Seen> {
    let mut expected: Vec<Seen> = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        let above = node.parent.map_or(0, |parent| expected[parent].above + 1);
        expected.push(Seen { visits: 2, subtree: node.end - at, above });
    }
    expected
}

#[test]
fn every_node_is_visited_once_in_each_sweep() {
    let mut rng = ChaCha20Rng::seed_from_u64(0);
    for case in 0..60 {
        let nodes = nodes(&random_forest(1 + case, &mut rng));
        let works: Vec<u64> = nodes.iter().map(|_| rng.random_range(0..100_000)).collect();
        for threads in [1, 3] {
            assert_eq!(both_sweeps(&nodes, |at| works[at], threads), expected(&nodes));
        }
    }
}

#[test]
fn the_work_of_a_forest_is_that_of_its_nodes() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let nodes = nodes(&random_forest(40, &mut rng));
    let works: Vec<u64> = nodes.iter().map(|_| rng.random_range(0..100)).collect();
    let sweeps = Sweeps::new(&nodes, works.iter().copied());
    assert_eq!(sweeps.work(), works.iter().sum::<u64>());
    assert_eq!(Sweeps::new(&nodes, nodes.iter().map(|_| u64::MAX)).work(), u64::MAX);
}

#[test]
fn deep_trees_fit_on_the_stack() {
    let chain: Vec<Option<usize>> = (0..50_000_usize).map(|at| at.checked_sub(1)).collect();
    // A node with a leaf at each step.
    let comb: Vec<Option<usize>> = (0..50_000_usize)
        .map(|at| if at % 2 == 1 { Some(at - 1) } else { at.checked_sub(2) })
        .collect();
    for parents in [chain, comb] {
        let nodes = nodes(&parents);
        assert_eq!(both_sweeps(&nodes, |_| 1 << 20, 2), expected(&nodes));
    }
}
