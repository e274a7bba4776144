//! A distribution over listed records.

use std::borrow::Borrow;
use std::collections::BTreeSet;

use rand::Rng;

use crate::data::{Column, Dataset, PublicData};
use crate::domain::{Clique, Domain};
use crate::error::{CommonError, Error, Result};
use crate::model::stored_support::StoredSupport;
use crate::model::{Distribution, Evidence, Model, Refinement, Sampling, StoredForm, impossible};
use crate::table::{CliqueLayout, Factor, Totals};
use jointly_pgm::estimation::{Certificate, Targets, raked_weights};
use jointly_pgm::model::refined_list;
use jointly_pgm::model::sampling::deal_records;

/// A finite support, distinct records of a domain, with a weight for each and the number of records it stands for: the
/// models of MWEM, PMW^Pub (Liu et al. 2021), PEP and PEP^Pub (Liu, Vietri & Wu 2021).
///
/// Weights need not be normalized; a record of weight 0 has probability 0. No support contains records that the
/// domain's structural zeros forbid.
///
/// ```
/// use jointly::{data::Dataset, domain::{Clique, Domain}, model::{Distribution, WeightedSupport}};
/// let domain = Domain::new([("a", 2), ("b", 2)])?;
/// let rows = Dataset::from_rows(domain, &[[0, 1], [1, 1], [0, 1]])?;
/// let support = WeightedSupport::new(&rows, vec![1.0, 1.0, 2.0], 100.0)?;
/// assert_eq!(support.size(), 2);
/// assert_eq!(support.marginals(&[Clique::new([0])])?[0].values(), [75.0, 25.0]);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedSupport {
    rows: Dataset,
    weights: Vec<f64>,
    sum: f64,
    total: f64,
}

impl WeightedSupport {
    /// Most cells of a domain that are listed: 2²², about 32 MiB of weights and 4 MiB of codes per attribute.
    pub const MAX_CELLS: u64 = 1 << 22;

    /// Records with weights, standing for `total` records. Equal records become one with the sum of their weights, and
    /// all are sorted by their codes.
    ///
    /// # Errors
    /// A number of weights other than that of records, weights that are negative or not finite, no weight on a record
    /// that the domain allows, or a total that is not positive and finite.
    pub fn new(rows: &Dataset, weights: Vec<f64>, total: f64) -> Result<Self> {
        if weights.len() != rows.records() {
            return Err(Error::invalid_specification(
                "weights of a support",
                weights.len().to_string(),
                format!("{}, one for each record", rows.records()),
            ));
        }
        if let Some(wrong) = weights.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
            let expected = "a finite number of at least 0";
            return Err(Error::invalid_parameter("weight of a record", *wrong, expected));
        }
        let (rows, ranks) = rows.ranked();
        let mut merged = vec![0.0; rows.records()];
        for (rank, weight) in ranks.iter().zip(weights) {
            merged[*rank as usize] += weight;
        }
        let allowed: Vec<u32> = (0..).take(merged.len()).filter(|r| allows(&rows, *r)).collect();
        if allowed.len() == merged.len() {
            return Self::of_distinct(rows, merged, total);
        }
        let weights = allowed.iter().map(|record| merged[*record as usize]).collect();
        Self::of_distinct(rows.take(&allowed), weights, total)
    }

    /// Distinct records that the domain allows, in the order of their codes.
    fn of_distinct(rows: Dataset, weights: Vec<f64>, total: f64) -> Result<Self> {
        if !(total > 0.0 && total.is_finite()) {
            return Err(Error::invalid_parameter("total", total, "a positive number of records"));
        }
        let sum = weights.iter().sum::<f64>();
        if !(sum > 0.0 && sum.is_finite()) {
            let reason = format!("the weights of a support add up to {sum}");
            return Err(CommonError::EmptyModel { reason }.into());
        }
        Ok(Self { rows, weights, sum, total })
    }

    /// All records that a domain allows, equally likely.
    ///
    /// # Errors
    /// A domain of more than [`MAX_CELLS`](Self::MAX_CELLS) cells, one that allows no record, or a total that is not
    /// positive and finite.
    ///
    /// ```
    /// use jointly::{domain::Domain, model::WeightedSupport};
    /// let domain = Domain::new([("a", 2), ("b", 3)])?.forbid([vec![("a", vec![0]), ("b", vec![1, 2])]])?;
    /// assert_eq!(WeightedSupport::all_cells(&domain, 10.0)?.size(), 4);
    /// # Ok::<(), jointly::Error>(())
    /// ```
    pub fn all_cells(domain: &Domain, total: f64) -> Result<Self> {
        let cells = domain.cells(&domain.everything()).filter(|cells| *cells <= Self::MAX_CELLS);
        let cells = cells.and_then(|cells| u32::try_from(cells).ok()).ok_or_else(|| {
            Error::too_large(
                "a support of all cells of the domain",
                Some(10_f64.powf(domain.log10_cells())),
                Self::MAX_CELLS as f64,
                "records",
            )
        })?;
        let (mut stride, mut columns) = (cells, Vec::with_capacity(domain.len()));
        for attribute in domain.attributes() {
            let k = attribute.cardinality;
            stride /= k.max(1);
            let codes = (0..cells).map(|cell| cell / stride.max(1) % k.max(1));
            columns.push(Column::from_codes(codes, k as usize)?);
        }
        let mut rows = Dataset::new(domain.clone(), columns)?;
        if !domain.structural_zeros().is_empty() {
            let allowed: Vec<u32> = (0..cells).filter(|cell| allows(&rows, *cell)).collect();
            rows = rows.take(&allowed);
        }
        let weights = vec![1.0; rows.records()];
        Self::of_distinct(rows, weights, total)
    }

    /// The pooled records of public tables, weighted by how often they occur.
    ///
    /// # Errors
    /// No table, one that lacks an attribute of the domain, only records that the domain forbids, or a total that is
    /// not positive and finite.
    pub fn from_public(
        domain: &Domain,
        tables: &[impl Borrow<PublicData>],
        total: f64,
    ) -> Result<Self> {
        let tables: Vec<&PublicData> = tables.iter().map(Borrow::borrow).collect();
        if tables.is_empty() {
            let expected = "at least one: its records are the support";
            return Err(Error::invalid_parameter("number of public tables", 0, expected));
        }
        for table in &tables {
            let missing = domain.everything().difference(&table.attributes());
            if !missing.is_empty() {
                return Err(Error::invalid_specification(
                    format!("public table '{}'", table.name()),
                    format!("no attribute {}", domain.describe(&missing)),
                    "all attributes of the private table: its records are the support",
                ));
            }
        }
        let tables = tables.iter().map(|table| table.table()).collect::<Result<Vec<&Dataset>>>()?;
        let rows = Dataset::joined(domain, &tables)?;
        let weights = vec![1.0; rows.records()];
        Self::new(&rows, weights, total)
    }

    /// The same records with other weights, standing for another number of records.
    ///
    /// # Errors
    /// As [`WeightedSupport::new`].
    pub(crate) fn reweighted(self, weights: Vec<f64>, total: f64) -> Result<Self> {
        Self::of_distinct(self.rows, weights, total)
    }

    /// The distribution nearest to this one, in relative entropy, of those that have some totals exactly, as
    /// [`MarkovRandomField::projected`](crate::model::MarkovRandomField::projected). It stands for as many records as the
    /// totals have. A cell of the totals in which no listed record lies gets some: copies of listed ones, spread over the
    /// whole list, with the cell's values, as likely together as one listed record. So does a cell whose records cannot stand for its total, as
    /// their other values have totals that are too small. Where that does not help, the totals are
    /// approached on the line from what the records have to them, as far as some weights have them all.
    ///
    /// # Errors
    /// Totals over another domain, or that are 0 wherever a record is.
    pub fn projected(&self, totals: &Totals) -> Result<Self> {
        self.completed(totals)?.raked(totals)
    }

    /// These records, with some in every cell of the totals, as for [`projected`](Self::projected).
    ///
    /// # Errors
    /// Totals over another domain.
    pub(crate) fn completed(&self, totals: &Totals) -> Result<Self> {
        self.with_cells_of(Some(totals), &tables(totals))
    }

    /// As [`projected`](Self::projected), on the listed records alone.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn raked(&self, totals: &Totals) -> Result<Self> {
        let mut share = 1.0;
        loop {
            let towards = self.towards(totals, share)?;
            let weights = raked_weights(&self.rows, &self.weights, &towards)?;
            let found = self.clone().reweighted(weights, totals.total())?;
            if share == 0.0 || found.distance(&towards)? <= MET {
                return Ok(found);
            }
            // Multipliers that cannot have them all leave a few records only.
            share = if share > LEAST_SHARE { 0.5 * share } else { 0.0 };
        }
    }

    /// The tables that lie on the line from those of these records to the totals, at a share of the way. A total of 0 stays.
    fn towards(&self, totals: &Totals, share: f64) -> Result<Totals> {
        if share >= 1.0 {
            return Ok(totals.clone());
        }
        let possible = self.rows.possible_under(totals)?;
        let mut weights = vec![0.0; self.weights.len()];
        possible.iter().for_each(|at| weights[*at as usize] = self.weights[*at as usize]);
        let own = self.clone().reweighted(weights, totals.total())?;
        let cliques = totals.layout().cliques();
        let found = own.marginals(cliques)?;
        let between = cliques.iter().enumerate().map(|(table, clique)| {
            let pairs = found[table].values().iter().zip(totals.table(table));
            let values = pairs.map(|(own, total)| (1.0 - share) * own + share * total);
            (clique.clone(), values.collect())
        });
        Ok(Totals::new(self.domain(), between)?)
    }

    /// The largest L1 distance from a table of totals, as a share of all records.
    fn distance(&self, totals: &Totals) -> Result<f64> {
        let found = self.marginals(totals.layout().cliques())?;
        let of_table = |(table, found): (usize, &Factor)| {
            let pairs = found.values().iter().zip(totals.table(table));
            pairs.map(|(found, total)| (found - total).abs()).sum::<f64>()
        };
        let all = found.iter().enumerate().map(of_table);
        Ok(all.fold(0.0, f64::max) / totals.total())
    }

    /// A distribution on these records that is nearest to some tables, and of those with its counts the one nearest to this one in
    /// relative entropy, with what is known of the fit. Exact tables hold in it, and a cell of them in which no listed record lies gets
    /// some, as by [`projected`](Self::projected). It stands for as many records as the tables.
    ///
    /// # Errors
    /// Tables over another domain, or exact ones that no weights of these records have.
    pub fn fitted_to(&self, targets: &Targets) -> Result<(Self, Certificate)> {
        let complete = self.with_cells_of(targets.totals(), &targets.least())?;
        let (weights, certificate) = targets.weights(&complete.rows, &complete.weights)?;
        Ok((complete.reweighted(weights, targets.total())?, certificate))
    }

    /// These records, with some in every cell that has records, and more in cells of totals for which these are not enough.
    fn with_cells_of(&self, totals: Option<&Totals>, known: &[(Clique, Vec<f64>)]) -> Result<Self> {
        let mut complete = self.clone();
        for (clique, counts) in known {
            let counted = complete.counted(totals)?;
            let cells = complete.rows.cells(clique)?;
            let held: BTreeSet<u32> =
                counted.iter().map(|record| cells[*record as usize]).collect();
            let missing = (0_u32..).zip(counts);
            let missing = missing.filter(|(cell, total)| **total > 0.0 && !held.contains(cell));
            let missing: Vec<u32> = missing.map(|(cell, _)| cell).collect();
            complete = complete.with_copies(clique, &missing, &counted)?;
        }
        let Some(totals) = totals else { return Ok(complete) };
        for _ in 0..COMPLETIONS {
            let short = complete.short_cells(totals)?;
            if short.is_empty() {
                break;
            }
            for (clique, short) in short {
                let counted = complete.counted(Some(totals))?;
                complete = complete.with_copies(&clique, &short, &counted)?;
            }
        }
        Ok(complete)
    }

    /// The records with a weight, but for those in a cell for which totals have none.
    fn counted(&self, totals: Option<&Totals>) -> Result<Vec<u32>> {
        let possible = match totals {
            Some(totals) => self.rows.possible_under(totals)?,
            None => (0..).take(self.rows.records()).collect(),
        };
        Ok(possible.into_iter().filter(|record| self.weights[*record as usize] > 0.0).collect())
    }

    /// These records, with copies of some of them, evenly spaced, in each of these cells. `of`: positions of those to copy.
    fn with_copies(&self, clique: &Clique, cells: &[u32], of: &[u32]) -> Result<Self> {
        if cells.is_empty() || of.is_empty() {
            return Ok(self.clone());
        }
        let copied: Vec<u32> = of.iter().copied().step_by(of.len().div_ceil(COPIES)).collect();
        let copies = self.rows.take(&copied);
        let weight = self.sum / (self.rows.records() * copied.len()) as f64;
        let (mut tables, mut weights) = (vec![self.rows.clone()], self.weights.clone());
        for cell in cells {
            tables.push(copies.with_cell(clique, *cell as usize)?);
            weights.extend(std::iter::repeat_n(weight, copied.len()));
        }
        let tables: Vec<&Dataset> = tables.iter().collect();
        let rows = Dataset::joined(self.domain(), &tables)?;
        Self::new(&rows, weights, self.total)
    }

    /// The cells, table by table, whose records cannot stand for them: their other values have totals that are too small. Such a
    /// cell has too few records whenever passes of proportional fitting come back to it.
    fn short_cells(&self, totals: &Totals) -> Result<Vec<(Clique, Vec<u32>)>> {
        let cliques = totals.layout().cliques();
        let cells: Vec<Vec<u32>> = cliques
            .iter()
            .map(|clique| self.rows.cells(clique))
            .collect::<std::result::Result<_, _>>()?;
        let mut weights = vec![0.0; self.weights.len()];
        let scale = totals.total() / self.sum;
        let counted = self.counted(Some(totals))?;
        counted.iter().for_each(|at| weights[*at as usize] = scale * self.weights[*at as usize]);
        let mut short: Vec<(Clique, Vec<u32>)> = Vec::new();
        for _ in 0..PASSES {
            short.clear();
            for (table, clique) in cliques.iter().enumerate() {
                let wanted = totals.table(table);
                let mut found = vec![0.0; wanted.len()];
                let own = || cells[table].iter().map(|cell| *cell as usize);
                own().zip(&weights).for_each(|(cell, weight)| found[cell] += weight);
                let ratio =
                    |(found, wanted): (&f64, &f64)| if *found > 0.0 { wanted / found } else { 0.0 };
                let ratios: Vec<f64> = found.iter().zip(wanted).map(ratio).collect();
                weights.iter_mut().zip(own()).for_each(|(weight, cell)| *weight *= ratios[cell]);
                let is_short =
                    |(_, (found, wanted)): &(u32, (&f64, &f64))| **found < ENOUGH * **wanted;
                let places = (0_u32..).zip(found.iter().zip(wanted)).filter(is_short);
                let places: Vec<u32> = places.map(|(cell, _)| cell).collect();
                if !places.is_empty() {
                    short.push((clique.clone(), places));
                }
            }
            if short.is_empty() {
                break;
            }
        }
        Ok(short)
    }

    /// The distribution in which each record is as many times as likely as its value of one attribute says, but for a common
    /// factor, as [`MarkovRandomField::tilted`](crate::model::MarkovRandomField::tilted).
    ///
    /// # Errors
    /// An attribute outside the domain, another number of factors than it has values, or factors that are negative, not
    /// finite, or 0 for every record.
    pub fn tilted(&self, attribute: usize, factors: &[f64]) -> Result<Self> {
        let clique = Clique::new([attribute]);
        let layout = CliqueLayout::new(self.domain(), [clique.clone()])?;
        if layout.cells() != factors.len() {
            let (expected, found) = (layout.cells(), factors.len());
            let clique = self.domain().describe(&clique);
            return Err(CommonError::ShapeMismatch { clique, expected, found }.into());
        }
        let codes = self.rows.cells(&clique)?;
        let weights = self.weights.iter().zip(codes).map(|(w, code)| w * factors[code as usize]);
        let weights: Vec<f64> = weights.collect();
        Self::new(&self.rows, weights, self.total)
    }

    /// The distinct records, in the order of their codes.
    pub fn rows(&self) -> &Dataset {
        &self.rows
    }

    /// The weight of each record, not normalized.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Number of distinct records, those of weight 0 included.
    pub fn size(&self) -> usize {
        self.rows.records()
    }

    /// `-Σ p ln p` in nats: from 0, one record, to the logarithm of [`size`](Self::size).
    pub fn entropy(&self) -> f64 {
        let positive = self.weights.iter().map(|w| w / self.sum).filter(|p| *p > 0.0);
        positive.map(|p| -p * p.ln()).sum()
    }
}

/// The tables of totals.
fn tables(totals: &Totals) -> Vec<(Clique, Vec<f64>)> {
    let cliques = totals.layout().cliques().iter().enumerate();
    cliques.map(|(table, clique)| (clique.clone(), totals.table(table).to_vec())).collect()
}

/// Totals are met within this share of all records.
const MET: f64 = 1e-4;
/// The least share of the way to totals that is tried, where some cannot be met.
const LEAST_SHARE: f64 = 0.05;

/// About how many copies of listed records a cell gets that has none, or too few.
const COPIES: usize = 100;
/// Most passes of proportional fitting that show which cells have too few, and the share of a total that is enough.
const PASSES: u32 = 100;
const ENOUGH: f64 = 0.95;
/// Most times that such cells get copies, as others can be short then.
const COMPLETIONS: u32 = 3;

/// Whether the domain of a table allows one of its records.
fn allows(rows: &Dataset, record: u32) -> bool {
    let domain = rows.domain();
    let code = |a: usize| rows.column(a).and_then(|c| c.get(record as usize)).unwrap_or(0);
    !domain.structural_zeros().iter().any(|zero| zero.forbids(domain, code))
}

impl Distribution for WeightedSupport {
    fn domain(&self) -> &Domain {
        self.rows.domain()
    }

    fn total(&self) -> f64 {
        self.total
    }

    /// Size in MiB: 8 bytes per record for its weight, and the codes.
    fn size_mib(&self) -> f64 {
        let width = |column: &Column| match column {
            Column::U8(_) => 1,
            Column::U16(_) => 2,
            Column::U32(_) => 4,
        };
        let bytes = 8 + self.rows.columns().iter().map(width).sum::<usize>();
        (bytes * self.size()) as f64 / f64::from(1 << 20)
    }

    fn marginals(&self, cliques: &[Clique]) -> Result<Vec<Factor>> {
        let scale = self.total / self.sum;
        let counts: Vec<f64> = self.weights.iter().map(|weight| scale * weight).collect();
        let tables = self.rows.weighted_marginals(&counts, cliques)?;
        let factors = cliques.iter().zip(tables);
        factors
            .map(|(clique, table)| Ok(Factor::new(self.domain(), clique.clone(), table)?))
            .collect()
    }

    /// Draws records of the support. [`Sampling::Rounded`] keeps the integer part of every record's expected number and
    /// spreads the remainders evenly along the order of the records, so that each occurs its expected number of times,
    /// rounded up or down.
    fn draw(&self, records: usize, method: Sampling, rng: &mut dyn Rng) -> Result<Dataset> {
        Ok(self.rows.take(&deal_records(&self.weights, records, method, rng)?))
    }

    fn refined(
        &self,
        records: usize,
        refinement: &Refinement,
        rng: &mut dyn Rng,
    ) -> Result<Dataset> {
        let drawn = refined_list(&self.rows, &self.weights, records, refinement, rng)?;
        Ok(self.rows.take(&drawn))
    }

    fn given(&self, evidence: &Evidence) -> Result<Model> {
        let share = |record: u32| {
            let code = |attribute: usize| {
                self.rows.column(attribute).and_then(|c| c.get(record as usize)).unwrap_or(0)
            };
            evidence.share(code)
        };
        let agreeing =
            (0..).zip(&self.weights).map(|(record, weight)| (record, weight * share(record)));
        let (kept, weights): (Vec<u32>, Vec<f64>) =
            agreeing.filter(|(record, _)| share(*record) > 0.0).unzip();
        let share = weights.iter().sum::<f64>() / self.sum;
        if share <= 0.0 {
            return Err(impossible());
        }
        Ok(Self::of_distinct(self.rows.take(&kept), weights, share * self.total)?.into())
    }

    fn store(&self) -> Result<StoredForm> {
        StoredForm::new("support", &StoredSupport::new(self))
    }
}

#[cfg(test)]
mod tests;
