//! Numeric columns of two tables compared as numbers, not as bins.

mod column;
mod pairs;

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::Serialize;

use crate::data::{NumericColumn, NumericColumns};
use crate::domain::{Clique, Domain, Schema};
use crate::error::{Error, Result};
use crate::evaluation::Weighted;
use crate::evaluation::correlation::DependenceDifference;

use column::Numbers;

pub use column::{ColumnComparison, NumberSummary};

/// Most groups that are compared one by one.
const MOST_GROUPS: usize = 10_000;

/// The numeric columns and dates of a real and a synthetic table, compared as numbers. **Not private.**
///
/// Marginals compare bins only: a wide bin may hold quite other numbers in both tables, and the workload error does not
/// see it.
///
/// ```
/// use jointly::{Schema, data::WholeTable, evaluation::NumberComparison};
/// let schema = r#"{"columns": [{"name": "age", "kind": "numeric", "edges": [0, 50, 100]}]}"#;
/// let schema = Schema::from_json(schema, "schema.json")?;
/// let numbers = |text: &str| WholeTable::read_from(text.as_bytes(), "t.csv", &schema, None).map(|table| table.numbers.unwrap());
/// let found = NumberComparison::between(&numbers("age\n10\n20\n")?, &numbers("age\n10\n30\n")?)?;
/// assert_eq!(found.columns[0].synthetic.unwrap().mean, 20.0);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct NumberComparison {
    /// The columns in the schema's order.
    pub columns: Vec<ColumnComparison>,
    /// Differences of Pearson's correlation over all pairs of columns; `None` if no pair has one in both tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pearson: Option<DependenceDifference>,
    /// Differences of Spearman's rank correlation over the same pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spearman: Option<DependenceDifference>,
    /// The comparisons within groups, in the order of their codes; empty if none were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupComparison>,
}

/// The columns within one group of records.
#[derive(Clone, Debug, Serialize)]
pub struct GroupComparison {
    /// The values of the grouping attributes, in the order of the schema, with their labels where it has any.
    pub values: Vec<String>,
    /// Records in the real table.
    pub real_records: u64,
    /// Records in the synthetic table.
    pub synthetic_records: u64,
    /// The columns, in units of their spread in the whole real table.
    pub columns: Vec<ColumnComparison>,
}

impl NumberComparison {
    /// Compares all columns and pairs of columns.
    ///
    /// # Errors
    /// Tables with other columns, which cannot be if both were read under one schema.
    pub fn between(real: &NumericColumns, synthetic: &NumericColumns) -> Result<Self> {
        Self::between_weighted([real, synthetic], [None, None])
    }

    /// As [`between`](Self::between), of tables whose records have weights.
    ///
    /// `weights`: of the real and the synthetic records; `None` if they count the same.
    ///
    /// # Errors
    /// As [`between`](Self::between).
    pub fn between_weighted(
        [real, synthetic]: [&NumericColumns; 2],
        weights: [Option<&[f64]>; 2],
    ) -> Result<Self> {
        let pairs = together(real, synthetic)?;
        let columns = pairs.par_iter().map(|(real, synthetic)| {
            let both = [(real, weights[0]), (synthetic, weights[1])];
            let [own, other] =
                both.map(|(column, weights)| Numbers { values: &column.values, weights });
            ColumnComparison::between(real, own, other, column::spread(&own.sorted()))
        });
        let columns = columns.collect();
        let (pearson, spearman) = pairs::differences(&pairs, weights);
        Ok(Self { columns, pearson, spearman, groups: Vec::new() })
    }

    /// Compares the columns also within each combination of values of some attributes that occurs in either table.
    /// `tables`: the same records, coded under `schema`.
    ///
    /// # Errors
    /// Tables with other columns, attributes that the domain does not have, or more than 10,000 groups.
    pub fn by(
        mut self,
        groups: &Clique,
        schema: &Schema,
        [real, synthetic]: [&NumericColumns; 2],
        tables: [Weighted<'_>; 2],
    ) -> Result<Self> {
        let pairs = together(real, synthetic)?;
        let [of_real, of_synthetic] =
            [tables[0].records.members(groups)?, tables[1].records.members(groups)?];
        let mut all: Vec<&Vec<u32>> = of_real.keys().chain(of_synthetic.keys()).collect();
        all.sort_unstable();
        all.dedup();
        if all.len() > MOST_GROUPS {
            let found = Some(all.len() as f64);
            return Err(Error::too_large(
                "grouping",
                found,
                MOST_GROUPS as f64,
                "groups of records",
            ));
        }
        let domain = tables[0].records.domain();
        let compared = all.into_par_iter().map(|codes| {
            let of = |members: &BTreeMap<Vec<u32>, Vec<u32>>| {
                members.get(codes).map_or(&[][..], Vec::as_slice).to_vec()
            };
            let (own, other) = (of(&of_real), of(&of_synthetic));
            let take = |values: &[f64], records: &[u32]| -> Vec<f64> {
                records.iter().map(|record| values[*record as usize]).collect()
            };
            let of_own = tables[0].weights.map(|weights| take(weights, &own));
            let of_other = tables[1].weights.map(|weights| take(weights, &other));
            let columns = pairs.iter().zip(&self.columns).map(|((real, synthetic), whole)| {
                let (a, b) = (take(&real.values, &own), take(&synthetic.values, &other));
                let a = Numbers { values: &a, weights: of_own.as_deref() };
                let b = Numbers { values: &b, weights: of_other.as_deref() };
                ColumnComparison::between(real, a, b, whole.real.map_or(0.0, |real| real.spread))
            });
            GroupComparison {
                values: names(domain, schema, groups, codes),
                real_records: own.len() as u64,
                synthetic_records: other.len() as u64,
                columns: columns.collect(),
            }
        });
        self.groups = compared.collect();
        Ok(self)
    }
}

/// The columns of both tables, in pairs.
fn together<'t>(
    real: &'t NumericColumns,
    synthetic: &'t NumericColumns,
) -> Result<Vec<(&'t NumericColumn, &'t NumericColumn)>> {
    let pair = |real: &'t NumericColumn| {
        let synthetic = synthetic.column(&real.name).ok_or_else(|| {
            let expected = format!("a column '{}', as in the real one", real.name);
            Error::invalid_specification("synthetic table", "other numeric columns", expected)
        })?;
        Ok((real, synthetic))
    };
    real.columns().iter().map(pair).collect()
}

/// The values of a group's attributes as readers know them.
fn names(domain: &Domain, schema: &Schema, groups: &Clique, codes: &[u32]) -> Vec<String> {
    let name = |(attribute, code): (usize, &u32)| {
        let column = schema.column(domain.name(attribute));
        column.map_or_else(|| code.to_string(), |column| column.value_name(*code))
    };
    groups.iter().zip(codes).map(name).collect()
}

#[cfg(test)]
mod tests;
