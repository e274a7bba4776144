//! Exact marginals of the private table, and what they can be compared with.

use rayon::prelude::*;

use crate::error::{CommonError, Error, Result};
use crate::l1_errors::L1Errors;
use crate::scores::{Score, Scores};
use crate::source::Source;
use crate::{NeighboringRelation, ScoreSensitivity, Sensitive};

/// The exact marginals of the private table on some cliques, sealed.
///
/// They can only be compared with what does not depend on the records. A comparison knows its sensitivity
/// (`docs/theory/sensitivities.md`, section 3): no caller states one, and there is no way to read a count.
///
/// ```compile_fail
/// # fn read(curator: &jointly_privacy::Curator<'_>) -> Result<u32, jointly_privacy::Error> {
/// let counts = curator.marginals(&[jointly_pgm::Clique::new([0])])?;
/// Ok(counts.counts.value[0][0])
/// # }
/// ```
/// ```compile_fail
/// # fn double(curator: &jointly_privacy::Curator<'_>) -> Result<(), jointly_privacy::Error> {
/// let counts = curator.marginals(&[jointly_pgm::Clique::new([0])])?;
/// counts.map(|counts| 2 * counts[0][0]); // a closure would have a sensitivity that nobody knows
/// # Ok(()) }
/// ```
#[must_use]
pub struct SealedMarginals {
    source: Source,
    /// The number of cells of each marginal, and names for messages.
    shapes: Vec<(usize, String)>,
    counts: Sensitive<Vec<Vec<u32>>>,
}

impl SealedMarginals {
    pub(crate) fn new(
        source: Source,
        shapes: Vec<(usize, String)>,
        counts: Sensitive<Vec<Vec<u32>>>,
    ) -> Self {
        Self { source, shapes, counts }
    }

    /// Which tables are neighbors.
    pub fn relation(&self) -> NeighboringRelation {
        self.source.relation
    }

    /// The number of marginals.
    pub fn len(&self) -> usize {
        self.shapes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.shapes.is_empty()
    }

    /// The distance of each marginal from a table that is still to come: 0 until [`L1Errors::compare`] sets it.
    pub fn l1_errors(&self) -> L1Errors {
        let zeros = self.counts.map(|_| vec![0.0; self.len()]);
        L1Errors::new(self.source.clone(), self.len(), zeros)
    }

    /// `|M_r(D)_x − v_x|` for every cell x of every marginal r, as scores of the candidates x, in order.
    ///
    /// `tables`: v of each marginal, row-major. `without`: the cells of each marginal that are no candidates, increasing.
    /// Sensitivity: 1, or K for units, since no count changes by more.
    ///
    /// # Errors
    /// Tables that do not fit the marginals.
    pub fn cell_errors(&self, tables: &[Vec<f64>], without: &[Vec<usize>]) -> Result<Scores> {
        let sizes: Vec<usize> = self.sizes(tables, without, |cells, out| cells - out)?;
        let scores = self.counts.map(|counts| {
            filled(&sizes, |marginal, scores| {
                let errors = cell_errors(&counts[marginal], &tables[marginal]);
                let mut without = without[marginal].iter().peekable();
                let kept = (0..).zip(errors).filter(|(x, _)| without.next_if_eq(&x).is_none());
                scores.iter_mut().zip(kept).for_each(|(score, (_, error))| *score = error);
            })
        });
        let sensitivity = ScoreSensitivity::cell_error(self.source.relation);
        Ok(Scores::new(&self.source, sizes.iter().sum(), sensitivity, self.norm(tables), scores))
    }

    /// `max_x |M_r(D)_x − v_x|` over the cells x of each marginal r, as scores of the candidates r.
    ///
    /// `without`: marginals for which it is not empty are no candidates; otherwise as [`cell_errors`](Self::cell_errors),
    /// with the same sensitivity.
    ///
    /// # Errors
    /// As [`cell_errors`](Self::cell_errors).
    pub fn worst_cell_errors(&self, tables: &[Vec<f64>], without: &[Vec<usize>]) -> Result<Scores> {
        let sizes = self.sizes(tables, without, |_, out| usize::from(out == 0))?;
        let scores = self.counts.map(|counts| {
            filled(&sizes, |marginal, scores| {
                let errors = cell_errors(&counts[marginal], &tables[marginal]);
                scores.fill(errors.fold(0.0, f64::max));
            })
        });
        let sensitivity = ScoreSensitivity::cell_error(self.source.relation);
        Ok(Scores::new(&self.source, sizes.iter().sum(), sensitivity, self.norm(tables), scores))
    }

    /// `M_r(D)_x − v_x` and `v_x − M_r(D)_x` for every cell x of every marginal r, as scores of two candidates each, in order.
    ///
    /// Sensitivity: as [`cell_errors`](Self::cell_errors).
    ///
    /// # Errors
    /// As [`cell_errors`](Self::cell_errors).
    pub fn signed_cell_errors(&self, tables: &[Vec<f64>]) -> Result<Scores> {
        let sizes = self.sizes(tables, &vec![Vec::new(); self.len()], |cells, _| 2 * cells)?;
        let scores = self.counts.map(|counts| {
            filled(&sizes, |marginal, scores| {
                let cells = counts[marginal].iter().zip(&tables[marginal]);
                scores.chunks_exact_mut(2).zip(cells).for_each(|(signs, (count, table))| {
                    let error = f64::from(*count) - table;
                    signs.copy_from_slice(&[error, -error]);
                });
            })
        });
        let sensitivity = ScoreSensitivity::signed_cell_error(self.source.relation);
        Ok(Scores::new(&self.source, sizes.iter().sum(), sensitivity, self.norm(tables), scores))
    }

    /// Scores of a type of one's own.
    ///
    /// # Errors
    /// What the type refuses.
    pub fn score(&self, score: &impl Score) -> Result<Scores> {
        let sensitivity = score.sensitivity(self.source.relation)?;
        let scores = self.counts.map(|counts| score.scores(counts));
        Ok(Scores::new(
            &self.source,
            score.candidates(),
            sensitivity,
            self.source.most_records,
            scores,
        ))
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    pub(crate) fn counts(&self) -> &Sensitive<Vec<Vec<u32>>> {
        &self.counts
    }

    /// Refuses a table that does not have the cells of a marginal.
    pub(crate) fn check(&self, marginal: usize, cells: usize) -> Result<()> {
        match self.shapes.get(marginal) {
            Some((expected, _)) if *expected == cells => Ok(()),
            Some((expected, clique)) => {
                let (clique, expected) = (clique.clone(), *expected);
                Err(CommonError::ShapeMismatch { clique, expected, found: cells }.into())
            }
            None => {
                let expected = "the position of one that was counted";
                Err(Error::invalid_parameter("marginal", marginal, expected))
            }
        }
    }

    /// The number of candidates of each marginal, from its number of cells and of those left out.
    fn sizes(
        &self,
        tables: &[Vec<f64>],
        without: &[Vec<usize>],
        of: impl Fn(usize, usize) -> usize,
    ) -> Result<Vec<usize>> {
        if tables.len() != self.len() || without.len() != self.len() {
            let expected = "one for each marginal";
            return Err(Error::invalid_parameter("tables to compare", tables.len(), expected));
        }
        tables.iter().enumerate().try_for_each(|(r, table)| self.check(r, table.len()))?;
        if without.iter().zip(tables).any(|(out, table)| out.len() > table.len()) {
            let expected = "cells of its marginal, each once";
            return Err(Error::invalid_parameter(
                "cells to leave out",
                "more than there are",
                expected,
            ));
        }
        Ok(tables.iter().zip(without).map(|(table, out)| of(table.len(), out.len())).collect())
    }

    /// A bound on what a score of one cell adds up.
    fn norm(&self, tables: &[Vec<f64>]) -> f64 {
        let largest =
            tables.par_iter().map(|table| table.iter().fold(0.0_f64, |m, v| m.max(v.abs())));
        self.source.most_records + largest.reduce(|| 0.0, f64::max)
    }
}

fn cell_errors<'a>(counts: &'a [u32], table: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    counts.iter().zip(table).map(|(count, value)| (value - f64::from(*count)).abs())
}

/// A list in parts of the given sizes, each filled by its position.
fn filled(sizes: &[usize], fill: impl Fn(usize, &mut [f64]) + Sync) -> Vec<f64> {
    let mut all = vec![0.0; sizes.iter().sum()];
    let mut parts = Vec::with_capacity(sizes.len());
    let mut rest = all.as_mut_slice();
    for size in sizes {
        let (part, after) = rest.split_at_mut(*size);
        parts.push(part);
        rest = after;
    }
    parts.into_par_iter().enumerate().for_each(|(marginal, part)| fill(marginal, part));
    all
}

#[cfg(test)]
mod tests;
