use super::PaidBins;
use crate::data::Dataset;
use crate::domain::{Kind, Schema};
use crate::privacy::NeighboringRelation::{AddRemoveOne, AddRemoveUnit, ReplaceOne};
use crate::privacy::{
    Budget, Curator, MarginalSensitivity, NoiseMechanism, NoiseSeed, RecordsPerUnit, Rho,
};

const RANGES: &str = r#"{"columns": [
    {"name": "sex", "kind": "categorical", "codes": ["f", "m"]},
    {"name": "hours", "kind": "numeric", "edges": [0, 100], "integer": true, "na": true},
    {"name": "rooms", "kind": "numeric", "edges": [1, 11], "integer": true},
    {"name": "pay", "kind": "numeric", "edges": [-1000, 100000], "integer": true, "outside": "clamp"},
    {"name": "share", "kind": "numeric", "edges": [0, 0.25, 1]}
]}"#;

fn schema() -> Schema {
    Schema::from_json(RANGES, "schema.json").unwrap()
}

/// Half of the people work 40 hours, a fifth have none; pay is 0 for a third and grows for the others.
fn coded(bins: &PaidBins, records: u32) -> Dataset {
    let hours = |i: u32| match i % 10 {
        0..=4 => 40,
        5 | 6 => 100, // missing
        _ => 10 + i % 61,
    };
    let pay = |i: u32| if i.is_multiple_of(3) { 1000 } else { 1000 + (i * 7919) % 60_000 };
    let rows: Vec<[u32; 3]> = (0..records).map(|i| [hours(i), i % 10, pay(i)]).collect();
    let table = Dataset::from_rows(bins.grid().unwrap().domain(), &rows).unwrap();
    table.recoded(&bins.recoding().unwrap()).unwrap()
}

fn edges(schema: &Schema, name: &str) -> Vec<f64> {
    let Some(Kind::Numeric(bins)) = &schema.column(name).unwrap().kind else { unreachable!() };
    bins.edges().to_vec()
}

#[test]
fn ranges_are_the_columns_with_one_bin() {
    let bins = PaidBins::of_ranges(&schema()).unwrap();
    assert_eq!(bins.names().collect::<Vec<_>>(), ["hours", "rooms", "pay"]);
    // 100 hours at once; 10 numbers of rooms need no measurement; 101,000 cells in five levels.
    assert_eq!(bins.measurements(), 1 + 5);
    for wrong in [&["sex"][..], &["hours", "hours"], &["none"], &[]] {
        assert!(PaidBins::new(&schema(), wrong).is_err(), "{wrong:?}");
    }
    let one = schema().select(&["sex"]).unwrap();
    assert!(PaidBins::of_ranges(&one).is_err());
}

#[test]
fn all_of_the_budget_is_spent_on_marginals_and_bins_follow_the_rows() {
    let bins = PaidBins::of_ranges(&schema()).unwrap();
    let data = coded(&bins, 20_000);
    let budget = Budget::approximate(1.0, 1e-9).unwrap();
    for relation in [ReplaceOne, AddRemoveOne, AddRemoveUnit(RecordsPerUnit::new(2).unwrap())] {
        let mut curator = budget.curator(&data, relation, NoiseSeed::Fixed(5)).unwrap();
        let found = bins.run(&mut curator).unwrap();
        let entries = curator.ledger().entries();
        assert_eq!(entries.len(), 6 + usize::from(relation != ReplaceOne));
        assert_eq!((curator.spent(), curator.remaining()), (budget.rho(), Rho::ZERO));
        let expected = MarginalSensitivity::of(relation).squared_l2();
        for entry in entries {
            let NoiseMechanism::DiscreteGaussian { squared_l2_sensitivity, .. } = entry.mechanism
            else {
                panic!("{entry:?}");
            };
            assert_eq!(squared_l2_sensitivity, expected);
        }
        let (hours, pay) = (edges(&found, "hours"), edges(&found, "pay"));
        assert!(hours.contains(&40.0) && hours.contains(&41.0), "{hours:?}");
        assert_eq!((hours[0], hours[hours.len() - 1]), (0.0, 100.0));
        assert!(pay.contains(&0.0) && pay.contains(&1.0), "{pay:?}");
        assert!(pay.len() > 12 && pay.iter().filter(|edge| **edge > 60_000.0).count() <= 3);
        assert_eq!(edges(&found, "rooms"), (1..=11).map(f64::from).collect::<Vec<_>>());
        assert_eq!(edges(&found, "share"), [0.0, 0.25, 1.0]);
        assert_eq!(found.column("sex"), schema().column("sex"));
        // Clamping, missing values and the order of columns stay.
        let missing = found.column("hours").unwrap().na_code().unwrap();
        assert_eq!(missing as usize, found.domain().cardinality(1) - 1);
        let read = Schema::from_json(&found.to_json().unwrap(), "found").unwrap();
        assert_eq!(read, found);
    }
}

#[test]
fn what_comes_out_depends_on_the_noisy_counts_alone() {
    // The same measurements, whatever the table: with equal noise, tables that differ by less than it shows.
    let bins = PaidBins::of_ranges(&schema()).unwrap();
    let run = |records: u32, seed: u64| {
        let data = coded(&bins, records);
        let mut curator =
            Curator::new(&data, AddRemoveOne, Rho::from_units(1 << 30), NoiseSeed::Fixed(seed))
                .unwrap();
        (bins.run(&mut curator).unwrap(), curator.ledger().entries().len())
    };
    let (first, entries) = run(500, 3);
    assert_eq!(first, run(500, 3).0);
    // No access depends on the rows: not their number, nor what was found before.
    for records in [0, 1, 20_000] {
        assert_eq!(run(records, 3).1, entries);
    }
}

#[test]
fn tables_of_another_form_are_refused() {
    let bins = PaidBins::of_ranges(&schema()).unwrap();
    let other = Dataset::from_rows(schema().domain(), &[[0, 0, 0, 0, 0]]).unwrap();
    assert!(other.recoded(&bins.recoding().unwrap()).is_err());
    let mut curator =
        Curator::new(&other, ReplaceOne, Rho::from_units(1 << 30), NoiseSeed::Fixed(1)).unwrap();
    assert!(bins.run(&mut curator).is_err() && curator.spent().is_zero());
}
