use super::*;
use crate::domain::Schema;

fn encoder(members: &str) -> Encoder {
    let text = format!("{{\"na_token\": \"N\", \"columns\": [{{\"name\": \"A\", {members}}}]}}");
    let schema = Schema::from_json(&text, "s").unwrap();
    Encoder::new(&schema.columns()[0], &schema).unwrap()
}

#[test]
fn codes_are_byte_exact_text() {
    let e = encoder(r#""kind": "categorical", "codes": ["1", "01", "", "a", "001"], "na": true"#);
    let found: Vec<Option<u32>> = ["1", "01", "", "a", "001", "N", "A", " 1", "10", "12345678"]
        .iter()
        .map(|cell| e.encode(cell.as_bytes()))
        .collect();
    let expected = [Some(0), Some(1), Some(2), Some(3), Some(4), Some(5), None, None, None, None];
    assert_eq!(found, expected);
    assert_eq!(e.encode(b"\0"), None);
}

#[test]
fn long_codes_and_a_declared_catch_all_work() {
    let e =
        encoder(r#""kind": "categorical", "codes": ["a long code", "x", "rest"], "other": "rest""#);
    assert_eq!(e.encode(b"a long code"), Some(0));
    assert_eq!(e.encode(b"never seen"), Some(2));
    let e = encoder(r#""kind": "categorical", "codes": ["a", "b"], "other": "b""#);
    assert_eq!((e.encode(b"z"), e.encode(b"never seen")), (Some(1), Some(1)));
}

#[test]
fn every_one_of_many_codes_is_found() {
    let codes: Vec<String> = (0..3000).map(|i| format!("\"{i:04}\"")).collect();
    let e = encoder(&format!("\"kind\": \"categorical\", \"codes\": [{}]", codes.join(",")));
    for i in 0..3000_u32 {
        assert_eq!(e.encode(format!("{i:04}").as_bytes()), Some(i));
    }
}

/// Codes that share beginning, end and length, so that their hashes may be equal, and codes of every length.
#[test]
fn long_codes_are_told_apart_wherever_they_differ() {
    let alike =
        (0..400).map(|i| format!("Manufacture of {i:03} and the like, not elsewhere classified"));
    let lengths = (0..60).map(|length| "x".repeat(length));
    let codes: Vec<String> = alike.chain(lengths).collect();
    let list = codes.iter().map(|code| format!("\"{code}\"")).collect::<Vec<_>>().join(",");
    let e = encoder(&format!("\"kind\": \"categorical\", \"codes\": [{list}]"));
    for (code, text) in (0..).zip(&codes) {
        assert_eq!(e.encode(text.as_bytes()), Some(code), "{text}");
    }
    assert_eq!(e.encode(b"Manufacture of 400 and the like, not elsewhere classified"), None);
    assert_eq!(e.encode("x".repeat(60).as_bytes()), None);
}

#[test]
fn numbers_are_parsed_as_people_write_them() {
    let e = encoder(r#""kind": "numeric", "edges": [-10, -0.5, 0.5, 6000], "na": true"#);
    for (cell, code) in [
        ("5000.0", Some(2)),
        ("0", Some(1)),
        ("-0", Some(1)),
        (" 7 ", Some(2)),
        ("1e3", Some(2)),
        ("-10", Some(0)),
        ("6000", None),
        ("-10.01", None),
        ("NaN", None),
        ("inf", None),
        ("-inf", None),
        ("", None),
        ("-", None),
        ("1,000", None),
        ("N", Some(3)),
    ] {
        assert_eq!(e.encode(cell.as_bytes()), code, "{cell}");
    }
}

#[test]
fn integer_codes_stay_below_their_size() {
    let e = encoder(r#""kind": "coded", "size": 3"#);
    for (cell, code) in
        [("2", Some(2)), ("2.0", Some(2)), ("3", None), ("-1", None), ("1.5", None), ("1e9", None)]
    {
        assert_eq!(e.encode(cell.as_bytes()), code, "{cell}");
    }
}
