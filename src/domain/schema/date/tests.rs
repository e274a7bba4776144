//! Tests of dates.

use super::*;

#[test]
fn dates_and_days_are_inverse_and_consecutive() {
    assert_eq!(
        (days("1970-01-01"), days("2000-03-01"), days("1969-12-31")),
        (Some(0), Some(11_017), Some(-1))
    );
    let (first, last) = (days("0001-01-01").unwrap(), days("9999-12-31").unwrap());
    let mut before = calendar(first - 1);
    for day in (first..=last).step_by(1) {
        let (year, month, of_month) = calendar(day);
        assert_eq!(days_of(year, month, of_month), day);
        assert!(before < (year, month, of_month));
        before = (year, month, of_month);
    }
    assert_eq!(days(&written(20_000)), Some(20_000));
}

#[test]
fn times_are_dropped_and_other_text_is_no_date() {
    for text in ["2024-02-29T10:00:00Z", "2024-02-29 23:59:59.5+01:00", "2024-02-29"] {
        assert_eq!(days(text), Some(19_782), "{text}");
    }
    for text in [
        "2023-02-29",
        "2024-13-01",
        "2024-00-10",
        "2024-1-01",
        "24-01-01",
        "20240101",
        "2024-02-29x",
        "",
    ] {
        assert_eq!(days(text), None, "{text}");
    }
    for text in ["-024-01-01", "2024-02-29T", "2024-02-2é", "+024-01-01", "2024-02-29T1é"] {
        assert_eq!(days(text), None, "{text}");
    }
}
