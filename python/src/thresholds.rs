//! Shares of records below any number, with brackets.

use jointly::data::{read_public_numbers, read_public_points};
use jointly::domain::TableFormat;
use jointly::pap::{Answer, Answering, Cuts, EvenGrid, HalfPlanes, Pap, Query, Shares};
use jointly::privacy::{Curator, PrivacyUnit, PrivateTable};
use jointly::{Contradiction, Error};
use pyo3::prelude::*;
use serde::Deserialize;

use crate::errors::{Raise, wrong};
use crate::spending::{Allowance, bought};
use crate::tables::Table;
use crate::watch;

/// A release.
#[pyclass(frozen, module = "jointly_dp._native")]
pub(crate) struct Thresholds(Shares);

#[pymethods]
impl Thresholds {
    /// Reads the text of a file.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str, place: &str) -> PyResult<Self> {
        Ok(Self(Shares::from_json(text, place).raise(py)?))
    }

    /// The text of its file.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        self.0.to_json().raise(py)
    }

    /// The share of records that a question holds for, with its bracket.
    fn answer(&self, py: Python<'_>, question: &str, nearest: bool) -> PyResult<(f64, f64, f64)> {
        let answering = if nearest { Answering::Nearest } else { Answering::Interpolated };
        self.0.answer(question, answering).map(parts).raise(py)
    }

    /// A quantile, with its bracket.
    fn quantile(&self, py: Python<'_>, column: &str, p: f64) -> PyResult<(f64, f64, f64)> {
        self.0.quantile(column, p).map(parts).raise(py)
    }
}

fn parts(answer: Answer) -> (f64, f64, f64) {
    (answer.value, answer.low, answer.high)
}

/// What is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    columns: Vec<String>,
    questions: Vec<String>,
    grids: Vec<String>,
    cuts: Option<usize>,
    class: String,
    release: Option<String>,
    rounds: Option<u32>,
    confidence: f64,
    allowance: Allowance,
}

/// The class of questions, and how it is released.
enum Class {
    Cuts(Pap),
    HalfPlanes(HalfPlanes),
}

impl Class {
    /// A class, with cuts or points from public tables, grids and listed questions alone.
    fn new(asked: &Asked, public: &[Table]) -> jointly::Result<Self> {
        if asked.class == "half-planes" {
            return Ok(Self::HalfPlanes(half_planes(asked, public)?));
        }
        let columns = asked.columns.len();
        let release = asked.release.as_deref();
        let pap = Pap::of_names(&asked.class, columns, release, asked.rounds, asked.confidence)?;
        if asked.class != "list" {
            return Ok(Self::Cuts(Pap { cuts: cuts(asked, public)?, ..pap }));
        }
        let queries = asked.questions.iter().map(|text| text.parse());
        let list = Pap::list(queries.collect::<jointly::Result<Vec<Query>>>()?)?;
        let (release, confidence) = (pap.release, pap.confidence);
        Ok(Self::Cuts(Pap { release, confidence, ..list }))
    }

    /// The private table, in cells or on sides of lines.
    fn read(&self, private: &Table, unit: &PrivacyUnit) -> jointly::Result<PrivateTable> {
        match self {
            Self::Cuts(pap) => {
                private.private(&Cuts::schema(&pap.cuts, TableFormat::default())?, unit)
            }
            Self::HalfPlanes(planes) => private.private_sides(&planes.sides()?, unit),
        }
    }

    fn run(&self, curator: &mut Curator<'_>) -> jointly::Result<Shares> {
        match self {
            Self::Cuts(pap) => Ok(Shares::Cuts(pap.run(curator)?)),
            Self::HalfPlanes(planes) => Ok(Shares::HalfPlanes(planes.run(curator)?)),
        }
    }
}

/// The cuts of all columns.
fn cuts(asked: &Asked, public: &[Table]) -> jointly::Result<Vec<Cuts>> {
    let grids = asked.grids.iter().map(|text| text.parse());
    let grids = grids.collect::<jointly::Result<Vec<EvenGrid>>>()?;
    if asked.class == "conjunctions" && public.is_empty() && grids.is_empty() {
        return asked.columns.iter().map(|name| Cuts::new(name.as_str(), [0.0])).collect();
    }
    let mut values = vec![Vec::new(); asked.columns.len()];
    for table in public {
        let read = match table {
            Table::File(path) => {
                read_public_numbers(path, &asked.columns, &TableFormat::default())?
            }
            Table::Memory(table) => table.read_public_numbers(&asked.columns)?,
        };
        values.iter_mut().zip(read).for_each(|(all, more)| all.extend(more));
    }
    let most = asked.cuts.unwrap_or(Cuts::MOST);
    Cuts::of_columns(&asked.columns, values, most, &grids)
}

/// The half-planes that divide the public points.
fn half_planes(asked: &Asked, public: &[Table]) -> jointly::Result<HalfPlanes> {
    let refused = |found: &str, expected: &str| {
        Err(Error::invalid_specification("half-planes", found, expected))
    };
    let Ok(columns) = <[String; 2]>::try_from(asked.columns.clone()) else {
        return refused(&format!("{} columns", asked.columns.len()), "two, those of x and of y");
    };
    if !asked.grids.is_empty() {
        return refused("a grid", "public points");
    }
    if asked.release.as_deref() == Some("tree") {
        return refused("a tree", "pmw: a tree is of one column");
    }
    let mut points = Vec::new();
    for table in public {
        points.extend(match table {
            Table::File(path) => read_public_points(path, &columns)?,
            Table::Memory(table) => table.read_public_points(&columns)?,
        });
    }
    HalfPlanes::new(columns, &points)?.with(asked.rounds, asked.confidence)
}

/// Releases shares. Spends the whole budget. Returns the release, once its ledger is written.
#[pyfunction]
pub(crate) fn thresholds(
    py: Python<'_>,
    private: &Bound<'_, PyAny>,
    public: Vec<Bound<'_, PyAny>>,
    asked: &str,
) -> PyResult<Thresholds> {
    let asked: Asked = serde_json::from_str(asked).map_err(|error| wrong(py, "settings", error))?;
    let private = Table::new(private, "private table")?;
    let public = public.iter().map(|table| Table::new(table, "public table"));
    let public = public.collect::<PyResult<Vec<Table>>>()?;
    let unit = asked.allowance.unit(py)?;
    let outcome = watch::keeping(py, None, move |_| {
        let public_files = public.iter().filter_map(Table::file);
        let _reserved = asked.allowance.reserve(private.file(), public_files)?;
        let spending = asked.allowance.spending("thresholds", unit)?;
        let needs = Contradiction::Needs { what: "thresholds", needed: "`epsilon`" };
        let spending = spending.ok_or(needs)?;
        let class = Class::new(&asked, &public)?;
        let table = class.read(&private, &spending.unit)?;
        spending.run(&table, |curator| class.run(curator))
    })?;
    match bought(py, outcome)? {
        watch::Outcome::Done(release) => Ok(Thresholds(release)),
        watch::Outcome::DoneBefore(release, exception) => {
            let raised = exception.value(py);
            raised.setattr("release", Thresholds(release).to_json(py)?)?;
            let note = "the budget was spent; the attribute 'release' of this exception is what it bought, as JSON";
            raised.call_method1("add_note", (note,))?;
            Err(exception)
        }
    }
}
