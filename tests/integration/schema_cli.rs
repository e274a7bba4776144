//! From a raw file to a schema, and on: `jointly schema` as a new user meets it.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "helpers of tests")]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use jointly::data::{Dataset, Document, DocumentKind, Hints, draft, draft_from_public, read_csv};
use jointly::domain::{Kind, Outside, Schema, TableFormat};

use crate::cli::{Bench, stderr};

const NAMES: &str = "age,workclass,fnlwgt,hours,joined,income";

/// Rows as in the raw Adult table: no header, blanks, question marks, a blank last line.
fn raw(delimiter: char) -> String {
    let mut text = String::new();
    for i in 0..600_u32 {
        let (age, weight) = (17 + i * 7 % 70, 20_000 + i * 977 % 99_991);
        let work = ["Private", "?", "State-gov", "Private"][i as usize % 4];
        let hours = if i % 2 == 0 { 40 } else { 1 + i * 11 % 99 };
        let joined = format!("20{:02}-{:02}-03", i % 20, 1 + i % 12);
        let income = if i % 5 == 0 { ">50K" } else { "<=50K" };
        let cells = [
            age.to_string(),
            work.into(),
            weight.to_string(),
            hours.to_string(),
            joined,
            income.into(),
        ];
        writeln!(text, "{}", cells.join(&format!("{delimiter} "))).unwrap();
    }
    text + "\n"
}

#[test]
fn a_raw_table_becomes_a_release_with_its_names_as_the_only_decision() {
    let bench = Bench::new();
    bench.write("raw.data", &raw(','));
    bench.write("secret.data", &raw(','));
    bench.write("names.txt", &NAMES.replace(',', "\n"));
    let output = bench.run("schema --public raw.data --header-file names.txt --out s.json");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stderr(&output);
    for part in [
        "s.json: 5 attributes of 6 columns",
        "tables: blanks around 3000 cells are dropped",
        "workclass: '?' in 25.0 % of the rows is read as missing",
        "fnlwgt: named like a survey weight: not modeled; `synth --weight` makes a release of the population that its records stand for",
        "joined: dates, in bins of years",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(
        bench.succeed(&format!("schema --public raw.data --header {NAMES}")),
        bench.read("s.json")
    );
    bench.succeed(
        "synth --private secret.data --public raw.data --schema s.json --workload all-2-way --mechanism mst \
         --epsilon 5 --delta 1e-6 --seed 1 --out out.csv --model m.json",
    );
    assert!(bench.read("out.csv").starts_with("age,workclass,hours,joined,income\n"));
    bench.succeed(
        "evaluate --private secret.data --synthetic out.csv --schema s.json --workload all-2-way",
    );
    bench.succeed("sample --model m.json --rows 50 --out more.csv");
    assert!(bench.read("more.csv").lines().any(|line| line.contains(",?,")));
    // Without names the draft warns.
    let output = bench.run("schema --public raw.data");
    assert!(stderr(&output).contains("name its columns (--header)"), "{}", stderr(&output));
    let numbered = bench.succeed("schema --public raw.data --no-header");
    assert!(numbered.contains("\"column6\""));
}

#[test]
fn delimiters_and_encodings_are_said_once_and_kept_in_the_schema() {
    let bench = Bench::new();
    let text = format!("{}\n{}", NAMES.replace(',', ";"), raw(';')).replace("State-gov", "Köln €");
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    let wide: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
    fs::write(bench.path("wide.csv"), wide).unwrap();
    let narrow: Vec<u8> = text
        .chars()
        .map(|c| if c == '€' { 0x80 } else { u8::try_from(u32::from(c)).unwrap() })
        .collect();
    fs::write(bench.path("narrow.csv"), narrow).unwrap();
    bench.succeed("schema --public wide.csv --delimiter ; --out wide.json");
    bench.succeed("schema --public narrow.csv --delimiter ; --encoding latin-1 --out narrow.json");
    bench.fail(
        "schema --public narrow.csv --delimiter ;",
        3,
        "line 4, column 'workclass': found ' K\\xf6ln \\x80'",
    );
    for name in ["wide", "narrow"] {
        fs::copy(bench.path(&format!("{name}.csv")), bench.path("secret.csv")).unwrap();
        assert!(bench.read(&format!("{name}.json")).contains("\"Köln €\""));
        bench.succeed(&format!(
            "synth --private secret.csv --public {name}.csv --schema {name}.json --workload all-2-way \
             --mechanism public-only --out out.csv"
        ));
        assert!(bench.read("out.csv").contains("Köln €"));
        bench.succeed(&format!(
            "evaluate --private {name}.csv --synthetic out.csv --schema {name}.json --workload all-2-way"
        ));
    }
    bench.succeed("schema --public wide.csv --out found.json");
    assert_eq!(bench.read("found.json"), bench.read("wide.json"), "the delimiter is found");
    bench.fail("schema --public wide.csv --delimiter |", 3, "no column with the role 'attribute'");
    bench.fail(
        "schema --public public.csv --delimiter ab",
        2,
        "expected one ASCII character, or tab",
    );
    bench.fail("schema --public public.csv --delimiter x", 2, "delimiter 'x'");
    bench.fail("schema --public public.csv --header a,b,a,c", 2, "occurs twice");
    bench.fail("schema --public public.csv --header a,b", 3, "found 4 cells, expected 2");
    bench.fail("schema --dictionary public.csv --no-header", 2, "--no-header counts the columns");
}

#[test]
fn a_finished_schema_is_exported_for_sdv() {
    let bench = Bench::new();
    let schema = r#"{"columns": [
        {"name": "sex", "kind": "categorical", "codes": ["m", "f"]},
        {"name": "who", "role": "id"},
        {"name": "age", "kind": "numeric", "edges": [0, 18, 120], "integer": true},
        {"name": "pay", "kind": "numeric", "edges": [0, 18.5, 120], "integer": false},
        {"name": "born", "kind": "date", "edges": ["2000-01-01", "2001-01-01"]}
    ]}"#;
    bench.write("s.json", schema);
    let output = bench.run("schema --schema s.json --to sdv:metadata.json");
    assert!(stderr(&output).contains("metadata.json: metadata of 4 columns for SDV"));
    let metadata: serde_json::Value = serde_json::from_str(&bench.read("metadata.json")).unwrap();
    let expected = serde_json::json!({
        "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
        "columns": {
            "sex": {"sdtype": "categorical"},
            "age": {"sdtype": "numerical", "computer_representation": "Int64"},
            "pay": {"sdtype": "numerical", "computer_representation": "Float"},
            "born": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
        },
    });
    assert_eq!(metadata, expected);
    bench.fail(
        "schema --schema s.json --to sdmx:m.json",
        2,
        "expected KIND:FILE with the kind sdv",
    );
    bench.fail("schema --schema s.json --to sdv:s.json", 2, "is the file of --schema");
    bench.fail("schema --schema s.json", 2, "--schema needs --to, to export it, or --public");
    bench.fail("schema --schema s.json --to sdv:m.json --public p.csv", 2, "cannot be used with");
}

#[test]
fn documents_of_others_describe_tables() {
    let bench = Bench::new();
    bench.write(
        "table.json",
        r#"{"missingValues": ["-"], "fields": [
            {"name": "job", "type": "string", "constraints": {"required": true},
             "categories": [{"value": "f", "label": "farm"}, {"value": "s", "label": "shop"}]},
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
            {"name": "note", "type": "string"}]}"#,
    );
    let mut rows = String::from("job,age,note\nf,-,x\n");
    for i in 0..400 {
        writeln!(rows, "{},{},x", ["f", "s"][i % 2], i % 60).unwrap();
    }
    bench.write("rows.csv", &rows);
    let output = bench.run("schema --from frictionless:table.json --out s.json");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("note: no list of categories"), "{}", stderr(&output));
    bench.succeed(
        "synth --private rows.csv --schema s.json --mechanism independent --workload all-1-way --epsilon 1 \
         --delta 1e-6 --out out.csv",
    );
    bench.succeed("schema --from frictionless:table.json --public rows.csv --out with.json");
    assert!(bench.read("with.json").contains("\"draw\""));
    bench.fail("schema --from other:table.json", 2, "KIND:FILE with one of the kinds pums, sdnist");
    bench.fail("schema --from sdnist:rows.csv", 3, "rows.csv");
    bench.fail("schema --from ddi:missing.xml", 1, "missing.xml");
    bench.fail("schema --from pums:rows.csv --dictionary rows.csv", 2, "cannot be used with");
}

/// A folder of real tables; `None`, said loudly, where it is missing.
fn real(name: &str) -> Option<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = std::env::var_os("JOINTLY_DATA")
        .map_or_else(|| manifest.join("../shared/data"), PathBuf::from)
        .join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED: no folder {}, set JOINTLY_DATA to test real tables", folder.display());
    None
}

/// No bin of several values holds over a twentieth of the rows, and no piece stands for fewer than ten.
fn check_numbers(schema: &Schema, tables: &[&Path]) {
    let tables: Vec<Dataset> = tables.iter().map(|path| read_csv(path, schema).unwrap()).collect();
    for (at, column) in schema.attributes().enumerate() {
        let Some(Kind::Numeric(bins)) = &column.kind else { continue };
        let mut rows = vec![0_u32; bins.count() as usize];
        for code in tables.iter().flat_map(|table| table.column(at).unwrap().iter()) {
            // The missing ones come after the bins.
            rows.get_mut(code as usize).into_iter().for_each(|rows| *rows += 1);
        }
        let total: u32 = rows.iter().sum();
        for (bin, held) in (0..).zip(rows) {
            let pieces = bins.pieces_of(bin);
            let place = || {
                format!("{} from {}: {held} of {total}", column.name, bins.edges()[bin as usize])
            };
            assert!(pieces.len() < 2 || 20 * held <= total, "{}", place());
            assert!(pieces.iter().all(|piece| piece.rows >= 10), "{}", place());
        }
    }
}

#[test]
fn the_raw_adult_table_drafts_with_names_as_the_only_decision() {
    let Some(folder) = real("adult-raw-uci") else { return };
    let names = "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,\
                 capital-gain,capital-loss,hours-per-week,native-country,income";
    let names = names.split(',').map(String::from).collect();
    let format = TableFormat { names: Some(names), ..TableFormat::default() };
    let path = folder.join("adult.data.gz");
    let schema = draft_from_public(&[&path], &format, &Hints::default()).unwrap().schema;
    assert_eq!(read_csv(&path, &schema).unwrap().records(), 32_561);
    assert_eq!(
        (schema.attributes().count(), schema.na_token(), schema.table().trim),
        (14, "?", true)
    );
    let Some(Kind::Numeric(age)) = &schema.column("age").unwrap().kind else { panic!() };
    assert_eq!((age.edges()[0], age.edges()[age.edges().len() - 1]), (17.0, 91.0));
    assert_eq!(age.outside(), Outside::Clamp);
    check_numbers(&schema, &[&path]);
}

#[test]
fn bedrooms_of_the_survey_get_a_bin_each() {
    let Some(folder) = real("acs2024-person-household") else { return };
    let path = folder.join("PUMS_Data_Dictionary_2021_subset.csv.gz");
    let pums = Document { kind: DocumentKind::Pums, path };
    let (ohio, dakota) = (folder.join("oh.csv.gz"), folder.join("sd.csv.gz"));
    let schema =
        draft(&pums, &[&ohio, &dakota], &TableFormat::default(), &Hints::default()).unwrap().schema;
    let Some(Kind::Numeric(rooms)) = &schema.column("BDSP").unwrap().kind else { panic!() };
    assert_eq!(rooms.edges(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 100.0]);
    check_numbers(&schema, &[&ohio, &dakota]);
}

/// The names that a member of the schema file may have, from the message about one that it may not.
fn known(text: &str) -> Vec<String> {
    let message = Schema::from_json(text, "s").unwrap_err().to_string();
    let list = message.split_once("expected one of ").unwrap().1;
    let mut names: Vec<String> = list.split('`').skip(1).step_by(2).map(String::from).collect();
    names.sort();
    names
}

#[test]
fn the_json_schema_for_editors_has_the_members_that_the_reader_knows() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(manifest.join("docs/guide/schema.schema.json")).unwrap();
    let written: serde_json::Value = serde_json::from_str(&text).unwrap();
    let names = |pointer: &str| {
        let members = written.pointer(pointer).unwrap().as_object().unwrap();
        let mut names: Vec<String> = members.keys().cloned().collect();
        names.sort();
        names
    };
    let column = r#"{"name": "x", "kind": "coded", "size": 2}"#;
    assert_eq!(
        known(&format!(r#"{{"columns": [{column}], "zzzzzzzzz": 1}}"#)),
        names("/properties")
    );
    assert_eq!(known(r#"{"columns": [{"zzzzzzzzz": 1}]}"#), names("/$defs/column/properties"));
    assert_eq!(
        known(&format!(r#"{{"columns": [{column}], "table": {{"zzzzzzzzz": 1}}}}"#)),
        names("/$defs/table/properties")
    );
    let wrong = Schema::from_json(r#"{"columns": [{"name": "x", "edge": [1, 2]}]}"#, "s.json");
    let message = wrong.unwrap_err().to_string();
    assert!(message.contains("line 1") && message.contains("did you mean `edges`?"), "{message}");
    // The example of the guide is a schema.
    let guide = fs::read_to_string(manifest.join("docs/guide/schema.md")).unwrap();
    let example = guide.split("```json").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(Schema::from_json(example, "schema.md").unwrap().domain().len(), 4);
}
