use serde_json::json;

use super::*;
use crate::data::AbsentColumns;
use crate::data::read_csv_from;

const SCHEMA: &str = r#"{"columns": [
    {"name": "sex", "kind": "categorical", "codes": ["f", "m"]},
    {"name": "age", "kind": "numeric", "edges": [0, 18, 65, 100], "na": true},
    {"name": "town", "kind": "coded", "size": 3}
]}"#;

const REAL: &str = "home,sex,age,town\nA,f,30,0\nA,m,31,0\nB,f,70,1\nC,m,9,2\nC,m,40,2\nC,f,41,2\n";
const MADE: &str = "home,sex,age,town\nA,f,30,0\nA,m,33,1\nB,f,66,1\nC,m,,2\nC,m,40,2\nC,f,9,2\n";

fn table(text: &str, schema: &Schema, unit: Option<&str>) -> WholeTable {
    WholeTable::read_from(text.as_bytes(), "t.csv", schema, unit).unwrap()
}

fn json_of(value: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(value).unwrap()
}

fn everything() -> serde_json::Value {
    json!({
        "workload": "all-2-way",
        "worst": 1,
        "measures": ["k-marginal", "propensity", "correlation", "unique-matches", "singles-and-pairs"],
        "k": 2,
        "rules": {"rules": [{"name": "the young live in town 0", "forbidden": {"age": {"to": 18}, "town": {"not": ["0"]}}}]},
        "groups": ["sex"],
        "by": ["sex"],
        "regress": ["age ~ sex"],
        "predict": ["town", "sex"],
        "unit": "home",
        "max-records": 2,
        "unit-columns": ["town"],
        "per-unit": ["sex=m"],
    })
}

#[test]
fn every_measure_that_is_asked_for_is_that_of_its_own_function() {
    let schema = Schema::from_json(SCHEMA, "s").unwrap();
    let settings = EvaluationSettings::from_settings(everything()).unwrap();
    let fields = serde_json::to_value(&settings).unwrap();
    assert_eq!(fields.as_object().unwrap().len(), EvaluationSettings::SETTINGS.len());
    let evaluation = settings.under(&schema).unwrap();
    let [real, made] = [REAL, MADE].map(|text| table(text, &schema, evaluation.unit()));
    let found = evaluation.between(&real, &made).unwrap();

    let (one, other) = (&real.records, &made.records);
    let read = |text: &str| {
        read_csv_from(text.as_bytes(), "t.csv", &schema, AbsentColumns::Refuse).unwrap()
    };
    assert_eq!((one, other), (&read(REAL), &read(MADE)), "the limit of units is for units alone");
    let workload = Workload::all_k_way(&schema.domain(), 2).unwrap();
    assert_eq!(
        json_of(&found.error),
        json_of(&WorkloadError::between(one, other, &workload, 1).unwrap())
    );
    let rng = || ChaCha20Rng::seed_from_u64(DRAW_SEED);
    let k_marginal = KMarginalScore::between(one, other, 2, None, &mut rng()).unwrap();
    assert_eq!(found.k_marginal, Some(k_marginal));
    let pmse = PropensityScore::between(one, other).unwrap();
    assert_eq!(json_of(&found.propensity), json_of(&Some(pmse)));
    let correlation = CorrelationDifference::between(one, other).unwrap();
    assert_eq!(json_of(&found.correlation), json_of(&Some(correlation)));
    let matches = UniqueMatches::between(one, other).unwrap();
    assert_eq!(json_of(&found.unique_matches), json_of(&Some(matches)));
    assert_eq!(found.singles_and_pairs, Some(SinglesAndPairs::between(one, other).unwrap()));
    let [sex, town] = [0, 2].map(|attribute| Prediction::between(one, other, attribute).unwrap());
    assert_eq!(found.predictions, [sex, town]);
    let rules = found.edit_rules.unwrap();
    assert_eq!((rules.real.violating, rules.synthetic.violating), (1, 1));
    let groups = GroupScore::default().between(one, other, &Clique::new([0]), &mut rng()).unwrap();
    assert_eq!(found.by_groups, Some(groups));
    let numbers = found.numbers.unwrap();
    assert_eq!((numbers.columns.len(), numbers.groups.len()), (1, 2));
    assert_eq!((found.regressions.len(), found.regressions[0].synthetic_records), (1, 5));
    // The third record of C does not count: two of three homes have one man, as many in both tables.
    let units = found.by_units.unwrap();
    assert_eq!((units.units.real, units.sizes.real.len()), (3, 2));
    assert_eq!((units.contradictions.real, units.contradictions.synthetic), (0.0, 1.0 / 3.0));
    let shares = units.counts[0].shares.real;
    assert!(shares.iter().all(|share| (share - 1.0 / 3.0).abs() < 1e-12), "{shares:?}");
}

#[test]
fn what_was_not_asked_for_is_left_out() {
    let schema = Schema::from_json(r#"{"a": 2, "b": 2}"#, "s").unwrap();
    let settings = EvaluationSettings { workload: "all-2-way".into(), ..Default::default() };
    let rows = table("a,b\n0,1\n1,1\n", &schema, None);
    let found = settings.under(&schema).unwrap().between(&rows, &rows).unwrap();
    let found = serde_json::to_value(&found).unwrap();
    let names: Vec<&String> = found.as_object().unwrap().keys().collect();
    let always =
        ["error", "independent_error", "left_out", "private", "real_records", "synthetic_records"];
    let mut names: Vec<&str> = names.into_iter().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, always);
}

#[test]
fn settings_are_checked_before_a_table_is_read() {
    let schema = Schema::from_json(SCHEMA, "s").unwrap();
    for (settings, message) in [
        (json!({"k": 0}), "k is 0, expected at least 1"),
        (json!({"draws": 0}), "draws is 0, expected at least 1"),
        (json!({"k": "x"}), "k is \"x\", expected a whole number from 0 to 4294967295"),
        (
            json!({"measures": ["all"]}),
            "measures is [\"all\"], expected a list of k-marginal, propensity, correlation, unique-matches",
        ),
        (json!({"by": ["work"]}), "unknown attribute 'work' in `by`"),
        (json!({"groups": ["sex", "sex"]}), "attribute 'sex' occurs twice in `groups`"),
        (json!({"regress": ["sex ~ age"]}), "a numeric column on the left"),
        (json!({"per-unit": ["sex=m"]}), "per unit needs `unit`"),
        (json!({"unit": "home", "max-records": 0}), "max records is 0, expected 1 to 32"),
        (json!({"measure": ["k-marginal"]}), "unknown field `measure`"),
    ] {
        let refused = EvaluationSettings::from_settings(settings.clone())
            .and_then(|settings| settings.under(&schema).map(drop));
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(message), "{settings}: {refused}");
    }
}

#[test]
fn numbers_and_units_that_were_not_read_are_missed() {
    let schema = Schema::from_json(SCHEMA, "s").unwrap();
    let codes: WholeTable = table(REAL, &schema, None).records.into();
    for settings in [json!({"regress": ["age ~ sex"]}), json!({"unit": "home"})] {
        let evaluation = EvaluationSettings::from_settings(settings).unwrap();
        assert!(evaluation.under(&schema).unwrap().between(&codes, &codes).is_err());
    }
    let found = EvaluationSettings::default().under(&schema).unwrap().between(&codes, &codes);
    assert!(found.unwrap().numbers.is_none());
}
