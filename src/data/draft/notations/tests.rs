use super::*;

fn found(texts: &[&str], decimal: Option<char>) -> Option<(String, Option<String>)> {
    let found = notation_of(texts, &Hints::default(), decimal)?;
    let text = |notation: &Notation| notation.text().to_owned();
    Some((text(&found.notation), found.doubt.as_ref().map(text)))
}

#[test]
fn notations_are_found_from_cells() {
    let of = |texts: &[&str]| found(texts, None).map(|(text, _)| text);
    assert_eq!(of(&["1", "2.5", "-3"]), None, "plain numbers");
    assert_eq!(of(&["2024-01-05"]), None, "plain dates");
    assert_eq!(of(&["E11", "A,B"]), None, "codes");
    for (texts, expected) in [
        (&["23963,84", "12,5", "7"][..], "1234,56"),
        (&["5.664,39 \u{20ac}", "12,00 \u{20ac}"], "1.234,56 \u{20ac}"),
        (&["$1,234", "$12"], "$1,234"),
        (&["1,234.50", "0.75"], "1,234.56"),
        (&["12 %", "7.5 %"], "1234.56 %"),
        (&["1\u{a0}234", "567"], "1\u{a0}234"),
        (&["01.08.2016", "31.12.2016"], "DD.MM.YYYY"),
        (&["8/1/2016", "12/31/2016"], "M/D/YYYY"),
        (&["31/12/2016", "01/08/2016"], "DD/MM/YYYY"),
        (&["17:53", "7:05"], "HH:MM"),
        (&["17:53:01"], "HH:MM:SS"),
    ] {
        assert_eq!(of(texts).as_deref(), Some(expected), "{texts:?}");
    }
}

#[test]
fn what_may_be_read_in_two_ways_is_said_and_decided_by_other_columns_or_a_person() {
    let thousands = ["1,234", "12,500"];
    assert_eq!(found(&thousands, None), Some(("1,234".into(), Some("1234,56".into()))));
    assert_eq!(found(&thousands, Some(',')).unwrap().0, "1234,56");
    assert_eq!(found(&["1.234", "12.500"], Some(',')), None, "plain numbers already");
    let days = ["01/08/2016", "02/03/2016"];
    assert_eq!(found(&days, None), Some(("MM/DD/YYYY".into(), Some("DD/MM/YYYY".into()))));
    assert_eq!(found(&days, Some(',')).unwrap().0, "DD/MM/YYYY");
    let hints = Hints { dates: Some("DD/MM/YYYY".into()), ..Hints::default() };
    let told = notation_of(&days, &hints, None).unwrap();
    assert_eq!((told.notation.text(), told.doubt), ("DD/MM/YYYY", None));
    let hints = Hints { decimal: Some(','), ..Hints::default() };
    let told = notation_of(&thousands, &hints, None).unwrap();
    assert_eq!((told.notation.text(), told.doubt), ("1234,56", None));
    // A leading zero is no group.
    assert_eq!(found(&["0,125", "1,250"], None), Some(("1234,56".into(), None)));
}
