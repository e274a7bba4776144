//! Digests of model files.

use super::{digest, members, with_digest};

fn of(text: &str) -> String {
    digest(&members(text, "m").unwrap())
}

#[test]
fn the_digest_is_that_of_the_compact_object_with_sorted_names() {
    // printf '{"a":[1.0,"x \\" y"],"b":{"d":null,"c":2}}' | sha256sum
    let known = "sha256:23f2602f1b2a29790d2d40cf83af4b49fbe99fde610879251bf3e793300f69ee";
    assert_eq!(of(r#"{"a":[1.0,"x \" y"],"b":{"d":null,"c":2}}"#), known);
    let other = "{\n  \"b\" : { \"d\":\tnull, \"c\": 2 },\n  \"a\": [ 1.0 , \"x \\\" y\" ]\r\n}\n";
    assert_eq!(of(other), known);
    assert_eq!(of(&other.replacen("{\n", "{\"digest\": \"anything\",", 1)), known);
}

#[test]
fn every_change_of_content_changes_it() {
    let text = r#"{"a":[1.0,"x \\"],"b":{"d":null,"c":" 2"}}"#;
    let changes = [
        ("1.0", "1"),
        ("1.0", "1.00"),
        ("x ", "x"),
        ("x ", "x  "),
        ("\" 2\"", "\"2\""),
        ("null", "0"),
        (r#""d":null,"c":" 2""#, r#""c":" 2","d":null"#),
        (r#""b""#, r#""B""#),
        (r#""b":"#, r#""e":1,"b":"#),
    ];
    for (from, to) in changes {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text);
        assert_ne!(of(&changed), of(text), "{from} => {to}");
    }
}

#[test]
fn a_text_gets_its_digest_at_the_end_or_where_it_had_one() {
    let plain = with_digest("{\"a\": 1}\n", "m").unwrap();
    assert_eq!(plain, format!("{{\"a\": 1,\"digest\":\"{}\"}}", of("{\"a\":1}")));
    assert_eq!(with_digest(&plain, "m").unwrap(), plain);
    let changed = with_digest(&plain.replace(": 1", ": 2"), "m").unwrap();
    assert_eq!(changed, format!("{{\"a\": 2,\"digest\":\"{}\"}}", of("{\"a\":2}")));
    assert_eq!(with_digest("{}", "m").unwrap(), format!("{{\"digest\":\"{}\"}}", of("{}")));
    for wrong in ["", "[]", "{", "{\"a\": }", "7"] {
        assert!(with_digest(wrong, "m").is_err(), "{wrong}");
    }
}
