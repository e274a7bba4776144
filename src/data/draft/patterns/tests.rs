use std::fmt::Write;
use std::path::PathBuf;

use crate::data::draft::{Draft, draft, draft_from_document, draft_from_public};
use crate::data::{Document, DocumentKind, Hints, read_csv};
use crate::domain::{Kind, Schema, TableFormat};

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn with(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

/// People of all ages, who have work from 16 on, and a school between 3 and 21; with some of 14 who work, if `odd`.
fn people(records: u32, odd: u32) -> String {
    let mut text = String::from("AGE,WORK,SCHOOL,TOWN\n");
    for i in 0..records {
        let age = i * 37 % 93;
        let work = if age >= 16 || (age == 14 && i < odd) {
            ["1", "2", "3"][(i / 7 % 3) as usize]
        } else {
            ""
        };
        let school = if (3..21).contains(&age) { "yes" } else { "no" };
        writeln!(text, "{age},{work},{school},{}", ["a", "b"][(i / 5 % 2) as usize]).unwrap();
    }
    text
}

fn edges(schema: &Schema) -> Vec<f64> {
    let Some(Kind::Numeric(bins)) = &schema.column("AGE").unwrap().kind else { unreachable!() };
    bins.edges().to_vec()
}

fn of_public(files: &Files, text: &str) -> Draft {
    let path = files.with("public.csv", text);
    draft_from_public(&[&path], &TableFormat::default(), &Hints::default()).unwrap()
}

#[test]
fn bins_begin_where_other_columns_change() {
    let files = Files::new();
    let found = of_public(&files, &people(9_300, 0));
    let cut = edges(&found.schema);
    assert!([3.0, 16.0, 21.0].iter().all(|at| cut.contains(at)), "{cut:?}");
    let note = found.schema.column("AGE").unwrap().note.clone().unwrap();
    assert!(note.starts_with("bins begin where other columns change: "), "{note}");
    assert!(note.contains("16 (WORK)") || note.contains("16 (no WORK)"), "{note}");
    // The same rows without the other columns have about as many bins, elsewhere.
    let alone: String = people(9_300, 0)
        .lines()
        .fold(String::new(), |text, line| text + line.split(',').next().unwrap() + "\n");
    let plain = edges(&of_public(&files, &alone).schema);
    assert!(!plain.contains(&16.0) && cut.len() <= plain.len() + 3, "{plain:?} {cut:?}");
    // The rule that the bins allow to say.
    let unlikely =
        found.schema.unlikely().iter().find(|one| one.iter().any(|(name, _)| name == "WORK"));
    let (_, ages) = unlikely.unwrap().iter().find(|(name, _)| name == "AGE").unwrap();
    assert!(cut[ages.len()].total_cmp(&16.0).is_eq(), "{ages:?} of {cut:?}");
}

#[test]
fn chance_and_few_rows_are_no_change() {
    // A few who work at 14.
    let files = Files::new();
    let cut = edges(&of_public(&files, &people(9_300, 9_300)).schema);
    let plain: String = people(9_300, 0)
        .lines()
        .fold(String::new(), |text, line| text + line.split(',').next().unwrap() + "\n");
    assert!(!edges(&of_public(&files, &plain).schema).contains(&14.0));
    assert!(cut.contains(&3.0), "{cut:?}");
    // 200 rows show nothing.
    let text = people(200, 0);
    let found = of_public(&files, &text);
    assert!(found.remarks.iter().all(|remark| !remark.text.contains("columns change")));
}

const DICTIONARY: &str = "NAME,AGE,N,2,Age\nVAL,AGE,N,2,0,99,years\n\
    NAME,WORK,C,1,Work\nVAL,WORK,C,1,b,b,N/A (less than 16 years old/has no work)\n\
    VAL,WORK,C,1,1,1,part\nVAL,WORK,C,1,2,2,full\nVAL,WORK,C,1,3,3,other\n\
    NAME,SCHOOL,C,3,School\nVAL,SCHOOL,C,3,yes,yes,yes\nVAL,SCHOOL,C,3,no,no,no\n";

#[test]
fn a_dictionary_says_at_which_ages_a_column_has_no_value() {
    let files = Files::new();
    let document = Document { kind: DocumentKind::Pums, path: files.with("d.csv", DICTIONARY) };
    // Without rows.
    let found = draft_from_document(&document).unwrap();
    let cut = edges(&found.schema);
    assert!(cut.contains(&16.0), "{cut:?}");
    let [rule] = found.schema.unlikely() else { unreachable!("{:?}", found.schema.unlikely()) };
    let codes = |name: &str| rule.iter().find(|(own, _)| own == name).unwrap().1.clone();
    assert_eq!((cut[codes("AGE").len()], codes("WORK")), (16.0, vec![0, 1, 2]));
    let said = &found.remarks.last().unwrap().text;
    assert!(
        said.contains("1 unlikely combinations of two values, which the document rules out"),
        "{said}"
    );
    // All values but missing ones are written as such, and read again.
    let json = found.schema.to_json().unwrap();
    assert!(json.contains(r#""WORK":{"not":[null]}"#), "{json}");
    assert_eq!(Schema::from_json(&json, "again").unwrap(), found.schema);
    // With few rows, of which none contradicts it.
    let few = files.with("few.csv", &people(200, 0));
    let of = |path: &PathBuf| {
        draft(&document, &[path], &TableFormat::default(), &Hints::default()).unwrap()
    };
    let found = of(&few);
    assert_eq!((found.schema.unlikely().len(), edges(&found.schema).contains(&16.0)), (1, true));
    assert!(read_csv(&few, &found.schema).is_ok());
    // With rows that contradict it, it is no rule.
    let odd = files.with("odd.csv", &people(200, 200));
    assert_eq!(of(&odd).schema.unlikely(), &[] as &[Vec<(String, Vec<u32>)>]);
    // With many, the rows have it.
    let many = files.with("many.csv", &people(9_300, 0));
    let said = of(&many).remarks;
    assert!(said.iter().all(|remark| !remark.text.contains("the document rules out")), "{said:?}");
}
