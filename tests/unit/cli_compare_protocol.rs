//! Unit tests of `src/cli/compare/protocol.rs`.

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
