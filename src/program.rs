//! Linear and integer programs: the one place that talks to [`good_lp`] and its interior-point solver Clarabel, and to
//! [`microlp`], whose branch and bound solves integer programs. (`good_lp` can call it too, but passes on no limit of
//! nodes, and a limit of seconds would make a run depend on the machine.)

use good_lp::solvers::clarabel::clarabel as solver;
use good_lp::{
    DualValues, Expression, ProblemVariables, Solution, SolutionWithDual, SolverModel, variable,
};

use microlp::{ComparisonOp, OptimizationDirection, Problem, SolveOptions};

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

/// Maximize c · x over x in [0, 1], the first of which are whole, subject to constraints.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IntegerProgram {
    /// The gains c, one for each variable.
    pub objective: Vec<f64>,
    /// Number of variables that must be 0 or 1; they come first.
    pub binaries: usize,
    /// The constraints.
    pub constraints: Vec<Constraint>,
}

/// A point of an [`IntegerProgram`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IntegerSolution {
    /// The variables x; the binary ones are exactly 0 or 1.
    pub values: Vec<f64>,
    /// Whether no point is better, to the solver's accuracy.
    pub proved: bool,
}

impl IntegerProgram {
    /// Solves the program by branch and bound, looking at no more than `nodes` nodes: no clock is involved. `None` if
    /// that finds no point, or the solver fails.
    ///
    /// `start`: a point that satisfies the constraints; the solution is no worse.
    ///
    /// # Errors
    /// A variable that does not exist, or a number that is not finite.
    pub(crate) fn solve(&self, nodes: u64, start: &[f64]) -> Result<Option<IntegerSolution>> {
        check(&self.objective, &self.constraints)?;
        let mut problem = Problem::new(OptimizationDirection::Maximize);
        let add = |(i, gain): (usize, &f64)| {
            if i < self.binaries {
                problem.add_binary_var(*gain)
            } else {
                problem.add_var(*gain, (0.0, 1.0))
            }
        };
        let x: Vec<_> = self.objective.iter().enumerate().map(add).collect();
        for Constraint { terms, comparison, bound } in &self.constraints {
            let comparison = match comparison {
                Comparison::AtMost => ComparisonOp::Le,
                Comparison::Equal => ComparisonOp::Eq,
            };
            let terms: Vec<_> = terms.iter().map(|(i, a)| (x[*i], *a)).collect();
            problem.add_constraint(terms, comparison, *bound);
        }
        let mut options = SolveOptions::default();
        options.mip_gap = 0.0;
        options.node_limit = Some(nodes);
        options.warm_start = Some(x.iter().copied().zip(start.iter().copied()).collect());
        let Ok(outcome) = problem.solve_with(options) else { return Ok(None) };
        let proved = outcome.is_optimal();
        let values = outcome.solution().map(|solution| {
            let value = |(i, x): (usize, &microlp::Variable)| {
                let value = solution.var_value(*x);
                if i < self.binaries { value.round() } else { value }
            };
            x.iter().enumerate().map(value).collect()
        });
        Ok(values.map(|values| IntegerSolution { values, proved }))
    }
}

impl LinearProgram {
    /// Solves the program by Clarabel's interior-point method.
    ///
    /// # Errors
    /// A variable that does not exist, a number that is not finite, a program without a finite optimum, or one on which
    /// the solver fails.
    pub(crate) fn solve(&self) -> Result<LinearSolution> {
        check(&self.objective, &self.constraints)?;
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
}

/// Refuses numbers that are not finite, and variables that do not exist.
fn check(objective: &[f64], constraints: &[Constraint]) -> Result<()> {
    let terms = constraints.iter().flat_map(|c| c.terms.iter());
    let mut numbers = (objective.iter().copied())
        .chain(constraints.iter().map(|c| c.bound))
        .chain(terms.clone().map(|(_, a)| *a));
    if numbers.any(|number| !number.is_finite()) {
        return Err(refused("a number that is not finite", "finite numbers"));
    }
    let variables = objective.len();
    if let Some((outside, _)) = terms.clone().find(|(i, _)| *i >= variables) {
        let expected = format!("one of the {variables} variables");
        return Err(refused(&format!("variable {outside}"), &expected));
    }
    Ok(())
}

fn refused(found: &str, expected: &str) -> Error {
    Error::invalid_specification("linear program", found, expected)
}

fn unsolved(found: &str) -> Error {
    refused(&format!("solver says '{found}'"), "a finite optimum")
}

#[cfg(test)]
mod tests;
