//! Whole jobs: earlier ledgers, ledgers on disk, checkpoints of another table, files that are private and public at once,
//! and readers that keep what counts.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use jointly::Job;
use jointly::data::{CountPlan, Units, count_private_file, read_private_csv, read_unlisted};
use jointly::domain::{Clique, Schema};
use jointly::observe::{Event, Notice, Observer, Silent, Unstoppable};
use jointly::privacy::{Budget, Ledger, LedgerFile, NeighboringRelation, NoiseSeed, PrivacyUnit};
use jointly::synthesis::PublicFile;
use serde_json::Value;
use tempfile::TempDir;

const SCHEMA: &str = r#"{"a": 2, "b": 3, "c": 20}"#;

/// A folder with a private table and its schema.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(crate::mechanisms::in_memory());
        let mut text = "h,a,b,c\n".to_owned();
        (0..200)
            .for_each(|i| writeln!(text, "h{},{},{},{}", i / 2, i % 2, i % 3, i * i % 20).unwrap());
        place.write("private.csv", &text);
        place.write("schema.json", SCHEMA);
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.at(name), text).unwrap();
    }

    /// A job with a checkpoint, a ledger and noise from the system.
    fn job(&self) -> Job {
        let mut job = Job::new(self.at("private.csv"), self.at("schema.json"), 1.0, 1e-6);
        job.mechanism = "independent".into();
        job.workload = "all-1-way".into();
        job.ledger = Some(self.at("ledger.json"));
        job.checkpoint = Some(self.at("state"));
        job
    }

    /// Sets when the private table was changed.
    fn set_time(&self, time: SystemTime) {
        let file = fs::File::options().write(true).open(self.at("private.csv")).unwrap();
        file.set_modified(time).unwrap();
    }

    fn ledger(&self) -> Ledger {
        LedgerFile::read(&self.at("ledger.json")).unwrap().ledger
    }
}

#[test]
fn a_job_counts_an_earlier_ledger() {
    let place = Place::new();
    let first = Job { checkpoint: None, ..place.job() }.fit(&mut Silent).unwrap().release.ledger;
    fs::rename(place.at("ledger.json"), place.at("earlier.json")).unwrap();
    let later = Job {
        epsilon: Some(2.0),
        ledger_from: Some(place.at("earlier.json")),
        checkpoint: None,
        ..place.job()
    };
    let both = later.fit(&mut Silent).unwrap().release.ledger;
    assert!(both.entries().len() > first.entries().len() && both.spent() > first.spent());
    assert_eq!(both.limit(), Budget::approximate(2.0, 1e-6).unwrap().rho());
    let of_first: Vec<_> =
        first.entries().iter().map(|entry| (&entry.purpose, entry.rho)).collect();
    let counted: Vec<_> = both.entries().iter().map(|entry| (&entry.purpose, entry.rho)).collect();
    assert!(counted.starts_with(&of_first), "{counted:?}");
    assert_eq!(place.ledger(), both);
}

/// Reads the ledger file of a job when a measurement is told, and may stop the job there.
struct Reader<'p> {
    place: &'p Place,
    told: usize,
    /// Of these, how many found a checkpoint.
    kept: usize,
    stops: bool,
}

impl Observer for Reader<'_> {
    fn event(&mut self, event: &Event) {
        if let Event::Measured { spent, .. } = event {
            self.told += 1;
            assert!(self.place.ledger().spent() >= *spent, "told before it is on disk");
            // A resumed run must not draw again what was told.
            if let Ok(text) = fs::read_to_string(self.place.at("state/checkpoint.json")) {
                let kept: Value = serde_json::from_str(&text).unwrap();
                let ledger: Ledger = serde_json::from_value(kept["ledger"].clone()).unwrap();
                assert!(ledger.spent() >= *spent, "told before it is in the checkpoint");
                self.kept += 1;
            }
        }
    }

    fn check(&mut self) -> ControlFlow<()> {
        if self.stops && self.told > 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn what_a_job_tells_is_in_its_ledger_file_and_stays_there_if_it_fails() {
    for checkpoint in [true, false] {
        for stops in [false, true] {
            let place = Place::new();
            let mut job = place.job();
            job.mechanism = "aim".into();
            job.parameters.insert("rounds".into(), 5.into());
            if !checkpoint {
                job.checkpoint = None;
            }
            let mut reader = Reader { place: &place, told: 0, kept: 0, stops };
            let done = job.fit(&mut reader);
            assert!(reader.told > 0);
            assert_eq!(reader.kept, if checkpoint { reader.told } else { 0 });
            let ledger = place.ledger();
            let kept = ledger.entries().iter().filter(|entry| entry.purpose == "marginal").count();
            assert!(kept >= reader.told, "{kept} of {}", reader.told);
            match done {
                Ok(done) => assert_eq!((stops, &ledger), (false, &done.release.ledger)),
                Err(error) => assert!(stops, "{error}"),
            }
        }
    }
}

/// A file that has changed is another table, also if only its time says so.
#[test]
fn a_checkpoint_is_of_one_table_one_schema_one_unit_and_one_share_of_merging() {
    let place = Place::new();
    let merging = |share| Job { compress: Some(share), ..place.job() };
    merging(0.2).fit(&mut Silent).unwrap();
    let refused = |job: Job| {
        let error = job.fit(&mut Silent).map(drop).unwrap_err().to_string();
        assert!(error.contains("these differ"), "{error}");
    };
    refused(merging(0.3));
    // The same sizes with other codes: a value of b that was 0 would be 2.
    let b = r#"{"name": "b", "kind": "categorical", "codes": ["2", "1", "0"]}"#;
    let coded =
        |name: &str, size| format!(r#"{{"name": "{name}", "kind": "coded", "size": {size}}}"#);
    let schema = format!(r#"{{"columns": [{}, {b}, {}]}}"#, coded("a", 2), coded("c", 20));
    refused(Job { schema: Schema::from_json(&schema, "s").unwrap().into(), ..merging(0.2) });
    merging(0.2).fit(&mut Silent).unwrap();
    let later = SystemTime::now() + Duration::from_secs(5);
    place.set_time(later);
    refused(merging(0.2));

    let place = Place::new();
    let households = |column: &str| Job {
        neighbors: NeighboringRelation::AddRemoveOne,
        unit: Some(column.to_owned()),
        max_records: Some(2),
        ..place.job()
    };
    households("h").fit(&mut Silent).unwrap();
    // The same file, as far as its name and its time say, with another column of units.
    let was = fs::metadata(place.at("private.csv")).unwrap().modified().unwrap();
    let text = fs::read_to_string(place.at("private.csv")).unwrap();
    place.write("private.csv", &text.replacen("h,", "g,", 1));
    place.set_time(was);
    refused(households("g"));
}

#[test]
fn a_resumed_job_publishes_the_records_whose_errors_were_measured() {
    let place = Place::new();
    let job = Job { error_share: Some(0.2), ..place.job() };
    let first = job.fit(&mut Silent).unwrap();
    let again = job.fit(&mut Silent).unwrap();
    assert_eq!((&first.rows, first.release.errors()), (&again.rows, again.release.errors()));
    assert_eq!(first.release.ledger, again.release.ledger);
}

/// Collects the public tables that a run warns of.
#[derive(Default)]
struct Warned(Vec<String>);

impl Observer for Warned {
    fn event(&mut self, event: &Event) {
        if let Event::Notice(Notice::SameRows { table }) = event {
            self.0.push(table.clone());
        }
    }
}

#[test]
fn the_private_table_is_not_taken_for_a_public_one() {
    let place = Place::new();
    let with = |path: PathBuf| {
        let mut job = Job { checkpoint: None, ledger: None, ..place.job() };
        job.mechanism = "anchor-pgm".into();
        job.workload = "all-2-way".into();
        job.parameters.insert("rounds".into(), 4.into());
        job.public.push(PublicFile { name: "near".into(), path }.into());
        let mut warned = Warned::default();
        job.fit(&mut warned).map(|_| warned.0)
    };
    assert!(with(place.at("private.csv")).is_err());
    fs::hard_link(place.at("private.csv"), place.at("link.csv")).unwrap();
    assert!(with(place.at("link.csv")).is_err());
    fs::copy(place.at("private.csv"), place.at("copy.csv")).unwrap();
    assert_eq!(with(place.at("copy.csv")).unwrap(), ["near"]);
    let text = fs::read_to_string(place.at("copy.csv")).unwrap();
    let (rest, _) = text.trim_end().rsplit_once('\n').unwrap();
    place.write("copy.csv", &format!("{rest}\nh99,0,2,2\n"));
    assert_eq!(with(place.at("copy.csv")).unwrap(), [""; 0]);
}

#[test]
fn a_file_of_the_private_table_is_not_taken_for_a_public_one() {
    let place = Place::new();
    let text = fs::read_to_string(place.at("private.csv")).unwrap();
    fs::create_dir(place.at("parts")).unwrap();
    ["parts/0.csv", "parts/1.csv"].iter().for_each(|part| place.write(part, &text));
    fs::hard_link(place.at("parts/1.csv"), place.at("link.csv")).unwrap();
    for public in ["parts", "parts/0.csv", "parts/1.csv", "link.csv"] {
        let mut job = Job { checkpoint: None, ledger: None, ..place.job() };
        job.private = place.at("parts").into();
        job.public.push(PublicFile { name: "near".into(), path: place.at(public) }.into());
        let error = job.fit(&mut Silent).unwrap_err().to_string();
        assert!(error.contains("is the private table"), "{public}: {error}");
        job.public.clear();
        (job.mechanism, job.complete) = ("mst".to_owned(), Some(place.at(public).into()));
        let error = job.fit(&mut Silent).unwrap_err().to_string();
        assert!(error.contains("is the private table"), "{public}: {error}");
    }
}

/// The records of a table: the exact counts, under a budget whose noise is below a half.
fn counts(table: &jointly::PrivateTable) -> Vec<i64> {
    let budget = Budget::approximate(4000.0, 0.5).unwrap();
    let mut curator = table.curator(Some(budget), NoiseSeed::Fixed(1), None).unwrap();
    let rho = curator.remaining();
    curator.measure(&Clique::new([0]), rho).unwrap().values
}

fn households(most: u32) -> PrivacyUnit {
    PrivacyUnit::of_units(Units::new("h", most).unwrap()).unwrap()
}

#[test]
fn counting_block_by_block_refuses_units_and_counts_each_record_once() {
    let place = Place::new();
    let schema = Schema::from_json(SCHEMA, "s").unwrap();
    let plan = CountPlan::new(&schema, &[Clique::new([0])]).unwrap();
    let path = place.at("private.csv");
    assert!(count_private_file(&path, &plan, &households(2), &Unstoppable).is_err());
    let mut text = "a,b,c\n".to_owned();
    (0..200_000).for_each(|i| text += ["0,1,2\n", "1,1,2\n"][usize::from(i % 4 == 0)]);
    place.write("large.csv", &text);
    let unit = PrivacyUnit::default();
    let counted = count_private_file(&place.at("large.csv"), &plan, &unit, &Unstoppable).unwrap();
    assert_eq!(counts(&counted), [150_000, 50_000]);
}

#[test]
fn every_reader_keeps_as_many_records_of_a_unit_as_count() {
    let place = Place::new();
    let mut text = "h,a,b,c\n".to_owned();
    (0..9).for_each(|_| text += "x,0,0,0\n");
    (0..5).for_each(|i| writeln!(text, "y{i},1,0,0").unwrap());
    place.write("private.csv", &text);
    for most in 1..=4 {
        let schema = Schema::from_json(SCHEMA, "s").unwrap();
        let path = place.at("private.csv");
        let read = read_private_csv(&path, &schema, &households(most)).unwrap();
        assert_eq!((read.unit(), counts(&read)), (&households(most), vec![i64::from(most), 5]));
        let unit = PrivacyUnit::of_record(NeighboringRelation::AddRemoveOne);
        let plan = CountPlan::new(&schema, &[Clique::new([0])]).unwrap();
        let counted = count_private_file(&path, &plan, &unit, &Unstoppable).unwrap();
        assert_eq!((counted.unit(), counts(&counted)), (&unit, vec![9, 5]));
    }
    let open = r#"{"columns": [{"name": "a", "kind": "categorical", "codes": ["other"], "other": "other"}]}"#;
    let schema = Schema::from_json(open, "s").unwrap();
    let columns = ["a".to_owned()];
    assert!(read_unlisted(&place.at("private.csv"), &schema, &columns, &households(2)).is_ok());
}

/// A record, or a household, in a table that was passed in as Arrow record batches.
#[cfg(feature = "parquet")]
#[test]
fn tables_as_arrow_are_limited_and_may_be_empty_like_files() {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    use jointly::data::arrow::ArrowTable;
    use jointly::data::read_private_arrow;

    let schema = Schema::from_json(r#"{"a": 2}"#, "s").unwrap();
    let table = |rows: &[(&str, i64)]| {
        let units: ArrayRef = Arc::new(rows.iter().map(|row| Some(row.0)).collect::<StringArray>());
        let values: ArrayRef = Arc::new(rows.iter().map(|row| Some(row.1)).collect::<Int64Array>());
        let batch = RecordBatch::try_from_iter([("h", units), ("a", values)]).unwrap();
        ArrowTable::new("t", batch.schema(), vec![batch])
    };
    let many = table(&[("x", 0), ("x", 0), ("x", 0), ("x", 0), ("y", 1)]);
    for most in 1..=4 {
        let read = read_private_arrow(&many, &schema, &households(most)).unwrap();
        assert_eq!((read.unit(), counts(&read)), (&households(most), vec![i64::from(most), 1]));
    }
    let none = table(&[]);
    for unit in [PrivacyUnit::of_record(NeighboringRelation::AddRemoveOne), households(2)] {
        assert_eq!(counts(&read_private_arrow(&none, &schema, &unit).unwrap()), [0, 0]);
    }
    assert!(read_private_arrow(&none, &schema, &PrivacyUnit::default()).is_err());
}
