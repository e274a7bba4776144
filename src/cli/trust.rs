//! `jointly trust`: which public table to trust, and with what, at a stated cost.

use std::fmt::Write;
use std::path::Path;

use jointly::Error;
use jointly::data::{PublicData, read_csv, read_public_csv};
use jointly::domain::Schema;
use jointly::evaluation::{Interval, MixtureError, Trust, TrustReport};
use jointly::privacy::{Curator, NoiseSeed};

use super::args::{TrustArgs, WorkloadArgs};
use super::config::{self, Budget, PublicFile};
use super::console::{self, Console};
use super::failure::Outcome;
use super::format::{grouped, short};
use super::{output, spent};

pub(super) fn run(args: &TrustArgs, console: Console) -> Outcome {
    let budget = Budget::new(args.epsilon, args.delta)?;
    if !(args.confidence > 0.0 && args.confidence < 1.0) {
        let expected = "a number strictly between 0 and 1";
        return Err(Error::invalid_parameter("--confidence", args.confidence, expected).into());
    }
    let files = PublicFile::parse_all(&args.public)?;
    let mut inputs = vec![("--private", &*args.private), ("--schema", &*args.schema)];
    inputs.extend(files.iter().map(|file| ("--public", &*file.path)));
    let outputs: Vec<(&str, &Path)> =
        args.ledger.iter().map(|path| ("--ledger", &**path)).collect();
    output::check(&inputs, &outputs)?;
    if args.seed.is_some() {
        console.warning(
            "--seed repeats the noise, which can then be removed: the result is NOT PRIVATE",
        );
    }
    let schema = Schema::read(&args.schema)?;
    let domain = schema.domain();
    let workload = WorkloadArgs { workload: args.workload.clone(), max_cells: None };
    let (workload, _) = config::workload(&workload, &domain)?;
    let mut public = Vec::with_capacity(files.len());
    for file in &files {
        let table = read_public_csv(&file.path, &schema)?;
        public.push(PublicData::new(&file.name, table, &domain)?);
    }
    let private = read_csv(&args.private, &schema)?;
    let relation = args.neighbors.relation();
    let seed = args.seed.map_or(NoiseSeed::System, NoiseSeed::Fixed);
    let mut curator = Curator::new(&private, relation, budget.rho, seed)?;
    let trust = Trust {
        mixture_share: args.mixture_share,
        cells: args.cells.scored(),
        rows: args.rows,
        tolerance: MixtureError::RELEASED,
        confidence: args.confidence,
    };
    let report = trust.run(&mut curator, &public, &workload);
    if report.is_err() && !curator.spent().is_zero() {
        console.warning(&format!("rho = {} was spent before the failure", curator.spent()));
    }
    // Written in either case: what a failed run has spent is spent.
    if let Some(path) = args.ledger.as_ref().filter(|_| !curator.spent().is_zero()) {
        spent::Document::new("trust", budget, &curator).write(path)?;
    }
    let report = report?;
    if args.json {
        console::json_result(&report)
    } else {
        console::result(&text(&report, budget, args.worst))
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
         they are those of the noise that was added.\n",
        short(report.ledger.spent().to_f64()),
        budget.epsilon.value(),
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
    format!("{} ({}, {})", digits(of.estimate), digits(of.lower), digits(of.upper))
}
