use crate::data::Projectable;
use crate::domain::{Clique, Domain};

use super::*;

/// 40 records over attributes of 5, 3 and 2 values.
fn table() -> Dataset {
    let domain = Domain::new([("a", 5), ("b", 3), ("c", 2)]).unwrap();
    let rows: Vec<[u32; 3]> = (0..40).map(|i| [i % 5, i * i % 3, u32::from(i > 9)]).collect();
    Dataset::from_rows(domain, &rows).unwrap()
}

fn spoiled(json: &str) -> Dataset {
    serde_json::from_str::<Spoil>(json).unwrap().apply(&table()).unwrap()
}

fn rows(table: &Dataset) -> Vec<Vec<u32>> {
    (0..table.records()).map(|record| table.row(record)).collect()
}

#[test]
fn reversed_codes_count_from_the_last() {
    let mirrored = |row: Vec<u32>| vec![4 - row[0], 2 - row[1], 1 - row[2]];
    let expected: Vec<Vec<u32>> = rows(&table()).into_iter().map(mirrored).collect();
    assert_eq!(rows(&spoiled("\"reversed-codes\"")), expected);
}

#[test]
fn shuffled_columns_keep_one_way_marginals_and_lose_the_others() {
    let (before, after) = (table(), spoiled("\"shuffled-columns\""));
    for attribute in 0..3 {
        let one = Clique::new([attribute]);
        assert_eq!(before.project(&one).unwrap(), after.project(&one).unwrap());
    }
    let pair = Clique::new([0, 1]);
    assert_ne!(before.project(&pair).unwrap(), after.project(&pair).unwrap());
    assert_eq!(after, spoiled("\"shuffled-columns\""), "the generator is fixed");
}

#[test]
fn a_column_is_shuffled_alike_whatever_the_other_columns() {
    let narrow = table().select(&[2, 1]).unwrap();
    let narrow = Spoil::Codes(Codes::Shuffled).apply(&narrow).unwrap();
    assert_eq!(narrow, spoiled("\"shuffled-columns\"").select(&[2, 1]).unwrap());
}

#[test]
fn swapped_columns_exchange_codes_in_proportion() {
    let exchanged = |row: Vec<u32>| vec![row[1] * 5 / 3, row[0] * 3 / 5, row[2]];
    let expected: Vec<Vec<u32>> = rows(&table()).into_iter().map(exchanged).collect();
    assert_eq!(rows(&spoiled(r#"{"swapped": ["a", "b"]}"#)), expected);
    assert_eq!(rows(&spoiled(r#"{"swapped": ["b", "a"]}"#)), expected);
    let spoil = Spoil::Swapped { swapped: ["a".into(), "z".into()] };
    assert!(spoil.apply(&table()).is_err());
}

#[test]
fn records_are_drawn_without_replacement_and_fewer_are_among_more() {
    let domain = Domain::new([("number", 100)]).unwrap();
    let numbered: Vec<[u32; 1]> = (0..100).map(|i| [i]).collect();
    let numbered = Dataset::from_rows(domain, &numbered).unwrap();
    let drawn = |records| rows(&Spoil::Records { records }.apply(&numbered).unwrap());
    let (one, thirty) = (drawn(1), drawn(30));
    assert_eq!((one.len(), thirty.len()), (1, 30));
    assert!(thirty.contains(&one[0]));
    assert!(thirty.is_sorted_by(|before, after| before < after), "no record twice, in their order");
    assert_ne!(thirty, drawn(100)[..30]);
    assert_eq!(drawn(101), rows(&numbered), "a table with fewer records stays as it is");
}

#[test]
fn a_constant_table_has_code_zero_everywhere() {
    assert_eq!(rows(&spoiled("\"constant\"")), vec![vec![0, 0, 0]; 40]);
}

#[test]
fn scaled_codes_stay_below_the_new_number_of_values() {
    for (old, new) in [(1, 7), (7, 1), (3, 5), (5, 3), (u32::MAX, 2), (u32::MAX, u32::MAX)] {
        assert_eq!(scaled(0, old, new), 0);
        let last = scaled(old - 1, old, new);
        assert!(last < new && (old < new || last == new - 1), "{old} {new}: {last}");
    }
}

#[test]
fn every_form_is_written_as_it_is_read() {
    for json in [
        "\"reversed-codes\"",
        "\"shuffled-columns\"",
        "\"constant\"",
        r#"{"swapped":["a","b"]}"#,
        r#"{"records":30}"#,
    ] {
        let spoil: Spoil = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&spoil).unwrap(), json);
    }
}
