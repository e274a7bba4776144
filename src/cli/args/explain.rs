//! The argument of `explain`.

use clap::Args;

#[derive(Args, Debug)]
pub(in crate::cli) struct ExplainArgs {
    /// A term, the name of an error or its exit code, or a mechanism [default: list all]
    #[arg(value_name = "NAME")]
    pub(in crate::cli) name: Vec<String>,
}
