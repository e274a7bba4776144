//! `jointly plan`: the accuracy that a budget buys, from the schema alone.

use std::collections::BTreeMap;
use std::fmt::Write;

use jointly::Error;
use jointly::domain::{Clique, Domain, Schema};
use jointly::mechanism::{self, Fitting, PlanFor, RunPlan};
use jointly::mixture_error::{ReweightingBound, WorstCase};
use jointly::privacy::{Budget, LedgerFile, NeighboringRelation};
use jointly::query::{Workload, WorkloadSource};
use serde::Serialize;
use serde_json::Value;

use super::args::PlanArgs;
use super::console;
use super::engine::{self, EngineCost};
use super::failure::{Failure, Outcome};
use super::format::{bytes, grouped, percent, short};
use super::run;

/// Maximum number of cliques that do not fit to list in the text.
const SHOWN: usize = 5;

/// A marginal and the noise that it gets with one round's budget.
#[derive(Serialize)]
struct NoisyClique {
    which: &'static str,
    clique: Vec<String>,
    cells: u64,
    /// Expected L1 norm of the noise, `√(2/π) σ` times the number of cells, in counts.
    expected_l1: f64,
    /// The same norm as a share of the records, comparable with a workload error.
    expected_l1_share: f64,
}

/// The cliques of one size in the downward closure.
#[derive(Default, Serialize)]
struct SizeClass {
    cliques: u64,
    cells: u64,
    /// Number of cliques that are, on their own, within the size limit of the whole run.
    fit_alone: u64,
    /// Number of cliques within the size limit of the first round.
    fit_first_round: u64,
}

#[derive(Serialize)]
struct Plan {
    attributes: usize,
    log10_domain_size: f64,
    workload_cliques: usize,
    left_out: usize,
    workload_cells: u64,
    closure_cliques: usize,
    closure_cells: u64,
    /// Keyed by the number of attributes.
    closure_by_size: BTreeMap<usize, SizeClass>,
    /// Cliques of the closure that no model within the limit can hold.
    too_large: Vec<Vec<String>>,
    counts_bytes_per_table: u64,
    epsilon: f64,
    delta: f64,
    /// What a run may spend: what an earlier ledger leaves of the budget.
    rho: f64,
    /// The share of it that measures the errors of the released table; the run has the rest.
    error_share: f64,
    /// Half the width of the interval of the mean error, an L1 distance.
    error_half_width: Option<f64>,
    /// What the earlier ledger has spent of ρ and of δ.
    earlier_rho: f64,
    earlier_delta: f64,
    relation: NeighboringRelation,
    records: u64,
    mechanism: &'static str,
    first_round_limit_mib: Option<f64>,
    #[serde(flatten)]
    run: RunPlan,
    /// Marginals of the workload with the noise of the first step; none if nothing is measured.
    noisy: Vec<NoisyClique>,
    /// Whether the user specified the measured cliques. Otherwise they are an example of a run.
    measured_given: bool,
    engine: EngineCost,
    /// Runs of the mechanism, replicates included: the time is this many times that of one.
    runs: u64,
    /// The worst case of reweighting public records, if their number is given.
    worst_case: Option<WorstCase>,
}

pub(super) fn run(args: &PlanArgs) -> Outcome {
    if args.records == 0 {
        return Err(Failure::usage("--records is 0, expected at least 1"));
    }
    if args.public_records.is_some() && args.neighbors != NeighboringRelation::ReplaceOne {
        return Err(Failure::usage("--public-records needs --neighbors replace-one"));
    }
    run::check_parameters(&args.mechanism)?;
    let mechanism =
        mechanism::find(&args.mechanism.mechanism)?.build(&args.mechanism.parameters)?;
    let budget = Budget::approximate(args.epsilon, args.delta)?;
    let schema = Schema::read(&args.schema)?;
    let source = args.workload.source()?;
    let (domain, workload, left_out) = match &args.weight {
        None => {
            let domain = schema.domain();
            let (workload, left_out) = source.read(&domain)?;
            (domain, workload, left_out)
        }
        Some(name) => weighted(&schema, &source, name)?,
    };
    let relation = args.neighbors;
    let earlier = args.ledger_from.as_deref().map(LedgerFile::read).transpose()?;
    let (budget, whole) = budget.left_after(relation, earlier.as_ref())?;
    if !(0.0..1.0).contains(&args.error_share) {
        let expected = "expected from 0 to below 1";
        return Err(Failure::usage(format!("--error-share is {}, {expected}", args.error_share)));
    }
    // Those of a run come out of what its errors leave.
    let (of_errors, rho) = whole.fraction(args.error_share)?;
    let records = args.records;
    let about = PlanFor { domain: &domain, workload: &workload, relation, rho, records };
    let run = mechanism.plan(&about)?;
    let limit_mib = run.size_limit_mib.unwrap_or(Fitting::SIZE_LIMIT_MIB);
    let measured = match &args.measured {
        Some(path) => {
            let cliques = Workload::read(path, &domain)?.cliques();
            engine::check_size(&domain, &cliques, limit_mib)?;
            Some(cliques)
        }
        None => None,
    };
    let mut plan = Plan::new(&about, left_out, budget, mechanism.name(), run, measured)?;
    let share = args.mechanism.parameters.get("measure-share").and_then(Value::as_f64);
    let bound = args.public_records.map(|public_records| ReweightingBound {
        records,
        rho,
        measure_share: share.unwrap_or(0.5),
        public_records,
        queries: plan.workload_cells,
        mixture_error: args.mixture_error.unwrap_or(0.0),
        failure: 0.05,
    });
    plan.rho = whole.to_f64();
    plan.error_share = args.error_share;
    plan.error_half_width =
        (args.error_share > 0.0).then(|| half_width(relation, of_errors.to_f64()) / records as f64);
    if let Some(earlier) = &earlier {
        plan.earlier_rho = earlier.ledger.spent().to_f64();
        plan.earlier_delta = earlier.ledger.delta_spent();
    }
    plan.runs = args.tables.unwrap_or(0).saturating_add(1);
    plan.worst_case = bound.map(ReweightingBound::worst_case).transpose()?;
    if args.json { console::json_result(&plan) } else { console::result(&plan.text()) }
}

/// Half the width of the 95 % interval of the mean error of a workload, in counts: the mean of k errors, measured as one vector
/// with Gaussian noise, has that of a single one whatever k is (`docs/guide/error-bars.md`).
fn half_width(relation: NeighboringRelation, rho: f64) -> f64 {
    const QUANTILE: f64 = 1.96;
    let sensitivity = if relation.has_public_total() { 2.0 } else { 1.0 };
    QUANTILE * sensitivity / (2.0 * rho).sqrt()
}

/// The domain and the workload of a run with a survey weight, and how many cliques were left out.
fn weighted(
    schema: &Schema,
    source: &WorkloadSource,
    name: &str,
) -> Outcome<(Domain, Workload, usize)> {
    let none = || {
        let place = format!("the survey weight, column '{name}'");
        let expected =
            "\"kind\": \"numeric\" with \"edges\", as `jointly schema --public` drafts them";
        Err(Error::invalid_specification(place, "no bins in the schema", expected))
    };
    let domain = schema.with_weight(name, none)?.domain();
    let (workload, left_out) = source.read(&domain)?;
    let weight = domain.position(name).unwrap_or_default();
    Ok((domain.clone(), source.crossed(workload, weight, &domain)?, left_out))
}

impl Plan {
    fn new(
        about: &PlanFor<'_>,
        left_out: usize,
        budget: Budget,
        mechanism: &'static str,
        run: RunPlan,
        measured: Option<Vec<Clique>>,
    ) -> Outcome<Self> {
        let (domain, workload, records) = (about.domain, about.workload, about.records);
        let limit_mib = run.size_limit_mib.unwrap_or(f64::INFINITY);
        let closure = workload.downward_closure();
        let mut by_size: BTreeMap<usize, SizeClass> = BTreeMap::new();
        let mut too_large = Vec::new();
        let fit_alone = engine::fit_alone(domain, &closure, limit_mib);
        let first_limit_mib = run.first_limit_mib();
        let fit_first_round = match first_limit_mib {
            Some(mib) => engine::fit_alone(domain, &closure, mib),
            None => fit_alone.clone(),
        };
        for ((clique, fits), fits_first) in closure.iter().zip(fit_alone).zip(fit_first_round) {
            let class = by_size.entry(clique.len()).or_default();
            class.cliques += 1;
            class.cells = class.cells.saturating_add(cells(domain, clique));
            class.fit_alone += u64::from(fits);
            class.fit_first_round += u64::from(fits_first);
            if !fits {
                too_large.push(names(domain, clique));
            }
        }
        let closure_cells = by_size.values().fold(0_u64, |n, c| n.saturating_add(c.cells));
        let mut cliques = workload.cliques();
        cliques.sort_by_key(|clique| cells(domain, clique));
        let measured_given = measured.is_some();
        let limit_mib = run.size_limit_mib.unwrap_or(Fitting::SIZE_LIMIT_MIB);
        let measured = measured
            .unwrap_or_else(|| engine::example_run(domain, &closure, run.rounds, limit_mib));
        let engine = EngineCost::of(domain, &measured)?;
        Ok(Self {
            attributes: domain.len(),
            log10_domain_size: domain.log10_cells(),
            workload_cliques: cliques.len(),
            left_out,
            workload_cells: cliques.iter().fold(0, |n, c| n.saturating_add(cells(domain, c))),
            closure_cliques: closure.len(),
            closure_cells,
            closure_by_size: by_size,
            too_large,
            counts_bytes_per_table: closure_cells.saturating_mul(4),
            epsilon: budget.epsilon(),
            delta: budget.delta(),
            rho: about.rho.to_f64(),
            error_share: 0.0,
            error_half_width: None,
            earlier_rho: 0.0,
            earlier_delta: 0.0,
            relation: about.relation,
            records,
            mechanism,
            first_round_limit_mib: first_limit_mib,
            noisy: noisy(domain, &cliques, &run, records),
            run,
            measured_given,
            engine,
            runs: 1,
            worst_case: None,
        })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let mut row = |name: &str, value: String| _ = writeln!(text, "{name:<46}{value}");
        row("Attributes", self.attributes.to_string());
        row("Possible records", format!("10^{:.1}", self.log10_domain_size));
        row("Cliques in the workload", grouped(self.workload_cliques as u64));
        if self.left_out > 0 {
            row("  left out for their cells", grouped(self.left_out as u64));
        }
        row("  cells of their marginals", grouped(self.workload_cells));
        row("Cliques in its downward closure", grouped(self.closure_cliques as u64));
        row("  cells of their marginals", grouped(self.closure_cells));
        row("  memory for the counts, each table", bytes(self.counts_bytes_per_table as f64));
        row("Budget", format!("epsilon {}, delta {:e}", self.epsilon, self.delta));
        if self.earlier_rho > 0.0 {
            let delta = match self.earlier_delta {
                0.0 => String::new(),
                delta => format!(", delta {delta:e}"),
            };
            row("  spent by the earlier ledger", format!("rho {}{delta}", short(self.earlier_rho)));
        }
        row("  as rho", short(self.rho));
        if let Some(half) = self.error_half_width {
            row("  to measure the errors of the table", percent(self.error_share));
            row("  half width of the mean error (0 to 2)", short(half));
        }
        row("Neighboring tables", self.relation.to_string());
        row("Mechanism", self.mechanism.to_owned());
        row("Rounds, at most", self.run.rounds.to_string());
        for step in &self.run.steps {
            row(&format!("Measured: {}", step.what), grouped(step.measurements.into()));
            row("  noise, standard deviation", format!("{} counts", short(step.stddev)));
            row("  as a share of the records", percent(step.stddev / self.records as f64));
        }
        if self.runs > 1 {
            row("Replicates, at no privacy cost", grouped(self.runs - 1));
            row(
                "  time, compared with no replicates",
                format!("about {} times", grouped(self.runs)),
            );
        }
        if let Some(limit) = self.run.size_limit_mib {
            row("Model size limit", format!("{} MiB", short(limit)));
        }
        if let Some(limit) = self.first_round_limit_mib.filter(|_| self.run.grows) {
            row("  in the first round", format!("{} MiB", short(limit)));
        }
        if let Some(worst) = &self.worst_case {
            row("Public records to reweight", grouped(worst.bound.public_records));
            row("  their best mixture error, assumed", short(worst.bound.mixture_error));
            let alike = worst.sufficient_records.map_or_else(|| "none".into(), grouped);
            row("  records like the private that have it", alike);
            row("  rounds with the least bound", grouped(worst.rounds.into()));
            row("  error of a query, 95 % sure, at most", short(worst.error));
        }
        if let Some(remark) = self.run.remark {
            _ = writeln!(text, "\n{remark}");
        }
        if !self.noisy.is_empty() {
            text.push_str(
                "\nExpected L1 noise of one marginal of the workload, measured in the first step (errors run\n\
                 from 0 to 2):\n",
            );
        }
        for noisy in &self.noisy {
            _ = writeln!(
                text,
                "  {:<9}{:>12} cells {:>12}  {}",
                noisy.which,
                grouped(noisy.cells),
                short(noisy.expected_l1_share),
                noisy.clique.join(" x ")
            );
        }
        text.push_str("\nCliques of the downward closure that fit the model size limit:\n");
        text.push_str("  attributes     cliques   fit alone  fit in the first round\n");
        for (size, class) in &self.closure_by_size {
            let [all, alone, first] =
                [class.cliques, class.fit_alone, class.fit_first_round].map(grouped);
            _ = writeln!(text, "  {size:>10}{all:>12}{alone:>12}{first:>24}");
        }
        for clique in self.too_large.iter().take(SHOWN) {
            _ = writeln!(text, "  does not fit: {}", clique.join(" x "));
        }
        if self.too_large.len() > SHOWN {
            let more = (self.too_large.len() - SHOWN) as u64;
            _ = writeln!(text, "  ... and {} more (--json lists them all)", grouped(more));
        }
        self.push_engine(&mut text);
        text
    }
}

impl Plan {
    /// The cost of the model of the measured cliques: its size, the work per call, and the memory.
    fn push_engine(&self, text: &mut String) {
        let engine = &self.engine;
        text.push_str(if self.measured_given {
            "\nThe model of the measured cliques:\n"
        } else {
            "\nA model such as a run may end with (cliques drawn at random while they fit the limit):\n"
        });
        let mut row = |name: &str, value: String| _ = writeln!(text, "  {name:<44}{value}");
        row("measured cliques", grouped(engine.measured_cliques as u64));
        row("  cells of their marginals", grouped(engine.measured_cells as u64));
        row("model size, 8 bytes per cell, never held", format!("{} MiB", short(engine.model_mib)));
        row("  cells of its maximal cliques", grouped(engine.model_cells));
        row("work: cells walked over in a call", grouped(engine.work_cells));
        row(
            "  time of a call, this machine",
            format!("{} ms", short(1e3 * engine.seconds_per_call)),
        );
        row("memory held by a fit", bytes(engine.held_bytes as f64));
    }
}

/// The smallest, the median and the largest clique of a workload, sorted by cells, with the noise of the first step.
fn noisy(domain: &Domain, cliques: &[Clique], run: &RunPlan, records: u64) -> Vec<NoisyClique> {
    let Some(step) = run.steps.first() else { return Vec::new() };
    let places = [("smallest", 0), ("median", cliques.len() / 2), ("largest", cliques.len() - 1)];
    let noisy = |(which, place): (&'static str, usize)| {
        let cells = cells(domain, &cliques[place]);
        let expected_l1 = std::f64::consts::FRAC_2_PI.sqrt() * step.stddev * cells as f64;
        let expected_l1_share = expected_l1 / records as f64;
        let clique = names(domain, &cliques[place]);
        NoisyClique { which, clique, cells, expected_l1, expected_l1_share }
    };
    places.into_iter().map(noisy).collect()
}

fn names(domain: &Domain, clique: &Clique) -> Vec<String> {
    clique.iter().map(|a| domain.name(a).to_owned()).collect()
}

fn cells(domain: &Domain, clique: &Clique) -> u64 {
    domain.cells(clique).unwrap_or(u64::MAX)
}
