use super::*;
use crate::data::{Dataset, UnitsOfSchema};
use crate::model::WeightedSupport;

const SCHEMA: &str = r#"{"columns": [
    {"name": "tenure", "kind": "coded", "size": 2},
    {"name": "age", "kind": "numeric", "edges": [0, 18, 65, 100], "integer": true},
    {"name": "sex", "kind": "coded", "size": 2, "na": true}
]}"#;

fn homes() -> (Units, Schema) {
    let homes = Units::new("home", 3).unwrap().linked(["tenure"]).unwrap();
    let homes = homes.with_members(["age", "sex"], "place").unwrap();
    let schema = homes.widened(&Schema::from_json(SCHEMA, "schema.json").unwrap()).unwrap();
    (homes, schema)
}

/// A home's weight, and age and sex of its members.
type Home = (f64, Vec<[u32; 2]>);

/// All possible homes.
fn model(schema: &Schema) -> (Model, Vec<Home>) {
    let domain = schema.domain();
    let values: Vec<u32> = domain.attributes().iter().map(|a| a.cardinality).collect();
    let (mut rows, mut known) = (Vec::new(), Vec::new());
    for mut cell in 0..values.iter().product() {
        let next = |size: &u32| {
            let code = cell % size;
            cell /= size;
            code
        };
        let codes: Vec<u32> = values.iter().map(next).collect();
        if domain.structural_zeros().iter().any(|zero| zero.forbids(&domain, |a| codes[a])) {
            continue;
        }
        let weight = f64::from((codes.iter().sum::<u32>() * 37 + codes[2] * 11) % 23 + 1);
        let members = (0..=codes[1] as usize).map(|m| [codes[2 + 2 * m], codes[3 + 2 * m]]);
        known.push((weight, members.collect()));
        rows.push(codes);
    }
    let records = Dataset::from_rows(domain, &rows).unwrap();
    let weights = known.iter().map(|(weight, _)| *weight).collect();
    let total = known.iter().map(|(weight, _)| *weight).sum();
    (Model::from(WeightedSupport::new(&records, weights, total).unwrap()), known)
}

#[test]
fn the_share_is_that_of_the_units_that_have_such_members() {
    let (homes, schema) = homes();
    let (model, known) = model(&schema);
    let total: f64 = known.iter().map(|(weight, _)| weight).sum();
    let check = |text: &str, has: &dyn Fn(&[[u32; 2]]) -> bool| {
        let having = Having::parse(text, &schema, Some(&homes)).unwrap();
        let answer = having.answer(&model, &schema).unwrap();
        let own = known.iter().filter(|(_, members)| has(members));
        let expected: f64 = own.map(|(weight, _)| weight).sum();
        let row = &answer.rows[0];
        assert!((row.count - expected).abs() < 1e-6 * total, "{text}: {row:?} {expected}");
        assert!((row.answer.unwrap() - expected / total).abs() < 1e-9);
        assert!(expected > 0.0 && expected < total, "{text}");
        assert_eq!(row.basis, Some(crate::model::Basis::Model));
        answer.question
    };
    let any = |members: &[[u32; 2]], is: &dyn Fn(&[u32; 2]) -> bool| members.iter().any(is);
    check("age=0..17", &|m| any(m, &|one| one[0] == 0));
    let question =
        check("age=0..17; age=65..", &|m| any(m, &|one| one[0] == 0) && any(m, &|one| one[0] == 2));
    assert_eq!(question, "share of units that have a member with age=0..17, and one with age=65..");
    check("age=0..17;age=18..64; age=65..", &|m| (0..3).all(|age| any(m, &|one| one[0] == age)));
    // One member may meet both.
    check(" sex=1 ; age=65..", &|m| any(m, &|one| one[1] == 1) && any(m, &|one| one[0] == 2));
    check("sex=0|1; sex=1", &|m| any(m, &|one| one[1] == 1));
}

#[test]
fn every_unit_has_a_member_and_none_has_what_no_value_is() {
    let (homes, schema) = homes();
    let (model, _) = model(&schema);
    let share = |text: &str, model: &Model| {
        Having::parse(text, &schema, Some(&homes)).unwrap().answer(model, &schema).unwrap().rows[0]
            .answer
    };
    assert!((share("age=0..", &model).unwrap() - 1.0).abs() < 1e-12);
    let old = Evidence::parse("age.1=65..,home.records=1", &schema).unwrap();
    let given = model.given(&old).unwrap();
    assert_eq!(share("age=0..17", &given), Some(0.0));
    assert!((share("age=65..", &given).unwrap() - 1.0).abs() < 1e-12);
}

/// Of ages below 18, half are below 9, and a third of those from 9 below 12; conditions on the same numbers are about the same members.
#[test]
fn conditions_that_cut_bins_take_their_share() {
    let (homes, schema) = homes();
    let alone = Evidence::parse("age.1=0..17,home.records=1", &schema).unwrap();
    let (model, _) = model(&schema);
    let given = model.given(&alone).unwrap();
    let share = |text: &str| {
        let having = Having::parse(text, &schema, Some(&homes)).unwrap();
        having.answer(&given, &schema).unwrap().rows[0].answer.unwrap()
    };
    for (text, expected) in [
        ("age=0..8", 0.5),
        ("age=9..11", 1.0 / 6.0),
        ("age=0..8; age=9..11", 0.0),
        ("age=0..8; age=6..11", 1.0 / 6.0),
        ("age=0..17; age=65..", 0.0),
    ] {
        assert!((share(text) - expected).abs() < 1e-9, "{text}: {}", share(text));
    }
    let two = model
        .given(&Evidence::parse("age.1=0..17,age.2=0..17,home.records=2", &schema).unwrap())
        .unwrap();
    let having = Having::parse("age=0..8; age=9..17", &schema, Some(&homes)).unwrap();
    let row = &having.answer(&two, &schema).unwrap().rows[0];
    assert!((row.answer.unwrap() - 0.5).abs() < 1e-9, "one below 9 and the other not");
}

#[test]
fn what_is_not_about_members_is_refused() {
    let (homes, schema) = homes();
    let refused = |text: &str, part: &str| {
        let error = Having::parse(text, &schema, Some(&homes)).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    };
    refused("", "0 conditions");
    refused(
        "age=0..17;age=0..17;age=0..17;age=0..17;age=0..17;age=0..17;age=0..17",
        "7 conditions",
    );
    refused("tenure=1", "a column of members: age, sex");
    refused("age.1=0..17", "a column of members");
    refused("age=0..17,sex=1", "one column for each");
    refused("age=200..", "age.1");
    refused("sex=missing", "missing");
    refused("sex", "NAME=VALUE");
    let error = Having::parse("age=0..17", &schema, None).unwrap_err().to_string();
    assert!(error.contains("a model without members"), "{error}");
    let rows = Units::new("home", 3).unwrap().linked(["tenure"]).unwrap();
    assert!(Having::parse("age=0..17", &schema, Some(&rows)).is_err());
}
