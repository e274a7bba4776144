//! Whole mechanisms on worst-case neighbors: how much their output tells them apart, against what their ledger claims.
//!
//! ρ-zCDP implies that the Kullback-Leibler divergence between the outputs on two neighbors is at most ρ. For any
//! function f of an output, `E_P[f] − log E_Q[exp f]` is at most that divergence (Donsker and Varadhan 1983). f is the
//! log likelihood ratio of the measurements plus that of the choices, and is fixed before the half of the runs that is
//! evaluated. A lower confidence bound above ρ is a violation; an estimate close to ρ shows that the audit would see one.
//!
//! Pure ε is tested by the most telling event `f > t`, with Clopper-Pearson bounds.
//!
//! The quick form makes 12,000 runs of each mechanism, and fewer of each option. `AUDIT_RUNS=100000 cargo test --test audit -- --ignored
//! --nocapture the_whole_table` is the long one; its table is in `docs/results/audit.md`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::fmt::Write as _;

use jointly::data::{Dataset, Projectable, PublicData};
use jointly::domain::{Clique, Domain};
use jointly::measurement::{Measurement, Provenance};
use jointly::mechanism::{CATALOGUE, Entry, Mechanism, PublicTables, Release, Task, find};
use jointly::observe::{Event, Observer, Silent};
use jointly::privacy::{
    Budget, Checkpoint, Curator, LedgerEntry, LedgerFile, NeighboringRelation, NoiseForm,
    NoiseMechanism, NoiseSeed, RecordsPerUnit, Rho,
};
use jointly::query::Workload;
use jointly::settings::Form;
use jointly::trust::{MixtureRelease, Trust};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use NeighboringRelation::{AddRemoveOne, AddRemoveUnit, ReplaceOne};

use crate::quick::quick;

/// Runs of each mechanism in the quick form, half of them on either neighbor.
const QUICK: usize = 12_000;
/// Standard deviations of a lower confidence bound: a chance of 3 · 10⁻⁷, for some 60 looks.
const CONFIDENCE: f64 = 5.0;
/// Largest log likelihood ratio that f takes.
const CLAMP: f64 = 6.0;
/// The budget of a run: large enough that the divergence is seen, small enough that both neighbors overlap.
const RHO: f64 = 1.0;

/// Two neighbors, and everything that a run needs besides.
pub(crate) struct World {
    relation: NeighboringRelation,
    neighbors: [Dataset; 2],
    /// The marginals of both, counted once for all runs.
    counts: [HashMap<Clique, Vec<f64>>; 2],
    public: Vec<PublicData>,
    workload: Workload,
}

fn domain() -> Domain {
    Domain::new([("a", 2), ("b", 2)]).unwrap()
}

fn table(counts: [usize; 4]) -> Dataset {
    let rows: Vec<[u32; 2]> = [[0, 0], [0, 1], [1, 0], [1, 1]]
        .into_iter()
        .zip(counts)
        .flat_map(|(row, count)| vec![row; count])
        .collect();
    Dataset::from_rows(domain(), &rows).unwrap()
}

impl World {
    /// A record moves from (0, 0) to (1, 1), or comes to (0, 0), or as many as a household may have: every marginal changes as much as it can. The public
    /// table lies on the other side, so that its errors change as much as they can, too.
    fn new(relation: NeighboringRelation) -> Self {
        let neighbors = match relation {
            ReplaceOne => [table([30, 20, 20, 90]), table([29, 20, 20, 91])],
            AddRemoveOne => [table([90, 20, 20, 30]), table([91, 20, 20, 30])],
            AddRemoveUnit(most) => {
                let more = usize::try_from(most.get()).unwrap();
                [table([90, 20, 20, 30]), table([90 + more, 20, 20, 30])]
            }
        };
        let public = match relation {
            ReplaceOne => table([140, 50, 50, 30]),
            _ => table([20, 40, 40, 140]),
        };
        let cliques = [&[0][..], &[1], &[0, 1]].map(|attributes| Clique::new(attributes.to_vec()));
        let counts = neighbors.each_ref().map(|table| {
            let counted = |clique: &Clique| {
                let counts = table.project(clique).unwrap();
                (clique.clone(), counts.into_iter().map(f64::from).collect())
            };
            cliques.iter().map(counted).collect()
        });
        Self {
            relation,
            neighbors,
            counts,
            public: vec![PublicData::new("near", public, &domain()).unwrap()],
            workload: Workload::all_k_way(&domain(), 2).unwrap(),
        }
    }

    fn counts(&self, which: usize, clique: &Clique) -> &[f64] {
        &self.counts[which][clique]
    }

    /// The log likelihood ratio of a released marginal or cell: first neighbor against second.
    fn of_measurement(&self, measurement: &Measurement, entry: Option<&LedgerEntry>) -> f64 {
        let truth = |which| {
            let counts = self.counts(which, &measurement.clique);
            measurement.cell.map_or(counts, |cell| &counts[cell..=cell])
        };
        let loss = |x: f64| match entry.map(|entry| &entry.mechanism) {
            Some(NoiseMechanism::DiscreteLaplace { scale, .. }) => x.abs() / scale.to_f64(),
            _ => x * x / (2.0 * measurement.stddev * measurement.stddev),
        };
        let cells = measurement.values.iter().zip(truth(0)).zip(truth(1));
        cells.map(|((y, one), other)| loss(y - other) - loss(y - one)).sum()
    }

    /// What a release tells: the log likelihood ratio of its measurements, and its choices.
    ///
    /// `at_once`: the measurements are answers computed from one vector, so that those of the pair say all.
    fn told(&self, release: &Release, at_once: bool) -> Told {
        let mut entries = release.ledger.entries().iter().filter(|entry| entry.clique.is_some());
        let (mut ratio, mut path) = (0.0, String::new());
        for measurement in &release.measurements {
            write!(path, "{}/{:?} ", measurement.clique, measurement.cell).unwrap();
            if at_once && measurement.clique.len() < 2 {
                continue;
            }
            if measurement.provenance == Provenance::Private {
                ratio += self.of_measurement(measurement, entries.next());
            } else {
                path.push_str("public ");
            }
        }
        // Choices among whole models.
        path.push_str(release.public_trust.as_ref().map_or("", |trust| trust.published));
        // Released records that no measurement tells.
        if let (Some(support), []) =
            (release.model.as_weighted_support(), &release.measurements[..])
        {
            for (record, weight) in support.weights().iter().enumerate() {
                write!(path, "{:?} x {weight} ", support.rows().row(record)).unwrap();
            }
        }
        let epsilon = release.ledger.pure_epsilon();
        Told { ratio, path, rho: release.ledger.spent().to_f64(), epsilon }
    }
}

/// What one run tells.
pub(crate) struct Told {
    /// Log likelihood ratio of the measurements, up to a constant.
    pub(crate) ratio: f64,
    /// The choices.
    pub(crate) path: String,
    /// What the ledger claims.
    pub(crate) rho: f64,
    /// What it claims of pure ε, if it does.
    pub(crate) epsilon: Option<f64>,
}

/// The result of an audit.
struct Audited {
    claimed: f64,
    measured: f64,
    /// Lower confidence bound.
    lower: f64,
    /// The claimed and the lower bound of pure ε.
    pure: Option<(f64, f64)>,
}

/// A way to run something on one of two neighbors.
pub(crate) type Runner = Box<dyn Fn(&World, usize) -> Told + Sync>;

/// Something that is audited.
pub(crate) struct Subject {
    /// What it is, in the table.
    pub(crate) name: String,
    pub(crate) relation: NeighboringRelation,
    /// The share of its claim that the audit must see on these neighbors, so that it can see a violation.
    reach: f64,
    /// Runs in the quick form.
    quick: usize,
    runner: Runner,
}

impl Subject {
    pub(crate) fn new(
        name: impl Into<String>,
        relation: NeighboringRelation,
        reach: f64,
        runner: Runner,
    ) -> Self {
        Self { name: name.into(), relation, reach, quick: QUICK, runner }
    }

    /// The same with other runs in the quick form; 0 for the long form alone.
    pub(crate) fn quick(self, quick: usize) -> Self {
        Self { quick, ..self }
    }
}

fn audit(world: &World, runs: usize, runner: &Runner) -> Audited {
    let drawn = |which: usize| -> Vec<Told> {
        (0..runs / 2).into_par_iter().map(|_| runner(world, which)).collect()
    };
    let (one, other) = (drawn(0), drawn(1));
    let half = runs / 4;
    // Fixed on the first halves: the likelihood ratios of the choices.
    let mut paths: HashMap<&str, [f64; 2]> = HashMap::new();
    for (which, told) in [&one, &other].into_iter().enumerate() {
        told[..half]
            .iter()
            .for_each(|told| paths.entry(&told.path).or_insert([2.0; 2])[which] += 1.0);
    }
    let f = |told: &Told| {
        let [p, q] = paths.get(&*told.path).copied().unwrap_or([1.0; 2]);
        (told.ratio + (p / q).ln()).clamp(-CLAMP, CLAMP)
    };
    let train = |told: &[Told]| told[..half].iter().map(f).collect::<Vec<f64>>();
    let test = |told: &[Told]| told[half..].iter().map(f).collect::<Vec<f64>>();
    // E_P[f] - log E_Q[exp f] on the second halves, with the errors of both means.
    let (p, q) = (test(&one), test(&other));
    let exp: Vec<f64> = q.iter().map(|f| f.exp()).collect();
    let ((mean, error), (sum, spread)) = (mean_and_error(&p), mean_and_error(&exp));
    let measured = mean - sum.ln();
    let lower = measured - CONFIDENCE * (error.powi(2) + (spread / sum).powi(2)).sqrt();
    // ρ-zCDP holds for the worst run: the largest claim.
    let all = || one.iter().chain(&other);
    let claimed = all().map(|told| told.rho).fold(0.0, f64::max);
    let epsilon = all().map(|told| told.epsilon).try_fold(0.0, |m: f64, e| e.map(|e| m.max(e)));
    let pure = epsilon.map(|claim| (claim, pure_bound(&[train(&one), train(&other)], [&p, &q])));
    Audited { claimed, measured, lower, pure }
}

fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// A lower confidence bound of `log P[f > t] / Q[f > t]`, with the best t of the first halves.
fn pure_bound(train: &[Vec<f64>; 2], test: [&[f64]; 2]) -> f64 {
    let above = |values: &[f64], t: f64| values.iter().filter(|f| **f > t).count();
    let bound = |values: [&[f64]; 2], t: f64| {
        let lower = clopper_pearson(above(values[0], t), values[0].len()).0;
        let upper = clopper_pearson(above(values[1], t), values[1].len()).1;
        (lower.max(1e-300) / upper).ln()
    };
    let thresholds = (-30..=30).map(|t| f64::from(t) * 0.1);
    let best = thresholds.max_by(|s, t| {
        let of = |t: f64| bound([&train[0], &train[1]], t);
        of(*s).total_cmp(&of(*t))
    });
    bound(test, best.unwrap_or(0.0))
}

/// Bounds of a probability, each missed with a chance of 3 · 10⁻⁷, by bisection on the binomial distribution.
fn clopper_pearson(hits: usize, draws: usize) -> (f64, f64) {
    const MISS: f64 = 3e-7;
    let log_factorials: Vec<f64> = std::iter::once(0.0)
        .chain((1..=draws).scan(0.0, |sum, i| {
            *sum += (i as f64).ln();
            Some(*sum)
        }))
        .collect();
    let at_most = |k: usize, p: f64| -> f64 {
        let log = |i: usize| {
            log_factorials[draws] - log_factorials[i] - log_factorials[draws - i]
                + i as f64 * p.ln()
                + (draws - i) as f64 * (-p).ln_1p()
        };
        (0..=k).map(|i| log(i).exp()).sum::<f64>().min(1.0)
    };
    let bisect = |is_above: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (1e-12, 1.0 - 1e-12);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if is_above(middle) { high = middle } else { low = middle }
        }
        0.5 * (low + high)
    };
    let lower = if hits == 0 { 0.0 } else { bisect(&|p| 1.0 - at_most(hits - 1, p) > MISS) };
    let upper = if hits == draws { 1.0 } else { bisect(&|p| at_most(hits, p) < MISS) };
    (lower, upper)
}

fn rho(value: f64) -> Rho {
    Rho::from_f64(value).unwrap()
}

/// A mechanism of the catalogue with small parameters.
pub(crate) fn parameters(name: &str) -> Map<String, Value> {
    let own = find(name).unwrap().defaults().unwrap();
    let small = [
        ("rounds", json!(if ["aim", "anchor-pgm"].contains(&name) { 4 } else { 2 })),
        ("iterations", json!(20)),
        ("groups", json!(["a"])),
        ("measure-share", json!(0.8)),
        ("perturbation", json!(0)),
    ];
    let small = small.into_iter().filter(|(name, _)| own.contains_key(*name));
    small.map(|(n, v)| (n.into(), v)).chain(quick(find(name).unwrap())).collect()
}

/// The small parameters of a mechanism, and the same with every choice that one of them offers.
pub(crate) fn variants(entry: &Entry) -> Vec<Map<String, Value>> {
    let mut all = vec![parameters(entry.name)];
    for parameter in entry.parameters().unwrap() {
        let Form::Choice(choices) = parameter.form else { continue };
        all.extend(choices.iter().map(|(choice, _)| {
            let mut given = parameters(entry.name);
            given.insert(parameter.name.to_owned(), json!(choice));
            given
        }));
    }
    all
}

fn curator(world: &World, which: usize) -> Curator<'_> {
    Curator::new(&world.neighbors[which], world.relation, rho(RHO), NoiseSeed::System).unwrap()
}

pub(crate) fn of_mechanism(name: &'static str, more: Map<String, Value>) -> Runner {
    let mut parameters = parameters(name);
    let is_pure = more.get("noise").is_some_and(|noise| noise == "laplace");
    parameters.extend(more);
    let at_once = !find(name).unwrap().resumes;
    Box::new(move |world, which| {
        let mechanism = find(name).unwrap().build(&parameters).unwrap();
        let mut curator = if is_pure {
            let budget = Budget::pure(1.4).unwrap();
            budget.curator(&world.neighbors[which], world.relation, NoiseSeed::System).unwrap()
        } else {
            curator(world, which)
        };
        let task = Task::new(&world.workload, &world.public);
        world.told(&mechanism.run(&mut curator, &task, &mut Silent).unwrap(), at_once)
    })
}

/// FEM or DualQuery where the sign of an error is decisive: one binary attribute, and the record of the first round,
/// which is public, is that of all private records, or of all but one. An error of 0 has either sign; an error of 1 has
/// one. What a round chooses is seen in its one record.
fn of_signs(name: &'static str) -> Runner {
    let mut parameters = parameters(name);
    parameters.insert("samples".into(), json!(1));
    if name == "fem" {
        // The records of all rounds are needed to tell that of the first.
        parameters.insert("burn-in".into(), json!(0));
    }
    let first = find(name).unwrap().build(&parameters).unwrap();
    // The one record of a release whose rounds agree is that of the first.
    let mut releases = (0..40).map(|i| release_of_signs(&*first, &[[i % 2]; 30], ReplaceOne));
    let alone = releases.find(|release| release.model.as_weighted_support().unwrap().size() == 1);
    let public = alone.unwrap().model.as_weighted_support().unwrap().rows().row(0)[0];
    Box::new(move |world, which| {
        let mechanism = find(name).unwrap().build(&parameters).unwrap();
        let mut records = vec![[public]; 30];
        match (which, world.relation) {
            (0, _) => {}
            (_, ReplaceOne) => records[0] = [1 - public],
            _ => records.push([1 - public]),
        }
        world.told(&release_of_signs(&*mechanism, &records, world.relation), false)
    })
}

fn release_of_signs(
    mechanism: &dyn Mechanism,
    records: &[[u32; 1]],
    relation: NeighboringRelation,
) -> Release {
    let data = Dataset::from_rows(Domain::new([("a", 2)]).unwrap(), records).unwrap();
    let workload = Workload::all_k_way(data.domain(), 1).unwrap();
    let mut curator = Curator::new(&data, relation, rho(RHO), NoiseSeed::System).unwrap();
    mechanism.run(&mut curator, &Task::new(&workload, &[]), &mut Silent).unwrap()
}

/// The answers of a mechanism without a model, as one vector of marginals.
fn of_answers(name: &'static str) -> Runner {
    Box::new(move |world, which| {
        let answerer = find(name).unwrap().build_answerer(&Map::new()).unwrap();
        let mut curator = curator(world, which);
        let answers = answerer.answer(&mut curator, &world.workload).unwrap();
        let pair = answers.marginal(&Clique::new([0, 1])).unwrap();
        let ratio = world.of_measurement(&pair, None);
        Told { ratio, path: String::new(), rho: curator.spent().to_f64(), epsilon: None }
    })
}

/// The numbers of `trust`: the errors of the marginals of one public table.
fn of_trust() -> Runner {
    Box::new(|world, which| {
        let trust = Trust { mixture_share: 0.05, tolerance: 0.5, ..Trust::default() };
        let mut curator = curator(world, which);
        let report = trust.run(&mut curator, &world.public, &world.workload).unwrap();
        let entries = curator.ledger().entries();
        let entry = entries.iter().find(|entry| entry.purpose.starts_with("errors")).unwrap();
        let NoiseMechanism::GridGaussian { variance, grid, .. } = entry.mechanism else {
            panic!("{entry:?}")
        };
        let variance = variance.to_f64() * grid * grid;
        let mut ratio = 0.0;
        let total = world.neighbors[0].records() as f64;
        let public = world.public[0].table().unwrap();
        for marginal in &report.tables[0].marginals {
            let clique = domain().clique(&marginal.attributes).unwrap();
            let expected = public.project(&clique).unwrap();
            let error = |which| -> f64 {
                let scale = total / public.records() as f64;
                let cells = world.counts(which, &clique);
                let cells = cells.iter().zip(&expected);
                cells.map(|(d, p)| (d - scale * f64::from(*p)).abs()).sum()
            };
            let loss = |x: f64| x * x / (2.0 * variance);
            let y = marginal.l1.estimate * total;
            ratio += loss(y - error(1)) - loss(y - error(0));
        }
        Told { ratio, path: String::new(), rho: curator.spent().to_f64(), epsilon: None }
    })
}

/// The best mixture error with noise.
fn of_mixture_error(form: NoiseForm) -> Runner {
    Box::new(move |world, which| {
        let budget = match form {
            NoiseForm::Gaussian => None,
            NoiseForm::Laplace => Some(Budget::pure(1.4).unwrap()),
        };
        let data = &world.neighbors[which];
        let mut curator = match budget {
            None => curator(world, which),
            Some(budget) => budget.curator(data, world.relation, NoiseSeed::System).unwrap(),
        };
        let total = data.records() as f64;
        let cost = curator.remaining_for(form).unwrap();
        let release = MixtureRelease { tolerance: 0.01, ..MixtureRelease::default() };
        // Without (1, 1), the largest cell, the error is the frequency of that cell.
        let support = PublicData::new("near", table([14, 5, 5, 0]), &domain()).unwrap();
        let found =
            release.run(&mut curator, &support, &world.workload, total, form, cost).unwrap();
        let error = |which: usize| world.counts(which, &Clique::new([0, 1]))[3];
        let (y, sd) = (found.value * total, found.stddev * total);
        let loss = |x: f64| match form {
            NoiseForm::Gaussian => x * x / (2.0 * sd * sd),
            NoiseForm::Laplace => x.abs() * std::f64::consts::SQRT_2 / sd,
        };
        let ratio = loss(y - error(1)) - loss(y - error(0));
        let epsilon = curator.ledger().pure_epsilon();
        Told { ratio, path: String::new(), rho: curator.spent().to_f64(), epsilon }
    })
}

/// A run that counts an earlier one: what both tell, against the later ledger.
fn of_continued_ledger() -> Runner {
    Box::new(|world, which| {
        let data = &world.neighbors[which];
        let mut first =
            Curator::new(data, world.relation, rho(RHO / 2.0), NoiseSeed::System).unwrap();
        let clique = Clique::new([0]);
        let earlier: Measurement = first.measure(&clique, rho(RHO / 2.0)).unwrap().into();
        let file = LedgerFile::new("first", None, &first);
        let mut second = curator(world, which);
        second.charge_earlier(&file).unwrap();
        let mechanism = find("independent").unwrap().build(&Map::new()).unwrap();
        let task = Task::new(&world.workload, &[]);
        let release = mechanism.run(&mut second, &task, &mut Silent).unwrap();
        let mut ratio = world.of_measurement(&earlier, None);
        let private = release.measurements.iter();
        ratio += private.map(|m| world.of_measurement(m, None)).sum::<f64>();
        Told { ratio, path: String::new(), rho: release.ledger.spent().to_f64(), epsilon: None }
    })
}

/// Keeps a copy of the checkpoint as it was after the first round.
struct Copier<'p> {
    from: &'p std::path::Path,
    to: &'p std::path::Path,
}

impl Observer for Copier<'_> {
    fn event(&mut self, event: &Event) {
        if matches!(event, Event::Measured { round: 1, .. }) {
            std::fs::copy(self.from.join("checkpoint.json"), self.to.join("checkpoint.json"))
                .unwrap();
        }
    }
}

/// A folder, in memory if there is such a file system.
pub(crate) fn in_memory() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::tempdir_in(base).unwrap()
}

/// A run that is killed after its first round, and resumed: what is told in all, against the last ledger.
fn of_resumed(name: &'static str) -> Runner {
    let parameters = parameters(name);
    Box::new(move |world, which| {
        let (first, second) = (in_memory(), in_memory());
        let mechanism = find(name).unwrap().build(&parameters).unwrap();
        let run = |at: &std::path::Path, observer: &mut dyn Observer| {
            let checkpoint = Checkpoint::open(at, "private").unwrap();
            let mut curator = curator(world, which).with_checkpoint(checkpoint);
            let task = Task::new(&world.workload, &world.public);
            mechanism.run(&mut curator, &task, observer).unwrap()
        };
        let mut copier = Copier { from: first.path(), to: second.path() };
        let killed = run(first.path(), &mut copier);
        let resumed = run(second.path(), &mut Silent);
        assert_eq!(killed.measurements[0], resumed.measurements[0], "the durable round is kept");
        world.told(&resumed, false)
    })
}

/// Everything that is audited, with the share of its claim that these neighbors can reach.
pub(crate) fn subjects() -> Vec<Subject> {
    let mut subjects: Vec<Subject> = Vec::new();
    let mut add = |subject| subjects.push(subject);
    let households = AddRemoveUnit(RecordsPerUnit::new(3).unwrap());
    for relation in [ReplaceOne, AddRemoveOne, households] {
        // What these choose is certain in that world; they have one of their own below.
        let own = |name: &str| ["fem", "dual-query"].contains(&name);
        for entry in CATALOGUE.iter().filter(|entry| entry.spends && !own(entry.name)) {
            let (reach, runner) =
                (reach(entry.name, relation), of_mechanism(entry.name, Map::new()));
            let of_all = Subject::new(entry.name, relation, reach, runner);
            let is_short = ["aim", "jam-pgm"].contains(&entry.name);
            add(match relation {
                AddRemoveUnit(_) => of_all.quick(if is_short { 6000 } else { 0 }),
                _ => of_all,
            });
            assert!(entry.public_tables != PublicTables::Needed || entry.name != "aim");
        }
        for name in ["residual-planner", "hdmm"] {
            add(Subject::new(format!("answer {name}"), relation, 0.5, of_answers(name)));
        }
    }
    // Under add-remove-one the noise of the number of records hides the signs: there, only the claim is tested.
    for (relation, reach) in [(ReplaceOne, 0.4), (AddRemoveOne, -0.05)] {
        for name in ["fem", "dual-query"] {
            add(Subject::new(format!("{name}, signs"), relation, reach, of_signs(name)));
        }
    }
    let with = |name, value: Value| of_mechanism(name, value.as_object().unwrap().clone());
    let laplace = with("ide", json!({ "noise": "laplace" }));
    add(Subject::new("ide, Laplace", ReplaceOne, 0.1, laplace));
    let once = with("pmw-pub", json!({ "repeats": "excluded" }));
    add(Subject::new("pmw-pub, no repeats", ReplaceOne, 0.2, once));
    let alone = with("anchor-pgm", json!({ "chooser": "alone" }));
    add(Subject::new("anchor-pgm --chooser alone", ReplaceOne, 0.4, alone).quick(0));
    add(Subject::new("trust", ReplaceOne, 0.5, of_trust()));
    let mixture = |form| of_mixture_error(form);
    add(Subject::new("mixture-error", ReplaceOne, 0.3, mixture(NoiseForm::Gaussian)));
    add(Subject::new("mixture-error, Laplace", ReplaceOne, 0.2, mixture(NoiseForm::Laplace)));
    add(Subject::new("ledger-from", ReplaceOne, 0.7, of_continued_ledger()));
    for (name, reach) in [("independent", 0.3), ("aim", 0.3)] {
        add(Subject::new(format!("resumed {name}"), ReplaceOne, reach, of_resumed(name))
            .quick(3000));
    }
    subjects.extend(crate::options::subjects());
    subjects
}

/// The share of ρ that the audit of a mechanism must see, so that it can see a violation.
fn reach(name: &str, relation: NeighboringRelation) -> f64 {
    match (name, relation) {
        ("mwem" | "pmw-pub" | "pep-pub", _) => 0.2,
        _ => 0.4,
    }
}

/// Audits the subjects whose position leaves this remainder, so that tests run side by side.
fn check(part: usize, of: usize) {
    for (i, subject) in subjects().into_iter().filter(|subject| subject.quick > 0).enumerate() {
        if i % of != part {
            continue;
        }
        let Subject { name, relation, reach, quick, runner } = subject;
        let found = audit(&World::new(relation), quick, &runner);
        let Audited { claimed, measured, lower, pure } = found;
        assert!(lower <= claimed, "{name}, {relation}: at least {lower:.3} of {claimed:.3}");
        assert!(
            measured >= reach * claimed,
            "{name}, {relation}: sees {measured:.3} of {claimed:.3} only"
        );
        if let Some((claimed, lower)) = pure {
            assert!(lower <= claimed, "{name}, {relation}: epsilon {lower:.3} of {claimed:.3}");
        }
    }
}

#[test]
fn no_mechanism_tells_neighbors_apart_by_more_than_its_ledger_claims_first_part() {
    check(0, 2);
}

#[test]
fn no_mechanism_tells_neighbors_apart_by_more_than_its_ledger_claims_second_part() {
    check(1, 2);
}

#[test]
#[ignore = "the long form: AUDIT_RUNS=100000 prints the table of docs/results/audit.md, AUDIT_ONLY=NAME a part of it"]
fn the_whole_table() {
    let runs = std::env::var("AUDIT_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(100_000);
    println!(
        "| what | neighbors | claimed ρ | measured | lower bound | measured / claimed | pure ε: claimed, lower bound |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let only = std::env::var("AUDIT_ONLY").unwrap_or_default();
    for Subject { name, relation, runner, .. } in subjects() {
        if !name.contains(&only) {
            continue;
        }
        let started = std::time::Instant::now();
        let Audited { claimed, measured, lower, pure } =
            audit(&World::new(relation), runs, &runner);
        let pure = pure.map_or_else(String::new, |(c, l)| format!("{c:.3}, {l:.3}"));
        println!(
            "| {name} | {relation} | {claimed:.4} | {measured:.4} | {lower:.4} | {:.2} | {pure} | {:.0?}",
            measured / claimed,
            started.elapsed()
        );
        assert!(lower <= claimed, "{name}, {relation}");
    }
}

#[test]
fn clopper_pearson_bounds_are_those_of_the_tables() {
    let (lower, upper) = clopper_pearson(0, 100);
    assert!(lower == 0.0 && (upper - (1.0 - f64::powf(3e-7, 0.01))).abs() < 1e-6);
    let (lower, upper) = clopper_pearson(50, 100);
    assert!(lower < 0.3 && upper > 0.7 && (lower + upper - 1.0).abs() < 1e-6);
}
