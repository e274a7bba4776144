use rand::SeedableRng;

use super::*;
use crate::domain::Who;

fn schema(na: bool) -> Schema {
    let text = format!(
        r#"{{"na_token": "-7", "columns": [
            {{"name": "age", "kind": "numeric", "edges": [0, 20, 40, 60], "integer": true, "na": {na}}},
            {{"name": "role", "kind": "categorical", "codes": ["parent", "child"]}}
        ]}}"#
    );
    Schema::from_json(&text, "schema.json").unwrap()
}

fn child_at_least_15_younger() -> MemberCombination {
    MemberCombination {
        who: Who::FirstAndLater,
        codes: vec![Vec::new(), vec![("role".to_owned(), vec![1])]],
        differences: vec![Difference::new("age", f64::NEG_INFINITY, 15.0)],
    }
}

#[test]
fn numbers_in_bins_that_may_be_too_near_are_drawn_apart() {
    let schema = schema(false);
    // A parent of 20 to 39 with a child of 0 to 19, another adult of that age, and a child alone.
    let rows: Vec<[u32; 2]> = (0..500).flat_map(|_| [[1, 0], [0, 1], [1, 0], [0, 1]]).collect();
    let numbers: Vec<u32> =
        (0..500).flat_map(|home| [2 * home, 2 * home, 2 * home, 2 * home + 1]).collect();
    let rows = Dataset::from_rows(schema.domain(), &rows).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let rules = [child_at_least_15_younger()];
    let drawn = drawn((&rows, &numbers), &rules, &schema, &mut rng).unwrap();
    assert_eq!((drawn.len(), drawn[0].attribute), (1, 0));
    let ages: Vec<f64> = drawn[0].values.iter().copied().flatten().collect();
    assert_eq!(ages.len(), 2000);
    for home in ages.chunks(4) {
        assert!(home[0] - home[1] >= 15.0, "{home:?}");
        assert!((20.0..40.0).contains(&home[0]) && (0.0..20.0).contains(&home[1]));
    }
    // The others are as they would be.
    let mean = |at: usize| ages.iter().skip(at).step_by(4).sum::<f64>() / 500.0;
    assert!((mean(2) - 29.5).abs() < 1.5 && (mean(3) - 9.5).abs() < 1.5);
    assert!(mean(0) > 30.2 && mean(1) < 8.8, "conditional on the rule");
}

#[test]
fn a_missing_number_breaks_no_rule_also_where_its_mark_is_a_number() {
    let schema = schema(true);
    let rows = Dataset::from_rows(schema.domain(), &[[3, 0], [2, 1], [1, 0], [3, 1]]).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let rules = [child_at_least_15_younger()];
    let drawn = drawn((&rows, &[0, 0, 1, 1]), &rules, &schema, &mut rng).unwrap();
    let found: Vec<bool> = drawn[0].values.iter().map(Option::is_some).collect();
    assert_eq!(found, [false, true, true, false]);
}

#[test]
fn rules_without_differences_or_on_other_columns_draw_nothing() {
    let schema = schema(false);
    let rows = Dataset::from_rows(schema.domain(), &[[0, 0]]).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let mut rule = child_at_least_15_younger();
    rule.codes[1][0].0 = "other".to_owned();
    assert!(drawn((&rows, &[0]), &[rule.clone()], &schema, &mut rng).unwrap().is_empty());
    rule.codes[1].clear();
    rule.differences.clear();
    assert!(drawn((&rows, &[0]), &[rule], &schema, &mut rng).unwrap().is_empty());
}

/// A rule that no two numbers of the bins keep ends, with numbers in their bins.
#[test]
fn what_cannot_be_kept_ends() {
    let schema = schema(false);
    let rows = Dataset::from_rows(schema.domain(), &[[0, 0], [0, 1]]).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let mut rule = child_at_least_15_younger();
    rule.differences = vec![Difference::new("age", f64::NEG_INFINITY, 50.0)];
    let drawn = drawn((&rows, &[0, 0]), &[rule], &schema, &mut rng).unwrap();
    assert!(drawn[0].values.iter().flatten().all(|age| (0.0..20.0).contains(age)));
}
