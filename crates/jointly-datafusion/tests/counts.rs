//! Counts by DataFusion, on one machine and on several, are those of the file.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use datafusion::arrow::array::{Int64Array, ListArray, RecordBatch, StringArray};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::dataframe::DataFrameWriteOptions;
use datafusion::physical_plan::displayable;
use datafusion::prelude::{SessionConfig, SessionContext};
use jointly::data::{CountPlan, CountedTable, Keep, Projectable, Units, read_units_csv_from};
use jointly::domain::Clique;
use jointly::observe::Silent;
use jointly::{Job, Schema};
use jointly_datafusion::{Cluster, count, count_units, tables};
use serde_json::json;
use url::Url;

const SCHEMA: &str = r#"{"columns": [
    {"name": "Sex", "kind": "categorical", "codes": ["1", "2"]},
    {"name": "job", "kind": "categorical", "codes": ["none", "part time", "full time"], "na": true},
    {"name": "age", "kind": "numeric", "edges": [0, 18, 40, 65, 120], "integer": true}
]}"#;

fn plan() -> CountPlan {
    let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
    CountPlan::new(&schema, &[Clique::new([0, 1, 2])]).unwrap()
}

/// Rows that depend on their number alone.
fn rows(from: usize, number: usize) -> RecordBatch {
    let jobs = ["none", "part time", "full time"];
    let row = |row: usize| row.wrapping_mul(2_654_435_761) >> 7;
    let numbers = from..from + number;
    let sex: Int64Array = numbers.clone().map(|r| 1 + i64::from(row(r) % 3 == 0)).collect();
    let job: StringArray = numbers.clone().map(|r| jobs.get(row(r) / 3 % 4).copied()).collect();
    let age: Int64Array = numbers.map(|r| i64::try_from(row(r) / 12 % 100).unwrap()).collect();
    RecordBatch::try_from_iter_with_nullable([
        ("age", Arc::new(age) as _, false),
        ("Sex", Arc::new(sex) as _, false),
        ("job", Arc::new(job) as _, true),
    ])
    .unwrap()
}

/// Writes rows into Parquet files of a folder.
async fn written(folder: &Path, files: usize, each: usize) -> PathBuf {
    let place = folder.join("people");
    std::fs::create_dir(&place).unwrap();
    for file in 0..files {
        let context = SessionContext::new();
        let frame = context.read_batch(rows(file * each, each)).unwrap();
        let path = place.join(format!("part-{file}.parquet"));
        let options = DataFrameWriteOptions::new().with_single_file_output(true);
        frame.write_parquet(path.to_str().unwrap(), options, None).await.unwrap();
    }
    place
}

/// The counts by the library alone.
fn expected(number: usize) -> Vec<u32> {
    let mut counter = plan().counter();
    counter.update_batch(&rows(0, number)).unwrap();
    counts(&counter.finish().unwrap())
}

fn counts(table: &CountedTable) -> Vec<u32> {
    table.project(&Clique::new([0, 1, 2])).unwrap()
}

#[tokio::test]
async fn any_number_of_partitions_gives_the_same_counts() {
    let folder = tempfile::tempdir().unwrap();
    let place = written(folder.path(), 5, 3000).await;
    let expected = expected(15_000);
    for partitions in [1, 4, 16] {
        let config = SessionConfig::new().with_target_partitions(partitions).with_batch_size(100);
        let context = SessionContext::new_with_config(config);
        tables::register(&context, "people", place.to_str().unwrap()).await.unwrap();
        let counted = count(&context, "SELECT * FROM people", &plan()).await.unwrap();
        assert_eq!(counts(&counted.finish().unwrap()), expected, "{partitions} partitions");
    }
}

#[tokio::test]
async fn views_and_text_are_tables_too() {
    let folder = tempfile::tempdir().unwrap();
    let context = SessionContext::new();
    let text = "job,age,Sex\nfull time,17,1\n,64,2\nnone,18,2\n";
    std::fs::write(folder.path().join("people.csv"), text).unwrap();
    let place = folder.path().join("people.csv");
    tables::register(&context, "people", place.to_str().unwrap()).await.unwrap();
    context
        .sql("CREATE VIEW adults AS SELECT * FROM people WHERE CAST(age AS INT) >= 18")
        .await
        .unwrap();
    let counted = count(&context, "SELECT * FROM adults", &plan()).await.unwrap();
    let counted = counted.finish().unwrap();
    assert_eq!(counted.records(), 2);
    assert_eq!(counted.project(&Clique::new([1])).unwrap(), [1, 0, 0, 1]);
    let compressed = tables::register(&context, "more", "people.csv.gz").await.unwrap_err();
    assert!(compressed.to_string().contains("neither .parquet nor .csv"), "{compressed}");
    // No rows at all.
    let counted = count(&context, "SELECT * FROM people WHERE age = '200'", &plan()).await.unwrap();
    assert_eq!(counted.finish().unwrap().records(), 0);
}

#[tokio::test]
async fn what_does_not_fit_is_said_and_nothing_is_counted() {
    let context = SessionContext::new();
    context.register_batch("people", rows(0, 1000)).unwrap();
    let error = count(&context, "SELECT age, job FROM people", &plan()).await.unwrap_err();
    assert!(error.to_string().contains("no column 'Sex' among age, job"), "{error}");
    let query = "SELECT age + 100 AS age, job, \"Sex\" FROM people";
    let error = count(&context, query, &plan()).await.unwrap().finish().unwrap_err().to_string();
    assert!(error.contains("rows against 'age', such as '120'"), "{error}");
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1)])]);
    let one = rows(0, 1);
    let batch = RecordBatch::try_from_iter([
        ("age", Arc::new(lists) as _),
        ("job", one.column_by_name("job").unwrap().clone()),
        ("Sex", one.column_by_name("Sex").unwrap().clone()),
    ]);
    context.register_batch("lists", batch.unwrap()).unwrap();
    let error = count(&context, "SELECT * FROM lists", &plan()).await.unwrap_err().to_string();
    assert!(error.contains("column 'age' of type List"), "{error}");
}

/// People of homes of one to nine, in text: the homes' rows are far apart.
fn homes(number: usize) -> String {
    let jobs = ["none", "part time", "full time", ""];
    let row = |row: usize| {
        let random = row.wrapping_mul(2_654_435_761) >> 7;
        let home = random / 7 % (number / 4);
        // Few kinds of people, so that many rows of a home are equal.
        format!("{},{},h{home},{}\n", 10 * (random / 12 % 10), 1 + random % 2, jobs[random / 3 % 4])
    };
    let rows: String = (0..number).map(row).collect();
    format!("age,Sex,home,job\n{rows}")
}

/// A plan, and the counts of people who count, in memory.
fn of_units(text: &str, units: &Units) -> (CountPlan, Vec<u32>) {
    let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
    let table = read_units_csv_from(text.as_bytes(), "homes", &schema, units).unwrap();
    let schema = match units.agree() {
        // Their number is one more attribute.
        Some(_) => {
            let column = r#", {"name": "home.records", "kind": "numeric", "edges": [1, 2, 3, 4], "integer": true,
                "description": "Records with the same home, of which at most 3 are counted"}]}"#;
            let text = SCHEMA.trim_end().trim_end_matches("]}").to_owned() + column;
            Schema::from_json(&text, "schema.json").unwrap()
        }
        None => schema,
    };
    let all = Clique::new(0..schema.domain().len());
    let plan = CountPlan::new(&schema, std::slice::from_ref(&all)).unwrap();
    let mut counter = plan.counter();
    counter.update(&table).unwrap();
    (plan, counter.finish().unwrap().project(&all).unwrap())
}

async fn people(folder: &Path, text: &str) -> String {
    let place = folder.join("homes.csv");
    std::fs::write(&place, text).unwrap();
    let context = SessionContext::new();
    tables::register(&context, "homes", place.to_str().unwrap()).await.unwrap();
    let parts = folder.join("homes");
    let frame = context.table("homes").await.unwrap();
    let frame = frame.repartition(datafusion::logical_expr::Partitioning::RoundRobinBatch(4));
    let place = parts.to_str().unwrap().to_owned();
    let options = DataFrameWriteOptions::new().with_single_file_output(false);
    frame.unwrap().write_parquet(&format!("{place}/"), options, None).await.unwrap();
    place
}

#[tokio::test]
async fn the_same_rows_of_a_unit_count_as_in_memory_however_they_are_distributed() {
    let folder = tempfile::tempdir().unwrap();
    let text = homes(4000);
    let place = people(folder.path(), &text).await;
    let units = Units::new("home", 3).unwrap().keeping(Keep::Hash);
    for units in [units.clone(), units.linked(["Sex"]).unwrap()] {
        let (plan, expected) = of_units(&text, &units);
        let all = plan.cliques().last().unwrap().clone();
        assert!(expected.iter().sum::<u32>() < 3900, "some rows do not count");
        for (partitions, order) in [(1, "age"), (4, "home DESC"), (16, "job, age DESC")] {
            let config =
                SessionConfig::new().with_target_partitions(partitions).with_batch_size(100);
            let context = SessionContext::new_with_config(config);
            tables::register(&context, "homes", &place).await.unwrap();
            let query = format!("SELECT * FROM homes ORDER BY {order}");
            let counted = count_units(&context, &query, &plan, &units).await.unwrap();
            assert_eq!(
                counted.finish().unwrap().project(&all).unwrap(),
                expected,
                "{partitions} partitions"
            );
        }
    }
}

#[tokio::test]
async fn rows_of_units_that_do_not_fit_are_said_even_where_they_do_not_count() {
    let units = Units::new("home", 1).unwrap().keeping(Keep::Hash);
    let context = SessionContext::new();
    let said = async |query: &str, units: &Units| {
        count_units(&context, query, &plan(), units).await.unwrap_err().to_string()
    };
    let of =
        |rows: &str| format!("SELECT * FROM (VALUES {rows}) AS people(home, age, job, \"Sex\")");
    let fits = of("('a', 1, 'none', 1), ('a', 2, 'none', 1)");
    let counted = count_units(&context, &fits, &plan(), &units).await.unwrap();
    assert_eq!(counted.finish().unwrap().records(), 1);
    for age in [-1, 120] {
        let rows = of(&format!("('a', 1, 'none', 1), ('a', {age}, 'none', 1)"));
        let error = said(&rows, &units).await;
        assert!(error.contains(&format!("a row against 'age', '{age}'")), "{error}");
    }
    let error = said(&of("('a', 1, 'none', 1), (NULL, 2, 'none', 1)"), &units).await;
    assert!(error.contains("a row whose 'home' is"), "{error}");
    let error = said("SELECT 1 AS age, 'none' AS job, 1 AS \"Sex\"", &units).await;
    assert!(error.contains("no column 'home'"), "{error}");
    let error = said(&fits, &Units::new("home", 1).unwrap()).await;
    assert!(error.contains("the first rows of a unit count"), "{error}");
}

/// JAM-PGM on Parquet files through the program, and on one CSV file without it: the same records and the same ledger.
#[tokio::test]
async fn a_whole_run_through_the_program_is_that_on_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let text = homes(4000);
    let place = people(folder.path(), &text).await;
    std::fs::write(path("schema.json"), SCHEMA).unwrap();
    let near: String = text.lines().take(900).map(|line| line.to_owned() + "\n").collect();
    std::fs::write(path("near.csv"), near).unwrap();
    let run = |more: serde_json::Value| {
        let mut settings = json!({
            "schema": path("schema.json"), "public": [format!("near={}", path("near.csv").display())],
            "mechanism": "jam-pgm", "rounds": 6, "workload": "all-2-way", "epsilon": 1.0, "delta": 1e-9, "seed": 7,
        });
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Job::from_settings(settings).unwrap().fit(&mut Silent).unwrap()
    };
    let units = json!({
        "neighbors": "add-remove-one", "unit": "home", "max-records": 3, "keep": "hash", "unit-columns": ["Sex"],
    });
    for more in [json!({}), units] {
        let with = |place: serde_json::Value| {
            let mut all = more.clone();
            all.as_object_mut().unwrap().extend(place.as_object().unwrap().clone());
            run(all)
        };
        let engine = format!("{} count", env!("CARGO_BIN_EXE_jointly-datafusion"));
        let query = format!("SELECT \"Sex\", job, home, age FROM '{place}' WHERE age >= 0");
        let there = with(json!({"private-table": query, "engine": engine}));
        let held = with(json!({"private": path("homes.csv")}));
        assert_eq!(there.release.ledger, held.release.ledger);
        assert_eq!((there.rows, there.units), (held.rows, held.units));
    }
}

/// A worker in a process of its own, which ends with this value.
struct Worker {
    process: Child,
    url: Url,
}

impl Worker {
    fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_jointly-datafusion"))
            .args(["worker", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap().parse().unwrap();
        Self { process, url }
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn cluster(workers: &[Worker], place: &Path) -> Cluster {
    let urls = workers.iter().map(|worker| worker.url.clone()).collect();
    // One byte for each partition: all workers get a part of a small table.
    let cluster = Cluster::new(urls, Some(1)).unwrap();
    tables::register(cluster.context(), "people", place.to_str().unwrap()).await.unwrap();
    cluster
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_share_a_table_and_give_its_counts() {
    let folder = tempfile::tempdir().unwrap();
    let place = written(folder.path(), 8, 2000).await;
    let expected = expected(16_000);
    for number in [1, 4] {
        let workers: Vec<Worker> = (0..number).map(|_| Worker::start()).collect();
        let cluster = cluster(&workers, &place).await;
        let query = cluster.context().sql("SELECT SUM(age) FROM people").await.unwrap();
        let plan_of_query = query.create_physical_plan().await.unwrap();
        // One worker alone is no help: the session reads the table itself.
        let stages = displayable(plan_of_query.as_ref()).indent(false).to_string();
        assert_eq!(
            stages.contains("NetworkCoalesceExec"),
            number > 1,
            "{number} workers: {stages}"
        );
        for target in [1, 4, 16] {
            cluster
                .context()
                .sql(&format!("SET datafusion.execution.target_partitions = {target}"))
                .await
                .unwrap();
            let counted = cluster.count("SELECT * FROM people", &plan()).await.unwrap();
            let found = counts(&counted.finish().unwrap());
            assert_eq!(found, expected, "{number} workers, {target} partitions");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_bring_the_rows_of_a_unit_together() {
    let folder = tempfile::tempdir().unwrap();
    let text = homes(8000);
    let place = people(folder.path(), &text).await;
    let units = Units::new("home", 3).unwrap().keeping(Keep::Hash);
    let (plan, expected) = of_units(&text, &units);
    let workers: Vec<Worker> = (0..4).map(|_| Worker::start()).collect();
    let cluster = cluster(&workers, Path::new(&place)).await;
    let counted = cluster.count_units("SELECT * FROM people", &plan, &units).await.unwrap();
    assert_eq!(counts(&counted.finish().unwrap()), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_worker_changes_no_count() {
    let folder = tempfile::tempdir().unwrap();
    let place = written(folder.path(), 6, 200_000).await;
    let expected = expected(1_200_000);
    let mut lost = Vec::new();
    // Before the query, and at several moments of it, which depend on how long it takes here.
    let workers: Vec<Worker> = (0..3).map(|_| Worker::start()).collect();
    let undisturbed = cluster(&workers, &place).await;
    undisturbed.count("SELECT * FROM people", &plan()).await.unwrap();
    let started = std::time::Instant::now();
    undisturbed.count("SELECT * FROM people", &plan()).await.unwrap();
    let whole = started.elapsed();
    for moment in [0, 10, 25, 40, 55, 70] {
        let mut workers: Vec<Worker> = (0..3).map(|_| Worker::start()).collect();
        let cluster = cluster(&workers, &place).await;
        if moment == 0 {
            workers[1].kill();
        }
        let plan = plan();
        let query = cluster.count("SELECT * FROM people", &plan);
        let lose = async {
            tokio::time::sleep(whole * moment / 100).await;
            workers[1].kill();
        };
        let (counted, ()) = tokio::join!(query, lose);
        let found = counts(&counted.unwrap().finish().unwrap());
        assert_eq!(found, expected, "lost after {moment} % of {whole:?}");
        lost.push(3 - cluster.workers().len());
    }
    // The first one was away from the beginning, and at least one other was missed in the middle of a query.
    assert_eq!(lost[0], 1);
    assert!(lost[1..].contains(&1), "{lost:?}");
    let mut workers = vec![Worker::start(), Worker::start()];
    let cluster = cluster(&workers, &place).await;
    workers.iter_mut().for_each(Worker::kill);
    let error = cluster.count("SELECT * FROM people", &plan()).await.unwrap_err().to_string();
    assert!(error.contains("all workers are lost"), "{error}");
}
