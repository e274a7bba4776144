use super::{Compression, candidates, measure};
use crate::data::{AbsentColumns, Dataset, PublicData, read_csv_from};
use crate::domain::{Clique, Domain, Kind, Schema};
use crate::privacy::{Curator, NeighboringRelation, NoiseSeed, NoisyMarginal, Ratio, Rho};

/// Noise of standard deviation 10: counts below 30 are rare.
fn noisy(attribute: usize, values: Vec<i64>) -> NoisyMarginal {
    NoisyMarginal {
        clique: Clique::new([attribute]),
        values,
        variance: Ratio::new(100, 1).unwrap(),
    }
}

fn schema(columns: &str) -> Schema {
    Schema::from_json(&format!(r#"{{"columns": [{columns}]}}"#), "schema.json").unwrap()
}

fn codes(schema: &Schema, name: &str) -> Vec<String> {
    let column = schema.column(name).unwrap();
    (0..column.cardinality()).map(|code| column.value_name(code)).collect()
}

#[test]
fn rare_categories_are_one_group_and_come_back_as_themselves() {
    let from = schema(
        r#"{"name": "job", "kind": "categorical", "codes": ["a", "b", "c", "d", "e", "x"], "other": "x", "na": true,
            "labels": ["A", "B", "C", "D", "E", "X"]}"#,
    );
    let noisy = [noisy(0, vec![500, 12, 29, 30, -4, 3, 2])];
    let found = Compression::new(&from, &noisy, &[]).unwrap();
    let named = ["a (A)", "d (D)", "x (X)", "rare (3 rare values)", "missing"];
    assert_eq!(codes(found.schema(), "job"), named);
    assert_eq!(found.recoding().attributes(), 1);
    // Old codes: a b c d e x missing.
    let table = Dataset::from_rows(from.domain(), &[[0], [1], [2], [3], [4], [5], [6]]).unwrap();
    let recoded = table.recoded(found.recoding()).unwrap();
    let now: Vec<u32> = recoded.columns()[0].iter().collect();
    assert_eq!(now, [0, 3, 3, 1, 3, 2, 4]);
    // Reading the texts under the new schema gives the same codes.
    let text = "job\na\nb\nc\nd\ne\nwhat\n\"\"\n";
    let read = read_csv_from(text.as_bytes(), "t", found.schema(), AbsentColumns::Refuse).unwrap();
    assert_eq!(read, recoded);
    let again = Schema::from_json(&found.schema().to_json().unwrap(), "again").unwrap();
    assert_eq!(again, *found.schema());
}

#[test]
fn whole_numbers_between_edges_of_one_half_stay_in_their_bin() {
    let from = schema(
        r#"{"name": "age", "kind": "numeric", "edges": [0.5, 20.5, 40.5, 41.5, 43.5], "integer": true}"#,
    );
    let found = Compression::new(&from, &[noisy(0, vec![900, 8, 8, 8])], &[]).unwrap();
    let Some(Kind::Numeric(bins)) = &found.schema().column("age").unwrap().kind else { panic!() };
    assert_eq!(bins.edges(), [0.5, 20.5, 43.5]);
    let pieces = bins.pieces_of(1).iter().map(|piece| (piece.from, piece.below));
    // 21 to 40, 41, 42 to 43.
    assert_eq!(
        pieces.collect::<Vec<_>>(),
        [(21.0, 40.0), (40.0, 40.0), (41.0, 41.0), (42.0, 42.0), (43.0, 43.0)]
    );
}

#[test]
fn an_open_ended_bin_beside_merged_ones_is_cut_as_before() {
    let from = schema(
        r#"{"name": "pay", "kind": "numeric", "edges": [0, 5000, 10000, 15000, 20000, 10000000], "integer": true}"#,
    );
    let found = Compression::new(&from, &[noisy(0, vec![900, 8, 8, 8, 900])], &[]).unwrap();
    let Some(Kind::Numeric(bins)) = &found.schema().column("pay").unwrap().kind else { panic!() };
    assert_eq!(bins.edges(), [0.0, 5000.0, 20_000.0, 10_000_000.0]);
    let pieces = bins.pieces_of(2).iter().map(|piece| (piece.from, piece.below));
    assert_eq!(pieces.collect::<Vec<_>>(), [(20_000.0, 25_000.0)]);
}

#[test]
fn a_single_rare_value_stays_alone() {
    let from = schema(r#"{"name": "job", "kind": "categorical", "codes": ["a", "b", "c"]}"#);
    let found = Compression::new(&from, &[noisy(0, vec![500, 12, 40])], &[]).unwrap();
    assert_eq!((found.schema(), found.recoding().attributes()), (&from, 0));
    let table = Dataset::from_rows(from.domain(), &[[0], [1], [2]]).unwrap();
    assert_eq!(table.recoded(found.recoding()).unwrap(), table);
}

#[test]
fn runs_of_rare_bins_are_one_bin_whose_values_keep_their_places() {
    let from = schema(
        r#"{"name": "pay", "kind": "numeric", "edges": [0, 1, 10, 20, 40, 80], "integer": true, "na": true,
            "draw": [[12, 3], [15, 1]]}"#,
    );
    let noisy = [noisy(0, vec![900, 8, 8, 8, 50, 0])];
    let found = Compression::new(&from, &noisy, &[]).unwrap();
    let Some(Kind::Numeric(bins)) = &found.schema().column("pay").unwrap().kind else { panic!() };
    assert_eq!(bins.edges(), [0.0, 1.0, 40.0, 80.0]);
    // 24 records in three bins, evenly: the noise explains all of the differences.
    let pieces = bins.pieces_of(1).iter().map(|piece| (piece.from, piece.below, piece.rows));
    assert_eq!(
        pieces.collect::<Vec<_>>(),
        [(1.0, 10.0, 8), (12.0, 12.0, 6), (15.0, 15.0, 2), (20.0, 40.0, 8)]
    );
    let table = Dataset::from_rows(from.domain(), &[[0], [1], [2], [3], [4], [5]]).unwrap();
    let recoded: Vec<u32> = table.recoded(found.recoding()).unwrap().columns()[0].iter().collect();
    assert_eq!(recoded, [0, 1, 1, 1, 2, 3]);
}

#[test]
fn rare_values_are_spread_like_the_public_rows_unless_the_counts_say_otherwise() {
    let from = schema(r#"{"name": "job", "kind": "coded", "size": 6}"#);
    let domain = from.domain();
    let rows: Vec<[u32; 1]> = (0..99).map(|i| [if i < 80 { 1 } else { 2 }]).collect();
    let public = PublicData::new("p", Dataset::from_rows(domain.clone(), &rows).unwrap(), &domain);
    let rows_of = |values: Vec<i64>| {
        let public = std::slice::from_ref(public.as_ref().unwrap());
        let found = Compression::new(&from, &[noisy(0, values)], public).unwrap();
        let Some(Kind::Categorical { groups, .. }) = &found.schema().column("job").unwrap().kind
        else {
            panic!()
        };
        groups[0].values.iter().map(|value| value.rows).collect::<Vec<_>>()
    };
    // Rare: 1 to 5, expected in the proportions 80.5 : 19.5 : .5 : .5 : .5, a total of 36.
    assert_eq!(rows_of(vec![500, 28, 8, 1, 0, -1]), [29, 7, 1, 1, 1]);
    // 29 in each of the values without public rows: beyond noise.
    let far = rows_of(vec![500, -20, -10, 29, 29, 29]);
    assert!(far[2..].iter().all(|rows| *rows > 10) && far[0] < 20, "{far:?}");
}

#[test]
fn attributes_of_rules_and_of_few_values_stay_as_they_are() {
    let text = r#"{"columns": [
        {"name": "a", "kind": "coded", "size": 40}, {"name": "b", "kind": "coded", "size": 3},
        {"name": "c", "kind": "coded", "size": 50}], "forbidden": [{"a": 1, "b": 2}]}"#;
    let schema = Schema::from_json(text, "s").unwrap();
    assert_eq!(candidates(&schema), [2]);
    let table = Dataset::from_rows(schema.domain(), &[[0, 0, 0]]).unwrap();
    let mut curator = Curator::new(
        &table,
        NeighboringRelation::AddRemoveOne,
        Rho::from_units(1 << 40),
        NoiseSeed::Fixed(1),
    )
    .unwrap();
    let noisy = measure(&mut curator, &[2], Rho::from_units(1 << 30)).unwrap();
    assert_eq!((noisy[0].values.len(), curator.spent()), (50, Rho::from_units(1 << 30)));
    let found = Compression::new(&schema, &noisy, &[]).unwrap();
    assert_eq!(found.schema().domain().structural_zeros(), schema.domain().structural_zeros());
}

#[test]
fn tables_that_lack_attributes_are_recoded_too() {
    let schema = Schema::from_json(r#"{"a": 2, "b": 3}"#, "s").unwrap();
    let found = Compression::new(&schema, &[noisy(1, vec![99, 1, 2])], &[]).unwrap();
    let b = Dataset::from_rows(Domain::new([("b", 3)]).unwrap(), &[[2], [0]]).unwrap();
    let recoded = b.recoded(found.recoding()).unwrap();
    assert_eq!((recoded.row(0), recoded.domain().cardinality(0)), (vec![1], 2));
    let a = Dataset::from_rows(Domain::new([("a", 2)]).unwrap(), &[[1]]).unwrap();
    assert_eq!(a.recoded(found.recoding()).unwrap(), a);
}
