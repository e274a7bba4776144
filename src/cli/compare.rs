//! `jointly compare`: mechanisms across data sets, budgets and seeds, from one file. Its results are not private.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Command;

use jointly::compare::{Cell, Compared, Comparison, Progress, Protocol, Selection, in_process};
use jointly::report::comparison::Row;
use serde_json::json;

use super::args::CompareArgs;
use super::console::{self, Console};
use super::failure::{Failure, Outcome};
use super::format::{duration, grouped, short};

pub(super) fn run(args: &CompareArgs, console: Console) -> Outcome {
    let protocol = Protocol::read(&args.protocol)?;
    let only = Selection {
        data: args.data.clone(),
        mechanism: args.mechanism.iter().map(|name| name.0.clone()).collect(),
        epsilon: args.epsilon.clone(),
        seed: args.seed.clone(),
    };
    let folder = args.out.clone().unwrap_or_else(|| default_folder(&args.protocol));
    console::check_folder("--out", &folder)?;
    let place = (&*args.protocol, &protocol);
    let comparison = Comparison::open(place, &only, &folder, console.existing)?;
    console.warning("seeds are fixed and errors are those against the real records: NOT PRIVATE");
    let program = std::env::current_exe();
    let program =
        program.map_err(|error| Failure::internal(format!("cannot find this program: {error}")))?;
    let threads = rayon::current_num_threads().to_string();
    let mut start = |cell: &Cell| {
        let mut command = Command::new(&program);
        command.args(["compare-run", "--threads", &threads]);
        in_process(command, cell)
    };
    let mut told = |progress: Progress<'_>| {
        tell(progress, console);
        Ok(())
    };
    console::result(&summary(&comparison.run(&mut start, &mut told)?))
}

/// The process of one run: reads a cell from standard input and writes its row to standard output.
pub(super) fn run_cell() -> Outcome {
    let mut text = String::new();
    io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| Failure::internal(format!("cannot read standard input: {error}")))?;
    let cell: Cell = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("compare-run is for compare alone: {error}")))?;
    console::json_result(&cell.row()?)
}

/// The protocol's name with `-results`, in the current folder.
fn default_folder(protocol: &Path) -> PathBuf {
    let mut name = protocol.file_stem().unwrap_or_default().to_owned();
    name.push("-results");
    name.into()
}

fn tell(progress: Progress<'_>, console: Console) {
    match progress {
        Progress::Resumed { finished, runs } => {
            let text = format!("{finished} of {runs} runs are there already");
            console.note("resumed", &text, json!({ "finished": finished, "runs": runs }));
        }
        Progress::Finished { number, runs, row, seconds } => {
            finished(&format!("{number} of {runs}"), row, seconds, console);
        }
        Progress::LeftOut(cell) => {
            let text = format!("{}: lacks attributes, left out", cell.key);
            console.note("left out", &text, json!({ "data": cell.key.data }));
        }
        Progress::Failed(error) => console.warning(&error.to_string()),
    }
}

fn finished(done: &str, row: &Row, seconds: f64, console: Console) {
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

fn summary(found: &Compared) -> String {
    format!(
        "NOT PRIVATE: fixed seeds, and errors against the real records. Do not publish them for private tables.\n\n\
         Workload error, mean over seeds (least to most), 0 to 2:\n\n\
         {}{} runs.\n  {}\n  {}\n",
        found.errors,
        grouped(found.runs as u64),
        found.table.display(),
        found.page.display(),
    )
}
