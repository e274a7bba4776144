//! `jointly synth`: translates the arguments into a job, runs it, and prints a summary line.

use std::time::Instant;

use jointly::Job;
use jointly::mechanism;
use jointly::privacy::PrivacyUnit;
use jointly::report::in_words;
use jointly::synthesis::Synthesized;
use serde_json::json;

use super::args::{ChosenMechanism, JobArgs, UnitArgs};
use super::console::{Console, beside};
use super::failure::{Failure, Outcome};
use super::format::{duration, grouped, percent, short};
use super::interrupt::{self, Noting, Told};
use super::progress::Progress;
use super::sample::kept_with;

pub(super) fn run(args: &JobArgs, console: Console) -> Outcome {
    let job = Job { existing: console.existing, ..job(args)? };
    let started = Instant::now();
    let done = synthesize(&job, console)?;
    summary(&job, &done, started.elapsed().as_secs_f64(), console);
    Ok(())
}

/// Runs a job and shows its progress.
pub(super) fn synthesize(job: &Job, console: Console) -> Outcome<Synthesized> {
    console.not_private(job.seed);
    interrupt::begin(Told::new(job.ledger.as_deref(), job.checkpoint.as_deref()));
    let mut progress = Noting(Progress::new(console));
    let done = job.run(&mut progress);
    progress.0.finish();
    match &job.complete {
        Some(_) => done.map_err(|error| kept_with("--keep-columns", error)),
        None => Ok(done?),
    }
}

/// The requested job. Its ledger is written beside its table, unless it has a place of its own.
fn job(args: &JobArgs) -> Outcome<Job> {
    let mut job = args.0.clone();
    if let Some(out) = &job.out
        && job.ledger.is_none()
        && job.budget()?.is_some()
    {
        job.ledger = Some(beside(out, "ledger.json"));
    }
    Ok(job)
}

/// Refuses parameters that the mechanism does not have.
pub(super) fn check_parameters<const A: bool>(args: &ChosenMechanism<A>) -> Outcome {
    Ok(mechanism::find(&args.mechanism)?.check_known(&args.parameters)?)
}

/// The unit of privacy, which determines the neighboring tables: that of a job with these flags.
pub(super) fn unit(args: &UnitArgs) -> Outcome<PrivacyUnit> {
    let (neighbors, unit) = (args.neighbors, args.unit.clone());
    let job = Job { neighbors, unit, max_records: args.max_records, ..Job::default() };
    Ok(job.privacy_unit()?)
}

/// Checks a number of records to draw.
pub(super) fn rows(rows: u64) -> Outcome<usize> {
    let fits = u32::try_from(rows).ok().filter(|rows| *rows > 0);
    fits.map(|rows| rows as usize)
        .ok_or_else(|| Failure::usage(format!("--rows is {rows}, expected from 1 to {}", u32::MAX)))
}

/// The share of the budget that was spent, as a percentage.
pub(super) fn spent_share(done: &Synthesized) -> String {
    let (spent, limit) = (done.release.ledger.spent(), done.release.ledger.limit());
    let share = if limit.is_zero() { 0.0 } else { spent.to_f64() / limit.to_f64() };
    percent((share * 1e4).round() / 1e4)
}

/// What is said of errors that were not measured.
fn not_measured(job: &Job) -> &'static str {
    if job.epsilon.is_none() {
        "not measured, as there is no budget for it"
    } else if job.error_share.is_none() {
        "not measured: without weights the private records do not show how far a table of the population is off"
    } else {
        "not measured, as --error-share is 0"
    }
}

fn summary(job: &Job, done: &Synthesized, seconds: f64, console: Console) {
    let release = &done.release;
    let (spent, limit) = (release.ledger.spent(), release.ledger.limit());
    let (private, public) = release.provenances();
    let ledger = job.ledger.as_deref();
    let out = job.out.as_deref().unwrap_or(std::path::Path::new("-")).display();
    let from = if release.measurements.is_empty() {
        let choices: usize = release.rounds.iter().map(|round| round.choices.len()).sum();
        format!("{choices} private choices")
    } else {
        let composed = match release.compositions.len() {
            0 => String::new(),
            tables => format!(", and {tables} tables of what units are made of"),
        };
        format!("{private} private and {public} public marginals{composed}")
    };
    let tables = match job.tables {
        None => String::new(),
        Some(tables) => format!(" and {tables} replicates of it"),
    };
    let units = done.units.as_ref().map(|numbers| numbers.last().map_or(0, |last| last + 1));
    let records = grouped(done.rows.records() as u64);
    let what = match units {
        None => format!("{records} records"),
        Some(_) if !job.members.is_empty() => format!("{records} units with their members"),
        Some(units) => format!("{records} records in {} units", grouped(units.into())),
    };
    let did = format!("{what}{tables} from {from}");
    let budget = match (job.epsilon, job.delta) {
        (Some(epsilon), Some(delta)) => format!(" (epsilon {epsilon}, delta {delta:e})"),
        (Some(epsilon), None) => format!(" (epsilon {epsilon})"),
        _ => String::new(),
    };
    let called = if job.members.is_empty() { "records" } else { "units" };
    let text = format!(
        "What it did    {did}: {out}\n\
         What it spent  {} of rho {}{budget}{}; {}\n\
         How good       {}",
        spent_share(done),
        short(limit.to_f64()),
        ledger.map_or_else(String::new, |path| format!(", as {} says", path.display())),
        duration(seconds),
        release
            .errors()
            .map_or_else(|| not_measured(job).to_owned(), |errors| in_words(errors, called),),
    );
    let facts = json!({
        "mean_error": release.errors().map(|errors| errors.mean),
        "out": out.to_string(),
        "ledger": ledger,
        "records": done.rows.records(),
        "units": units,
        "replicates": job.tables.unwrap_or(0),
        "private": release.is_private,
        "private_marginals": private,
        "public_marginals": public,
        "compositions": release.compositions.len(),
        "rho_spent": spent.to_f64(),
        "rho_limit": limit.to_f64(),
        "seconds": seconds,
    });
    console.note("finished", &text, facts);
}

#[cfg(test)]
mod tests;
