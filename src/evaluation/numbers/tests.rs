use proptest::prelude::*;

use super::*;
use crate::data::{Dataset, WholeTable};

const SCHEMA: &str = r#"{"na_token": "NA", "columns": [
    {"name": "sex", "role": "attribute", "kind": "categorical", "na": false, "codes": ["f", "m"],
     "labels": ["female", "male"]},
    {"name": "rooms", "role": "attribute", "kind": "numeric", "na": true, "edges": [0, 1, 2, 10], "integer": true},
    {"name": "pay", "role": "attribute", "kind": "numeric", "na": false, "edges": [0, 100], "integer": false}
]}"#;

fn both(schema: &Schema, text: &str) -> (NumericColumns, Dataset) {
    let table = WholeTable::read_from(text.as_bytes(), "t.csv", schema, None).unwrap();
    (table.numbers.unwrap(), table.records)
}

fn close(found: Option<f64>, expected: f64) {
    assert!((found.unwrap() - expected).abs() < 1e-12, "{found:?}, expected {expected}");
}

#[test]
fn columns_are_compared_by_hand() {
    let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
    let (real, _) = both(&schema, "sex,rooms,pay\nf,1,10\nf,3,20\nm,5,30\nm,NA,40\n");
    let (fake, _) = both(&schema, "sex,rooms,pay\nf,1,10\nm,9,25\n");
    let found = NumberComparison::between(&real, &fake).unwrap();
    let [rooms, pay] = &found.columns[..] else { panic!("two numeric columns") };
    let summary = rooms.real.unwrap();
    assert_eq!((summary.count, summary.mean, summary.median, summary.p95), (3, 3.0, 3.0, 5.0));
    close(Some(summary.spread), (8.0_f64 / 3.0).sqrt());
    assert_eq!((rooms.real_missing, rooms.synthetic_missing), (0.25, 0.0));
    close(rooms.mean_difference, 2.0 / summary.spread);
    // On thirds and halves: |1-1|/3 + |3-1|/6 + |3-9|/6 + |5-9|/3.
    close(rooms.wasserstein, (2.0 / 6.0 + 6.0 / 6.0 + 4.0 / 3.0) / summary.spread);
    close(Some(rooms.outside), 0.5);
    assert!(pay.outside.is_sign_positive() && pay.outside < 1e-9, "none is beyond the real ones");
    // 3 and 5 share the bin from 2 to 9, of which the real range keeps 2 to 5: up by 2, down by 1 + 3.
    close(rooms.unseen, 4.0 / 3.0 / summary.spread);
    // One bin, cut to the real range 10 to 40: 15 on average, up or down.
    close(pay.unseen, 15.0 / pay.real.unwrap().spread);
    assert!(found.pearson.unwrap().worst == ["rooms".to_owned(), "pay".to_owned()]);
}

#[test]
fn groups_are_compared_by_their_own_records() {
    let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
    let real = both(&schema, "sex,rooms,pay\nf,1,10\nf,3,20\nm,5,30\nm,NA,40\n");
    let fake = both(&schema, "sex,rooms,pay\nf,1,10\nf,9,25\n");
    let whole = NumberComparison::between(&real.0, &fake.0).unwrap();
    let spread = whole.columns[1].real.unwrap().spread;
    let sex = Clique::new([0]);
    let found =
        whole.by(&sex, &schema, [&real.0, &fake.0], [(&real.1).into(), (&fake.1).into()]).unwrap();
    assert_eq!(found.groups[0].values, ["f (female)"]);
    assert_eq!((found.groups[0].real_records, found.groups[0].synthetic_records), (2, 2));
    close(found.groups[0].columns[1].mean_difference, 2.5 / spread);
    assert_eq!(found.groups[1].synthetic_records, 0);
    assert_eq!(found.groups[1].columns[1].wasserstein, None);
}

#[test]
fn without_a_spread_or_a_number_there_is_no_distance() {
    let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
    let (real, _) = both(&schema, "sex,rooms,pay\nf,NA,10\nf,NA,10\n");
    let found = NumberComparison::between(&real, &real).unwrap();
    assert_eq!((found.columns[0].real, found.columns[0].wasserstein), (None, None));
    assert_eq!(found.columns[1].wasserstein, None, "a constant column");
    assert!(found.pearson.is_none());
}

#[test]
fn what_is_no_number_is_refused_with_its_place() {
    let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
    let read = |text: &str| WholeTable::read_from(text.as_bytes(), "t.csv", &schema, None);
    let message = read("sex,rooms,pay\nf,1,10\nf,x,10\n").unwrap_err().to_string();
    assert!(message.contains("t.csv, line 3, column 'rooms': found 'x'"), "{message}");
    assert!(read("sex,rooms\nf,1\n").unwrap_err().to_string().contains("without 'pay'"));
}

proptest! {
    /// The distance is the area between the distribution functions.
    #[test]
    fn the_distance_is_the_area_between_the_distributions(
        a in prop::collection::vec(0_u32..20, 1..12),
        b in prop::collection::vec(0_u32..20, 1..12),
    ) {
        let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
        let table = |pays: &[u32]| {
            let rows: Vec<String> = pays.iter().map(|pay| format!("f,1,{pay}")).collect();
            both(&schema, &format!("sex,rooms,pay\n{}\n", rows.join("\n"))).0
        };
        let found = &NumberComparison::between(&table(&a), &table(&b)).unwrap().columns[1];
        let below = |pays: &[u32], x: u32| {
            pays.iter().filter(|pay| **pay <= x).count() as f64 / pays.len() as f64
        };
        let area: f64 = (0..20).map(|x| (below(&a, x) - below(&b, x)).abs()).sum();
        match found.wasserstein {
            Some(distance) => prop_assert!((distance * found.real.unwrap().spread - area).abs() < 1e-9),
            None => prop_assert!(found.real.unwrap().spread == 0.0),
        }
    }
}
