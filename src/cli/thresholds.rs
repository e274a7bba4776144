//! `jointly thresholds`: shares of records below any number, with brackets; and `ask`, which answers from them.

use std::fmt::Write;

use jointly::data::{read_public_numbers, read_public_points, read_text, write_text};
use jointly::domain::TableFormat;
use jointly::pap::{
    Answer, Answering, ColumnShares, Cuts, EvenGrid, HalfPlanes, Linear, Query, RangeClass, Shares,
    largest_gap, private_records, public_records,
};
use jointly::synthesis::{ReservedOutputs, check_public_files, reserve_files};
use serde_json::{Value, json};

use super::args::{AskArgs, SizesArgs, ThresholdsArgs, ThresholdsReleaseArgs};
use super::console::{self, Console};
use super::failure::{Failure, Outcome};
use super::format::{counted, grouped, short};
use super::spend::Spending;

pub(super) fn run(args: &ThresholdsArgs, console: Console) -> Outcome {
    match args {
        ThresholdsArgs::Ask(args) => ask(args),
        ThresholdsArgs::Sizes(args) => sizes(args),
        ThresholdsArgs::Release(args) => release(args, console),
    }
}

fn release(args: &ThresholdsReleaseArgs, console: Console) -> Outcome {
    let spending = Spending::new("thresholds", &args.spend, &args.out)?;
    if args.is_of_half_planes() {
        return release_half_planes(args, &spending, console);
    }
    let mut pap = args.pap()?;
    let grids = args.grid.iter().map(|text| grid(text, &args.columns));
    let grids = grids.collect::<Outcome<Vec<EvenGrid>>>()?;
    let _reserved = reserved(args, &spending, console)?;
    if !matches!(pap.class, RangeClass::List { .. }) {
        pap.cuts = cuts(args, pap.class, &grids, console)?;
    }
    let schema = Cuts::schema(&pap.cuts, TableFormat::default())?;
    let private = spending.read(&args.private, &schema, console)?;
    let release = spending.run(&private, console, |curator| pap.run(curator))?;
    write_text(&args.out, &release.to_json()?)?;
    let widest = |column: &ColumnShares| {
        column.shares.iter().map(|share| share.high - share.low).fold(0.0, f64::max)
    };
    let widest = release.columns.iter().map(widest).fold(0.0, f64::max);
    let text = format!(
        "{}: {}, brackets at the cuts at most {} wide; all of rho {} spent",
        console::name_of(&args.out),
        counted(release.columns.len() as u64, "column"),
        short(widest),
        short(spending.job.budget.rho().to_f64()),
    );
    let facts = json!({
        "out": args.out.display().to_string(),
        "columns": release.columns.len(),
        "widest": widest,
        "private": release.is_private,
    });
    console.note("finished", &text, facts);
    Ok(())
}

/// Releases shares of half-planes. Every line is between public points.
fn release_half_planes(
    args: &ThresholdsReleaseArgs,
    spending: &Spending,
    console: Console,
) -> Outcome {
    let columns = args.check_half_planes()?;
    let _reserved = reserved(args, spending, console)?;
    let mut points = Vec::new();
    for path in &args.public {
        points.extend(read_public_points(path, &columns)?);
    }
    let planes = HalfPlanes::new(columns, &points)?.with(args.rounds, args.confidence)?;
    let text = format!(
        "{} lines between {} of {} public points",
        grouped(planes.lines().len() as u64),
        grouped(planes.points().len() as u64),
        grouped(points.len() as u64),
    );
    let facts = json!({ "lines": planes.lines().len(), "points": planes.points().len() });
    console.note("lines", &text, facts);
    let private = spending.count_sides(&args.private, &planes.sides()?, console)?;
    let release = spending.run(&private, console, |curator| planes.run(curator))?;
    write_text(&args.out, &release.to_json()?)?;
    let text = format!(
        "{}: {}, {} measured; all of rho {} spent",
        console::name_of(&args.out),
        counted(release.lines.len() as u64, "line"),
        counted(release.measured.len() as u64, "side"),
        short(spending.job.budget.rho().to_f64()),
    );
    let facts = json!({
        "out": args.out.display().to_string(),
        "lines": release.lines.len(),
        "private": release.is_private,
    });
    console.note("finished", &text, facts);
    Ok(())
}

/// Reserves the outputs, and refuses the private file as a public one.
fn reserved(
    args: &ThresholdsReleaseArgs,
    spending: &Spending,
    console: Console,
) -> Outcome<ReservedOutputs> {
    let mut inputs = vec![("--private", &*args.private)];
    inputs.extend(args.public.iter().map(|path| ("--public", &**path)));
    inputs.extend(spending.job.earlier.iter().map(|path| ("--ledger-from", &**path)));
    let outputs = [("--out", &*args.out), ("--ledger", spending.ledger())];
    let reserved = reserve_files(&inputs, &outputs, console.existing)?;
    check_public_files(&args.private, args.public.iter().map(|path| &**path))?;
    console.not_private(args.spend.seed);
    Ok(reserved)
}

/// The cuts of every column, from public values and grids alone.
fn cuts(
    args: &ThresholdsReleaseArgs,
    class: RangeClass,
    grids: &[EvenGrid],
    console: Console,
) -> Outcome<Vec<Cuts>> {
    let mut public = vec![Vec::new(); args.columns.len()];
    for path in &args.public {
        let read = read_public_numbers(path, &args.columns, &TableFormat::default())?;
        public.iter_mut().zip(read).for_each(|(all, more)| all.extend(more));
    }
    for (name, values) in args.columns.iter().zip(&public).filter(|(_, values)| !values.is_empty())
    {
        let own = Cuts::from_public(name.as_str(), values.iter().copied(), args.cuts)?;
        note_gap(args, class, &own, values.len() as u64, console)?;
    }
    let is_binary = args.public.is_empty() && grids.is_empty();
    if is_binary && matches!(class, RangeClass::Conjunctions { .. }) {
        let of_binary = |name: &String| Cuts::new(name.as_str(), [0.0]);
        return Ok(args.columns.iter().map(of_binary).collect::<jointly::Result<_>>()?);
    }
    Ok(Cuts::of_columns(&args.columns, public, args.cuts, grids)?)
}

/// Says how many private records may lie between cuts, if public records are like them.
fn note_gap(
    args: &ThresholdsReleaseArgs,
    class: RangeClass,
    cuts: &Cuts,
    records: u64,
    console: Console,
) -> Outcome {
    let (name, found) = (cuts.name(), cuts.points().len());
    // Fewer cuts than the bound counts on, unless values are equal: an equal value leaves no gap.
    let gap = (found < args.cuts.min(Cuts::MOST))
        .then(|| largest_gap(class, records, 1.0 - args.confidence))
        .transpose()?;
    let bound = gap.map_or_else(
        || "at even quantiles of the public values".to_owned(),
        |gap| {
            format!(
                "if these are like the private ones, at most {} of the records lie between a question and the cuts \
                 (probability {})",
                short(gap),
                args.confidence
            )
        },
    );
    let text = format!(
        "{name}: {} cuts from {} public values; {bound}",
        grouped(found as u64),
        grouped(records)
    );
    let facts = json!({ "column": name, "cuts": found, "public_values": records, "gap": gap });
    console.note("cuts", &text, facts);
    Ok(())
}

/// Reads `[NAME=]LOW,HIGH,COUNT`.
fn grid(text: &str, columns: &[String]) -> Outcome<EvenGrid> {
    let refused = |fault: &str| Failure::usage(format!("--grid: {fault}"));
    let grid = text.parse::<EvenGrid>().map_err(|error| {
        let fault = error.to_string();
        refused(fault.strip_prefix("grid: ").unwrap_or(&fault))
    })?;
    match &grid.column {
        Some(name) if !columns.contains(name) => {
            let found = text.escape_debug();
            Err(refused(&format!("'{found}', expected one of --columns before the =")))
        }
        _ => Ok(grid),
    }
}

/// How many records suffice, by the bounds of the paper.
fn sizes(args: &SizesArgs) -> Outcome {
    let (class, alpha, beta) = (args.class()?, args.alpha, args.beta);
    let suffice = public_records(class, alpha, beta)?;
    let public = args.public_records.unwrap_or(suffice);
    let gap = largest_gap(class, public, beta)?;
    let private = private_records(class, public, alpha, beta, args.epsilon, args.delta)?;
    if args.json {
        return console::json_result(&json!({
            "public_records_that_suffice": suffice, "public_records": public, "largest_gap": gap,
            "private_records_that_suffice": private,
        }));
    }
    let mut text = String::new();
    let mut row = |name: &str, value: String| _ = writeln!(text, "{name:<64}{value}");
    row("Public records that suffice for the error", grouped(suffice));
    row("Public records", grouped(public));
    row("  Largest share of private records between a question and cuts", short(gap));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "cut to the range")]
    let needed = private.ceil() as u64;
    row("Private records that suffice for the rounds of PMW", grouped(needed));
    text.push_str(
        "\nBounds of the worst case, for public records like the private ones. What a release states with each answer is\n\
         its actual error, and usually far less.\n",
    );
    console::result(&text)
}

fn ask(args: &AskArgs) -> Outcome {
    for text in &args.questions {
        let of_columns = text.parse::<Query>().map(drop);
        of_columns
            .or_else(|error| text.parse::<Linear>().map_or(Err(error), |_| Ok(())))
            .map_err(|error| Failure::usage(error.to_string()))?;
    }
    let quantiles = args.quantile.iter().map(|text| quantile(text));
    let quantiles = quantiles.collect::<Outcome<Vec<(&str, f64)>>>()?;
    let place = args.release.display().to_string();
    let release = Shares::from_json(&read_text(&args.release)?, &place)?;
    let answering = if args.nearest { Answering::Nearest } else { Answering::Interpolated };
    let mut answers: Vec<(String, Answer)> = Vec::new();
    for text in &args.questions {
        answers.push((text.trim().to_owned(), release.answer(text, answering)?));
    }
    for (column, p) in quantiles {
        answers.push((format!("{p}-quantile of {column}"), release.quantile(column, p)?));
    }
    if args.json {
        return console::json_result(&described(&release, &answers));
    }
    let mut text = String::new();
    if !release.is_private() {
        text.push_str("NOT PRIVATE: the noise came from a fixed seed.\n\n");
    }
    _ = writeln!(
        text,
        "Estimates (brackets). Brackets of all questions hold at once with probability {}.\n",
        release.confidence()
    );
    let width = answers.iter().map(|(question, _)| question.chars().count()).max().unwrap_or(0);
    for (question, Answer { value, low, high }) in &answers {
        _ = writeln!(
            text,
            "{question:<width$}  {} ({}, {})",
            digits(*value),
            digits(*low),
            digits(*high)
        );
    }
    console::result(&text)
}

/// The answers as JSON. An end of a quantile's bracket that nothing bounds is null.
fn described(release: &Shares, answers: &[(String, Answer)]) -> Value {
    let answers: Vec<Value> = answers
        .iter()
        .map(|(question, Answer { value, low, high })| {
            json!({ "question": question, "value": value, "low": low, "high": high })
        })
        .collect();
    json!({ "private": release.is_private(), "confidence": release.confidence(), "answers": answers })
}

/// Reads `NAME=P`.
fn quantile(text: &str) -> Outcome<(&str, f64)> {
    let read = text.rsplit_once('=');
    let read = read.and_then(|(name, p)| Some((name, p.trim().parse::<f64>().ok()?)));
    read.filter(|(_, p)| *p > 0.0 && *p < 1.0).ok_or_else(|| {
        let found = text.escape_debug();
        Failure::usage(format!("--quantile is '{found}', expected NAME=P with P between 0 and 1"))
    })
}

/// A share with five digits after the point; a larger number as it is, but for rounding.
fn digits(number: f64) -> String {
    if number.abs() <= 1.0 { format!("{number:.5}") } else { format!("{number:.2}") }
}
