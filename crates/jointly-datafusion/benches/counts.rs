//! Counting inside DataFusion beside scanning, and beside its own GROUP BYs:
//! `cargo bench --bench counts -- FILE.parquet SCHEMA.json [WORKLOAD] [MAX_CELLS]`.
//!
//! Prints, for the columns of the schema, the seconds of reading them, of `jointly_count`, and of one GROUP BY a clique; the last one for at
//! most 105 cliques. With `WORKERS=N` in the environment, also the seconds with N workers in this process.

use std::error::Error;
use std::net::TcpListener;
use std::time::Instant;

use datafusion::arrow::array::RecordBatch;
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use jointly::data::Projectable;
use jointly::observe::Silent;
use jointly::synthesis::CountJob;
use jointly_datafusion::{Cluster, count, serve, tables};
use serde_json::json;

const MOST: usize = 105;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let [file, schema, rest @ ..] = &words[..] else {
        return Err("expected FILE.parquet SCHEMA.json [WORKLOAD] [MAX_CELLS]".into());
    };
    let workload = rest.first().map_or("all-2-way", String::as_str);
    let most = rest.get(1).map(|most| most.parse::<u64>()).transpose()?;
    let settings = json!({
        "schema": schema, "workload": workload, "max-cells": most, "mechanism": "aim",
    });
    let started = Instant::now();
    let plan = CountJob::from_settings(settings)?.plan(&mut Silent)?;
    println!(
        "{} cliques, {} cells, planned in {:.2} s",
        plan.cliques().len(),
        plan.cells(),
        started.elapsed().as_secs_f64()
    );

    let context = SessionContext::new();
    tables::register(&context, "people", file).await?;
    let names: Vec<String> =
        plan.schema().attributes().map(|column| format!("\"{}\"", column.name)).collect();
    let query = format!("SELECT {} FROM people", names.join(", "));

    for _ in 0..2 {
        let (started, mut rows) = (Instant::now(), 0);
        let mut streams = context.sql(&query).await?.execute_stream_partitioned().await?;
        let tasks: Vec<_> = streams
            .drain(..)
            .map(|mut stream| {
                tokio::spawn(async move {
                    let mut rows = 0;
                    while let Some(batch) = stream.next().await {
                        rows += batch.map_or(0, |batch| batch.num_rows());
                    }
                    rows
                })
            })
            .collect();
        for task in tasks {
            rows += task.await?;
        }
        println!("scan of {rows} rows: {:.2} s", started.elapsed().as_secs_f64());

        let started = Instant::now();
        let counted = count(&context, "SELECT * FROM people", &plan).await?.finish()?;
        let seconds = started.elapsed().as_secs_f64();
        println!("jointly_count of {} rows: {seconds:.2} s", counted.records());
    }

    if let Ok(number) = std::env::var("WORKERS") {
        let mut workers = Vec::new();
        for _ in 0..number.parse::<usize>()? {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            workers.push(format!("http://{}", listener.local_addr()?).parse()?);
            tokio::spawn(serve(listener));
        }
        let cluster = Cluster::new(workers, None)?;
        tables::register(cluster.context(), "people", file).await?;
        let started = Instant::now();
        let counted = cluster.count("SELECT * FROM people", &plan).await?.finish()?;
        let seconds = started.elapsed().as_secs_f64();
        println!("with {number} workers, {} rows: {seconds:.2} s", counted.records());
    }

    let started = Instant::now();
    let mut groups = 0;
    let cliques: Vec<_> = plan.cliques().iter().filter(|c| c.len() > 1).take(MOST).collect();
    for clique in &cliques {
        let names: Vec<&str> = clique.iter().map(|a| names[a].as_str()).collect();
        let names = names.join(", ");
        let sql = format!("SELECT {names}, COUNT(*) FROM people GROUP BY {names}");
        groups += context
            .sql(&sql)
            .await?
            .collect()
            .await?
            .iter()
            .map(RecordBatch::num_rows)
            .sum::<usize>();
    }
    println!(
        "{} GROUP BYs of DataFusion, {groups} groups: {:.2} s",
        cliques.len(),
        started.elapsed().as_secs_f64()
    );
    Ok(())
}
