//! Units of several records, of which those with the smallest hashes count: no more than K, whatever the order of the rows, and
//! the same ones in counts.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use jointly::data::{
    Dataset, Keep, Members, Projectable, Units, read_units_csv, read_units_csv_from,
};
use jointly::domain::Domain;
use jointly::observe::Silent;
use jointly::privacy::{PrivacyUnit, RecordsPerUnit};
use jointly::query::Compositions;
use jointly::synthesis::{CountJob, PrivateSource};
use jointly::{Job, NeighboringRelation, Schema};
use serde_json::json;

const SCHEMA: &str = r#"{"a": 3, "b": 4}"#;

/// Records of units; of each, the name and the values.
type Rows = Vec<(char, u32, u32)>;

/// The records that count, sorted.
fn kept(rows: &Rows, units: &Units) -> Vec<Vec<u32>> {
    let schema = Schema::from_json(SCHEMA, "domain.json").unwrap();
    let mut text = String::from("h,a,b\n");
    rows.iter().for_each(|(unit, a, b)| writeln!(text, "{unit},{a},{b}").unwrap());
    let table = read_units_csv_from(text.as_bytes(), "t.csv", &schema, units).unwrap();
    let mut kept: Vec<Vec<u32>> = (0..table.records()).map(|row| table.row(row)).collect();
    kept.sort();
    kept
}

/// Tables of three units, from a counter.
fn rows(mut number: u64) -> Rows {
    let mut next = |below: u64| {
        number =
            number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((number >> 33) % below).unwrap()
    };
    let row = |_| (['p', 'q', 'x'][next(3) as usize], next(3), next(4));
    (0..9).map(row).collect()
}

/// One unit more changes the table by its own records that count, and their order by nothing.
#[test]
fn a_unit_more_changes_as_many_records_as_may_count_in_any_order() {
    for most in 1..=3_u32 {
        let units = || Units::new("h", most).unwrap().keeping(Keep::Hash);
        for units in [units(), units().linked(["a"]).unwrap()] {
            let mut largest = 0;
            for number in 0..300 {
                let with = rows(number);
                let without: Rows = with.iter().copied().filter(|row| row.0 != 'x').collect();
                let mut rest = kept(&with, &units);
                for row in kept(&without, &units) {
                    let place = rest.iter().position(|other| *other == row);
                    rest.remove(place.expect("the records of other units stay as they are"));
                }
                let of_unit = (with.len() - without.len()).min(most as usize);
                assert_eq!(rest.len(), of_unit);
                let has_size =
                    |row: &Vec<u32>| row.get(2).is_none_or(|size| *size as usize + 1 == of_unit);
                assert!(rest.iter().all(has_size), "{rest:?}");
                largest = largest.max(of_unit);
                let turned: Rows = with.iter().rev().copied().collect();
                assert_eq!(kept(&turned, &units), kept(&with, &units));
            }
            assert_eq!(largest, most as usize);
        }
    }
}

/// Rows of units in an order: of each, the name, the place, and the values.
fn joined(rows: &[(char, u32, u32, u32)], units: &Units) -> Vec<Vec<u32>> {
    let schema = Schema::from_json(SCHEMA, "domain.json").unwrap();
    let mut text = String::from("h,o,a,b\n");
    rows.iter().for_each(|(unit, o, a, b)| writeln!(text, "{unit},{o},{a},{b}").unwrap());
    let table = read_units_csv_from(text.as_bytes(), "t.csv", &schema, units).unwrap();
    (0..table.records()).map(|row| table.row(row)).collect()
}

/// Where a unit is one record, one unit more is one record more, made of its own rows, whatever their number and place in the file.
#[test]
fn a_unit_with_its_members_is_one_record_of_its_own_rows() {
    for most in 1..=3_u32 {
        let units = Units::new("h", most).unwrap().linked(["a"]).unwrap();
        let changed = |units: &Units| PrivacyUnit::of_units(units.clone()).unwrap().relation();
        let of =
            |records| NeighboringRelation::AddRemoveUnit(RecordsPerUnit::new(records).unwrap());
        assert_eq!(changed(&units), of(most), "each row is a record");
        let units = units.with_members(["b"], "o").unwrap();
        assert_eq!(changed(&units), of(1));
        let mut seen = 0;
        for number in 0..300 {
            // Places are distinct, and in no order.
            let place = |i: usize| u32::try_from(i * 7 % 9).unwrap();
            let drawn = rows(number).into_iter().enumerate();
            let with: Vec<_> = drawn.map(|(i, (unit, a, b))| (unit, place(i), a, b)).collect();
            let of = |is_wanted: &dyn Fn(char) -> bool| -> Vec<_> {
                with.iter().copied().filter(|row| is_wanted(row.0)).collect()
            };
            let (without, own) = (of(&|unit| unit != 'x'), of(&|unit| unit == 'x'));
            let (mut all, others) = (joined(&with, &units), joined(&without, &units));
            for row in others {
                let place = all.iter().position(|other| *other == row);
                all.remove(place.expect("the records of other units stay as they are"));
            }
            assert_eq!(all, joined(&own, &units), "its own rows alone");
            assert!(all.len() <= 1, "at most one record");
            let [these, those] =
                [&with, &without].map(|rows| made_of(&joined(rows, &units), &units));
            for (these, those) in these.iter().zip(&those) {
                let change: u32 = these.iter().zip(those).map(|(a, b)| a.abs_diff(*b)).sum();
                assert_eq!(change as usize, all.len(), "what units are made of");
            }
            for record in &all {
                let mut first = own.clone();
                first.sort_by_key(|row| row.1);
                first.truncate(most as usize);
                let absent = |member: usize| if member == 0 { 0 } else { 4 };
                let values = (0..most as usize).map(|i| first.get(i).map_or(absent(i), |r| r.3));
                let shared = [first[0].2, u32::try_from(first.len()).unwrap() - 1];
                assert_eq!(*record, shared.into_iter().chain(values).collect::<Vec<_>>());
                seen += 1;
            }
            let mut turned: Vec<_> = with.iter().rev().copied().collect();
            turned.rotate_left(3);
            let sorted = |mut records: Vec<Vec<u32>>| {
                records.sort();
                records
            };
            assert_eq!(sorted(joined(&turned, &units)), sorted(joined(&with, &units)));
        }
        assert!(seen > 200, "{seen}");
    }
}

/// Where units have a table of their own, one unit more in both changes the records by its own, whatever the order of either table.
#[test]
fn a_unit_more_in_two_tables_changes_its_own_records_alone() {
    let schema = r#"{"columns": [{"name": "h", "role": "id"},
        {"name": "a", "kind": "coded", "size": 3}, {"name": "b", "kind": "coded", "size": 4}]}"#;
    let schema = Schema::from_json(schema, "schema.json").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let units = Units::new("h", 3).unwrap().linked(["a"]).unwrap();
    let read = |rows: &Rows, homes: &[char]| {
        let (mut people, mut own) = (String::from("h,b\n"), String::from("a,h\n"));
        rows.iter().for_each(|(unit, _, b)| writeln!(people, "{unit},{b}").unwrap());
        homes.iter().for_each(|unit| writeln!(own, "{},{unit}", u32::from(*unit) % 3).unwrap());
        fs::write(folder.path().join("people.csv"), people).unwrap();
        fs::write(folder.path().join("homes.csv"), own).unwrap();
        let both = format!("{0}/people.csv+{0}/homes.csv", folder.path().display());
        let table = read_units_csv(Path::new(&both), &schema, &units).unwrap();
        let mut records: Vec<Vec<u32>> = (0..table.records()).map(|row| table.row(row)).collect();
        records.sort();
        records
    };
    let mut changed = 0;
    for number in 0..200 {
        let with = rows(number);
        let without: Rows = with.iter().copied().filter(|row| row.0 != 'x').collect();
        let own: Rows = with.iter().copied().filter(|row| row.0 == 'x').collect();
        // A home without people is in no record.
        let mut all = read(&without, &['r', 'q', 'p']);
        let added = read(&own, &['x']);
        assert!(added.len() <= 3 && added.iter().all(|row| row[0] == u32::from('x') % 3));
        all.extend(added);
        all.sort();
        assert_eq!(read(&with, &['p', 'x', 'q']), all);
        let turned: Rows = with.iter().rev().copied().collect();
        if with.iter().all(|row| with.iter().filter(|other| other.0 == row.0).count() <= 3) {
            changed += 1;
            assert_eq!(read(&turned, &['q', 'p', 'x']), all);
        }
    }
    assert!(changed > 10);
}

/// A table of which one unit breaks a rule about members is refused. Otherwise the records are what they would be without the rule:
/// none is left out or changed because of it.
#[test]
fn a_unit_that_breaks_a_rule_is_refused_and_none_is_changed() {
    let rule = r#""forbidden_members": [{"one": {"b": [0]}, "another": {"b": [1]}}]"#;
    let columns =
        r#"{"name": "a", "kind": "coded", "size": 3}, {"name": "b", "kind": "coded", "size": 4}"#;
    let [plain, ruled] = [String::new(), format!(", {rule}")].map(|rule| {
        Schema::from_json(&format!("{{\"columns\": [{columns}]{rule}}}"), "s").unwrap()
    });
    let units = Units::new("h", 2).unwrap().linked(["a"]).unwrap();
    let units = units.with_members(["b"], "o").unwrap();
    let (mut refused, mut read) = (0, 0);
    for number in 0..300 {
        let mut text = String::from("h,o,a,b\n");
        for (i, (unit, a, b)) in rows(number).into_iter().take(6).enumerate() {
            writeln!(text, "{unit},{},{a},{b}", i * 7 % 9).unwrap();
        }
        let of = |schema| read_units_csv_from(text.as_bytes(), "t.csv", schema, &units);
        let table = of(&plain).unwrap();
        let all: Vec<Vec<u32>> = (0..table.records()).map(|row| table.row(row)).collect();
        // The shared column, the size, and both members.
        let breaks = |row: &Vec<u32>| row[1] == 1 && [[0, 1], [1, 0]].contains(&[row[2], row[3]]);
        let found = of(&ruled);
        assert_eq!(found.is_err(), all.iter().any(breaks), "{text}");
        let Ok(found) = found else {
            refused += 1;
            continue;
        };
        read += 1;
        assert_eq!((0..found.records()).map(|row| found.row(row)).collect::<Vec<_>>(), all);
    }
    assert!(refused > 30 && read > 30, "{refused} and {read}");
}

/// The counts of what units are made of, whose records are these.
fn made_of(records: &[Vec<u32>], units: &Units) -> Vec<Vec<u32>> {
    let own = (1..=units.most()).map(|m| (Members::name_of("b", m), 4 + u32::from(m > 1)));
    let shared = [("a".to_owned(), 3), (units.size_name(), units.most())];
    let domain = Domain::new(shared.into_iter().chain(own)).unwrap();
    let found = Compositions::of_units(&domain, units).unwrap();
    let table = Dataset::from_rows(domain, records).unwrap();
    table.tallied(found.tallies()).unwrap().project_many(found.cliques()).unwrap()
}

/// The names of units take part, so that not the same kinds of records are dropped everywhere.
#[test]
fn which_records_count_differs_among_units_of_equal_records() {
    let units = Units::new("h", 1).unwrap().keeping(Keep::Hash);
    let of = |unit: char| kept(&(0..4).map(|b| (unit, 0, b)).collect(), &units)[0][1];
    let found: std::collections::BTreeSet<u32> = ('a'..='p').map(of).collect();
    assert!(found.len() >= 3, "{found:?}");
}

/// 40 units of one to seven records.
fn people(folder: &Path) -> PathBuf {
    let mut text = String::from("h,a,b\n");
    for i in 0_u32..160 {
        writeln!(text, "home{},{},{}", i * i % 41, i % 3, i / 7 % 4).unwrap();
    }
    fs::write(folder.join("people.csv"), text).unwrap();
    fs::write(folder.join("schema.json"), SCHEMA).unwrap();
    folder.join("people.csv")
}

fn job(folder: &Path, private: impl Into<PrivateSource>, most: u32, columns: &[&str]) -> Job {
    let settings = json!({
        "mechanism": "mst", "workload": "all-2-way", "epsilon": 1.0, "delta": 1e-9, "neighbors": "add-remove-one",
        "unit": "h", "max-records": most, "keep": "hash", "unit-columns": columns, "seed": 4,
    });
    let mut job = Job::from_settings(settings).unwrap();
    (job.private, job.schema) = (private.into(), folder.join("schema.json").into());
    job
}

fn counts(folder: &Path, most: u32, columns: &[&str]) -> jointly::Result<PathBuf> {
    let out = folder.join(format!("{most}{}.counts", columns.len()));
    let settings = json!({
        "part": [folder.join("people.csv")], "schema": folder.join("schema.json"), "mechanism": "mst",
        "workload": "all-2-way", "unit": "h", "max-records": most, "keep": "hash", "unit-columns": columns, "out": out,
    });
    CountJob::from_settings(settings)?.run(&mut Silent)?;
    Ok(out)
}

#[test]
fn a_run_on_counts_of_units_pays_and_gives_what_a_run_on_the_records_does() {
    let folder = tempfile::tempdir().unwrap();
    let people = people(folder.path());
    for columns in [&[][..], &["a"]] {
        let held = job(folder.path(), people.clone(), 3, columns).fit(&mut Silent).unwrap();
        let counts = counts(folder.path(), 3, columns).unwrap();
        let done = job(folder.path(), counts, 3, columns).fit(&mut Silent).unwrap();
        assert_eq!(done.release.ledger, held.release.ledger);
        assert_eq!((done.rows, done.units), (held.rows, held.units));
    }
}

#[test]
fn counts_of_other_units_and_units_in_several_parts_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let people = people(folder.path());
    let counts = counts(folder.path(), 3, &[]).unwrap();
    let refused = |job: Job| {
        let error = job.fit(&mut Silent).unwrap_err().to_string();
        assert!(error.contains("counts of 3 records of each unit of 'h' (by hash)"), "{error}");
    };
    let path = folder.path();
    refused(job(path, counts.clone(), 2, &[]));
    refused(Job { keep: Keep::First, ..job(path, counts.clone(), 3, &[]) });
    refused(Job { unit: Some("g".to_owned()), ..job(path, counts.clone(), 3, &[]) });
    let alone =
        Job { unit: None, max_records: None, keep: Keep::First, ..job(path, counts, 3, &[]) };
    refused(Job { neighbors: NeighboringRelation::ReplaceOne, ..alone });

    let part = |path: &Path| path.display().to_string().parse().unwrap();
    fs::copy(&people, folder.path().join("more.csv")).unwrap();
    let several = CountJob {
        part: vec![part(&people), part(&folder.path().join("more.csv"))],
        schema: folder.path().join("schema.json").into(),
        unit: Some("h".to_owned()),
        max_records: Some(3),
        keep: Keep::Hash,
        out: Some(folder.path().join("several.counts")),
        ..CountJob::default()
    };
    let error = several.run(&mut Silent).unwrap_err().to_string();
    assert!(error.contains("a unit may have records in all of them"), "{error}");
}
