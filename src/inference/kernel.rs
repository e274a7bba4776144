//! The fused loops of a contraction: one walk over the clique, no table over it.

#![expect(
    clippy::inline_always,
    reason = "the loops must be compiled inside the function that enables vector instructions"
)]

use pulp::Arch;
use rayon::prelude::*;

use crate::inference::plan::{Contraction, Depth};

/// Scratch of one contraction, reused from call to call.
#[derive(Clone, Debug)]
pub(crate) struct ContractionWorkspace {
    inputs: Vec<f64>,
    blocks: Vec<Block>,
    outputs: Vec<Vec<f64>>,
}

/// Scratch of one piece of the outermost axis.
#[derive(Clone, Debug)]
struct Block {
    /// Spread-out outputs.
    outputs: Vec<f64>,
    /// One vector of lanes a depth: the product of the lane inputs joined so far.
    products: Vec<f64>,
    /// One vector of lanes a depth: the sum over all deeper axes.
    sums: Vec<f64>,
    /// Where the product of the lane inputs stands for each depth (a depth without lane inputs shares it).
    product_at: Vec<usize>,
    scalars: Vec<f64>,
    counter: Vec<usize>,
    input_offsets: Vec<usize>,
    output_offsets: Vec<usize>,
}

impl ContractionWorkspace {
    pub(crate) fn new(plan: &Contraction) -> Self {
        let depths = plan.depths.len();
        let block = Block {
            outputs: vec![0.0; plan.output_buffer],
            products: vec![0.0; depths * plan.lanes],
            sums: vec![0.0; depths * plan.lanes],
            product_at: vec![0; depths],
            scalars: vec![1.0; depths],
            counter: vec![0; depths],
            input_offsets: vec![0; plan.inputs.len()],
            output_offsets: vec![0; plan.outputs.len()],
        };
        Self {
            inputs: vec![0.0; plan.input_buffer],
            blocks: vec![block; plan.blocks],
            outputs: plan.output_cells.iter().map(|cells| vec![0.0; *cells]).collect(),
        }
    }

    /// The outputs of the last run, row-major.
    pub(crate) fn outputs(&self) -> &[Vec<f64>] {
        &self.outputs
    }

    /// The outputs of the last run, row-major.
    pub(crate) fn into_outputs(self) -> Vec<Vec<f64>> {
        self.outputs
    }
}

impl Contraction {
    /// Multiplies the input tables (row-major, in the order of the plan's inputs) and sums the product onto the
    /// outputs, which are left in the workspace.
    ///
    /// The result depends on the inputs alone, not on the number of threads.
    pub(crate) fn run(&self, inputs: &[&[f64]], workspace: &mut ContractionWorkspace) {
        let spread = &mut workspace.inputs;
        for (input, operand) in &self.inputs {
            let table = &mut spread[operand.start..operand.start + operand.spread_cells];
            operand.walk.zip_from(inputs[*input], table, |x, s| *x = s);
        }
        for absorbed in &self.absorbed {
            let (_, host) = &self.inputs[absorbed.host];
            let table = &mut spread[host.start..host.start + host.spread_cells];
            absorbed.walk.zip_from(inputs[absorbed.input], table, |x, s| *x *= s);
        }
        let spread = &workspace.inputs[..];
        let extent = self.extents.first().copied().unwrap_or(1);
        let pieces = self.blocks;
        if pieces == 1 {
            self.run_block(spread, 0..extent, &mut workspace.blocks[0]);
        } else {
            workspace.blocks.par_iter_mut().enumerate().for_each(|(piece, block)| {
                let range = piece * extent / pieces..(piece + 1) * extent / pieces;
                self.run_block(spread, range, block);
            });
        }
        // Blocks are added in a fixed order.
        let (first, rest) = workspace.blocks.split_at_mut(1);
        let sum = &mut first[0].outputs;
        for block in rest {
            sum.iter_mut().zip(&block.outputs).for_each(|(s, x)| *s += x);
        }
        for (output, operand) in &self.outputs {
            let table = &mut workspace.outputs[*output];
            table.fill(0.0);
            let cells = &sum[operand.start..operand.start + operand.spread_cells];
            operand.walk.add_into(cells, table);
        }
        for derived in &self.derived {
            if let Ok([source, target]) =
                workspace.outputs.get_disjoint_mut([derived.source, derived.output])
            {
                target.fill(0.0);
                derived.walk.add_into(source, target);
            }
        }
    }

    fn run_block(&self, spread: &[f64], range: std::ops::Range<usize>, block: &mut Block) {
        block.outputs.fill(0.0);
        Arch::new().dispatch(|| self.nest(spread, range, block));
    }

    /// The nest of loops over the outer axes, the outermost restricted to `range`.
    #[inline(always)]
    fn nest(&self, spread: &[f64], range: std::ops::Range<usize>, block: &mut Block) {
        let lanes = self.lanes;
        let innermost = self.extents.len();
        for (position, (_, operand)) in self.inputs.iter().enumerate() {
            let stride = operand.strides.first().copied().unwrap_or(0);
            block.input_offsets[position] = operand.start + stride * range.start;
        }
        for (position, (_, operand)) in self.outputs.iter().enumerate() {
            let stride = operand.strides.first().copied().unwrap_or(0);
            block.output_offsets[position] = operand.start + stride * range.start;
        }
        block.products[..lanes].fill(1.0);
        block.sums.fill(0.0);
        block.product_at[0] = 0;
        block.scalars[0] = 1.0;
        block.enter(&self.depths[0], 0, lanes, spread);
        if innermost == 0 {
            block.visit(&self.depths[0], 0, lanes);
            return;
        }
        let mut depth = 1;
        block.counter[1] = range.start;
        loop {
            let (axis, plan) = (depth - 1, &self.depths[depth]);
            let end = if axis == 0 { range.end } else { self.extents[axis] };
            if block.counter[depth] == end {
                // This axis is done: rewind it, and hand its sum to the depth outside it.
                let steps = if axis == 0 { end - range.start } else { end };
                block.step(self, axis, steps, false);
                depth -= 1;
                block.leave(&self.depths[depth], depth, lanes);
                if depth == 0 {
                    return;
                }
                block.counter[depth] += 1;
                block.step(self, depth - 1, 1, true);
                continue;
            }
            block.enter(plan, depth, lanes, spread);
            if block.scalars[depth] == 0.0 {
                block.counter[depth] += 1;
                block.step(self, axis, 1, true);
            } else if depth == innermost {
                block.visit(plan, depth, lanes);
                block.counter[depth] += 1;
                block.step(self, axis, 1, true);
            } else {
                depth += 1;
                block.counter[depth] = 0;
            }
        }
    }
}

impl Block {
    /// Moves all offsets by `steps` along an outer axis.
    #[inline(always)]
    fn step(&mut self, plan: &Contraction, axis: usize, steps: usize, forward: bool) {
        let delta = if forward { steps } else { steps.wrapping_neg() };
        for (offset, (_, operand)) in self.input_offsets.iter_mut().zip(&plan.inputs) {
            *offset = offset.wrapping_add(operand.strides[axis].wrapping_mul(delta));
        }
        for (offset, (_, operand)) in self.output_offsets.iter_mut().zip(&plan.outputs) {
            *offset = offset.wrapping_add(operand.strides[axis].wrapping_mul(delta));
        }
    }

    /// Joins the inputs that are fixed from this depth on.
    #[inline(always)]
    fn enter(&mut self, plan: &Depth, depth: usize, lanes: usize, spread: &[f64]) {
        let mut scalar = if depth == 0 { 1.0 } else { self.scalars[depth - 1] };
        for &input in &plan.scalar_inputs {
            scalar *= spread[self.input_offsets[input]];
        }
        self.scalars[depth] = scalar;
        let source = if depth == 0 { 0 } else { self.product_at[depth - 1] };
        let Some((first, rest)) = plan.lane_inputs.split_first() else {
            self.product_at[depth] = source;
            return;
        };
        if scalar == 0.0 {
            return;
        }
        let at = depth * lanes;
        let input = &spread[self.input_offsets[*first]..][..lanes];
        if depth == 0 {
            self.products[..lanes].copy_from_slice(input);
        } else {
            let (before, own) = self.products.split_at_mut(at);
            multiply(&before[source..source + lanes], input, &mut own[..lanes]);
        }
        let own = &mut self.products[at..at + lanes];
        for other in rest {
            let input = &spread[self.input_offsets[*other]..][..lanes];
            own.iter_mut().zip(input).for_each(|(p, x)| *p *= x);
        }
        self.product_at[depth] = at;
    }

    /// The innermost depth: hands its product to its outputs and to the sum of the depth outside.
    #[inline(always)]
    fn visit(&mut self, plan: &Depth, depth: usize, lanes: usize) {
        let scalar = self.scalars[depth];
        let at = self.product_at[depth];
        let product = &self.products[at..at + lanes];
        if plan.feeds_outer {
            add_scaled(product, scalar, &mut self.sums[(depth - 1) * lanes..][..lanes]);
        }
        for &output in &plan.lane_outputs {
            let start = self.output_offsets[output];
            add_scaled(product, scalar, &mut self.outputs[start..start + lanes]);
        }
        if !plan.scalar_outputs.is_empty() {
            let sum = scalar * lane_sum(product);
            for &output in &plan.scalar_outputs {
                self.outputs[self.output_offsets[output]] += sum;
            }
        }
    }

    /// A depth whose deeper axes are done: hands its sum to its outputs and to the depth outside, and clears it.
    #[inline(always)]
    fn leave(&mut self, plan: &Depth, depth: usize, lanes: usize) {
        let (outer, own) = self.sums.split_at_mut(depth * lanes);
        let own = &mut own[..lanes];
        for &output in &plan.lane_outputs {
            let start = self.output_offsets[output];
            add(own, &mut self.outputs[start..start + lanes]);
        }
        if !plan.scalar_outputs.is_empty() {
            let sum = lane_sum(own);
            for &output in &plan.scalar_outputs {
                self.outputs[self.output_offsets[output]] += sum;
            }
        }
        if plan.feeds_outer && depth > 0 {
            add(own, &mut outer[(depth - 1) * lanes..]);
        }
        own.fill(0.0);
    }
}

#[inline(always)]
fn multiply(a: &[f64], b: &[f64], product: &mut [f64]) {
    for ((p, x), y) in product.iter_mut().zip(a).zip(b) {
        *p = x * y;
    }
}

#[inline(always)]
fn add(values: &[f64], sum: &mut [f64]) {
    for (s, x) in sum.iter_mut().zip(values) {
        *s += x;
    }
}

#[inline(always)]
fn add_scaled(values: &[f64], scale: f64, sum: &mut [f64]) {
    for (s, x) in sum.iter_mut().zip(values) {
        *s += scale * x;
    }
}

/// The sum in eight interleaved parts: the same order on every machine.
#[inline(always)]
fn lane_sum(values: &[f64]) -> f64 {
    let mut parts = [0.0; 8];
    let (chunks, rest) = values.as_chunks::<8>();
    for chunk in chunks {
        for (p, x) in parts.iter_mut().zip(chunk) {
            *p += x;
        }
    }
    for (p, x) in parts.iter_mut().zip(rest) {
        *p += x;
    }
    ((parts[0] + parts[4]) + (parts[2] + parts[6]))
        + ((parts[1] + parts[5]) + (parts[3] + parts[7]))
}
