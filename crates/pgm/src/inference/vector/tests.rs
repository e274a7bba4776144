use super::*;

#[test]
fn exponentials_are_those_of_the_standard_library() {
    let logs: Vec<f64> = (-7_080_000..7_090_000).map(|i| f64::from(i) * 1e-4).collect();
    let mut found = vec![0.0; logs.len()];
    exp(&logs, 0.0, &mut found);
    let worst =
        logs.iter().zip(&found).map(|(x, found)| (found / x.exp() - 1.0).abs()).fold(0.0, f64::max);
    assert!(worst < 5e-16, "{worst:e}");
}

#[test]
fn far_exponents_are_zero_and_shifts_are_subtracted() {
    let mut found = [1.0; 5];
    exp(&[f64::NEG_INFINITY, -709.0, -1e300, 3.0, 4.0], 3.0, &mut found);
    assert_eq!(found[..4], [0.0, 0.0, 0.0, 1.0]);
    let mut table = [4.0];
    exp_in_place(&mut table, 3.0);
    assert_eq!(found[4].to_bits(), table[0].to_bits());
}

#[test]
fn a_message_down_is_the_belief_without_the_message_up() {
    for cells in [1, 7, 8, 29, 70_001] {
        let up: Vec<f64> =
            (0..cells).map(|i| if i % 5 == 3 { 1e-300 } else { f64::from(i) + 1.0 }).collect();
        let belief: Vec<f64> = (0..cells).map(|i| f64::from(i % 3) + 0.5).collect();
        let sum: f64 = belief.iter().sum();
        let mut down = vec![f64::NAN; belief.len()];
        let lost = message_down(&belief, &up, 1e-290, &mut down);
        let mut expected = 0.0;
        for ((d, b), u) in down.iter().zip(&belief).zip(&up) {
            if *u > 1e-290 {
                assert!((d * u - b / sum).abs() < 1e-15, "{cells}");
            } else {
                expected += b / sum;
                assert!(d.to_bits() == 0);
            }
        }
        assert!((lost - expected).abs() < 1e-12 * expected.max(1e-3));
        let mut copy = vec![f64::NAN; up.len()];
        let largest = copy_and_largest(&up, &mut copy);
        assert_eq!(largest.to_bits(), up.iter().copied().fold(0.0, f64::max).to_bits());
        assert_eq!(copy, up);
    }
    assert!(copy_and_largest(&[], &mut []).to_bits() == 0);
}

#[test]
fn numbers_that_are_no_logs_are_found_anywhere() {
    for place in 0..19 {
        for bad in [f64::NAN, f64::INFINITY] {
            let mut logs = vec![-1.0; 19];
            logs[place] = bad;
            assert_eq!(largest_log(&logs), None);
            logs[place] = 5.0;
            assert_eq!(largest_log(&logs), Some(5.0));
        }
    }
    assert_eq!(largest_log(&[f64::NEG_INFINITY]), Some(f64::NEG_INFINITY));
}
