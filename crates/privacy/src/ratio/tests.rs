use super::*;

#[test]
fn a_ratio_is_reduced_and_a_zero_denominator_refused() {
    assert_eq!(Ratio::new(1 << 40, 1 << 38).unwrap(), Ratio::new(4, 1).unwrap());
    assert_eq!(Ratio::new(0, 7).unwrap().to_string(), "0/1");
    assert!(Ratio::new(1, 0).is_err());
    assert!(serde_json::from_str::<Ratio>(r#"{"numerator":1,"denominator":0}"#).is_err());
}
