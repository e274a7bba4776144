//! Errors of single marginals, shrunk towards what similar marginals show: post-processing of released numbers.
//!
//! The released errors are `y_r = e_r + ε_r` with noise of known standard deviation s. The true errors are taken as a
//! linear mixed model, `e_r = x_r'β + Σ_{pairs p ⊂ r} u_p + v_r` with `u_p ~ N(0, σ_u²)` and `v_r ~ N(0, τ²)`: fixed
//! effects of attributes and of what is public about the marginal, random effects of pairs of attributes. With
//! `V = (s² + τ²) I + σ_u² ZZ'` and the projection `P = V⁻¹ − V⁻¹X(X'V⁻¹X)⁻¹X'V⁻¹`, the best linear unbiased prediction of
//! e is `y − s² P y`, with mean squared errors `s² − s⁴ diag P` (Robinson 1991; Henderson's equations). The variances are
//! not fixed at one estimate: predictions are averaged over a grid of them, weighted by the restricted likelihood
//! (Patterson & Thompson 1971) times a prior that is flat in τ and in `σ_u/√(s² + τ²)`, so that their uncertainty is part
//! of the intervals. All assumptions are about averages over marginals; they can fail for a single one.

use std::collections::BTreeMap;

use ndarray::{Array1, Array2};

use crate::domain::Clique;
use crate::linalg::inverse_positive_definite;

/// What is public about a marginal.
pub(super) struct PublicFacts {
    pub(super) clique: Clique,
    /// `Σ_c √(p_c (1 − p_c)/n)` of the released records: the size of sampling errors.
    pub(super) spread: f64,
    /// Whether it is inside a clique that was measured privately.
    pub(super) is_measured: bool,
    /// Whether it is inside a clique that was taken from a public table.
    pub(super) is_public: bool,
    /// How many of its pairs of attributes are inside cliques measured privately.
    pub(super) supported: f64,
}

/// Marginals for each fixed effect that there must be at least.
const MARGINALS_PER_EFFECT: usize = 3;
/// The fewest marginals.
const FEWEST: usize = 8;
/// What is left of a column that follows from others is below this share of its square.
const DEPENDENT: f64 = 1e-12;
/// The most pairs of attributes that get effects of their own; with more, no pair does.
const MOST_PAIRS: usize = 300;
/// Values of `σ_u/√(s² + τ²)` to average over.
const RATIOS: [f64; 12] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.55, 0.7, 0.9, 1.2, 1.6, 2.2, 3.0];
/// Values of τ to average over, evenly spaced from 0 to twice the deviation of the numbers from the fixed effects.
const DEVIATIONS: u32 = 60;

/// The pairs of attributes in a clique.
pub(super) fn pairs(clique: &Clique) -> Vec<(usize, usize)> {
    let attributes = clique.attributes();
    let after = |(i, a): (usize, &usize)| {
        attributes[i + 1..].iter().map(move |b| (*a, *b)).collect::<Vec<_>>()
    };
    attributes.iter().enumerate().flat_map(after).collect()
}

/// The estimates and their standard deviations; `None` if there are too few marginals, or no noise to remove.
///
/// `errors`: the released errors; `noise`: the standard deviation of their noise, in the same unit.
pub(super) fn shrunk(errors: &[f64], noise: f64, about: &[PublicFacts]) -> Option<Vec<(f64, f64)>> {
    let fixed = fixed_effects(about);
    let (count, effects) = (errors.len(), fixed.len());
    if count < MARGINALS_PER_EFFECT * effects || count < FEWEST || noise <= 0.0 {
        return None;
    }
    let random = PairEffects::of(about);
    let ratios = if random.columns == 0 { &RATIOS[..1] } else { &RATIOS[..] };
    let scale = residual_deviation(errors, &fixed).max(noise);
    let deviations = (0..DEVIATIONS).map(|i| 2.0 * scale * f64::from(i) / f64::from(DEVIATIONS));
    let variances: Vec<f64> = deviations.map(|tau| noise * noise + tau * tau).collect();
    let mut projections = Vec::with_capacity(ratios.len());
    let mut logs: Vec<Vec<f64>> = Vec::with_capacity(ratios.len());
    for (i, ratio) in ratios.iter().enumerate() {
        // The width of the grid's cell, so that a sum over the cells is an integral.
        let (before, after) = (ratios[i.saturating_sub(1)], *ratios.get(i + 1).unwrap_or(ratio));
        let width = if ratios.len() == 1 { 1.0 } else { (after - before) / 2.0 };
        let projection = Projection::new(errors, &fixed, &random, ratio * ratio)?;
        let log = |variance: &f64| width.ln() + projection.log_likelihood(*variance);
        logs.push(variances.iter().map(log).collect());
        projections.push(projection);
    }
    let largest = logs.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    if !largest.is_finite() {
        return None;
    }
    let sum: f64 = logs.iter().flatten().map(|log| (log - largest).exp()).sum();
    // The prediction at a variance is y − f P y with f = s²/(s² + τ²), where P is that of a variance of 1.
    let moments: Vec<(f64, f64)> = logs
        .iter()
        .map(|logs| {
            let weighted = logs.iter().zip(&variances).map(|(log, variance)| {
                let factor = noise * noise / variance;
                let weight = (log - largest).exp() / sum;
                (weight * factor, weight * factor * factor)
            });
            weighted.fold((0.0, 0.0), |(a, b), (first, second)| (a + first, b + second))
        })
        .collect();
    let predicted = errors.iter().enumerate().map(|(r, error)| {
        let (mut shift, mut square, mut removed) = (0.0, 0.0, 0.0);
        for (projection, (first, second)) in projections.iter().zip(&moments) {
            let projected = projection.projected[r];
            shift += first * projected;
            square += second * projected * projected;
            removed += first * projection.diagonal[r];
        }
        let variance = noise * noise * (1.0 - removed) + (square - shift * shift).max(0.0);
        (error - shift, variance.max(0.0).sqrt())
    });
    Some(predicted.collect())
}

/// Orthonormal columns that span the fixed effects: one, each attribute, the spread, and how the marginal is supported.
/// Columns that follow from earlier ones are left out.
fn fixed_effects(about: &[PublicFacts]) -> Vec<Vec<f64>> {
    let attributes = about.iter().flat_map(|d| d.clique.iter()).max().map_or(0, |last| last + 1);
    let yes = |is: bool| if is { 1.0 } else { 0.0 };
    let mut columns: Vec<Vec<f64>> = vec![
        vec![1.0; about.len()],
        about.iter().map(|d| d.spread).collect(),
        about.iter().map(|d| yes(d.is_measured)).collect(),
        about.iter().map(|d| yes(d.is_public && !d.is_measured)).collect(),
        about.iter().map(|d| d.supported).collect(),
    ];
    let has = |a: usize| about.iter().map(|d| yes(d.clique.contains(a))).collect();
    columns.extend((0..attributes).map(has));
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for column in columns {
        let before = dot(&column, &column);
        let mut rest = column;
        // Twice, so that rounding leaves the columns orthogonal.
        for _ in 0..2 {
            for known in &basis {
                let share = dot(known, &rest);
                rest.iter_mut().zip(known).for_each(|(x, k)| *x -= share * k);
            }
        }
        let after = dot(&rest, &rest);
        if after > DEPENDENT * before && after > 0.0 {
            let length = after.sqrt();
            rest.iter_mut().for_each(|x| *x /= length);
            basis.push(rest);
        }
    }
    basis
}

/// The standard deviation of what the fixed effects leave.
fn residual_deviation(errors: &[f64], fixed: &[Vec<f64>]) -> f64 {
    let mut rest = errors.to_vec();
    for column in fixed {
        let share = dot(column, &rest);
        rest.iter_mut().zip(column).for_each(|(x, c)| *x -= share * c);
    }
    (dot(&rest, &rest) / (errors.len() - fixed.len()).max(1) as f64).sqrt()
}

/// Which pairs have effects of their own: Z, row by row.
struct PairEffects {
    columns: usize,
    /// The columns of each row's ones.
    rows: Vec<Vec<usize>>,
}

impl PairEffects {
    /// Those that occur in several marginals, unless there are too many of them.
    fn of(about: &[PublicFacts]) -> Self {
        let mut seen: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for pair in about.iter().flat_map(|d| pairs(&d.clique)) {
            *seen.entry(pair).or_default() += 1;
        }
        seen.retain(|_, count| *count > 1);
        if seen.len() > MOST_PAIRS {
            seen.clear();
        }
        let places: BTreeMap<(usize, usize), usize> = seen.into_keys().zip(0..).collect();
        let row = |d: &PublicFacts| {
            pairs(&d.clique).iter().filter_map(|pair| places.get(pair).copied()).collect()
        };
        Self { columns: places.len(), rows: about.iter().map(row).collect() }
    }

    /// `Z'x`.
    fn transposed(&self, x: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.columns];
        for (row, x) in self.rows.iter().zip(x) {
            row.iter().for_each(|column| sums[*column] += x);
        }
        sums
    }
}

/// P for the variances `V = I + λ ZZ'`, applied to the errors, and its diagonal.
struct Projection {
    projected: Vec<f64>,
    diagonal: Vec<f64>,
    /// `y'Py`.
    quadratic: f64,
    /// `ln |V| + ln |X'V⁻¹X|`.
    log_determinants: f64,
    degrees_of_freedom: f64,
}

impl Projection {
    /// `None` if a matrix is not positive definite to working precision.
    fn new(errors: &[f64], fixed: &[Vec<f64>], pairs: &PairEffects, lambda: f64) -> Option<Self> {
        // V⁻¹ = I − λ Z M⁻¹ Z' with M = I + λ Z'Z.
        let size = pairs.columns;
        let mut matrix = Array2::eye(size);
        for row in &pairs.rows {
            for i in row {
                row.iter().for_each(|j| matrix[[*i, *j]] += lambda);
            }
        }
        let (inverse, log_m) = inverse_positive_definite(&matrix).ok()?;
        let whiten = |x: &[f64]| -> Vec<f64> {
            let solved = inverse.dot(&Array1::from(pairs.transposed(x)));
            let sum = |row: &Vec<usize>| row.iter().map(|column| solved[*column]).sum::<f64>();
            x.iter().zip(&pairs.rows).map(|(x, row)| x - lambda * sum(row)).collect()
        };
        let whitened: Vec<Vec<f64>> = fixed.iter().map(|column| whiten(column)).collect();
        let effects = fixed.len();
        let gram = Array2::from_shape_fn((effects, effects), |(i, j)| dot(&fixed[i], &whitened[j]));
        let (solved, log_g) = inverse_positive_definite(&gram).ok()?;
        let response = whiten(errors);
        let inner: Array1<f64> = whitened.iter().map(|column| dot(column, errors)).collect();
        let beta = solved.dot(&inner);
        let mut projected = response;
        for (column, beta) in whitened.iter().zip(&beta) {
            projected.iter_mut().zip(column).for_each(|(x, c)| *x -= beta * c);
        }
        let diagonal = |(r, row): (usize, &Vec<usize>)| {
            let of_row = |i: &usize| row.iter().map(|j| inverse[[*i, *j]]).sum::<f64>();
            let own = 1.0 - lambda * row.iter().map(of_row).sum::<f64>();
            let at: Array1<f64> = whitened.iter().map(|column| column[r]).collect();
            own - at.dot(&solved.dot(&at))
        };
        Some(Self {
            quadratic: dot(errors, &projected),
            diagonal: pairs.rows.iter().enumerate().map(diagonal).collect(),
            projected,
            log_determinants: log_m + log_g,
            degrees_of_freedom: (errors.len() - effects) as f64,
        })
    }

    /// The restricted log-likelihood at `V = variance (I + λ ZZ')`, up to a constant.
    fn log_likelihood(&self, variance: f64) -> f64 {
        let of_size = self.degrees_of_freedom * variance.ln();
        -0.5 * (of_size + self.log_determinants + self.quadratic / variance)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests;
