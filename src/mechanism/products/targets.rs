//! Answers that a mixture of products should give, and how far it is from them.

use std::ops::Range;

use ndarray::{Array2, Axis};
use rayon::prelude::*;

use crate::domain::{Clique, Domain};
use crate::linalg::Real;
use crate::measurement::Measurement;
use crate::model::products::split::{COMPONENTS, Slopes, Split, value_ranges};
use crate::table::Projection;

/// Answers to queries: cells of marginals.
#[derive(Clone, Debug)]
pub(super) struct Targets {
    domain: Domain,
    ranges: Vec<Range<usize>>,
    /// The marginals that hold the queries, each once.
    marginals: Vec<(Clique, Split)>,
    answered: Vec<AnsweredCells>,
}

/// Answers to consecutive cells of a marginal, as probabilities.
#[derive(Clone, Debug)]
struct AnsweredCells {
    /// Position among the marginals.
    marginal: usize,
    /// The first cell.
    first: usize,
    answers: Vec<f64>,
}

impl Targets {
    /// No answers yet.
    pub(super) fn new(domain: &Domain) -> Self {
        let ranges = value_ranges(domain);
        Self { domain: domain.clone(), ranges, marginals: Vec::new(), answered: Vec::new() }
    }

    /// Adds a measurement of `total` records: its answers as probabilities, kept in [0, 1]; 0 where the domain forbids
    /// a cell.
    pub(super) fn push(&mut self, measurement: &Measurement, total: f64) {
        let answers = measurement.values.iter().map(|count| (count / total).clamp(0.0, 1.0));
        let first = measurement.cell.unwrap_or(0);
        self.push_answers(&measurement.clique, first, answers.collect());
    }

    /// Adds answers to the cells of a clique that begin with `first`.
    pub(super) fn push_answers(&mut self, clique: &Clique, first: usize, mut answers: Vec<f64>) {
        for forbidden in forbidden(&self.domain, clique) {
            let own = forbidden.iter().skip(first).zip(&mut answers);
            own.filter(|(no, _)| **no).for_each(|(_, answer)| *answer = 0.0);
        }
        let known = self.marginals.iter().position(|(own, _)| own == clique);
        let marginal = known.unwrap_or_else(|| {
            self.marginals.push((clique.clone(), Split::new(&self.ranges, clique)));
            self.marginals.len() - 1
        });
        self.answered.push(AnsweredCells { marginal, first, answers });
    }

    /// Number of answers of each list.
    pub(super) fn sizes(&self) -> impl Iterator<Item = usize> + '_ {
        self.answered.iter().map(|answered| answered.answers.len())
    }

    /// `q(P) - a` for every answer, list by list. `only`: the positions of the lists to look at, all others stay empty.
    pub(super) fn errors<F: Real>(
        &self,
        matrix: &Array2<F>,
        only: Option<&[usize]>,
    ) -> Vec<Vec<f64>> {
        let mut is_wanted = vec![only.is_none(); self.answered.len()];
        only.into_iter().flatten().for_each(|list| is_wanted[*list] = true);
        let mut is_needed = vec![false; self.marginals.len()];
        for (answered, _) in self.answered.iter().zip(&is_wanted).filter(|(_, wanted)| **wanted) {
            is_needed[answered.marginal] = true;
        }
        let tables: Vec<Vec<f64>> = self
            .marginals
            .par_iter()
            .zip(&is_needed)
            .map(
                |((_, split), needed)| {
                    if *needed { split.marginal(&matrix.view()) } else { Vec::new() }
                },
            )
            .collect();
        let errors = self.answered.iter().zip(&is_wanted).map(|(answered, wanted)| {
            if !wanted {
                return Vec::new();
            }
            let cells = tables[answered.marginal].iter().skip(answered.first);
            cells.zip(&answered.answers).map(|(cell, answer)| cell - answer).collect()
        });
        errors.collect()
    }

    /// The derivatives in the matrix, from those in the queries, list by list; an empty list stands for zeros.
    pub(super) fn pull_back<F: Real>(&self, matrix: &Array2<F>, slopes: &[Vec<f64>]) -> Array2<F> {
        let scale = 1.0 / matrix.ncols().max(1) as f64;
        let mut cells: Vec<Vec<(usize, F)>> = vec![Vec::new(); self.marginals.len()];
        for (answered, slopes) in self.answered.iter().zip(slopes) {
            let own = (answered.first..).zip(slopes).filter(|(_, slope)| **slope != 0.0);
            cells[answered.marginal].extend(own.map(|(cell, slope)| (cell, F::of(scale * slope))));
        }
        let own = self.marginals.iter().zip(cells).filter(|(_, cells)| !cells.is_empty());
        let slopes: Vec<(&Split, Slopes<F>)> =
            own.map(|((_, split), cells)| (split, split.slopes(cells))).collect();
        let mut gradient = Array2::zeros(matrix.dim());
        let columns = matrix.axis_chunks_iter(Axis(1), COMPONENTS);
        let parts: Vec<_> =
            columns.zip(gradient.axis_chunks_iter_mut(Axis(1), COMPONENTS)).collect();
        parts.into_par_iter().for_each(|(matrix, mut into)| {
            for (split, slopes) in &slopes {
                split.pull_back(&matrix, slopes, &mut into);
            }
        });
        gradient
    }
}

/// The largest absolute error; infinite if one of them is not a number.
pub(super) fn largest(errors: &[Vec<f64>]) -> f64 {
    let sizes = errors.iter().flatten().map(|error| error.abs());
    sizes.fold(0.0, |largest, size| if size.is_nan() { f64::INFINITY } else { size.max(largest) })
}

/// The cells of a clique that the domain forbids, one table for each structural zero on some of its attributes.
fn forbidden(domain: &Domain, clique: &Clique) -> Vec<Vec<bool>> {
    let zeros = domain.structural_zeros().iter().filter(|zero| zero.clique().is_subset(clique));
    let cells = usize::try_from(domain.cells(clique).unwrap_or(0)).unwrap_or(0);
    let tables = zeros.map(|zero| {
        let mut table = vec![false; cells];
        let walk = Projection::between(clique, &domain.shape(clique), zero.clique());
        walk.zip_from(zero.forbidden(), &mut table, |cell, no| *cell |= no);
        table
    });
    tables.collect()
}
