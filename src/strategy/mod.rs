//! Strategies for workloads of marginals: which queries to measure, with what noise, and the resulting variances. They
//! never touch a record.
//!
//! Marginals overlap: the pair {a, b} determines the marginal on {a}. The *residual* of a clique A is the information
//! in its marginal beyond the marginals of its proper subsets. Residuals of different cliques are orthogonal, so they
//! can be measured with independent noise, and a marginal is the sum of the residuals of its subsets:
//!
//! ```text
//! M_W = Σ_{A ⊆ W}  (⊗_{i ∈ A} I) ⊗ (⊗_{j ∈ W∖A} 1/k_j)  r_A,        r_A = (⊗_{i ∈ A} (I − J/k_i)) M_A
//! ```
//!
//! Let `r_A` be known with noise of covariance `σ_A² ⊗_{i ∈ A} (I − J/k_i)`, independently for each A. Then every cell
//! of `M_W` has variance
//!
//! ```text
//! Var_W = Σ_{A ⊆ W}  σ_A²  ∏_{i ∈ A} (k_i − 1)/k_i  ∏_{j ∈ W∖A} 1/k_j²
//! ```
//!
//! (Xiao, He, Zhang & Kifer 2023, Theorem 4.7). [`ResidualPlan`] chooses the `σ_A²` themselves: no other Gaussian noise
//! on linear queries is better. [`MarginalPlan`] is HDMM's: it measures whole marginals and derives residuals from
//! them. Both end with [`ResidualVariances`]; what was measured is solved by [`crate::least_squares`]. Derivations:
//! `docs/theory/strategies.md`.

mod marginal_plan;
mod residual_plan;
mod variances;

pub use marginal_plan::MarginalPlan;
pub use residual_plan::{Objective, ResidualPlan};
pub use variances::ResidualVariances;
