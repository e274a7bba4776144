//! `jointly trust`: which public table to trust, and for which marginals, at a stated privacy cost.

use std::fmt::Write;
use std::path::Path;

use jointly::data::{PublicData, read_public_csv};
use jointly::domain::Schema;
use jointly::mixture_error::MixtureError;
use jointly::privacy::Budget;
use jointly::synthesis::{PublicFile, check_public_files, reserve_files};
use jointly::trust::{Interval, Trust, TrustReport};

use super::args::{self, TrustArgs};
use super::console::{self, Console};
use super::failure::Outcome;
use super::format::{grouped, short};
use super::spend::Spending;

pub(super) fn run(args: &TrustArgs, console: Console) -> Outcome {
    let spending = Spending::new("trust", &args.spend, Path::new("-"))?.keeping(args.keep)?;
    let trust = Trust {
        mixture_share: args.mixture_share,
        cells: args.cells,
        rows: args.rows,
        tolerance: MixtureError::RELEASED,
        confidence: args.confidence,
    };
    trust.check()?;
    let source = args::workload(&args.workload, None)?;
    let files = args.public.iter().map(|text| text.parse());
    let files = files.collect::<jointly::Result<Vec<PublicFile>>>()?;
    let private = args.private.source();
    let mut inputs = vec![("--schema", &*args.schema)];
    inputs.extend(private.file().map(|path| ("--private", path)));
    inputs.extend(files.iter().map(|file| ("--public", &*file.path)));
    inputs.extend(spending.job.earlier.iter().map(|path| ("--ledger-from", &**path)));
    let outputs = [("the result", Path::new("-")), ("--ledger", spending.ledger())];
    let _reserved = reserve_files(&inputs, &outputs, console.existing)?;
    if let Some(file) = private.file() {
        check_public_files(file, files.iter().map(|file| &*file.path))?;
    }
    console.not_private(args.spend.seed);
    let schema = Schema::read(&args.schema)?;
    let domain = schema.domain();
    let (workload, _) = source.read(&domain)?;
    let mut public = Vec::with_capacity(files.len());
    for file in &files {
        let table = read_public_csv(&file.path, &schema)?;
        public.push(PublicData::new(&file.name, table, &domain)?);
    }
    let counts = || Ok(trust.counts(&public, &workload));
    let private = spending.take(&private, &schema, false, counts, console)?;
    let report =
        spending.run(&private, console, |curator| trust.run(curator, &public, &workload))?;
    if args.json {
        console::json_result(&report)
    } else {
        console::result(&text(&report, spending.job.budget, args.worst))
    }
}

fn text(report: &TrustReport, budget: Budget, worst: usize) -> String {
    let mut text = String::new();
    if !report.is_private {
        text.push_str("NOT PRIVATE: the noise came from a fixed seed.\n\n");
    }
    _ = writeln!(
        text,
        "Spent: rho {} (epsilon {}, delta {:e}, {}). All {} intervals hold at once with\nprobability {}; \
         they account for the noise alone.\n",
        short(report.ledger.spent().to_f64()),
        budget.epsilon(),
        budget.delta(),
        report.relation,
        grouped(report.intervals as u64),
        report.confidence,
    );
    _ = writeln!(
        text,
        "{:<20}{:>10}{:>9}{:>8}  {:<26}mean L1 error of marginals",
        "public table", "records", "cliques", "mixed", "best mixture error"
    );
    for place in &report.by_mixture_error {
        let table = &report.tables[*place];
        _ = writeln!(
            text,
            "{:<20}{:>10}{:>9}{:>8}  {:<26}{}",
            table.name,
            grouped(table.records),
            grouped(table.cliques as u64),
            grouped(table.mixed_rows as u64),
            interval(table.mixture_error),
            interval(table.mean_l1),
        );
    }
    for place in &report.by_mixture_error {
        let table = &report.tables[*place];
        if !table.missing.is_empty() {
            _ = writeln!(text, "\n{} lacks: {}", table.name, table.missing.join(", "));
        }
        let kinds = [(1, "attributes"), (2, "pairs")];
        for (size, kind) in kinds.into_iter().filter(|_| worst > 0) {
            let found = table.marginals.iter().filter(|m| m.attributes.len() == size);
            _ = writeln!(text, "\n{}: worst {kind} (L1 distance, 0 to 2)", table.name);
            for marginal in found.take(worst) {
                let name = marginal.attributes.join(" x ");
                _ = writeln!(text, "  {:<26}{name}", interval(marginal.l1));
            }
        }
    }
    text
}

/// An estimate and the ends of its interval: `0.0123 (0.0101, 0.0145)`.
fn interval(of: Interval) -> String {
    let digits = |x: f64| format!("{x:.4}");
    format!("{} ({}, {})", digits(of.shown()), digits(of.lower), digits(of.upper))
}
