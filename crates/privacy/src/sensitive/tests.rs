use super::*;

#[test]
fn computing_with_sealed_values_computes_with_what_they_hold() {
    let counts = Sensitive::beside(vec![3_u32, 4], vec![vec![3, 5], vec![3, 1]]);
    let mut sum = counts.map(|c| c.iter().sum::<u32>());
    sum.update(&counts, |sum, c| *sum += c[0]);
    assert_eq!(sum.value, 10);
    assert_eq!(sum.compare(|a, b| f64::from(a.abs_diff(*b))), [1.0, 3.0]);
}
