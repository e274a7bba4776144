//! The public rules: regimes, shares of the budget and the schedule.

use super::*;

fn rho(value: f64) -> Rho {
    Rho::from_f64(value).unwrap()
}

#[test]
fn the_regime_follows_from_public_numbers() {
    let regime = |rho_value: f64, n: f64, m: f64| {
        let setting = Setting::new(rho(rho_value), n, m, 80.0, Chooser::Leader);
        (setting.regime, setting.has_base)
    };
    assert_eq!(regime(0.01, 30_000.0, 0.0), (Regime::Ample, false), "no public tables");
    assert_eq!(regime(0.01, 30_000.0, 15_000.0), (Regime::Ample, true));
    assert_eq!(regime(0.01, 300.0, 300.0), (Regime::Scarce, true), "a choice would be noise");
    assert_eq!(regime(0.01, 300.0, 0.0), (Regime::Scarce, false));
    assert_eq!(regime(1.0, 1e6, 1_000.0), (Regime::Ample, false), "public tables far too small");
}

/// K* is 540 cells at the first budget and 54,000, 27 times its limit, at the second.
#[test]
fn the_base_has_a_quarter_of_the_limit_or_less_where_measurements_beat_the_tables() {
    let base_mib = |budget: f64, limit: f64| {
        Setting::new(rho(budget), 30_000.0, 15_000.0, limit, Chooser::Leader).base_mib
    };
    for limit in [8.0, 80.0, 200.0] {
        assert!((base_mib(0.01, limit) - limit / 4.0).abs() < 1e-9);
        assert!((base_mib(1.0, limit) - limit / 4.0 / 27.0_f64.sqrt()).abs() < 1e-6 * limit);
    }
}

#[test]
fn the_parts_of_the_budget_add_up() {
    for (n, m) in [(30_000.0, 15_000.0), (300.0, 300.0), (1e7, 1e3), (30_000.0, 0.0)] {
        let budget = rho(0.37);
        let setting = Setting::new(budget, n, m, 80.0, Chooser::Leader);
        let mut schedule = setting.schedule(60, 15, 0.9).unwrap();
        let choices = setting.last_choice().units();
        assert_eq!(schedule.singles.units() + schedule.left.units() + choices, budget.units());
        let mut rounds = 0;
        while !schedule.left.is_zero() {
            let (left, cost) = (schedule.left, schedule.next().unwrap());
            assert!(cost.0.sum() <= left, "round {rounds}");
            schedule.advance(cost, rounds % 2 == 0);
            assert!(schedule.left < left);
            rounds += 1;
        }
        assert!(rounds >= 12, "{:?}: {rounds}", setting.regime);
    }
}

/// A round that tells nothing makes the next ones cost more, as long as enough rounds remain.
#[test]
fn few_attributes_without_public_tables_leave_few_rounds() {
    let rounds = |attributes: u32, m: f64| {
        let setting = Setting::new(rho(0.3), 3e4, m, 80.0, Chooser::Leader);
        let mut schedule = setting.schedule(4 * attributes, attributes as usize, 0.9).unwrap();
        let mut rounds = 0;
        while !schedule.left.is_zero() {
            let cost = schedule.next().unwrap();
            schedule.advance(cost, true);
            rounds += 1;
        }
        rounds
    };
    assert_eq!([rounds(6, 0.0), rounds(6, 1e4), rounds(20, 0.0), rounds(20, 1e4)], [7, 13, 14, 14]);
}

#[test]
fn a_coupled_run_pays_for_its_choice_by_its_unit() {
    let coupled =
        |rho_value: f64, n: f64| Setting::new(rho(rho_value), n, 1e4, 80.0, Chooser::Alone);
    for (rho_value, n, percent) in [(0.3, 30_000.0, 2), (1e-4, 30_000.0, 10), (0.003, 30_000.0, 3)]
    {
        let setting = coupled(rho_value, n);
        assert_eq!((setting.regime, setting.has_base), (Regime::CoupledWithAim, true));
        let share = 100.0 * setting.last_choice().to_f64() / rho_value;
        assert!((share - f64::from(percent)).abs() < 1e-6, "{rho_value}: {share}");
        let rounds = setting.rounds().units() + setting.last_choice().units();
        assert_eq!(rounds, rho(rho_value).units());
    }
    let without = Setting::new(rho(0.3), 3e4, 0.0, 80.0, Chooser::Alone);
    assert_eq!((without.regime, without.has_base), (Regime::CoupledWithAim, false));
    assert!(without.last_choice().is_zero(), "one model is no choice");
}
