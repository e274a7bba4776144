use super::*;
use crate::data::WholeTable;

fn schema() -> Schema {
    let text = r#"{"na_token": "N", "columns": [
        {"name": "age", "role": "attribute", "kind": "numeric", "edges": [0, 5, 15, 90]},
        {"name": "mar", "role": "attribute", "kind": "categorical", "codes": ["m", "s"], "na": true},
        {"name": "kids", "role": "attribute", "kind": "coded", "size": 4}]}"#;
    Schema::from_json(text, "schema.json").unwrap()
}

fn rules(forbidden: &str) -> Result<EditRules> {
    let text = format!(r#"{{"rules": [{{"name": "r", "forbidden": {forbidden}}}]}}"#);
    EditRules::from_json(&text, "rules.json", &schema())
}

fn table() -> Dataset {
    // Age under 5, under 15, and from 15 on; married, single, missing; kids.
    let rows = [[0, 2, 0], [0, 0, 0], [1, 1, 3], [2, 0, 3], [2, 2, 0]];
    Dataset::from_rows(schema().domain(), &rows).unwrap()
}

#[test]
fn violations_are_those_counted_by_hand() {
    let text = r#"{"rules": [
        {"name": "children have no marital status", "forbidden": {"age": {"to": 15}, "mar": {"not": ["N"]}}},
        {"name": "children have no children", "forbidden": {"age": {"to": 15}, "kids": {"from": 1}}},
        {"name": "adults have a status", "forbidden": {"age": {"from": 15}, "mar": ["N"]}}]}"#;
    let rules = EditRules::from_json(text, "rules.json", &schema()).unwrap();
    let found = rules.violations(&table()).unwrap();
    let counts: Vec<u64> = found.rules.iter().map(|rule| rule.violations).collect();
    // Records 1 and 2; record 2, which is counted once in all; record 4.
    assert_eq!((counts, found.violating), (vec![2, 1, 1], 3));
    assert!((found.share - 0.6).abs() < 1e-12 && (found.rules[0].share - 0.4).abs() < 1e-12);
}

#[test]
fn wrong_rules_are_refused_with_place_and_reason() {
    for (forbidden, part) in [
        (r#"{"agee": ["1"]}"#, "unknown attribute 'agee' in rules.json, rule 'r'"),
        (r#"{"mar": ["x"]}"#, "rule 'r', attribute 'mar': 'x'"),
        (r#"{"mar": {"from": 1}}"#, "a list of values"),
        (r#"{"kids": {"from": 9}}"#, "no value"),
        (r#"{"age": {"until": 15}}"#, "rules.json"),
        ("{}", "no attribute"),
    ] {
        let error = rules(forbidden).unwrap_err().to_string();
        assert!(error.contains(part), "{forbidden}: {error}");
    }
    assert!(EditRules::from_json(r#"{"rules": []}"#, "r", &schema()).is_err());
}

#[test]
fn a_range_inside_a_bin_is_decided_by_the_numbers() {
    let rules = rules(r#"{"age": {"to": 12}, "mar": ["m"]}"#).unwrap();
    let text = "age,mar,kids\n11,m,0\n12,m,0\n3,s,0\n4,m,1\n";
    let table = WholeTable::read_from(text.as_bytes(), "t.csv", &schema(), None).unwrap();
    let found = rules.violations_of((&table.records).into(), table.numbers.as_ref()).unwrap();
    assert_eq!((found.violating, found.rules[0].violations), (2, 2));
    let error = rules.violations(&table.records).unwrap_err().to_string();
    assert!(error.contains("rule 'r', attribute 'age'"), "{error}");
}
