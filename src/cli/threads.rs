//! The threads of the program.

use std::env;
use std::thread;

use rayon::ThreadPoolBuilder;

use super::console::Console;
use super::failure::{Failure, Outcome};

/// Most threads per core. Further ones only wait for each other: hundreds of them on two cores take several times as
/// long as two, and thousands hardly make progress.
const MOST_PER_CORE: usize = 4;

/// The variable by which rayon lets a user choose the number of threads.
const VARIABLE: &str = "RAYON_NUM_THREADS";

/// Starts the threads: as many as asked for, otherwise as the environment asks for, otherwise one per core.
pub(super) fn start(asked: Option<u16>, console: Console) -> Outcome {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let most = MOST_PER_CORE * cores;
    let (name, number) = match asked {
        Some(asked) => ("--threads", usize::from(asked)),
        None => (VARIABLE, from_environment(console).unwrap_or(cores)),
    };
    if number > most {
        let why = format!("{MOST_PER_CORE} for each of {cores} cores");
        console
            .warning(&format!("{name} is {number}, expected at most {most}, {why}: using {most}"));
    }
    let number = number.min(most);
    let built = ThreadPoolBuilder::new().num_threads(number).build_global();
    built.map_err(|error| Failure::internal(format!("cannot start {number} threads: {error}")))
}

/// The number in the environment; 0 and nothing mean one per core.
fn from_environment(console: Console) -> Option<usize> {
    let text = env::var_os(VARIABLE).filter(|text| !text.is_empty())?;
    let text = text.to_string_lossy();
    let number = text.trim().parse().ok();
    if number.is_none() {
        let expected = "expected a whole number: using one thread per core";
        console.warning(&format!("{VARIABLE} is '{text}', {expected}"));
    }
    number.filter(|number| *number > 0)
}
