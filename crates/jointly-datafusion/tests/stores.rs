//! Tables in object stores are those of the disk.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::arrow::array::{Int64Array, RecordBatch};
use datafusion::dataframe::DataFrameWriteOptions;
use datafusion::prelude::SessionContext;
use jointly::Schema;
use jointly::data::{CountPlan, CountRequest, CountedParts, Projectable as _};
use jointly::domain::Clique;

const PROGRAM: &str = env!("CARGO_BIN_EXE_jointly-datafusion");

/// A folder, served as S3 serves the bucket `census`, and as a web server does at `/`. Requests without a signature are refused where
/// S3 asks for one.
struct Server {
    address: SocketAddr,
    /// Requests for a part of a file.
    parts: Arc<AtomicUsize>,
}

impl Server {
    fn start(folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let parts = Arc::new(AtomicUsize::new(0));
        let (folder, counted) = (folder.to_owned(), Arc::clone(&parts));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (folder, counted) = (folder.clone(), Arc::clone(&counted));
                std::thread::spawn(move || answer(&stream.unwrap(), &folder, &counted));
            }
        });
        Self { address, parts }
    }

    /// A command of the program with the credentials of the store.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).env("AWS_ENDPOINT", format!("http://{}", self.address));
        command.env("AWS_ALLOW_HTTP", "true").env("AWS_REGION", "eu-central-1");
        command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
        command
    }
}

/// Answers one request.
fn answer(stream: &TcpStream, folder: &Path, parts: &AtomicUsize) {
    let mut head = String::new();
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    while lines.read_line(&mut head).unwrap_or(0) > 2 {}
    let mut words = head.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let header = |name: &str| {
        let line = head.lines().find(|line| line.to_lowercase().starts_with(name));
        line.and_then(|line| Some(line.split_once(':')?.1.trim().to_owned()))
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let of_bucket = path
        .strip_prefix("/census")
        .filter(|rest| matches!(rest.as_bytes().first(), None | Some(b'/')));
    let is_signed = header("authorization").is_some_and(|text| text.contains("Credential=key/"));
    let respond = |status: &str, more: &str, body: &[u8]| {
        let length = body.len();
        let text = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{more}\r\n"
        );
        let mut stream = stream;
        let _ = stream.write_all(text.as_bytes());
        if method != "HEAD" {
            let _ = stream.write_all(body);
        }
    };
    if of_bucket.is_some() && !is_signed {
        return respond("403 Forbidden", "", b"<Error><Code>AccessDenied</Code></Error>");
    }
    if query.contains("list-type=2") {
        return respond("200 OK", "", listed(folder, query).as_bytes());
    }
    let file = folder.join(of_bucket.unwrap_or(path).trim_start_matches('/'));
    let Ok(content) = fs::read(&file) else {
        return respond("404 Not Found", "", b"<Error><Code>NoSuchKey</Code></Error>");
    };
    let dated =
        "Last-Modified: Sun, 29 Nov 2026 12:00:00 GMT\r\nETag: \"1\"\r\nAccept-Ranges: bytes\r\n";
    match header("range").and_then(|range| Some(range.strip_prefix("bytes=")?.to_owned())) {
        Some(range) if method == "GET" => {
            parts.fetch_add(1, Ordering::Relaxed);
            let (from, to) = range.split_once('-').unwrap();
            let last = content.len() - 1;
            let (from, to) = match (from, to) {
                ("", to) => (content.len() - to.parse::<usize>().unwrap(), last),
                (from, "") => (from.parse().unwrap(), last),
                (from, to) => (from.parse().unwrap(), to.parse::<usize>().unwrap().min(last)),
            };
            let more = format!("{dated}Content-Range: bytes {from}-{to}/{}\r\n", content.len());
            respond("206 Partial Content", &more, &content[from..=to]);
        }
        // Of the whole file, a HEAD has the length only.
        _ => respond("200 OK", dated, &content),
    }
}

/// The answer of S3 to a request for names.
fn listed(folder: &Path, query: &str) -> String {
    let prefix = query.split('&').find_map(|part| part.strip_prefix("prefix="));
    let prefix = prefix.unwrap_or_default().replace("%2F", "/");
    let mut found = String::new();
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder.join(&prefix)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let (name, size) =
            (file.file_name().unwrap().to_str().unwrap(), file.metadata().unwrap().len());
        write!(
            found,
            "<Contents><Key>{prefix}{name}</Key><LastModified>2026-11-29T12:00:00.000Z</LastModified><ETag>1</ETag><Size>{size}</Size></Contents>"
        )
        .unwrap();
    }
    format!("<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>")
}

fn plan() -> CountPlan {
    let schema = Schema::from_json(r#"{"sex": 2, "age": 50}"#, "domain.json").unwrap();
    CountPlan::new(&schema, &[Clique::new([0, 1])]).unwrap()
}

/// Four files of a folder `people`.
async fn written(folder: &Path) {
    fs::create_dir(folder.join("people")).unwrap();
    for file in 0..4_i64 {
        let row = |row: i64| row.wrapping_mul(2_654_435_761) >> 7;
        let numbers = || (file * 5000)..(file * 5000 + 5000);
        let sex: Int64Array = numbers().map(|r| row(r) % 2).collect();
        let age: Int64Array = numbers().map(|r| row(r) / 2 % 50).collect();
        let rows =
            RecordBatch::try_from_iter([("age", Arc::new(age) as _), ("sex", Arc::new(sex) as _)]);
        let frame = SessionContext::new().read_batch(rows.unwrap()).unwrap();
        let path = folder.join(format!("people/part-{file}.parquet"));
        let options = DataFrameWriteOptions::new().with_single_file_output(true);
        frame.write_parquet(path.to_str().unwrap(), options, None).await.unwrap();
    }
    fs::write(folder.join("one.csv"), "sex,age\n0,1\n1,2\n").unwrap();
}

/// What the program says to a request for the counts of a query.
fn asked(mut command: Command, query: &str) -> Output {
    let request = CountRequest { query: query.into(), units: None, plan: plan() };
    let mut process = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    process.stdin.take().unwrap().write_all(request.to_json().unwrap().as_bytes()).unwrap();
    process.wait_with_output().unwrap()
}

fn failure(command: Command, query: &str) -> String {
    let output = asked(command, query);
    assert!(!output.status.success() && output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

fn counts(output: &Output) -> Vec<u32> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let counted = CountedParts::from_bytes(&output.stdout, "counts").unwrap();
    counted.finish("counts").unwrap().project(&Clique::new([0, 1])).unwrap()
}

#[tokio::test]
async fn a_folder_of_a_bucket_and_a_file_of_a_web_server_have_the_counts_of_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path()).await;
    let server = Server::start(folder.path());
    let place = |name: &str| format!("SELECT * FROM '{}'", folder.path().join(name).display());
    let on_disk = |name: &str| {
        let mut command = Command::new(PROGRAM);
        command.arg("count");
        counts(&asked(command, &place(name)))
    };
    let expected = on_disk("people");
    assert_eq!(expected.iter().sum::<u32>(), 20_000);
    let there = asked(server.command(&["count"]), "SELECT * FROM 's3://census/people/'");
    assert_eq!(counts(&there), expected);
    assert!(server.parts.load(Ordering::Relaxed) >= 4, "files are read in parts");
    let one =
        asked(server.command(&["count"]), "SELECT * FROM 's3://census/people/part-2.parquet'");
    assert_eq!(counts(&one), on_disk("people/part-2.parquet"));
    let text = asked(server.command(&["count"]), "SELECT * FROM 's3://census/one.csv'");
    assert_eq!(counts(&text), on_disk("one.csv"));
    // One query may name several places.
    let both = "SELECT sex, age FROM 's3://census/people/' UNION ALL SELECT CAST(sex AS BIGINT), CAST(age AS BIGINT) FROM ";
    let both = asked(
        server.command(&["count"]),
        &format!("{both} '{}'", folder.path().join("one.csv").display()),
    );
    assert_eq!(counts(&both).iter().sum::<u32>(), 20_002);
    let web = format!("SELECT * FROM 'http://{}/people/part-2.parquet'", server.address);
    assert_eq!(counts(&asked(server.command(&["count"]), &web)), on_disk("people/part-2.parquet"));
}

/// A worker in a process of its own, which ends with this value.
struct Worker {
    process: Child,
    address: String,
}

impl Worker {
    fn start(server: &Server) -> Self {
        let mut command = server.command(&["worker", "--listen", "127.0.0.1:0"]);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { process, address }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

#[tokio::test]
async fn workers_read_the_bucket_themselves() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path()).await;
    let server = Server::start(folder.path());
    let workers = [Worker::start(&server), Worker::start(&server)];
    let mut arguments = vec!["count", "--bytes-per-partition", "1"];
    arguments.extend(workers.iter().flat_map(|worker| ["--worker", &worker.address]));
    let alone = asked(server.command(&["count"]), "SELECT * FROM 's3://census/people/'");
    let shared = asked(server.command(&arguments), "SELECT * FROM 's3://census/people/'");
    assert_eq!(counts(&shared), counts(&alone));
}

#[tokio::test]
async fn a_store_that_refuses_or_is_unknown_is_named() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path()).await;
    let server = Server::start(folder.path());
    let mut stranger = server.command(&["count"]);
    stranger.env("AWS_ACCESS_KEY_ID", "stranger");
    let error = failure(stranger, "SELECT * FROM 's3://census/people/'");
    assert!(error.contains("table 's3://census/people/' cannot be read with"), "{error}");
    assert!(error.contains("AWS_*"), "{error}");
    let error = failure(server.command(&["count"]), "SELECT * FROM 's3://census/nobody.parquet'");
    assert!(error.contains("table 's3://census/nobody.parquet' cannot be read with"), "{error}");
    fs::create_dir(folder.path().join("empty")).unwrap();
    let error = failure(server.command(&["count"]), "SELECT * FROM 's3://census/empty/'");
    assert!(error.contains("neither .parquet nor .csv"), "{error}");
    let error = failure(server.command(&["count"]), "SELECT * FROM 'ftp://census/people.parquet'");
    assert!(error.contains("ftp://, expected s3://"), "{error}");
    // Private rows cross no network in the clear.
    let error =
        failure(server.command(&["count"]), "SELECT * FROM 'http://example.org/people.parquet'");
    assert!(error.contains("http://, expected s3://"), "{error}");
}
