//! What a contraction writes on its way.

use std::ops::Range;

use crate::inference::lanes::{LaneOutput, PARTS};
use crate::inference::plan::Contraction;

/// Scratch of one contraction, reused from call to call.
#[derive(Clone, Debug)]
pub(crate) struct ContractionWorkspace {
    /// Spread-out inputs.
    pub(super) inputs: Vec<f64>,
    pub(super) blocks: Vec<Block>,
    /// Outputs whose accumulators have a different layout from the output.
    pub(super) outputs: Vec<Vec<f64>>,
    /// Where the other outputs lie among the accumulators of the first block.
    in_place: Vec<Option<Range<usize>>>,
}

/// Scratch of one piece of the axis that is cut.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Accumulators of the outputs.
    pub(super) outputs: Vec<f64>,
    /// Not used yet, so that all accumulators are 0.
    pub(super) is_new: bool,
    /// One vector of lanes per depth: the product of the lane inputs joined so far.
    pub(super) products: Vec<f64>,
    /// One vector of lanes per depth: the sum over all deeper axes.
    pub(super) sums: Vec<f64>,
    /// The depth whose vector of `products` is valid at each depth (a depth without lane inputs shares the one outside
    /// it); `None` before an input with lanes is joined.
    pub(super) product_of: Vec<Option<usize>>,
    pub(super) scalars: Vec<f64>,
    pub(super) counter: Vec<usize>,
    pub(super) input_offsets: Vec<usize>,
    pub(super) output_offsets: Vec<usize>,
    /// The product joined outside the innermost axis, with its scalar.
    pub(super) before: Vec<f64>,
    /// One factor for each step of the innermost axis.
    pub(super) along: Vec<f64>,
    /// Sums over the lanes for each step of the innermost axis, in parts.
    pub(super) parts: Vec<f64>,
    pub(super) lane_outputs: Vec<LaneOutput>,
}

impl ContractionWorkspace {
    pub(crate) fn new(plan: &Contraction) -> Self {
        Self::with_spread(plan, Vec::new())
    }

    /// With memory of an earlier workspace for the spread-out inputs, whose numbers do not matter.
    pub(super) fn with_spread(plan: &Contraction, spread: Vec<f64>) -> Self {
        let depths = plan.depths.len();
        let innermost = &plan.depths[depths - 1];
        let steps = plan.extents.last().copied().unwrap_or(1);
        let along = if innermost.scalar_inputs.is_empty() { 0 } else { steps };
        let parts = if innermost.scalar_outputs.is_empty() { 0 } else { steps * PARTS };
        // Each with memory of its own that nothing has touched: a block uses slices of most outputs.
        let block = |_| Block {
            outputs: vec![0.0; plan.output_buffer],
            is_new: true,
            products: vec![0.0; depths * plan.lanes],
            sums: vec![0.0; depths * plan.lanes],
            product_of: vec![None; depths],
            scalars: vec![1.0; depths],
            counter: vec![0; depths],
            input_offsets: vec![0; plan.inputs.len()],
            output_offsets: vec![0; plan.outputs.len()],
            before: vec![0.0; plan.lanes],
            along: vec![0.0; along],
            parts: vec![0.0; parts],
            lane_outputs: vec![LaneOutput::default(); innermost.lane_outputs.len()],
        };
        let mut in_place = vec![None; plan.output_cells.len()];
        for (output, operand) in plan.outputs.iter().filter(|(_, operand)| operand.in_place) {
            in_place[*output] = Some(operand.start..operand.start + operand.spread_cells);
        }
        let outputs = plan.output_cells.iter().zip(&in_place);
        Self {
            inputs: if spread.len() < plan.input_buffer {
                vec![0.0; plan.input_buffer]
            } else {
                spread
            },
            blocks: (0..plan.blocks).map(block).collect(),
            outputs: outputs
                .map(|(cells, place)| vec![0.0; if place.is_some() { 0 } else { *cells }])
                .collect(),
            in_place,
        }
    }

    /// An output of the last run, row-major.
    pub(crate) fn output(&self, index: usize) -> &[f64] {
        match &self.in_place[index] {
            Some(range) => &self.blocks[0].outputs[range.clone()],
            None => &self.outputs[index],
        }
    }

    /// The outputs of the last run, row-major.
    pub(super) fn into_outputs(mut self) -> Vec<Vec<f64>> {
        for index in 0..self.outputs.len() {
            let accumulators = &mut self.blocks[0].outputs;
            self.outputs[index] = match &self.in_place[index] {
                Some(range) if range.len() == accumulators.len() => std::mem::take(accumulators),
                Some(range) => accumulators[range.clone()].to_vec(),
                None => continue,
            };
        }
        self.outputs
    }
}
