//! Linear programs: the one place that talks to [`good_lp`] and its interior-point solver Clarabel.

use good_lp::solvers::clarabel::clarabel as solver;
use good_lp::{
    DualValues, Expression, ProblemVariables, Solution, SolutionWithDual, SolverModel, variable,
};

use crate::error::{Error, Result};

/// How a row's two sides compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// a · x ≤ b.
    AtMost,
    /// a · x = b.
    Equal,
}

/// One constraint of a [`LinearProgram`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Constraint {
    /// Variables by position, with their coefficients.
    pub terms: Vec<(usize, f64)>,
    /// How a · x compares with the bound.
    pub comparison: Comparison,
    /// The bound b.
    pub bound: f64,
}

/// Minimize c · x over x ≥ 0, subject to constraints.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LinearProgram {
    /// The costs c, one for each variable.
    pub objective: Vec<f64>,
    /// The constraints.
    pub constraints: Vec<Constraint>,
}

/// An optimal point of a [`LinearProgram`] and its dual, both to the solver's accuracy of about 10⁻⁸.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LinearSolution {
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
    pub(crate) fn solve(&self) -> Result<LinearSolution> {
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
#[path = "../tests/unit/program.rs"]
mod tests;
