use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn a_split_loses_nothing(units: u64, n in 0_u64..1000, more in 0_u64..1000) {
        let (part, rest) = Rho(units).split(n, n + more + 1).unwrap();
        prop_assert_eq!(part.checked_add(rest), Some(Rho(units)));
    }

    #[test]
    fn conversion_from_a_number_rounds_down_by_less_than_a_unit(rho in 0.0..8000.0_f64) {
        let found = Rho::from_f64(rho).unwrap();
        prop_assert!(found.to_f64() <= rho && Rho(found.0 + 1).to_f64() > rho);
    }

    #[test]
    fn what_is_written_is_read_back(units: u64) {
        let text = serde_json::to_string(&Rho(units)).unwrap();
        prop_assert_eq!(serde_json::from_str::<Rho>(&text).unwrap(), Rho(units));
    }
}

#[test]
fn numbers_that_are_no_budget_are_refused() {
    for rho in [-1e-9, f64::NAN, f64::INFINITY, 16_777_216.0] {
        assert!(Rho::from_f64(rho).is_err(), "{rho}");
    }
    assert!(Rho(5).fraction(1.5).is_err() && Rho(5).fraction(f64::NAN).is_err());
    assert_eq!(Rho(5).fraction(1.0).unwrap(), (Rho(5), Rho(0)));
    assert_eq!(Rho(5).split(2, 1), None);
    assert_eq!(Rho(5).split(0, 0), None);
}

#[test]
fn a_readable_value_that_contradicts_the_units_is_refused() {
    assert!(serde_json::from_str::<Rho>(r#"{"units":1099511627776,"rho":0.5}"#).is_err());
    assert!(serde_json::from_str::<Rho>(r#"{"units":1099511627776,"rho":1.0}"#).is_ok());
}
