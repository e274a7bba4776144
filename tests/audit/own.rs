//! Scores and numbers of types of one's own: any function of the counts of a marginal, with any sensitivity.

#![expect(clippy::unwrap_used, reason = "a helper of tests")]

use jointly::domain::Clique;
use jointly::privacy::{
    Curator, NeighboringRelation, NoiseForm, NoisyStatistics, Result, Rho, Score, ScoreSensitivity,
    Scores, Statistic, StatisticSensitivity,
};

/// Of the counts of one marginal.
struct Own<'a, S, F> {
    clique: &'a Clique,
    numbers: usize,
    sensitivity: S,
    of: F,
}

impl<F: Fn(&[u32]) -> Vec<f64> + Sync> Score for Own<'_, ScoreSensitivity, F> {
    fn candidates(&self) -> usize {
        self.numbers
    }

    fn sensitivity(&self, _: NeighboringRelation) -> Result<ScoreSensitivity> {
        Ok(self.sensitivity)
    }

    fn scores(&self, marginals: &[Vec<u32>]) -> Vec<f64> {
        (self.of)(&marginals[0])
    }
}

impl<F: Fn(&[u32]) -> Vec<f64> + Sync> Statistic for Own<'_, StatisticSensitivity, F> {
    type Kept = Vec<f64>;

    fn sensitivity(&self, _: NeighboringRelation) -> Result<StatisticSensitivity> {
        Ok(self.sensitivity)
    }

    fn batches(&self) -> Vec<Vec<Clique>> {
        vec![vec![self.clique.clone()]]
    }

    fn add(&self, kept: &mut Vec<f64>, marginals: &[Vec<u32>]) {
        *kept = (self.of)(&marginals[0]);
    }

    fn values(&self, kept: &Vec<f64>) -> Vec<f64> {
        kept.clone()
    }
}

/// Scores computed from the counts of a marginal, with the stated number of candidates.
pub(crate) fn scores(
    curator: &Curator<'_>,
    clique: &Clique,
    candidates: usize,
    sensitivity: ScoreSensitivity,
    of: impl Fn(&[u32]) -> Vec<f64> + Sync,
) -> Scores {
    let marginals = curator.marginals(std::slice::from_ref(clique)).unwrap();
    marginals.score(&Own { clique, numbers: candidates, sensitivity, of }).unwrap()
}

/// Measures numbers computed from the counts of a marginal.
pub(crate) fn measure(
    curator: &mut Curator<'_>,
    clique: &Clique,
    sensitivity: StatisticSensitivity,
    of: impl Fn(&[u32]) -> Vec<f64> + Sync,
    (form, cost): (NoiseForm, Rho),
) -> Result<NoisyStatistics> {
    let own = Own { clique, numbers: 0, sensitivity, of };
    curator.measure_statistic(&own, form, cost, "numbers")
}

/// The counts themselves.
pub(crate) fn counts(counts: &[u32]) -> Vec<f64> {
    counts.iter().map(|count| f64::from(*count)).collect()
}
