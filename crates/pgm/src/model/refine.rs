//! Changes values of drawn records until the records' marginals are close to the model's.
//!
//! Drawing records adds noise to every marginal, and most of it can be removed. With the residuals `R_c =
//! M_c(records) - M_c(model)`, a record that moves from cell i to cell j of each clique c changes `Σ_c ‖R_c‖²` by `2
//! Σ_c (R_c[j] - R_c[i] + 1)`: one lookup per clique. A value is *better* if it reduces this sum.
//!
//! The new value is drawn, not the best one: from the current value and all better ones, each with the model's
//! probability `p(value | rest of the record)`. If the neighbor y is better for records with the combination x, at most
//! the share `p(y) / (p(x) + p(y))` of them moves to y. So as long as x has the records that the model expects, y gets
//! fewer from it in one visit than the model expects in y. Rare combinations fill more slowly than frequent ones, and
//! attributes that are independent in the model stay independent. Choosing the best value would send all records of x
//! to y.

#![expect(
    clippy::inline_always,
    reason = "the loops must be compiled inside the function that enables vector instructions"
)]

use pulp::{Arch, Simd, WithSimd};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::data::{Column, Dataset};
use crate::domain::{Clique, Domain, StructuralZero};
use crate::error::{Error, Result};
use crate::model::MarkovRandomField;
use crate::model::avoiding::{allowed, without_unlikely};
use crate::model::residuals::{Residuals, Side, log_potentials, sum_sides};

/// Visits to every record; a fourth would change little.
const SWEEPS: usize = 3;
/// The same for tables with few records, where more visits are cheap.
const SWEEPS_OF_FEW: usize = 8;
const FEW: usize = 1 << 13;
/// Most records in a batch, for which changes are proposed from the same residuals, ...
pub(super) const BATCH: usize = 1024;
/// ... and the fewest batches: each batch sees the changes of earlier ones.
pub(super) const BATCHES: usize = 64;
/// Records that one thread takes at a time.
pub(super) const CHUNK: usize = 64;
/// Most attributes of a clique: it has 2^8 subsets.
pub(super) const MOST_ATTRIBUTES: usize = 8;
/// Most cells of all residual tables: half a GiB.
pub(super) const MOST_CELLS: u64 = 1 << 27;
/// Most residuals read in one sweep: about ten seconds of work.
const MOST_READ: u64 = 1 << 35;
/// Most values of one attribute looked at in one sweep, over all records: a longer attribute stays as drawn.
const MOST_VALUES: u64 = 1 << 32;
/// Most model cells visited for marginals off the tree.
const MOST_WORK: u64 = 1 << 30;

/// What drawn records are brought near to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refinement {
    /// The cliques on which, and on all subsets of which, records have about the model's marginals.
    pub cliques: Vec<Clique>,
    /// Combinations that records are to have no more, though the model has them.
    pub unlikely: Vec<StructuralZero>,
}

impl From<Vec<Clique>> for Refinement {
    fn from(cliques: Vec<Clique>) -> Self {
        Self { cliques, unlikely: Vec::new() }
    }
}

impl MarkovRandomField {
    /// The records, with single values changed until their marginals on the cliques and all their subsets are close to
    /// the model's (in L2 norm, with the same weight for every clique).
    ///
    /// A drawn table has several times the error that rounding alone would leave. Refinement uses only the table and
    /// the model, so it costs no privacy. New values are drawn from the model's distribution given the rest of the
    /// record, among those that improve the marginals, so attributes that are independent in the model stay independent
    /// and rare combinations stay rare. It never creates a combination of values on one of the cliques that no record
    /// has and that the model expects in fewer than one of a hundred tables. Structural zeros stay empty, those that are left to draws too. Records with an
    /// unlikely combination get other values as well, and the others make up for what marginals lose by that; if such a record
    /// is left, because no single value would do, it becomes a copy of another one. Cliques of
    /// more than eight attributes are left out, and so are cliques with an attribute of more than 2³² values over all
    /// records together. So are the largest cliques, those with most attributes first, if all of them would take more
    /// than a few seconds or half a GiB.
    ///
    /// `records`: over the model's domain, as of [`MarkovRandomField::sample`]. The result depends only on them, the
    /// model and the cliques, not on the number of threads: the generator is `ChaCha20Rng`, seeded by the SHA-256 of
    /// the records.
    ///
    /// # Errors
    /// Records over another domain, or a clique or an unlikely combination outside the domain.
    ///
    /// ```
    /// use jointly_pgm::{domain::{Clique, Domain}, data::Projectable, model::{MarkovRandomField, Sampling}};
    /// use rand::{SeedableRng, rngs::ChaCha20Rng};
    /// let domain = Domain::new([("a", 3), ("b", 3), ("c", 3)])?;
    /// let model = MarkovRandomField::uniform(&domain, 27.0)?;
    /// let drawn = model.sample(27, Sampling::Rounded, &mut ChaCha20Rng::seed_from_u64(1))?;
    /// let pair = Clique::new([0, 1]);
    /// let refined = model.refine(&drawn, &vec![pair.clone()].into())?;
    /// assert_eq!(drawn.project(&pair)?, [5, 0, 4, 1, 5, 3, 3, 4, 2]);
    /// assert!(refined.project(&pair)?.iter().all(|count| count.abs_diff(3) <= 1));
    /// # Ok::<(), jointly_pgm::Error>(())
    /// ```
    pub fn refine(&self, records: &Dataset, refinement: &Refinement) -> Result<Dataset> {
        if records.domain() != self.domain() {
            return Err(Error::invalid_specification(
                "records to refine",
                "another domain",
                "the domain of the model",
            ));
        }
        let Refinement { cliques, unlikely } = refinement;
        for zero in unlikely {
            zero.check(self.domain())?;
        }
        let mut rules: Vec<StructuralZero> = self.domain().zeros_of_draws().cloned().collect();
        let forbidden = rules.len();
        rules.extend_from_slice(unlikely);
        let cliques = self.within_reach(cliques, &rules, records.records())?;
        let mut residuals = Residuals::new(self, records, &cliques, &rules)?;
        let log_potentials = log_potentials(self);
        let mut rng = generator(records);
        let attributes = self.domain().len();
        let mut rows = rows(records);
        let batch = (records.records() / BATCHES).clamp(1, BATCH);
        let mut proposals = vec![Proposal::default(); batch];
        let sweeps = if records.records() <= FEW { SWEEPS_OF_FEW } else { SWEEPS };
        for _ in 0..sweeps {
            for batch in rows.chunks_mut(batch * attributes) {
                for (attribute, log_potentials) in log_potentials.iter().enumerate() {
                    let tables = Tables {
                        residuals: residuals.of(attribute),
                        log_potentials,
                        attribute,
                        values: self.domain().cardinality(attribute),
                    };
                    proposals.fill_with(|| Proposal { chance: rng.random(), value: None });
                    // Nothing to come closer to.
                    if tables.residuals.is_empty() {
                        continue;
                    }
                    let chunks = batch.par_chunks(CHUNK * attributes);
                    chunks.zip(proposals.par_chunks_mut(CHUNK)).for_each(|(rows, proposals)| {
                        Arch::new().dispatch(Propose { tables, rows, attributes, proposals });
                    });
                    for (row, proposal) in batch.chunks_exact_mut(attributes).zip(&proposals) {
                        if let Some(value) = proposal.value {
                            residuals.change(row, attribute, value);
                        }
                    }
                }
            }
        }
        let columns = (0..attributes).map(|attribute| {
            let codes = rows.iter().skip(attribute).step_by(attributes).copied();
            Column::from_codes(codes, self.domain().cardinality(attribute))
        });
        let refined = Dataset::new(self.domain().clone(), columns.collect::<Result<_>>()?)?;
        allowed(without_unlikely(refined, &rules)?, &rules[..forbidden])
    }

    /// The cliques and their subsets, small ones first, as far as their tables fit the limits of memory and time; those
    /// of structural zeros that fits know always, and those of other combinations that the tree holds.
    fn within_reach(
        &self,
        cliques: &[Clique],
        unlikely: &[StructuralZero],
        records: usize,
    ) -> Result<Vec<Clique>> {
        let domain = self.domain();
        check(domain, cliques)?;
        let is_long =
            |a| (records as u64).saturating_mul(domain.cardinality(a) as u64) > MOST_VALUES;
        let wanted = cliques.iter().filter(|clique| !clique.iter().any(is_long));
        let mut wanted = with_subsets(domain, wanted);
        let held = unlikely.iter().filter(|zero| self.calibrated().in_tree(zero.clique()));
        let zeros = domain.fitted_zeros().chain(held);
        let mut reached: Vec<Clique> = zeros.map(|zero| zero.clique().clone()).collect();
        reached.sort_unstable();
        reached.dedup();
        wanted.retain(|clique| !reached.contains(clique));
        let (mut cells, mut read, mut work) = (0_u64, 0_u64, 0_u64);
        for clique in wanted {
            let Some(own) = domain.cells(&clique) else { break };
            let values: usize = clique.iter().map(|a| domain.cardinality(a)).sum();
            cells = cells.saturating_add(own.saturating_mul(clique.len() as u64));
            read = read.saturating_add((records as u64).saturating_mul(values as u64));
            if !self.calibrated().in_tree(&clique) {
                work = work.saturating_add(self.marginal_work(&clique));
            }
            if cells > MOST_CELLS || read > MOST_READ || work > MOST_WORK {
                break;
            }
            reached.push(clique);
        }
        Ok(reached)
    }
}

/// Refuses a clique outside the domain.
pub(super) fn check(domain: &Domain, cliques: &[Clique]) -> Result<()> {
    for clique in cliques {
        if let Some(outside) = clique.iter().find(|a| *a >= domain.len()) {
            return Err(domain.unknown(&format!("#{outside}"), format!("the clique {clique}")));
        }
    }
    Ok(())
}

/// The cliques of at most [`MOST_ATTRIBUTES`] and all their subsets, small ones first.
pub(super) fn with_subsets<'c>(
    domain: &Domain,
    cliques: impl Iterator<Item = &'c Clique>,
) -> Vec<Clique> {
    let short = cliques.filter(|clique| clique.len() <= MOST_ATTRIBUTES);
    let mut wanted: Vec<Clique> = short.flat_map(Clique::subsets).collect();
    wanted.sort_unstable();
    wanted.dedup();
    wanted.sort_by_key(|clique| (clique.len(), domain.cells(clique)));
    wanted
}

/// Seeded by the records: the same records are refined in the same way.
pub(super) fn generator(records: &Dataset) -> ChaCha20Rng {
    let mut hash = Sha256::new();
    for column in records.columns() {
        for code in column.iter() {
            hash.update(code.to_le_bytes());
        }
    }
    ChaCha20Rng::from_seed(hash.finalize().into())
}

/// The records, row by row.
fn rows(records: &Dataset) -> Vec<u32> {
    let attributes = records.columns().len();
    let mut rows = vec![0; records.records() * attributes];
    for (attribute, column) in records.columns().iter().enumerate() {
        let cells = rows.iter_mut().skip(attribute).step_by(attributes);
        cells.zip(column.iter()).for_each(|(cell, code)| *cell = code);
    }
    rows
}

/// The tables read to choose a value of one attribute.
#[derive(Clone, Copy)]
struct Tables<'a> {
    residuals: &'a [Side],
    log_potentials: &'a [Side],
    attribute: usize,
    /// How many values the attribute has.
    values: usize,
}

/// A new value for a record.
#[derive(Clone, Default)]
struct Proposal {
    /// Uniform in [0, 1), used to draw the value.
    chance: f32,
    value: Option<u32>,
}

/// For some rows, draws a value of an attribute from the current one and all better ones, by the model's probabilities
/// given the rest of the row.
struct Propose<'a> {
    tables: Tables<'a>,
    rows: &'a [u32],
    attributes: usize,
    proposals: &'a mut [Proposal],
}

impl WithSimd for Propose<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Tables { residuals, log_potentials, attribute, values } = self.tables;
        let mut sums = vec![0.0_f32; values];
        let mut weights = vec![0.0_f32; values];
        let rows = self.rows.chunks_exact(self.attributes);
        for (row, proposal) in rows.zip(self.proposals) {
            sum_sides(residuals, row, &mut sums);
            let old = row[attribute] as usize;
            let limit = sums[old] - residuals.len() as f32;
            if sums.iter().all(|sum| *sum >= limit) {
                continue;
            }
            sum_sides(log_potentials, row, &mut weights);
            for (value, (weight, sum)) in weights.iter_mut().zip(&sums).enumerate() {
                if value != old && *sum >= limit {
                    *weight = f32::NEG_INFINITY;
                }
            }
            proposal.value =
                draw(&mut weights, proposal.chance).filter(|value| *value as usize != old);
        }
    }
}

/// A value with probability proportional to the exponential of its weight; `None` if none has a positive one.
///
/// `weights`: in logs; overwritten. `chance`: uniform in [0, 1).
#[inline(always)]
fn draw(weights: &mut [f32], chance: f32) -> Option<u32> {
    let top = weights.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut cumulated = 0.0;
    for weight in weights.iter_mut() {
        cumulated += (*weight - top).exp();
        *weight = cumulated;
    }
    // NaN if all weights were minus infinity; then no comparison holds.
    (0..).zip(weights.iter()).find(|(_, sum)| **sum > chance * cumulated).map(|(value, _)| value)
}
