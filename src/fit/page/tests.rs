use super::*;

#[test]
fn counts_are_written_for_readers() {
    let written = [0.0, -0.04, 0.06, 12.34, -99.96, 1234.5, -1e6].map(number);
    assert_eq!(written, ["0", "0", "0.1", "12.3", "\u{2212}100", "1,235", "\u{2212}1,000,000"]);
    assert_eq!([3.0, -3.0].map(signed), ["+3", "\u{2212}3"]);
}

#[test]
fn what_is_known_of_a_count_is_said_as_it_is() {
    let known = |least, most, stddev| {
        let count =
            Count { table: 0, cell: 0, known: (least, most, stddev), fitted: 4.0, off: -3.0 };
        (count.known_in_words(), count.given(), count.size())
    };
    assert_eq!(known(-7.0, -7.0, 2.0), ("\u{2212}7 \u{b1} 2 (sd)".into(), Some(0.0), 1.5));
    assert_eq!(known(3.0, 7.0, 0.0), ("3 to 7".into(), Some(5.0), 1.5));
    assert_eq!(known(7.0, 7.0, 0.0), ("7".into(), Some(7.0), 1.5));
    assert_eq!(known(7.0, f64::INFINITY, 0.0), ("at least 7".into(), None, 1.5));
}
