//! `ResidualPlanner`: the best Gaussian noise for a workload of marginals, in closed form.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::privacy::{NeighboringRelation, ResidualQuery, Rho, residual_cost, variance_at_least};
use crate::query::{WeightedClique, Workload};
use crate::strategy::ResidualVariances;
use crate::strategy::variances::{needed, parts, share};

/// Largest σ² on scaled queries for which another attribute is centered before the noise; far within the sampler's
/// range.
const LARGEST_VARIANCE: f64 = (1_u64 << 44) as f64;
/// Most steps towards the minimum of the maximum.
const MAX_VARIANCE_STEPS: u32 = 10_000;
/// Relative distance from the minimum of the maximum at which the search ends.
const MAX_VARIANCE_GAP: f64 = 1e-4;

/// The objective that a plan minimizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// `Σ_W c_W k_W Var_W`: the weighted sum of the variances of all cells.
    #[default]
    SumOfVariances,
    /// `max_W c_W Var_W`: the largest weighted variance of a cell, to within 10⁻⁴ of it.
    MaxVariance,
}

/// Residual queries with noise chosen for a workload (Xiao, He, Zhang & Kifer 2023, section 4.2).
///
/// With `p_A = ∏_{i ∈ A} (k_i − 1)/k_i`, noise `σ_A²` on the residual of A costs `ρ = ½ p_A/σ_A²` under add-remove-one
/// and adds `v_A σ_A²` to the objective, `v_A = Σ_{W ⊇ A} c_W k_W p_A ∏_{j ∈ W∖A} 1/k_j²`. The best choice is
///
/// ```text
/// σ_A² = √(p_A / v_A)  Σ_B √(p_B v_B) / (2ρ)
/// ```
///
/// Under replace-one the proportions are the same, the number of records is known, and one factor makes the exact joint
/// cost that of the budget; see `docs/theory/strategies.md`, section 5.
#[derive(Clone, Debug)]
pub struct ResidualPlan {
    domain: Domain,
    queries: Vec<ResidualQuery>,
}

impl ResidualPlan {
    /// The plan for a budget.
    ///
    /// # Errors
    /// A budget of 0, or one so small that the noise is beyond the sampler's range.
    pub fn new(
        domain: &Domain,
        workload: &Workload,
        objective: Objective,
        relation: NeighboringRelation,
        rho: Rho,
    ) -> Result<Self> {
        if rho.is_zero() {
            return Err(Error::invalid_budget("rho of a plan", rho, "above 0"));
        }
        let mut cliques = needed(domain, workload);
        if relation.has_public_total() {
            cliques.retain(|clique| !clique.is_empty()); // n is public
        }
        let weights = match objective {
            Objective::SumOfVariances => cell_weights(domain, workload),
            Objective::MaxVariance => worst_weights(domain, workload, &cliques),
        };
        let gains = gains(domain, workload, &weights, &cliques);
        let spread: f64 =
            cliques.iter().zip(&gains).map(|(a, v)| (cost(domain, a) * v).sqrt()).sum();
        let ideal = cliques.iter().zip(&gains).map(|(clique, gain)| {
            (clique, (cost(domain, clique) / gain).sqrt() * spread / (2.0 * rho.to_f64()))
        });
        let ideal: Vec<(&Clique, f64)> = ideal.collect();

        // One factor for all makes the exact cost equal the budget; rounding may require slightly more noise.
        let with = |factor: f64| -> Result<(Vec<ResidualQuery>, Rho)> {
            let queries = ideal.iter().map(|(clique, v)| query(domain, clique, factor * v));
            let queries = queries.collect::<Result<Vec<_>>>()?;
            let cost = residual_cost(domain, &queries, relation)?;
            Ok((queries, cost))
        };
        let (mut factor, mut cost) = (1.0, with(1.0)?.1);
        loop {
            factor *= (cost.to_f64() / rho.to_f64()) * (1.0 + 1e-9);
            let queries;
            (queries, cost) = with(factor)?;
            if cost <= rho {
                return Ok(Self { domain: domain.clone(), queries });
            }
        }
    }

    /// The queries to measure together.
    pub fn queries(&self) -> &[ResidualQuery] {
        &self.queries
    }

    /// The resulting variances of residuals: `σ_A² = σ² / scale²`.
    pub fn variances(&self) -> ResidualVariances {
        let by_clique = self.queries.iter().map(|query| {
            let scale = query.scale() as f64;
            (query.clique().clone(), query.variance().to_f64() / (scale * scale))
        });
        ResidualVariances::new(&self.domain, by_clique.collect())
    }
}

/// The integer query for noise `σ_A²` on the residual of a clique: centered along as many attributes as the sampler's
/// range allows, those with few values first, which gain most.
fn query(domain: &Domain, clique: &Clique, variance: f64) -> Result<ResidualQuery> {
    let mut by_size: Vec<usize> = clique.iter().collect();
    by_size.sort_by_key(|attribute| domain.cardinality(*attribute));
    let (mut scale, mut centered) = (1.0, 0);
    for attribute in &by_size {
        let wider = scale * domain.cardinality(*attribute) as f64;
        if variance * wider * wider > LARGEST_VARIANCE || wider > f64::from(1 << 24) {
            break;
        }
        (scale, centered) = (wider, centered + 1);
    }
    let centered = Clique::new(by_size[..centered].iter().copied());
    let variance = variance_at_least(variance * scale * scale)?;
    Ok(ResidualQuery::new(domain, clique.clone(), centered, variance)?)
}

/// `p_A = ∏_{i ∈ A} (k_i − 1)/k_i`.
fn cost(domain: &Domain, clique: &Clique) -> f64 {
    share(domain, clique, clique)
}

/// `c_W k_W` for every clique of the workload.
fn cell_weights(domain: &Domain, workload: &Workload) -> Vec<f64> {
    let cells = |clique: &Clique| domain.shape(clique).iter().map(|k| *k as f64).product::<f64>();
    workload.weighted_cliques().iter().map(|w| w.weight * cells(&w.clique)).collect()
}

/// `v_A = Σ_{W ⊇ A} w_W p_A ∏_{j ∈ W∖A} 1/k_j²` for each of some cliques.
fn gains(domain: &Domain, workload: &Workload, weights: &[f64], cliques: &[Clique]) -> Vec<f64> {
    let mut by_clique: BTreeMap<Clique, f64> = BTreeMap::new();
    for (WeightedClique { clique, .. }, weight) in workload.weighted_cliques().iter().zip(weights) {
        for part in parts(clique) {
            let gain = weight * share(domain, &part, clique);
            *by_clique.entry(part).or_default() += gain;
        }
    }
    // An attribute of a single value changes neither v nor p.
    cliques.iter().map(|clique| by_clique.get(clique).copied().unwrap_or(0.0)).collect()
}

/// Weights for which the minimum sum of variances is the minimum of the maximum.
///
/// By duality `min_σ max_W c_W Var_W = max_λ f(λ)` over the simplex, `f(λ) = (Σ_A √(p_A v_A(λ)))²` at ρ = ½, whose
/// derivative in `λ_W` is `c_W Var_W`. Steps `λ_W ← λ_W c_W Var_W / f(λ)` stay in the simplex; f(λ) bounds the minimum
/// of the maximum from below, and `max_W c_W Var_W` from above.
fn worst_weights(domain: &Domain, workload: &Workload, cliques: &[Clique]) -> Vec<f64> {
    let all = workload.weighted_cliques();
    let mut lambda = vec![1.0 / all.len() as f64; all.len()];
    let scaled = |lambda: &[f64]| -> Vec<f64> {
        lambda.iter().zip(all).map(|(l, w)| l * w.weight).collect()
    };
    for _ in 0..MAX_VARIANCE_STEPS {
        let gains = gains(domain, workload, &scaled(&lambda), cliques);
        let roots: Vec<f64> = cliques
            .iter()
            .zip(&gains)
            .map(|(a, v)| (cost(domain, a) / v.max(1e-300)).sqrt())
            .collect();
        let spread: f64 = roots.iter().zip(&gains).map(|(root, gain)| root * gain).sum();
        let by_clique = cliques.iter().zip(&roots).map(|(a, root)| (a.clone(), root * spread));
        let variances = ResidualVariances::new(domain, by_clique.collect());
        let cells: Vec<f64> = all.iter().map(|w| w.weight * variances.of_cell(&w.clique)).collect();
        let most = cells.iter().copied().fold(0.0, f64::max);
        if most <= spread * spread * (1.0 + MAX_VARIANCE_GAP) {
            break;
        }
        lambda.iter_mut().zip(&cells).for_each(|(l, cell)| *l *= cell / (spread * spread));
    }
    scaled(&lambda)
}
