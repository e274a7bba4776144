//! `jointly evaluate`: the errors of a synthetic table against the real one. Its output is not private.

use std::fmt::Write;

use jointly::data::{Dataset, NumericColumns, read_csv, write_text};
use jointly::domain::Schema;
use jointly::evaluation::{
    GroupDistances, NumberComparison, Regression, RegressionComparison, UnitComparison,
    WorkloadError,
};
use jointly::report::evaluation::{self, Evaluation};
use jointly::report::numbers::{numbers, regression};
use jointly::synthesis::reserve_files;
use serde::Serialize;

use super::args::EvaluateArgs;
use super::console::{self, Console};
use super::failure::Outcome;
use super::format::{grouped, short};
use super::measures::{Measured, Measures, attributes, group_score};
use super::units;

#[derive(Serialize)]
struct Answer {
    /// Always false: exact comparisons with the real records must not be published.
    private: bool,
    real_records: usize,
    synthetic_records: usize,
    /// Number of cliques of the workload left out because they have too many cells.
    left_out: usize,
    error: WorkloadError,
    /// The error of the product of the real table's one-way marginals.
    independent_error: f64,
    /// The results of `--measures` and `--rules`.
    #[serde(flatten)]
    measured: Measured,
    /// The result of `--groups`.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_groups: Option<GroupDistances>,
    /// The result of `--unit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_units: Option<UnitComparison>,
    /// The numeric columns; `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    numbers: Option<NumberComparison>,
    /// The results of `--regress`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    regressions: Vec<RegressionComparison>,
}

pub(super) fn run(args: &EvaluateArgs, console: Console) -> Outcome {
    args.measures.check()?;
    let mut inputs = vec![
        ("--private", &*args.private),
        ("--synthetic", &*args.synthetic),
        ("--schema", &*args.schema),
    ];
    inputs.extend(args.measures.rules.iter().map(|path| ("--rules", &**path)));
    let outputs: Vec<_> = args.report.iter().map(|path| ("--report", &**path)).collect();
    let _reserved = reserve_files(&inputs, &outputs, console.existing)?;
    let schema = Schema::read(&args.schema)?;
    let (workload, left_out) = args.workload.source()?.read(&schema.domain())?;
    let measures = Measures::new(&args.measures, &schema)?;
    let by = attributes(&schema.domain(), &args.by, "--by")?;
    let regressions = args.regress.iter().map(|formula| Regression::parse(formula, &schema));
    let regressions: Vec<Regression> = regressions.collect::<jointly::Result<_>>()?;
    let real: Dataset = read_csv(&args.private, &schema)?;
    let synthetic = read_csv(&args.synthetic, &schema)?;
    let real_numbers = NumericColumns::read(&args.private, &schema)?;
    let synthetic_numbers = NumericColumns::read(&args.synthetic, &schema)?;
    let (columns, tables) = ([&real_numbers, &synthetic_numbers], [&real, &synthetic]);
    let mut numbers = NumberComparison::between(&real_numbers, &synthetic_numbers)?;
    if let Some(by) = by {
        numbers = numbers.by(&by, &schema, columns, tables)?;
    }
    let regressions = regressions.iter().map(|asked| asked.compare(&schema, columns, tables));
    let error = WorkloadError::between(&real, &synthetic, &workload, args.worst)?;
    let answer = Answer {
        private: false,
        real_records: real.records(),
        synthetic_records: synthetic.records(),
        left_out,
        error,
        independent_error: WorkloadError::of_independence(&real, &workload, 0)?.mean_l1,
        measured: measures.between(&real, &synthetic)?,
        by_groups: group_score(&args.groups, &real, &synthetic)?,
        by_units: units::compare(args, &schema)?,
        regressions: regressions.collect::<jointly::Result<_>>()?,
        numbers: (!numbers.columns.is_empty()).then_some(numbers),
    };
    if let Some(path) = &args.report {
        let page = Evaluation {
            files: [&args.private, &args.synthetic].map(|path| console::input_name(path)),
            schema: &schema,
            real: &real,
            synthetic: &synthetic,
            error: &answer.error,
            independent_error: answer.independent_error,
            measures: answer.measures(),
            numbers: answer.numbers.as_ref(),
            regressions: &answer.regressions,
        };
        write_text(path, &evaluation::render(&page)?)?;
    }
    if args.json { console::json_result(&answer) } else { console::result(&answer.text()) }
}

impl Answer {
    /// Names and values of the measures that were asked for, for readers.
    fn measures(&self) -> Vec<(String, String)> {
        let mut rows = Vec::new();
        self.asked(&mut |name: &str, value: &str| rows.push((name.to_owned(), value.to_owned())));
        rows
    }

    /// Passes the names and values of these measures to a function, one call per line.
    fn asked(&self, row: &mut impl FnMut(&str, &str)) {
        self.measured.rows(row);
        if let Some(found) = &self.by_groups {
            row("Group score (mean L1 distance, 0 to 2)", &short(found.score));
            row("  in NIST's points (0 to 1000)", &short(found.points));
            row("  marginals in each group", &grouped(found.marginals));
            row("  groups", &grouped(found.groups));
            row("  of them in one table only, or off by > 250", &grouped(found.penalized));
        }
        self.by_units.iter().for_each(|found| units::rows(found, row));
    }

    fn text(&self) -> String {
        let error = &self.error;
        let mut text = String::from(
            "NOT PRIVATE: these numbers are computed from the real records. Do not publish them.\n\n",
        );
        let mut row = |name: &str, value: &str| _ = writeln!(text, "{name:<44}{value:>12}");
        row("Records, real", &grouped(self.real_records as u64));
        row("Records, synthetic", &grouped(self.synthetic_records as u64));
        row("Cliques in the workload", &grouped(error.cliques));
        if self.left_out > 0 {
            row("Cliques left out for their cells", &grouped(self.left_out as u64));
        }
        row("Single queries (cells)", &grouped(error.queries));
        row("Workload error (mean L1 distance, 0 to 2)", &short(error.mean_l1));
        row("  of independent one-way marginals", &short(self.independent_error));
        row("Largest L1 distance of a marginal", &short(error.max_l1));
        row("Query error, largest", &short(error.max_query));
        row("Query error, mean", &short(error.mean_query));
        row("Query error, root mean square", &short(error.rmse_query));
        self.asked(&mut row);
        if !error.worst.is_empty() {
            text.push_str("\nWorst marginals (L1 distance, largest cell, cells):\n");
        }
        for worst in &error.worst {
            let (l1, max) = (short(worst.l1), short(worst.max));
            let clique = worst.clique.join(" x ");
            _ = writeln!(text, "{l1:>10}{max:>11}{:>9}  {clique}", grouped(worst.cells));
        }
        self.numbers.iter().for_each(|found| text.push_str(&numbers(found)));
        self.regressions.iter().for_each(|found| text.push_str(&regression(found)));
        text
    }
}
