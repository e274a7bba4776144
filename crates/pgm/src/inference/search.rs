//! The search for the cheapest plan of a contraction: lane axes, order of the others, and which tables take part.

use crate::domain::{Clique, Domain};

/// Lanes that make a plan worth considering.
const LANES: std::ops::RangeInclusive<usize> = 8..=512;
/// Lanes that are best all else being equal: long enough to hide a step's overhead, short enough for the first cache.
const IDEAL_LANES: f64 = 96.0;
/// Choices of lane axes that are costed in full.
const LANE_CHOICES: usize = 16;
/// Largest number of outer axes for which all orders are searched (by dynamic programming over subsets).
const SEARCHED_AXES: usize = 8;
/// Most axes of a clique whose subsets' cells are listed.
const LISTED_AXES: usize = 12;

/// Costs of the parts of a walk, in nanoseconds on the machine of `docs/engine.md`; only their ratios matter.
mod cost {
    /// One setting of an axis outside the innermost one, and one table it looks up or one pass over the lanes there.
    pub(super) const SETTING: f64 = 8.0;
    pub(super) const LOOK_UP: f64 = 1.5;
    pub(super) const PASS_PER_VECTOR: f64 = 0.4;
    /// One walk over the innermost axis.
    pub(super) const SWEEP: f64 = 25.0;
    /// One step of it on one tile, and one operand there.
    pub(super) const TILE: f64 = 0.5;
    pub(super) const TILE_OPERAND: f64 = 0.3;
    /// One vector of a step: its sum, an input, an output, a sum over lanes.
    pub(super) const VECTOR: f64 = 0.2;
    pub(super) const VECTOR_INPUT: f64 = 0.2;
    pub(super) const VECTOR_OUTPUT: f64 = 0.35;
    pub(super) const VECTOR_PARTS: f64 = 0.5;
    /// One vector of a step of a table in place whose steps are far apart.
    pub(super) const FAR: f64 = 1.0;
    /// One cell copied to or from the walk's own layout.
    pub(super) const SPREAD: f64 = 0.8;
    /// One cell multiplied into a copy or summed from an output, and one table of these.
    pub(super) const FOLD: f64 = 0.5;
    pub(super) const FOLD_CALL: f64 = 20.0;
}

/// Tables that take part in the walk, and the others, each with the table that it is multiplied into or summed from.
pub(super) type Split = (Vec<usize>, Vec<(usize, usize)>);

/// How the tables are split, and the cheapest walk for that.
#[derive(Debug, PartialEq)]
pub(super) struct Choice {
    pub inputs: Split,
    pub outputs: Split,
    pub layout: Layout,
}

/// Tries the walk with and without tables that are subsets of others.
pub(super) fn choose(
    domain: &Domain,
    clique: &Clique,
    inputs: &[Clique],
    outputs: &[Clique],
) -> Choice {
    let cells = |c: &Clique| domain.cells(c).unwrap_or(u64::MAX) as f64;
    let splits = |tables: &[Clique]| {
        let alone: Split = ((0..tables.len()).collect(), Vec::new());
        let split = split_subsets(tables);
        if split.1.is_empty() { vec![alone] } else { vec![split, alone] }
    };
    let mut best: Option<Choice> = None;
    for inputs_split in splits(inputs) {
        for outputs_split in splits(outputs) {
            let is_host = |i: &usize| inputs_split.1.iter().any(|(_, host)| host == i);
            let problem = Problem::new(
                clique.iter().map(|a| domain.cardinality(a)).collect(),
                inputs_split.0.iter().map(|i| (mask(clique, &inputs[*i]), is_host(i))).collect(),
                outputs_split.0.iter().map(|o| mask(clique, &outputs[*o])).collect(),
            );
            let absorbed: f64 = inputs_split.1.iter().map(|(_, host)| cells(&inputs[*host])).sum();
            let derived: f64 = outputs_split.1.iter().map(|(_, from)| cells(&outputs[*from])).sum();
            let folds = cost::FOLD * (absorbed + derived)
                + cost::FOLD_CALL * (inputs_split.1.len() + outputs_split.1.len()) as f64;
            let limit = best.as_ref().map_or(f64::INFINITY, |best| best.layout.cost);
            if let Some(layout) = problem.best(folds, limit) {
                best =
                    Some(Choice { inputs: inputs_split.clone(), outputs: outputs_split, layout });
            }
        }
    }
    best.unwrap_or_else(|| Choice {
        inputs: split_subsets(inputs),
        outputs: split_subsets(outputs),
        layout: Layout { cost: 0.0, lanes: 0, order: Vec::new() },
    })
}

/// Splits tables into main ones and those that are subsets of another one, each with the smallest such table that comes
/// before it (larger tables come first).
fn split_subsets(cliques: &[Clique]) -> Split {
    let mut by_size: Vec<usize> = (0..cliques.len()).collect();
    by_size.sort_by_key(|i| (std::cmp::Reverse(cliques[*i].len()), *i));
    let mut main: Vec<usize> = Vec::new();
    let mut subsets = Vec::new();
    for i in by_size {
        // The last main clique that contains it is one of the smallest.
        match main.iter().rev().find(|m| cliques[i].is_subset(&cliques[**m])) {
            Some(&host) => subsets.push((i, host)),
            None => main.push(i),
        }
    }
    (main, subsets)
}

fn mask(clique: &Clique, subset: &Clique) -> u32 {
    clique
        .iter()
        .enumerate()
        .filter(|(_, a)| subset.contains(*a))
        .fold(0, |m, (position, _)| m | 1 << position)
}

/// Whether the lane axes are the last axes of a table, or none of its axes.
fn in_place(table: u32, lanes: u32) -> bool {
    let shared = table & lanes;
    shared == 0 || (shared == lanes && table & !lanes < 1 << lanes.trailing_zeros())
}

/// Cells between two steps that share few lines of the first cache.
const FAR_CELLS: f64 = 256.0;
/// Lanes of the widest vectors.
const VECTOR_LANES: f64 = 8.0;

/// Numbers of tables whose last axis is fixed at a depth.
struct Joining {
    lane_inputs: f64,
    scalar_inputs: f64,
    lane_outputs: f64,
    scalar_outputs: f64,
    /// Whether some output at a lower depth needs this depth's sum.
    feeds_outer: bool,
}

/// The search for lane axes and nesting order, over bit masks of the clique's axes.
struct Problem {
    sizes: Vec<usize>,
    /// Each with whether it is always copied, since others are multiplied into it.
    inputs: Vec<(u32, bool)>,
    outputs: Vec<u32>,
    /// The cells of each set of axes, if there are at most [`LISTED_AXES`].
    cells: Vec<f64>,
}

/// Lane axes, and the order of the others, outermost first.
#[derive(Debug, PartialEq)]
pub(super) struct Layout {
    cost: f64,
    pub lanes: u32,
    pub order: Vec<usize>,
}

impl Problem {
    fn new(sizes: Vec<usize>, inputs: Vec<(u32, bool)>, outputs: Vec<u32>) -> Self {
        let mut cells = Vec::new();
        if sizes.len() <= LISTED_AXES {
            cells.push(1.0);
            for size in &sizes {
                let without = cells.len();
                cells.extend_from_within(..);
                cells[without..].iter_mut().for_each(|cells| *cells *= *size as f64);
            }
        }
        Self { sizes, inputs, outputs, cells }
    }

    fn cells(&self, mask: u32) -> f64 {
        self.cells.get(mask as usize).copied().unwrap_or_else(|| {
            let of = |(i, size): (usize, &usize)| (mask >> i & 1 == 1).then_some(*size as f64);
            self.sizes.iter().enumerate().filter_map(of).product()
        })
    }

    fn all(&self) -> u32 {
        u32::try_from((1_u64 << self.sizes.len().min(32)) - 1).unwrap_or(u32::MAX)
    }

    /// The cheapest layout, if it costs less than a limit with a `constant` that no layout changes.
    fn best(&self, constant: f64, mut limit: f64) -> Option<Layout> {
        let mut best = None;
        for lanes in self.lane_choices() {
            let walk = Walk::new(self, lanes);
            let (outermost, copies) = (walk.outermost_cost(), self.spread_cost(lanes));
            let whole = |depths: f64| depths + outermost + copies + constant;
            if let Some((depths, order)) = walk.cheapest(|depths| whole(depths) < limit) {
                limit = whole(depths);
                best = Some(Layout { cost: limit, lanes, order });
            }
        }
        best
    }

    /// Sets of one to four axes with a sensible number of cells, closest to the ideal first; also all axes if the whole
    /// clique is that small.
    fn lane_choices(&self) -> Vec<u32> {
        let all = self.all();
        let mut choices: Vec<u32> = Vec::new();
        if self.cells(all) <= IDEAL_LANES {
            choices.push(all);
        }
        let mut grow = vec![0_u32];
        for _ in 0..4 {
            let mut larger = Vec::new();
            for set in &grow {
                let first = 32 - set.leading_zeros();
                for axis in first..u32::try_from(self.sizes.len()).unwrap_or(0) {
                    let set = set | 1 << axis;
                    if self.cells(set) <= *LANES.end() as f64 {
                        larger.push(set);
                    }
                }
            }
            choices.extend(larger.iter().filter(|s| self.cells(**s) >= *LANES.start() as f64));
            grow = larger;
        }
        if choices.is_empty() {
            // If there is one axis longer than any lane range, or only tiny axes: the longest axis.
            let longest = (0..self.sizes.len()).max_by_key(|i| self.sizes[*i]).unwrap_or(0);
            return vec![1 << longest];
        }
        // A lane axis in few tables needs little spreading out.
        let rank = |set: u32| {
            let spread = self.spread_cost(set) / self.cells(all).max(1.0);
            (self.cells(set) / IDEAL_LANES).ln().abs() + spread
        };
        let mut ranked: Vec<(f64, u32)> = choices.iter().map(|set| (rank(*set), *set)).collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        ranked.into_iter().take(LANE_CHOICES).map(|(_, set)| set).collect()
    }

    /// Work of copying the tables that the loops cannot use directly.
    fn spread_cost(&self, lanes: u32) -> f64 {
        let copied = |t: u32, always: bool| {
            if !always && in_place(t, lanes) {
                0.0
            } else if t & lanes == 0 {
                self.cells(t)
            } else {
                self.cells(t | lanes)
            }
        };
        let inputs: f64 = self.inputs.iter().map(|(t, always)| copied(*t, *always)).sum();
        let outputs: f64 = self.outputs.iter().map(|t| copied(*t, false)).sum();
        cost::SPREAD * (inputs + outputs)
    }
}

/// A table in the loops over the axes that are no lanes.
struct Table {
    axes: u32,
    /// Its axes but for the lanes.
    outer: u32,
    has_lanes: bool,
    /// Whether the loops use it without a copy.
    stays: bool,
}

/// The loops over the axes that are no lanes.
struct Walk<'p> {
    problem: &'p Problem,
    /// The axes that are no lanes.
    outer: u32,
    /// Vectors of the lanes.
    vectors: f64,
    inputs: Vec<Table>,
    outputs: Vec<Table>,
}

impl<'p> Walk<'p> {
    fn new(problem: &'p Problem, lanes: u32) -> Self {
        let table = |axes: u32, is_copied: bool| Table {
            axes,
            outer: axes & !lanes,
            has_lanes: axes & lanes != 0,
            stays: !is_copied && in_place(axes, lanes),
        };
        Self {
            problem,
            outer: problem.all() & !lanes,
            vectors: (problem.cells(lanes) / VECTOR_LANES).ceil(),
            inputs: problem.inputs.iter().map(|(t, is_copied)| table(*t, *is_copied)).collect(),
            outputs: problem.outputs.iter().map(|t| table(*t, false)).collect(),
        }
    }

    /// The cheapest order of the axes and its cost, if that `pays`, as less always does; of many axes a cheap one.
    fn cheapest(&self, pays: impl Fn(f64) -> bool) -> Option<(f64, Vec<usize>)> {
        let outer: Vec<usize> =
            (0..self.problem.sizes.len()).filter(|i| self.outer >> i & 1 == 1).collect();
        let found = if outer.is_empty() {
            (0.0, outer)
        } else if outer.len() <= SEARCHED_AXES {
            self.search(&outer, &pays)?
        } else {
            self.greedy(&outer)
        };
        pays(found.0).then_some(found)
    }

    /// Work before any outer axis is fixed: tables that have lane axes only.
    fn outermost_cost(&self) -> f64 {
        let tables = self.inputs.iter().chain(&self.outputs).filter(|t| t.outer == 0).count();
        cost::SWEEP + tables as f64 * (cost::LOOK_UP + cost::PASS_PER_VECTOR * self.vectors)
    }

    /// Inputs that join and outputs that leave at the depth that fixes `axis` after the axes of `fixed`.
    fn joining(&self, fixed: u32, axis: usize) -> Joining {
        let now = fixed | 1 << axis;
        let count = |tables: &[Table]| {
            let (mut with_lanes, mut scalar) = (0.0, 0.0);
            for t in tables.iter().filter(|t| t.outer >> axis & 1 == 1 && t.outer & !now == 0) {
                *(if t.has_lanes { &mut with_lanes } else { &mut scalar }) += 1.0;
            }
            (with_lanes, scalar)
        };
        let (lane_inputs, scalar_inputs) = count(&self.inputs);
        let (lane_outputs, scalar_outputs) = count(&self.outputs);
        let feeds_outer = self.outputs.iter().any(|t| t.outer & !fixed == 0);
        Joining { lane_inputs, scalar_inputs, lane_outputs, scalar_outputs, feeds_outer }
    }

    /// Tables without a copy that a walk over `axis`, the innermost, crosses in steps that defeat the first cache.
    fn far_operands(&self, axis: usize) -> f64 {
        let is_far = |t: &&Table| {
            let is_walked = t.outer >> axis & 1 == 1 && t.has_lanes && t.stays;
            is_walked && self.problem.cells(t.axes & !((2 << axis) - 1)) >= FAR_CELLS
        };
        self.inputs.iter().chain(&self.outputs).filter(is_far).count() as f64
    }

    /// Work of the depth that fixes `axis` after the axes of `fixed`.
    fn depth_cost(&self, fixed: u32, axis: usize) -> f64 {
        let joining = self.joining(fixed, axis);
        let vectors = self.vectors;
        if fixed | 1 << axis == self.outer {
            let operands = joining.lane_inputs + joining.lane_outputs;
            let tiles = (vectors / 4.0).floor() + vectors % 4.0;
            let step = tiles * (cost::TILE + cost::TILE_OPERAND * operands)
                + vectors
                    * (cost::VECTOR
                        + cost::VECTOR_INPUT * joining.lane_inputs
                        + cost::VECTOR_OUTPUT * joining.lane_outputs
                        + if joining.scalar_outputs > 0.0 { cost::VECTOR_PARTS } else { 0.0 });
            let looked_up = joining.scalar_inputs + joining.scalar_outputs;
            let far = cost::FAR * vectors * self.far_operands(axis);
            let steps = self.problem.sizes[axis] as f64 * (step + far + cost::LOOK_UP * looked_up);
            return self.problem.cells(fixed)
                * (cost::SWEEP + 3.0 * cost::PASS_PER_VECTOR * vectors + steps);
        }
        let summed = f64::from(u8::from(joining.scalar_outputs > 0.0))
            + f64::from(u8::from(joining.feeds_outer));
        let passes = joining.lane_inputs + joining.lane_outputs + summed + 1.0;
        let looked_up = joining.scalar_inputs + joining.scalar_outputs;
        self.problem.cells(fixed | 1 << axis)
            * (cost::SETTING
                + cost::LOOK_UP * looked_up
                + passes * (cost::LOOK_UP + cost::PASS_PER_VECTOR * vectors))
    }

    /// The cheapest order, by dynamic programming over the set of axes already fixed. Sets are left out that no order pays
    /// for: the innermost axis, which visits all cells, costs at least as much as the cheapest one there.
    fn search(&self, outer: &[usize], pays: &impl Fn(f64) -> bool) -> Option<(f64, Vec<usize>)> {
        let innermost = |axis: &usize| self.depth_cost(self.outer & !(1 << *axis), *axis);
        let innermost: Vec<f64> = outer.iter().map(innermost).collect();
        let least = innermost.iter().copied().fold(f64::INFINITY, f64::min);
        if !pays(least) {
            return None;
        }
        let all = (1_usize << outer.len()) - 1;
        let mut fixed = vec![0_u32; all + 1];
        let mut cost = vec![f64::INFINITY; all + 1];
        let mut last = vec![0_usize; all + 1];
        cost[0] = 0.0;
        for set in 1..=all {
            fixed[set] = fixed[set & (set - 1)] | 1 << outer[set.trailing_zeros() as usize];
            for (i, axis) in outer.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1) {
                let before = set & !(1 << i);
                if cost[before].is_infinite() {
                    continue;
                }
                let own =
                    if set == all { innermost[i] } else { self.depth_cost(fixed[before], *axis) };
                let total = cost[before] + own;
                if total < cost[set] && (set == all || pays(total + least)) {
                    cost[set] = total;
                    last[set] = i;
                }
            }
        }
        if cost[all].is_infinite() {
            return None;
        }
        let mut order = Vec::with_capacity(outer.len());
        let mut set = all;
        while set != 0 {
            order.push(outer[last[set]]);
            set &= !(1 << last[set]);
        }
        order.reverse();
        Some((cost[all], order))
    }

    /// Starts with the innermost axis: the one whose depth costs least.
    fn greedy(&self, outer: &[usize]) -> (f64, Vec<usize>) {
        let mut left: Vec<usize> = outer.to_vec();
        let mut order = Vec::with_capacity(outer.len());
        let mut total = 0.0;
        while !left.is_empty() {
            let fixed = left.iter().fold(0_u32, |m, a| m | 1 << a);
            let costs = left.iter().map(|a| self.depth_cost(fixed & !(1 << a), *a));
            // A long innermost axis makes every outer depth cheaper.
            let Some((position, cost)) = costs.enumerate().min_by(|(i, a), (j, b)| {
                let relief =
                    |p: usize, c: f64| c * (1.0 + 1.0 / self.problem.sizes[left[p]] as f64);
                relief(*i, *a).total_cmp(&relief(*j, *b))
            }) else {
                break;
            };
            total += cost;
            order.push(left.remove(position));
        }
        order.reverse();
        (total, order)
    }
}

#[cfg(test)]
mod tests;
