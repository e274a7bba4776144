//! Comparisons of mechanisms, each run in a process of its own.

use std::path::PathBuf;
use std::process::Command;

use jointly::CommonError;
use jointly::compare::{Cell, Comparison, Progress, Protocol, Selection, in_process};
use jointly::synthesis::Existing;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::errors::{json as text, raised, wrong};
use crate::process;

/// What to run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    data: Vec<String>,
    mechanism: Vec<String>,
    epsilon: Vec<f64>,
    seed: Vec<u64>,
    overwrite: bool,
}

/// Executes the missing runs of a protocol, and returns the rows of all that were asked for, as JSON. `program`: with its
/// arguments, executes one run. `told`: hears what is done, as JSON.
#[pyfunction]
#[pyo3(signature = (protocol, out, asked, program, told=None))]
pub(crate) fn compare(
    py: Python<'_>,
    protocol: PathBuf,
    out: PathBuf,
    asked: &str,
    program: Vec<String>,
    told: Option<Py<PyAny>>,
) -> PyResult<String> {
    let asked: Asked = serde_json::from_str(asked).map_err(|error| wrong(py, "settings", error))?;
    let existing = if asked.overwrite { Existing::Replaced } else { Existing::Refused };
    let Asked { data, mechanism, epsilon, seed, .. } = asked;
    let only = Selection { data, mechanism, epsilon, seed };
    let mut exception = None;
    let found = py.detach(|| {
        let read = Protocol::read(&protocol)?;
        let mut start = |cell: &Cell| {
            let mut command = Command::new(program.first().map_or("", String::as_str));
            command.args(program.get(1..).unwrap_or_default());
            in_process(command, cell)
        };
        let mut tell = |progress: Progress<'_>| {
            let facts = facts(progress).to_string();
            let heard = Python::attach(|py| {
                told.as_ref().map_or(Ok(()), |told| told.call1(py, (facts,)).map(drop))?;
                py.check_signals()
            });
            heard.map_err(|error| {
                exception = Some(error);
                CommonError::Interrupted.into()
            })
        };
        Comparison::open((&protocol, &read), &only, &out, existing)?.run(&mut start, &mut tell)
    });
    match (found, exception) {
        (_, Some(exception)) => Err(exception),
        (Err(error), None) => Err(raised(py, &error)),
        (Ok(found), None) => {
            let facts = json!({ "rows": found.rows, "table": found.table, "page": found.page });
            text(py, &facts)
        }
    }
}

/// What a comparison does, for Python.
fn facts(progress: Progress<'_>) -> Value {
    match progress {
        Progress::Resumed { finished, runs } => {
            json!({ "what": "resumed", "finished": finished, "runs": runs })
        }
        Progress::Finished { number, runs, row, seconds } => {
            json!({ "what": "finished", "number": number, "runs": runs, "run": row.key().to_string(),
                    "workload_error": row.workload_error, "seconds": seconds })
        }
        Progress::LeftOut(cell) => json!({ "what": "left out", "run": cell.key.to_string() }),
        Progress::Failed(error) => json!({ "what": "failed", "error": error.to_string() }),
    }
}

/// One run: a cell as JSON, and its row as JSON.
#[pyfunction]
pub(crate) fn compare_run(py: Python<'_>, cell: &str) -> PyResult<String> {
    let cell: Cell = serde_json::from_str(cell).map_err(|error| wrong(py, "cell", error))?;
    let row = process::detached(py, || cell.row())?;
    text(py, &row)
}
