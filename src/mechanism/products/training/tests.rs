use super::*;

#[test]
fn the_average_is_that_of_the_last_half() {
    let mut average = TailAverage::new(5);
    for round in 1..=5_u16 {
        average.take(round.into(), &[Array2::from_elem((1, 1), f32::from(round))]);
    }
    // Rounds 3, 4 and 5.
    let expected = 0.9 * (0.9 * 3.0 + 0.1 * 4.0) + 0.1 * 5.0;
    assert!((average.parameters.unwrap()[0][(0, 0)] - expected).abs() < 1e-6);
    let mut one = TailAverage::new(1);
    one.take(1, &[Array2::from_elem((1, 1), 7.0)]);
    assert_eq!(one.numbers(), Some(vec![vec![7.0]]));
}

#[test]
fn what_is_not_finite_is_found() {
    let numbers = |last: f32| vec![Array2::from_elem((1, 1), 1.0), Array2::from_elem((1, 2), last)];
    assert!(is_finite(&numbers(-3.0)));
    assert!(!is_finite(&numbers(f32::NAN)) && !is_finite(&numbers(f32::INFINITY)));
    // The largest error is never hidden by one that is not a number.
    assert!(largest(&[vec![0.5, f64::NAN, 0.1]]).is_infinite());
}
