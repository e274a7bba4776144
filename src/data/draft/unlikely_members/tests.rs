use std::fmt::Write;
use std::fs;

use super::*;
use crate::data::draft_unlikely_members;

const SCHEMA: &str = r#"{"columns": [
    {"name": "age", "kind": "numeric", "edges": [0, 10, 20, 30, 40, 50, 60, 70], "integer": true},
    {"name": "role", "kind": "categorical", "codes": ["head", "spouse", "child"]},
    {"name": "sex", "kind": "categorical", "codes": ["1", "2"]}
]}"#;

/// Homes of one head, perhaps a spouse, and up to two children, who are at least twenty years younger than the head.
fn homes(number: u32, more: &str) -> String {
    let mut text = String::from("home,place,age,role,sex\n");
    for home in 0..number {
        let age = 20 + home * 7 % 50;
        let mut place = 1;
        let mut add = |age: u32, role: &str, sex: u32| {
            writeln!(text, "{home},{place},{age},{role},{sex}").unwrap();
            place += 1;
        };
        add(age, "head", 1 + home % 2);
        if home % 3 > 0 {
            add(20 + (age + home % 17) % 50, "spouse", 1 + home / 2 % 2);
        }
        for child in 0..home % 4 / 2 * 2 {
            add((age - 20) * (home % 5 + child) / 6, "child", 1 + home / 3 % 2);
        }
    }
    text + more
}

fn found(text: &str) -> (Schema, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("public.csv");
    fs::write(&file, text).unwrap();
    let units = Units::new("home", 4).unwrap().linked(Vec::<String>::new()).unwrap();
    let units = units.with_members(["age", "role", "sex"], "place").unwrap();
    let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
    let draft = draft_unlikely_members(&schema, &[&file], &units).unwrap();
    let json: serde_json::Value = serde_json::from_str(&draft.schema.to_json().unwrap()).unwrap();
    let rules = json["unlikely_members"].as_array().cloned().unwrap_or_default();
    assert_eq!(draft.remarks.len(), usize::from(!rules.is_empty()));
    let again = Schema::from_json(&draft.schema.to_json().unwrap(), "schema.json").unwrap();
    assert_eq!(again, draft.schema);
    (draft.schema, rules.iter().map(|rule| rule["values"].to_string()).collect())
}

#[test]
fn what_no_home_has_is_found_and_nothing_else() {
    let (_, rules) = found(&homes(3000, ""));
    let has = |rule: &str| assert!(rules.iter().any(|own| own == rule), "{rule} in {rules:#?}");
    has(r#"{"first":{"role":["spouse","child"]}}"#);
    has(r#"{"later":{"role":["head"]}}"#);
    has(r#"{"another":{"role":["spouse"]},"one":{"role":["spouse"]}}"#);
    // Bins of ten years tell that a child is more than 10 years younger.
    has(r#"{"difference":{"age":{"below":11}},"first":{},"later":{"role":["child"]}}"#);
    assert!(rules.iter().all(|rule| !rule.contains("sex")), "chance: {rules:#?}");
    // What the places say already is not said again of pairs.
    assert!(
        rules.iter().all(|rule| !rule.contains("head") || rule.contains("\"later\":{\"role\""))
    );
}

/// One home is enough to drop a rule that it breaks.
#[test]
fn what_one_home_has_is_not_unlikely() {
    let more = "x,1,30,child,1\nx,2,31,spouse,1\nx,3,32,spouse,1\nx,4,29,child,1\n";
    let (_, rules) = found(&homes(3000, more));
    let lacks = |part: &str| assert!(rules.iter().all(|rule| !rule.contains(part)), "{rules:#?}");
    lacks(r#""one":{"role":["spouse"]}"#);
    lacks(r#""below":11"#);
    assert!(rules.iter().any(|rule| rule == r#"{"first":{"role":["spouse"]}}"#), "{rules:#?}");
}

/// A few homes show nothing: a rule needs 30 that would have it by chance.
#[test]
fn few_homes_make_no_rules() {
    let (schema, rules) = found(&homes(40, ""));
    assert!(rules.is_empty(), "{rules:#?}");
    assert!(schema.of_members_together().unwrap()[1].is_empty());
}

/// Unlikely combinations are tested for a home with its members as for a record.
#[test]
fn they_are_unlikely_in_the_schema_of_homes() {
    let (schema, rules) = found(&homes(3000, ""));
    let units = Units::new("home", 4).unwrap().linked(Vec::<String>::new()).unwrap();
    let units = units.with_members(["age", "role", "sex"], "place").unwrap();
    let of_homes = units.widened(&schema).unwrap();
    assert!(of_homes.unlikely().len() > rules.len());
    let domain = of_homes.domain();
    let code = |name: &str| match name {
        "home.records" => 1,
        "role.2" => 0,
        name if name.ends_with(".1") || name.ends_with(".2") => 0,
        name => of_homes.column(name).unwrap().cardinality() - 1,
    };
    let is_avoided =
        of_homes.avoided().iter().any(|zero| zero.forbids(&domain, |a| code(domain.name(a))));
    assert!(is_avoided, "two heads");
}
