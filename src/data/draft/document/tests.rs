//! Kinds of documents, and drafts from each.

use crate::data::Hints;
use std::path::Path;

use tempfile::TempDir;

use super::{Document, DocumentKind};
use crate::data::{Draft, draft, draft_from_document};
use crate::domain::{Bins, Kind, Outside, Role, SchemaColumn, TableFormat};

fn drafted(kind: DocumentKind, text: &str) -> Draft {
    try_draft(kind, text).unwrap()
}

fn try_draft(kind: DocumentKind, text: &str) -> crate::error::Result<Draft> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("document");
    std::fs::write(&path, text).unwrap();
    draft_from_document(&Document { kind, path })
}

fn column<'d>(draft: &'d Draft, name: &str) -> &'d SchemaColumn {
    draft.schema.column(name).unwrap()
}

fn codes<'d>(draft: &'d Draft, name: &str) -> (Vec<&'d str>, Vec<&'d str>) {
    let Some(Kind::Categorical { codes, labels, .. }) = &column(draft, name).kind else {
        panic!("{name}")
    };
    let text = |texts: &'d Vec<String>| texts.iter().map(String::as_str).collect();
    (text(codes), labels.as_ref().map(text).unwrap_or_default())
}

fn bins<'d>(draft: &'d Draft, name: &str) -> &'d Bins {
    let Some(Kind::Numeric(bins)) = &column(draft, name).kind else { panic!("{name}") };
    bins
}

const SDNIST: &str = r#"{
    "AGEP": {"description": "Age", "values": {"min": 0, "max": 99}},
    "SEX": {"description": "Sex", "values": {"1": "Male", "2": "Female"}},
    "MSP": {"description": "Marital status", "values": {"N": "N/A (younger than 15)", "1": "Married", "6": "Never"}},
    "NOC": {"description": "Own children", "values": {"N": "N/A", "0": "None", "min": 1, "max": 19}},
    "DENSITY": {"description": "Density", "values": {"min": 16.3, "max": 52864.7}},
    "INDP": {"description": "Industry", "link": "elsewhere"}
}"#;

#[test]
fn sdnist_dictionaries_become_codes_with_labels_and_bins() {
    let draft = drafted(DocumentKind::Sdnist, SDNIST);
    assert_eq!(codes(&draft, "SEX"), (vec!["1", "2"], vec!["Male", "Female"]));
    assert_eq!(codes(&draft, "MSP").0, ["1", "6"]);
    assert!(column(&draft, "MSP").na && column(&draft, "NOC").na && !column(&draft, "SEX").na);
    assert_eq!(draft.schema.na_token(), "N");
    let age = bins(&draft, "AGEP");
    assert_eq!((age.count(), age.edges()[100], age.is_integer()), (100, 100.0, true));
    let children = bins(&draft, "NOC");
    assert_eq!((children.count(), children.edges()[0], children.edges()[20]), (20, 0.0, 20.0));
    let density = bins(&draft, "DENSITY");
    assert!(
        !density.is_integer() && density.find(52_864.7).is_some() && density.find(16.3) == Some(0)
    );
    assert!(density.find(52_864.8).is_none() && density.find(16.2).is_none());
    assert_eq!(column(&draft, "INDP").role, Role::Id);
    let remark =
        draft.remarks.iter().find(|remark| remark.column.as_deref() == Some("INDP")).unwrap();
    assert!(remark.text.contains("no list of values"), "{}", remark.text);
}

#[test]
fn schemas_of_sdnist_targets_are_read_too() {
    let text = r#"{"schema": {
        "STATE": {"values": ["01", "17"], "dtype": "object"},
        "SECTOR": {"values": [11, 21, -1], "dtype": "int64", "has_null": true, "null_value": -1},
        "RG": {"values": {"min": 0, "max": 10, "step_size": 1}, "dtype": "int64"}
    }}"#;
    let draft = drafted(DocumentKind::Sdnist, text);
    assert_eq!(codes(&draft, "STATE").0, ["01", "17"]);
    assert_eq!(codes(&draft, "SECTOR").0, ["11", "21"]);
    assert!(column(&draft, "SECTOR").na && draft.schema.na_token() == "-1");
    assert_eq!(bins(&draft, "RG").count(), 11);
}

const TABLE_SCHEMA: &str = r#"{
    "fields": [
        {"name": "sex", "type": "string", "title": "Sex", "constraints": {"enum": ["f", "m", "NA"], "required": true}},
        {"name": "job", "type": "integer", "categories": [{"value": 1, "label": "farm"}, {"value": 2, "label": "shop"}]},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": "120"}},
        {"name": "rate", "type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": true}},
        {"name": "year", "type": "year", "constraints": {"exclusiveMinimum": 1999, "exclusiveMaximum": 2025}},
        {"name": "owner", "type": "boolean", "trueValues": ["yes", "y"], "falseValues": ["no"]},
        {"name": "name", "type": "string"},
        {"name": "born", "type": "date"},
        {"name": "pay", "type": "number", "missingValues": ["-9"]}
    ],
    "missingValues": ["", "NA"]
}"#;

#[test]
fn table_schemas_of_both_versions_become_schemas() {
    let draft = drafted(DocumentKind::Frictionless, TABLE_SCHEMA);
    // A mark of a missing value is no code, although the list has it.
    assert_eq!(codes(&draft, "sex"), (vec!["f", "m"], vec![]));
    assert_eq!(codes(&draft, "job"), (vec!["1", "2"], vec!["farm", "shop"]));
    assert_eq!(codes(&draft, "owner").0, ["no", "yes"]);
    assert!(!column(&draft, "sex").na && column(&draft, "job").na && !column(&draft, "rate").na);
    assert_eq!(column(&draft, "sex").description.as_deref(), Some("Sex"));
    assert_eq!((bins(&draft, "age").count(), bins(&draft, "year").edges()[0]), (121, 2000.0));
    assert_eq!(bins(&draft, "year").edges().last(), Some(&2025.0));
    let rate = bins(&draft, "rate");
    assert!(!rate.is_integer() && rate.find(1.0).is_some() && rate.find(1.01).is_none());
    assert_eq!(
        (draft.schema.na_token(), draft.schema.missing()),
        ("", &["NA".to_owned(), "-9".into()][..])
    );
    for left_out in ["name", "born", "pay"] {
        assert_eq!(column(&draft, left_out).role, Role::Id, "{left_out}");
    }
    let package = format!(r#"{{"resources": [{{"name": "people", "schema": {TABLE_SCHEMA}}}]}}"#);
    assert_eq!(drafted(DocumentKind::Frictionless, &package).schema, draft.schema);
}

#[test]
fn with_public_rows_documented_columns_follow_them_and_the_others_are_drafted() {
    let folder = TempDir::new().unwrap();
    let (schema, rows) = (folder.path().join("s.json"), folder.path().join("rows.csv"));
    std::fs::write(&schema, TABLE_SCHEMA).unwrap();
    let row =
        |i: u32| format!("{},{},{},{}\n", ["f", "m"][i as usize % 2], 1 + i % 2, i % 60, i % 7);
    let rows_text: String = (0..300).map(row).collect();
    std::fs::write(&rows, format!("sex,job,age,pay\n{rows_text}")).unwrap();
    let document = Document { kind: DocumentKind::Frictionless, path: schema };
    let draft =
        draft(&document, &[rows.as_path()], &TableFormat::default(), &Hints::default()).unwrap();
    assert_eq!(codes(&draft, "job").1, ["farm", "shop"]);
    let age = bins(&draft, "age");
    assert_eq!((age.edges()[0], age.edges().last()), (0.0, Some(&121.0)));
    assert!(age.count() < 61 && !age.pieces().is_empty());
    assert_eq!((column(&draft, "pay").role, bins(&draft, "pay").count()), (Role::Attribute, 7));
}

#[cfg(feature = "yaml")]
#[test]
fn dpsynth_domains_keep_their_catch_all_values() {
    let text = "\
age:
  clip_to_range: true
  dtype: int
  max_value: 50.0
  min_value: 10.0
score: {min_value: 0.0, max_value: 1.5, clip_to_range: false, type: NumericalAttribute}
gender:
  out_of_domain_index: 1
  possible_values:
  - M
  - F
flag:
  possible_values: [true, false]
story: {max_tokens: 256}
town:
";
    let draft = drafted(DocumentKind::Dpsynth, text);
    let age = bins(&draft, "age");
    assert_eq!((age.edges()[0], age.count(), age.outside()), (10.0, 41, Outside::Clamp));
    assert_eq!(bins(&draft, "score").outside(), Outside::Refuse);
    assert_eq!(codes(&draft, "flag").0, ["True", "False"]);
    let Some(Kind::Categorical { other, .. }) = &column(&draft, "gender").kind else { panic!() };
    assert_eq!(*other, Some(1));
    assert_eq!([column(&draft, "story").role, column(&draft, "town").role], [Role::Id, Role::Id]);
    for wrong in ["age: {min_value: 5, max_value: 1}", "age: {min_value: 5}", "age: [", "- 1"] {
        assert!(try_draft(DocumentKind::Dpsynth, wrong).is_err(), "{wrong}");
    }
}

const CODEBOOK: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE codeBook SYSTEM "ddi.dtd">
<codeBook xmlns="ddi:codebook:2_5">
  <dataDscr>
    <var ID="SEX" name="SEX" intrvl="discrete">
      <labl>Sex</labl>
      <catgry><catValu>1</catValu><labl> Male </labl></catgry>
      <catgry><catValu>2</catValu><labl>Female</labl></catgry>
      <catgry missing="Y"><catValu>9</catValu><labl>Missing</labl></catgry>
    </var>
    <var name="INCTOT" intrvl="contin" dcml="0">
      <labl>Income</labl>
      <valrng><range min="-5000" max="90000"/></valrng>
      <invalrng><item VALUE="9999999"/></invalrng>
    </var>
    <var name="AGE" intrvl="contin">
      <valrng><range min="0" max="90"/></valrng>
      <catgry><catValu>0</catValu><labl>Under 1 year</labl></catgry>
    </var>
    <var name="NOTE"><labl>Remarks</labl></var>
  </dataDscr>
</codeBook>"#;

#[test]
fn codebooks_become_schemas() {
    let draft = drafted(DocumentKind::Ddi, CODEBOOK);
    assert_eq!(codes(&draft, "SEX"), (vec!["1", "2", "9"], vec!["Male", "Female", "Missing"]));
    assert_eq!(column(&draft, "INCTOT").description.as_deref(), Some("Income"));
    let income = bins(&draft, "INCTOT");
    assert!(income.is_integer() && income.find(-5000.0) == Some(0));
    // A value that stands for "missing" lies outside the range and has its own bin.
    let last = income.edges();
    assert_eq!(last[last.len() - 2..], [9_999_999.0, 10_000_000.0]);
    assert_eq!(bins(&draft, "AGE").count(), 91);
    assert_eq!(column(&draft, "NOTE").role, Role::Id);
    assert!(draft.remarks.iter().any(|remark| remark.text.contains("kept as values")));
}

#[test]
fn documents_of_another_form_are_refused_with_their_place() {
    let wrong = [
        (DocumentKind::Sdnist, r#"{"AGEP": 3}"#, "column 'AGEP': no object"),
        (DocumentKind::Sdnist, r#"{"AGEP": {"values": {"min": 5, "max": 1}}}"#, "min 5, max 1"),
        (DocumentKind::Sdnist, "[]", "document"),
        (DocumentKind::Sdnist, "{}", "no column with the role 'attribute'"),
        (DocumentKind::Frictionless, "{}", "no 'fields'"),
        (DocumentKind::Frictionless, r#"{"fields": [{"type": "string"}]}"#, "name"),
        (
            DocumentKind::Frictionless,
            r#"{"resources": [{"name": "a", "schema": {}}, {"name": "b", "schema": {}}]}"#,
            "tables a, b",
        ),
        (
            DocumentKind::Frictionless,
            r#"{"fields": [{"name": "x", "type": "number", "constraints": {"minimum": "low", "maximum": 2}}]}"#,
            "field 'x': \"low\"",
        ),
        (DocumentKind::Ddi, "<codeBook>", "line 1"),
        (DocumentKind::Ddi, "<codeBook/>", "no <var>"),
        (DocumentKind::Ddi, "<codeBook>\n<var/></codeBook>", "line 2"),
    ];
    for (kind, text, message) in wrong {
        let error = try_draft(kind, text).unwrap_err().to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
    for text in ["sdnist", "sdnist:", "other:file", ""] {
        assert!(
            text.parse::<Document>().unwrap_err().to_string().contains("pums, sdnist"),
            "{text}"
        );
    }
    let document: Document = "ddi:a:b.xml".parse().unwrap();
    assert_eq!(
        (document.path.as_path(), document.to_string()),
        (Path::new("a:b.xml"), "ddi:a:b.xml".into())
    );
}
