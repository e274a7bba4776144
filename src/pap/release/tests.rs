use super::{Answer, Answering, ColumnShares, PapRelease};
use crate::pap::tree::Fit;
use crate::pap::{Cuts, Query};
use crate::privacy::{Ledger, NeighboringRelation, Rho};

/// Cuts 0, 10, 20 and counts 10, 20, 40, 20, 10 missing, with a deviation of 2 at each cut; z = 2.
fn release() -> PapRelease {
    let fit = Fit {
        leaves: vec![10.0, 20.0, 40.0, 20.0, 10.0],
        prefix_variances: vec![4.0, 4.0, 4.0, 4.0, 0.0],
    };
    let cuts = Cuts::new("x", [0.0, 10.0, 20.0]).unwrap();
    PapRelease {
        columns: vec![ColumnShares::new(&cuts, &fit, 2.0)],
        joint: Vec::new(),
        measured: Vec::new(),
        confidence: 0.95,
        relation: NeighboringRelation::ReplaceOne,
        is_private: true,
        ledger: Ledger::new(Rho::ZERO),
    }
}

fn near(found: Answer, [value, low, high]: [f64; 3]) {
    let pairs = [(found.value, value), (found.low, low), (found.high, high)];
    let is_near = |(a, b): &(f64, f64)| a.total_cmp(b).is_eq() || (a - b).abs() < 1e-12;
    assert!(pairs.iter().all(is_near), "{found:?}");
}

#[test]
fn answers_are_interpolated_and_brackets_are_those_of_the_cuts_around() {
    let release = release();
    let ask = |text: &str| release.answer(&text.parse().unwrap()).unwrap();
    near(ask("x <= 0"), [0.1, 0.06, 0.14]);
    near(ask("x <= 5"), [0.2, 0.06, 0.34]);
    near(ask("x < 10"), [0.3, 0.06, 0.34]);
    near(ask("x <= -3"), [0.0, 0.0, 0.14]);
    near(ask("x <= 21"), [0.7, 0.66, 0.94]);
    near(ask("x > 20"), [0.2, 0.12, 0.28]);
    near(ask("x > 25"), [0.2, 0.0, 0.28]);
    near(ask("0 < x <= 20"), [0.6, 0.52, 0.68]);
    near(ask("2 < x <= 4"), [0.04, 0.0, 0.28]);
    assert!(release.answer(&"y <= 3".parse().unwrap()).is_err());
}

/// A question is answered as the one about cuts that holds for the same of 0, 10 and 20. Brackets are those of what is asked.
#[test]
fn the_nearest_question_holds_for_the_same_cuts() {
    let release = release();
    let ask = |text: &str| release.answer_by(&text.parse().unwrap(), Answering::Nearest).unwrap();
    near(ask("x <= 5"), [0.1, 0.06, 0.34]);
    near(ask("x < 10"), [0.1, 0.06, 0.34]);
    near(ask("x <= 10"), [0.3, 0.26, 0.34]);
    near(ask("x <= -3"), [0.0, 0.0, 0.14]);
    near(ask("x <= 21"), [0.7, 0.66, 0.94]);
    near(ask("x > 25"), [0.2, 0.0, 0.28]);
    near(ask("-5 < x <= 15"), [0.3, 0.12, 0.74]);
    near(ask("2 < x <= 4"), [0.0, 0.0, 0.28]);
    assert!(release.answer_by(&"y <= 3".parse().unwrap(), Answering::Nearest).is_err());
}

#[test]
fn quantiles_are_of_the_values_that_are_not_missing() {
    let release = release();
    // 90 values of 100 records, between 86 and 94: the median has 43 to 47 at or below it.
    near(release.quantile("x", 0.5).unwrap(), [13.75, 10.0, 20.0]);
    near(release.quantile("x", 0.05).unwrap(), [0.0, f64::NEG_INFINITY, 0.0]);
    near(release.quantile("x", 0.99).unwrap(), [20.0, 20.0, f64::INFINITY]);
    assert!(release.quantile("x", 1.0).is_err() && release.quantile("y", 0.5).is_err());
}

#[test]
fn brackets_of_one_cut_narrow_those_of_others() {
    let fit =
        Fit { leaves: vec![50.0, -20.0, 30.0, 40.0], prefix_variances: vec![1.0, 1.0, 25.0, 0.0] };
    let column = ColumnShares::new(&Cuts::new("x", [1.0, 2.0]).unwrap(), &fit, 1.0);
    // Sums 50, 30, 60 ± 5: non-decreasing 40, 40, 60. At most 31 at the first cut, as at the second, and at least 49 at both.
    near(column.shares[0], [0.4, 0.4, 0.4]);
    near(column.shares[2], [0.6, 0.55, 0.65]);
}

#[test]
fn an_uncertain_number_of_records_widens_brackets() {
    let fit = Fit { leaves: vec![50.0, 40.0, 10.0], prefix_variances: vec![0.0, 0.0, 100.0] };
    let cuts = Cuts::new("x", [1.0]).unwrap();
    near(ColumnShares::new(&cuts, &fit, 2.0).shares[0], [0.5, 50.0 / 120.0, 50.0 / 80.0]);
    near(ColumnShares::new(&cuts, &fit, 10.0).shares[0], [0.5, 0.25, 1.0]);
}

#[test]
fn a_changed_file_is_refused() {
    let text = release().to_json().unwrap();
    assert_eq!(PapRelease::from_json(&text, "f").unwrap(), release());
    for (from, to) in [
        ("\"confidence\": 0.95", "\"confidence\": 1.5"),
        ("\"value\": 0.1,", "\"value\": 0.9,"),
        ("\"low\": 0.06", "\"low\": -1"),
        ("\"records\": 100.0", "\"records\": 0.0"),
        ("10.0,\n", ""),
        ("\"is_private\"", "\"private\""),
        ("\"version\": 1", "\"version\": 2"),
        ("jointly-thresholds", "thresholds"),
    ] {
        assert!(text.contains(from), "{from} in {text}");
        assert!(PapRelease::from_json(&text.replacen(from, to, 1), "f").is_err(), "{to}");
    }
}

#[test]
fn queries_are_read_from_text() {
    let read = |text: &str| text.parse::<Query>();
    assert_eq!(read("x<=5").unwrap(), Query::at_most("x", 5.0).unwrap());
    assert_eq!(read(" a b  <  5 ").unwrap(), Query::at_most("a b", 5_f64.next_down()).unwrap());
    assert_eq!(read("x > 5").unwrap(), Query::between("x", 5.0, f64::INFINITY).unwrap());
    let closed = Query::between("x", 1_f64.next_down(), 5.0).unwrap();
    assert_eq!(read("1 <= x <= 5").unwrap(), closed);
    assert_eq!(closed.to_string().parse::<Query>().unwrap(), closed);
    for text in ["", "x", "x <=", "<= 5", "5 <= 6", "x <= y", "x <= inf", "1 > x > 0", "5 < x <= 1"]
    {
        assert!(read(text).is_err(), "{text}");
    }
    for text in ["1 < 2 < 3", "x = 5", "x << 5", "1 < x <= 5 < 6", "\u{e9} < \u{20ac}", "x => 5"] {
        assert!(read(text).is_err(), "{text}");
    }
}
