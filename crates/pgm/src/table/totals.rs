//! Tables that are known exactly, such as published totals, and agree with one another.

use std::sync::Arc;

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::table::{CliqueLayout, Projection};

/// Marginals that a distribution must have exactly: totals that an office has published. They agree with one another: all have
/// the same sum, and any two the same marginal on the attributes that they share.
///
/// That is necessary for a table that has all of them, and not sufficient where three or more form a cycle, or where the domain
/// has impossible combinations: [`UnderTotals`](crate::estimation::UnderTotals) finds what is left.
///
/// ```
/// use jointly_pgm::{Clique, Domain, table::Totals};
/// let domain = Domain::new([("age", 2), ("sex", 2), ("race", 2)])?;
/// let by_sex = (Clique::new([0, 1]), vec![20.0, 30.0, 40.0, 10.0]);
/// let race = (Clique::new([1, 2]), vec![50.0, 10.0, 30.0, 10.0]);
/// assert_eq!(Totals::new(&domain, [by_sex.clone(), race])?.total(), 100.0);
/// let other = (Clique::new([1, 2]), vec![50.0, 12.0, 28.0, 10.0]);
/// let error = Totals::new(&domain, [by_sex, other]).unwrap_err().to_string();
/// assert!(error.contains("62 records in sex 0, expected 60, as in the totals of age x sex"), "{error}");
/// # Ok::<(), jointly_pgm::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Totals {
    layout: Arc<CliqueLayout>,
    /// Counts, table after table.
    values: Vec<f64>,
    total: f64,
}

/// Most passes over all overlaps of a table.
const PASSES: u32 = 100;
/// Two sums agree if they differ by no more than this share of all records. Published shares have fewer digits, counts are
/// whole.
const AGREE: f64 = 1e-9;

impl Totals {
    /// Tables in counts, each row-major over its clique's sorted attributes.
    ///
    /// # Errors
    /// No table, a clique twice, a table whose size is not that of its clique, a count that is negative or not finite, a sum
    /// that is not positive, tables with different sums, or two that disagree on what they share.
    pub fn new(
        domain: &Domain,
        tables: impl IntoIterator<Item = (Clique, Vec<f64>)>,
    ) -> Result<Self> {
        let tables: Vec<(Clique, Vec<f64>)> = tables.into_iter().collect();
        let layout = CliqueLayout::new(domain, tables.iter().map(|(clique, _)| clique.clone()))?;
        let name = |clique: &Clique| format!("the totals of {}", domain.describe(clique));
        let wrong = |clique: &Clique, found: String, expected: String| {
            Error::invalid_specification(name(clique), found, expected)
        };
        for (at, (clique, values)) in tables.iter().enumerate() {
            if layout.position(clique) != Some(at) {
                return Err(wrong(clique, "given twice".into(), "each table once".into()));
            }
            let expected = layout.range(at).len();
            if values.len() != expected {
                let clique = domain.describe(clique);
                return Err(Error::ShapeMismatch { clique, expected, found: values.len() });
            }
            if let Some(bad) = values.iter().position(|t| !(t.is_finite() && *t >= 0.0)) {
                let cell = cell_name(domain, clique, layout.shape(at), bad);
                let found = format!("{} in {cell}", values[bad]);
                return Err(wrong(clique, found, "counts that are not negative".into()));
            }
        }
        let Some((first, values)) = tables.first() else {
            return Err(Error::invalid_specification("totals", "no table", "at least one"));
        };
        let total: f64 = values.iter().sum();
        if !(total > 0.0 && total.is_finite()) {
            return Err(wrong(first, format!("{total} records"), "a positive number".into()));
        }
        for (clique, values) in &tables[1..] {
            let sum: f64 = values.iter().sum();
            if (sum - total).abs() > AGREE * total {
                let expected = format!("{total}, as in {}", name(first));
                return Err(wrong(clique, format!("{sum} records"), expected));
            }
        }
        let found = Self { layout, values: tables.into_iter().flat_map(|t| t.1).collect(), total };
        found.check_overlaps(domain)?;
        Ok(found)
    }

    /// Whether any two tables agree on what they share.
    fn check_overlaps(&self, domain: &Domain) -> Result<()> {
        let cliques = self.layout.cliques();
        for (a, first) in cliques.iter().enumerate() {
            for (b, second) in cliques.iter().enumerate().skip(a + 1) {
                let shared = first.intersection(second);
                if shared.is_empty() {
                    continue;
                }
                let [one, other] = [a, b].map(|at| self.marginal(at, domain, &shared));
                let off = |cell: usize| (one[cell] - other[cell]).abs();
                let worst = first_largest(one.len(), off);
                if off(worst) > AGREE * self.total {
                    let cell = cell_name(domain, &shared, &domain.shape(&shared), worst);
                    let first = domain.describe(first);
                    return Err(Error::invalid_specification(
                        format!("the totals of {}", domain.describe(second)),
                        format!("{} records in {cell}", other[worst]),
                        format!("{}, as in the totals of {first}", one[worst]),
                    ));
                }
            }
        }
        Ok(())
    }

    /// A measured table without what the totals say already: the nearest one, cell by cell in the L2 norm, that is 0 where
    /// no record can be, and whose marginals are the totals' wherever its clique overlaps one of theirs.
    ///
    /// For any table μ with the totals, `‖μ − y‖²` is then `‖μ − y'‖²` and a constant, so a fit under totals is the same
    /// (`docs/theory/totals.md`). But the gradient at y' has no part that the totals make ineffective, and along which
    /// potentials would grow for ever.
    ///
    /// `values`: in counts, row-major over the clique's sorted attributes; as many records as the totals have.
    ///
    /// # Errors
    /// A table whose size is not that of its clique, or another domain than the totals'.
    pub fn adjust(&self, domain: &Domain, clique: &Clique, values: &mut [f64]) -> Result<()> {
        self.check(domain)?;
        let shape = domain.shape(clique);
        let expected = shape.iter().product();
        if values.len() != expected {
            let (clique, found) = (domain.describe(clique), values.len());
            return Err(Error::ShapeMismatch { clique, expected, found });
        }
        let overlaps: Vec<(Projection, Vec<f64>)> = self
            .layout
            .cliques()
            .iter()
            .enumerate()
            .map(|(table, own)| {
                let shared = own.intersection(clique);
                let wanted = self.marginal(table, domain, &shared);
                (Projection::between(clique, &shape, &shared), wanted)
            })
            .collect();
        let mut possible = vec![1.0; values.len()];
        for zero in domain.structural_zeros().iter().filter(|zero| zero.clique().is_subset(clique))
        {
            let walk = Projection::between(clique, &shape, zero.clique());
            let allowed: Vec<f64> =
                zero.forbidden().iter().map(|forbidden| f64::from(u8::from(!forbidden))).collect();
            walk.zip_from(&allowed, &mut possible, |cell, allowed| *cell *= allowed);
        }
        for (walk, wanted) in &overlaps {
            walk.zip_from(wanted, &mut possible, |cell, wanted| {
                *cell *= f64::from(u8::from(wanted > 0.0));
            });
        }
        values.iter_mut().zip(&possible).for_each(|(value, possible)| *value *= possible);
        // Projections on one marginal after the other. Where all cells are possible, the first pass is exact.
        for _ in 0..PASSES {
            let mut largest = 0.0_f64;
            for (walk, wanted) in &overlaps {
                let mut off = vec![0.0; wanted.len()];
                let mut cells = off.clone();
                walk.add_into(values, &mut off);
                walk.add_into(&possible, &mut cells);
                for ((off, cells), wanted) in off.iter_mut().zip(cells).zip(wanted) {
                    *off = if cells > 0.0 { (wanted - *off) / cells } else { 0.0 };
                    largest = largest.max(off.abs());
                }
                walk.zip_from(&off, values, |value, off| *value += off);
                values.iter_mut().zip(&possible).for_each(|(value, possible)| *value *= possible);
            }
            if largest <= f64::EPSILON * self.total {
                break;
            }
        }
        Ok(())
    }

    /// Refuses another domain.
    pub(crate) fn check(&self, domain: &Domain) -> Result<()> {
        for (table, clique) in self.layout.cliques().iter().enumerate() {
            if domain.shape(clique) != self.layout.shape(table) {
                return Err(Error::ShapeMismatch {
                    clique: domain.describe(clique),
                    expected: domain.shape(clique).iter().product(),
                    found: self.table(table).len(),
                });
            }
        }
        Ok(())
    }

    /// The marginal of one table.
    pub(crate) fn marginal(&self, table: usize, domain: &Domain, of: &Clique) -> Vec<f64> {
        let (clique, shape) = (&self.layout.cliques()[table], self.layout.shape(table));
        let mut sums = vec![0.0; domain.shape(of).iter().product()];
        Projection::between(clique, shape, of).add_into(self.table(table), &mut sums);
        sums
    }

    /// The cliques of the tables, and where each lies.
    pub fn layout(&self) -> &Arc<CliqueLayout> {
        &self.layout
    }

    /// The counts, table after table.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The counts of one table, row-major.
    pub fn table(&self, index: usize) -> &[f64] {
        &self.values[self.layout.range(index)]
    }

    /// The number of records of each table.
    pub fn total(&self) -> f64 {
        self.total
    }
}

/// The first of those numbers from 0 with the largest value.
pub(crate) fn first_largest(count: usize, value: impl Fn(usize) -> f64) -> usize {
    (0..count).rev().max_by(|a, b| value(*a).total_cmp(&value(*b))).unwrap_or(0)
}

/// A cell in words: `age 3 and sex 1`.
pub(crate) fn cell_name(domain: &Domain, clique: &Clique, shape: &[usize], cell: usize) -> String {
    let mut rest = cell;
    let mut codes: Vec<usize> = Vec::with_capacity(shape.len());
    for extent in shape.iter().rev() {
        codes.push(rest % extent);
        rest /= extent;
    }
    let names = clique.iter().zip(codes.into_iter().rev());
    let parts: Vec<String> =
        names.map(|(attribute, code)| format!("{} {code}", domain.name(attribute))).collect();
    parts.join(" and ")
}

#[cfg(test)]
mod tests;
