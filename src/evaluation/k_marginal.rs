//! The k-marginal score of SDNist.

use std::collections::BTreeSet;

use rand::{Rng, RngExt};
use serde::Serialize;

use crate::domain::Clique;
use crate::error::{Error, Result};
use crate::evaluation::Frequencies;
use crate::evaluation::WorkloadError;
use crate::query::{WeightedClique, Workload};

/// The k-marginal score of a synthetic table S for a real table D. **Not private.**
///
/// `1000 (1 − mean_τ ½ ‖M_τ(D)/n − M_τ(S)/N‖₁)` over cliques τ of k attributes: from 0, all marginals disjoint, to
/// 1000, all equal (NIST, SDNist; the score of its synthetic-data challenges).
///
/// ```
/// use jointly::{data::Dataset, domain::Domain, evaluation::KMarginalScore};
/// use rand::{SeedableRng, rngs::ChaCha20Rng};
/// let domain = Domain::new([("a", 2), ("b", 2)])?;
/// let real = Dataset::from_rows(domain.clone(), &[[0, 0], [1, 1]])?;
/// let synthetic = Dataset::from_rows(domain, &[[0, 0], [1, 0]])?;
/// let mut rng = ChaCha20Rng::seed_from_u64(1);
/// let score = KMarginalScore::between(&real, &synthetic, 2, None, &mut rng)?;
/// assert_eq!((score.marginals, score.score), (1, 500.0));
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KMarginalScore {
    /// Attributes of each marginal.
    pub k: usize,
    /// Number of marginals in the mean.
    pub marginals: u64,
    /// The score, from 0 to 1000.
    pub score: f64,
}

impl KMarginalScore {
    /// The score over all cliques of `k` attributes, or over `draws` different ones drawn at random (all of them if
    /// there are no more).
    ///
    /// # Errors
    /// `k` or `draws` is 0, `k` is more than the number of attributes, tables over different domains, a table without
    /// records, or a marginal too large to count.
    pub fn between<R: Rng + ?Sized>(
        real: &dyn Frequencies,
        synthetic: &dyn Frequencies,
        k: usize,
        draws: Option<usize>,
        rng: &mut R,
    ) -> Result<Self> {
        let workload = match draws {
            Some(0) => {
                return Err(Error::invalid_parameter("draws", 0, "at least 1"));
            }
            Some(draws) if (draws as u64) < choices(real.attributes().len(), k) => {
                Workload::new(draw(real.attributes().len(), k, draws, rng), real.attributes())?
            }
            _ => Workload::all_k_way(real.attributes(), k)?,
        };
        let error = WorkloadError::between(real, synthetic, &workload, 0)?;
        Ok(Self { k, marginals: error.cliques, score: 1000.0 * (1.0 - error.mean_l1 / 2.0) })
    }
}

/// The binomial coefficient, saturating; 0 if `k` is 0 or more than `attributes`.
fn choices(attributes: usize, k: usize) -> u64 {
    if k == 0 || k > attributes {
        return 0;
    }
    (0..k as u64).fold(1_u64, |n, i| n.saturating_mul(attributes as u64 - i) / (i + 1))
}

/// Different cliques of `k` attributes; there must be that many.
fn draw<R: Rng + ?Sized>(
    attributes: usize,
    k: usize,
    draws: usize,
    rng: &mut R,
) -> Vec<WeightedClique> {
    let mut cliques = BTreeSet::new();
    while cliques.len() < draws {
        let mut chosen = BTreeSet::new();
        while chosen.len() < k {
            chosen.insert(rng.random_range(0..attributes));
        }
        cliques.insert(Clique::new(chosen));
    }
    cliques.into_iter().map(|clique| WeightedClique { clique, weight: 1.0 }).collect()
}

#[cfg(test)]
mod tests;
