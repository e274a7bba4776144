use std::collections::BTreeSet;

use super::*;
use jointly::ErrorKind;

#[test]
fn every_kind_of_error_is_explained_by_its_name_and_its_exit_code() {
    let entries = entries();
    for reason in [
        ErrorKind::Internal,
        ErrorKind::Usage,
        ErrorKind::Input,
        ErrorKind::Privacy,
        ErrorKind::Checkpoint,
        ErrorKind::Interrupted,
    ] {
        let by_name = find(&entries, reason.name()).map(|entry| entry.text);
        assert!(by_name.is_some_and(|text| !text.is_empty()), "{}", reason.name());
        let by_code = find(&entries, &reason.code().to_string()).map(|entry| entry.text);
        assert_eq!(by_name, by_code);
    }
}

#[test]
fn names_are_unique_and_texts_are_short_and_plain() {
    let mut names = BTreeSet::new();
    for entry in entries() {
        for name in &entry.names {
            assert!(names.insert(plain(name)), "{name} twice");
        }
        assert!((60..700).contains(&entry.text.len()), "{:?}", entry.names);
        assert!(!entry.text.contains("](") && !entry.text.contains('#'), "{:?}", entry.names);
        assert!(entry.text.is_ascii(), "{:?}", entry.names);
    }
    assert!(names.len() > 60, "{}", names.len());
}

#[test]
fn every_mechanism_is_explained_with_what_the_catalogue_says() {
    let entries = entries();
    let own = |entry: &&Entry| entry.part == "Mechanisms";
    assert_eq!(entries.iter().filter(own).count(), CATALOGUE.len());
    for mechanism in CATALOGUE {
        assert!(find(&entries, mechanism.name).as_ref().is_some_and(own), "{}", mechanism.name);
        let facts = facts(mechanism);
        let names = mechanism.defaults().unwrap();
        assert!(names.keys().all(|name| facts.contains(&format!("--{name}"))), "{facts}");
    }
}

#[test]
fn names_are_found_however_they_are_written() {
    let entries = entries();
    for (asked, name) in [
        ("Epsilon", "epsilon"),
        ("zcdp", "rho"),
        ("neighboring relations", "neighboring relation"),
        ("JUNCTION_TREE", "junction tree"),
        ("marginals", "marginal"),
    ] {
        assert_eq!(find(&entries, asked).map(|entry| entry.names[0]), Some(name));
    }
}

#[test]
fn an_unknown_name_has_the_ones_like_it() {
    let message = unknown(&entries(), "epsilom").message;
    assert!(message.ends_with("such as epsilon"), "{message}");
    let message = unknown(&entries(), "table").message;
    assert!(message.contains("private table, public table"), "{message}");
    let message = unknown(&entries(), "xyzzy-plugh-quux").message;
    assert!(message.ends_with("expected a name that 'jointly explain' lists"), "{message}");
}

#[test]
fn the_list_has_a_line_for_each_entry() {
    let entries = entries();
    let list = list(&entries);
    for entry in &entries {
        assert!(list.contains(&format!("\n  {}", entry.names[0])), "{}", entry.names[0]);
    }
}
