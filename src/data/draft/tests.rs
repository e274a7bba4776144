//! Tests of drafting.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use super::bins::Values;
use super::*;
use crate::data::{AbsentColumns, Dataset, Labels, read_csv, read_csv_from, write_csv};
use crate::domain::Bins;

fn file(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
    path
}

fn public(path: &Path) -> Result<Draft> {
    draft_from_public(&[path], &TableFormat::default(), &Hints::default())
}

const DICTIONARY: &str = "NAME,SERIALNO,C,13,\"Serial number\"
VAL,SERIALNO,C,13,\"2018GQ0000001\",\"2018GQ9999999\",\"GQ\"
NAME,PUMA,C,5,\"Public use microdata area code\"
VAL,PUMA,C,5,\"00100\",\"70301\",\"codes\"
NAME,PWGTP,N,5,\"Weight\"
VAL,PWGTP,N,5,1,9999,\"weight\"
NAME,AGEP,N,2,\"Age\"
VAL,AGEP,N,2,0,0,\"Under 1 year\"
VAL,AGEP,N,2,1,99,\"1 to 99 years\"
NAME,JWTR,C,2,\"Means of transportation\"
VAL,JWTR,C,2,\"bb\",\"bb\",\"N/A\"
VAL,JWTR,C,2,\"01\",\"01\",\"Car, truck, or van\"
VAL,JWTR,C,2,\"02\",\"02\",\"Bus\"
NAME,RACNUM,C,1,\"Races\"
VAL,RACNUM,C,1,\"1\",\"6\",\"Races\"
NAME,PINCP,N,7,\"Income\"
VAL,PINCP,N,7,bbbbbbb,bbbbbbb,\"N/A\"
VAL,PINCP,N,7,0,0,\"None\"
VAL,PINCP,N,7,-19998,4209995,\"dollars\"
NAME,PWGTP80,N,5,\"Replicate\"
VAL,PWGTP80,N,5,-9999,9999,\"weight\"
";

fn pums(path: &Path) -> Document {
    Document { kind: DocumentKind::Pums, path: path.into() }
}

#[test]
fn a_dictionary_gives_codes_bins_and_roles() {
    let folder = tempfile::tempdir().unwrap();
    let schema = draft_from_document(&pums(&file(&folder, "d.csv", DICTIONARY))).unwrap().schema;
    let roles: Vec<(&str, Role)> =
        schema.columns().iter().map(|c| (c.name.as_str(), c.role)).collect();
    assert_eq!(
        roles,
        [
            ("SERIALNO", Role::Id),
            ("PUMA", Role::StateSpecific),
            ("PWGTP", Role::Weight),
            ("AGEP", Role::Attribute),
            ("JWTR", Role::Attribute),
            ("RACNUM", Role::Attribute),
            ("PINCP", Role::Attribute),
            ("PWGTP80", Role::Weight),
        ]
    );
    assert_eq!(schema.column("JWTR").unwrap().cardinality(), 3);
    assert_eq!(schema.column("RACNUM").unwrap().cardinality(), 6);
    let Some(Kind::Numeric(age)) = &schema.column("AGEP").unwrap().kind else { panic!() };
    assert_eq!(age.edges()[..3], [0.0, 1.0, 5.0]);
    assert_eq!(age.edges().last(), Some(&100.0));
    let Some(Kind::Numeric(income)) = &schema.column("PINCP").unwrap().kind else { panic!() };
    assert!(income.find(0.0) != income.find(1.0) && income.find(-1.0) != income.find(0.0));
    assert!((15..30).contains(&income.count()), "a spike has its own bin");
}

#[test]
fn a_dictionary_of_another_form_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "d.csv", "NAME,A,C,1,a\nVAL,B,C,1,1,1,x\n");
    let message = draft_from_document(&pums(&path)).unwrap_err().to_string();
    assert!(message.contains("line 2: found a row 'VAL' of 'B'"), "{message}");
}

#[test]
fn a_draft_from_public_rows_reads_them_and_wider_ones() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::from("ID,NAME,INCOME,RATE,CODE,ZIP,FEW,ONE,PWGTP\n");
    for i in 0..1500 {
        let income = if i % 3 == 0 { 0 } else { i * 37 - 500 };
        let rate = f64::from(i) / 16.0;
        let few = if i % 5 == 0 { String::new() } else { (i % 12).to_string() };
        writeln!(text, "{i},n{i},{income},{rate},{},{:05},{few},x,7", i % 3, i % 50).unwrap();
    }
    let path = file(&folder, "p.csv", &text);
    let schema = public(&path).unwrap().schema;
    let names: Vec<&str> = schema.attributes().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["INCOME", "RATE", "CODE", "ZIP", "FEW"]);
    let table: Dataset = read_csv(&path, &schema).unwrap();
    assert_eq!(table.records(), 1500);
    let Some(Kind::Numeric(income)) = &schema.column("INCOME").unwrap().kind else { panic!() };
    assert!(income.is_integer());
    assert_eq!(income.find(500_000.0), None, "no edge beyond the public rows");
    assert_eq!(income.code(500_000.0), Some(income.count() - 1), "but such a value counts");
    assert!(income.find(0.0) != income.find(1.0), "{:?}", income.edges());
    let Some(Kind::Numeric(rate)) = &schema.column("RATE").unwrap().kind else { panic!() };
    assert!(!rate.is_integer() && rate.edges()[0] == 0.0, "{:?}", rate.edges());
    let few = schema.column("FEW").unwrap();
    assert_eq!((few.cardinality(), few.na_code()), (13, Some(12)));
    assert_eq!(schema.column("ZIP").unwrap().cardinality(), 50);
}

#[test]
fn a_dictionary_is_widened_to_take_the_public_rows() {
    let folder = tempfile::tempdir().unwrap();
    let dictionary = file(&folder, "d.csv", DICTIONARY);
    let rows = "PINCP,JWTR,AGEP,NEW,RACNUM\n-99999,1,,a,1\n9000000,7,104,b,6\n0,,3,a,2\n";
    let path = file(&folder, "p.csv", rows);
    let schema = draft(&pums(&dictionary), &[&path], &TableFormat::default(), &Hints::default())
        .unwrap()
        .schema;
    assert_eq!(read_csv(&path, &schema).unwrap().records(), 3);
    let names: Vec<&str> = schema.attributes().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["PINCP", "JWTR", "AGEP", "NEW", "RACNUM"]);
    let Some(Kind::Categorical { codes, labels, .. }) = &schema.column("JWTR").unwrap().kind else {
        panic!()
    };
    assert_eq!(codes, &["1", "2", "7"], "also the code that the rows do not show");
    assert_eq!(labels.as_ref().unwrap()[0], "Car, truck, or van");
}

fn numbers(name: &str, values: impl Iterator<Item = String>) -> String {
    values.fold(format!("{name}\n"), |text, value| text + &value + "\n")
}

/// The bins of the only column of a table.
fn bins_of(schema: &Schema) -> &Bins {
    match &schema.columns()[0].kind {
        Some(Kind::Numeric(bins)) => bins,
        other => panic!("{other:?}"),
    }
}

#[test]
fn few_whole_numbers_get_a_bin_each_and_the_last_reaches_as_far_as_the_dictionary() {
    let folder = tempfile::tempdir().unwrap();
    let text = "NAME,BDSP,N,2,Bedrooms\nVAL,BDSP,N,2,0,99,0 to 99 bedrooms (Top-coded)\n";
    let dictionary = file(&folder, "d.csv", text);
    let rooms = (0..2000).map(|i| [3, 2, 3, 4, 3, 1, 0, 5][i % 8].to_string());
    let path = file(&folder, "p.csv", &numbers("BDSP", rooms));
    let draft =
        draft(&pums(&dictionary), &[&path], &TableFormat::default(), &Hints::default()).unwrap();
    let bins = bins_of(&draft.schema);
    assert_eq!(bins.edges(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 100.0]);
    assert_eq!(
        (bins.outside(), bins.code(12.0), bins.code(100.0)),
        (Outside::Refuse, Some(5), None)
    );
    assert_eq!(bins.pieces().len(), 1, "{:?}", bins.pieces());
    assert!(written(&draft.schema, 6, 500).1 < 5.5, "no value beyond the public rows");
    assert!(draft.remarks.is_empty(), "{:?}", draft.remarks);
    let alone = public(&path).unwrap().schema;
    assert_eq!(bins_of(&alone).edges(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(bins_of(&alone).outside(), Outside::Clamp);
}

/// Smallest, largest and mean number written for a table with every bin alike.
fn written(schema: &Schema, bins: u32, each: u32) -> (f64, f64, f64) {
    let rows: Vec<Vec<u32>> = (0..bins * each).map(|row| vec![row % bins]).collect();
    let table = Dataset::from_rows(schema.domain(), &rows).unwrap();
    let mut out = Vec::new();
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    write_csv(&mut out, &table, schema, Labels::Codes, &mut rng).unwrap();
    let again = read_csv_from(out.as_slice(), "t", schema, AbsentColumns::Refuse).unwrap();
    assert_eq!(again, table, "every value lies in its bin");
    let text = String::from_utf8(out).unwrap();
    let values: Vec<f64> = text.lines().skip(1).map(|line| line.parse().unwrap()).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (least, values.iter().copied().fold(f64::NEG_INFINITY, f64::max), mean)
}

#[test]
fn rare_extreme_values_are_neither_edges_nor_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let values =
        (0..5000_u32).map(|i| if i == 77 { 98_765_432 } else { 1000 + (i / 2) * 3 }.to_string());
    let path = file(&folder, "p.csv", &numbers("X", values));
    let schema = public(&path).unwrap().schema;
    let bins = bins_of(&schema);
    let json = schema.to_json().unwrap();
    assert!(!json.contains("98765432") && !json.contains("98765433"), "{json}");
    assert_eq!(bins.code(98_765_432.0), Some(bins.count() - 1));
    let (least, most, _) = written(&schema, bins.count(), 300);
    assert!(least >= 1000.0 && most < 98_765_432.0);
}

#[test]
fn a_value_with_most_of_the_rows_is_remarked_on() {
    let folder = tempfile::tempdir().unwrap();
    let values = (0..3000).map(|i| if i % 10 == 0 { 100 + i } else { 0 }.to_string());
    let path = file(&folder, "p.csv", &numbers("GAIN", values));
    let remarks = public(&path).unwrap().remarks;
    assert_eq!(remarks.len(), 1);
    assert!(remarks[0].text.contains("90 % of the public rows are 0"), "{remarks:?}");
}

/// The remark on a column.
fn remark<'d>(draft: &'d Draft, column: &str) -> &'d str {
    let remark = draft.remarks.iter().find(|r| r.column.as_deref() == Some(column));
    remark.map_or("", |remark| remark.text.as_str())
}

#[test]
fn a_raw_table_without_a_header_with_blanks_and_marks_needs_only_names() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for i in 0..400 {
        let work = ["Private", "State-gov", "?"][i % 3];
        writeln!(text, "{}, {work}, {}, {}, <=50K", 20 + i % 45, 70_000 + i * 7, i % 5 * 100)
            .unwrap();
    }
    text.push('\n');
    let path = file(&folder, "adult.data", &text);
    let names = ["age", "work", "fnlwgt", "gain", "income"].map(String::from).to_vec();
    let format = TableFormat { names: Some(names), ..TableFormat::default() };
    let draft = draft_from_public(&[&path], &format, &Hints::default()).unwrap();
    let schema = &draft.schema;
    assert!(schema.table().trim && schema.na_token() == "?" && schema.missing().is_empty());
    assert!(schema.column("work").unwrap().na && !schema.column("age").unwrap().na);
    assert_eq!(schema.column("fnlwgt").unwrap().role, Role::Weight);
    assert!(schema.column("fnlwgt").unwrap().kind.is_some(), "so that only the role must change");
    assert_eq!(schema.column("income").unwrap().role, Role::Constant);
    assert!(remark(&draft, "work").contains("'?' in 33.2 % of the rows is read as missing"));
    let again = Schema::from_json(&schema.to_json().unwrap(), "s").unwrap();
    let table = read_csv(&path, &again).unwrap();
    assert_eq!(table.records(), 400);
    // What is written has a header, and reads again in the same way.
    let mut out = Vec::new();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    write_csv(&mut out, &table, &again, Labels::Codes, &mut rng).unwrap();
    assert!(out.starts_with(b"age,work,gain\n"));
    assert_eq!(read_csv_from(out.as_slice(), "o", &again, AbsentColumns::Refuse).unwrap(), table);
    // A file without names: its first row is read as the header, with a remark.
    let draft = public(&path).unwrap();
    assert!(draft.remarks[0].text.contains("the header has numbers"), "{:?}", draft.remarks);
    let numbered = TableFormat { names: Some(Vec::new()), ..TableFormat::default() };
    let draft = draft_from_public(&[&path], &numbered, &Hints::default()).unwrap();
    assert!(draft.schema.column("column5").is_some());
}

#[test]
fn identifiers_free_text_dates_and_numbers_with_units_are_recognized() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::from("key,story,born,seen,price,score,empty\n");
    for i in 0..600 {
        let born = crate::domain::written(i * 31 - 4000);
        let seen = format!("2024-03-{:02}T10:00:00Z", 1 + i % 20);
        let story = format!("the patient number {i} was seen again and said that all is well");
        writeln!(text, "A{i:04}X,{story},{born},{seen},\"{},{:03}\",{},", 1 + i % 3, i % 7, i % 9)
            .unwrap();
    }
    let path = file(&folder, "p.csv", &text);
    let draft = public(&path).unwrap();
    let role = |name: &str| draft.schema.column(name).unwrap().role;
    assert_eq!([role("key"), role("story"), role("empty")], [Role::Id, Role::Id, Role::Constant]);
    assert!(
        remark(&draft, "key").contains("identifier")
            && remark(&draft, "story").contains("free text")
    );
    assert!(remark(&draft, "price").contains("numbers with separators or units, such as '1,000'"));
    assert!(remark(&draft, "score").contains("if they are codes"));
    assert!(
        remark(&draft, "born").contains("bins of years")
            && remark(&draft, "seen").contains("bins of days")
    );
    let json = draft.schema.to_json().unwrap();
    assert!(json.contains("\"1960-01-01\"") && json.contains("\"kind\": \"date\""), "{json}");
    let again = Schema::from_json(&json, "again").unwrap();
    let attributes = |schema: &Schema| schema.attributes().cloned().collect::<Vec<_>>();
    assert_eq!(attributes(&again), attributes(&draft.schema));
    let table = read_csv(&path, &again).unwrap();
    assert_eq!(table.records(), 600);
    let mut out = Vec::new();
    write_csv(&mut out, &table, &again, Labels::Codes, &mut ChaCha20Rng::seed_from_u64(1)).unwrap();
    let read = read_csv_from(out.as_slice(), "o", &again, AbsentColumns::Refuse).unwrap();
    assert_eq!(read, table, "dates are drawn in their bins");
}

#[test]
fn dates_get_the_shortest_unit_with_not_too_many_bins() {
    let day = |text: &str| crate::domain::days(text).map(f64::from).unwrap();
    for (first, last, unit, count, second) in [
        ("2024-02-20", "2024-03-05", "days", 15, "2024-02-21"),
        ("2024-01-10", "2024-12-30", "weeks", 52, "2024-01-15"),
        ("2019-11-20", "2024-03-05", "months", 53, "2019-12-01"),
        ("1950-05-05", "2024-03-05", "years", 75, "1951-01-01"),
        ("1650-05-05", "2024-03-05", "decades", 38, "1660-01-01"),
    ] {
        let counts = vec![(day(first), 1), (day(last), 1)];
        let values = Values { counts, whole: true, limits: None, changes: Vec::new() };
        let (bins, name) = values.date_bins("d").unwrap();
        assert_eq!((name, bins.count()), (unit, count), "{first}");
        assert!((bins.edges()[1] - day(second)).abs() < 0.5, "{first}");
    }
}

#[test]
fn a_table_in_another_encoding_is_refused_with_line_and_column_or_read_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.csv");
    std::fs::write(&path, b"n;town\n1;K\xf6ln\n2;Bonn\n").unwrap();
    let format = TableFormat { delimiter: ';', ..TableFormat::default() };
    let message = draft_from_public(&[&path], &format, &Hints::default()).unwrap_err().to_string();
    let expected = "line 2, column 'town': found 'K\\xf6ln' (undecodable bytes, not UTF-8)";
    assert!(message.contains(expected) && !message.contains('\u{fffd}'), "{message}");
    let format = TableFormat { encoding: crate::domain::Encoding::Latin1, ..format };
    let schema = draft_from_public(&[&path], &format, &Hints::default()).unwrap().schema;
    let json = schema.to_json().unwrap();
    assert!(json.contains("\"latin-1\"") && json.contains("Köln"), "{json}");
    let table = read_csv(&path, &schema).unwrap();
    let mut out = Vec::new();
    write_csv(&mut out, &table, &schema, Labels::Codes, &mut ChaCha20Rng::seed_from_u64(1))
        .unwrap();
    assert_eq!(out, "\u{feff}n;town\n1;Köln\n2;Bonn\n".as_bytes());
    assert_eq!(read_csv_from(out.as_slice(), "o", &schema, AbsentColumns::Refuse).unwrap(), table);
}

fn column() -> impl Strategy<Value = Vec<f64>> {
    let whole = |range: std::ops::Range<i32>| range.prop_map(f64::from);
    let tail = (0.0_f64..1.0).prop_map(|u| (1000.0 / (1.0 - 0.999 * u)).round());
    let value = prop_oneof![
        3 => whole(0..90).boxed(),
        2 => tail.boxed(),
        1 => Just(0.0).boxed(),
        1 => Just(40.0).boxed(),
    ];
    let parts = (-500_i32..5000).prop_map(|i| f64::from(i) / 8.0);
    let any = (-1e6_f64..1e6).prop_map(|x| x);
    prop_oneof![
        prop::collection::vec(value, 2..900),
        prop::collection::vec(parts, 2..900),
        prop::collection::vec(any, 2..900),
        prop::collection::vec(whole(0..7), 3..90),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn drafted_bins_hold_the_rows_and_draw_like_them(values in column(), at in prop::collection::btree_set(1..80_u32, 0..5)) {
        let mut counts: Vec<(f64, u64)> = Vec::new();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        for value in &sorted {
            match counts.last_mut() {
                Some((last, rows)) if *last >= *value => *rows += 1,
                _ => counts.push((*value, 1)),
            }
        }
        let whole = values.iter().all(|value| value.fract() == 0.0);
        let changes: Vec<f64> = at.into_iter().map(f64::from).collect();
        let drafted = Values { counts, whole, limits: None, changes: changes.clone() };
        let bins = drafted.bins("x").unwrap().unwrap();
        let mut held = vec![0_u32; bins.count() as usize];
        for value in &sorted {
            held[bins.code(*value).unwrap() as usize] += 1;
        }
        let few = (sorted.len() / 50).clamp(1, 10);
        for (bin, held) in held.iter().enumerate() {
            let [low, high] = [bins.edges()[bin], bins.edges()[bin + 1]];
            let distinct = sorted.iter().filter(|v| **v >= low && **v < high).count();
            let rows = u32::try_from((sorted.len() / 20).max(few) + few).unwrap();
            let first = sorted.partition_point(|v| *v < low);
            let single = distinct == 0 || sorted[first] >= sorted[first + distinct - 1];
            prop_assert!(single || *held <= rows + 1, "{held} of {} in [{low}, {high})", sorted.len());
        }
        // Values on both sides of a change are in two bins, but for the outer ones.
        for change in changes {
            let next = sorted.partition_point(|value| *value < change);
            if next > 0 && next < sorted.len() {
                let [before, after] = [next - 1, next].map(|at| bins.code(sorted[at]).unwrap());
                prop_assert!(before < after || before == 0 || after + 1 == bins.count(), "{change} {bins:?}");
            }
        }
        let schema = Schema::new("", vec![SchemaColumn::attribute("x", Kind::Numeric(bins.clone()))]).unwrap();
        prop_assert_eq!(&Schema::from_json(&schema.to_json().unwrap(), "again").unwrap(), &schema);
        let (least, most, _) = written(&schema, bins.count(), 40);
        prop_assert!(least >= sorted[0] && most <= sorted[sorted.len() - 1].max(bins.edges()[1]), "{least} {most} {:?}", bins);
    }
}

#[test]
fn codes_that_a_document_lists_stay_as_the_cells_have_them() {
    let folder = tempfile::tempdir().unwrap();
    let listed = (0..60).fold(String::new(), |text, i| {
        text + &format!("VAL,SHIFT,C,5,{i:02}:00,{i:02}:00,shift {i}\n")
    });
    let dictionary = file(&folder, "d.csv", &format!("NAME,SHIFT,C,5,Shift\n{listed}"));
    let path =
        file(&folder, "p.csv", &numbers("SHIFT", (0..400).map(|i| format!("{:02}:00", i % 24))));
    let hints = Hints::default();
    let found =
        draft(&pums(&dictionary), &[&path], &TableFormat::default(), &hints).unwrap().schema;
    let Some(Kind::Categorical { codes, .. }) = &found.columns()[0].kind else { panic!() };
    assert_eq!((codes.len(), codes[23].as_str()), (60, "23:00"), "no code is added");
    assert_eq!(read_csv(&path, &found).unwrap().records(), 400);
}
