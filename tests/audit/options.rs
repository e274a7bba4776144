//! Whole jobs and commands on worst-case neighbors, with the options that spend or touch private rows: what a release tells
//! of them, against what its ledger claims. `mechanisms` has the method and runs these with its own.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use jointly::Job;
use jointly::data::{
    Dataset, Keep, Labels, Projectable, Units, read_csv, read_units_csv, write_csv_file,
};
use jointly::domain::{Clique, Kind, Schema};
use jointly::mechanism::Release;
use jointly::observe::Silent;
use jointly::paid_bins::{PaidBins, PaidSchema};
use jointly::pap::{Cuts, HalfPlanes, Pap, Side};
use jointly::privacy::{
    Budget, LedgerEntry, NeighboringRelation, NoiseMechanism, NoiseSeed, PrivacyUnit, PrivateTable,
};
use jointly::survey::Weight;
use jointly::synthesis::Synthesized;
use serde_json::{Value, json};
use tempfile::TempDir;

use NeighboringRelation::ReplaceOne;

use crate::mechanisms::{Runner, Subject, Told};

/// Buys a ρ of about 1.
const EPSILON: f64 = 7.0;
const DELTA: f64 = 1e-6;

fn budget() -> Budget {
    Budget::approximate(EPSILON, DELTA).unwrap()
}

/// Two neighboring tables in files, and how a job reads them.
struct Files {
    /// Removes the files in the end.
    _folder: TempDir,
    paths: [PathBuf; 2],
    schema: Schema,
    unit: PrivacyUnit,
    /// The records of both.
    truth: [Dataset; 2],
}

impl Files {
    fn new(schema: &str, unit: PrivacyUnit, texts: &[String; 2]) -> Self {
        let folder = crate::mechanisms::in_memory();
        let schema = Schema::from_json(schema, "schema.json").unwrap();
        let paths = [0, 1].map(|which| folder.path().join(format!("{which}.csv")));
        paths.iter().zip(texts).for_each(|(path, text)| fs::write(path, text).unwrap());
        let truth = records(&paths, &schema, &unit);
        Self { _folder: folder, paths, schema, unit, truth }
    }

    /// The same tables as files of another form, named by its ending.
    fn in_form(mut self, ending: &str) -> Self {
        self.paths = self.paths.map(|path| {
            let (table, to) = (read_csv(&path, &self.schema).unwrap(), path.with_extension(ending));
            write_csv_file(&to, &table, &self.schema, Labels::Codes, 1).unwrap();
            to
        });
        self
    }

    /// The records of both under a schema whose values were merged.
    fn merged(&self, schema: &Schema) -> [Dataset; 2] {
        records(&self.paths, schema, &self.unit)
    }
}

fn records(paths: &[PathBuf; 2], schema: &Schema, unit: &PrivacyUnit) -> [Dataset; 2] {
    paths.each_ref().map(|path| match unit.units() {
        None => read_csv(path, schema).unwrap(),
        Some(units) => read_units_csv(path, schema, units).unwrap(),
    })
}

/// The log likelihood ratio of a number with noise, of the first neighbor against the second.
fn ratio_of(y: f64, [one, other]: [f64; 2], entry: &NoiseMechanism) -> f64 {
    let loss = |x: f64| match entry {
        NoiseMechanism::DiscreteGaussian { variance, .. }
        | NoiseMechanism::ThresholdedGaussian { variance, .. } => x * x / (2.0 * variance.to_f64()),
        NoiseMechanism::GridGaussian { variance, grid, .. } => {
            x * x / (2.0 * variance.to_f64() * grid * grid)
        }
        other => unreachable!("{other:?} in a job of these tests"),
    };
    loss(y - other) - loss(y - one)
}

/// The distance of a marginal from that of released records, in private records.
fn error(truth: &Dataset, released: &Dataset, clique: &Clique, total: f64) -> f64 {
    let scale = total / released.records() as f64;
    let pairs = truth.project(clique).unwrap().into_iter().zip(released.project(clique).unwrap());
    pairs.map(|(d, p)| (f64::from(d) - scale * f64::from(p)).abs()).sum()
}

/// The same of weighted records, in records of the largest weight.
fn weighted_error(truth: &Dataset, released: &Dataset, weight: &Weight, total: f64) -> f64 {
    let largest = weight.largest();
    let (first, own) = (Clique::new([0]), Clique::new([0, weight.attribute]));
    let (private, released_counts) =
        (truth.project(&own).unwrap(), released.project(&first).unwrap());
    let scale = total / largest / released.records() as f64;
    let weighted = private.chunks(weight.means.len()).map(|counts| {
        counts.iter().zip(&weight.means).map(|(n, mean)| f64::from(*n) * mean / largest).sum()
    });
    let pairs = weighted.zip(released_counts);
    pairs.map(|(d, p): (f64, u32)| (d - scale * f64::from(p)).abs()).sum()
}

/// What a finished job tells: its measurements, the errors of its records, and the values that were merged.
fn told(files: &Files, done: &Synthesized) -> Told {
    let Synthesized { tables, release, rows, .. } = done;
    let is_merged = tables.schema.domain() != tables.given.domain() && files.unit.units().is_none();
    let merged = is_merged.then(|| files.merged(&tables.schema));
    let truth = merged.as_ref().unwrap_or(&files.truth);
    let (mut ratio, mut path) = (0.0, String::new());
    if is_merged {
        tables
            .schema
            .domain()
            .attributes()
            .iter()
            .for_each(|a| write!(path, "{} ", a.cardinality).unwrap());
    }
    let measured = release.ledger.entries().iter().filter(|e| e.clique.is_some() && e.round > 0);
    for (measurement, entry) in release.measurements.iter().zip(measured) {
        let counts = truth.each_ref().map(|table| table.project(&measurement.clique).unwrap());
        for (cell, y) in measurement.values.iter().enumerate() {
            ratio +=
                ratio_of(*y, [0, 1].map(|which| f64::from(counts[which][cell])), &entry.mechanism);
        }
    }
    if let Some(errors) = release.errors() {
        let entry = release.ledger.entries().last().unwrap();
        for marginal in &errors.marginals {
            let weight = tables.population.weight.as_ref();
            let unit = weight.map_or(1.0, Weight::largest);
            let y = marginal.measured.estimate * errors.total / unit;
            let error = truth.each_ref().map(|truth| match weight {
                Some(weight) => weighted_error(truth, rows, weight, errors.total),
                None => error(truth, rows, &marginal.clique, errors.total),
            });
            ratio += ratio_of(y, error, &entry.mechanism);
        }
    }
    told_of(ratio, path, release)
}

fn told_of(ratio: f64, path: String, release: &Release) -> Told {
    let epsilon = release.ledger.pure_epsilon();
    Told { ratio, path, rho: release.ledger.spent().to_f64(), epsilon }
}

/// A job with these settings on either file.
fn of_job(files: Files, settings: Value) -> Runner {
    Box::new(move |_, which| {
        let mut job = Job::from_settings(settings.clone()).unwrap();
        job.private = (&*files.paths[which]).into();
        job.schema = files.schema.clone().into();
        told(&files, &job.fit(&mut Silent).unwrap())
    })
}

fn settings(more: &Value) -> Value {
    let mut all = json!({
        "mechanism": "independent", "workload": "all-1-way", "epsilon": EPSILON, "delta": DELTA,
    });
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    all
}

const SMALL: &str = r#"{"a": 2, "b": 2}"#;

/// A record moves from (0, 0) to (1, 1).
fn a_move() -> [String; 2] {
    let rest = format!("a,b\n{}{}", "0,0\n".repeat(60), "1,1\n".repeat(60));
    ["0,0\n", "1,1\n"].map(|record| format!("{rest}{record}"))
}

/// A survey weight beside a value.
const WEIGHTED: &str = r#"{"columns": [
    {"name": "a", "kind": "coded", "size": 2},
    {"name": "b", "kind": "numeric", "edges": [0, 5, 50], "outside": "clamp"}
]}"#;

/// A record moves from (0, 1) to (1, 40): its weight changes with it.
fn a_move_with_its_weight() -> [String; 2] {
    let rest = format!("a,b\n{}{}", "0,1\n".repeat(60), "1,40\n".repeat(60));
    ["0,1\n", "1,4000\n"].map(|record| format!("{rest}{record}"))
}

/// The same where 14 of 16 values of b are rare.
fn a_move_beside_rare_values() -> [String; 2] {
    let mut rest = String::from("a,b\n");
    for b in 0..16 {
        let times = if b < 2 { 60 } else { 1 };
        (0..times).for_each(|i| writeln!(rest, "{},{b}", i % 2).unwrap());
    }
    ["0,0\n", "1,1\n"].map(|record| format!("{rest}{record}"))
}

/// A household of three comes, whose members are alike.
fn a_household() -> [String; 2] {
    let mut rest = String::from("h,a,b\n");
    (0..40).for_each(|i| writeln!(rest, "h{},{},{}", i / 2, i / 2 % 2, i % 2).unwrap());
    let more = format!("{rest}{}", "new,1,1\n".repeat(3));
    [rest, more]
}

/// The same, of five members: two of them do not count.
fn a_large_household() -> [String; 2] {
    let [rest, more] = a_household();
    [rest, more + &"new,1,1\n".repeat(2)]
}

/// A household of five comes, whose members are alike. It is one record.
fn a_household_in_order() -> [String; 2] {
    a_large_household().map(|text| {
        let rows = text.lines().enumerate().map(|(i, row)| match i {
            0 => format!("o,{row}\n"),
            _ => format!("{i},{row}\n"),
        });
        rows.collect()
    })
}

fn households(agree: Option<&str>) -> PrivacyUnit {
    let units = Units::new("h", 3).unwrap();
    let units = match agree {
        Some(column) => units.linked([column]).unwrap(),
        None => units,
    };
    PrivacyUnit::of_units(units).unwrap()
}

/// Shares below one cut. A record moves across it.
fn of_thresholds(boxes: bool) -> Runner {
    let cuts = || [Cuts::new("x", [1.0]).unwrap()];
    let counts = [61, 60];
    let neighbors = counts.map(|below| {
        let values = (0..121).map(|i| Some(if i < below { 0.5 } else { 1.5 })).collect::<Vec<_>>();
        let coded = Cuts::encode(&cuts(), &[values]).unwrap();
        PrivateTable::of_records(coded, PrivacyUnit::default()).unwrap()
    });
    Box::new(move |_, which| {
        let mut curator =
            neighbors[which].curator(Some(budget()), NoiseSeed::System, None).unwrap();
        let pap = if boxes { Pap::boxes(cuts()) } else { Pap::new(cuts()) };
        let release = pap.run(&mut curator).unwrap();
        let measured = |entry: &&LedgerEntry| {
            !matches!(
                entry.mechanism,
                NoiseMechanism::ExponentialMechanism { .. } | NoiseMechanism::PermuteAndFlip { .. }
            )
        };
        let entry = release.ledger.entries().iter().find(measured).unwrap();
        let records = release.columns[0].records;
        let (mut ratio, mut path) = (0.0, String::new());
        if boxes {
            for range in &release.measured {
                // No range is that of all records.
                let (from, before) =
                    range.ranges.first().map_or((0, 2), |range| (range.from, range.before));
                write!(path, "{from}-{before} ").unwrap();
                let within = |below: usize| {
                    let cells = [below as f64, (121 - below) as f64];
                    cells[from.min(2)..before.min(2)].iter().sum::<f64>()
                };
                ratio +=
                    ratio_of(range.share.value * records, counts.map(within), &entry.mechanism);
            }
        } else {
            let y = release.columns[0].shares[0].value * records;
            // Two cells whose sum is public: the estimate has half the variance of one.
            ratio = 2.0 * ratio_of(y, counts.map(|below| below as f64), &entry.mechanism);
        }
        Told { ratio, path, rho: release.ledger.spent().to_f64(), epsilon: None }
    })
}

/// Sides of the one line between two public points. A record moves across it.
fn of_half_planes() -> Runner {
    let planes = HalfPlanes::new(["x", "y"], &[[0.0, 0.0], [2.0, 0.0]]).unwrap();
    let sides = planes.sides().unwrap();
    // The line is near x = 1.
    let point = |x: f64| [Some(x), Some(0.0)];
    let counts = [61, 60];
    let neighbors = counts.map(|left| {
        let points = (0..121).map(|i| point(if i < left { 0.5 } else { 1.5 }));
        PrivateTable::of_counts(sides.count(points).unwrap(), PrivacyUnit::default()).unwrap()
    });
    let is_left = sides.lines()[0].holds(0.5, 0.0);
    assert_ne!(is_left, sides.lines()[0].holds(1.5, 0.0));
    Box::new(move |_, which| {
        let mut curator =
            neighbors[which].curator(Some(budget()), NoiseSeed::System, None).unwrap();
        let release = planes.run(&mut curator).unwrap();
        let (mut ratio, mut path) = (0.0, String::new());
        // Each round has an entry for its choice, and one for its number.
        let numbers = release.ledger.entries().iter().skip(1).step_by(2);
        for (measured, entry) in release.measured.iter().zip(numbers) {
            let is_of_left = (measured.side.side == Side::Inside) == is_left;
            write!(path, "{is_of_left} ").unwrap();
            let there = counts.map(|left| f64::from(if is_of_left { left } else { 121 - left }));
            ratio += ratio_of(measured.share.value * release.records, there, &entry.mechanism);
        }
        Told { ratio, path, rho: release.ledger.spent().to_f64(), epsilon: None }
    })
}

/// Bins by the private rows. A release has no counts, only edges: a number gets a bin of its own if it has a 40th of the
/// records, and here a record more or less decides.
fn of_bins() -> Runner {
    const RANGE: &str =
        r#"{"columns": [{"name": "x", "kind": "numeric", "edges": [0, 100], "integer": true}]}"#;
    let heaps = ["5\n".repeat(60), "95\n".repeat(55), "50\n".repeat(2), "51\n".repeat(2)].concat();
    let text = |more: &str| format!("x\n{heaps}{more}\n");
    let files = Files::new(RANGE, PrivacyUnit::default(), &["50", "51"].map(text));
    let bins = PaidBins::of_ranges(&files.schema).unwrap();
    Box::new(move |_, which| {
        let files = &files;
        let table = bins.read(&files.unit, &files.paths[which]).unwrap();
        let mut curator = table.curator(Some(budget()), NoiseSeed::System, None).unwrap();
        let found = bins.run(&mut curator).unwrap();
        let Some(Kind::Numeric(own)) = &found.columns()[0].kind else { unreachable!("a number") };
        let is_alone =
            |value: f64| own.edges().windows(2).any(|ends| *ends == [value, value + 1.0]);
        let path = format!("{} {}", is_alone(50.0), is_alone(51.0));
        Told { ratio: 0.0, path, rho: curator.spent().to_f64(), epsilon: None }
    })
}

/// Categories by the private rows: a record moves from one common text to another.
fn of_categories() -> Runner {
    const OTHER: &str = r#"{"columns": [{"name": "x", "kind": "categorical", "codes": ["other"], "other": "other"}]}"#;
    let text = |more: &str| format!("x\n{}{}{more}\n", "nurse\n".repeat(90), "cook\n".repeat(90));
    let files = Files::new(OTHER, PrivacyUnit::default(), &["nurse", "cook"].map(text));
    let paid = PaidSchema::new(&files.schema, &[], &["x".to_owned()]).unwrap();
    Box::new(move |_, which| {
        let files = &files;
        let (table, values) = paid.read(&files.unit, &files.paths[which]).unwrap().into_parts();
        let budget = budget().with_threshold_delta(DELTA / 2.0).unwrap();
        let mut curator = table.curator(Some(budget), NoiseSeed::System, None).unwrap();
        let (_, named) = paid.run(&mut curator, values).unwrap();
        let entry = &curator.ledger().entries()[0];
        let (mut ratio, mut path) = (0.0, String::new());
        for (value, count) in &named[0].values {
            write!(path, "{value} ").unwrap();
            let truth = if value == "nurse" { [91.0, 90.0] } else { [90.0, 91.0] };
            ratio += ratio_of(*count as f64, truth, &entry.mechanism);
        }
        Told { ratio, path, rho: curator.spent().to_f64(), epsilon: None }
    })
}

/// Runs of a job in the quick form, and the share of its claim that so few must see: five standard deviations below what
/// the long form sees.
const RUNS: usize = 3000;
const REACH: f64 = 0.3;
/// The same for what is quick.
const MORE_RUNS: usize = 12_000;

/// Every option.
pub(crate) fn subjects() -> Vec<Subject> {
    let one = PrivacyUnit::default;
    let small = || Files::new(SMALL, one(), &a_move());
    let wide = Files::new(r#"{"a": 2, "b": 16}"#, one(), &a_move_beside_rare_values());
    let weighted = || Files::new(WEIGHTED, one(), &a_move_with_its_weight());
    let of_unit = Files::new(SMALL, households(None), &a_household());
    let hashed = PrivacyUnit::of_units(Units::new("h", 3).unwrap().keeping(Keep::Hash)).unwrap();
    let of_hashed = Files::new(SMALL, hashed, &a_large_household());
    let of_linked = Files::new(SMALL, households(Some("a")), &a_household());
    let together = Units::new("h", 3).unwrap().linked(["a"]).unwrap();
    let together = PrivacyUnit::of_units(together.with_members(["b"], "o").unwrap()).unwrap();
    let of_members = Files::new(SMALL, together, &a_household_in_order());
    let unit = json!({"neighbors": "add-remove-one", "unit": "h", "max-records": 3});
    let (mut linked, mut by_hash) = (unit.clone(), unit.clone());
    by_hash["keep"] = json!("hash");
    linked["unit-columns"] = json!(["a"]);
    let mut members = linked.clone();
    (members["members"], members["order"]) = (json!(["b"]), json!("o"));
    let one_record = of_members.unit.relation();
    let units = of_unit.unit.relation();
    let job = |name: &str, relation, files, more: &Value| {
        Subject::new(name, relation, REACH, of_job(files, settings(more))).quick(RUNS)
    };
    let quick =
        |name: &str, reach, runner| Subject::new(name, ReplaceOne, reach, runner).quick(MORE_RUNS);
    let mut subjects = vec![
        job("--compress", ReplaceOne, wide, &json!({"compress": 0.25})),
        job("--error-share", ReplaceOne, small(), &json!({"error-share": 0.5})),
        job("--weight", ReplaceOne, weighted(), &json!({"weight": "b"})),
        job(
            "--weight, --error-share",
            ReplaceOne,
            weighted(),
            &json!({"weight": "b", "error-share": 0.5}),
        ),
        job("--counted", ReplaceOne, small(), &json!({"counted": true})),
        job("--unit", units, of_unit, &unit),
        job("--keep hash", units, of_hashed, &by_hash),
        job("--unit-columns", units, of_linked, &linked),
        job("--members", one_record, of_members, &members),
        Subject::new("bins --categories", ReplaceOne, REACH, of_categories()).quick(RUNS),
        // These tell less of what they measure: shares that are fitted, choices, edges.
        quick("thresholds", 0.2, of_thresholds(false)),
        quick("thresholds, boxes", 0.1, of_thresholds(true)),
        quick("thresholds, half-planes", 0.2, of_half_planes()),
        quick("bins", 0.01, of_bins()),
    ];
    if cfg!(feature = "parquet") {
        subjects.push(job("Parquet", ReplaceOne, small().in_form("parquet"), &json!({})));
        subjects.push(job("Arrow", ReplaceOne, small().in_form("arrow"), &json!({})));
    }
    subjects
}
