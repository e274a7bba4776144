use std::cmp::Ordering;

use super::*;
use crate::domain::Domain;

fn table(rows: &[[u32; 2]]) -> Dataset {
    Dataset::from_rows(Domain::new([("x", 4), ("y", 3)]).unwrap(), rows).unwrap()
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
}

#[test]
fn scores_are_those_computed_by_hand() {
    // Trained: y = 1 in one of four records with x = 0, and in three of four with x = 1.
    let of = |x, zeros, ones| [vec![[x, 0]; zeros], vec![[x, 1]; ones]].concat();
    let trained = table(&[of(0, 3, 1), of(1, 1, 3)].concat());
    // Tested: 3 of 4 and 2 of 6 right. Of 4 · 6 pairs, with y = 1 and with y = 0, (x = 1, x = 0) is won and a tie is a half.
    let tested = table(&[of(0, 3, 2), of(1, 3, 2)].concat());
    let found = Classifier::train(&trained, 1).unwrap().test(&tested, 1);
    close(found.right, 0.5);
    close(found.area, (2.0 * 3.0 + 0.5 * (2.0 * 3.0 + 2.0 * 3.0)) / 24.0);
    let skewed = table(&[of(0, 4, 1), of(1, 1, 3)].concat());
    let found = Classifier::train(&trained, 1).unwrap().test(&skewed, 1);
    close(found.right, 7.0 / 9.0);
    close(found.area, (3.0 * 4.0 + 0.5 * (3.0 * 1.0 + 1.0 * 4.0)) / 20.0);
}

#[test]
fn the_area_counts_pairs() {
    let scores = [0.3, -1.0, 0.3, f64::MAX, 2.5, f64::MIN, 0.3, 2.5];
    let labels = [true, false, false, true, false, true, true, true];
    let mut won = 0.0;
    for (a, _) in scores.iter().zip(labels).filter(|(_, label)| *label) {
        for (b, _) in scores.iter().zip(labels).filter(|(_, label)| !*label) {
            won += match a.total_cmp(b) {
                Ordering::Greater => 1.0,
                Ordering::Equal => 0.5,
                Ordering::Less => 0.0,
            };
        }
    }
    close(area(&scores, &labels).unwrap(), won / 15.0);
    assert_eq!((area(&[1.0], &[true]), area(&[1.0], &[false])), (None, None));
}

#[test]
fn a_value_that_the_training_records_lack_is_never_predicted() {
    let real = table(&[[0, 0], [0, 0], [1, 1], [1, 1], [2, 2], [2, 2]]);
    let made = table(&[[0, 0], [1, 1], [2, 0], [0, 0], [1, 1]]);
    let found = Prediction::between(&real, &made, 1).unwrap();
    close(found.synthetic.right, 4.0 / 6.0);
    // y = 2 is a guess; y = 0 loses a half of its pairs with x = 2, which are half of them; y = 1 is perfect.
    close(found.synthetic.area, (0.5 + 0.75 + 1.0) / 3.0);
    close(found.real.right, 1.0);
    close(found.most_frequent, 1.0 / 3.0);
    // All are the same: it is always predicted.
    let found = Prediction::between(&real, &table(&[[0, 2], [1, 2]]), 1).unwrap();
    close(found.synthetic.right, 1.0 / 3.0);
    close(found.synthetic.area, 0.5);
}

#[test]
fn no_real_record_is_tested_by_a_classifier_that_has_seen_it() {
    // A record's x says nothing of other records, and everything of its own y.
    let domain = Domain::new([("x", 40), ("y", 2)]).unwrap();
    let rows: Vec<[u32; 2]> = (0..40).map(|i| [i, u32::from(i % 4 > 1)]).collect();
    let real = Dataset::from_rows(domain, &rows).unwrap();
    let found = Prediction::between(&real, &real, 1).unwrap();
    close(found.synthetic.right, 1.0);
    close(found.synthetic.area, 1.0);
    close(found.real.right, 0.5);
    close(found.real.area, 0.5);
}

#[test]
fn several_values_are_told_apart() {
    let rows: Vec<[u32; 2]> = (0..60).map(|i| [i % 4, (i % 4).min(2)]).collect();
    let found = Prediction::between(&table(&rows), &table(&rows[..30]), 1).unwrap();
    assert_eq!((found.synthetic.right, found.synthetic.area), (1.0, 1.0));
    assert_eq!((found.attribute.as_str(), found.most_frequent), ("y", 0.5));
}

#[test]
fn what_cannot_be_tested_is_refused() {
    let (real, other) = (table(&[[0, 1], [1, 2], [1, 0]]), Domain::new([("x", 4)]).unwrap());
    let other = Dataset::from_rows(other, &[[0]]).unwrap();
    assert!(Prediction::between(&real, &other, 1).is_err());
    assert!(Prediction::between(&real, &real, 2).is_err());
    for empty in [[&table(&[]), &real], [&real, &table(&[])], [&table(&[[0, 0]]), &real]] {
        assert!(Prediction::between(empty[0], empty[1], 1).is_err());
    }
}
