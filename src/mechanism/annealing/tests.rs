use super::*;

#[test]
fn a_step_is_a_part_of_the_budget_and_annealing_costs_four_times_as_much() {
    let budget = Rho::from_units(16_000);
    let step = Step::first(budget, 16, 0.9).unwrap();
    assert_eq!(
        (step.0.measure.units() + step.0.select.units(), step.0.sum().units()),
        (1000, 1000)
    );
    assert_eq!(step.annealed().0.sum().units(), 4000);
    assert_eq!(step.raised_to(step.annealed().annealed().0.measure).0.sum().units(), 16_000);
    assert_eq!(step.raised_to(step.0.measure), step);
    assert!(Step::first(Rho::from_units(3), 16, 0.9).is_err());
}

#[test]
fn less_than_two_steps_are_spent_in_one() {
    let step = Step::first(Rho::from_units(16_000), 16, 0.9).unwrap();
    assert_eq!(step.or_all(Rho::from_units(2000), 0.9).unwrap(), step);
    let last = step.or_all(Rho::from_units(1999), 0.9).unwrap();
    assert_eq!(last.0.sum().units(), 1999);
    assert!((1798..=1800).contains(&last.0.measure.units()));
    assert_eq!((step.rounds_after(Rho::from_units(1999)), step.rounds_after(budget())), (0, 15));
}

fn budget() -> Rho {
    Rho::from_units(16_000)
}
