use super::*;

#[test]
fn patterns_match_whole_names() {
    for (pattern, name, expected) in [
        ("AGEP", "AGEP", true),
        ("AGEP", "AGE", false),
        ("F*P", "FOD1P", true),
        ("F*P", "FP", true),
        ("F*P", "FPX", false),
        ("*", "anything", true),
        ("A*B*C", "AxBBxC", true),
    ] {
        assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
    }
}

/// A data set with these lines, or what the parser refuses.
fn data_set(lines: &str) -> std::result::Result<DataSet, String> {
    let text = format!(
        "name = \"n\"\nschema = \"s.json\"\nprivate = \"p.csv\"\npublic = [\"u.csv\"]\n{lines}\n"
    );
    toml::from_str(&text).map_err(|error| error.message().to_owned())
}

#[test]
fn a_spoil_is_a_word_or_a_table_of_one_member() {
    use crate::experiment::Codes;
    for (text, expected) in [
        ("\"reversed-codes\"", Spoil::Codes(Codes::Reversed)),
        ("\"shuffled-columns\"", Spoil::Codes(Codes::Shuffled)),
        ("\"constant\"", Spoil::Codes(Codes::Constant)),
        ("{ swapped = [\"a\", \"b\"] }", Spoil::Swapped { swapped: ["a".into(), "b".into()] }),
        ("{ records = 30 }", Spoil::Records { records: 30 }),
    ] {
        let set = data_set(&format!("spoil = {text}")).unwrap();
        assert_eq!(set.spoil, Some(expected), "{text}");
    }
    assert_eq!(data_set("").unwrap().spoil, None);
}

#[test]
fn another_spoil_is_refused_with_all_that_there_are() {
    for text in [
        "\"reversed\"",
        "true",
        "30",
        "{ swapped = [\"a\"] }",
        "{ swapped = [\"a\", \"b\", \"c\"] }",
        "{ records = -1 }",
        "{ records = 1.5 }",
        "{ records = 30, swapped = [\"a\", \"b\"] }",
        "{}",
    ] {
        let message = data_set(&format!("spoil = {text}")).unwrap_err();
        for form in
            ["\"reversed-codes\"", "\"shuffled-columns\"", "\"constant\"", "swapped", "records"]
        {
            assert!(message.contains(form), "{text}: {message}");
        }
    }
}
