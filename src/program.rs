//! Linear programs: the one place that talks to [`good_lp`] and its interior-point solver Clarabel.

use good_lp::solvers::clarabel::clarabel as solver;
use good_lp::{
    DualValues, Expression, ProblemVariables, Solution, SolutionWithDual, SolverModel, variable,
};

use crate::error::{Error, Result};

/// How a row's two sides compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// a · x ≤ b.
    AtMost,
    /// a · x = b.
    Equal,
}

/// One constraint of a [`LinearProgram`].
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// Variables by position, with their coefficients.
    pub terms: Vec<(usize, f64)>,
    /// How a · x compares with the bound.
    pub comparison: Comparison,
    /// The bound b.
    pub bound: f64,
}

/// Minimize c · x over x ≥ 0, subject to constraints.
///
/// ```
/// use jointly::program::{Comparison, Constraint, LinearProgram};
/// // The smallest x₀ + 2 x₁ with x₀ + x₁ = 3 and x₀ ≤ 1.
/// let constraint = |terms: &[(usize, f64)], comparison, bound| Constraint {
///     terms: terms.to_vec(),
///     comparison,
///     bound,
/// };
/// let program = LinearProgram {
///     objective: vec![1.0, 2.0],
///     constraints: vec![
///         constraint(&[(0, 1.0), (1, 1.0)], Comparison::Equal, 3.0),
///         constraint(&[(0, 1.0)], Comparison::AtMost, 1.0),
///     ],
/// };
/// let solution = program.solve()?;
/// assert!((solution.values[0] - 1.0).abs() < 1e-6 && (solution.values[1] - 2.0).abs() < 1e-6);
/// assert!((solution.duals[1] - 1.0).abs() < 1e-6); // a larger bound would save as much
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LinearProgram {
    /// The costs c, one for each variable.
    pub objective: Vec<f64>,
    /// The constraints.
    pub constraints: Vec<Constraint>,
}

/// An optimal point of a [`LinearProgram`] and its dual, both to the solver's accuracy of about 10⁻⁸.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearSolution {
    /// The variables x.
    pub values: Vec<f64>,
    /// For each constraint, how much the optimum falls when its bound rises by one: at least 0 for `AtMost`.
    pub duals: Vec<f64>,
}

impl LinearProgram {
    /// Solves the program by Clarabel's interior-point method.
    ///
    /// # Errors
    /// A variable that does not exist, a number that is not finite, a program without a finite optimum, or one on which
    /// the solver fails.
    pub fn solve(&self) -> Result<LinearSolution> {
        self.check()?;
        let mut variables = ProblemVariables::new();
        let x: Vec<_> = self.objective.iter().map(|_| variables.add(variable().min(0))).collect();
        let sum = |terms: &mut dyn Iterator<Item = (usize, f64)>| {
            let mut sum = Expression::default();
            terms.for_each(|(i, a)| sum.add_mul(a, x[i]));
            sum
        };
        let objective = sum(&mut self.objective.iter().copied().enumerate());
        let mut problem = variables.minimise(objective).using(solver);
        let mut references = Vec::with_capacity(self.constraints.len());
        for Constraint { terms, comparison, bound } in &self.constraints {
            let left = sum(&mut terms.iter().copied());
            references.push(problem.add_constraint(match comparison {
                Comparison::AtMost => left.leq(*bound),
                Comparison::Equal => left.eq(*bound),
            }));
        }
        let mut solution = problem.solve().map_err(|error| unsolved(&error.to_string()))?;
        let values: Vec<f64> = x.iter().map(|x| solution.value(*x)).collect();
        // An unbounded program comes back as a direction, which proves no bound.
        let status = solution.inner().status.to_string();
        if !matches!(&*status, "Solved" | "AlmostSolved") || values.iter().any(|x| !x.is_finite()) {
            return Err(unsolved(&status));
        }
        let prices = solution.compute_dual();
        let duals = references.into_iter().map(|reference| -prices.dual(reference)).collect();
        Ok(LinearSolution { values, duals })
    }

    fn check(&self) -> Result<()> {
        let terms = self.constraints.iter().flat_map(|c| c.terms.iter());
        let mut numbers = (self.objective.iter().copied())
            .chain(self.constraints.iter().map(|c| c.bound))
            .chain(terms.clone().map(|(_, a)| *a));
        if numbers.any(|number| !number.is_finite()) {
            return Err(refused("a number that is not finite", "finite numbers"));
        }
        let variables = self.objective.len();
        if let Some((outside, _)) = terms.clone().find(|(i, _)| *i >= variables) {
            let expected = format!("one of the {variables} variables");
            return Err(refused(&format!("variable {outside}"), &expected));
        }
        Ok(())
    }
}

fn refused(found: &str, expected: &str) -> Error {
    Error::invalid_specification("linear program", found, expected)
}

fn unsolved(found: &str) -> Error {
    refused(&format!("solver says '{found}'"), "a finite optimum")
}

#[cfg(test)]
mod tests {
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
        // min t with 2 p ≤ t, 1 − p ≤ t, p + rest = 1: p = 1/3, t = 2/3, and the duals are the opponent's (1/3, 2/3).
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
}
