//! Least squares on a tree of blocks that is as deep as the counts are large.

use crate::privacy::NoisyBlocks;

/// A block is opened if it seems to hold more than this share of all records.
const OPENED: f64 = 1.0 / 200.0;

/// It is not opened for noise alone: its count is over this many standard deviations.
const CLEAR: f64 = 4.0;

/// Noisy counts of the blocks of one width.
pub(super) struct Level {
    /// Cells of a block.
    width: usize,
    /// The counts of the blocks, that of missing values apart.
    blocks: Vec<f64>,
    missing: f64,
    /// Of each count.
    variance: f64,
}

/// A block and its fitted number of records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Leaf {
    /// Its first cell.
    pub(super) from: usize,
    /// The cell after its last.
    pub(super) end: usize,
    /// At least 0.
    pub(super) records: f64,
}

impl Level {
    /// What was measured; missing values are the last block.
    pub(super) fn new(noisy: &NoisyBlocks, width: usize) -> Self {
        let mut blocks: Vec<f64> = noisy.values.iter().map(|value| *value as f64).collect();
        let missing = blocks.pop().unwrap_or(0.0);
        Self::of(width, blocks, missing, noisy.variance.to_f64())
    }

    pub(super) fn of(width: usize, blocks: Vec<f64>, missing: f64, variance: f64) -> Self {
        Self { width, blocks, missing, variance }
    }

    /// Cells of a block.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The noisy counts of the blocks, without that of missing values.
    pub(super) fn blocks(&self) -> &[f64] {
        &self.blocks
    }

    /// The variance of the noise in each count.
    pub(super) fn variance(&self) -> f64 {
        self.variance
    }
}

/// A block, or its children.
struct Node {
    leaf: Leaf,
    children: Vec<Self>,
    /// The best estimate from the counts of the block and everything below.
    value: f64,
    variance: f64,
}

/// The blocks that were not opened, in order, with records that sum to those that are not missing. `levels`: from the top;
/// `records`: of the whole table.
///
/// Up: a block's estimate is the mean of its own count and the sum of its children's estimates, weights 1/variance. Down: what
/// the estimate of a block has more than its children's goes to them in proportion to their variances, and no count falls
/// below 0 (Hay, Rastogi, Miklau & Suciu 2010, section 4.2, for blocks of any number of children).
pub(super) fn fitted(levels: &[Level], records: f64) -> Vec<Leaf> {
    let Some(top) = levels.first() else { return Vec::new() };
    let mut nodes: Vec<Node> =
        (0..top.blocks.len()).map(|block| grown(levels, 0, block, OPENED * records)).collect();
    // Missing values are measured once at every level.
    let number = levels.len() as f64;
    let value = levels.iter().map(|level| level.missing).sum::<f64>() / number;
    let leaf = Leaf { from: usize::MAX, end: usize::MAX, records: 0.0 };
    let variance = levels.iter().map(|level| level.variance).sum::<f64>() / number / number;
    nodes.push(Node { leaf, children: Vec::new(), value, variance });
    let mut leaves = Vec::new();
    divide(&nodes, records, &mut leaves);
    leaves.pop();
    leaves
}

/// A block and, if its count is above `least` and clear of noise, the blocks in it.
fn grown(levels: &[Level], depth: usize, block: usize, least: f64) -> Node {
    let Level { width, blocks, variance, .. } = &levels[depth];
    let (own, variance) = (blocks[block], *variance);
    let leaf = Leaf { from: block * width, end: (block + 1) * width, records: 0.0 };
    let Some(below) = levels.get(depth + 1).filter(|_| own > least.max(CLEAR * variance.sqrt()))
    else {
        return Node { leaf, children: Vec::new(), value: own, variance };
    };
    let blocks = leaf.from / below.width..leaf.end / below.width;
    let children: Vec<Node> = blocks.map(|block| grown(levels, depth + 1, block, least)).collect();
    let sum: f64 = children.iter().map(|child| child.value).sum();
    let spread: f64 = children.iter().map(|child| child.variance).sum();
    let both = variance + spread;
    let value = (own * spread + sum * variance) / both;
    Node { leaf, children, value, variance: variance * spread / both }
}

/// Divides records among some blocks, and then among those in them.
fn divide(nodes: &[Node], records: f64, leaves: &mut Vec<Leaf>) {
    for (node, own) in nodes.iter().zip(projected(nodes, records)) {
        if node.children.is_empty() {
            leaves.push(Leaf { records: own, ..node.leaf });
        } else {
            divide(&node.children, own, leaves);
        }
    }
}

/// The numbers `x_i ≥ 0` with a given sum that are closest to the estimates, in squared distance over variance:
/// `x_i = max(0, z_i + λ v_i)`. Those that fall below 0 leave one after another.
fn projected(nodes: &[Node], sum: f64) -> Vec<f64> {
    let mut inside: Vec<usize> = (0..nodes.len()).collect();
    let mut found = vec![0.0; nodes.len()];
    while !inside.is_empty() {
        let value: f64 = inside.iter().map(|i| nodes[*i].value).sum();
        let variance: f64 = inside.iter().map(|i| nodes[*i].variance).sum();
        let slope = (sum - value) / variance;
        let at = |i: usize| nodes[i].value + slope * nodes[i].variance;
        let before = inside.len();
        inside.retain(|i| at(*i) > 0.0);
        if inside.len() == before {
            inside.iter().for_each(|i| found[*i] = at(*i));
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests;
