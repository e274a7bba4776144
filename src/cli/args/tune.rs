//! Flags of `jointly tune`.

use std::path::PathBuf;

use clap::Args;
use jointly::experiment::Grid;
use jointly::privacy::NeighboringRelation;

use super::{MechanismArgs, WorkloadArgs, named};

#[derive(Args, Debug)]
pub(in crate::cli) struct TuneArgs {
    /// The public table that stands in for the private one, with all attributes. Never the private table: the errors
    /// shown are exact
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) stand_in: PathBuf,
    /// A public table that synth will have; repeatable
    #[arg(long, value_name = "[NAME=]FILE")]
    pub(in crate::cli) public: Vec<String>,
    /// The schema: schema.json or domain.json
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) schema: PathBuf,
    /// Privacy budget that synth will have: epsilon, above 0
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub(in crate::cli) epsilon: f64,
    /// Privacy budget that synth will have: delta, between 0 and 1
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub(in crate::cli) delta: f64,
    /// Number of private records, if public, or an estimate; noise is scaled to it [default: as many as the stand-in]
    #[arg(long, value_name = "N", value_parser = super::count, allow_negative_numbers = true)]
    pub(in crate::cli) records: Option<u64>,
    #[command(flatten)]
    pub(in crate::cli) mechanism: MechanismArgs,
    #[command(flatten)]
    pub(in crate::cli) workload: WorkloadArgs,
    /// Values to try of a numeric parameter; repeatable, all combinations are tried
    #[arg(long, default_value = "rounds=5,10,20,40,80", value_name = "NAME=VALUE,...")]
    pub(in crate::cli) candidates: Vec<Grid>,
    /// Number of runs of each candidate, with the seeds 0, 1, ...
    #[arg(long, default_value_t = 5, value_name = "K", allow_negative_numbers = true)]
    pub(in crate::cli) seeds: u32,
    /// Neighboring relation that synth will have
    #[arg(long, value_parser = named::<NeighboringRelation>(NeighboringRelation::NAMES), default_value = "replace-one", value_name = "RELATION")]
    pub(in crate::cli) neighbors: NeighboringRelation,
    /// Print JSON instead of text
    #[arg(long)]
    pub(in crate::cli) json: bool,
}
