//! Values that must not leave: numbers of records, in errors, sizes of outputs and messages; and what must be on disk
//! before it is reported.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use crate::own;
use jointly::data::{Dataset, Units, read_units_csv_from};
use jointly::domain::{Clique, Domain, Schema};
use jointly::mechanism::{Task, find};
use jointly::observe::{Event, Observer};
use jointly::privacy::{
    Curator, LedgerFile, NeighboringRelation, NoiseForm, NoiseSeed, Ratio, ResidualQuery, Rho,
    ScoreSensitivity, Selection, StatisticSensitivity,
};
use jointly::query::Workload;
use serde_json::Map;

use crate::statistics::relations;

fn domain() -> Domain {
    Domain::new([("a", 2), ("b", 3)]).unwrap()
}

fn table(rows: &[[u32; 2]]) -> Dataset {
    Dataset::from_rows(domain(), rows).unwrap()
}

/// What every refused access says.
fn refusals(private: &Dataset, relation: NeighboringRelation) -> Vec<String> {
    let limit = Rho::from_f64(1.0).unwrap();
    let mut curator = Curator::new(private, relation, limit, NoiseSeed::System).unwrap();
    let more = Rho::from_f64(2.0).unwrap();
    let (pair, score) = (Clique::new([0, 1]), ScoreSensitivity::l1_error(relation));
    let mut said = Vec::new();
    let mut keep = |result: jointly::privacy::Result<()>| {
        said.push(result.map_or_else(|error| error.to_string(), |()| "accepted".to_owned()));
    };
    for (cell, cost) in [(6, limit), (1 << 40, limit), (0, more), (0, Rho::ZERO)] {
        keep(curator.measure_cell(&pair, cell, cost).map(drop));
    }
    for (clique, cost) in
        [(Clique::new([7]), limit), (pair.clone(), more), (pair.clone(), Rho::ZERO)]
    {
        keep(curator.measure(&clique, cost).map(drop));
        keep(curator.measure_laplace(&clique, Ratio::new(1 << 12, 1).unwrap()).map(drop));
    }
    for cost in [more, Rho::ZERO] {
        keep(curator.measure_total(cost).map(drop));
        let query =
            ResidualQuery::new(&domain(), pair.clone(), pair.clone(), Ratio::new(9, 1).unwrap());
        keep(curator.measure_residuals(&[query.unwrap()], cost).map(drop));
        let scores = own::scores(&curator, &pair, 6, score, own::counts);
        keep(curator.select(Selection::Exponential, scores, cost, "x").map(drop));
    }
    // After the charge: scores that are not finite, which the message does not count or quote.
    let infinite = |counts: &[u32]| counts.iter().map(|c| f64::from(*c) / 0.0).collect();
    let scores = own::scores(&curator, &pair, 6, score, infinite);
    let part = Rho::from_f64(0.2).unwrap();
    keep(curator.select(Selection::Exponential, scores, part, "x").map(drop));
    // A list whose length depends on the records, before the charge and after it.
    let some = |counts: &[u32]| own::counts(counts).into_iter().filter(|c| *c > 0.0).collect();
    for cost in [more, part] {
        let scores = own::scores(&curator, &pair, 6, score, some);
        keep(curator.select(Selection::Exponential, scores, cost, "x").map(drop));
        let scores = own::scores(&curator, &pair, 6, score, some);
        keep(curator.select_times(scores, cost, 2, "x").map(drop));
        let sensitivity = StatisticSensitivity::l1_errors(relation, 6).unwrap();
        let at = (NoiseForm::Gaussian, cost);
        keep(own::measure(&mut curator, &pair, sensitivity, some, at).map(drop));
    }
    said.push(serde_json::to_string(curator.ledger()).unwrap());
    said
}

#[test]
fn refusals_say_the_same_of_neighbors() {
    for relation in relations() {
        let (one, other) = if relation.has_public_total() {
            (table(&[[0, 0], [0, 1], [1, 2]]), table(&[[0, 0], [0, 1], [0, 1]]))
        } else {
            (table(&[]), table(&[[1, 2]]))
        };
        let said = refusals(&one, relation);
        assert_eq!(said, refusals(&other, relation), "{relation}");
        assert!(said.iter().all(|text| text != "accepted"), "{said:?}");
    }
}

fn units(text: &str, most: u32) -> jointly::Result<Dataset> {
    let schema = Schema::from_json(r#"{"sex": 2}"#, "schema.json")?;
    read_units_csv_from(text.as_bytes(), "t.csv", &schema, &Units::new("home", most)?)
}

#[test]
fn a_unit_counts_with_no_more_records_than_its_sensitivity_says() {
    for most in 1..=4_u32 {
        let many = format!("home,sex\n{}y,1\n", "x,0\n".repeat(9));
        assert_eq!(units(&many, most).unwrap().records(), most as usize + 1);
    }
}

#[test]
fn a_record_without_a_unit_is_refused() {
    for missing in ["", "NA", "null", " ", "?"] {
        assert!(units(&format!("home,sex\nx,0\n{missing},1\n"), 2).is_err(), "'{missing}'");
    }
}

/// Reads the ledger file whenever a measurement is reported.
struct Reader {
    ledger: PathBuf,
    told: usize,
}

impl Observer for Reader {
    fn event(&mut self, event: &Event) {
        if let Event::Measured { spent, .. } = event {
            self.told += 1;
            let file = LedgerFile::read(&self.ledger).unwrap();
            assert_eq!(file.ledger.spent(), *spent, "reported before it was on disk");
        }
    }
}

#[test]
fn what_is_told_is_on_disk_in_the_ledger_file() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("ledger.json");
    let private = table(&[[0, 0], [0, 1], [1, 2]]);
    let relation = NeighboringRelation::ReplaceOne;
    let limit = Rho::from_f64(1.0).unwrap();
    let curator = Curator::new(&private, relation, limit, NoiseSeed::System).unwrap();
    let mut curator = curator.with_ledger_at(&ledger, "test", None);
    let workload = Workload::all_k_way(&domain(), 2).unwrap();
    let mechanism = find("independent").unwrap().build(&Map::new()).unwrap();
    let mut reader = Reader { ledger, told: 0 };
    mechanism.run(&mut curator, &Task::new(&workload, &[]), &mut reader).unwrap();
    assert_eq!(reader.told, 2);
}

/// Everything that a run of the program leaves: its output, its messages, its files; and the rows of its table.
#[cfg(feature = "cli")]
fn left_by(folder: &Path, records: usize) -> (String, usize) {
    use std::fmt::Write as _;
    let mut text = "a,b\n".to_owned();
    (0..records).for_each(|i| writeln!(text, "{},{}", i % 2, i % 3).unwrap());
    std::fs::write(folder.join("private.csv"), text).unwrap();
    std::fs::write(folder.join("schema.json"), r#"{"a": 2, "b": 3}"#).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_jointly"))
        .current_dir(folder)
        .args(
            "synth --private private.csv --schema schema.json --epsilon 1 --delta 1e-3".split(' '),
        )
        .args("--neighbors add-remove-one --mechanism independent --out out.csv".split(' '))
        .args("--workload all-2-way --ledger ledger.json --report report.html".split(' '))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut all = String::from_utf8_lossy(&output.stdout).into_owned();
    all.push_str(&String::from_utf8_lossy(&output.stderr));
    for name in ["ledger.json", "report.html"] {
        all.push_str(&std::fs::read_to_string(folder.join(name)).unwrap());
    }
    let rows = std::fs::read_to_string(folder.join("out.csv")).unwrap().lines().count() - 1;
    (all, rows)
}

/// The measured number is the true one by chance in about one run of 80: in all six with a chance below 10⁻¹¹.
#[cfg(feature = "cli")]
#[test]
fn the_true_number_of_records_is_nowhere_in_what_a_run_leaves() {
    let runs: Vec<(String, usize)> =
        (0..6).map(|_| left_by(tempfile::tempdir().unwrap().path(), 4_217)).collect();
    let tells = |(all, _): &(String, usize)| {
        let words = all.split(|c: char| !(c.is_ascii_digit() || ",._".contains(c)));
        let number = |word: &str| word.replace([',', '_'], "").trim_matches('.') == "4217";
        words.into_iter().any(number)
    };
    assert!(!runs.iter().all(tells), "every run reveals the true number of records");
    assert!(!runs.iter().all(|(_, rows)| *rows == 4_217), "every table has as many rows");
}
