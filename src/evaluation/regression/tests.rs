use super::*;
use crate::data::WholeTable;

const SCHEMA: &str = r#"{"na_token": "NA", "columns": [
    {"name": "y", "role": "attribute", "kind": "numeric", "na": true, "edges": [-1000, 1000], "integer": false},
    {"name": "x", "role": "attribute", "kind": "numeric", "na": true, "edges": [0, 1000000], "integer": false},
    {"name": "z", "role": "attribute", "kind": "numeric", "na": false, "edges": [0, 1000000], "integer": false},
    {"name": "g", "role": "attribute", "kind": "categorical", "na": false, "codes": ["a", "b", "c"]}
]}"#;

fn schema() -> Schema {
    Schema::from_json(SCHEMA, "schema.json").unwrap()
}

fn both(rows: &str) -> (NumericColumns, Dataset) {
    let (schema, text) = (schema(), format!("y,x,z,g\n{rows}"));
    let table = WholeTable::read_from(text.as_bytes(), "t.csv", &schema, None).unwrap();
    (table.numbers.unwrap(), table.records)
}

fn compare(formula: &str, real: &str, synthetic: &str) -> RegressionComparison {
    let (real, synthetic) = (both(real), both(synthetic));
    let regression = Regression::parse(formula, &schema()).unwrap();
    regression.compare(&schema(), [&real.0, &synthetic.0], [&real.1, &synthetic.1]).unwrap()
}

/// Points (0, 0), (1, 1), (2, 1), (3, 3): slope 0.9, intercept -0.1, residual sum of squares 0.7 with 2 degrees of
/// freedom, so the standard errors are √(0.35/5) and √(0.35 (1/4 + 1.5²/5)).
#[test]
fn coefficients_and_intervals_are_those_computed_by_hand() {
    let rows = "0,0,0,a\n1,1,0,a\n1,2,0,a\n3,3,0,a\nNA,9,0,a\n5,NA,0,a\n";
    let found = compare("y ~ x", rows, rows);
    assert_eq!((found.real_records, found.synthetic_records), (4, 4));
    for (term, value, error) in [(0, -0.1, (0.35_f64 * 0.7).sqrt()), (1, 0.9, 0.07_f64.sqrt())] {
        let estimate = found.terms[term].real.unwrap();
        assert!((estimate.value - value).abs() < 1e-12, "{estimate:?}");
        assert!((estimate.high - value - TWO_SIDED * error).abs() < 1e-12, "{estimate:?}");
        assert!((found.terms[term].overlap.unwrap() - 1.0).abs() < 1e-12);
    }
}

#[test]
fn values_are_terms_except_the_most_frequent_one() {
    let rows = "1,0,0,a\n3,0,0,a\n6,0,0,b\n8,0,0,b\n2,0,0,a\n";
    let found = compare("y ~ g", rows, "1,0,0,a\n3,0,0,a\n4,0,0,c\n6,0,0,c\n");
    let terms: Vec<&str> = found.terms.iter().map(|term| &*term.term).collect();
    assert_eq!(terms, ["intercept", "g = b", "g = c"]);
    assert!((found.terms[0].real.unwrap().value - 2.0).abs() < 1e-12);
    assert!((found.terms[1].real.unwrap().value - 5.0).abs() < 1e-12);
    assert_eq!((found.terms[1].synthetic, found.terms[2].real), (None, None), "in one table only");
    assert!((found.terms[2].synthetic.unwrap().value - 3.0).abs() < 1e-12);
    assert_eq!(found.terms[2].overlap, None);
}

#[test]
fn large_numbers_and_terms_that_follow_from_others_do_no_harm() {
    // z is 1000 x + 500000, so only one of them has a coefficient.
    let row = |i: u32| format!("{},{},{},a", 3 * i + i % 2, 100 + i, 1000 * (100 + i) + 500_000);
    let rows = (0..50).map(row).collect::<Vec<String>>().join("\n") + "\n";
    let found = compare("y ~ x + z", &rows, &rows);
    assert!((found.terms[1].real.unwrap().value - 3.0).abs() < 0.01);
    assert_eq!(found.terms[2].real, None);
}

#[test]
fn intervals_that_touch_nowhere_do_not_overlap() {
    let estimate = |low, high| Estimate { value: f64::midpoint(low, high), low, high };
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}");
    near(overlap(estimate(0.0, 1.0), estimate(2.0, 3.0)), 0.0);
    // Half of the first and a quarter of the second.
    near(overlap(estimate(0.0, 2.0), estimate(1.0, 5.0)), 0.375);
    near(overlap(estimate(1.0, 1.0), estimate(1.0, 1.0)), 1.0);
}

#[test]
fn other_formulas_are_refused() {
    let refuse = |formula: &str, part: &str| {
        let error = Regression::parse(formula, &schema()).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refuse("y", "RESPONSE ~ PREDICTOR");
    refuse("y ~ x + w", "'w'");
    refuse("y ~ x + x", "each attribute once");
    refuse("y ~ ", "''");
    refuse("g ~ x", "a numeric column on the left");
}
