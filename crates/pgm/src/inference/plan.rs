//! The plan of one contraction: which axes are vector lanes, the nesting order of the others, and the depth at which
//! every factor joins and every output accumulates.
//!
//! A contraction multiplies small tables over subsets of a clique and sums the product onto other subsets, without
//! ever holding the table over the clique. See `docs/engine.md`.

use std::ops::Range;

use crate::domain::{Clique, Domain};
use crate::inference::choices::Choices;
use crate::inference::rearrangement::Rearrangement;
use crate::inference::search::Choice;
use crate::table::{Projection, row_major_strides, strides_within};

/// A table that takes part in a contraction, spread out over the plan's axes.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    /// For an input, from the row-major table to the spread-out one; for an output, back.
    pub walk: Rearrangement,
    /// Position of the spread-out table in its buffer; 0 for an input in place.
    pub start: usize,
    /// Cells of the spread-out table.
    pub spread_cells: usize,
    /// Whether its last axis is the lanes (otherwise it has one number per setting of its outer axes).
    pub has_lanes: bool,
    /// Offset in the spread-out table for a step of each outer axis; 0 if it lacks the axis.
    pub strides: Vec<usize>,
    /// Depth at which all of its outer axes are fixed; 0 when it has none.
    pub depth: usize,
    /// Whether the loops can use the row-major table directly, without a copy.
    pub in_place: bool,
}

impl Operand {
    /// Position of the cells of such a range of an axis, in this operand's part of the buffer. `None` if it lacks the
    /// axis, so that all cells belong to each setting; otherwise the ranges' period, and the range within the first.
    pub(super) fn slice(
        &self,
        axis: usize,
        extent: usize,
        range: &Range<usize>,
    ) -> Option<(usize, Range<usize>)> {
        let stride = *self.strides.get(axis)?;
        (stride > 0).then(|| (stride * extent, stride * range.start..stride * range.end))
    }
}

/// An input that is a subset of another one and is multiplied into its spread-out table.
#[derive(Clone, Debug)]
pub(super) struct AbsorbedInput {
    pub input: usize,
    pub host: usize,
    pub walk: Projection,
}

/// An output that is a subset of another one and is summed from it at the end.
#[derive(Clone, Debug)]
pub(super) struct DerivedOutput {
    pub output: usize,
    pub source: usize,
    pub walk: Projection,
}

/// The operations at one depth, by position among the operands.
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
    pub(super) absorbed: Vec<AbsorbedInput>,
    /// Spread-out outputs, with the position of the output each goes to.
    pub(super) outputs: Vec<(usize, Operand)>,
    pub(super) derived: Vec<DerivedOutput>,
    /// Row-major cells of each output.
    pub(super) output_cells: Vec<usize>,
    pub(super) input_buffer: usize,
    pub(super) output_buffer: usize,
    /// The outer axis that is cut into blocks, and their number; both depend only on the plan, never on the threads.
    pub(super) cut: usize,
    pub(super) blocks: usize,
    cells: u64,
}

/// Cells below which a contraction is not cut into blocks.
const BLOCK_CELLS: u64 = 1 << 17;
/// Numbers of blocks, and the cells walked per output cell from which they pay: every block has its own outputs.
/// Outputs that lack the cut axis are cleared and added up whole; of the others each block has a slice, which is
/// copied.
const BLOCKS: [(usize, u64); 3] = [(8, 64), (4, 12), (2, 3)];
/// Cells walked per output cell, in slices or not, below which nothing is cut.
const OUTPUT_SHARE: u64 = 2;
/// A cell of a slice costs this many times less than one that every block has.
const SLICE: usize = 16;

impl Contraction {
    /// Plans the contraction of tables over `inputs` onto tables over `outputs`, all subsets of `clique`.
    ///
    /// Attributes of `clique` that are in no input multiply the result by their cardinality.
    pub(super) fn new(
        choices: &Choices,
        domain: &Domain,
        clique: &Clique,
        inputs: &[Clique],
        outputs: &[Clique],
    ) -> Self {
        // Attributes of a single value need no loop.
        let clique = &Clique::new(clique.iter().filter(|a| domain.cardinality(*a) > 1));
        let choice = choices.choose(domain, clique, inputs, outputs);
        let Choice { inputs: (main_inputs, absorbed), outputs: (main_outputs, derived), layout } =
            &*choice;
        let lane_mask = layout.lanes;
        let outer: Vec<usize> = layout.order.iter().map(|p| clique.attributes()[*p]).collect();
        let lane_axes: Vec<usize> = (0..clique.len())
            .filter(|p| lane_mask >> p & 1 == 1)
            .map(|p| clique.attributes()[p])
            .collect();
        let lanes = lane_axes.iter().map(|a| domain.cardinality(*a)).product();

        let mut input_buffer = 0;
        let operands_in: Vec<(usize, Operand)> = main_inputs
            .iter()
            .map(|&i| {
                let is_host = absorbed.iter().any(|(_, host)| *host == i);
                let mut operand =
                    operand(domain, &inputs[i], [&outer, &lane_axes], Use::Input { is_host });
                if !operand.in_place {
                    operand.start = input_buffer;
                    input_buffer += operand.spread_cells;
                }
                (i, operand)
            })
            .collect();
        let mut output_buffer = 0;
        let operands_out: Vec<(usize, Operand)> = main_outputs
            .iter()
            .map(|&o| {
                let mut operand = operand(domain, &outputs[o], [&outer, &lane_axes], Use::Output);
                operand.start = output_buffer;
                output_buffer += operand.spread_cells;
                (o, operand)
            })
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
            .iter()
            .map(|&(input, host)| {
                let position = main_inputs.iter().position(|m| *m == host).unwrap_or(0);
                let has_lanes = operands_in[position].1.has_lanes;
                let axes = spread_axes(&inputs[host], &outer, &lane_axes, has_lanes);
                AbsorbedInput {
                    input,
                    host: position,
                    walk: Projection::new(
                        &axes.iter().map(|a| domain.cardinality(*a)).collect::<Vec<_>>(),
                        &strides_within(&axes, &inputs[input], &domain.shape(&inputs[input])),
                    ),
                }
            })
            .collect();
        let derived = derived
            .iter()
            .map(|&(output, source)| DerivedOutput {
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
        let pays = cells >= BLOCK_CELLS.max(OUTPUT_SHARE * output_buffer as u64);
        let (cut, blocks) = if pays { cut(&extents, cells, &operands_out) } else { (0, 1) };
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
            cut,
            blocks,
            cells,
        }
    }

    /// Cells of the clique, which one run of the contraction visits.
    pub(crate) fn cells(&self) -> u64 {
        self.cells
    }

    /// Numbers held while the contraction runs.
    pub(crate) fn held(&self) -> usize {
        self.input_buffer + self.blocks * self.output_buffer
    }
}

/// The outer axis to cut and the number of its pieces: the axis whose blocks share the fewest cells, and among equals
/// the outermost. The innermost is not cut if there is another, since it is the length of the register kernel's runs.
fn cut(extents: &[usize], cells: u64, outputs: &[(usize, Operand)]) -> (usize, usize) {
    let axes = extents.len() - usize::from(extents.len() > 1);
    let shared = |axis: usize| -> usize {
        let cells = |o: &Operand| o.spread_cells / if o.strides[axis] == 0 { 1 } else { SLICE };
        outputs.iter().map(|(_, operand)| cells(operand)).sum()
    };
    let Some((shared, axis)) = (0..axes).map(|axis| (shared(axis), axis)).min() else {
        return (0, 1);
    };
    let walked = cells / (shared as u64 + 1);
    let paid = BLOCKS.iter().find(|(_, cells)| *cells <= walked).map_or(1, |(blocks, _)| *blocks);
    (axis, paid.min(extents[axis]))
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

/// What a table is to a contraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// `is_host`: others are multiplied into its copy.
    Input {
        is_host: bool,
    },
    Output,
}

fn operand(
    domain: &Domain,
    clique: &Clique,
    [outer, lane_axes]: [&[usize]; 2],
    role: Use,
) -> Operand {
    let has_lanes = lane_axes.iter().any(|a| clique.contains(*a));
    let own: Vec<usize> = clique.iter().filter(|a| domain.cardinality(*a) > 1).collect();
    // The lanes of a table in place are its last axes; its other axes may nest in any order.
    let may_stay = !matches!(role, Use::Input { is_host: true });
    let in_place = may_stay && (!has_lanes || own.ends_with(lane_axes));
    let axes = if in_place { own } else { spread_axes(clique, outer, lane_axes, has_lanes) };
    let shape: Vec<usize> = axes.iter().map(|a| domain.cardinality(*a)).collect();
    let cell_strides = row_major_strides(&shape);
    let stride = |a: &usize| axes.iter().position(|x| x == a).map_or(0, |at| cell_strides[at]);
    let walk = if role == Use::Output {
        let own: Vec<usize> = clique.iter().collect();
        let strides: Vec<usize> = own.iter().map(stride).collect();
        let lacks = |(a, _): &(&usize, &usize)| !clique.contains(**a);
        let summed = axes.iter().zip(&cell_strides).filter(lacks);
        let summed: Vec<(usize, usize)> =
            summed.map(|(a, stride)| (domain.cardinality(*a), *stride)).collect();
        Rearrangement::new(&domain.shape(clique), &strides, &summed)
    } else {
        let strides = strides_within(&axes, clique, &domain.shape(clique));
        Rearrangement::new(&shape, &strides, &[])
    };
    Operand {
        walk,
        start: 0,
        spread_cells: shape.iter().product(),
        has_lanes,
        strides: outer.iter().map(stride).collect(),
        depth: outer.iter().rposition(|a| clique.contains(*a)).map_or(0, |level| level + 1),
        in_place,
    }
}
