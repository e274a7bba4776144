//! The plan of one contraction: which axes run as vector lanes, in which order the others nest, and at which depth
//! every factor joins and every output accumulates.
//!
//! A contraction multiplies small tables over subsets of a clique and sums the product onto other subsets, without
//! ever holding the table over the clique. See `docs/engine.md`.

use crate::domain::{Clique, Domain};
use crate::table::{Projection, strides_within};

/// A table that takes part in a contraction, spread out over the plan's axes.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    /// Walk over the spread-out table with the index into the row-major one.
    pub walk: Projection,
    /// Where the spread-out table lies in its buffer.
    pub start: usize,
    /// Cells of the spread-out table.
    pub spread_cells: usize,
    /// Whether its last axis is the lanes (otherwise it has one number for each setting of its outer axes).
    pub has_lanes: bool,
    /// Offset in the spread-out table for a step of each outer axis; 0 where it lacks the axis.
    pub strides: Vec<usize>,
    /// Depth at which all of its outer axes are fixed; 0 when it has none.
    pub depth: usize,
}

/// An input that is a subset of another one and is multiplied into its spread-out table.
#[derive(Clone, Debug)]
pub(super) struct Absorbed {
    pub input: usize,
    pub host: usize,
    pub walk: Projection,
}

/// An output that is a subset of another one and is summed from it at the end.
#[derive(Clone, Debug)]
pub(super) struct Derived {
    pub output: usize,
    pub source: usize,
    pub walk: Projection,
}

/// What happens at one depth, by position among the operands.
#[derive(Clone, Debug, Default)]
pub(super) struct Depth {
    pub scalar_inputs: Vec<usize>,
    pub lane_inputs: Vec<usize>,
    pub scalar_outputs: Vec<usize>,
    pub lane_outputs: Vec<usize>,
    /// Whether some output at a lower depth needs this depth's sum.
    pub feeds_outer: bool,
}

/// A compiled contraction.
#[derive(Clone, Debug)]
pub(crate) struct Contraction {
    /// Extents of the outer axes, outermost first.
    pub(super) extents: Vec<usize>,
    /// Cells of the lane axes together.
    pub(super) lanes: usize,
    /// Depth 0 (no outer axis fixed) to depth `extents.len()`.
    pub(super) depths: Vec<Depth>,
    /// Spread-out inputs, with the position of the input each comes from.
    pub(super) inputs: Vec<(usize, Operand)>,
    pub(super) absorbed: Vec<Absorbed>,
    /// Spread-out outputs, with the position of the output each goes to.
    pub(super) outputs: Vec<(usize, Operand)>,
    pub(super) derived: Vec<Derived>,
    /// Row-major cells of each output.
    pub(super) output_cells: Vec<usize>,
    pub(super) input_buffer: usize,
    pub(super) output_buffer: usize,
    /// Number of pieces the outermost axis is cut into; depends on the plan alone, never on the threads.
    pub(super) blocks: usize,
    cells: u64,
}

/// Lanes that make a plan worth considering.
const LANES: std::ops::RangeInclusive<usize> = 8..=512;
/// Lanes that are best all else being equal: long enough to hide a step's overhead, short enough for the first cache.
const IDEAL_LANES: f64 = 96.0;
/// Choices of lane axes that are costed in full.
const LANE_CHOICES: usize = 12;
/// Outer axes up to which all orders are searched (by dynamic programming over subsets).
const SEARCHED_AXES: usize = 8;
/// Cost of one step of a depth, and of one pass over the lanes, in multiples of one lane's work.
const STEP_COST: f64 = 24.0;
const PASS_COST: f64 = 6.0;
/// Cells below which a contraction is not cut into blocks.
const BLOCK_CELLS: u64 = 1 << 17;
const MAX_BLOCKS: usize = 8;
/// Cells walked for each output cell that a block adds.
const BLOCK_OUTPUTS: u64 = 4;

impl Contraction {
    /// Plans the contraction of tables over `inputs` onto tables over `outputs`, all subsets of `clique`.
    ///
    /// Attributes of `clique` that no input holds multiply the result by their cardinality.
    pub(crate) fn new(
        domain: &Domain,
        clique: &Clique,
        inputs: &[Clique],
        outputs: &[Clique],
    ) -> Self {
        // Attributes of a single value need no loop.
        let clique = &Clique::new(clique.iter().filter(|a| domain.cardinality(*a) > 1));
        let (main_inputs, absorbed) = split_subsets(inputs);
        let (main_outputs, derived) = split_subsets(outputs);
        let problem = Problem {
            sizes: clique.iter().map(|a| domain.cardinality(a)).collect(),
            inputs: main_inputs.iter().map(|i| mask(clique, &inputs[*i])).collect(),
            outputs: main_outputs.iter().map(|o| mask(clique, &outputs[*o])).collect(),
        };
        let (lane_mask, order) = problem.best();
        let outer: Vec<usize> = order.iter().map(|p| clique.attributes()[*p]).collect();
        let lane_axes: Vec<usize> = (0..clique.len())
            .filter(|p| lane_mask >> p & 1 == 1)
            .map(|p| clique.attributes()[p])
            .collect();
        let lanes = lane_axes.iter().map(|a| domain.cardinality(*a)).product();

        let mut input_buffer = 0;
        let operands_in: Vec<(usize, Operand)> = main_inputs
            .iter()
            .map(|&i| (i, operand(domain, &inputs[i], &outer, &lane_axes, &mut input_buffer)))
            .collect();
        let mut output_buffer = 0;
        let operands_out: Vec<(usize, Operand)> = main_outputs
            .iter()
            .map(|&o| (o, operand(domain, &outputs[o], &outer, &lane_axes, &mut output_buffer)))
            .collect();
        let mut depths = vec![Depth::default(); outer.len() + 1];
        for (position, (_, operand)) in operands_in.iter().enumerate() {
            let depth = &mut depths[operand.depth];
            let list =
                if operand.has_lanes { &mut depth.lane_inputs } else { &mut depth.scalar_inputs };
            list.push(position);
        }
        for (position, (_, operand)) in operands_out.iter().enumerate() {
            let depth = &mut depths[operand.depth];
            let list =
                if operand.has_lanes { &mut depth.lane_outputs } else { &mut depth.scalar_outputs };
            list.push(position);
        }
        let mut needed = false;
        for depth in &mut depths {
            depth.feeds_outer = needed;
            needed |= !(depth.lane_outputs.is_empty() && depth.scalar_outputs.is_empty());
        }

        let absorbed = absorbed
            .into_iter()
            .map(|(input, host)| {
                let position = main_inputs.iter().position(|m| *m == host).unwrap_or(0);
                let has_lanes = operands_in[position].1.has_lanes;
                let axes = spread_axes(&inputs[host], &outer, &lane_axes, has_lanes);
                Absorbed { input, host: position, walk: spread_walk(domain, &axes, &inputs[input]) }
            })
            .collect();
        let derived = derived
            .into_iter()
            .map(|(output, source)| Derived {
                output,
                source,
                walk: Projection::between(
                    &outputs[source],
                    &domain.shape(&outputs[source]),
                    &outputs[output],
                ),
            })
            .collect();
        let extents: Vec<usize> = outer.iter().map(|a| domain.cardinality(*a)).collect();
        let cells = domain.cells(clique).unwrap_or(u64::MAX);
        let blocks = if cells < BLOCK_CELLS {
            1
        } else {
            // Each block has outputs of its own: no more of them than the walk pays for.
            let paid = cells / (BLOCK_OUTPUTS * (output_buffer as u64 + 1));
            let most = usize::try_from(paid).unwrap_or(MAX_BLOCKS).min(MAX_BLOCKS);
            extents.first().map_or(1, |k| (*k).min(most)).max(1)
        };
        Self {
            extents,
            lanes,
            depths,
            inputs: operands_in,
            absorbed,
            outputs: operands_out,
            derived,
            output_cells: outputs.iter().map(|o| domain.shape(o).iter().product()).collect(),
            input_buffer,
            output_buffer,
            blocks,
            cells,
        }
    }

    /// Cells of the clique: what one run of the contraction walks over.
    pub(crate) fn cells(&self) -> u64 {
        self.cells
    }

    /// Numbers held while the contraction runs.
    pub(crate) fn held(&self) -> usize {
        self.input_buffer + self.blocks * self.output_buffer
    }
}

/// Splits tables into those that stand for themselves and those that are subsets of one of these, with that one.
fn split_subsets(cliques: &[Clique]) -> (Vec<usize>, Vec<(usize, usize)>) {
    let mut by_size: Vec<usize> = (0..cliques.len()).collect();
    by_size.sort_by_key(|i| (std::cmp::Reverse(cliques[*i].len()), *i));
    let mut main: Vec<usize> = Vec::new();
    let mut subsets = Vec::new();
    for i in by_size {
        // The last main clique that holds it is one of the smallest.
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

/// Axes of a spread-out table: its outer axes in nesting order, then all lane axes if it has any of them.
fn spread_axes(
    clique: &Clique,
    outer: &[usize],
    lane_axes: &[usize],
    has_lanes: bool,
) -> Vec<usize> {
    let mut axes: Vec<usize> = outer.iter().copied().filter(|a| clique.contains(*a)).collect();
    if has_lanes {
        axes.extend_from_slice(lane_axes);
    }
    axes
}

fn spread_walk(domain: &Domain, axes: &[usize], clique: &Clique) -> Projection {
    let shape: Vec<usize> = axes.iter().map(|a| domain.cardinality(*a)).collect();
    Projection::new(&shape, &strides_within(axes, clique, &domain.shape(clique)))
}

fn operand(
    domain: &Domain,
    clique: &Clique,
    outer: &[usize],
    lane_axes: &[usize],
    buffer: &mut usize,
) -> Operand {
    let has_lanes = lane_axes.iter().any(|a| clique.contains(*a));
    let axes = spread_axes(clique, outer, lane_axes, has_lanes);
    let spread_cells: usize = axes.iter().map(|a| domain.cardinality(*a)).product();
    let mut strides = vec![0; outer.len()];
    let mut stride =
        if has_lanes { lane_axes.iter().map(|a| domain.cardinality(*a)).product() } else { 1 };
    let mut depth = 0;
    for (level, attribute) in outer.iter().enumerate().rev() {
        if clique.contains(*attribute) {
            strides[level] = stride;
            stride *= domain.cardinality(*attribute);
            depth = depth.max(level + 1);
        }
    }
    let start = *buffer;
    *buffer += spread_cells;
    Operand {
        walk: spread_walk(domain, &axes, clique),
        start,
        spread_cells,
        has_lanes,
        strides,
        depth,
    }
}

/// The search for lane axes and nesting order, over bit masks of the clique's axes.
struct Problem {
    sizes: Vec<usize>,
    inputs: Vec<u32>,
    outputs: Vec<u32>,
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

    /// Lane axes and the order of the others, outermost first.
    fn best(&self) -> (u32, Vec<usize>) {
        let all = self.all();
        let mut best: Option<(f64, u32, Vec<usize>)> = None;
        for lanes in self.lane_choices() {
            let outer: Vec<usize> =
                (0..self.sizes.len()).filter(|i| (all & !lanes) >> i & 1 == 1).collect();
            let (cost, order) = if outer.len() <= SEARCHED_AXES {
                self.search(lanes, &outer)
            } else {
                self.greedy(lanes, &outer)
            };
            let cost = cost + self.spread_cost(lanes);
            if best.as_ref().is_none_or(|(least, _, _)| cost < *least) {
                best = Some((cost, lanes, order));
            }
        }
        best.map_or_else(|| (all, Vec::new()), |(_, lanes, order)| (lanes, order))
    }

    fn all(&self) -> u32 {
        u32::try_from((1_u64 << self.sizes.len().min(32)) - 1).unwrap_or(u32::MAX)
    }

    /// Sets of one to four axes with a sensible number of cells, nearest to the ideal first; everything when the
    /// whole clique is that small.
    fn lane_choices(&self) -> Vec<u32> {
        let all = self.all();
        if self.cells(all) <= *LANES.end() as f64 / 4.0 {
            return vec![all];
        }
        let mut choices: Vec<u32> = Vec::new();
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
            // One axis longer than any lane range, or only tiny axes: the longest axis that there is.
            let longest = (0..self.sizes.len()).max_by_key(|i| self.sizes[*i]).unwrap_or(0);
            return vec![1 << longest];
        }
        // A lane axis in few tables means little spreading out.
        let rank = |set: u32| {
            let spread = self.spread_cost(set) / self.cells(all).max(1.0);
            (self.cells(set) / IDEAL_LANES).ln().abs() + spread
        };
        let mut ranked: Vec<(f64, u32)> = choices.iter().map(|set| (rank(*set), *set)).collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        ranked.into_iter().take(LANE_CHOICES).map(|(_, set)| set).collect()
    }

    /// Work of spreading the tables out over the lane axes.
    fn spread_cost(&self, lanes: u32) -> f64 {
        self.inputs
            .iter()
            .chain(&self.outputs)
            .map(|t| if t & lanes == 0 { self.cells(*t) } else { self.cells(t | lanes) })
            .sum::<f64>()
            * 2.0
    }

    /// Work of the depth that fixes `axis` after the axes of `fixed` (both without the lanes).
    fn depth_cost(&self, lanes: u32, fixed: u32, axis: usize) -> f64 {
        let now = fixed | 1 << axis;
        let joins = |t: &&u32| **t >> axis & 1 == 1 && **t & !lanes & !now == 0;
        let lane_inputs = self.inputs.iter().filter(joins).filter(|t| **t & lanes != 0).count();
        let (mut lane_outputs, mut scalar_outputs) = (0, 0);
        for t in self.outputs.iter().filter(joins) {
            if t & lanes == 0 {
                scalar_outputs += 1;
            } else {
                lane_outputs += 1;
            }
        }
        let feeds = self.outputs.iter().any(|t| t & !lanes & !fixed == 0);
        let passes =
            (lane_inputs + lane_outputs + scalar_outputs + usize::from(feeds)).max(1) as f64;
        self.cells(now) * (STEP_COST + passes * (PASS_COST + self.cells(lanes)))
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

    /// Innermost axis first: the one whose depth costs least.
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
