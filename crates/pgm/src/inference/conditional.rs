//! The distribution of one attribute given its neighbors in a maximal clique, without a table over that clique.

use crate::domain::Clique;
use crate::error::Result;
use crate::inference::calibrated::{Calibrated, Space};
use crate::table::strides_within;

/// Largest joint table of an attribute and its parents that is held; for larger ones, weights are summed on demand.
const HELD_CELLS: u64 = 1 << 21;

/// Weights of an attribute's values for any codes of its parents.
#[derive(Clone, Debug)]
pub(crate) struct Conditional {
    /// Tables whose product, summed over the rest, is the weight.
    terms: Vec<Term>,
    /// Extents of the rest of the maximal clique.
    rest: Vec<usize>,
    space: Space,
}

#[derive(Clone, Debug)]
struct Term {
    table: Vec<f64>,
    parent_strides: Vec<usize>,
    child_stride: usize,
    rest_strides: Vec<usize>,
}

impl Calibrated {
    /// Weights of `child` given `parents`, which lie in one maximal clique with it.
    ///
    /// # Errors
    /// As for [`Calibrated::marginals`].
    pub(crate) fn conditional(&self, child: usize, parents: &Clique) -> Result<Conditional> {
        let domain = &self.structure.domain;
        let joint = parents.union(&Clique::new([child]));
        if domain.cells(&joint).is_some_and(|cells| cells <= HELD_CELLS) {
            let table = self.marginals(std::slice::from_ref(&joint), 1.0)?.swap_remove(0);
            let term = self.term(&joint, table.values(), child, parents, &[]);
            return Ok(Conditional { terms: vec![term], rest: Vec::new(), space: Space::Linear });
        }
        let inputs = self.inputs_of_host(&joint);
        let reach = inputs.iter().fold(joint.clone(), |all, (c, _)| all.union(c));
        let rest: Vec<usize> = reach.difference(&joint).iter().collect();
        let terms = inputs.iter().map(|(c, t)| self.term(c, t, child, parents, &rest)).collect();
        let rest = rest.iter().map(|a| domain.cardinality(*a)).collect();
        Ok(Conditional { terms, rest, space: self.space })
    }

    fn term(
        &self,
        clique: &Clique,
        table: &[f64],
        child: usize,
        parents: &Clique,
        rest: &[usize],
    ) -> Term {
        let shape = self.structure.domain.shape(clique);
        let strides = |axes: &[usize]| strides_within(axes, clique, &shape);
        Term {
            table: table.to_vec(),
            parent_strides: strides(parents.attributes()),
            child_stride: strides(&[child])[0],
            rest_strides: strides(rest),
        }
    }
}

impl Conditional {
    /// Writes the weight of each value of the child, up to a common factor; uniform weights if the model gives this
    /// combination of parents no mass.
    pub(crate) fn weights(&self, parent_codes: &[usize], weights: &mut [f64]) {
        let starts: Vec<usize> = self
            .terms
            .iter()
            .map(|term| term.parent_strides.iter().zip(parent_codes).map(|(s, c)| s * c).sum())
            .collect();
        for (value, weight) in weights.iter_mut().enumerate() {
            *weight = self.sum_over_rest(&starts, value);
        }
        if self.space == Space::Log {
            let max = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            weights.iter_mut().for_each(|w| *w = (*w - max).exp());
        }
        let sum: f64 = weights.iter().sum();
        if !(sum > 0.0 && sum.is_finite()) {
            weights.fill(1.0);
        }
    }

    /// Sum of the product over the rest of the clique, or its log.
    fn sum_over_rest(&self, starts: &[usize], value: usize) -> f64 {
        let mut counter = vec![0_usize; self.rest.len()];
        let (mut max, mut sum) = (f64::NEG_INFINITY, 0.0);
        loop {
            let cells = self.terms.iter().zip(starts).map(|(term, start)| {
                let rest: usize = term.rest_strides.iter().zip(&counter).map(|(s, c)| s * c).sum();
                term.table[start + value * term.child_stride + rest]
            });
            match self.space {
                Space::Linear => sum += cells.product::<f64>(),
                Space::Log => {
                    let log: f64 = cells.sum();
                    if log > max {
                        sum = sum * (max - log).exp() + 1.0;
                        max = log;
                    } else if log > f64::NEG_INFINITY {
                        sum += (log - max).exp();
                    }
                }
            }
            let Some(axis) = (0..counter.len()).rev().find(|a| counter[*a] + 1 < self.rest[*a])
            else {
                return match self.space {
                    Space::Linear => sum,
                    Space::Log => max + sum.ln(),
                };
            };
            counter[axis] += 1;
            counter[axis + 1..].fill(0);
        }
    }
}
