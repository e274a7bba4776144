//! `jointly count` and `jointly merge`: exact counts of the parts of a private table, for `synth`.

use jointly::data::CountedParts;
use jointly::synthesis::{CountJob, merge_counts};
use serde_json::json;

use super::args::{CountArgs, MergeArgs};
use super::console::{self, Console};
use super::failure::Outcome;
use super::format::counted;
use super::progress::Progress;

pub(super) fn count(args: &CountArgs, console: Console) -> Outcome {
    let job = CountJob { existing: console.existing, ..args.0.clone() };
    let mut progress = Progress::new(console);
    let done = job.run(&mut progress);
    progress.finish();
    if let Some(out) = &job.out {
        said(&done?, &console::name_of(out), console);
    }
    Ok(())
}

pub(super) fn merge(args: &MergeArgs, console: Console) -> Outcome {
    let merged = merge_counts(&args.counts, &args.out, console.existing)?;
    said(&merged, &console::name_of(&args.out), console);
    Ok(())
}

/// Says what was counted, and nothing of the counts.
fn said(counts: &CountedParts, out: &str, console: Console) {
    let (parts, missing) = counts.parts();
    let tables = counted(counts.plan().cliques().len() as u64, "marginal");
    let mut text = format!(
        "{out}: exact counts of {}, {tables}; {}",
        counted(parts.len() as u64, "part"),
        if counts.is_public() { "of a public table" } else { "PRIVATE, as the records are" }
    );
    if !missing.is_empty() {
        text = format!("{text}; {} to come", counted(missing.len() as u64, "part"));
    }
    console.note("counted", &text, json!({ "out": out, "parts": parts, "missing": missing }));
}
