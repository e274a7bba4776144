//! Flags of every command.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Flags that every command accepts.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Console")]
pub(in crate::cli) struct GlobalArgs {
    /// Format of progress, warnings and errors on standard error; json writes one object per line
    #[arg(long, global = true, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(in crate::cli) log_format: LogFormat,
    /// Hide progress and notes; still print warnings, errors and results
    #[arg(long, short, global = true)]
    pub(in crate::cli) quiet: bool,
    /// Number of threads, 1 to 256 [default: one per core]; the result does not depend on it
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), allow_negative_numbers = true)]
    pub(in crate::cli) threads: Option<u16>,
    /// TOML file with flags: a table for each command, a key for each flag; flags that are typed win
    #[arg(long, global = true, value_name = "FILE")]
    pub(in crate::cli) config: Option<PathBuf>,
    /// Output file for the flags of this run, for --config [default of a release: OUT.config.toml, written at its end]
    #[arg(long, global = true, value_name = "FILE")]
    pub(in crate::cli) save_config: Option<PathBuf>,
    /// Replace output files that exist already; without it they are refused before anything is read or spent
    #[arg(long, global = true)]
    pub(in crate::cli) overwrite: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum LogFormat {
    #[default]
    Text,
    Json,
}
