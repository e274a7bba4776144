//! HDMM's strategy for workloads of marginals: whole marginals, weighted.

use std::collections::{BTreeMap, BTreeSet};

use ndarray::{Array1, Array2};

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::linalg::solve_positive_definite;
use crate::privacy::{MarginalSensitivity, NeighboringRelation, Rho};
use crate::query::{WeightedClique, Workload};
use crate::strategy::ResidualVariances;
use crate::strategy::variances::{needed, parts, share};

/// Most marginals to choose among; the work of the solves is cubic in their number.
const MOST_CANDIDATES: usize = 2048;
/// Relative distance from the minimum error at which the search ends.
const GAP: f64 = 1e-8;
/// Share of the budget below which a marginal is not measured.
const LEAST_SHARE: f64 = 1e-7;

/// Marginals with shares of a budget, chosen for a workload: the strategy `OPT_M` of HDMM (`McKenna`, Miklau, Hay &
/// Machanavajjhala 2018, section 7.2).
///
/// The paper's weights `θ_B` are the precisions `1/σ_B²` of the measured marginals up to a factor; a strategy of L2
/// sensitivity 1 is one with `Σ θ_B = 1`. Its algebra of the matrices `⊗ I or J` is diagonal in residuals: a marginal B
/// contains the residual of A ⊆ B with noise `σ_B² ∏_{i ∈ B∖A} k_i`, so all of them together determine it to
///
/// ```text
/// 1/σ_A² = Σ_{B ⊇ A} 1/(σ_B² ∏_{i ∈ B∖A} k_i)
/// ```
///
/// and `Σ_A v_A σ_A²` is convex in θ; it is minimized by Newton steps along a logarithmic barrier. `v_A` is as for
/// [`ResidualPlan`](crate::strategy::ResidualPlan), which is never worse.
#[derive(Clone, Debug)]
pub struct MarginalPlan {
    domain: Domain,
    relation: NeighboringRelation,
    needed: Vec<Clique>,
    measured: Vec<(Clique, Rho)>,
}

impl MarginalPlan {
    /// The plan for a budget.
    ///
    /// `widest`: in addition to the subsets of the workload's cliques, all cliques of up to this number of its
    /// attributes may be measured; 0 for none.
    ///
    /// # Errors
    /// More than 2048 marginals to choose among, or a budget too small for the workload.
    pub fn new(
        domain: &Domain,
        workload: &Workload,
        widest: usize,
        relation: NeighboringRelation,
        rho: Rho,
    ) -> Result<Self> {
        let known = |clique: &Clique| {
            clique.is_empty() && relation.has_public_total() // n is public
        };
        let needed: Vec<Clique> =
            needed(domain, workload).into_iter().filter(|clique| !known(clique)).collect();
        let candidates = candidates(&needed, widest)?;
        let problem = Problem::new(domain, workload, &needed, &candidates);
        let shares = problem.solve()?;
        let kept = candidates.into_iter().zip(shares).filter(|(_, share)| *share >= LEAST_SHARE);
        let measured = split(rho, kept.collect())?;
        let plan = Self { domain: domain.clone(), relation, needed, measured };
        if plan.variances().iter().all(|(_, variance)| variance.is_finite()) {
            return Ok(plan);
        }
        Err(Error::invalid_budget("rho of a plan", rho, "enough for every part of the workload"))
    }

    /// The cliques to measure, with their costs, which add up to the budget. The empty clique is the number of records.
    pub fn measured(&self) -> &[(Clique, Rho)] {
        &self.measured
    }

    /// The resulting variances of residuals, `σ_B² = Δ₂²/(2ρ_B)`.
    pub fn variances(&self) -> ResidualVariances {
        let squared_l2 = f64::from(MarginalSensitivity::of(self.relation).squared_l2());
        let by_clique = self.needed.iter().map(|part| {
            let precision: f64 = self
                .measured
                .iter()
                .filter(|(clique, _)| part.is_subset(clique))
                .map(|(clique, rho)| {
                    2.0 * rho.to_f64() / (squared_l2 * cells_beyond(&self.domain, clique, part))
                })
                .sum();
            (part.clone(), precision.recip())
        });
        ResidualVariances::new(&self.domain, by_clique.collect())
    }
}

/// The needed cliques, and all of up to `widest` of their attributes; the empty clique only if it is needed.
fn candidates(needed: &[Clique], widest: usize) -> Result<Vec<Clique>> {
    let mut found: BTreeSet<(usize, Clique)> =
        needed.iter().map(|clique| (clique.len(), clique.clone())).collect();
    let attributes = needed.iter().fold(Clique::default(), |all, clique| all.union(clique));
    let mut layer = vec![Clique::default()];
    for size in 1..=widest.min(attributes.len()) {
        layer = layer
            .iter()
            .flat_map(|clique| {
                let next = clique.iter().next_back().map_or(0, |last| last + 1);
                let more = attributes.iter().filter(move |attribute| *attribute >= next);
                more.map(|attribute| clique.union(&Clique::new([attribute])))
            })
            .take(MOST_CANDIDATES + 1)
            .collect();
        found.extend(layer.iter().map(|clique| (size, clique.clone())));
    }
    if found.len() > MOST_CANDIDATES {
        return Err(Error::too_large(
            "the marginals to choose among",
            None,
            MOST_CANDIDATES as f64,
            "cliques",
        ));
    }
    Ok(found.into_iter().map(|(_, clique)| clique).collect())
}

/// Splits a budget into parts with given shares, exact to the last unit.
fn split(rho: Rho, shares: Vec<(Clique, f64)>) -> Result<Vec<(Clique, Rho)>> {
    let (mut left, mut rest) = (rho, shares.iter().map(|(_, share)| share).sum::<f64>());
    let count = shares.len();
    let mut measured = Vec::with_capacity(count);
    for (i, (clique, share)) in shares.into_iter().enumerate() {
        let part = if i + 1 == count { 1.0 } else { (share / rest).clamp(0.0, 1.0) };
        let own;
        (own, left) = left.fraction(part)?;
        rest -= share;
        if own.is_zero() {
            let expected = "enough for every marginal of the plan";
            return Err(Error::invalid_budget("rho of a plan", rho, expected));
        }
        measured.push((clique, own));
    }
    Ok(measured)
}

/// `∏_{i ∈ B∖A} k_i`.
fn cells_beyond(domain: &Domain, whole: &Clique, part: &Clique) -> f64 {
    domain.shape(&whole.difference(part)).iter().map(|k| *k as f64).product()
}

/// `min F(θ) = Σ_A v_A / λ_A(θ)`, `λ_A = Σ_{B ⊇ A} g_AB θ_B`, over `θ ≥ 0`, `Σ θ = 1`.
struct Problem {
    unknowns: usize,
    /// `v_A`, and for each B ⊇ A its position and `g_AB = 1/∏_{i ∈ B∖A} k_i`.
    terms: Vec<(f64, Vec<(usize, f64)>)>,
}

impl Problem {
    fn new(domain: &Domain, workload: &Workload, needed: &[Clique], candidates: &[Clique]) -> Self {
        let mut gains: BTreeMap<Clique, f64> = BTreeMap::new();
        for WeightedClique { clique, weight } in workload.weighted_cliques() {
            let cells = cells_beyond(domain, clique, &Clique::default());
            for part in parts(clique) {
                let gain = weight * cells * share(domain, &part, clique);
                *gains.entry(part).or_default() += gain;
            }
        }
        let terms = needed.iter().map(|part| {
            let above = candidates.iter().enumerate().filter(|(_, whole)| part.is_subset(whole));
            let above = above.map(|(b, whole)| (b, cells_beyond(domain, whole, part).recip()));
            (gains.get(part).copied().unwrap_or(0.0), above.collect())
        });
        Self { unknowns: candidates.len(), terms: terms.collect() }
    }

    /// `F(θ)`.
    fn value(&self, theta: &Array1<f64>) -> f64 {
        let precision =
            |above: &[(usize, f64)]| above.iter().map(|(b, g)| g * theta[*b]).sum::<f64>();
        self.terms.iter().map(|(gain, above)| gain / precision(above)).sum()
    }

    /// `∇F(θ)` and, in the lower triangle, its second derivatives.
    fn derivatives(&self, theta: &Array1<f64>) -> (Array1<f64>, Array2<f64>) {
        let mut gradient = Array1::zeros(self.unknowns);
        let mut hessian = Array2::zeros((self.unknowns, self.unknowns));
        for (gain, above) in &self.terms {
            let precision: f64 = above.iter().map(|(b, g)| g * theta[*b]).sum();
            let (first, second) = (gain / precision.powi(2), 2.0 * gain / precision.powi(3));
            for (i, (b, g)) in above.iter().enumerate() {
                gradient[*b] -= first * g;
                for (c, h) in &above[..=i] {
                    hessian[[*b, *c]] += second * g * h;
                }
            }
        }
        (gradient, hessian)
    }

    /// Shares θ whose F is within 10⁻⁸ of the minimum.
    ///
    /// As `F(sθ) = F(θ)/s`, the minimum of `F(θ) + Σθ` without the constraint is a multiple of that with it. It is
    /// followed along `F(θ) + Σθ − μ Σ ln θ`, μ → 0, by Newton steps (Boyd & Vandenberghe 2004, section 11.3). By
    /// convexity `F(θ*) ≥ 2 F(θ) − max_B |∂F/∂θ_B|` where `Σθ = 1`, which is the stopping rule.
    fn solve(&self) -> Result<Vec<f64>> {
        let mut theta: Array1<f64> = Array1::from_elem(self.unknowns, 1.0);
        theta *= (self.value(&theta) / theta.sum()).sqrt();
        let mut barrier = theta.sum() / theta.len().max(1) as f64;
        for _ in 0..200 {
            let (slope, _) = self.derivatives(&theta);
            let steepest = slope.iter().fold(0.0, |m: f64, s| m.max(-s)) * theta.sum();
            if steepest <= self.value(&theta) * (1.0 + GAP) {
                break;
            }
            for _ in 0..20 {
                if !self.newton_step(&mut theta, barrier)? {
                    break;
                }
            }
            barrier *= 0.2;
        }
        let sum = theta.sum();
        Ok(theta.iter().map(|x| x / sum).collect())
    }

    /// Takes one step if it lowers the function; returns whether to continue.
    fn newton_step(&self, theta: &mut Array1<f64>, barrier: f64) -> Result<bool> {
        let merit = |t: &Array1<f64>| self.value(t) + t.sum() - barrier * t.ln().sum();
        let (mut gradient, mut hessian) = self.derivatives(theta);
        for (b, x) in theta.iter().enumerate() {
            gradient[b] += 1.0 - barrier / x;
            hessian[[b, b]] += barrier / (x * x);
        }
        let step = solve_positive_definite(&hessian, &gradient)?;
        let decrement = gradient.dot(&step);
        if decrement <= 1e-3 * barrier {
            return Ok(false);
        }
        let to_boundary =
            step.iter().zip(&*theta).map(|(s, x)| s / x).fold(0.0, |m: f64, r| m.max(r));
        let mut length = if to_boundary > 0.99 { 0.99 / to_boundary } else { 1.0 };
        let before = merit(theta);
        while length > 1e-10 {
            let next = &*theta - &(length * &step);
            if merit(&next) <= before - 0.1 * length * decrement {
                *theta = next;
                return Ok(true);
            }
            length /= 2.0;
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests;
