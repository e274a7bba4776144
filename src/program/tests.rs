use super::*;

type Terms<'t> = &'t [(usize, f64)];

fn program(objective: &[f64], constraints: &[(Terms<'_>, Comparison, f64)]) -> LinearProgram {
    let constraints = constraints.iter().map(|(terms, comparison, bound)| Constraint {
        terms: terms.to_vec(),
        comparison: *comparison,
        bound: *bound,
    });
    LinearProgram { objective: objective.to_vec(), constraints: constraints.collect() }
}

#[test]
fn a_matrix_game_has_the_value_computed_by_hand() {
    // min t with  2 p ≤ t,  1 − p ≤ t,  p + rest = 1: p = 1/3, t = 2/3, and the duals are the opponent's (1/3, 2/3).
    let program = program(
        &[1.0, 0.0, 0.0],
        &[
            (&[(0, -1.0), (1, 2.0)], Comparison::AtMost, 0.0),
            (&[(0, -1.0), (2, 1.0)], Comparison::AtMost, 0.0),
            (&[(1, 1.0), (2, 1.0)], Comparison::Equal, 1.0),
        ],
    );
    let solution = program.solve().unwrap();
    for (found, expected) in solution.values.iter().zip([2.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0]) {
        assert!((found - expected).abs() < 1e-7, "{found} against {expected}");
    }
    for (found, expected) in solution.duals.iter().zip([1.0 / 3.0, 2.0 / 3.0]) {
        assert!((found - expected).abs() < 1e-7, "{found} against {expected}");
    }
}

#[test]
fn programs_without_a_finite_optimum_are_errors() {
    let unbounded = program(&[-1.0], &[(&[(0, -1.0)], Comparison::AtMost, 1.0)]);
    let infeasible = program(&[1.0], &[(&[(0, 1.0)], Comparison::AtMost, -1.0)]);
    let outside = program(&[1.0], &[(&[(1, 1.0)], Comparison::Equal, 1.0)]);
    let not_finite = program(&[f64::NAN], &[]);
    for program in [unbounded, infeasible, outside, not_finite] {
        let message = program.solve().unwrap_err().to_string();
        assert!(message.starts_with("linear program: "), "{message}");
    }
}

/// `Σ gains x` with `Σ costs x ≤ bound` over x in {0, 1}.
fn knapsack(gains: &[f64], costs: &[f64], bound: f64) -> IntegerProgram {
    let terms = costs.iter().copied().enumerate().collect();
    let constraints = vec![Constraint { terms, comparison: Comparison::AtMost, bound }];
    IntegerProgram { objective: gains.to_vec(), binaries: gains.len(), constraints }
}

#[test]
fn a_knapsack_is_filled_as_well_as_brute_force_does() {
    let gains = [1.87, 3.22, 9.91, 8.31, 7.0, 5.15, 8.01, 2.22, 7.04, 8.99, 2.13, 8.02];
    let costs = [6.03, 8.03, 5.16, 1.72, 6.33, 8.2, 4.63, 1.5, 6.26, 9.62, 4.0, 8.02];
    let sum = |values: &[f64], chosen: u32| -> f64 {
        values.iter().enumerate().filter(|(i, _)| chosen >> i & 1 == 1).map(|(_, v)| v).sum()
    };
    let fits = (0..1_u32 << gains.len()).filter(|chosen| sum(&costs, *chosen) <= 25.0);
    let best = fits.map(|chosen| sum(&gains, chosen)).fold(0.0, f64::max);
    let program = knapsack(&gains, &costs, 25.0);
    let solution = program.solve(10_000, &[0.0; 12]).unwrap().unwrap();
    let value: f64 = gains.iter().zip(&solution.values).map(|(gain, x)| gain * x).sum();
    assert!(solution.proved && (value - best).abs() < 1e-9, "{value}, {best} by brute force");
    assert!(solution.values.iter().all(|x| [0.0, 1.0].contains(x)));
}

#[test]
fn without_nodes_an_integer_program_keeps_its_start_and_proves_nothing() {
    let gains: Vec<f64> = (0..30).map(|i| 1.0 + f64::from(i * i % 7) / 10.0).collect();
    let costs: Vec<f64> = (0..30).map(|i| 1.0 + f64::from(i * i % 11) / 10.0).collect();
    let mut start = vec![0.0; 30];
    start[3] = 1.0;
    if let Some(solution) = knapsack(&gains, &costs, 7.3).solve(0, &start).unwrap() {
        let value: f64 = gains.iter().zip(&solution.values).map(|(gain, x)| gain * x).sum();
        assert!(!solution.proved && value >= gains[3]);
    }
    let mut infeasible = knapsack(&[1.0], &[1.0], -1.0);
    assert_eq!(infeasible.solve(100, &[0.0]).unwrap(), None);
    infeasible.constraints[0].terms[0].0 = 7;
    assert!(infeasible.solve(100, &[0.0]).is_err());
}
