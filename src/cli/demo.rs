//! `jointly demo`: the whole job on made-up tables, with an account of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use jointly::Error;
use jointly::data::{Dataset, Labels, write_csv_file};
use jointly::demo::{self, Generator};
use jointly::evaluation::WorkloadError;
use serde_json::json;

use super::args::{DemoArgs, MechanismName, ReweightingArgs, WorkloadArgs};
use super::config::{Budget, PublicFile, SynthConfig, Tuning};
use super::console::{self, Console};
use super::failure::Outcome;
use super::format::{duration, grouped, percent, short};
use super::run::{self, Done};
use super::{args, output};

/// δ of the demonstration, far below one over the number of records.
const DELTA: f64 = 1e-9;

/// The private state.
const PRIVATE: Generator = Generator { records: 40_000, seed: 1, drift: 0.0 };

/// The public neighbor: smaller, and somewhat different.
const PUBLIC: Generator = Generator { records: 20_000, seed: 2, drift: 0.3 };

pub(super) fn run(args: &DemoArgs, console: Console) -> Outcome {
    let started = Instant::now();
    let config = config(args)?;
    make_folder(&args.dir)?;
    let tables = [("private.csv", PRIVATE), ("public.csv", PUBLIC)];
    let written = tables.map(|(name, _)| args.dir.join(name));
    let outputs: Vec<(&str, &Path)> = written.iter().map(|path| ("--dir", &**path)).collect();
    output::check(&[], &outputs)?;
    let schema = demo::schema()?;
    output::write_text(&config.schema, &(schema.to_json()? + "\n"))?;
    for (path, (_, generator)) in written.iter().zip(tables) {
        write_csv_file(path, &generator.generate()?, &schema, Labels::Codes, generator.seed)?;
    }
    let text = format!(
        "made up a private state of {} people and a public neighbor of {}",
        grouped(PRIVATE.records as u64),
        grouped(PUBLIC.records as u64)
    );
    console.note("tables", &text, json!({ "dir": args.dir.display().to_string() }));
    let done = run::synthesize(&config, console)?;
    let account = Account::new(&done)?;
    console::result(&account.text(&config, &done, started.elapsed().as_secs_f64()))
}

/// The run as if typed.
fn config(args: &DemoArgs) -> Outcome<SynthConfig> {
    let file = |name: &str| args.dir.join(name);
    let tuning = args::TuningArgs {
        // One an attribute is enough to show how it goes, and quick.
        rounds: Some(32),
        measure_share: None,
        size_limit_mib: 20.0,
        neighbors: args::Neighbors::ReplaceOne,
    };
    Ok(SynthConfig {
        private: file("private.csv"),
        public: vec![PublicFile { name: "neighbor".into(), path: file("public.csv") }],
        schema: file("schema.json"),
        budget: Some(Budget::new(args.epsilon, DELTA)?),
        mechanism: MechanismName::JamPgm,
        workload: WorkloadArgs { workload: "all-3-way".into(), max_cells: Some(10_000) },
        tuning: Tuning::new(&tuning, ReweightingArgs::default(), MechanismName::JamPgm)?,
        ide: args::IdeArgs::default(),
        units: None,
        iterations: 1000,
        rows: None,
        seed: args.seed,
        out: file("synthetic.csv"),
        model: Some(file("model.json")),
        ledger: Some(file("ledger.json")),
        ledger_from: None,
        report: Some(file("report.html")),
        checkpoint: None,
    })
}

fn make_folder(folder: &Path) -> Outcome {
    fs::create_dir_all(folder).map_err(|source| Error::Io {
        action: "create",
        path: PathBuf::from(folder),
        source,
    })?;
    Ok(())
}

/// Workload errors of the result and of two yardsticks.
struct Account {
    synthetic: f64,
    public: f64,
    independent: f64,
}

impl Account {
    fn new(done: &Done) -> Outcome<Self> {
        let (real, workload) = (&done.inputs.private, &done.inputs.workload);
        let error = |table: &Dataset| WorkloadError::between(real, table, workload, 0);
        let public = done
            .inputs
            .public
            .first()
            .map_or(Ok(f64::NAN), |public| error(public.table()).map(|error| error.mean_l1))?;
        Ok(Self {
            synthetic: error(&done.synthetic)?.mean_l1,
            public,
            independent: WorkloadError::of_independence(real, workload, 0)?.mean_l1,
        })
    }

    fn text(&self, config: &SynthConfig, done: &Done, seconds: f64) -> String {
        let release = &done.release;
        let (private, all) = run::taken(release);
        let (spent, limit) = (release.ledger.spent(), release.ledger.limit());
        let share = spent.to_f64() / limit.to_f64();
        let [epsilon, delta] =
            config.budget.map_or([0.0, 0.0], |budget| [budget.epsilon.value(), budget.delta()]);
        let folder = config.out.parent().unwrap_or(Path::new(".")).display();
        let marker = if release.is_private {
            ""
        } else {
            "\nNOT PRIVATE: the noise came from a fixed seed.\n"
        };
        format!(
            "\
{marker}
What it did   {records} synthetic people of {attributes} attributes, from {private} marginals measured
              privately and {free} taken from the public neighbor.
What it spent {spent} of rho {rho} (epsilon {epsilon}, delta {delta:e}), in {time}.
How good      mean L1 distance of {cliques} three-way marginals from the private table (0 to 2):

                synthetic table                         {synthetic}
                the public neighbor itself              {public}
                one-way marginals, independent          {independent}

              The private people are made up, so comparing with them does no harm here. On real
              records such numbers are not private: that is what `jointly evaluate` says.

Files in {folder}:
  private.csv, public.csv, schema.json             what went in
  synthetic.csv, model.json                        what came out
  ledger.json, report.html                         what was spent on what; look at report.html first
",
            records = grouped(done.synthetic.records() as u64),
            attributes = done.synthetic.domain().len(),
            free = all - private,
            spent = percent((share * 1e4).round() / 1e4),
            rho = short(limit.to_f64()),
            time = duration(seconds),
            cliques = grouped(done.inputs.workload.len() as u64),
            synthetic = short(self.synthetic),
            public = short(self.public),
            independent = short(self.independent),
        )
    }
}
