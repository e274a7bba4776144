//! The distribution on a marginal nearest to some noisy answers.

use crate::error::{Error, Result};
use crate::program::{Comparison, Constraint, LinearProgram};

/// The distribution y nearest to noisy answers `y~` in L1 norm and, among those, with the smallest relative entropy
/// `KL(y ‖ b)` to the current answers b, in closed form.
///
/// With `a = max(y~, 0)`, the nearest distributions are all `y <= a` if a sums to at least 1, and all `y >= a`
/// otherwise. Their distance does not depend on how the difference is distributed. Among them, `y = min(a, c b)` and
/// `y = max(a, c b)` have the smallest relative entropy, with the c for which y sums to 1. In the first case, cells
/// with `b = 0` get only what exceeds the other cells' limits, as evenly as `a` allows.
///
/// `answers`: noisy frequencies, finite. `current`: b, at least 0. `possible`: false for cells in which no record can
/// lie; their y is 0. All three have the same length.
///
/// # Errors
/// Different lengths, no possible cell, or numbers out of range.
///
/// ```
/// use jointly::estimation::prior::l1_projection;
/// // 1.2 in all: 0.2 must go, and the first two keep their former ratio as far as they can.
/// let y = l1_projection(&[0.9, 0.3, -0.1], &[0.5, 0.25, 0.25], &[true; 3])?;
/// assert!((y[0] - 0.7).abs() < 1e-12 && (y[1] - 0.3).abs() < 1e-12 && y[2] == 0.0);
/// # Ok::<(), jointly::Error>(())
/// ```
pub fn l1_projection(answers: &[f64], current: &[f64], possible: &[bool]) -> Result<Vec<f64>> {
    check(answers, possible)?;
    if current.len() != answers.len() || current.iter().any(|b| !(*b >= 0.0 && b.is_finite())) {
        let expected = "as many as answers, each finite and at least 0";
        return Err(Error::invalid_parameter("current answers", current.len(), expected));
    }
    let positive = |i: &usize| answers[*i].max(0.0);
    let cells: Vec<usize> = (0..answers.len()).filter(|i| possible[*i]).collect();
    let (known, new): (Vec<usize>, Vec<usize>) = cells.iter().partition(|i| current[**i] > 0.0);
    let mut y = vec![0.0; answers.len()];
    let sum: f64 = cells.iter().map(positive).sum();
    if sum < 1.0 {
        cells.iter().for_each(|i| y[*i] = positive(i));
        // All cells keep their values; the rest goes where the current answers are.
        let (targets, reference): (&[usize], _) =
            if known.is_empty() { (&new, None) } else { (&known, Some(current)) };
        let others: f64 = if known.is_empty() { 0.0 } else { new.iter().map(positive).sum() };
        raise(answers, reference, targets, 1.0 - others, &mut y);
        return Ok(y);
    }
    let held: f64 = known.iter().map(positive).sum();
    if held >= 1.0 {
        lower(answers, Some(current), &known, 1.0, &mut y);
    } else {
        known.iter().for_each(|i| y[*i] = positive(i));
        lower(answers, None, &new, 1.0 - held, &mut y);
    }
    Ok(y)
}

/// `y_i = min(a_i, c b_i)` on some cells, with the c for which they sum to `total`; b is 1 without a reference.
fn lower(answers: &[f64], reference: Option<&[f64]>, cells: &[usize], total: f64, y: &mut [f64]) {
    let b = |i: usize| reference.map_or(1.0, |b| b[i]);
    let a = |i: usize| answers[i].max(0.0);
    let mut order = cells.to_vec();
    // As c grows, it first reaches cells whose a is small compared with b.
    order.sort_by(|i, j| (a(*i) / b(*i)).total_cmp(&(a(*j) / b(*j))));
    let mut free: f64 = order.iter().map(|i| b(*i)).sum();
    let mut left = total;
    for (position, &i) in order.iter().enumerate() {
        let c = (left / free).max(0.0);
        if c * b(i) <= a(i) {
            order[position..].iter().for_each(|i| y[*i] = (c * b(*i)).min(a(*i)));
            return;
        }
        y[i] = a(i);
        left -= a(i);
        free -= b(i);
    }
}

/// `y_i = max(a_i, c b_i)` on some cells, with the c for which they sum to `total`; b is 1 without a reference.
fn raise(answers: &[f64], reference: Option<&[f64]>, cells: &[usize], total: f64, y: &mut [f64]) {
    let b = |i: usize| reference.map_or(1.0, |b| b[i]);
    let a = |i: usize| answers[i].max(0.0);
    let mut order = cells.to_vec();
    // As c falls, it first leaves cells whose a is large compared with b.
    order.sort_by(|i, j| (a(*j) / b(*j)).total_cmp(&(a(*i) / b(*i))));
    let mut free: f64 = order.iter().map(|i| b(*i)).sum();
    let mut left = total;
    for (position, &i) in order.iter().enumerate() {
        let c = (left / free).max(0.0);
        if c * b(i) >= a(i) {
            order[position..].iter().for_each(|i| y[*i] = (c * b(*i)).max(a(*i)));
            return;
        }
        y[i] = a(i);
        left -= a(i);
        free -= b(i);
    }
}

/// A distribution nearest noisy answers in L1 norm, found by a linear program: as [`l1_projection`], but any of the
/// nearest ones.
///
/// # Errors
/// Different lengths, no possible cell, numbers that are not finite, or a failure of the solver.
pub fn l1_projection_by_program(answers: &[f64], possible: &[bool]) -> Result<Vec<f64>> {
    check(answers, possible)?;
    let cells: Vec<usize> = (0..answers.len()).filter(|i| possible[*i]).collect();
    let n = cells.len();
    // y, then t >= |y - y~|.
    let mut constraints = vec![Constraint {
        terms: (0..n).map(|i| (i, 1.0)).collect(),
        comparison: Comparison::Equal,
        bound: 1.0,
    }];
    for (i, cell) in cells.iter().enumerate() {
        let answer = answers[*cell];
        for (sign, bound) in [(1.0, answer), (-1.0, -answer)] {
            let terms = vec![(i, sign), (n + i, -1.0)];
            constraints.push(Constraint { terms, comparison: Comparison::AtMost, bound });
        }
    }
    let objective = (0..2 * n).map(|i| if i < n { 0.0 } else { 1.0 }).collect();
    let solution = LinearProgram { objective, constraints }.solve()?;
    // Corrects the solver's rounding, so that the result is a distribution.
    let values: Vec<f64> = solution.values[..n].iter().map(|y| y.max(0.0)).collect();
    let sum: f64 = values.iter().sum();
    let mut y = vec![0.0; answers.len()];
    cells.iter().zip(values).for_each(|(cell, value)| y[*cell] = value / sum);
    Ok(y)
}

fn check(answers: &[f64], possible: &[bool]) -> Result<()> {
    if answers.len() != possible.len() || !possible.contains(&true) {
        let expected = "as many as answers, and at least one that is possible";
        return Err(Error::invalid_parameter("possible cells", possible.len(), expected));
    }
    if answers.iter().any(|answer| !answer.is_finite()) {
        return Err(Error::invalid_parameter("answer", "not finite", "a finite frequency"));
    }
    Ok(())
}
