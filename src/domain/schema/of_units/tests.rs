use super::*;
use crate::domain::{Bins, Kind};

const PEOPLE: &str = r#"{"columns": [
    {"name": "tenure", "kind": "categorical", "codes": ["own", "rent"]},
    {"name": "age", "kind": "numeric", "edges": [0, 15, 65, 100]},
    {"name": "job", "kind": "coded", "size": 2, "na": true},
    {"name": "extra", "kind": "coded", "size": 2}
], "forbidden": [
    {"age": [{"from": 0, "below": 15}], "job": {"not": [null]}},
    {"age": [{"from": 65, "below": 100}], "tenure": ["rent"]},
    {"job": [null], "tenure": ["own"]},
    {"extra": [1], "age": [{"from": 0, "below": 15}]}
]}"#;

fn of_units(most: u32) -> Schema {
    let schema = Schema::from_json(PEOPLE, "schema.json").unwrap();
    let edges = (1..=most + 1).map(f64::from).collect();
    let size =
        SchemaColumn::attribute("n", Kind::Numeric(Bins::new(edges, Some(true), "n").unwrap()));
    let [shared, members] = [vec!["tenure".to_owned()], vec!["age".to_owned(), "job".to_owned()]];
    schema.of_units(&UnitColumns { shared: &shared, members: &members, size, most }).unwrap()
}

#[test]
fn later_members_may_be_missing_and_other_columns_are_left_out() {
    let schema = of_units(3);
    let found: Vec<(String, u32)> =
        schema.domain().attributes().iter().map(|a| (a.name.clone(), a.cardinality)).collect();
    let expected = [
        ("tenure", 2),
        ("n", 3),
        ("age.1", 3),
        ("job.1", 3),
        ("age.2", 4),
        ("job.2", 3),
        ("age.3", 4),
        ("job.3", 3),
    ];
    assert_eq!(found, expected.map(|(name, values)| (name.to_owned(), values)));
}

/// Of all records, those remain whose members are there as the size says, and keep the rules one by one.
#[test]
fn a_record_is_allowed_if_its_members_are_as_many_as_it_says_and_each_keeps_the_rules() {
    let schema = of_units(3);
    let domain = schema.domain();
    let values: Vec<u32> = domain.attributes().iter().map(|a| a.cardinality).collect();
    let cells: u32 = values.iter().product();
    let mut allowed = 0;
    for mut cell in 0..cells {
        let codes: Vec<u32> = values
            .iter()
            .map(|size| {
                let code = cell % size;
                cell /= size;
                code
            })
            .collect();
        let (tenure, size) = (codes[0], codes[1] + 1);
        let keeps = |member: u32| {
            let (age, job) = (codes[2 * member as usize], codes[2 * member as usize + 1]);
            if member > size {
                return age == 3 && job == 2;
            }
            // Under 15 without a job, 65 and more not in a rented home, and a job in an own home.
            age < 3
                && !(age == 0 && job != 2)
                && !(age == 2 && tenure == 1)
                && !(job == 2 && tenure == 0)
        };
        let expected = (1..=3).all(keeps);
        let is_forbidden =
            domain.structural_zeros().iter().any(|zero| zero.forbids(&domain, |a| codes[a]));
        assert_eq!(!is_forbidden, expected, "{codes:?}");
        allowed += u32::from(expected);
    }
    assert!(allowed > 20);
}

#[test]
fn a_name_that_is_taken_is_refused() {
    let taken = PEOPLE
        .replace("\"extra\", \"kind\"", "\"age.2\", \"kind\"")
        .replace("\"extra\"", "\"age.2\"");
    let schema = Schema::from_json(&taken, "schema.json").unwrap();
    let size = SchemaColumn::attribute("n", Kind::Coded { size: 2 });
    let [shared, members] = [vec!["age.2".to_owned()], vec!["age".to_owned()]];
    let found = schema.of_units(&UnitColumns { shared: &shared, members: &members, size, most: 2 });
    assert!(found.unwrap_err().to_string().contains("age.2"));
}

/// Rules about members of each form, with a size and a column that members share.
const TOGETHER: &str = r#"[
    {"first": {"age": [{"below": 15}]}},
    {"later": {"job": [1], "age": [{"from": 65}]}},
    {"one": {"job": [0]}, "another": {"job": [0], "tenure": ["rent"]}},
    {"first": {"job": [null]}, "later": {"job": [null]}},
    {"first": {"job": [1]}, "later": {}, "difference": {"age": {"below": 1}}},
    {"one": {"job": [1]}, "another": {}, "difference": {"age": {"from": 1}}}
]"#;

#[test]
fn a_record_is_allowed_if_its_members_keep_the_rules_about_them() {
    // Bins of ages as [lowest, highest]; a missing age has none.
    const AGES: [[i32; 2]; 3] = [[0, 14], [15, 64], [65, 99]];
    let rules = format!("\"forbidden_members\": {TOGETHER}, \"forbidden\"");
    let text = PEOPLE
        .replace("\"forbidden\"", &rules)
        .replace("15, 65, 100]", "15, 65, 100], \"integer\": true");
    let schema = Schema::from_json(&text, "schema.json").unwrap();
    let again = Schema::from_json(&schema.to_json().unwrap(), "schema.json").unwrap();
    assert_eq!(again, schema);
    let size = SchemaColumn::attribute("n", Kind::Coded { size: 3 });
    let [shared, members] = [vec!["tenure".to_owned()], vec!["age".to_owned(), "job".to_owned()]];
    let schema = schema
        .of_units(&UnitColumns { shared: &shared, members: &members, size, most: 3 })
        .unwrap();
    let domain = schema.domain();
    let values: Vec<u32> = domain.attributes().iter().map(|a| a.cardinality).collect();
    let (mut allowed, mut broken) = (0, [0; 6]);
    for mut cell in 0..values.iter().product() {
        let next = |size: &u32| {
            let code = cell % size;
            cell /= size;
            code
        };
        let codes: Vec<u32> = values.iter().map(next).collect();
        let (tenure, size) = (codes[0], codes[1] as usize + 1);
        let of = |member: usize| (codes[2 * member] as usize, codes[2 * member + 1]);
        let people: Vec<(usize, u32)> = (1..=size).map(of).collect();
        let is_whole = (1..=3).all(|member| {
            let (age, job) = of(member);
            if member > size { (age, job) == (3, 2) } else { age < 3 }
        });
        let is_well = |&(age, job): &(usize, u32)| {
            !(age == 0 && job != 2 || age == 2 && tenure == 1 || job == 2 && tenure == 0)
        };
        // By the lowest and the highest difference.
        let apart = |a: usize, b: usize| (AGES[a][0] - AGES[b][1], AGES[a][1] - AGES[b][0]);
        let expected = is_whole && people.iter().all(is_well) && {
            let (first, later) = (people[0], &people[1..]);
            let pairs = || {
                let others = |i: usize| people.iter().enumerate().filter(move |(j, _)| *j != i);
                let one = people.iter().enumerate();
                one.flat_map(move |(i, one)| others(i).map(move |(_, other)| (*one, *other)))
            };
            let breaks = [
                first.0 == 0,
                later.contains(&(2, 1)),
                pairs().any(|(one, other)| tenure == 1 && one.1 == 0 && other.1 == 0),
                first.1 == 2 && later.iter().any(|other| other.1 == 2),
                first.1 == 1 && later.iter().any(|other| apart(first.0, other.0).1 < 1),
                pairs().any(|(one, two)| one.1 == 1 && apart(one.0, two.0).0 >= 1),
            ];
            breaks.iter().zip(&mut broken).for_each(|(own, sum)| *sum += u32::from(*own));
            !breaks.contains(&true)
        };
        let is_forbidden =
            domain.structural_zeros().iter().any(|zero| zero.forbids(&domain, |a| codes[a]));
        assert_eq!(!is_forbidden, expected, "{codes:?}");
        allowed += u32::from(expected);
    }
    assert!(allowed > 20);
    assert!(broken.iter().all(|broken| *broken > 0), "{broken:?}");
    let [together, _] = schema.of_members_together().unwrap();
    assert_eq!(together.len(), 6, "numbers are drawn by them");
}

/// Rules that cannot be meant.
#[test]
fn a_rule_about_other_members_or_without_an_end_is_refused() {
    let refused = |rule: &str, part: &str| {
        let rules = format!("\"forbidden_members\": [{rule}], \"forbidden\"");
        let text = PEOPLE.replace("\"forbidden\"", &rules);
        let found = Schema::from_json(&text, "schema.json").unwrap_err().to_string();
        assert!(found.contains(part) && found.contains("schema.json"), "{rule}: {found}");
    };
    refused("{}", "none, expected 'first'");
    refused(r#"{"first": {}}"#, "no attribute");
    refused(r#"{"first": {}, "later": {}}"#, "no attribute");
    refused(r#"{"first": {"job": [0]}, "another": {"job": [0]}}"#, "'first' and 'another'");
    refused(r#"{"one": {"job": [0]}}"#, "'one', expected");
    refused(r#"{"later": {"pay": [0]}}"#, "'pay'");
    refused(r#"{"later": {"job": [7]}}"#, "7");
    refused(r#"{"later": {"job": [0]}, "difference": {"age": {"below": 1}}}"#, "one member");
    let of_two = |difference: &str| {
        format!(r#"{{"first": {{}}, "later": {{}}, "difference": {difference}}}"#)
    };
    refused(&of_two(r#"{"tenure": {"below": 1}}"#), "categories");
    refused(&of_two(r#"{"age": {}}"#), "no end");
    refused(&of_two(r#"{"age": {"from": 2, "below": 2}}"#), "a range without numbers");
}

#[test]
fn a_difference_in_a_column_that_members_share_is_refused() {
    let rule = r#""forbidden_members": [{"first": {}, "later": {}, "difference": {"age": {"below": 1}}}], "forbidden""#;
    let schema = Schema::from_json(&PEOPLE.replace("\"forbidden\"", rule), "schema.json").unwrap();
    let size = SchemaColumn::attribute("n", Kind::Coded { size: 2 });
    let [shared, members] = [vec!["age".to_owned()], vec!["job".to_owned()]];
    let found = schema.of_units(&UnitColumns { shared: &shared, members: &members, size, most: 2 });
    let found = found.unwrap_err().to_string();
    assert!(
        found.contains("difference of 'age'") && found.contains("all members share"),
        "{found}"
    );
}

/// A rule that needs a column that units do not have is left out, as a rule on a person is.
#[test]
fn a_rule_on_other_columns_is_left_out() {
    let rule = r#""forbidden_members": [{"one": {"extra": [1]}, "another": {"age": [{"below": 15}]}}], "forbidden""#;
    let schema = Schema::from_json(&PEOPLE.replace("\"forbidden\"", rule), "schema.json").unwrap();
    let size = SchemaColumn::attribute("n", Kind::Coded { size: 2 });
    let members = vec!["age".to_owned()];
    let found =
        schema.of_units(&UnitColumns { shared: &[], members: &members, size, most: 2 }).unwrap();
    assert!(found.of_members_together().unwrap()[0].is_empty());
    assert_eq!(
        schema.select(&["age", "extra"]).unwrap().of_members_together().unwrap()[0].len(),
        1
    );
    assert!(schema.select(&["age"]).unwrap().of_members_together().unwrap()[0].is_empty());
}
