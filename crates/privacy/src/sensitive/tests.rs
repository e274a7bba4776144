use super::*;

#[test]
fn computing_with_sealed_values_computes_with_what_they_hold() {
    let counts = Sensitive::new(vec![3_u32, 4]);
    let sum = counts.as_ref().map(|c| c.iter().sum::<u32>());
    assert_eq!(sum.zip(counts).0, (7, vec![3, 4]));
}
