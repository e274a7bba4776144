//! `jointly compare`: mechanisms across data sets, budgets and seeds, from one file. Its results are not private.

mod cell;
mod protocol;
mod results;
pub(super) mod worker;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use jointly::Error;
use jointly::data::write_text;
use jointly::report::comparison::{self, Row};
use jointly::synthesis::{Existing, reserve_files};
use serde_json::json;

use super::args::CompareArgs;
use super::console::{self, Console};
use super::failure::{Failure, Outcome};
use super::format::{duration, grouped, short};
use cell::Cell;
use protocol::Protocol;
use results::Results;

/// Executes the missing runs one by one. Each result is on disk before the next run starts.
pub(super) fn run(args: &CompareArgs, console: Console) -> Outcome {
    let protocol = Protocol::read(&args.protocol)?;
    let cells = cell::cells(&protocol, args)?;
    let folder = args.out.clone().unwrap_or_else(|| default_folder(&args.protocol));
    console::check_folder("--out", &folder)?;
    fs::create_dir_all(&folder).map_err(|source| Error::Io {
        action: "create",
        path: folder.clone(),
        source,
    })?;
    let (table, page) = (folder.join("results.csv"), folder.join("comparison.html"));
    // Results are continued, and the page beside them shows them.
    let continued = if table.is_file() { Existing::Replaced } else { console.existing };
    let outputs: [(&str, &Path); 2] = [("--out", &table), ("--out", &page)];
    let _reserved = reserve_files(&[("PROTOCOL.toml", &args.protocol)], &outputs, continued)?;
    let mut results = Results::open(&table)?;
    let mut missing = Vec::new();
    for cell in &cells {
        if results.find(cell)?.is_none() {
            missing.push(cell);
        }
    }
    console.warning("seeds are fixed and errors are those against the real records: NOT PRIVATE");
    let finished = cells.len() - missing.len();
    if finished > 0 {
        let text = format!("{} of {} runs are there already", finished, cells.len());
        console.note("resumed", &text, json!({ "finished": finished, "runs": cells.len() }));
    }
    let mut failures = Vec::new();
    for (number, cell) in missing.iter().enumerate() {
        let started = Instant::now();
        let found = match results.same(cell) {
            Some(row) => Ok(Some(row.under(&cell.key))),
            None => worker::start(cell),
        };
        match found {
            Ok(Some(row)) => {
                let done = format!("{} of {}", finished + number + 1, cells.len());
                progress(&done, &row, started.elapsed().as_secs_f64(), console);
                results.add(row)?;
                write_text(&page, &comparison::render(&protocol.comparison(), results.rows())?)?;
            }
            Ok(None) => {
                let text = format!("{}: lacks attributes, left out", cell.key);
                console.note("left out", &text, json!({ "data": cell.key.data }));
            }
            Err(failure) => {
                console.warning(&failure.message);
                failures.push(failure);
            }
        }
    }
    write_text(&page, &comparison::render(&protocol.comparison(), results.rows())?)?;
    if let Some(first) = failures.into_iter().next() {
        let message = format!("not all runs succeeded: {}", first.message);
        return Err(Failure { message, ..first });
    }
    let errors = comparison::text(&protocol.comparison(), results.rows());
    console::result(&summary(&cells, &table, &page, &errors))
}

/// The protocol's name with `-results`, in the current folder.
fn default_folder(protocol: &Path) -> PathBuf {
    let mut name = protocol.file_stem().unwrap_or_default().to_owned();
    name.push("-results");
    name.into()
}

fn progress(done: &str, row: &Row, seconds: f64, console: Console) {
    let error = short(row.workload_error);
    let text = format!("{done}: {}: error {error}; {}", row.key(), duration(seconds));
    let facts = json!({
        "data": row.data,
        "mechanism": row.mechanism,
        "epsilon": row.epsilon,
        "seed": row.seed,
        "workload_error": row.workload_error,
        "seconds": seconds,
    });
    console.note("compared", &text, facts);
}

fn summary(cells: &[Cell], table: &Path, page: &Path, errors: &str) -> String {
    format!(
        "NOT PRIVATE: fixed seeds, and errors against the real records. Do not publish them for private tables.\n\n\
         Workload error, mean over seeds (least to most), 0 to 2:\n\n\
         {errors}{} runs.\n  {}\n  {}\n",
        grouped(cells.len() as u64),
        table.display(),
        page.display(),
    )
}
