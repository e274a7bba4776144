use super::*;

#[test]
fn entries_have_the_names_of_their_mechanisms_and_every_parameter_is_described_once() {
    let mut names: Vec<&str> = parameters().map(|parameter| parameter.name).collect();
    for entry in CATALOGUE {
        let mechanism = entry.build(&Map::new()).unwrap();
        assert_eq!(mechanism.name(), entry.name);
        let own = entry.defaults().unwrap();
        assert_eq!(entry.parameters().unwrap().len(), own.len(), "{}: {own:?}", entry.name);
        assert!(!entry.summary.is_empty() && !entry.summary.ends_with('.'));
    }
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all, "a parameter is described twice");
}

#[test]
fn parameters_are_checked_by_name_form_and_range() {
    let entry = find("pmw-pub").unwrap();
    let given = |json: &str| serde_json::from_str::<Map<String, Value>>(json).unwrap();
    assert!(entry.build(&given(r#"{"rounds": 3, "queries": "marginals"}"#)).is_ok());
    for (json, part) in [
        (r#"{"projections": 3}"#, "projections is of no use with mechanism pmw-pub"),
        (r#"{"queries": "all"}"#, "queries is \"all\", expected "),
        (r#"{"rounds": -1}"#, "rounds is -1, expected a whole number"),
        (r#"{"rounds": 0}"#, "rounds is 0, expected from 1 to 100,000"),
    ] {
        let error = entry.build(&given(json)).map(drop).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    assert!(find("magic").is_err());
    assert!(find("aim").unwrap().build_answerer(&Map::new()).is_err());
}
