//! The record of the largest weight: a max-sum sweep towards the roots, and its choices traced back from there.

use crate::error::Result;
use crate::inference::belief_propagation::{BeliefPropagation, BeliefWorkspace};
use crate::inference::semiring::MaxSum;
use crate::table::{Potentials, strides_within};

/// A maximal clique's inputs at a fixed separator: each a table, where it starts, and its strides along the free axes.
type Slices<'a> = Vec<(&'a [f64], usize, Vec<usize>)>;

impl BeliefPropagation {
    /// A record x with the largest `Σ_r θ_r(x_r)` among those that the domain allows, one code for each attribute, and
    /// that sum. `None` if the potentials or the domain forbid every record. In each maximal clique the first of
    /// several best combinations is taken; attributes in no clique get code 0.
    ///
    /// # Errors
    /// As [`largest_log_weight`](Self::largest_log_weight).
    pub fn heaviest_record(
        &self,
        theta: &Potentials,
        workspace: &mut BeliefWorkspace,
    ) -> Result<Option<(Vec<u32>, f64)>> {
        let largest = self.largest_log_weight(theta, workspace)?;
        if largest == f64::NEG_INFINITY {
            return Ok(None);
        }
        let structure = &self.structure;
        let mut record = vec![0_usize; structure.domain.len()];
        for (i, node) in structure.nodes.iter().enumerate() {
            let free: Vec<usize> = node.clique.difference(&node.separator).iter().collect();
            let fixed: Vec<usize> = node.separator.iter().collect();
            let tables = self.inputs::<MaxSum>(i, &workspace.factors, 0, &workspace.nodes);
            let cliques = structure.collect_inputs(i);
            let slices: Slices<'_> = (cliques.iter().zip(tables))
                .map(|(clique, table)| {
                    let shape = structure.domain.shape(clique);
                    let strides = strides_within(&fixed, clique, &shape);
                    let start = fixed.iter().zip(&strides).map(|(a, s)| record[*a] * s).sum();
                    (table, start, strides_within(&free, clique, &shape))
                })
                .collect();
            let extents: Vec<usize> =
                free.iter().map(|a| structure.domain.cardinality(*a)).collect();
            let best = first_largest(&slices, &extents);
            free.iter().zip(best).for_each(|(a, code)| record[*a] = code);
        }
        let record = record.into_iter().map(|code| u32::try_from(code).unwrap_or(u32::MAX));
        Ok(Some((record.collect(), largest)))
    }
}

/// The first combination of codes, row-major, at which the sum of the tables is largest.
fn first_largest(slices: &Slices<'_>, extents: &[usize]) -> Vec<usize> {
    let mut codes = vec![0_usize; extents.len()];
    let mut best = (f64::NEG_INFINITY, codes.clone());
    loop {
        let at = |start: usize, strides: &[usize]| {
            start + strides.iter().zip(&codes).map(|(stride, code)| stride * code).sum::<usize>()
        };
        let sum: f64 = slices.iter().map(|(table, start, s)| table[at(*start, s)]).sum();
        if sum > best.0 {
            best = (sum, codes.clone());
        }
        let Some(axis) = (0..codes.len()).rev().find(|a| codes[*a] + 1 < extents[*a]) else {
            return best.1;
        };
        codes[axis] += 1;
        codes[axis + 1..].fill(0);
    }
}
