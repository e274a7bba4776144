//! The distribution of one attribute given its neighbors in a maximal clique, without a table over that clique.

use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::inference::calibrated::{Calibrated, Space};
use crate::table::{Projection, row_major_strides, strides_within};

/// Largest joint table of an attribute and its parents that is held; for larger ones, weights are summed on demand.
const HELD_CELLS: u64 = 1 << 21;

/// Weights of an attribute's values for any codes of its parents.
#[derive(Clone, Debug)]
pub(crate) struct Conditional {
    weights: Weights,
    space: Space,
}

/// Where weights are read.
#[derive(Clone, Debug)]
enum Weights {
    Held(Held),
    Summed {
        /// Tables whose product, summed over the rest, is the weight.
        terms: Vec<Term>,
        /// Extents of the rest of the maximal clique.
        rest: Vec<usize>,
    },
}

/// The joint table of parents and child, with the child's values next to one another.
#[derive(Clone, Debug)]
struct Held {
    table: Vec<f64>,
    /// One for each parent.
    strides: Vec<usize>,
}

impl Held {
    fn new(domain: &Domain, joint: &Clique, table: &[f64], child: usize, parents: &Clique) -> Self {
        let axes: Vec<usize> = parents.iter().chain([child]).collect();
        let shape: Vec<usize> = axes.iter().map(|a| domain.cardinality(*a)).collect();
        let walk = Projection::new(&shape, &strides_within(&axes, joint, &domain.shape(joint)));
        let mut turned = vec![0.0; table.len()];
        walk.zip_from(table, &mut turned, |to, from| *to = from);
        let mut strides = row_major_strides(&shape);
        strides.pop();
        Self { table: turned, strides }
    }
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
            let held = Held::new(domain, &joint, table.values(), child, parents);
            return Ok(Conditional { weights: Weights::Held(held), space: Space::Linear });
        }
        let inputs = self.inputs_of_host(&joint);
        let reach = inputs.iter().fold(joint.clone(), |all, (c, _)| all.union(c));
        let rest: Vec<usize> = reach.difference(&joint).iter().collect();
        let terms = inputs.iter().map(|(c, t)| self.term(c, t, child, parents, &rest)).collect();
        let rest = rest.iter().map(|a| domain.cardinality(*a)).collect();
        Ok(Conditional { weights: Weights::Summed { terms, rest }, space: self.space })
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
        let start = |strides: &[usize]| -> usize {
            strides.iter().zip(parent_codes).map(|(stride, code)| stride * code).sum()
        };
        match &self.weights {
            Weights::Held(Held { table, strides }) => {
                let start = start(strides);
                weights.copy_from_slice(&table[start..start + weights.len()]);
            }
            Weights::Summed { terms, rest } => {
                let starts: Vec<usize> =
                    terms.iter().map(|term| start(&term.parent_strides)).collect();
                for (value, weight) in weights.iter_mut().enumerate() {
                    *weight = sum_over_rest(terms, rest, &starts, value, self.space);
                }
            }
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
}

/// Sum of the product over the rest of the clique, or its log.
fn sum_over_rest(
    terms: &[Term],
    rest: &[usize],
    starts: &[usize],
    value: usize,
    space: Space,
) -> f64 {
    let mut counter = vec![0_usize; rest.len()];
    let (mut max, mut sum) = (f64::NEG_INFINITY, 0.0);
    loop {
        let cells = terms.iter().zip(starts).map(|(term, start)| {
            let rest: usize = term.rest_strides.iter().zip(&counter).map(|(s, c)| s * c).sum();
            term.table[start + value * term.child_stride + rest]
        });
        match space {
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
        let Some(axis) = (0..counter.len()).rev().find(|a| counter[*a] + 1 < rest[*a]) else {
            return match space {
                Space::Linear => sum,
                Space::Log => max + sum.ln(),
            };
        };
        counter[axis] += 1;
        counter[axis + 1..].fill(0);
    }
}
