//! `jointly completions` and `jointly man`: made from the flags themselves.

use clap::CommandFactory;
use clap_complete::Shell;

use super::args::Arguments;
use super::console;
use super::failure::Outcome;

/// The script that completes commands and flags.
pub(super) fn completions(shell: Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "jointly", &mut script);
    console::result(&String::from_utf8_lossy(&script))
}

/// The manual page of the program, then those of its commands, in the format of `man`.
pub(super) fn page() -> Outcome {
    let mut command = Arguments::command();
    command.build();
    let mut page = Vec::new();
    let shown =
        command.get_subcommands().filter(|one| !one.is_hide_set() && one.get_name() != "help");
    let pages = std::iter::once(&command).chain(shown);
    for command in pages {
        // Writing to memory does not fail.
        _ = clap_mangen::Man::new(command.clone()).render(&mut page);
    }
    console::result(&String::from_utf8_lossy(&page))
}
