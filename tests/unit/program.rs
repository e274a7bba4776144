//! Unit tests of `src/program.rs`.

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
