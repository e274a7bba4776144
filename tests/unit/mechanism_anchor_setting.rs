//! The public rules: regimes, shares of the budget, the schedule, and the gain.

use super::*;

fn rho(value: f64) -> Rho {
    Rho::from_f64(value).unwrap()
}

#[test]
fn the_regime_follows_from_public_numbers() {
    let regime = |rho_value: f64, n: f64, m: f64| Setting::new(rho(rho_value), n, m, 80.0).regime;
    assert_eq!(regime(0.01, 30_000.0, 0.0), Regime::NoPublicTables);
    assert_eq!(regime(0.01, 30_000.0, 15_000.0), Regime::Picked);
    assert_eq!(regime(0.01, 300.0, 300.0), Regime::Predicted, "picks of few records are noise");
    assert_eq!(regime(1.0, 1e6, 1_000.0), Regime::Alone, "public tables that are far too small");
}

#[test]
fn the_parts_of_the_budget_add_up() {
    for (n, m) in [(30_000.0, 15_000.0), (300.0, 300.0), (1e7, 1e3), (30_000.0, 0.0)] {
        let budget = rho(0.37);
        let setting = Setting::new(budget, n, m, 80.0);
        let mut schedule = setting.schedule(60, 15, 0.9).unwrap();
        let picks = setting.first_pick().units() + setting.last_pick().units();
        assert_eq!(schedule.singles.units() + schedule.left.units() + picks, budget.units());
        let mut rounds = 0;
        while !schedule.left.is_zero() {
            let (left, cost) = (schedule.left, schedule.next().unwrap());
            assert!(cost.0.sum() <= left, "round {rounds}");
            schedule.advance(cost, rounds % 2 == 0);
            assert!(schedule.left < left);
            rounds += 1;
        }
        assert!(rounds >= if m > 0.0 { 12 } else { 3 }, "{:?}: {rounds}", setting.regime);
    }
}

#[test]
fn the_gain_grows_by_less_than_the_error() {
    for noise in [0.0, 1e-9, 1.0, 37.5, 1e9] {
        for error in [0.0, 1e-12, 0.5, 30.0, 1e4, 1e9] {
            let gain = Gain::Shrunk.of(error, noise);
            // Without the cancellation: e (1 - a/h) = e³ / (h (h + a)).
            let both = (error * error + noise * noise).sqrt().max(f64::MIN_POSITIVE);
            let exact = error * (error / (both + noise)) * (error / both);
            assert!(gain >= 0.0 && gain <= error);
            assert!((gain - exact).abs() <= 1e-15 * error, "{error} {noise}");
            for change in [1.0, 2.0, 32.0] {
                let moved = Gain::Shrunk.of(error + change, noise) - gain;
                assert!(moved >= 0.0 && moved <= change * (1.0 + 1e-6), "{error} {noise} {moved}");
            }
        }
    }
    assert!((Gain::AboveNoise.of(5.0, 7.0) + 2.0).abs() < 1e-12);
}
