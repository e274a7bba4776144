//! The errors of a table or a model on the marginals of a workload.

use serde::Serialize;

use crate::domain::{Clique, Domain};
use crate::error::{CommonError, Result};
use crate::evaluation::marginals::Frequencies;
use crate::model::Model;
use crate::query::{WeightedClique, Workload, batches};

/// Errors on one marginal of a workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CliqueError {
    /// Names of the attributes, in domain order.
    pub clique: Vec<String>,
    /// Number of cells.
    pub cells: u64,
    /// `‖M(D)/n − M(S)/N‖₁`, from 0 to 2.
    pub l1: f64,
    /// Largest difference of one cell, as a probability.
    pub max: f64,
}

/// Errors of a table or model S, of N records, on a workload W over a table D of n records. **Not private.**
///
/// The workload error is `(Σ c_τ)⁻¹ Σ c_τ ‖M_τ(D)/n − M_τ(S)/N‖₁` over the cliques τ of W with weights `c_τ`
/// (Fuentes et al. 2024, section 5, where all weights are 1): from 0, equal marginals, to 2, disjoint ones. The
/// single queries are the cells of all marginals, as probabilities, unweighted.
///
/// ```
/// use jointly::{data::Dataset, domain::Domain, evaluation::WorkloadError, query::Workload};
/// let domain = Domain::new([("a", 2), ("b", 2)])?;
/// let real = Dataset::from_rows(domain.clone(), &[[0, 0], [1, 1]])?;
/// let synthetic = Dataset::from_rows(domain.clone(), &[[0, 1], [1, 0]])?;
/// let pair = Workload::all_k_way(&domain, 2)?;
/// let error = WorkloadError::between(&real, &synthetic, &pair, 1)?;
/// assert_eq!((error.mean_l1, error.max_query), (2.0, 0.5));
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkloadError {
    /// Number of cliques.
    pub cliques: u64,
    /// Number of single queries: cells of all cliques together.
    pub queries: u64,
    /// The workload error, in [0, 2].
    pub mean_l1: f64,
    /// Largest L1 distance of one marginal, in [0, 2].
    pub max_l1: f64,
    /// Largest error of a single query, as a probability.
    pub max_query: f64,
    /// Mean absolute error of the single queries, as a probability.
    pub mean_query: f64,
    /// Root mean squared error of the single queries, as a probability.
    pub rmse_query: f64,
    /// The marginals with the largest L1 distances, worst first.
    pub worst: Vec<CliqueError>,
}

impl WorkloadError {
    /// Errors of one table against another. Memory is that of a few million cells for any workload.
    ///
    /// `worst`: how many of the worst marginals to list.
    ///
    /// # Errors
    /// Tables over different domains, a table without records, or a marginal too large to count.
    pub fn between(
        real: &dyn Frequencies,
        synthetic: &dyn Frequencies,
        workload: &Workload,
        worst: usize,
    ) -> Result<Self> {
        real.attributes().check_same(synthetic.attributes(), "the synthetic table")?;
        Self::with_frequencies(real, workload, worst, |cliques| synthetic.frequencies(cliques))
    }

    /// Errors of a model's exact marginals, without the error of drawing records.
    ///
    /// `worst`: how many of the worst marginals to list.
    ///
    /// # Errors
    /// A domain other than the table's, a table without records, or a marginal too large to compute.
    pub fn of_model(
        real: &dyn Frequencies,
        model: &Model,
        workload: &Workload,
        worst: usize,
    ) -> Result<Self> {
        real.attributes().check_same(model.domain(), "the model")?;
        Self::with_frequencies(real, workload, worst, |cliques| {
            let scaled = |cells: &[f64]| cells.iter().map(|x| x / model.total()).collect();
            Ok(model.marginals(cliques)?.iter().map(|factor| scaled(factor.values())).collect())
        })
    }

    /// Errors of the table's own one-way marginals, taken as independent. They show the cost of knowing no dependence,
    /// for comparison with any synthetic table.
    ///
    /// `worst`: how many of the worst marginals to list.
    ///
    /// # Errors
    /// A table without records, or a marginal too large to count.
    pub fn of_independence(
        real: &dyn Frequencies,
        workload: &Workload,
        worst: usize,
    ) -> Result<Self> {
        let single: Vec<Clique> = (0..real.attributes().len()).map(|a| Clique::new([a])).collect();
        let single = real.frequencies(&single)?;
        let product = |clique: &Clique| {
            clique.iter().fold(vec![1.0], |cells: Vec<f64>, attribute| {
                let next = &single[attribute];
                cells.iter().flat_map(|p| next.iter().map(move |q| p * q)).collect()
            })
        };
        Self::with_frequencies(real, workload, worst, |cliques| {
            Ok(cliques.iter().map(product).collect())
        })
    }

    /// Errors of any source of marginals, given as probabilities clique by clique.
    fn with_frequencies(
        real: &dyn Frequencies,
        workload: &Workload,
        worst: usize,
        mut estimate: impl FnMut(&[Clique]) -> Result<Vec<Vec<f64>>>,
    ) -> Result<Self> {
        let domain = real.attributes();
        let mut sums = Sums::default();
        for batch in batches(domain, workload.weighted_cliques()) {
            let cliques: Vec<Clique> = batch.iter().map(|c| c.clique.clone()).collect();
            let (exact, estimates) = (real.frequencies(&cliques)?, estimate(&cliques)?);
            for ((weighted, p), q) in batch.iter().zip(&exact).zip(&estimates) {
                if p.len() != q.len() {
                    return Err(CommonError::ShapeMismatch {
                        clique: domain.describe(&weighted.clique),
                        expected: p.len(),
                        found: q.len(),
                    }
                    .into());
                }
                sums.add(domain, weighted, p, q);
            }
            sums.keep_worst(worst);
        }
        Ok(sums.finish())
    }
}

/// Running sums over the cliques of a workload.
#[derive(Default)]
struct Sums {
    cliques: u64,
    queries: u64,
    weight: f64,
    weighted_l1: f64,
    l1: f64,
    squares: f64,
    max_l1: f64,
    max_query: f64,
    worst: Vec<CliqueError>,
}

impl Sums {
    fn add(&mut self, domain: &Domain, weighted: &WeightedClique, p: &[f64], q: &[f64]) {
        let (mut l1, mut squares, mut max) = (0.0, 0.0, 0.0_f64);
        for (p, q) in p.iter().zip(q) {
            let difference = (p - q).abs();
            l1 += difference;
            squares += difference * difference;
            max = max.max(difference);
        }
        self.cliques += 1;
        self.queries += p.len() as u64;
        self.weight += weighted.weight;
        self.weighted_l1 += weighted.weight * l1;
        self.l1 += l1;
        self.squares += squares;
        self.max_l1 = self.max_l1.max(l1);
        self.max_query = self.max_query.max(max);
        let clique = weighted.clique.iter().map(|a| domain.name(a).to_owned()).collect();
        self.worst.push(CliqueError { clique, cells: p.len() as u64, l1, max });
    }

    /// Keeps only the worst; among equals, the earlier in the workload.
    fn keep_worst(&mut self, worst: usize) {
        self.worst.sort_by(|a, b| b.l1.total_cmp(&a.l1));
        self.worst.truncate(worst);
    }

    fn finish(self) -> WorkloadError {
        let queries = self.queries.max(1) as f64;
        WorkloadError {
            cliques: self.cliques,
            queries: self.queries,
            mean_l1: self.weighted_l1 / self.weight,
            max_l1: self.max_l1,
            max_query: self.max_query,
            mean_query: self.l1 / queries,
            rmse_query: (self.squares / queries).sqrt(),
            worst: self.worst,
        }
    }
}

#[cfg(test)]
mod tests;
