//! `jointly mixture-error`: the smallest error of any weighting of a public table's rows, exactly or with noise.

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use jointly::data::{Dataset, PublicData, read_csv, write_text};
use jointly::domain::Schema;
use jointly::mixture_error::{MixtureBracket, MixtureError, MixtureMethod, ScoredCells};
use jointly::privacy::{Budget, NoiseSeed, PrivacyUnit, PrivateTable};
use jointly::query::Workload;
use jointly::synthesis::{self, PublicFile, check_public_files, reserve_files};
use jointly::trust::{MixtureRelease, NoisyMixtureError};
use serde::Serialize;

use super::args::MixtureErrorArgs;
use super::console::{self, Console, beside};
use super::failure::Outcome;
use super::format::{duration, grouped, short};
use super::spend::Spending;

/// The exact answer. It is not private.
#[derive(Serialize)]
struct Exact {
    private: bool,
    value: f64,
    lower: f64,
    upper: f64,
    /// The largest probability of a cell that contains no row of the support.
    unreached: f64,
    cells: ScoredCells,
    queries: u64,
    support: usize,
    rows_with_weight: usize,
    method: MixtureMethod,
    iterations: u32,
    programs: u32,
    seconds: f64,
}

/// The private answer.
#[derive(Serialize)]
struct Noisy {
    /// False if the noise came from a fixed seed.
    private: bool,
    epsilon: f64,
    /// 0 for Laplace noise.
    delta: f64,
    cells: ScoredCells,
    confidence: f64,
    #[serde(flatten)]
    release: NoisyMixtureError,
    rho: f64,
}

pub(super) fn run(args: &MixtureErrorArgs, console: Console) -> Outcome {
    let inputs =
        [("--private", &*args.private), ("--public", &*args.public), ("--schema", &*args.schema)];
    let budget = args.epsilon.map(|epsilon| Budget::new(epsilon, args.delta)).transpose()?;
    if let Some(found) = args.tolerance {
        match budget {
            None => MixtureError { tolerance: found, ..MixtureError::default() }.check()?,
            Some(_) => MixtureRelease { tolerance: found, ..MixtureRelease::default() }.check()?,
        }
    }
    let out = Path::new("-");
    let ledger = args.ledger.clone().unwrap_or_else(|| beside(out, "ledger.json"));
    let outputs = [
        ("the result", Some(out)),
        ("--ledger", budget.map(|_| &*ledger)),
        ("--mixture", args.mixture.as_deref()),
    ];
    let outputs: Vec<(&str, &Path)> =
        outputs.into_iter().filter_map(|(flag, path)| Some((flag, path?))).collect();
    let _reserved = reserve_files(&inputs, &outputs, console.existing)?;
    let schema = Schema::read(&args.schema)?;
    let (workload, _) = args.workload.source()?.read(&schema.domain())?;
    let support = read_csv(&args.public, &schema)?;
    let Some(budget) = budget else {
        let real = read_csv(&args.private, &schema)?;
        return exact(args, &support, &real, &workload);
    };
    check_public_files(&args.private, [&*args.public])?;
    let spending = Spending {
        job: synthesis::Spending {
            command: "mixture-error",
            budget,
            unit: PrivacyUnit::of_record(args.neighbors),
            earlier: None,
            seed: args.seed.map_or(NoiseSeed::System, NoiseSeed::Fixed),
            ledger: Some(ledger),
        },
    };
    let private = spending.read(&args.private, &schema, console)?;
    release(args, console, &spending, support, &private, &workload)
}

fn exact(
    args: &MixtureErrorArgs,
    support: &Dataset,
    real: &Dataset,
    workload: &Workload,
) -> Outcome {
    let started = Instant::now();
    let cells = args.cells;
    let tolerance = args.tolerance.unwrap_or(MixtureError::default().tolerance);
    let solver = MixtureError { tolerance, cells, ..MixtureError::default() };
    let found = solver.solve(support, real, workload)?;
    let seconds = started.elapsed().as_secs_f64();
    if let Some(path) = &args.mixture {
        write_text(path, &mixture(&found))?;
    }
    let answer = Exact {
        private: false,
        value: found.value(),
        lower: found.lower,
        upper: found.upper,
        unreached: found.unreached,
        cells,
        queries: found.queries,
        support: found.support,
        rows_with_weight: found.weights.len(),
        method: found.method,
        iterations: found.iterations,
        programs: found.programs,
        seconds,
    };
    if args.json { console::json_result(&answer) } else { console::result(&answer.text()) }
}

impl Exact {
    fn text(&self) -> String {
        let method = match self.method {
            MixtureMethod::Bound => {
                "the public frequencies meet the bound of cells without support".into()
            }
            MixtureMethod::FirstOrder => {
                format!("first-order method, {} iterations", grouped(self.iterations.into()))
            }
            MixtureMethod::LinearPrograms => format!(
                "linear programs ({}), after {} iterations of the first-order method",
                self.programs,
                grouped(self.iterations.into())
            ),
        };
        let mut text = String::from(
            "NOT PRIVATE: these numbers are computed from the real records. Do not publish them.\n\n",
        );
        let mut row = |name: &str, value: String| _ = writeln!(text, "{name:<44}{value}");
        row("Best mixture error", format!("{:.12}", self.value));
        row("  proved to be at least", format!("{:.12}", self.lower));
        row("  and at most", format!("{:.12}", self.upper));
        row("Largest cell that no public row reaches", format!("{:.12}", self.unreached));
        row("Cells that count", grouped(self.queries));
        row("Distinct public rows", grouped(self.support as u64));
        row("  with a weight", grouped(self.rows_with_weight as u64));
        row("Method", method);
        row("Time", duration(self.seconds));
        text
    }
}

/// Writes one line per row: its codes and its weight.
fn mixture(found: &MixtureBracket) -> String {
    let mut text = String::new();
    for attribute in found.rows.domain().attributes() {
        _ = write!(text, "\"{}\",", attribute.name.replace('"', "\"\""));
    }
    text.push_str("weight\n");
    for (row, weight) in found.weights.iter().enumerate() {
        found.rows.row(row).iter().for_each(|code| _ = write!(text, "{code},"));
        _ = writeln!(text, "{weight}");
    }
    text
}

fn release(
    args: &MixtureErrorArgs,
    console: Console,
    spending: &Spending,
    support: Dataset,
    private: &PrivateTable,
    workload: &Workload,
) -> Outcome {
    let budget = spending.job.budget;
    console.not_private(args.seed);
    let public = PublicData::new(PublicFile::stem(&args.public), support, private.domain())?;
    let release = MixtureRelease {
        tolerance: args.tolerance.unwrap_or(MixtureError::RELEASED),
        cells: args.cells,
        ..MixtureRelease::default()
    };
    let answer = spending.run(private, console, |curator| {
        let (total, form) = (curator.total()?, budget.noise_form());
        let rho = curator.remaining_for(form)?;
        let found = release.run(curator, &public, workload, total, form, rho)?;
        Ok(Noisy {
            private: curator.is_private(),
            epsilon: budget.epsilon(),
            delta: budget.delta(),
            cells: release.cells,
            confidence: release.confidence,
            release: found,
            rho: curator.spent().to_f64(),
        })
    })?;
    if args.json { console::json_result(&answer) } else { console::result(&answer.text()) }
}

impl Noisy {
    fn text(&self) -> String {
        let NoisyMixtureError { value, stddev, half_width } = self.release;
        let (low, high) = ((value - half_width).max(0.0), (value + half_width).clamp(0.0, 1.0));
        let mut text = String::new();
        if !self.private {
            text.push_str("NOT PRIVATE: the noise came from a fixed seed.\n\n");
        }
        let mut row = |name: &str, value: String| _ = writeln!(text, "{name:<44}{value}");
        row("Best mixture error, with noise", short(value));
        row("  standard deviation of the noise", short(stddev));
        row("  95 % interval", format!("{} to {}", short(low), short(high)));
        row(
            "Privacy spent",
            format!("epsilon {}, delta {:e}, rho {}", self.epsilon, self.delta, short(self.rho)),
        );
        text
    }
}
