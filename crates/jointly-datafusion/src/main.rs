//! `jointly-datafusion`: counts private tables for `jointly --private-table`, on one machine or many.

use std::error::Error;
use std::io::{Write as _, stdin, stdout};
use std::net::TcpListener;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use jointly::data::{CountRequest, CountedParts};
use jointly_datafusion::{Cluster, count, count_units, serve, session, tables};
use url::Url;

/// Count private tables inside DataFusion, for jointly --private-table.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Count what jointly asks for: reads a request from standard input, and writes exact, private counts to standard output
    Count(CountArgs),
    /// Count parts of tables for others, until it is stopped
    Worker(WorkerArgs),
}

#[derive(Args, Debug)]
struct CountArgs {
    /// Address of a worker, as it says itself; repeatable [default: this machine alone]
    #[arg(long, value_name = "URL")]
    worker: Vec<Url>,
    /// Bytes of Parquet that one core of a worker should read [default: 16777216]
    #[arg(long, value_name = "N", requires = "worker")]
    bytes_per_partition: Option<usize>,
}

#[derive(Args, Debug)]
struct WorkerArgs {
    /// Address to listen on; whoever reaches it can read what this machine can read
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDRESS")]
    listen: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Count(args) => answer(&args).await,
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

async fn answer(args: &CountArgs) -> Result<(), Box<dyn Error>> {
    let request = CountRequest::from_json(&std::io::read_to_string(stdin())?)?;
    let CountRequest { query, units, plan } = &request;
    let counter = if args.worker.is_empty() {
        let context = session()?;
        tables::register_named(&context, query).await?;
        match units {
            Some(units) => count_units(&context, query, plan, units).await?,
            None => count(&context, query, plan).await?,
        }
    } else {
        let cluster = Cluster::new(args.worker.clone(), args.bytes_per_partition)?;
        tables::register_named(cluster.context(), query).await?;
        match units {
            Some(units) => cluster.count_units(query, plan, units).await?,
            None => cluster.count(query, plan).await?,
        }
    };
    // Rows that do not fit are refused here, before anything of them is said.
    let mut counts = match units {
        Some(units) => CountedParts::of_units(counter, query, units.clone())?,
        None => CountedParts::of_counter(counter, query)?,
    };
    Ok(stdout().write_all(&counts.to_bytes()?)?)
}
