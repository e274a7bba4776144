//! Tests of the documented properties of the invented table.

use super::*;
use crate::data::{AbsentColumns, Labels, Projectable, read_csv_from, write_csv};
use crate::domain::Clique;

fn table(drift: f64) -> Dataset {
    Generator { records: 20_000, seed: 7, drift }.generate().unwrap()
}

/// Code of a value of a column, by its label or a number in its bin; the missing code for "NA".
fn value(name: &str, text: &str) -> u32 {
    let schema = schema().unwrap();
    let column = schema.column(name).unwrap();
    if text == "NA" {
        return column.na_code().unwrap();
    }
    match column.kind.as_ref().unwrap() {
        Kind::Numeric(bins) => bins.find(text.parse().unwrap()).unwrap(),
        Kind::Categorical { labels, .. } => {
            let position = labels.as_ref().unwrap().iter().position(|l| l == text);
            u32::try_from(position.unwrap()).unwrap()
        }
        Kind::Coded { .. } | Kind::Date(_) => panic!("no such column"),
    }
}

/// Records in which every named column has a code that passes, as a share of `given`.
fn share(table: &Dataset, given: impl Fn(&dyn Fn(&str) -> u32) -> bool, of: (&str, u32)) -> f64 {
    let column = |name: &str| table.column(table.domain().position(name).unwrap()).unwrap();
    let (mut all, mut hits) = (0.0, 0.0);
    for record in 0..table.records() {
        let code = |name: &str| column(name).get(record).unwrap();
        if given(&code) {
            all += 1.0;
            hits += f64::from(u8::from(code(of.0) == of.1));
        }
    }
    assert!(all > 50.0, "too few records to tell");
    hits / all
}

/// Mean of a column's codes among the records that pass.
fn mean(table: &Dataset, given: impl Fn(&dyn Fn(&str) -> u32) -> bool, name: &str) -> f64 {
    let cardinality = table.domain().cardinality(table.domain().position(name).unwrap());
    (0..u32::try_from(cardinality).unwrap())
        .map(|code| f64::from(code) * share(table, &given, (name, code)))
        .sum()
}

#[test]
fn the_schema_is_valid_and_names_its_columns_in_the_order_of_a_record() {
    let schema = schema().unwrap();
    assert_eq!(schema.domain().len(), 16);
    assert_eq!(schema.columns().len(), 16);
}

#[test]
fn the_same_seed_gives_the_same_table_and_drift_has_a_range() {
    let small = Generator { records: 500, seed: 3, drift: 0.2 };
    assert_eq!(small.generate().unwrap(), small.generate().unwrap());
    assert_ne!(small.generate().unwrap(), Generator { seed: 4, ..small }.generate().unwrap());
    for drift in [-0.1, 1.1, f64::NAN] {
        assert!(Generator { drift, ..small }.generate().is_err());
    }
    assert_eq!(Generator { records: 0, ..small }.generate().unwrap().records(), 0);
}

#[test]
fn children_neither_work_nor_earn_nor_marry() {
    let table = table(0.0);
    let below = |age: u32| move |code: &dyn Fn(&str) -> u32| code("AGEP") < age;
    let (three, fifteen, sixteen) = (value("AGEP", "3"), value("AGEP", "15"), value("AGEP", "16"));
    for (age, name, answer) in [
        (three, "SCH", "NA"),
        (three, "SCHL", "NA"),
        (fifteen, "PINCP", "NA"),
        (fifteen, "MAR", "Never married"),
        (sixteen, "ESR", "NA"),
        (sixteen, "COW", "NA"),
        (sixteen, "WKHP", "NA"),
    ] {
        let all = share(&table, below(age), (name, value(name, answer)));
        assert_eq!(all.to_string(), "1", "{name}");
    }
    let grown = (value("AGEP", "30"), value("AGEP", "50"));
    let works = share(
        &table,
        |c| (grown.0..grown.1).contains(&c("AGEP")),
        ("ESR", value("ESR", "Employed")),
    );
    assert!((0.7..0.95).contains(&works), "{works}");
    // Only those who work are asked for hours.
    let idle = value("ESR", "Not in labor force");
    let hours = share(&table, |c| c("ESR") == idle, ("WKHP", value("WKHP", "NA")));
    assert_eq!(hours.to_string(), "1");
}

#[test]
fn one_answer_follows_from_others() {
    let table = table(0.5);
    let (yes, no) = (value("HICOV", "Yes"), value("HICOV", "No"));
    let insured = |c: &dyn Fn(&str) -> u32| c("PRIVCOV") == yes || c("PUBCOV") == yes;
    assert_eq!(share(&table, insured, ("HICOV", yes)).to_string(), "1");
    assert_eq!(share(&table, |c| !insured(c), ("HICOV", no)).to_string(), "1");
    // In a couple's household there are the couple and their children, and others who never married.
    let (couple, adult) = (value("HHT", "Married couple"), value("AGEP", "25"));
    let married = value("MAR", "Married");
    let given = |c: &dyn Fn(&str) -> u32| c("HHT") == couple && c("AGEP") >= adult;
    assert!(share(&table, given, ("MAR", married)) > 0.7);
    // Only people in group quarters have neither a household nor tenure.
    let none = value("HHT", "NA");
    assert_eq!(share(&table, |c| c("HHT") == none, ("TEN", value("TEN", "NA"))).to_string(), "1");
    assert_eq!(share(&table, |c| c("HHT") != none, ("TEN", value("TEN", "NA"))).to_string(), "0");
}

#[test]
fn income_rises_with_education_and_hours() {
    let table = table(0.0);
    let employed = value("ESR", "Employed");
    let by_education: Vec<f64> =
        ["High school diploma", "Bachelor's degree", "Doctorate or professional degree"]
            .map(|level| value("SCHL", level))
            .map(|level| mean(&table, |c| c("ESR") == employed && c("SCHL") == level, "PINCP"))
            .to_vec();
    assert!(by_education.windows(2).all(|w| w[0] + 0.5 < w[1]), "{by_education:?}");
    let grown = value("AGEP", "25");
    let by_hours: Vec<f64> = [(0, 2), (4, 5), (6, 8)]
        .iter()
        .map(|(from, to)| {
            let given = |c: &dyn Fn(&str) -> u32| {
                c("ESR") == employed && c("AGEP") >= grown && (*from..*to).contains(&c("WKHP"))
            };
            mean(&table, given, "PINCP")
        })
        .collect();
    assert!(by_hours.windows(2).all(|w| w[0] + 0.5 < w[1]), "{by_hours:?}");
    let (negative, zero) = (value("PINCP", "-1"), value("PINCP", "0"));
    let twenty = value("AGEP", "20");
    let adult = |c: &dyn Fn(&str) -> u32| c("AGEP") >= twenty;
    let negative = share(&table, adult, ("PINCP", negative));
    assert!(negative > 0.0 && negative < 0.01, "{negative}");
    let zero = share(&table, adult, ("PINCP", zero));
    assert!((0.02..0.3).contains(&zero), "{zero}");
}

#[test]
fn drift_moves_one_way_marginals_away_step_by_step() {
    let here = table(0.0);
    let names = ["RAC", "TEN", "SCHL", "PINCP", "NATIVITY"];
    let distances = |drift: f64| -> Vec<f64> {
        let there = Generator { records: 20_000, seed: 8, drift }.generate().unwrap();
        let distance = |name: &&str| {
            let clique = Clique::new([here.domain().position(name).unwrap()]);
            let (a, b) = (here.project(&clique).unwrap(), there.project(&clique).unwrap());
            let moved = a.iter().zip(&b).map(|(a, b)| a.abs_diff(*b)).sum::<u32>();
            f64::from(moved) / (2.0 * 20_000.0)
        };
        names.iter().map(distance).collect()
    };
    let steps = [distances(0.0), distances(0.3), distances(0.6), distances(1.0)];
    for pair in steps.windows(2) {
        for ((near, far), name) in pair[0].iter().zip(&pair[1]).zip(names) {
            assert!(near < far, "{name}: {steps:?}");
        }
    }
    assert!(steps[0].iter().all(|distance| *distance < 0.03), "{:?}", steps[0]);
    assert!(steps[3].iter().all(|distance| *distance > 0.04), "{:?}", steps[3]);
}

#[test]
fn the_table_is_written_as_raw_text_and_reads_back() {
    let schema = schema().unwrap();
    let table = Generator { records: 300, seed: 5, drift: 0.5 }.generate().unwrap();
    let mut text = Vec::new();
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    write_csv(&mut text, &table, &schema, Labels::Codes, &mut rng).unwrap();
    let again = read_csv_from(&text[..], "t", &schema, AbsentColumns::Refuse).unwrap();
    assert_eq!(again, table);
}
