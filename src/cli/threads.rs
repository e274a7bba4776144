//! The threads of the program.

use std::env;
use std::thread;

use rayon::ThreadPoolBuilder;

use super::console::Console;
use super::failure::{Failure, Outcome};

/// Most threads. More than the cores only wait for each other, and thousands of them hardly make progress.
const MOST: usize = 256;

/// The variable by which rayon lets a user choose the number of threads.
const VARIABLE: &str = "RAYON_NUM_THREADS";

/// Starts the threads: as many as asked for, otherwise as the environment asks for, otherwise one per core.
pub(super) fn start(asked: Option<u16>, console: Console) -> Outcome {
    let number = asked.map_or_else(|| by_default(console), usize::from);
    let built = ThreadPoolBuilder::new().num_threads(number).build_global();
    built.map_err(|error| Failure::internal(format!("cannot start {number} threads: {error}")))
}

fn by_default(console: Console) -> usize {
    let cores = thread::available_parallelism().map_or(1, usize::from).min(MOST);
    let Some(text) = env::var_os(VARIABLE) else { return cores };
    let text = text.to_string_lossy();
    match text.parse() {
        Ok(0) => cores,
        Ok(number) if number <= MOST => number,
        Ok(_) => {
            console.warning(&format!("{VARIABLE} is {text}, expected 1 to {MOST}: using {MOST}"));
            MOST
        }
        Err(_) => {
            let expected = format!("expected a number from 1 to {MOST}");
            console.warning(&format!("{VARIABLE} is '{text}', {expected}: using {cores}"));
            cores
        }
    }
}
