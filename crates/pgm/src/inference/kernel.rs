//! The fused loops of a contraction: one walk over the clique, no table over it.
//!
//! All outer axes except the last are walked one setting at a time (`Walk`); the last one and the lanes are one call of
//! the register kernel in [`crate::inference::lanes`].

#![expect(
    clippy::inline_always,
    reason = "the loops must be compiled inside the function that enables vector instructions"
)]

use std::marker::PhantomData;
use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::inference::in_parallel;
use crate::inference::kernel::workspace::Block;
pub(crate) use crate::inference::kernel::workspace::ContractionWorkspace;
use crate::inference::lanes::{LaneInput, LaneOutput, PARTS, Sums, Sweep, lane_sum, reduce};
use crate::inference::plan::{Contraction, Depth};
use crate::inference::semiring::Semiring;

/// Number of inputs for which a contraction needs no list on the heap.
const FEW: usize = 12;

/// Cells that one thread copies at least.
const COPIED: usize = 1 << 13;

#[cfg(test)]
mod tests;
mod workspace;

impl Contraction {
    /// The outputs of one run, row-major. `spread`: memory for spread-out inputs, kept from run to run.
    pub(crate) fn outputs_of<R: Semiring>(
        &self,
        inputs: &[&[f64]],
        spread: &mut Vec<f64>,
    ) -> Vec<Vec<f64>> {
        let mut workspace = ContractionWorkspace::with_spread(self, std::mem::take(spread));
        self.run::<R>(inputs, &mut workspace);
        *spread = std::mem::take(&mut workspace.inputs);
        workspace.into_outputs()
    }

    /// Multiplies the input tables (row-major, in the order of the plan's inputs) and sums the product onto the
    /// outputs, which are left in the workspace.
    ///
    /// The result depends only on the inputs, not on the number of threads or the machine's vector width.
    pub(crate) fn run<R: Semiring>(&self, inputs: &[&[f64]], workspace: &mut ContractionWorkspace) {
        let spread = &mut workspace.inputs;
        for (input, operand) in self.inputs.iter().filter(|(_, operand)| !operand.in_place) {
            let table = &mut spread[operand.start..operand.start + operand.spread_cells];
            operand.walk.run(inputs[*input], table, R::ZERO, R::plus);
        }
        for absorbed in &self.absorbed {
            let (_, host) = &self.inputs[absorbed.host];
            let table = &mut spread[host.start..host.start + host.spread_cells];
            absorbed.walk.zip_from(inputs[absorbed.input], table, |x, s| *x = R::times(*x, s));
        }
        let spread = &workspace.inputs[..];
        let table = |(input, operand): &(usize, crate::inference::plan::Operand)| {
            if operand.in_place { inputs[*input] } else { &spread[operand.start..] }
        };
        let (mut few, mut many): ([&[f64]; FEW], _) = ([&[]; FEW], Vec::new());
        let tables = listed(self.inputs.iter().map(table), &mut few, &mut many);
        let run = |(piece, block): (usize, &mut Block)| {
            self.run_block::<R>(tables, self.piece(piece), block);
        };
        if self.blocks > 1 && in_parallel(self.cells()) {
            workspace.blocks.par_iter_mut().enumerate().for_each(run);
        } else {
            workspace.blocks.iter_mut().enumerate().for_each(run);
        }
        // Blocks are combined in a fixed order.
        let (first, rest) = workspace.blocks.split_at_mut(1);
        let sum = &mut first[0].outputs;
        self.gather::<R>(rest, sum);
        for (output, operand) in self.outputs.iter().filter(|(_, operand)| !operand.in_place) {
            let cells = &sum[operand.start..operand.start + operand.spread_cells];
            operand.walk.run(cells, &mut workspace.outputs[*output], R::ZERO, R::plus);
        }
        for derived in &self.derived {
            let mut table = std::mem::take(&mut workspace.outputs[derived.output]);
            table.fill(R::ZERO);
            derived.walk.fold_into(workspace.output(derived.source), &mut table, R::plus);
            workspace.outputs[derived.output] = table;
        }
    }

    /// The settings of the cut axis that a block walks over.
    fn piece(&self, block: usize) -> Range<usize> {
        let extent = self.extents.get(self.cut).copied().unwrap_or(1);
        block * extent / self.blocks..(block + 1) * extent / self.blocks
    }

    /// Combines the outputs of all blocks after the first with those of the first.
    fn gather<R: Semiring>(&self, rest: &[Block], sum: &mut [f64]) {
        if rest.is_empty() {
            return;
        }
        let extent = self.extents[self.cut];
        for (_, operand) in &self.outputs {
            let cells = operand.start..operand.start + operand.spread_cells;
            let sum = &mut sum[cells.clone()];
            let stride = operand.strides[self.cut];
            if stride == 0 {
                for block in rest {
                    let (values, semiring) = (&block.outputs[cells.clone()], PhantomData::<R>);
                    Arch::new().dispatch(AddUp { values, sum, semiring });
                }
                continue;
            }
            let period = stride * extent;
            let fill = |(at, sum): (usize, &mut [f64])| {
                for (piece, block) in rest.iter().enumerate() {
                    let slice = self.piece(piece + 1);
                    let slice = slice.start * stride..slice.end * stride;
                    let values = &block.outputs[operand.start + at * period..][..period];
                    sum[slice.clone()].copy_from_slice(&values[slice]);
                }
            };
            if in_parallel(operand.spread_cells as u64) {
                let periods = sum.par_chunks_exact_mut(period).enumerate();
                periods.with_min_len(COPIED.div_ceil(period)).for_each(fill);
            } else {
                sum.chunks_exact_mut(period).enumerate().for_each(fill);
            }
        }
    }

    /// Clears the accumulators that a block over this range of the cut axis uses.
    fn clear<R: Semiring>(&self, range: &Range<usize>, outputs: &mut [f64]) {
        if self.blocks == 1 {
            return outputs.fill(R::ZERO);
        }
        for (_, operand) in &self.outputs {
            let cells = &mut outputs[operand.start..operand.start + operand.spread_cells];
            match operand.slice(self.cut, self.extents[self.cut], range) {
                None => cells.fill(R::ZERO),
                Some((period, slice)) => {
                    for chunk in cells.chunks_exact_mut(period) {
                        chunk[slice.clone()].fill(R::ZERO);
                    }
                }
            }
        }
    }

    fn run_block<R: Semiring>(&self, tables: &[&[f64]], range: Range<usize>, block: &mut Block) {
        // A new block holds zeros already, in memory that nothing has touched.
        if !std::mem::take(&mut block.is_new) || R::LOGS {
            self.clear::<R>(&range, &mut block.outputs);
            block.sums.fill(R::ZERO);
        }
        let semiring = PhantomData::<R>;
        Arch::new().dispatch(Walk { plan: self, tables, range, block, semiring });
    }
}

/// The walk over the outer axes, with the cut axis restricted to a range.
struct Walk<'a, R> {
    plan: &'a Contraction,
    /// One table for each of the plan's inputs.
    tables: &'a [&'a [f64]],
    range: Range<usize>,
    block: &'a mut Block,
    semiring: PhantomData<R>,
}

impl<R: Semiring> WithSimd for Walk<'_, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { plan, tables, range, block, .. } = self;
        block.go_to_start(plan, range.start);
        // Depth of the last axis walked here.
        let stem = plan.extents.len().saturating_sub(1);
        let settings =
            |axis: usize| if axis == plan.cut { range.clone() } else { 0..plan.extents[axis] };
        let mut depth = 0;
        block.enter::<R>(&plan.depths[0], 0, plan.lanes, tables);
        loop {
            if !R::is_zero(block.scalars[depth]) {
                if depth < stem {
                    depth += 1;
                    block.counter[depth] = settings(depth - 1).start;
                    block.enter::<R>(&plan.depths[depth], depth, plan.lanes, tables);
                    continue;
                }
                let steps =
                    plan.extents.len().checked_sub(1).map_or(1, |last| settings(last).len());
                block.sweep::<R, S>(simd, plan, steps, tables);
            }
            // Everything under this setting is done: move to the next one, of this axis or of one outside it.
            loop {
                block.leave::<R>(&plan.depths[depth], depth, plan.lanes);
                if depth == 0 {
                    return;
                }
                let axis = depth - 1;
                block.counter[depth] += 1;
                if block.counter[depth] < settings(axis).end {
                    block.step(plan, axis, 1);
                    block.enter::<R>(&plan.depths[depth], depth, plan.lanes, tables);
                    break;
                }
                block.step(plan, axis, (settings(axis).len() - 1).wrapping_neg());
                depth -= 1;
            }
        }
    }
}

/// Adds the outputs of a block to those of the first.
struct AddUp<'a, R> {
    values: &'a [f64],
    sum: &'a mut [f64],
    semiring: PhantomData<R>,
}

impl<R: Semiring> WithSimd for AddUp<'_, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        add::<R>(self.values, self.sum);
    }
}

impl Block {
    /// Sets all offsets to the first setting, the cut axis at `first`.
    #[inline(always)]
    fn go_to_start(&mut self, plan: &Contraction, first: usize) {
        for (offset, (_, operand)) in self.input_offsets.iter_mut().zip(&plan.inputs) {
            *offset = operand.strides.get(plan.cut).map_or(0, |stride| stride * first);
        }
        for (offset, (_, operand)) in self.output_offsets.iter_mut().zip(&plan.outputs) {
            *offset =
                operand.start + operand.strides.get(plan.cut).map_or(0, |stride| stride * first);
        }
    }

    /// Moves all offsets by `steps` along an outer axis (backwards in two's complement).
    #[inline(always)]
    fn step(&mut self, plan: &Contraction, axis: usize, steps: usize) {
        for (offset, (_, operand)) in self.input_offsets.iter_mut().zip(&plan.inputs) {
            *offset = offset.wrapping_add(operand.strides[axis].wrapping_mul(steps));
        }
        for (offset, (_, operand)) in self.output_offsets.iter_mut().zip(&plan.outputs) {
            *offset = offset.wrapping_add(operand.strides[axis].wrapping_mul(steps));
        }
    }

    /// Joins the inputs that are fixed from this depth on.
    #[inline(always)]
    fn enter<R: Semiring>(&mut self, plan: &Depth, depth: usize, lanes: usize, tables: &[&[f64]]) {
        let mut scalar = if depth == 0 { R::ONE } else { self.scalars[depth - 1] };
        let mut product_of = if depth == 0 { None } else { self.product_of[depth - 1] };
        for &input in &plan.scalar_inputs {
            scalar = R::times(scalar, tables[input][self.input_offsets[input]]);
        }
        self.scalars[depth] = scalar;
        if !R::is_zero(scalar) {
            for &input in &plan.lane_inputs {
                let table = &tables[input][self.input_offsets[input]..][..lanes];
                let (before, own) = self.products.split_at_mut(depth * lanes);
                let own = &mut own[..lanes];
                match product_of {
                    None => own.copy_from_slice(table),
                    Some(d) if d == depth => {
                        own.iter_mut().zip(table).for_each(|(p, x)| *p = R::times(*p, *x));
                    }
                    Some(d) => {
                        let outside = &before[d * lanes..(d + 1) * lanes];
                        for ((p, x), y) in own.iter_mut().zip(outside).zip(table) {
                            *p = R::times(*x, *y);
                        }
                    }
                }
                product_of = Some(depth);
            }
        }
        self.product_of[depth] = product_of;
    }

    /// Walks over the innermost axis and the lanes at the current setting of the axes outside.
    #[inline(always)]
    fn sweep<R: Semiring, S: Simd>(
        &mut self,
        simd: S,
        plan: &Contraction,
        steps: usize,
        tables: &[&[f64]],
    ) {
        let (lanes, innermost) = (plan.lanes, plan.extents.len());
        let stem = innermost.saturating_sub(1);
        let scalar = self.scalars[stem];
        match self.product_of[stem] {
            None => self.before.fill(scalar),
            Some(depth) => {
                let product = &self.products[depth * lanes..(depth + 1) * lanes];
                for (b, p) in self.before.iter_mut().zip(product) {
                    *b = R::times(*p, scalar);
                }
            }
        }
        if innermost == 0 {
            // No axis except the lanes.
            self.sums[..lanes].copy_from_slice(&self.before);
            return;
        }
        let deepest = &plan.depths[innermost];
        let stride = |operand: &crate::inference::plan::Operand| operand.strides[innermost - 1];
        let along = if deepest.scalar_inputs.is_empty() { 0 } else { steps };
        for (position, &input) in deepest.scalar_inputs.iter().enumerate() {
            let step = stride(&plan.inputs[input].1);
            let factors = tables[input][self.input_offsets[input]..].iter().step_by(step.max(1));
            for (a, x) in self.along[..along].iter_mut().zip(factors) {
                *a = if position == 0 { *x } else { R::times(*a, *x) };
            }
        }
        for (reach, &output) in self.lane_outputs.iter_mut().zip(&deepest.lane_outputs) {
            let step = stride(&plan.outputs[output].1);
            *reach = LaneOutput { start: self.output_offsets[output], step };
        }
        let input = |&input: &usize| LaneInput {
            table: tables[input],
            start: self.input_offsets[input],
            step: stride(&plan.inputs[input].1),
        };
        let (mut few, mut many) = ([LaneInput::default(); 4], Vec::new());
        let inputs = listed(deepest.lane_inputs.iter().map(input), &mut few, &mut many);
        let parts = if deepest.scalar_outputs.is_empty() { 0 } else { steps * PARTS };
        self.parts[..parts].fill(R::ZERO);
        let sweep = Sweep {
            steps,
            before: &self.before,
            along: &self.along[..along],
            inputs,
            outputs: &self.lane_outputs,
        };
        let mut sums = Sums {
            outputs: &mut self.outputs,
            lanes: &mut self.sums[stem * lanes..(stem + 1) * lanes],
            parts: &mut self.parts[..parts],
        };
        sweep.run::<R, S>(simd, &mut sums);
        for &output in &deepest.scalar_outputs {
            let step = stride(&plan.outputs[output].1);
            let cells = self.outputs[self.output_offsets[output]..].iter_mut().step_by(step.max(1));
            for (o, parts) in cells.zip(self.parts[..parts].chunks_exact(PARTS)) {
                *o = R::plus(*o, reduce::<R>(parts));
            }
        }
    }

    /// Passes the sum over everything under a setting to this depth's outputs and to the depth outside, and clears it.
    #[inline(always)]
    fn leave<R: Semiring>(&mut self, plan: &Depth, depth: usize, lanes: usize) {
        let (outer, own) = self.sums.split_at_mut(depth * lanes);
        let own = &mut own[..lanes];
        for &output in &plan.lane_outputs {
            let start = self.output_offsets[output];
            add::<R>(own, &mut self.outputs[start..start + lanes]);
        }
        if !plan.scalar_outputs.is_empty() {
            let sum = lane_sum::<R>(own);
            for &output in &plan.scalar_outputs {
                let cell = &mut self.outputs[self.output_offsets[output]];
                *cell = R::plus(*cell, sum);
            }
        }
        if plan.feeds_outer && depth > 0 {
            add::<R>(own, &mut outer[(depth - 1) * lanes..]);
        }
        own.fill(R::ZERO);
    }
}

/// Some items as a list: in `few` if they fit there, otherwise in `many`.
#[inline(always)]
fn listed<'l, T>(
    items: impl ExactSizeIterator<Item = T>,
    few: &'l mut [T],
    many: &'l mut Vec<T>,
) -> &'l [T] {
    if let Some(few) = few.get_mut(..items.len()) {
        few.iter_mut().zip(items).for_each(|(place, item)| *place = item);
        few
    } else {
        many.extend(items);
        many
    }
}

#[inline(always)]
fn add<R: Semiring>(values: &[f64], sum: &mut [f64]) {
    for (s, x) in sum.iter_mut().zip(values) {
        *s = R::plus(*s, *x);
    }
}
