//! `jointly tune`: parameters of a mechanism, chosen on public tables alone.

use std::fmt::Write;

use jointly::data::{PublicData, read_csv, read_public_csv};
use jointly::domain::Schema;
use jointly::experiment::{Candidate, Tuning, TuningResult};
use jointly::observe::Silent;
use jointly::privacy::Budget;
use jointly::synthesis::{PublicFile, is_same_file, without_groups};
use serde_json::{Value, json};

use super::args::TuneArgs;
use super::console::{self, Console};
use super::failure::{Failure, Outcome};
use super::format::{grouped, short};
use super::run;

pub(super) fn run(args: &TuneArgs, console: Console) -> Outcome {
    run::check_parameters(&args.mechanism)?;
    let tuning = Tuning {
        mechanism: args.mechanism.mechanism.clone(),
        parameters: args.mechanism.parameters.clone(),
        grids: args.candidates.clone(),
        seeds: args.seeds,
        budget: Budget::approximate(args.epsilon, args.delta)?,
        relation: args.neighbors,
        records: args.records,
    };
    tuning.check()?;
    let files = args.public.iter().map(|text| text.parse());
    let files = files.collect::<jointly::Result<Vec<PublicFile>>>()?;
    if let Some(same) = files.iter().find(|file| is_same_file(&args.stand_in, &file.path)) {
        let (file, expected) = (same.path.display(), "a second public table to stand in");
        let message = format!("{file} is both --stand-in and --public, expected {expected}");
        return Err(Failure::usage(message));
    }
    let schema = Schema::read(&args.schema)?;
    let domain = schema.domain();
    let (workload, _) = args.workload.source()?.read(&domain)?;
    let groups = tuning.parameters.get("groups").and_then(Value::as_array).into_iter().flatten();
    let groups: Vec<String> = groups.filter_map(Value::as_str).map(str::to_owned).collect();
    let public_schema = without_groups(&groups, &schema)?;
    let stand_in = read_csv(&args.stand_in, &schema)?;
    let mut public = Vec::with_capacity(files.len());
    for file in &files {
        let table = read_public_csv(&file.path, &public_schema)?;
        public.push(PublicData::new(&file.name, table, &domain)?);
    }
    console.warning(
        "the table of --stand-in must be public: its exact errors are shown, and nothing is spent",
    );
    let tuned = tuning.run(&stand_in, &public, &workload, &mut Silent, &mut |candidate| {
        let text = format!("{}: {}", candidate.described(), outcome(candidate));
        console.note("tried", &text, json!({ "errors": candidate.errors }));
    })?;
    if args.json {
        let chosen = json!({ "tuned": tuned, "synth": flags(&tuned), "is_public": true });
        console::json_result(&chosen)
    } else {
        console::result(&text(&tuned, stand_in.records(), args.seeds))
    }
}

/// The mean error of a candidate, its range over the seeds, or why it was refused.
fn outcome(candidate: &Candidate) -> String {
    match (candidate.mean(), &candidate.refused) {
        (Some(mean), _) => {
            let least = candidate.errors.iter().copied().fold(f64::INFINITY, f64::min);
            let most = candidate.errors.iter().copied().fold(0.0, f64::max);
            format!("{:>8}  {:>8} to {}", short(mean), short(least), short(most))
        }
        (None, refused) => format!("refused: {}", refused.as_deref().unwrap_or("no run")),
    }
}

fn text(tuned: &TuningResult, records: usize, seeds: u32) -> String {
    let mut text = format!(
        "Workload errors of {} on the stand-in's {} records, rho {}, {seeds} seeds each:\n\n",
        tuned.mechanism,
        grouped(records as u64),
        short(tuned.rho),
    );
    let described = tuned.candidates.iter().map(Candidate::described);
    let width = described.map(|text| text.len()).max().unwrap_or(0);
    _ = writeln!(text, "  {:<width$}  {:>8}  least to most", "candidate", "mean");
    for (position, candidate) in tuned.candidates.iter().enumerate() {
        let mark = if position == tuned.best { "*" } else { " " };
        _ = writeln!(text, "{mark} {:<width$}  {}", candidate.described(), outcome(candidate));
    }
    _ = write!(
        text,
        "\nThe choice for synth:\n  {}\n\nThe choice is public: it comes from public tables alone, no private table \
         was read, and no budget was\nspent. It is as good as the stand-in resembles the private table.\n",
        flags(tuned),
    );
    text
}

/// The chosen parameters as flags of `synth`: `--mechanism jam-pgm --rounds 20`.
fn flags(tuned: &TuningResult) -> String {
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut text = format!("--mechanism {}", tuned.mechanism);
    for (name, value) in &tuned.parameters {
        let value = match value {
            Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(","),
            other => plain(other),
        };
        _ = write!(text, " --{name} {value}");
    }
    text
}
