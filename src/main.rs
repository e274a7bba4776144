//! The command-line program `jointly`; see `docs/guide/command-line.md`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
