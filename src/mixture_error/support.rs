//! The rows that may be mixed, and the definition of the error: every bound is computed here.

use rayon::prelude::*;

use crate::data::{Column, Dataset, Projectable};
use crate::domain::Clique;
use crate::error::{Error, Result};
use crate::query::{WeightedClique, Workload, batches};

/// Most cells with support, over all cliques.
const MAX_REACHED: usize = 1 << 27;
/// Parts in which reduced costs are added up, for any number of threads.
const PARTS: usize = 8;

/// The distinct public rows S and the cells that they reach. Public: nothing here depends on private records.
pub(super) struct Support {
    /// The distinct rows, in the order of their codes.
    pub(super) rows: Dataset,
    /// How often each occurs.
    pub(super) counts: Vec<u32>,
    cliques: Vec<WeightedClique>,
    /// For each clique, where its reached cells begin; one more entry at the end.
    starts: Vec<usize>,
    /// Reached cells, ascending in each clique.
    cells: Vec<u32>,
}

/// The private table's counts in the cells of a [`Support`].
#[derive(Default)]
pub(super) struct Answers {
    /// q(D) on every reached cell, as counts.
    pub(super) counts: Vec<u32>,
    /// The largest count of a cell that no row reaches.
    pub(super) unreached: u32,
}

/// A price for each of some reached cells: positive where the mixture should have less.
pub(super) type Prices = Vec<(usize, f64)>;

impl Support {
    /// # Errors
    /// No row, a clique too large to count, or more cells with support than are held.
    pub(super) fn new(public: &Dataset, workload: &Workload) -> Result<Self> {
        if public.records() == 0 {
            return Err(Error::invalid_specification("support", "no record", "at least one"));
        }
        let (rows, counts) = public.distinct();
        let cliques = workload.weighted_cliques().to_vec();
        let (mut starts, mut cells) = (vec![0], Vec::new());
        for batch in batches(rows.domain(), &cliques) {
            for table in rows.project_many(&names(batch))? {
                let reached = (0_u32..).zip(&table).filter(|(_, count)| **count > 0);
                cells.extend(reached.map(|(cell, _)| cell));
                starts.push(cells.len());
            }
            if cells.len() > MAX_REACHED {
                return Err(Error::too_large(
                    "the workload on the support",
                    Some(cells.len() as f64),
                    MAX_REACHED as f64,
                    "cells with support",
                ));
            }
        }
        Ok(Self { rows, counts, cliques, starts, cells })
    }

    /// Number of cells with support.
    pub(super) fn reached(&self) -> usize {
        self.cells.len()
    }

    /// Number of cells, with support or without.
    pub(super) fn queries(&self) -> u64 {
        let cells = self.cliques.iter().filter_map(|c| self.rows.domain().cells(&c.clique));
        cells.fold(0, u64::saturating_add)
    }

    /// Number of cliques.
    pub(super) fn cliques(&self) -> usize {
        self.cliques.len()
    }

    /// The public table itself as a mixture.
    pub(super) fn frequencies(&self) -> Vec<f64> {
        let total: f64 = self.counts.iter().map(|count| f64::from(*count)).sum();
        self.counts.iter().map(|count| f64::from(*count) / total).collect()
    }

    /// Runs of cliques that are counted together.
    pub(super) fn batches(&self) -> Vec<Vec<Clique>> {
        batches(self.rows.domain(), &self.cliques).map(names).collect()
    }

    /// The answers, from what `count` returns for each of the [`batches`](Self::batches).
    pub(super) fn answers(
        &self,
        mut count: impl FnMut(&[Clique]) -> Result<Vec<Vec<u32>>>,
    ) -> Result<Answers> {
        let mut answers = Answers::default();
        for batch in self.batches() {
            self.extend(&mut answers, &count(&batch)?);
        }
        Ok(answers)
    }

    /// Adds the next batch's tables to answers.
    pub(super) fn extend(&self, answers: &mut Answers, tables: &[Vec<u32>]) {
        for table in tables {
            let at = answers.counts.len();
            let end = self.starts[self.starts.partition_point(|start| *start <= at)];
            let mut reached = self.cells[at..end].iter().peekable();
            for (cell, count) in (0_u32..).zip(table) {
                if reached.next_if_eq(&&cell).is_some() {
                    answers.counts.push(*count);
                } else {
                    answers.unreached = answers.unreached.max(*count);
                }
            }
        }
    }

    /// The probability of every reached cell under a mixture of some rows.
    pub(super) fn masses(&self, rows: &[u32], weights: &[f64]) -> Result<Vec<f64>> {
        let some = self.select(rows)?;
        let table = some.as_ref().unwrap_or(&self.rows);
        let mut masses = Vec::with_capacity(self.reached());
        let mut clique = 0;
        for batch in batches(self.rows.domain(), &self.cliques) {
            for sums in table.weighted_marginals(weights, &names(batch))? {
                let cells = &self.cells[self.starts[clique]..self.starts[clique + 1]];
                masses.extend(cells.iter().map(|cell| sums[*cell as usize]));
                clique += 1;
            }
        }
        Ok(masses)
    }

    /// The cost of every row at given prices: Σ of the prices of its cells.
    pub(super) fn costs(&self, prices: &[(usize, f64)]) -> Result<Vec<f64>> {
        let priced = self.by_clique(prices);
        let part = priced.len().div_ceil(PARTS).max(1);
        let parts: Vec<Result<Vec<f64>>> = priced
            .par_chunks(part)
            .map(|cliques| {
                let mut costs = vec![0.0; self.rows.records()];
                for (clique, prices) in cliques {
                    let clique = &self.cliques[*clique].clique;
                    let table = self.table(clique, prices, 0.0);
                    let cells = self.rows.cells(clique)?;
                    costs.iter_mut().zip(cells).for_each(|(c, cell)| *c += table[cell as usize]);
                }
                Ok(costs)
            })
            .collect();
        let mut costs = vec![0.0; self.rows.records()];
        for part in parts {
            costs.iter_mut().zip(part?).for_each(|(sum, c)| *sum += c);
        }
        Ok(costs)
    }

    /// For each of some rows, its cells among some reached cells, by their positions in `cells`, which ascend.
    pub(super) fn incidence(&self, rows: &[u32], cells: &[usize]) -> Result<Vec<Vec<u32>>> {
        let some = self.select(rows)?;
        let table = some.as_ref().unwrap_or(&self.rows);
        let places: Vec<(usize, u32)> = cells.iter().copied().zip(0..).collect();
        let mut incidence: Vec<Vec<u32>> = vec![Vec::new(); table.records()];
        for (clique, places) in self.by_clique(&places) {
            let clique = &self.cliques[clique].clique;
            let places = self.table(clique, places, u32::MAX);
            let found = table.cells(clique)?.into_iter().map(|cell| places[cell as usize]);
            for (row, place) in incidence.iter_mut().zip(found) {
                if place != u32::MAX {
                    row.push(place);
                }
            }
        }
        Ok(incidence)
    }

    /// The reached cells of each row.
    pub(super) fn whole_incidence(&self) -> Result<Vec<Vec<u32>>> {
        let rows: Vec<u32> = (0_u32..).take(self.rows.records()).collect();
        let cells: Vec<usize> = (0..self.reached()).collect();
        self.incidence(&rows, &cells)
    }

    /// Values on reached cells, which ascend, grouped by clique.
    fn by_clique<'v, T>(&self, values: &'v [(usize, T)]) -> Vec<(usize, &'v [(usize, T)])> {
        let clique = |id: usize| self.starts.partition_point(|start| *start <= id) - 1;
        let same = values.chunk_by(|(a, _), (b, _)| clique(*a) == clique(*b));
        same.map(|values| (clique(values[0].0), values)).collect()
    }

    /// Values of some reached cells of one clique, in its full table.
    fn table<T: Copy>(&self, clique: &Clique, values: &[(usize, T)], other: T) -> Vec<T> {
        let size: usize = self.rows.domain().shape(clique).iter().product();
        let mut table = vec![other; size];
        for (id, value) in values {
            table[self.cells[*id] as usize] = *value;
        }
        table
    }

    /// Some rows as a table; `None` for all of them.
    pub(super) fn select(&self, rows: &[u32]) -> Result<Option<Dataset>> {
        if rows.len() == self.rows.records() {
            return Ok(None);
        }
        let domain = self.rows.domain();
        let columns = self.rows.columns().iter().enumerate().map(|(attribute, column)| {
            let codes = rows.iter().filter_map(|row| column.get(*row as usize));
            Column::from_codes(codes, domain.cardinality(attribute))
        });
        Ok(Some(Dataset::new(domain.clone(), columns.collect::<jointly_pgm::Result<_>>()?)?))
    }
}

fn names(cliques: &[WeightedClique]) -> Vec<Clique> {
    cliques.iter().map(|c| c.clique.clone()).collect()
}
