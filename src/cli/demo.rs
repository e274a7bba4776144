//! `jointly demo`: a complete synthesis on example tables, with a summary.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use jointly::data::{Dataset, Labels, draft_unlikely, write_csv_file, write_text};
use jointly::demo::{self, Generator};
use jointly::evaluation::WorkloadError;
use jointly::report::in_words;
use jointly::synthesis::{PublicFile, Synthesized, check_files};
use jointly::{Error, Job};
use serde_json::json;

use super::args::DemoArgs;
use super::console::{self, Console};
use super::failure::Outcome;
use super::format::{duration, grouped, short};
use super::run;

/// δ of the demonstration, far below 1 / number of records.
const DELTA: f64 = 1e-9;

/// What the folder gets.
const FILES: [&str; 8] = [
    "private.csv",
    "public.csv",
    "schema.json",
    "synthetic.csv",
    "model.json",
    "ledger.json",
    "report.html",
    "report.json",
];

/// The generator of the private table, a fictional state.
const PRIVATE: Generator = Generator { records: 40_000, seed: 1, drift: 0.0 };

/// The generator of the public table, a neighboring state: smaller, and somewhat different.
const PUBLIC: Generator = Generator { records: 20_000, seed: 2, drift: 0.3 };

pub(super) fn run(args: &DemoArgs, console: Console) -> Outcome {
    let started = Instant::now();
    let job = Job { existing: console.existing, ..job(args) };
    job.budget()?;
    console::check_folder("--dir", &args.dir)?;
    make_folder(&args.dir)?;
    let tables = [("private.csv", PRIVATE), ("public.csv", PUBLIC)];
    let written = tables.map(|(name, _)| args.dir.join(name));
    let outputs = FILES.map(|name| args.dir.join(name));
    let outputs: Vec<(&str, &Path)> = outputs.iter().map(|path| ("--dir", &**path)).collect();
    check_files(&[], &outputs, console.existing)?;
    let schema = demo::schema()?;
    for (path, (_, generator)) in written.iter().zip(tables) {
        write_csv_file(path, &generator.generate()?, &schema, Labels::Codes, generator.seed)?;
    }
    // What no public person is like, such as a married child, no synthetic one will be.
    let [_, public] = &written;
    let schema = draft_unlikely(&schema, &[public])?.schema;
    write_text(&args.dir.join("schema.json"), &(schema.to_json()? + "\n"))?;
    let text = format!(
        "made up a private state of {} people and a public neighbor of {}",
        grouped(PRIVATE.records as u64),
        grouped(PUBLIC.records as u64)
    );
    console.note("tables", &text, json!({ "dir": args.dir.display().to_string() }));
    let done = run::synthesize(&job, console)?;
    let account = Account::new(&PRIVATE.generate()?, &done)?;
    console::result(&account.text(args, &job, &done, started.elapsed().as_secs_f64()))
}

/// The job, as `jointly synth` would run it.
fn job(args: &DemoArgs) -> Job {
    let file = |name: &str| args.dir.join(name);
    let mut job = Job::new(file("private.csv"), file("schema.json"), args.epsilon, DELTA);
    job.public.push(PublicFile { name: "neighbor".into(), path: file("public.csv") }.into());
    job.max_cells = Some(10_000);
    job.parameters.insert("size-limit-mib".into(), 20.0.into());
    job.error_share = Some(0.05);
    job.seed = args.seed;
    job.out = Some(file("synthetic.csv"));
    job.model = Some(file("model.json"));
    job.ledger = Some(file("ledger.json"));
    job.report = Some(file("report.html"));
    job
}

fn make_folder(folder: &Path) -> Outcome {
    fs::create_dir_all(folder).map_err(|source| Error::Io {
        action: "create",
        path: PathBuf::from(folder),
        source,
    })?;
    // The ledger of an earlier demonstration is about other invented people.
    _ = fs::remove_file(folder.join("ledger.json"));
    Ok(())
}

/// Workload errors of the result and of two baselines.
struct Account {
    synthetic: f64,
    public: f64,
    independent: f64,
}

impl Account {
    /// `real`: the invented people, made up once more: of a run, nothing of its private table is left.
    fn new(real: &Dataset, done: &Synthesized) -> Outcome<Self> {
        let workload = &done.tables.workload;
        let error = |table: &Dataset| WorkloadError::between(real, table, workload, 0);
        let public = done
            .tables
            .public
            .first()
            .map_or(Ok(f64::NAN), |public| error(public.table()?).map(|error| error.mean_l1))?;
        Ok(Self {
            synthetic: error(&done.rows)?.mean_l1,
            public,
            independent: WorkloadError::of_independence(real, workload, 0)?.mean_l1,
        })
    }

    fn text(&self, args: &DemoArgs, job: &Job, done: &Synthesized, seconds: f64) -> String {
        let release = &done.release;
        let (private, _) = release.provenances();
        let [epsilon, delta] = [job.epsilon, job.delta].map(Option::unwrap_or_default);
        let folder = args.dir.display();
        let marker = if release.is_private {
            ""
        } else {
            "\nNOT PRIVATE: the noise came from a fixed seed.\n"
        };
        format!(
            "\
{marker}
What it did   {records} synthetic people of {attributes} attributes, from {private} marginals measured
              privately and a model of the public neighbor, published as:
              {published}.
What it spent {spent} of rho {rho} (epsilon {epsilon}, delta {delta:e}), in {time}.
How good      mean L1 distance of {cliques} three-way marginals from the private table (0 to 2):

                synthetic table                         {synthetic}
                the public neighbor itself              {public}
                one-way marginals, independent          {independent}

              The private people are made up, so comparing with them does no harm here. On real
              records such numbers are not private: that is what `jointly evaluate` says. What a
              release may say of itself is what it pays for, 5 % of the budget here:
              {measured}.

Files in {folder}:
  private.csv, public.csv, schema.json             what went in
  synthetic.csv, model.json                        what came out
  ledger.json, report.html, report.json            what was spent on what; look at report.html first
",
            measured = release.errors().map_or_else(String::new, |errors| in_words(errors, "records")),
            published = release.public_trust.as_ref().map_or("a fit", |trust| trust.published),
            records = grouped(done.rows.records() as u64),
            attributes = done.rows.domain().len(),
            spent = run::spent_share(done),
            rho = short(release.ledger.limit().to_f64()),
            time = duration(seconds),
            cliques = grouped(done.tables.workload.len() as u64),
            synthetic = short(self.synthetic),
            public = short(self.public),
            independent = short(self.independent),
        )
    }
}
