//! `jointly-datafusion`: counts tables for `jointly synth --private`, by SQL, on one machine or many.

use std::error::Error;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use datafusion::prelude::SessionContext;
use jointly::data::{CountPlan, CountedParts, Counter, Keep, Units};
use jointly::observe::Silent;
use jointly::synthesis::{CountJob, PublicFile, reserve_files};
use jointly_datafusion::{Cluster, count, count_units, serve, tables};
use serde_json::{Map, Value, json};
use url::Url;

/// Count private tables inside DataFusion, for jointly synth.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Count the rows of a query; the counts are exact and private, for jointly synth --private
    Count(Box<CountArgs>),
    /// Count parts of queries for others, until it is stopped
    Worker(WorkerArgs),
}

#[derive(Args, Debug)]
struct CountArgs {
    /// A table of the query: Parquet, CSV (commas, UTF-8, a header), or a folder of such files; repeatable
    #[arg(long, required = true, value_name = "[NAME=]PLACE")]
    table: Vec<PublicFile>,
    /// The rows to count [default: all of the first table]
    #[arg(long, value_name = "SQL")]
    query: Option<String>,
    /// The schema: schema.json or domain.json
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    /// Workload of marginals, as for jointly synth
    #[arg(long, default_value = "all-3-way", value_name = "all-K-way|FILE")]
    workload: String,
    /// Leave out cliques of the workload with more than N cells
    #[arg(long, value_name = "N")]
    max_cells: Option<u64>,
    /// Column with the survey weight of each record, with bins in the schema
    #[arg(long, value_name = "COLUMN")]
    weight: Option<String>,
    /// Column that identifies the unit of each record, as for jointly synth
    #[arg(long, value_name = "COLUMN", requires = "max_records")]
    unit: Option<String>,
    /// Maximum number of records per unit: those with the smallest hashes, as of jointly synth --keep hash
    #[arg(long, value_name = "K", requires = "unit")]
    max_records: Option<u32>,
    /// Columns, separated by commas, that all records of a unit share, as for jointly synth
    #[arg(long, value_delimiter = ',', value_name = "NAME,...", requires = "unit")]
    unit_columns: Vec<String>,
    /// The mechanism of jointly synth, which decides what must be counted
    #[arg(long, default_value = "anchor-pgm", value_name = "NAME")]
    mechanism: String,
    /// A parameter of the mechanism, as of jointly synth, with a value in JSON; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = parameter)]
    parameter: Vec<(String, Value)>,
    /// Address of a worker, as it says itself; repeatable [default: this machine alone]
    #[arg(long, value_name = "URL")]
    worker: Vec<Url>,
    /// Bytes of Parquet that one core of a worker should read [default: 16777216]
    #[arg(long, value_name = "N", requires = "worker")]
    bytes_per_partition: Option<usize>,
    /// Output file for the counts; on Unix, only its owner may read it
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace the output file if it exists
    #[arg(long)]
    overwrite: bool,
}

#[derive(Args, Debug)]
struct WorkerArgs {
    /// Address to listen on; whoever reaches it can read what this machine can read
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDRESS")]
    listen: String,
}

fn parameter(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| value.into())))
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Count(args) => counted(&args).await,
        Command::Worker(args) => work(&args).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn work(args: &WorkerArgs) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(&args.listen)
        .map_err(|error| format!("--listen {}: {error}", args.listen))?;
    println!("listening on http://{}", listener.local_addr()?);
    Ok(serve(listener).await?)
}

async fn counted(args: &CountArgs) -> Result<(), Box<dyn Error>> {
    let existing = if args.overwrite {
        jointly::synthesis::Existing::Replaced
    } else {
        jointly::synthesis::Existing::Refused
    };
    let mut inputs = vec![("--schema", &*args.schema)];
    inputs.extend(args.table.iter().map(|table| ("--table", &*table.path)));
    let _reserved = reserve_files(&inputs, &[("--out", &args.out)], existing)?;
    let job = job(args)?;
    let (plan, units) = (job.plan(&mut Silent)?, job.units()?);
    let query = match (&args.query, args.table.first()) {
        (Some(query), _) => query.clone(),
        (None, Some(table)) => format!("SELECT * FROM \"{}\"", table.name.replace('"', "\"\"")),
        (None, None) => String::new(),
    };
    let counter = counter(args, &query, &plan, units.as_ref()).await?;
    // Rows that do not fit are refused here, and not by a later run.
    let mut counts = match units {
        Some(units) => CountedParts::of_units(counter, &query, units)?,
        None => CountedParts::of_counter(counter, &query)?,
    };
    counts.write(&args.out)?;
    let marginals = plan.cliques().len();
    println!(
        "{}: exact counts of {marginals} marginals; PRIVATE, as the records are",
        args.out.display()
    );
    Ok(())
}

async fn counter(
    args: &CountArgs,
    query: &str,
    plan: &CountPlan,
    units: Option<&Units>,
) -> Result<Counter, Box<dyn Error>> {
    if args.worker.is_empty() {
        let context = SessionContext::new();
        register(&context, &args.table).await?;
        return Ok(match units {
            Some(units) => count_units(&context, query, plan, units).await?,
            None => count(&context, query, plan).await?,
        });
    }
    let cluster = Cluster::new(args.worker.clone(), args.bytes_per_partition)?;
    register(cluster.context(), &args.table).await?;
    let before = cluster.workers().len();
    let counter = match units {
        Some(units) => cluster.count_units(query, plan, units).await?,
        None => cluster.count(query, plan).await?,
    };
    if cluster.workers().len() < before {
        eprintln!("warning: {} of {before} workers were lost", before - cluster.workers().len());
    }
    Ok(counter)
}

async fn register(context: &SessionContext, all: &[PublicFile]) -> Result<(), Box<dyn Error>> {
    for PublicFile { name, path } in all {
        tables::register(context, name, &path.display().to_string()).await?;
    }
    Ok(())
}

fn job(args: &CountArgs) -> Result<CountJob, Box<dyn Error>> {
    let mut settings = json!({
        "schema": path_of(&args.schema)?,
        "workload": args.workload,
        "max-cells": args.max_cells,
        "weight": args.weight,
        "unit": args.unit,
        "max-records": args.max_records,
        "keep": if args.unit.is_some() { Keep::Hash } else { Keep::First },
        "unit-columns": args.unit_columns,
        "mechanism": args.mechanism,
    });
    if let Some(settings) = settings.as_object_mut() {
        settings.extend(args.parameter.iter().cloned().collect::<Map<_, _>>());
    }
    Ok(CountJob::from_settings(settings)?)
}

fn path_of(path: &Path) -> Result<&str, String> {
    path.to_str().ok_or_else(|| format!("{} is no text in UTF-8", path.display()))
}
