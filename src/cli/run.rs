//! `jointly synth`: the steps from tables to a synthetic table, in order.

use std::fs;
use std::path::Path;
use std::time::{Instant, UNIX_EPOCH};

use jointly::Error;
use jointly::data::{Dataset, Labels, Projectable, Units, write_csv_file};
use jointly::domain::{Clique, Schema};
use jointly::measurement::Provenance;
use jointly::mechanism::{
    Aim, CheckpointFolder, Hdmm, Ide, Independent, Iterate, JamPgm, Mechanism, Mst, Mwem, MwemPgm,
    Pep, PepPub, PmwPub, PublicOnly, Queries, QueryRelease, Release, ResidualPlanner, Task,
};
use jointly::model::{Model, ModelFile, Sampling};
use jointly::privacy::{Curator, NoiseForm, Rho, Selection};
use rand::rngs::ChaCha20Rng;
use rand::{Rng, SeedableRng};
use serde_json::json;

use super::args::{
    IdeArgs, IterateName, MechanismName, NoiseName, QueriesName, SelectionName, SynthArgs,
};
use super::config::{SynthConfig, Tuning};
use super::console::Console;
use super::failure::Outcome;
use super::format::{duration, grouped, percent, short};
use super::inputs::Inputs;
use super::progress::Progress;
use super::report::{self, Content};
use super::{ledger, output, spent};

pub(super) fn run(args: &SynthArgs, console: Console) -> Outcome {
    let config = SynthConfig::new(args)?;
    let started = Instant::now();
    let done = synthesize(&config, console)?;
    summary(&config, &done, started.elapsed().as_secs_f64(), console);
    Ok(())
}

/// A finished run, its files written.
pub(super) struct Done {
    pub(super) inputs: Inputs,
    pub(super) release: Release,
    pub(super) synthetic: Dataset,
}

/// All steps of a run. Whatever can be found wrong is found before the budget is spent.
pub(super) fn synthesize(config: &SynthConfig, console: Console) -> Outcome<Done> {
    output::check(&config.inputs(), &config.outputs())?;
    if config.seed.is_some() {
        console.warning(
            "--seed repeats the noise, which can then be removed: the result is NOT PRIVATE",
        );
    }
    if !config.mechanism.uses_public_tables() && !config.public.is_empty() {
        let name = config.mechanism.name();
        let text =
            format!("{name} makes no use of public tables: they are read for the report alone");
        console.note("public", &text, json!({ "mechanism": name, "used": false }));
    }
    let checkpoint = checkpoint(config)?;
    let inputs = Inputs::read(config, console)?;
    let release = release(config, &inputs, checkpoint, console)?;
    let synthetic = write_outputs(config, &inputs, &release).inspect_err(|_| {
        let spent = release.ledger.spent();
        console.warning(&format!("rho = {spent} was spent; not all output files were written"));
    })?;
    Ok(Done { inputs, release, synthetic })
}

/// Writes what was asked for, the ledger first; the synthetic table.
fn write_outputs(config: &SynthConfig, inputs: &Inputs, release: &Release) -> Outcome<Dataset> {
    if let Some(path) = &config.ledger {
        output::write_json(path, &ledger::Document::new(config, inputs, release))?;
    }
    if let Some(path) = &config.model {
        let file = ModelFile {
            schema: inputs.schema.clone(),
            model: release.model.clone(),
            mechanism: release.mechanism.to_owned(),
            is_private: release.is_private,
        };
        file.write(path)?;
    }
    let near = inputs.workload.cliques();
    let (model, rows) = (&release.model, config.rows);
    let synthetic = write_records(model, &inputs.schema, &near, rows, config.seed, &config.out)?;
    if let Some(path) = &config.report {
        let content = Content {
            release,
            schema: &inputs.schema,
            public: &inputs.public,
            budget: config.budget,
            parameters: parameters(config, inputs, release),
            rows: synthetic.records(),
        };
        output::write_text(path, &report::render(&content)?)?;
    }
    Ok(synthetic)
}

/// Draws records from a model, brings them near its marginals on some cliques, and writes them as a table.
///
/// `rows`: `None` for as many as the model stands for. `seed`: `None` for one of the system's.
pub(super) fn write_records(
    model: &Model,
    schema: &Schema,
    near: &[Clique],
    rows: Option<usize>,
    seed: Option<u64>,
    out: &Path,
) -> Outcome<Dataset> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed.unwrap_or_else(rand::random));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let rows = rows.unwrap_or_else(|| model.total().round().max(1.0) as usize);
    let drawn = model.sample(rows, Sampling::Rounded, &mut rng)?;
    let synthetic = model.refine(drawn, near)?;
    write_csv_file(out, &synthetic, schema, Labels::Codes, rng.next_u64())?;
    Ok(synthetic)
}

/// The only step that spends.
fn release(
    config: &SynthConfig,
    inputs: &Inputs,
    checkpoint: Option<CheckpointFolder>,
    console: Console,
) -> Outcome<Release> {
    let data: &dyn Projectable = &inputs.private;
    let (relation, seed) = (config.tuning.relation, config.noise_seed());
    let mut curator = match config.budget {
        None => Curator::new(data, relation, Rho::ZERO, seed)?,
        Some(budget) if budget.delta.is_none() => {
            Curator::pure(data, relation, budget.epsilon, seed)?
        }
        Some(budget) => Curator::new(data, relation, budget.rho, seed)?,
    };
    if let Some(path) = &config.ledger_from {
        curator.charge_earlier(&spent::read(
            path,
            config.tuning.relation,
            config.units.as_ref(),
            config.seed.is_some(),
        )?)?;
    }
    let earlier = curator.spent();
    let task = Task { workload: &inputs.workload, public: &inputs.public };
    let mut progress = Progress::new(console);
    let (name, tuning, ide) = (config.mechanism, config.tuning, &config.ide);
    let mechanism = mechanism(name, tuning, ide, config.iterations, checkpoint);
    let release = mechanism.run(&mut curator, &task, &mut progress);
    progress.finish();
    if release.is_err() && curator.spent() > earlier {
        failed(config, &curator, console)?;
    }
    Ok(release?)
}

/// Tells what a failed run has spent, and writes it for `--ledger-from`.
///
/// With a checkpoint nothing more is told than that says: a round that did not get into it is drawn anew, so that what was
/// drawn for it, such as which marginal, must not be seen.
fn failed(config: &SynthConfig, curator: &Curator<'_>, console: Console) -> Outcome {
    if let Some(folder) = &config.checkpoint {
        let folder = folder.display();
        console
            .warning(&format!("what was spent is in {folder}: the same command goes on from it"));
        return Ok(());
    }
    let (spent, limit) = (curator.spent(), curator.ledger().limit());
    console.warning(&format!("rho = {spent} of {limit} was spent before the failure"));
    match (&config.ledger, config.budget) {
        (Some(path), Some(budget)) => {
            let document = spent::Document::new(config.mechanism.name(), budget, curator);
            document.write_for(config.units.as_ref(), path)
        }
        _ => Ok(()),
    }
}

/// The mechanism of a name. `iterations`: most oracle calls of a fit.
pub(super) fn mechanism(
    name: MechanismName,
    tuning: Tuning,
    ide: &IdeArgs,
    iterations: u32,
    checkpoint: Option<CheckpointFolder>,
) -> Box<dyn Mechanism> {
    let Tuning { rounds, measure_share, size_limit_mib, .. } = tuning;
    match name {
        MechanismName::JamPgm => {
            Box::new(JamPgm { rounds, measure_share, size_limit_mib, iterations, checkpoint })
        }
        MechanismName::Aim => {
            Box::new(Aim { rounds, measure_share, size_limit_mib, iterations, checkpoint })
        }
        MechanismName::Mst => Box::new(Mst { size_limit_mib, iterations, checkpoint }),
        MechanismName::MwemPgm => {
            Box::new(MwemPgm { rounds, measure_share, size_limit_mib, iterations, checkpoint })
        }
        MechanismName::Independent => {
            Box::new(Independent { size_limit_mib, iterations, checkpoint })
        }
        MechanismName::ResidualPlanner => {
            Box::new(ResidualPlanner { size_limit_mib, iterations, ..ResidualPlanner::default() })
        }
        MechanismName::Hdmm => Box::new(Hdmm { size_limit_mib, iterations, ..Hdmm::default() }),
        MechanismName::PublicOnly => Box::new(PublicOnly { rounds, size_limit_mib, iterations }),
        MechanismName::Mwem => {
            Box::new(Mwem { release: tuning.query_release(&Mwem::default().release, checkpoint) })
        }
        MechanismName::PmwPub => Box::new(PmwPub {
            release: tuning.query_release(&PmwPub::default().release, checkpoint),
        }),
        MechanismName::Pep => {
            let Pep { release, projections } = Pep::default();
            let projections = tuning.reweighting.projections.unwrap_or(projections);
            Box::new(Pep { release: tuning.query_release(&release, checkpoint), projections })
        }
        MechanismName::PepPub => {
            let PepPub { release, projections } = PepPub::default();
            let projections = tuning.reweighting.projections.unwrap_or(projections);
            Box::new(PepPub { release: tuning.query_release(&release, checkpoint), projections })
        }
        MechanismName::Ide => Box::new(ide.mechanism(tuning, checkpoint)),
    }
}

impl IdeArgs {
    /// The mechanism, the defaults replaced by what is asked for.
    fn mechanism(&self, tuning: Tuning, checkpoint: Option<CheckpointFolder>) -> Ide {
        let defaults = Ide::default();
        Ide {
            groups: self.groups.clone(),
            noise: match self.noise {
                Some(NoiseName::Laplace) => NoiseForm::Laplace,
                Some(NoiseName::Gaussian) | None => NoiseForm::Gaussian,
            },
            level_shares: self.level_shares.clone().unwrap_or_default(),
            answer_share: tuning.measure_share,
            cliques: self.cliques,
            checkpoint,
            ..defaults
        }
    }
}

impl Tuning {
    /// The rounds of a mechanism that reweights, the defaults replaced by what is asked for.
    fn query_release(
        self,
        defaults: &QueryRelease,
        checkpoint: Option<CheckpointFolder>,
    ) -> QueryRelease {
        QueryRelease {
            rounds: self.rounds.unwrap_or(defaults.rounds),
            measure_share: self.measure_share,
            selection: match self.reweighting.selection {
                None => defaults.selection,
                Some(SelectionName::PermuteAndFlip) => Selection::PermuteAndFlip,
                Some(SelectionName::Exponential) => Selection::Exponential,
            },
            queries: match self.reweighting.queries {
                None => defaults.queries,
                Some(QueriesName::Single) => Queries::Single,
                Some(QueriesName::Marginals) => Queries::Marginals,
            },
            iterate: match self.reweighting.iterate {
                None => defaults.iterate,
                Some(IterateName::Last) => Iterate::Last,
                Some(IterateName::Average) => Iterate::Average,
            },
            checkpoint,
        }
    }
}

/// The checkpoint's folder, made and tried; the private table is told from others by its file's place and time of
/// change, never by its records or their number, and by what makes records of the file: schema and unit of privacy.
fn checkpoint(config: &SynthConfig) -> Outcome<Option<CheckpointFolder>> {
    let Some(folder) = &config.checkpoint else { return Ok(None) };
    let failed = |action, path: &Path| {
        let path = path.to_owned();
        move |source| Error::Io { action, path, source }
    };
    fs::create_dir_all(folder).map_err(failed("create", folder))?;
    output::check(&[], &[("--checkpoint", &folder.join("state"))])?;
    let place = fs::canonicalize(&config.private).map_err(failed("read", &config.private))?;
    let about = fs::metadata(&place).map_err(failed("read", &place))?;
    let changed = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let changed = changed.map_or(0, |time| time.as_nanos());
    let schema = fs::read_to_string(&config.schema).map_err(failed("read", &config.schema))?;
    let unit = config.units.as_ref().map_or("", Units::column);
    let private_label = format!("{} {changed}\n{unit}\n{schema}", place.display());
    Ok(Some(CheckpointFolder { folder: folder.clone(), private_label }))
}

/// The parameters of a run for its report.
fn parameters(
    config: &SynthConfig,
    inputs: &Inputs,
    release: &Release,
) -> Vec<(&'static str, String)> {
    let public = inputs
        .public
        .iter()
        .map(|table| format!("{} ({} records)", table.name(), grouped(table.records())));
    let mut public = public.collect::<Vec<_>>().join(", ");
    if public.is_empty() {
        public.push_str("none");
    } else if !config.mechanism.uses_public_tables() {
        public.push_str(", not used");
    }
    let mut parameters = vec![
        ("mechanism", release.mechanism.to_owned()),
        ("workload", config.workload.workload.clone()),
        ("cliques in the workload", grouped(inputs.workload.len() as u64)),
        ("public tables", public),
        ("neighboring tables", release.relation.to_string()),
        ("rounds", release.rounds.len().to_string()),
    ];
    if let Some(support) = release.model.as_weighted_support() {
        let asked = config.tuning.reweighting;
        parameters.push(("records of the support", grouped(support.size() as u64)));
        let choices = [
            ("selection", asked.selection.map(|name| format!("{name:?}"))),
            ("queries of a round", asked.queries.map(|name| format!("{name:?}"))),
            ("iterate", asked.iterate.map(|name| format!("{name:?}"))),
            ("projections a round, at most", asked.projections.map(|most| most.to_string())),
        ];
        let choices = choices.into_iter().filter_map(|(name, value)| Some((name, value?)));
        parameters.extend(choices.map(|(name, value)| (name, value.to_lowercase())));
    } else if let Some(model) = release.model.as_grouped_support() {
        let names = model.group_attributes().iter().map(|a| model.domain().name(*a));
        parameters.push(("group attributes", names.collect::<Vec<_>>().join(", ")));
        parameters.push(("groups", grouped(model.groups().len() as u64)));
        parameters.push(("records of the support", grouped(model.rows().records() as u64)));
        let shares = config.ide.level_shares.clone().unwrap_or_default();
        parameters.push(("shares of the levels", shares.to_string()));
    } else {
        let limit = format!("{} MiB", short(config.tuning.size_limit_mib));
        parameters.push(("size limit", limit));
        parameters.push(("iterations a round, at most", config.iterations.to_string()));
    }
    if let Some(units) = &config.units {
        let text = format!("{}, the first {} records of each", units.column(), units.most());
        parameters.push(("unit of privacy", text));
    }
    if let Some(most) = config.workload.max_cells {
        parameters.push(("cells of a clique, at most", grouped(most)));
    }
    if let Some(budget) = config.budget {
        parameters.push(("epsilon", budget.epsilon.to_string()));
        parameters.push(("delta", format!("{:e}", budget.delta())));
        parameters.push(("rho, limit", budget.rho.to_string()));
        parameters.push(("rho, spent", release.ledger.spent().to_string()));
        if let Some(epsilon) = release.ledger.pure_epsilon().filter(|epsilon| *epsilon > 0.0) {
            parameters.push(("pure epsilon, spent", epsilon.to_string()));
        }
        if config.mechanism.measure_share().is_some() {
            let share = short(config.tuning.measure_share);
            parameters.push(("share of a round for measuring", share));
        }
    }
    let noise = config.seed.map_or_else(
        || "the system's generator".into(),
        |seed| format!("fixed seed {seed}: NOT PRIVATE"),
    );
    parameters.push(("noise from", noise));
    parameters
}

/// Marginals taken privately, and all.
pub(super) fn taken(release: &Release) -> (usize, usize) {
    let private = release.rounds.iter().filter(|r| r.provenance == Provenance::Private).count();
    (private, release.rounds.len())
}

fn summary(config: &SynthConfig, done: &Done, seconds: f64, console: Console) {
    let release = &done.release;
    let (spent, limit) = (release.ledger.spent(), release.ledger.limit());
    let (private, all) = taken(release);
    let share = if limit.is_zero() { 0.0 } else { spent.to_f64() / limit.to_f64() };
    let text = format!(
        "{}: {} records from {private} private and {} public marginals; {} of rho {} spent; {}",
        config.out.display(),
        grouped(done.synthetic.records() as u64),
        all - private,
        percent((share * 1e4).round() / 1e4),
        short(limit.to_f64()),
        duration(seconds),
    );
    let facts = json!({
        "out": config.out.display().to_string(),
        "records": done.synthetic.records(),
        "private": release.is_private,
        "private_marginals": private,
        "public_marginals": all - private,
        "rho_spent": spent.to_f64(),
        "rho_limit": limit.to_f64(),
        "seconds": seconds,
    });
    console.note("finished", &text, facts);
}
