//! What a fit found, and how near it came to each table.

use std::collections::BTreeMap;

use rand::Rng;
use serde::Serialize;

use crate::data::{Dataset, TidyRow, tidy};
use crate::domain::{Clique, Schema, SchemaColumn};
use crate::error::{Error, Result};
use crate::estimation::{Certificate, Target};
use crate::fit::{Kind, KnownTable, Origin};
use crate::measurement::Measurement;
use crate::model::{Drawing, Model, ModelFile};
use crate::privacy::{LedgerFile, LedgerUnit};
use crate::report::format::short;
use crate::survey::{Population, with_totals};
use crate::table::{CliqueLayout, Factor, Totals};

/// A model that was fitted to tables.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The attributes and their values.
    pub schema: Schema,
    /// The distribution.
    pub model: Model,
    /// The tables that it was fitted to.
    pub known: Vec<KnownTable>,
    /// How near it comes to them, and what may be said of it.
    pub tables: FittedTables,
}

/// How near a fit comes to its tables, and what may be said of it. All of it may be published where the fit may.
#[derive(Clone, Debug, Serialize)]
pub struct FittedTables {
    /// What is promised about the people behind the tables, in a sentence.
    pub guarantee: String,
    /// False where a table was cleared by hand, or the noise of one came from a fixed seed: then nothing is promised.
    pub private: bool,
    /// Names of tables that were released without protection: the guarantee holds among private tables that share them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditional_on: Vec<String>,
    /// Number of records that the model stands for.
    pub total: f64,
    /// Size of the model in MiB.
    pub model_mib: f64,
    /// The loss over tables that are not exact, and a bound that no distribution inside all intervals falls below. Of listed
    /// records it is what noisy counts contradict one another by alone.
    pub certificate: Certificate,
    /// One entry for each file.
    pub groups: Vec<Group>,
    /// The largest difference between an exact count, scaled to the number of rows, and the rows in its cell; `None` without
    /// exact tables or rows.
    pub rows_difference: Option<f64>,
}

/// The tables of one file.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// The name of the file.
    pub name: String,
    /// What its counts are.
    pub kind: Kind,
    /// Where it is from; of a file of tables with several origins, the one that promises least.
    pub origin: Origin,
    /// Number of tables.
    pub tables: usize,
    /// Number of their cells.
    pub cells: usize,
    /// The count that is furthest from what is known of it; `None` if none is off.
    pub worst: Option<Worst>,
    /// Root mean square of the differences in standard deviations of the noise; `None` for counts without noise. That of the true
    /// counts is about 1; a fit that follows the noise has less.
    pub rms: Option<f64>,
}

impl Group {
    /// How far the counts are from the model's, in words.
    pub fn difference(&self) -> String {
        let worst =
            self.worst.as_ref().map(|worst| format!("{:+} in {}", rounded(worst.off), worst.cell));
        match (self.rms, worst) {
            (Some(rms), worst) => {
                let worst = worst.map_or_else(String::new, |worst| format!(", at most {worst}"));
                format!("off by {} sd of their noise (root mean square){worst}", short(rms))
            }
            (None, Some(worst)) => format!("off by at most {worst}"),
            (None, None) => "all met".into(),
        }
    }
}

/// A difference in counts, to four digits.
fn rounded(off: f64) -> f64 {
    short(off).parse().unwrap_or(off)
}

/// A count that is off.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worst {
    /// The cell, such as `sex 1, age 18 to 24`.
    pub cell: String,
    /// By how much the model is above it (or below, negative), in counts.
    pub off: f64,
}

/// Differences below this share of all records are rounding.
pub(super) const NOTHING: f64 = 1e-8;

impl FittedTables {
    pub(super) fn new(
        schema: &Schema,
        model: &Model,
        known: &[KnownTable],
        certificate: Certificate,
        ledger: Option<&LedgerFile>,
    ) -> Result<Self> {
        let tables = marginals(model, known)?;
        let mut groups: Vec<Group> = Vec::new();
        let mut squares: BTreeMap<usize, (f64, usize)> = BTreeMap::new();
        for (table, marginal) in known.iter().zip(&tables) {
            let at = groups.iter().position(|group| group.name == table.name);
            let at = at.unwrap_or_else(|| {
                let (name, kind, origin) = (table.name.clone(), table.kind, table.origin);
                groups.push(Group {
                    name,
                    kind,
                    origin,
                    tables: 0,
                    cells: 0,
                    worst: None,
                    rms: None,
                });
                groups.len() - 1
            });
            let group = &mut groups[at];
            let off = table.target.off(marginal.values());
            let size = if let Target::Noisy(Measurement { cell: Some(_), .. }) = &table.target {
                1
            } else {
                off.len()
            };
            group.tables += 1;
            group.cells += size;
            group.origin = group.origin.max(table.origin);
            if let Target::Noisy(Measurement { stddev, .. }) = &table.target
                && *stddev > 0.0
            {
                let own = squares.entry(at).or_default();
                own.0 += off.iter().map(|off| (off / stddev).powi(2)).sum::<f64>();
                own.1 += size;
            }
            let largest =
                group.worst.as_ref().map_or(NOTHING * model.total(), |worst| worst.off.abs());
            let worst = (0..off.len()).max_by(|a, b| off[*a].abs().total_cmp(&off[*b].abs()));
            if let Some(cell) = worst.filter(|cell| off[*cell].abs() > largest) {
                let cell_name = named(schema, table.target.clique(), cell)?;
                group.worst = Some(Worst { cell: cell_name, off: off[cell] });
            }
        }
        for (at, (sum, cells)) in squares {
            groups[at].rms = Some((sum / cells as f64).sqrt());
        }
        let (guarantee, private) = guarantee(known, ledger);
        let conditional_on = ledger.map_or_else(Vec::new, |file| file.conditional_on.clone());
        Ok(Self {
            guarantee,
            private,
            conditional_on,
            total: model.total(),
            model_mib: model.size_mib(),
            certificate,
            groups,
            rows_difference: None,
        })
    }
}

/// What is promised about the people behind the tables, and whether it is differential privacy, or nothing is to be promised.
fn guarantee(known: &[KnownTable], ledger: Option<&LedgerFile>) -> (String, bool) {
    let mut cleared: Vec<&str> = Vec::new();
    for table in known.iter().filter(|table| table.origin == Origin::Cleared) {
        if !cleared.contains(&&*table.name) {
            cleared.push(&table.name);
        }
    }
    let were = if cleared.len() == 1 { "was" } else { "were" };
    let cleared = cleared.join(", ");
    match ledger {
        _ if !cleared.is_empty() => (
            format!(
                "NOT differentially private: {cleared} came from private records and {were} cleared by hand"
            ),
            false,
        ),
        None => (
            "made from public tables alone: nothing in it was computed from private records".into(),
            true,
        ),
        Some(file) if !file.private => {
            ("NOT PRIVATE: the noise of the measurements came from a fixed seed".into(), false)
        }
        Some(file) => {
            let promised = match (file.epsilon, file.delta) {
                (Some(epsilon), Some(delta)) if delta > 0.0 => {
                    format!("({epsilon}, {delta:e})-differentially private")
                }
                (Some(epsilon), _) => format!("{epsilon}-differentially private"),
                _ => "as private as the ledger says".into(),
            };
            let whom = match &file.unit {
                Some(unit) => {
                    let LedgerUnit { column, max_records, .. } = unit;
                    format!("one '{column}' of at most {max_records} records")
                }
                None => "one record".to_owned(),
            };
            let neighbors = file.neighbors;
            let conditional = match &*file.conditional_on {
                [] => String::new(),
                tables => format!("among private tables that share {}, ", tables.join(", ")),
            };
            (
                format!(
                    "{conditional}{promised} for {whom} ({neighbors}): made from measurements that the ledger paid for and from public tables, at no further cost"
                ),
                true,
            )
        }
    }
}

/// The model's marginals on the tables.
pub(super) fn marginals(model: &Model, known: &[KnownTable]) -> Result<Vec<Factor>> {
    let cliques: Vec<Clique> = known.iter().map(|table| table.target.clique().clone()).collect();
    model.marginals(&cliques)
}

/// A cell in a reader's words.
pub(super) fn named(schema: &Schema, clique: &Clique, cell: usize) -> Result<String> {
    let columns: Vec<&SchemaColumn> = schema.attributes().collect();
    let layout = CliqueLayout::new(&schema.domain(), [clique.clone()])?;
    let parts = clique.iter().zip(layout.codes(0, cell));
    let parts =
        parts.map(|(at, code)| format!("{} {}", columns[at].name, columns[at].value_name(code)));
    Ok(parts.collect::<Vec<_>>().join(", "))
}

impl Fitted {
    /// Records of the model, refined on the cliques of its tables. Exact tables hold in them; the largest difference from one,
    /// scaled to the number of records, or `None` without exact tables.
    ///
    /// # Errors
    /// No record asked for, or a table of more than 8 GiB.
    pub fn rows(
        &self,
        records: usize,
        drawing: Drawing,
        rng: &mut impl Rng,
    ) -> Result<(Dataset, Option<f64>)> {
        let rows = self.model.rows(records, drawing, &self.cliques().into(), rng)?;
        let exact = self.known.iter().filter_map(|table| match &table.target {
            Target::Exact { clique, values } => Some((clique.clone(), values.clone())),
            _ => None,
        });
        let exact: Vec<(Clique, Vec<f64>)> = exact.collect();
        if exact.is_empty() {
            return Ok((rows, None));
        }
        let adjusted = with_totals(&rows, &Totals::new(rows.domain(), exact)?, rng)?;
        Ok((adjusted.rows, Some(adjusted.largest_difference)))
    }

    /// The public records that the model is on, each once, with a column of their weights, whose sum is the number of records
    /// that it stands for, and the schema of both.
    ///
    /// # Errors
    /// A model of other than public records, more than 2²⁴ different weights, or an attribute that is called like the column.
    pub fn weighted(&self) -> Result<(Dataset, Schema)> {
        let support = self.model.as_weighted_support().ok_or_else(|| {
            let (found, expected) =
                ("no records", "a model of public records, which can have weights");
            Error::invalid_specification("weighted records", found, expected)
        })?;
        let scale = self.model.total() / support.weights().iter().sum::<f64>();
        let weighted = (0_u32..).zip(support.weights()).filter(|(_, weight)| **weight > 0.0);
        let (kept, weights): (Vec<u32>, Vec<f64>) =
            weighted.map(|(at, weight)| (at, scale * weight)).unzip();
        Population::default().with_weights(&support.rows().take(&kept), &weights, &self.schema)
    }

    /// The model as a file, for `sample` and `ask`.
    pub fn model_file(&self) -> ModelFile {
        ModelFile {
            schema: self.schema.clone(),
            model: self.model.clone(),
            refined_on: self.cliques(),
            accuracy: None,
            linked: None,
            weight: None,
            mechanism: "fit".into(),
            is_private: self.tables.private,
            conditional_on: self.tables.conditional_on.clone(),
        }
    }

    /// The cliques of the tables, each once.
    fn cliques(&self) -> Vec<Clique> {
        let mut cliques: Vec<Clique> =
            self.known.iter().map(|table| table.target.clique().clone()).collect();
        cliques.sort_unstable();
        cliques.dedup();
        cliques
    }

    /// All tables as one, a row for each cell: the file and its table, attributes and values, the least and the most that the
    /// count may be (the same where it is one number), the standard deviation of its noise, where it is from, and the fitted
    /// count.
    ///
    /// # Errors
    /// None in practice.
    pub fn tidy(&self) -> Result<String> {
        let marginals = marginals(&self.model, &self.known)?;
        let mut rows = Vec::new();
        for (number, (table, marginal)) in (1_u64..).zip(self.known.iter().zip(&marginals)) {
            for (cell, fitted) in marginal.values().iter().enumerate() {
                let Some((least, most, stddev)) = known_of(&table.target, cell) else { continue };
                let numbers = [least, most, stddev].map(|number| number.to_string());
                let after =
                    numbers.into_iter().chain([table.origin.name().into(), fitted.to_string()]);
                let before = vec![table.name.clone(), number.to_string()];
                let clique = table.target.clique();
                rows.push(TidyRow { before, clique, cell, after: after.collect() });
            }
        }
        let (before, after) =
            (["table", "number"], ["least", "most", "stddev", "origin", "fitted"]);
        tidy(&self.schema, &before, &after, &rows)
    }
}

/// The least and the most that a count may be, and the standard deviation of its noise; `None` for a cell of which nothing is
/// known.
pub(super) fn known_of(target: &Target, cell: usize) -> Option<(f64, f64, f64)> {
    match target {
        Target::Noisy(Measurement { cell: Some(own), values, stddev, .. }) => {
            (*own == cell).then_some((values[0], values[0], *stddev))
        }
        Target::Noisy(Measurement { values, stddev, .. }) => {
            Some((values[cell], values[cell], *stddev))
        }
        Target::Exact { values, .. } => Some((values[cell], values[cell], 0.0)),
        Target::Between { least, most, .. } => Some((least[cell], most[cell], 0.0)),
    }
}
