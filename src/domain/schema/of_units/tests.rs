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
