//! Private tables that are counted part by part: each record counts once in the run, and the counts go nowhere else.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use jointly::data::{CountPlan, CountRequest, CountedParts, Keep, Projectable, Units, read_csv};
use jointly::domain::Clique;
use jointly::observe::{Silent, Unstoppable};
use jointly::synthesis::{CountJob, Existing, PrivateSource, merge_counts};
use jointly::{Job, NeighboringRelation, Schema};

const SCHEMA: &str = r#"{"job": 4, "sex": 2, "age": 3}"#;
const NAMES: [&str; 3] = ["east", "north", "west"];

/// Three parts of a table of 90 records; `changed`: one of them has other values.
fn parts(folder: &Path, changed: Option<usize>) -> Vec<PathBuf> {
    fs::write(folder.join("schema.json"), SCHEMA).unwrap();
    fs::write(folder.join("all.txt"), NAMES.join("\n")).unwrap();
    let row = |i: usize| match changed {
        Some(changed) if changed == i => "3,1,2\n".to_owned(),
        _ => format!("{},{},{}\n", i % 3, i / 3 % 2, i * i % 3),
    };
    let part = |(number, name): (usize, &&str)| {
        let path = folder.join(format!("{name}.csv"));
        let rows: String = (30 * number..30 * (number + 1)).map(row).collect();
        fs::write(&path, format!("job,sex,age\n{rows}")).unwrap();
        path
    };
    NAMES.iter().enumerate().map(part).collect()
}

fn count(folder: &Path, part: &Path) -> jointly::Result<PathBuf> {
    let out = part.with_extension("counts");
    let job = CountJob {
        part: vec![part.display().to_string().parse()?],
        of: Some(folder.join("all.txt")),
        schema: folder.join("schema.json").into(),
        workload: "all-2-way".to_owned(),
        mechanism: "mst".to_owned(),
        out: Some(out.clone()),
        existing: Existing::Replaced,
        ..CountJob::default()
    };
    job.run(&mut Silent)?;
    Ok(out)
}

/// Counts and merges all parts.
fn merged(folder: &Path, parts: &[PathBuf]) -> PathBuf {
    let files: Vec<PathBuf> = parts.iter().map(|part| count(folder, part).unwrap()).collect();
    let out = folder.join("all.counts");
    merge_counts(&files, &out, Existing::Replaced).unwrap();
    out
}

fn job(folder: &Path, private: impl Into<PrivateSource>) -> Job {
    let mut job = Job::new(private, folder.join("schema.json"), 1.0, 1e-9);
    (job.mechanism, job.workload, job.seed) = ("mst".to_owned(), "all-2-way".to_owned(), Some(4));
    job
}

#[test]
fn a_run_on_counts_pays_and_gives_what_a_run_on_the_records_does() {
    let folder = tempfile::tempdir().unwrap();
    let parts = parts(folder.path(), None);
    let counts = merged(folder.path(), &parts);
    let rows: String = parts
        .iter()
        .map(|part| {
            fs::read_to_string(part).unwrap().lines().skip(1).collect::<Vec<_>>().join("\n") + "\n"
        })
        .collect();
    let whole = folder.path().join("whole.csv");
    fs::write(&whole, format!("job,sex,age\n{rows}")).unwrap();
    let held = job(folder.path(), whole).fit(&mut Silent).unwrap();
    let mut outcomes = vec![job(folder.path(), counts.clone()).fit(&mut Silent).unwrap()];
    let in_memory = PrivateSource::Counts {
        counts: CountedParts::read(&counts).unwrap().into(),
        label: String::new(),
    };
    outcomes.push(job(folder.path(), in_memory).fit(&mut Silent).unwrap());
    for done in outcomes {
        assert_eq!(done.release.ledger, held.release.ledger);
        assert_eq!(done.rows, held.rows);
    }
}

/// A script for an engine. It saves its request, prints an error, writes a file to standard output, and exits with a code.
#[cfg(unix)]
fn engine(folder: &Path, counts: &Path, code: u32) -> String {
    use std::os::unix::fs::PermissionsExt;
    let (place, told) = (folder.join("engine"), folder.join("told.json"));
    let text = format!(
        "#!/bin/sh\ncat > {}\necho the disk is full >&2\ncat {}\nexit {code}\n",
        told.display(),
        counts.display()
    );
    fs::write(&place, text).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    place.display().to_string()
}

#[cfg(unix)]
#[test]
fn a_program_that_counts_is_told_what_and_is_believed_only_if_it_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    let parts = parts(folder.path(), None);
    let counts = merged(folder.path(), &parts);
    let elsewhere = |code| Job {
        private_table: Some("SELECT * FROM people".to_owned()),
        engine: engine(folder.path(), &counts, code),
        ..job(folder.path(), "")
    };
    let counted = job(folder.path(), counts.clone()).fit(&mut Silent).unwrap();
    let done = elsewhere(0).fit(&mut Silent).unwrap();
    assert_eq!((done.release.ledger, done.rows), (counted.release.ledger, counted.rows));
    let told = || {
        let text = fs::read_to_string(folder.path().join("told.json")).unwrap();
        CountRequest::from_json(&text).unwrap()
    };
    assert_eq!(told().query, "SELECT * FROM people");
    assert_eq!(told().units, None);

    let failed = elsewhere(1).fit(&mut Silent).unwrap_err().to_string();
    assert!(failed.contains("the disk is full"), "{failed}");
    let absent = Job { engine: "./nowhere".to_owned(), ..elsewhere(0) };
    let absent = absent.fit(&mut Silent).unwrap_err().to_string();
    assert!(absent.contains("engine './nowhere'"), "{absent}");
    let two = Job { private: counts.clone().into(), ..elsewhere(0) };
    let two = two.fit(&mut Silent).unwrap_err().to_string();
    assert!(two.contains("a run has one"), "{two}");

    // The request names the units. Counts of all their records are refused.
    let households = Job {
        neighbors: NeighboringRelation::AddRemoveOne,
        unit: Some("h".to_owned()),
        max_records: Some(2),
        keep: Keep::Hash,
        ..elsewhere(0)
    };
    let refused = households.clone().fit(&mut Silent).unwrap_err().to_string();
    assert!(refused.contains("counts of all records"), "{refused}");
    assert_eq!(told().units, Some(Units::new("h", 2).unwrap().keeping(Keep::Hash)));
    let refused = Job { keep: Keep::First, ..households }.fit(&mut Silent).unwrap_err().to_string();
    assert!(refused.contains("a query has no first row"), "{refused}");
}

/// The counts of a table and of one with another record in any part differ as their marginals do.
#[test]
fn a_record_counts_once_in_the_merged_counts() {
    let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
    let pairs = [Clique::new([0, 1]), Clique::new([0, 2]), Clique::new([1, 2])];
    let counted = |changed| {
        let folder = tempfile::tempdir().unwrap();
        let parts = parts(folder.path(), changed);
        let counts = CountedParts::read(&merged(folder.path(), &parts)).unwrap();
        assert_eq!(counts.plan().schema(), &schema);
        counts.finish("counts").unwrap().project_many(&pairs).unwrap()
    };
    let before = counted(None);
    for changed in [0, 29, 30, 45, 60, 89] {
        for (one, other) in before.iter().zip(counted(Some(changed))) {
            let distance: u32 = one.iter().zip(other).map(|(a, b)| a.abs_diff(b)).sum();
            assert!(distance <= 2, "record {changed}: {distance}");
        }
    }
}

#[test]
fn sums_that_are_not_the_table_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let parts = parts(folder.path(), None);
    let files: Vec<PathBuf> = parts.iter().map(|p| count(folder.path(), p).unwrap()).collect();
    let out = folder.path().join("sum.counts");
    let merge = |files: &[&PathBuf]| {
        let files: Vec<PathBuf> = files.iter().map(|file| (*file).clone()).collect();
        merge_counts(&files, &out, Existing::Replaced)
    };
    assert!(merge(&[&files[0], &files[1], &files[0]]).is_err(), "a part twice");
    merge(&[&files[0], &files[1]]).unwrap();
    let missing = job(folder.path(), out.clone()).fit(&mut Silent).unwrap_err();
    assert!(missing.to_string().contains("no counts of 'west'"), "{missing}");
    assert!(merge(&[&out, &files[1]]).is_err(), "a part twice, in a sum");

    // Another list of parts, other marginals and another schema.
    let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
    let part = |name: &str| vec![(name.to_owned(), parts[2].clone())];
    let other = |schema: &Schema, cliques: &[Clique], all: &[&str]| {
        let plan = CountPlan::new(schema, cliques).unwrap();
        let all = all.iter().map(|name| (*name).to_owned()).collect();
        let path = folder.path().join("other.counts");
        CountedParts::count(&plan, &part("west"), Some(all), &Unstoppable)
            .unwrap()
            .write(&path)
            .unwrap();
        path
    };
    let plan = CountedParts::read(&files[0]).unwrap();
    let cliques = plan.plan().cliques().to_vec();
    let wide = Schema::from_json(r#"{"job": 5, "sex": 2, "age": 3}"#, "schema.json").unwrap();
    assert!(merge(&[&files[0], &other(&schema, &cliques, &["east", "west"])]).is_err(), "list");
    assert!(merge(&[&files[0], &other(&schema, &cliques[..1], &NAMES)]).is_err(), "marginals");
    assert!(merge(&[&files[0], &other(&wide, &cliques, &NAMES)]).is_err(), "schema");
    let alone = other(&schema, &cliques[..1], &["west"]);
    let lacking = job(folder.path(), alone).fit(&mut Silent).unwrap_err();
    assert!(lacking.to_string().contains("no counts of "), "{lacking}");
    let alone = other(&wide, &cliques, &["west"]);
    let widened = job(folder.path(), alone).fit(&mut Silent).unwrap_err();
    assert!(widened.to_string().contains("another schema"), "{widened}");
}

#[test]
fn exact_counts_stay_with_their_owner_and_are_no_table() {
    let folder = tempfile::tempdir().unwrap();
    let file = merged(folder.path(), &parts(folder.path(), None));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
    let said = read_csv(&file, &schema).unwrap_err().to_string();
    assert!(said.contains("exact counts of private records"), "{said}");
    let mut counts = CountedParts::read(&file).unwrap();
    assert!(counts.write(Path::new("-")).is_err(), "standard output");
    #[cfg(unix)]
    assert!(counts.write(Path::new("/dev/null")).is_err(), "a device");
}

#[test]
fn private_counts_are_never_taken_for_those_of_a_public_table() {
    let folder = tempfile::tempdir().unwrap();
    let parts = parts(folder.path(), None);
    let private = count(folder.path(), &parts[0]).unwrap();
    let out = folder.path().join("public.counts");
    let public = CountedParts::read(&count(folder.path(), &parts[1]).unwrap()).unwrap();
    public.of_public_table().unwrap().write(&out).unwrap();
    for files in [[&private, &out], [&out, &private]] {
        let sum = folder.path().join("sum.counts");
        let files = files.map(Clone::clone);
        assert!(merge_counts(&files, &sum, Existing::Replaced).is_err(), "merged");
    }
    assert!(CountedParts::is_public_file(&out) && !CountedParts::is_file(&out));
    let whole = merged(folder.path(), &parts);
    let text = format!("near={}", whole.display());
    let table = folder.path().join("west.csv");
    let run = Job { public: vec![text.parse().unwrap()], ..job(folder.path(), table) };
    let said = run.fit(&mut Silent).unwrap_err().to_string();
    assert!(said.contains("exact counts of private records"), "{said}");
}
