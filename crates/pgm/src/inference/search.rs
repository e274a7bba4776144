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
            let problem = Problem {
                sizes: clique.iter().map(|a| domain.cardinality(a)).collect(),
                inputs: inputs_split.0.iter().map(|i| mask(clique, &inputs[*i])).collect(),
                copied: inputs_split.0.iter().map(is_host).collect(),
                outputs: outputs_split.0.iter().map(|o| mask(clique, &outputs[*o])).collect(),
            };
            let mut layout = problem.best();
            let absorbed: f64 = inputs_split.1.iter().map(|(_, host)| cells(&inputs[*host])).sum();
            let derived: f64 = outputs_split.1.iter().map(|(_, from)| cells(&outputs[*from])).sum();
            layout.cost += cost::FOLD * (absorbed + derived)
                + cost::FOLD_CALL * (inputs_split.1.len() + outputs_split.1.len()) as f64;
            if best.as_ref().is_none_or(|b| layout.cost < b.layout.cost) {
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
    inputs: Vec<u32>,
    /// Whether an input is always copied, since others are multiplied into it.
    copied: Vec<bool>,
    outputs: Vec<u32>,
}

/// Lane axes, and the order of the others, outermost first.
pub(super) struct Layout {
    cost: f64,
    pub lanes: u32,
    pub order: Vec<usize>,
}

impl Problem {
    fn cells(&self, mask: u32) -> f64 {
        self.sizes
            .iter()
            .enumerate()
            .filter(|(i, _)| mask >> i & 1 == 1)
            .map(|(_, k)| *k as f64)
            .product()
    }

    fn best(&self) -> Layout {
        let all = self.all();
        let mut best = Layout { cost: f64::INFINITY, lanes: all, order: Vec::new() };
        for lanes in self.lane_choices() {
            let outer: Vec<usize> =
                (0..self.sizes.len()).filter(|i| (all & !lanes) >> i & 1 == 1).collect();
            let (cost, order) = if outer.len() <= SEARCHED_AXES {
                self.search(lanes, &outer)
            } else {
                self.greedy(lanes, &outer)
            };
            let cost = cost + self.outermost_cost(lanes) + self.spread_cost(lanes);
            if cost < best.cost {
                best = Layout { cost, lanes, order };
            }
        }
        best
    }

    fn all(&self) -> u32 {
        u32::try_from((1_u64 << self.sizes.len().min(32)) - 1).unwrap_or(u32::MAX)
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
        let inputs: f64 = self.inputs.iter().zip(&self.copied).map(|(t, c)| copied(*t, *c)).sum();
        let outputs: f64 = self.outputs.iter().map(|t| copied(*t, false)).sum();
        cost::SPREAD * (inputs + outputs)
    }

    /// Work before any outer axis is fixed: tables that have lane axes only.
    fn outermost_cost(&self, lanes: u32) -> f64 {
        let tables = self.inputs.iter().chain(&self.outputs).filter(|t| **t & !lanes == 0).count();
        let vectors = (self.cells(lanes) / VECTOR_LANES).ceil();
        cost::SWEEP + tables as f64 * (cost::LOOK_UP + cost::PASS_PER_VECTOR * vectors)
    }

    /// Inputs that join and outputs that leave at the depth that fixes `axis` after the axes of `fixed` (both without
    /// the lanes).
    fn joining(&self, lanes: u32, fixed: u32, axis: usize) -> Joining {
        let now = fixed | 1 << axis;
        let joins = |t: &&u32| **t >> axis & 1 == 1 && **t & !lanes & !now == 0;
        let count = |tables: &[u32]| {
            let (mut with_lanes, mut scalar) = (0.0, 0.0);
            for t in tables.iter().filter(joins) {
                *(if t & lanes == 0 { &mut scalar } else { &mut with_lanes }) += 1.0;
            }
            (with_lanes, scalar)
        };
        let (lane_inputs, scalar_inputs) = count(&self.inputs);
        let (lane_outputs, scalar_outputs) = count(&self.outputs);
        let feeds_outer = self.outputs.iter().any(|t| t & !lanes & !fixed == 0);
        Joining { lane_inputs, scalar_inputs, lane_outputs, scalar_outputs, feeds_outer }
    }

    /// Tables in place that a walk over `axis` crosses in steps that defeat the first cache.
    fn far_operands(&self, lanes: u32, fixed: u32, axis: usize) -> f64 {
        let now = fixed | 1 << axis;
        let far = |t: &&u32| {
            let joins = **t >> axis & 1 == 1 && **t & !lanes & !now == 0;
            let inner = **t & !((2 << axis) - 1);
            joins && **t & lanes != 0 && in_place(**t, lanes) && self.cells(inner) >= FAR_CELLS
        };
        let read = self.inputs.iter().zip(&self.copied).filter(|(_, c)| !**c).map(|(t, _)| t);
        read.chain(&self.outputs).filter(far).count() as f64
    }

    /// Work of the depth that fixes `axis` after the axes of `fixed` (both without the lanes).
    fn depth_cost(&self, lanes: u32, fixed: u32, axis: usize) -> f64 {
        let joining = self.joining(lanes, fixed, axis);
        let vectors = (self.cells(lanes) / VECTOR_LANES).ceil();
        if fixed | lanes | 1 << axis == self.all() {
            let operands = joining.lane_inputs + joining.lane_outputs;
            let tiles = (vectors / 4.0).floor() + vectors % 4.0;
            let step = tiles * (cost::TILE + cost::TILE_OPERAND * operands)
                + vectors
                    * (cost::VECTOR
                        + cost::VECTOR_INPUT * joining.lane_inputs
                        + cost::VECTOR_OUTPUT * joining.lane_outputs
                        + if joining.scalar_outputs > 0.0 { cost::VECTOR_PARTS } else { 0.0 });
            let looked_up = joining.scalar_inputs + joining.scalar_outputs;
            let far = cost::FAR * vectors * self.far_operands(lanes, fixed, axis);
            let steps = self.sizes[axis] as f64 * (step + far + cost::LOOK_UP * looked_up);
            return self.cells(fixed)
                * (cost::SWEEP + 3.0 * cost::PASS_PER_VECTOR * vectors + steps);
        }
        let summed = f64::from(u8::from(joining.scalar_outputs > 0.0))
            + f64::from(u8::from(joining.feeds_outer));
        let passes = joining.lane_inputs + joining.lane_outputs + summed + 1.0;
        let looked_up = joining.scalar_inputs + joining.scalar_outputs;
        self.cells(fixed | 1 << axis)
            * (cost::SETTING
                + cost::LOOK_UP * looked_up
                + passes * (cost::LOOK_UP + cost::PASS_PER_VECTOR * vectors))
    }

    /// The cheapest order, by dynamic programming over the set of axes already fixed.
    fn search(&self, lanes: u32, outer: &[usize]) -> (f64, Vec<usize>) {
        let expand = |set: usize| {
            outer
                .iter()
                .enumerate()
                .filter(|(i, _)| set >> i & 1 == 1)
                .fold(0_u32, |m, (_, axis)| m | 1 << axis)
        };
        let sets = 1_usize << outer.len();
        let mut cost = vec![f64::INFINITY; sets];
        let mut last = vec![0_usize; sets];
        cost[0] = 0.0;
        for set in 1..sets {
            for (i, axis) in outer.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1) {
                let before = set & !(1 << i);
                let total = cost[before] + self.depth_cost(lanes, expand(before), *axis);
                if total < cost[set] {
                    cost[set] = total;
                    last[set] = i;
                }
            }
        }
        let mut order = Vec::with_capacity(outer.len());
        let mut set = sets - 1;
        while set != 0 {
            order.push(outer[last[set]]);
            set &= !(1 << last[set]);
        }
        order.reverse();
        (cost[sets - 1], order)
    }

    /// Starts with the innermost axis: the one whose depth costs least.
    fn greedy(&self, lanes: u32, outer: &[usize]) -> (f64, Vec<usize>) {
        let mut left: Vec<usize> = outer.to_vec();
        let mut order = Vec::with_capacity(outer.len());
        let mut total = 0.0;
        while !left.is_empty() {
            let fixed = left.iter().fold(0_u32, |m, a| m | 1 << a);
            let costs = left.iter().map(|a| self.depth_cost(lanes, fixed & !(1 << a), *a));
            // A long innermost axis makes every outer depth cheaper.
            let Some((position, cost)) = costs.enumerate().min_by(|(i, a), (j, b)| {
                let relief = |p: usize, c: f64| c * (1.0 + 1.0 / self.sizes[left[p]] as f64);
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
