#![expect(clippy::float_cmp, reason = "whole numbers, which are exact")]

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use super::*;
use crate::model::{Refinement, WeightedSupport};
use crate::table::Totals;

const SCHEMA: &str = r#"{"columns": [
    {"name": "tenure", "kind": "categorical", "codes": ["own", "rent"]},
    {"name": "w", "kind": "numeric", "edges": [0, 20, 100], "integer": false, "draw": [[10, 1], [40, 1]]},
    {"name": "age", "kind": "categorical", "codes": ["young", "old", "oldest"]}]}"#;

/// 900 owners and 100 renters, of whom more have the large weight.
fn sample(schema: &Schema) -> Model {
    let row = |i: u32| {
        let tenure = u32::from(i >= 900);
        [tenure, u32::from(i % 10 < 2 + 3 * tenure), i % 7 % 3]
    };
    let rows: Vec<[u32; 3]> = (0..1000).map(row).collect();
    let rows = Dataset::from_rows(schema.domain(), &rows).unwrap();
    WeightedSupport::new(&rows, vec![1.0; 1000], 1000.0).unwrap().into()
}

fn released(emission: Emission, ages: Option<[f64; 3]>, records: usize) -> (Released, f64) {
    let schema = Schema::from_json(SCHEMA, "schema").unwrap();
    let totals = ages.map(|ages| (Clique::new([2]), ages.to_vec()));
    let totals = totals.map(|table| Totals::new(&schema.domain(), [table]).unwrap());
    let population = Population { weight: Some(Weight::of(&schema, "w").unwrap()), totals };
    let sample = sample(&schema);
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let model = population.of(&sample, &[Clique::new([0, 1])], &mut rng).unwrap();
    let draw = Draw {
        records,
        drawing: Drawing::Refined,
        refinement: &Refinement::default(),
        schema: &schema,
    };
    let found = population.rows((&sample, &model), emission, draw, &mut rng).unwrap();
    (found, model.total())
}

/// The share of renters, by the weights if there are any.
fn renters(found: &Released) -> f64 {
    let weights = weights(found);
    let tenures = found.rows.cells(&Clique::new([0])).unwrap();
    let sum: f64 = tenures.iter().zip(&weights).map(|(tenure, w)| f64::from(*tenure) * w).sum();
    sum / weights.iter().sum::<f64>()
}

fn weights(found: &Released) -> Vec<f64> {
    let Some(column) = found.schema.domain().position("w") else {
        return vec![1.0; found.rows.records()];
    };
    let Weight { means, .. } = Weight::of(&found.schema, "w").unwrap();
    let codes = found.rows.cells(&Clique::new([column])).unwrap();
    codes.into_iter().map(|code| means[code as usize]).collect()
}

/// 100 · 25 of 900 · 16 + 100 · 25 people rent.
const RENT: f64 = 2500.0 / 16_900.0;

#[test]
fn members_have_no_weight_and_the_shares_of_the_population() {
    let (found, total) = released(Emission::Population, None, 2000);
    assert_eq!((found.rows.records(), found.schema.domain().position("w")), (2000, None));
    assert!((renters(&found) - RENT).abs() < 2e-3, "{}", renters(&found));
    assert!((total - 16_900.0).abs() < 1.0);
}

#[test]
fn weighted_records_stand_for_the_population() {
    let (found, total) = released(Emission::Weighted, None, 1000);
    assert!((renters(&found) - RENT).abs() < 2e-3, "{}", renters(&found));
    assert!((weights(&found).iter().sum::<f64>() / total - 1.0).abs() < 1e-6);
}

#[test]
fn totals_hold_in_both() {
    let ages = [6000.0, 5000.0, 1000.0];
    for (emission, records) in [(Emission::Population, 12_000), (Emission::Weighted, 700)] {
        let (found, total) = released(emission, Some(ages), records);
        assert_eq!(total, 12_000.0);
        assert!(found.largest_difference.unwrap() < 1e-4, "{emission:?} {found:?}");
        let column = found.schema.domain().position("age").unwrap();
        let codes = found.rows.cells(&Clique::new([column])).unwrap();
        let mut sums = [0.0; 3];
        for (code, weight) in codes.iter().zip(weights(&found)) {
            sums[*code as usize] += weight;
        }
        for (sum, age) in sums.iter().zip(ages) {
            assert!((sum - age).abs() < 1e-3, "{emission:?} {sums:?}");
        }
    }
}
