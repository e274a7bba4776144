//! The oracle of FEM and DualQuery: the record that satisfies chosen queries best.
//!
//! It maximizes `Σ_i w_i [x in q_i] − Σ_a g_a(x_a)` over all records x that the domain allows, where `q_i` is a cell of
//! a marginal, `w_i` a whole number of either sign, and `g` a penalty for each value. A query "x is not in q" of weight
//! w is -w on q, plus a constant. Everything here is public: the queries were paid for when they were chosen. A bad
//! answer costs accuracy, not privacy.

mod ascent;
mod exhaustive;
mod integer;
mod max_sum;

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::domain::{Clique, Domain};
use crate::error::{CommonError, Error, Result};
use crate::graph::JunctionTree;
use crate::mechanism::Parameter;
use crate::settings::Form;
use ascent::Starts;
use exhaustive::Dense;
use max_sum::MaxSum;

/// How the best record is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Oracle {
    /// Exhaustive up to 2²⁰ cells, else max-sum up to 2¹⁶, else a program of up to 300 queries, else ascent.
    #[default]
    Auto,
    /// Looks at every record of a domain of at most 2²² cells.
    Exhaustive,
    /// Max-sum on the junction tree of the queries' cliques, of at most 2²² cells.
    MaxSum,
    /// An integer program, solved by branch and bound from where the ascent ends. If no proof is found after a fixed
    /// number of nodes, the best record so far is taken.
    Program,
    /// Changes one attribute at a time from many starts, until nothing improves.
    Ascent,
}

/// Most cells of a table of all records, and of a junction tree, ...
const MAX_CELLS: u64 = 1 << 22;
/// ... and if nobody asked for them: beyond that, an integer program is faster
/// (`docs/results/adaptive-measurements.md`).
const MAX_AUTO_RECORDS: u64 = 1 << 20;
const MAX_AUTO_TREE: u64 = 1 << 16;
/// Most queries of an integer program, unless it was asked for.
const MAX_PROGRAM: usize = 300;

/// A penalty for each value of each attribute, and the seed of whatever is random in the search. Both are public.
#[derive(Clone, Debug)]
pub(super) struct Perturbation {
    /// `g_a(v)`.
    pub penalties: Vec<Vec<f64>>,
    pub seed: u64,
}

/// A record that the oracle found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Response {
    /// One code for each attribute.
    pub record: Vec<u32>,
    /// Its value, up to rounding.
    pub value: f64,
    /// Whether no record is better.
    pub proved: bool,
}

/// The attributes of a query with their codes, in order of the attributes.
type Literals = Vec<(usize, u32)>;

/// A query with its weight.
#[derive(Clone, Debug)]
struct Term {
    literals: Literals,
    weight: f64,
}

/// A sum of weighted queries, and the search for its best record.
pub(super) struct BestResponse {
    domain: Domain,
    oracle: Oracle,
    weights: BTreeMap<Literals, i64>,
    dense: Option<Dense>,
    starts: Starts,
}

impl BestResponse {
    /// Without any query.
    ///
    /// `cliques`: those of all queries that may be added.
    ///
    /// # Errors
    /// A domain that is too large for the oracle asked for, or one in which no allowed record is found.
    pub(super) fn new(domain: &Domain, oracle: Oracle, cliques: &[Clique]) -> Result<Self> {
        // A record is a whole answer here: none is drawn later.
        let domain = domain.clone().with_all_in_fits();
        let everything = domain.cells(&domain.everything());
        let most = if oracle == Oracle::Auto { MAX_AUTO_RECORDS } else { MAX_CELLS };
        let is_listed = everything.is_some_and(|cells| cells <= most);
        match oracle {
            Oracle::Exhaustive if !is_listed => {
                let cells = Some(10_f64.powf(domain.log10_cells()));
                return Err(too_large("all records of the domain", cells));
            }
            // The tree of fewer cliques is not larger by more than the choice of an elimination order.
            Oracle::MaxSum if !JunctionTree::is_tractable(&domain, cliques, MAX_CELLS) => {
                return Err(too_large("the junction tree of the workload", None));
            }
            _ => {}
        }
        let dense = match oracle {
            Oracle::Auto | Oracle::Exhaustive if is_listed => Some(Dense::new(&domain)?),
            _ => None,
        };
        let starts = Starts::new(&domain)?;
        Ok(Self { domain, oracle, weights: BTreeMap::new(), dense, starts })
    }

    /// The number of values of each attribute.
    pub(super) fn cardinalities(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.domain.len()).map(|a| self.domain.cardinality(a))
    }

    /// Adds `weight` to the value of every record in a cell.
    ///
    /// `cell`: row-major over the clique.
    pub(super) fn add(&mut self, clique: &Clique, cell: usize, weight: i32) {
        let mut rest = cell;
        let mut literals: Literals = Vec::with_capacity(clique.len());
        for attribute in clique.iter().rev() {
            let k = self.domain.cardinality(attribute).max(1);
            literals.push((attribute, u32::try_from(rest % k).unwrap_or(u32::MAX)));
            rest /= k;
        }
        literals.reverse();
        if let Some(dense) = &mut self.dense {
            dense.add(&literals, weight);
        }
        let sum = self.weights.entry(literals).or_insert(0);
        *sum += i64::from(weight);
        if *sum == 0 {
            self.weights.retain(|_, weight| *weight != 0);
        }
    }

    /// Removes all queries.
    pub(super) fn clear(&mut self) {
        for (literals, weight) in std::mem::take(&mut self.weights) {
            if let (Some(dense), Ok(weight)) = (&mut self.dense, i32::try_from(weight)) {
                dense.add(&literals, -weight);
            }
        }
    }

    /// The best record found under each perturbation. The same on any number of threads.
    ///
    /// # Errors
    /// A table that does not fit in memory.
    pub(super) fn best(&mut self, perturbations: &[Perturbation]) -> Result<Vec<Response>> {
        if let Some(dense) = &self.dense {
            return Ok(perturbations.par_iter().map(|p| dense.best(&p.penalties)).collect());
        }
        let domain = &self.domain;
        let terms: Vec<Term> = (self.weights.iter())
            .map(|(literals, weight)| Term { literals: literals.clone(), weight: *weight as f64 })
            .collect();
        let most_cells = match self.oracle {
            Oracle::Auto => MAX_AUTO_TREE,
            // The tree of the whole workload is not too large.
            Oracle::MaxSum => u64::MAX,
            _ => 0,
        };
        if let Some(max_sum) = MaxSum::new(domain, &terms, most_cells)? {
            return perturbations.par_iter().map(|p| max_sum.best(&p.penalties)).collect();
        }
        let is_program = match self.oracle {
            Oracle::Program => true,
            Oracle::Auto => terms.len() <= MAX_PROGRAM,
            _ => false,
        };
        let landscape = ascent::Landscape::new(domain, &terms);
        let one = |perturbation: &Perturbation| {
            let Perturbation { penalties, seed } = perturbation;
            let mut rng = ChaCha20Rng::seed_from_u64(*seed);
            let found = landscape.best(penalties, &self.starts, &mut rng)?;
            if is_program {
                return integer::best(domain, &terms, penalties, found);
            }
            Ok(found)
        };
        let found: Vec<Response> =
            perturbations.par_iter().map(one).collect::<Result<Vec<Response>>>()?;
        self.starts.remember(found.iter().map(|response| &response.record));
        Ok(found)
    }
}

/// `Σ_i w_i [x in q_i] − Σ_a g_a(x_a)`.
fn value(terms: &[Term], penalties: &[Vec<f64>], record: &[u32]) -> f64 {
    let is_in = |term: &&Term| term.literals.iter().all(|(a, code)| record[*a] == *code);
    let won: f64 = terms.iter().filter(is_in).map(|term| term.weight).sum();
    won - penalty(penalties, record)
}

fn penalty(penalties: &[Vec<f64>], record: &[u32]) -> f64 {
    penalties.iter().zip(record).map(|(own, code)| own[*code as usize]).sum()
}

/// Whether the domain allows a record.
fn allows(domain: &Domain, record: &[u32]) -> bool {
    !domain.structural_zeros().iter().any(|zero| zero.forbids(domain, |a| record[a]))
}

fn nothing_is_allowed() -> Error {
    CommonError::EmptyModel { reason: "the structural zeros of the domain allow no record".into() }
        .into()
}

fn too_large(what: &str, cells: Option<f64>) -> Error {
    Error::too_large(what, cells, MAX_CELLS as f64, "cells")
}

/// The oracle's parameter.
pub(super) const ORACLE: Parameter = Parameter {
    name: "oracle",
    value_name: "HOW",
    help: "How the record that satisfies the chosen queries best is found",
    form: Form::Choice(&[
        ("auto", "The first of the following that is fast"),
        ("exhaustive", "Looks at every record, up to 2^22"),
        ("max-sum", "Max-sum on the junction tree of the queries, up to 2^22 cells"),
        ("program", "An integer program, by branch and bound"),
        ("ascent", "One attribute at a time, from many starts; may miss the best"),
    ]),
    unset: "",
};

#[cfg(test)]
mod tests;
