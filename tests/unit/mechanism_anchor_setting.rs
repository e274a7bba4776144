//! The public rules: regimes, shares of the budget and the schedule.

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
