use crate::domain::Schema;

use super::Statistic;

fn schema() -> Schema {
    let text = r#"{"na_token": "NA", "columns": [
        {"name": "age", "role": "attribute", "kind": "numeric", "edges": [0, 18, 65, 100], "integer": true},
        {"name": "sex", "role": "attribute", "kind": "categorical", "codes": ["f", "m"]},
        {"name": "pay", "role": "attribute", "kind": "numeric", "na": true, "edges": [0, 10, 20]}
    ]}"#;
    Schema::from_json(text, "schema.json").unwrap()
}

#[test]
fn statistics_are_named_as_they_were_asked_for() {
    let schema = schema();
    let difference = Statistic::difference(" pay: sex=f vs sex=m", &schema).unwrap();
    assert_eq!(difference.to_string(), "difference of pay: sex=f vs sex=m");
    let share = Statistic::share("sex=f", &schema).unwrap().among("age=18..64", &schema).unwrap();
    assert_eq!(share.to_string(), "share of sex=f, among age=18..64");
}

#[test]
fn wrong_statistics_are_refused_and_say_what_was_expected() {
    let schema = schema();
    let refused = [
        (Statistic::share("", &schema), "expected a condition such as SEX=2"),
        (Statistic::share("sex", &schema), "expected NAME=VALUE"),
        (Statistic::share("sex=x", &schema), "expected one of f, m"),
        (Statistic::mean("sex", &schema), "which has no numbers"),
        (Statistic::mean("nobody", &schema), "unknown attribute 'nobody'"),
        (Statistic::difference("pay", &schema), "expected RESPONSE: GROUP vs GROUP"),
        (Statistic::difference("pay: sex=f", &schema), "expected RESPONSE: GROUP vs GROUP"),
        (Statistic::linear("pay", &schema), "expected RESPONSE ~ PREDICTOR + PREDICTOR"),
        (Statistic::linear("pay ~ ", &schema), "unknown attribute ''"),
        (Statistic::linear("pay ~ age + age", &schema), "expected each predictor once"),
        (Statistic::logistic("pay ~ age", &schema), "expected a response that is true or false"),
    ];
    for (found, expected) in refused {
        let message = found.unwrap_err().to_string();
        assert!(message.contains(expected), "{message}, expected {expected}");
    }
}
