//! The method with a proof of when it ends, for where a bracket of a given width is part of a privacy guarantee.

use super::problem::{Bracket, Problem};
use super::support::Prices;
use crate::error::Result;

/// Iterations between two looks at the bounds.
const CHECK: u64 = 64;

/// Narrows a bracket to `tolerance`, on the whole instance, however long it takes.
///
/// Chambolle & Pock (2016), Algorithm 1, with relative entropies as distances, from the uniform mixture of N rows and
/// equal prices on both sides of C cells. Entries of A are 0 and 1 and both distances are strongly convex in the L1 norm,
/// so steps τσ = 1 are allowed, and after T iterations the averages are within 2 (ln N/τ + ln 2C/σ)/T of each other
/// (Theorem 1, its last term bounded by the first two): τ = √(ln N/ln 2C) makes it 4 √(ln N · ln 2C)/T.
///
/// The loop ends at twice the T that this bound gives, which exact arithmetic would not reach.
pub(super) fn close(problem: &Problem<'_>, found: &mut Bracket, tolerance: f64) -> Result<()> {
    let (rows, cells) = (problem.support.rows.records(), problem.targets.len());
    let all: Vec<u32> = (0_u32..).take(rows).collect();
    let entropies = [(rows as f64).ln(), (2.0 * cells as f64).ln()].map(|entropy| entropy.max(1.0));
    let primal = (entropies[0] / entropies[1]).sqrt();
    let needed = 4.0 * (entropies[0] * entropies[1]).sqrt() / tolerance;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let most = (2.0 * needed).ceil() as u64;

    let mut weights = vec![1.0 / rows as f64; rows];
    let mut masses = problem.support.masses(&all, &weights)?;
    let mut costs = vec![0.0; rows];
    // Sums over the iterations: logarithms of the prices are sums of errors, up to a constant.
    let (mut log_weights, mut log_prices) = (vec![0.0; rows], vec![0.0; cells]);
    let (mut sum_weights, mut sum_prices) = (vec![0.0; rows], vec![0.0; cells]);
    for iteration in 1..=most {
        log_weights.iter_mut().zip(&costs).for_each(|(log, cost)| *log -= primal * cost);
        soft_max(&log_weights, &mut weights);
        let before = std::mem::replace(&mut masses, problem.support.masses(&all, &weights)?);
        for (((log, new), old), target) in
            log_prices.iter_mut().zip(&masses).zip(&before).zip(&problem.targets)
        {
            *log += (2.0 * new - old - target) / primal;
        }
        let prices = signed_soft_max(&log_prices);
        let listed: Prices = prices.iter().copied().enumerate().collect();
        costs = problem.support.costs(&listed)?;
        sum_weights.iter_mut().zip(&weights).for_each(|(sum, w)| *sum += w);
        sum_prices.iter_mut().zip(&prices).for_each(|(sum, y)| *sum += y);
        if iteration.is_multiple_of(CHECK) || iteration == most {
            let share = 1.0 / iteration as f64;
            found.offer_mixture(problem, &all, &sum_weights)?;
            let average = sum_prices.iter().map(|sum| sum * share).enumerate().collect();
            found.offer_prices(problem, average)?;
            if found.gap() <= tolerance {
                break;
            }
        }
    }
    Ok(())
}

/// `exp(logs)`, scaled to sum to one.
fn soft_max(logs: &[f64], weights: &mut [f64]) {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    weights.iter_mut().zip(logs).for_each(|(weight, log)| *weight = (log - largest).exp());
    let total: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= total);
}

/// Weights proportional to exp(x) for "too much" and exp(−x) for "too little", one minus the other.
fn signed_soft_max(logs: &[f64]) -> Vec<f64> {
    let largest = logs.iter().fold(0.0_f64, |most, log| most.max(log.abs()));
    let both = |log: &f64| ((log - largest).exp(), (-log - largest).exp());
    let total: f64 = logs.iter().map(|log| both(log).0 + both(log).1).sum();
    logs.iter().map(|log| (both(log).0 - both(log).1) / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Projectable};
    use crate::domain::Domain;
    use crate::evaluation::mixture_error::support::Support;
    use crate::query::Workload;

    #[test]
    fn the_guaranteed_method_brackets_the_value_of_the_fast_one() {
        let domain = Domain::new([("a", 2), ("b", 3), ("c", 4)]).unwrap();
        let table = |n: u32, shift: u32| {
            let rows: Vec<[u32; 3]> =
                (0..n).map(|i| [i * i % 2, (i + shift) * i % 3, i * i * i % 7 % 4]).collect();
            Dataset::from_rows(domain.clone(), &rows).unwrap()
        };
        let (real, public) = (table(97, 1), table(9, 0));
        let workload = Workload::all_k_way(&domain, 2).unwrap();
        let support = Support::new(&public, &workload).unwrap();
        let answers = support.answers(|cliques| real.project_many(cliques)).unwrap();
        let mut problem = Problem::new(&support, &answers, 97.0, false);
        for floor in [0.0, 0.4] {
            problem.floor = floor;
            let mut fast = problem.bracket().unwrap();
            let solver = crate::evaluation::MixtureError::default();
            solver.search(&problem, &mut fast).unwrap();
            let mut found = problem.bracket().unwrap();
            close(&problem, &mut found, 0.01).unwrap();
            assert!(found.gap() <= 0.01, "[{}, {}]", found.lower, found.upper);
            let apart = found.lower > fast.upper + 1e-9 || fast.lower > found.upper + 1e-9;
            assert!(!apart && fast.gap() <= 1e-6, "{} {}", found.lower, fast.lower);
        }
    }
}
