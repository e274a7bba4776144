//! The order of the sweeps: a node waits for its own subtree or its own parent, and for nothing else, so that independent
//! subtrees run on several threads.

use crate::inference::in_parallel;
use crate::inference::structure::Node;

/// Nodes above one another that hand subtrees to other threads. Below them a subtree runs on one, so that no tree is too deep
/// for a thread's stack.
const DEPTH: usize = 256;

/// A forest whose nodes are each followed by all nodes below it.
#[derive(Clone, Debug)]
pub(super) struct Sweeps {
    /// Of each node, the position after the last node below it.
    ends: Vec<usize>,
    /// Of each node, the position of its parent.
    parents: Vec<Option<usize>>,
    /// Cells that each subtree visits.
    work: Vec<u64>,
}

/// Nodes that follow each other: a subtree, or several side by side.
struct Part<'n, T> {
    /// Position of the first node.
    first: usize,
    nodes: &'n mut [T],
    /// Nodes above them that have handed subtrees to other threads.
    depth: usize,
}

impl Sweeps {
    /// `work`: cells that each node visits.
    pub(super) fn new(nodes: &[Node], work: impl IntoIterator<Item = u64>) -> Self {
        let mut work: Vec<u64> = work.into_iter().collect();
        for (at, node) in nodes.iter().enumerate().rev() {
            if let Some(parent) = node.parent {
                work[parent] = work[parent].saturating_add(work[at]);
            }
        }
        Self {
            ends: nodes.iter().map(|node| node.end).collect(),
            parents: nodes.iter().map(|node| node.parent).collect(),
            work,
        }
    }

    /// Cells that all nodes visit.
    pub(super) fn work(&self) -> u64 {
        let roots = self.work.iter().zip(&self.parents).filter(|(_, parent)| parent.is_none());
        roots.fold(0, |sum, (work, _)| sum.saturating_add(*work))
    }

    /// Visits every node after those below it: `visit(position, node, the nodes from position + 1 on)`.
    pub(super) fn upwards<T: Send + Sync>(
        &self,
        nodes: &mut [T],
        visit: &(impl Fn(usize, &mut T, &[T]) + Sync),
    ) {
        self.side_by_side(Part { first: 0, nodes, depth: 0 }, &|part| self.up(part, visit));
    }

    fn up<T: Send + Sync>(&self, part: Part<'_, T>, visit: &(impl Fn(usize, &mut T, &[T]) + Sync)) {
        let Part { first, nodes, depth } = part;
        if self.is_shared(first, depth) {
            let Some((root, nodes)) = nodes.split_first_mut() else { return };
            let below = Part { first: first + 1, nodes, depth: depth + 1 };
            self.side_by_side(below, &|part| self.up(part, visit));
            visit(first, root, nodes);
            return;
        }
        for at in (0..nodes.len()).rev() {
            let (upper, below) = nodes.split_at_mut(at + 1);
            visit(first + at, &mut upper[at], below);
        }
    }

    /// Visits every node before those below it: `visit(position, node, the nodes from position + 1 on, its parent)`.
    pub(super) fn downwards<T: Send + Sync>(
        &self,
        nodes: &mut [T],
        visit: &(impl Fn(usize, &mut T, &[T], Option<&T>) + Sync),
    ) {
        let roots = Part { first: 0, nodes, depth: 0 };
        self.side_by_side(roots, &|part| self.down(part, None, visit));
    }

    fn down<T: Send + Sync>(
        &self,
        part: Part<'_, T>,
        parent: Option<&T>,
        visit: &(impl Fn(usize, &mut T, &[T], Option<&T>) + Sync),
    ) {
        let Part { first, nodes, depth } = part;
        if self.is_shared(first, depth) {
            let Some((root, nodes)) = nodes.split_first_mut() else { return };
            visit(first, root, nodes, parent);
            let (root, below) = (&*root, Part { first: first + 1, nodes, depth: depth + 1 });
            self.side_by_side(below, &|part| self.down(part, Some(root), visit));
            return;
        }
        for at in 0..nodes.len() {
            let (above, rest) = nodes.split_at_mut(at);
            let Some((node, below)) = rest.split_first_mut() else { return };
            let within = self.parents[first + at].and_then(|parent| parent.checked_sub(first));
            visit(first + at, node, below, within.map(|parent| &above[parent]).or(parent));
        }
    }

    /// Whether the nodes below one are worth several threads.
    fn is_shared(&self, node: usize, depth: usize) -> bool {
        depth < DEPTH && self.work.get(node).is_some_and(|work| in_parallel(*work))
    }

    /// Runs the subtrees of a part, on several threads where they are worth it.
    fn side_by_side<T: Send>(&self, part: Part<'_, T>, run: &(impl Fn(Part<'_, T>) + Sync)) {
        let Part { mut first, mut nodes, depth } = part;
        while !nodes.is_empty() {
            let (own, others) = nodes.split_at_mut(self.ends[first] - first);
            let next = first + own.len();
            let own = Part { first, nodes: own, depth };
            let others = Part { first: next, nodes: others, depth };
            if self.is_shared(first, depth) && !others.nodes.is_empty() {
                rayon::join(|| run(own), || self.side_by_side(others, run));
                return;
            }
            run(own);
            (first, nodes) = (next, others.nodes);
        }
    }
}

#[cfg(test)]
mod tests;
