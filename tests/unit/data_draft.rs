//! Tests of drafting.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use super::*;
use crate::data::{Dataset, read_csv};

fn file(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
    path
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

#[test]
fn a_dictionary_gives_codes_bins_and_roles() {
    let folder = tempfile::tempdir().unwrap();
    let schema = draft_from_dictionary(&file(&folder, "d.csv", DICTIONARY)).unwrap();
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
    assert!((15..30).contains(&income.count()), "{:?}", income.edges());
}

#[test]
fn a_dictionary_of_another_form_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "d.csv", "NAME,A,C,1,a\nVAL,B,C,1,1,1,x\n");
    let message = draft_from_dictionary(&path).unwrap_err().to_string();
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
    let schema = draft_from_public(&[&path]).unwrap();
    let names: Vec<&str> = schema.attributes().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["INCOME", "RATE", "CODE", "ZIP", "FEW"]);
    let table: Dataset = read_csv(&path, &schema).unwrap();
    assert_eq!(table.records(), 1500);
    let Some(Kind::Numeric(income)) = &schema.column("INCOME").unwrap().kind else { panic!() };
    assert!(income.is_integer() && income.find(500_000.0).is_some());
    assert!(income.find(0.0) != income.find(1.0), "a spike has its own bin");
    let Some(Kind::Numeric(rate)) = &schema.column("RATE").unwrap().kind else { panic!() };
    assert!(!rate.is_integer() && rate.edges()[0] == 0.0);
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
    let schema = draft(&dictionary, &[&path]).unwrap();
    assert_eq!(read_csv(&path, &schema).unwrap().records(), 3);
    let names: Vec<&str> = schema.attributes().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["PINCP", "JWTR", "AGEP", "NEW", "RACNUM"]);
    let Some(Kind::Categorical { codes, labels, .. }) = &schema.column("JWTR").unwrap().kind else {
        panic!()
    };
    assert_eq!(codes, &["1", "2", "7"], "also the code that the rows do not show");
    assert_eq!(labels.as_ref().unwrap()[0], "Car, truck, or van");
}
