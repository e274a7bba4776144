//! Combinations that public tables do not have, from the draft to the records.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fmt::Write;
use std::path::Path;

use jointly::Job;
use jointly::data::{Dataset, draft_unlikely, read_csv, write_text};
use jointly::domain::Schema;
use jointly::mechanism::CATALOGUE;
use jointly::model::{Drawing, ModelFile, ModelLimits};
use jointly::observe::{Event, Notice, Observer, Silent};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use crate::quick::quick;

const SCHEMA: &str = r#"{ "columns": [
    { "name": "age", "kind": "numeric", "edges": [0, 15, 30, 60, 90], "integer": true },
    { "name": "sex", "kind": "categorical", "codes": ["m", "f"] },
    { "name": "married", "kind": "categorical", "codes": ["no", "yes"] },
    { "name": "children", "kind": "categorical", "codes": ["0", "1", "2"], "na": true },
    { "name": "work", "kind": "categorical", "codes": ["none", "part", "full"] }
]}"#;

/// Children are single and do not work, and only women are asked about children. With `odd`, some men are asked too: those whose
/// number is a multiple of it.
fn people(records: u32, odd: Option<u32>) -> String {
    let mut text = String::from("age,sex,married,children,work\n");
    for i in 0..records {
        let (age, is_woman) = (i * 7 % 90, i % 2 == 1);
        let married = if age >= 15 && i % 5 < 3 { "yes" } else { "no" };
        let is_asked = (is_woman && age >= 15) || odd.is_some_and(|odd| !is_woman && i % odd == 0);
        let children = if is_asked { ["0", "1", "2"][(i / 2 % 3) as usize] } else { "" };
        let work = if age < 15 { "none" } else { ["none", "part", "full"][(i / 3 % 3) as usize] };
        writeln!(text, "{age},{},{married},{children},{work}", if is_woman { "f" } else { "m" })
            .unwrap();
    }
    text
}

/// A job whose schema has what a public table of 3,000 people does not.
fn job(folder: &Path, private: &str) -> Job {
    let [files, public, schema] =
        ["private.csv", "public.csv", "schema.json"].map(|name| folder.join(name));
    write_text(&files, private).unwrap();
    write_text(&public, &people(3_000, None)).unwrap();
    let drafted = Schema::from_json(SCHEMA, "schema").unwrap();
    let drafted = draft_unlikely(&drafted, &[&public]).unwrap().schema;
    assert!(drafted.unlikely().len() >= 4, "{:?}", drafted.unlikely());
    write_text(&schema, &drafted.to_json().unwrap()).unwrap();
    let mut job = Job::new(files, schema, 2.0, 1e-9);
    job.workload = "all-2-way".into();
    job.public.push(public.display().to_string().parse().unwrap());
    job.out = Some(folder.join("out.csv"));
    job.model = Some(folder.join("model.json"));
    job.seed = Some(1);
    job
}

/// Records with an unlikely combination of a schema.
fn violations(rows: &Dataset, schema: &Schema) -> usize {
    let domain = rows.domain();
    let any = |record: &usize| {
        let row = rows.row(*record);
        schema.avoided().iter().any(|zero| zero.forbids(domain, |attribute| row[attribute]))
    };
    (0..rows.records()).filter(any).count()
}

#[test]
fn no_mechanism_releases_a_record_that_no_public_row_is_like() {
    for entry in CATALOGUE.iter().filter(|entry| entry.spends) {
        let folder = tempfile::tempdir().unwrap();
        let mut job = job(folder.path(), &people(2_000, None));
        job.mechanism = entry.name.into();
        job.parameters = quick(entry);
        if !entry.uses_workload {
            job.workload = Job::default().workload;
        }
        job.run(&mut Silent).unwrap_or_else(|e| unreachable!("{}: {e}", entry.name));
        let schema = Schema::read(&folder.path().join("schema.json")).unwrap();
        let rows = read_csv(&folder.path().join("out.csv"), &schema).unwrap();
        assert_eq!(violations(&rows, &schema), 0, "{}", entry.name);
        let file =
            ModelFile::read(&folder.path().join("model.json"), ModelLimits::default()).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let more = file.model.rows(700, Drawing::Refined, &file.refinement(), &mut rng).unwrap();
        assert_eq!(violations(&more, &file.schema), 0, "{}", entry.name);
    }
}

#[test]
fn without_rules_and_in_independent_records_there_are_married_children() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = job(folder.path(), &people(2_000, None));
    job.mechanism = "independent".into();
    let drafted = Schema::read(&folder.path().join("schema.json")).unwrap();
    job.draw = Drawing::Independent;
    let page = folder.path().join("report.html");
    job.report = Some(page.clone());
    job.run(&mut Silent).unwrap();
    let rows = read_csv(&folder.path().join("out.csv"), &drafted).unwrap();
    let found = violations(&rows, &drafted);
    assert!(found > 500, "{found}");
    // The report counts those that have one.
    let page = std::fs::read_to_string(page).unwrap();
    let (before, _) = page.split_once(" records have one of the ").unwrap();
    let counted = before.rsplit('>').next().unwrap().replace(',', "").parse::<usize>().unwrap();
    assert!((1..=found).contains(&counted), "{counted} of {found}");
}

/// What a run says of unlikely combinations that were contradicted, and of forbidden ones that fits leave to draws.
#[derive(Default)]
struct Heard {
    contradicted: Vec<(u64, u64)>,
    left: Vec<(u64, u64)>,
}

impl Observer for Heard {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Notice(Notice::UnlikelyMeasured { contradicted, of }) => {
                self.contradicted.push((*contradicted, *of));
            }
            Event::Notice(Notice::ForbiddenLeftToDraws { left, of }) => {
                self.left.push((*left, *of));
            }
            _ => {}
        }
    }
}

#[test]
fn what_was_measured_contradicts_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    // One man in five is asked for children here.
    let mut job = job(folder.path(), &people(20_000, Some(10)));
    job.mechanism = "aim".into();
    job.workload = "all-2-way".into();
    let mut heard = Heard::default();
    job.run(&mut heard).unwrap();
    let before = Schema::read(&folder.path().join("schema.json")).unwrap();
    let file = ModelFile::read(&folder.path().join("model.json"), ModelLimits::default()).unwrap();
    let left = file.schema.unlikely().len();
    let [(contradicted, of)] = heard.contradicted[..] else {
        unreachable!("{:?}", heard.contradicted)
    };
    assert_eq!((of, of - contradicted), (before.unlikely().len() as u64, left as u64));
    // One of the few rules is wrong, which is more than one in twenty.
    assert_eq!(contradicted, of);
    // Men are asked.
    let rows = read_csv(&folder.path().join("out.csv"), &before).unwrap();
    let count = |is: &dyn Fn(&[u32]) -> bool| {
        (0..rows.records()).filter(|record| is(&rows.row(*record))).count()
    };
    let asked = count(&|row| row[1] == 0 && row[3] < 3);
    assert!((1_500..2_500).contains(&asked), "{asked}");
}

/// The people with their place and the code of its post office: of one half of the places or of the other.
fn placed(records: u32) -> String {
    let mut text = String::new();
    for (i, line) in people(records, None).lines().enumerate() {
        match i.checked_sub(1) {
            None => writeln!(text, "{line},place,code").unwrap(),
            Some(i) => {
                let (place, code) = (i * 7 % 300, i / 3 * 11 % 150 + i * 7 % 300 / 150 * 150);
                writeln!(text, "{line},{place},{code}").unwrap();
            }
        }
    }
    text
}

#[test]
fn forbidden_combinations_that_fits_leave_to_draws_are_in_no_record() {
    let more = r#"{ "name": "place", "kind": "coded", "size": 300 }, { "name": "code", "kind": "coded", "size": 300 }"#;
    let codes =
        |from: u32| (from..from + 150).map(|code| code.to_string()).collect::<Vec<_>>().join(",");
    let (low, high) = (codes(0), codes(150));
    let rules = format!(
        r#"], "forbidden": [ {{"age": {{"below": 15}}, "married": "yes"}},
            {{"place": [{low}], "code": [{high}]}}, {{"place": [{high}], "code": [{low}]}} ] }}"#
    );
    let columns = SCHEMA.trim_end().trim_end_matches("]}").trim_end();
    let schema = Schema::from_json(&format!("{columns}, {more} {rules}"), "schema").unwrap();
    assert_eq!(schema.domain().zeros_of_draws().count(), 1);
    for mechanism in ["independent", "mst", "aim", "anchor-pgm", "gem"] {
        for draw in [Drawing::Refined, Drawing::Independent] {
            let folder = tempfile::tempdir().unwrap();
            let [private, written, out] =
                ["private.csv", "schema.json", "out.csv"].map(|name| folder.path().join(name));
            write_text(&private, &placed(3_000)).unwrap();
            write_text(&written, &schema.to_json().unwrap()).unwrap();
            let mut job = Job::new(private, written, 2.0, 1e-9);
            let entry = CATALOGUE.iter().find(|entry| entry.name == mechanism).unwrap();
            job.parameters = quick(entry);
            job.mechanism = mechanism.into();
            if entry.uses_workload {
                job.workload = "all-2-way".into();
            }
            job.draw = draw;
            job.out = Some(out.clone());
            job.model = Some(folder.path().join("model.json"));
            job.seed = Some(1);
            let mut heard = Heard::default();
            job.run(&mut heard).unwrap_or_else(|e| unreachable!("{mechanism}: {e}"));
            assert_eq!(heard.left, [(1, 2)], "{mechanism}");
            // A record with a forbidden combination would be refused.
            assert_eq!(read_csv(&out, &schema).unwrap().records(), 3_000, "{mechanism}");
            let file =
                ModelFile::read(&folder.path().join("model.json"), ModelLimits::default()).unwrap();
            let mut rng = ChaCha20Rng::seed_from_u64(1);
            let more = file.model.rows(500, draw, &file.refinement(), &mut rng).unwrap();
            for zero in schema.domain().structural_zeros() {
                let cells = more.cells(zero.clique()).unwrap();
                assert!(cells.iter().all(|cell| !zero.forbidden()[*cell as usize]), "{mechanism}");
            }
        }
    }
}
