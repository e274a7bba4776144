use super::*;

#[test]
fn ranks_of_equal_numbers_are_shared() {
    assert_eq!(ranks(&[5.0, 1.0, 5.0, 7.0], &[1.0; 4]), [2.0, 0.5, 2.0, 3.5]);
    assert_eq!(ranks(&[5.0, 1.0, 5.0, 7.0], &[1.0, 4.0, 2.0, 1.0]), [5.5, 2.0, 5.5, 7.5]);
    assert!(ranks(&[], &[]).is_empty());
}

#[test]
fn correlations_leave_out_records_that_lack_a_number() {
    let a = [1.0, 2.0, f64::NAN, 4.0, 100.0];
    let b = [1.0, 4.0, 9.0, 16.0, f64::NAN];
    let [pearson, spearman] = correlations(&a, &b, None).unwrap();
    // (1, 1), (2, 4), (4, 16): deviations (-4/3, -1/3, 5/3) and (-6, -3, 9).
    let expected = 24.0 / ((42.0_f64 / 9.0).sqrt() * 126.0_f64.sqrt());
    assert!((pearson - expected).abs() < 1e-12, "{pearson}");
    assert!((spearman - 1.0).abs() < 1e-12);
    assert_eq!(correlations(&[1.0, 1.0], &[1.0, 2.0], None), None, "a constant column");
    assert_eq!(correlations(&[1.0], &[2.0], None), None);
}

#[test]
fn a_record_of_weight_two_is_two_records() {
    let (a, b) = ([1.0, 5.0, 2.0, 9.0], [3.0, 1.0, 4.0, 4.0]);
    let weighted = correlations(&a, &b, Some(&[2.0, 1.0, 0.0, 3.0])).unwrap();
    let repeated =
        correlations(&[1.0, 1.0, 5.0, 9.0, 9.0, 9.0], &[3.0, 3.0, 1.0, 4.0, 4.0, 4.0], None);
    for (one, other) in weighted.iter().zip(repeated.unwrap()) {
        assert!((one - other).abs() < 1e-12, "{one} and {other}");
    }
}
