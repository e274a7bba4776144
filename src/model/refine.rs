//! Controlled rounding: values of drawn records are changed until the records' marginals are near the model's.
//!
//! A table drawn from a model is off by the noise of drawing, on every marginal. Most of that need not be. With the
//! residuals `R_c = M_c(records) - M_c(model)`, a record that moves from cell i to cell j of each clique c changes
//! `Σ_c ‖R_c‖²` by `2 Σ_c (R_c[j] - R_c[i] + 1)`: one lookup a clique. So records are taken one by one, and each attribute
//! gets the value that is best, if that is better than the one it has.

#![expect(
    clippy::inline_always,
    reason = "the loops must be compiled inside the function that enables vector instructions"
)]

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::data::{Column, Dataset, Projectable};
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::model::MarkovRandomField;
use crate::table::row_major_strides;

/// Times that every record is looked at; a second look finds a tenth of what the first one did.
const SWEEPS: usize = 2;
/// The same for tables of few records, where it costs nothing.
const SWEEPS_OF_FEW: usize = 5;
const FEW: usize = 1 << 13;
/// Most records for which changes are proposed at a time, from the same residuals, ...
const BATCH: usize = 1024;
/// ... and how many batches there are, at least: changes to one are known to the next.
const BATCHES: usize = 64;
/// Records that one thread takes at a time.
const CHUNK: usize = 64;
/// Expected records below which an empty cell stays empty.
const CLOSED: f64 = 0.01;
/// Most attributes of a clique: it has 2^8 subsets.
const MOST_ATTRIBUTES: usize = 8;
/// Most cells of all residual tables: half a GiB.
const MOST_CELLS: u64 = 1 << 27;
/// Most residuals read in one sweep: some ten seconds of work.
const MOST_READ: u64 = 1 << 35;
/// Most model cells walked over for marginals off the tree.
const MOST_WORK: u64 = 1 << 30;

impl MarkovRandomField {
    /// The records, changed here and there until their marginals on the cliques and on all subsets of them are as near
    /// the model's as single changes bring them (in L2 norm, every clique with the same weight).
    ///
    /// A model of n records off by rounding alone has errors that no mechanism can do without; a drawn table has
    /// several times as much. What is refined is the table, by the model and nothing else: it costs no privacy. A
    /// combination of values that the model expects in less than one of a hundred tables is never made, and structural
    /// zeros stay empty. Cliques of more than eight attributes are left out; so are large ones, those of most attributes
    /// first, where all of them would take more than some seconds or half a GiB.
    ///
    /// `records`: over the model's domain, as of [`MarkovRandomField::sample`]. The result depends on them and on the
    /// model alone, not on the number of threads.
    ///
    /// # Errors
    /// Records over another domain, or a clique outside it.
    ///
    /// ```
    /// use jointly::{domain::{Clique, Domain}, data::Projectable, model::{MarkovRandomField, Sampling}};
    /// use rand::{SeedableRng, rngs::ChaCha20Rng};
    /// let domain = Domain::new([("a", 3), ("b", 3), ("c", 3)])?;
    /// let model = MarkovRandomField::uniform(&domain, 27.0)?;
    /// let drawn = model.sample(27, Sampling::Rounded, &mut ChaCha20Rng::seed_from_u64(1))?;
    /// let pair = Clique::new([0, 1]);
    /// let refined = model.refine(&drawn, &[pair.clone()])?;
    /// assert_eq!(refined.project(&pair)?, [3; 9]);
    /// # Ok::<(), jointly::Error>(())
    /// ```
    pub fn refine(&self, records: &Dataset, cliques: &[Clique]) -> Result<Dataset> {
        if records.domain() != self.domain() {
            return Err(Error::invalid_specification(
                "records to refine",
                "another domain",
                "the domain of the model",
            ));
        }
        let cliques = self.within_reach(cliques, records.records())?;
        let mut residuals = Residuals::new(self, records, &cliques)?;
        let attributes = self.domain().len();
        let mut rows = rows(records);
        let batch = (records.records() / BATCHES).clamp(1, BATCH);
        let mut proposals = vec![None; batch];
        let sweeps = if records.records() <= FEW { SWEEPS_OF_FEW } else { SWEEPS };
        for _ in 0..sweeps {
            for batch in rows.chunks_mut(batch * attributes) {
                for attribute in 0..attributes {
                    let sides = &residuals.sides[attribute];
                    let chunks = batch.par_chunks(CHUNK * attributes);
                    chunks.zip(proposals.par_chunks_mut(CHUNK)).for_each(|(rows, proposals)| {
                        let values = self.domain().cardinality(attribute);
                        let proposal =
                            Propose { sides, rows, attributes, attribute, values, proposals };
                        Arch::new().dispatch(proposal);
                    });
                    for (row, value) in batch.chunks_exact_mut(attributes).zip(&proposals) {
                        if let Some(value) = value {
                            residuals.change(row, attribute, *value);
                        }
                    }
                }
            }
        }
        let columns = (0..attributes).map(|attribute| {
            let codes = rows.iter().skip(attribute).step_by(attributes).copied();
            Column::from_codes(codes, self.domain().cardinality(attribute))
        });
        Dataset::new(self.domain().clone(), columns.collect::<Result<_>>()?)
    }

    /// The cliques and their subsets, small ones first, as far as their tables fit memory and patience; those of the
    /// structural zeros in any case.
    fn within_reach(&self, cliques: &[Clique], records: usize) -> Result<Vec<Clique>> {
        let domain = self.domain();
        let mut wanted = Vec::new();
        for clique in cliques {
            if let Some(outside) = clique.iter().find(|a| *a >= domain.len()) {
                return Err(domain.unknown(&format!("#{outside}"), format!("the clique {clique}")));
            }
            if clique.len() <= MOST_ATTRIBUTES {
                wanted.extend(clique.subsets());
            }
        }
        wanted.sort_unstable();
        wanted.dedup();
        wanted.sort_by_key(|clique| (clique.len(), domain.cells(clique)));
        let zeros = domain.structural_zeros().iter().map(|zero| zero.clique().clone());
        let mut reached: Vec<Clique> = zeros.collect();
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

/// Residuals of all cliques, once for each of their attributes, so that the residuals of all values of an attribute lie
/// side by side.
struct Residuals {
    /// By attribute.
    sides: Vec<Vec<Side>>,
    /// For each clique, where its tables are: attribute and position among its sides.
    places: Vec<Vec<(usize, usize)>>,
}

/// The residuals of one clique, with one of its attributes as the last axis.
struct Side {
    clique: usize,
    /// The other attributes, with their strides.
    others: Vec<(usize, usize)>,
    /// Records less expected records; infinite where no record may come.
    table: Vec<f32>,
}

impl Side {
    /// Where the residuals of the attribute's values start, for the other values of a row.
    #[inline(always)]
    fn start(&self, row: &[u32]) -> usize {
        self.others.iter().map(|(attribute, stride)| stride * row[*attribute] as usize).sum()
    }
}

impl Residuals {
    fn new(model: &MarkovRandomField, records: &Dataset, cliques: &[Clique]) -> Result<Self> {
        let domain = model.domain();
        let scale = records.records() as f64 / model.total();
        let mut found = Self {
            sides: (0..domain.len()).map(|_| Vec::new()).collect(),
            places: Vec::with_capacity(cliques.len()),
        };
        let expected = model.marginals(cliques)?;
        let counts = records.project_many(cliques)?;
        for (index, (clique, (expected, counts))) in
            cliques.iter().zip(expected.iter().zip(&counts)).enumerate()
        {
            let residual = |(count, expected): (&u32, &f64)| {
                let expected = scale * expected;
                let closed = *count == 0 && expected < CLOSED;
                #[expect(clippy::cast_possible_truncation, reason = "a few digits are enough")]
                let residual = (f64::from(*count) - expected) as f32;
                if closed { f32::INFINITY } else { residual }
            };
            let table: Vec<f32> = counts.iter().zip(expected.values()).map(residual).collect();
            let mut places = Vec::with_capacity(clique.len());
            for attribute in clique.iter() {
                let side = side(domain, index, clique, attribute, &table);
                places.push((attribute, found.sides[attribute].len()));
                found.sides[attribute].push(side);
            }
            found.places.push(places);
        }
        Ok(found)
    }

    /// Gives a row another value, if that is still better.
    fn change(&mut self, row: &mut [u32], attribute: usize, value: u32) {
        let old = row[attribute];
        let sides = &self.sides[attribute];
        let difference: f32 = sides
            .iter()
            .map(|side| {
                let start = side.start(row);
                side.table[start + value as usize] - side.table[start + old as usize] + 1.0
            })
            .sum();
        if difference >= 0.0 || old == value {
            return;
        }
        for position in 0..self.sides[attribute].len() {
            let clique = self.sides[attribute][position].clique;
            for &(axis, at) in &self.places[clique] {
                let side = &mut self.sides[axis][at];
                row[attribute] = old;
                let from = side.start(row) + row[axis] as usize;
                row[attribute] = value;
                let to = side.start(row) + row[axis] as usize;
                side.table[from] -= 1.0;
                side.table[to] += 1.0;
            }
        }
        row[attribute] = value;
    }
}

/// A clique's table with an attribute's axis moved to the end.
fn side(domain: &Domain, index: usize, clique: &Clique, attribute: usize, table: &[f32]) -> Side {
    let axes: Vec<usize> = clique.iter().filter(|a| *a != attribute).chain([attribute]).collect();
    let shape: Vec<usize> = axes.iter().map(|a| domain.cardinality(*a)).collect();
    let strides = row_major_strides(&shape);
    let stride_of = |a: usize| axes.iter().position(|x| *x == a).map_or(0, |at| strides[at]);
    let own: Vec<(usize, usize)> =
        clique.iter().map(|a| (domain.cardinality(a), stride_of(a))).collect();
    let mut moved = vec![0.0; table.len()];
    for (cell, value) in table.iter().enumerate() {
        let (mut rest, mut at) = (cell, 0);
        for (extent, stride) in own.iter().rev() {
            at += rest % extent * stride;
            rest /= extent;
        }
        moved[at] = *value;
    }
    let others = axes.iter().zip(&strides).filter(|(a, _)| **a != attribute);
    let others = others.map(|(a, stride)| (*a, *stride)).collect();
    Side { clique: index, others, table: moved }
}

/// For some rows, the value of an attribute that brings the residuals down most.
struct Propose<'a> {
    sides: &'a [Side],
    rows: &'a [u32],
    attributes: usize,
    attribute: usize,
    values: usize,
    proposals: &'a mut [Option<u32>],
}

impl WithSimd for Propose<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let mut sums = vec![0.0_f32; self.values];
        let rows = self.rows.chunks_exact(self.attributes);
        for (row, proposal) in rows.zip(self.proposals) {
            sums.fill(0.0);
            for side in self.sides {
                let start = side.start(row);
                let residuals = &side.table[start..start + self.values];
                for (sum, residual) in sums.iter_mut().zip(residuals) {
                    *sum += *residual;
                }
            }
            let old = row[self.attribute];
            let mut best = (sums[old as usize] - self.sides.len() as f32, None);
            for (value, sum) in (0_u32..).zip(&sums) {
                if *sum < best.0 {
                    best = (*sum, Some(value));
                }
            }
            *proposal = best.1;
        }
    }
}
