//! What AIM and Anchor-PGM share: how a round chooses the marginal to measure.

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::measurement::Measurement;
use crate::mechanism::Run;
use crate::mechanism::annealing::Step;
use crate::mechanism::graphical::{model_errors, tractable};
use crate::model::MarkovRandomField;
use crate::privacy::{Gain, GainOf, SealedMarginals, Selection};
use crate::query::Workload;

/// The marginals that may be measured.
pub(super) struct Candidates<'a> {
    /// The closure of the workload.
    pub(super) cliques: &'a [Clique],
    /// `w_r` of each clique, as of [`relevance`].
    pub(super) relevance: &'a [f64],
    /// The private marginals of all cliques.
    pub(super) answers: &'a SealedMarginals,
}

impl Candidates<'_> {
    /// Chooses a marginal r by the exponential mechanism, with scores `w_r gain(‖M_r(D) - M_r(model)‖₁, √(2/π) σ n_r)`.
    ///
    /// `held`: the cliques of the model. Those that would make it larger than `limit_mib` are no candidates. `cost`: that of
    /// the round.
    pub(super) fn choose(
        &self,
        run: &mut Run<'_, '_>,
        model: &MarkovRandomField,
        held: &[Clique],
        limit_mib: f64,
        gain: Gain,
        cost: Step,
    ) -> Result<&Clique> {
        let Self { cliques, relevance, answers } = self;
        let round = run.next_round();
        let kept = tractable(run.domain(), held, cliques, limit_mib);
        let wanted: Vec<usize> = (0..cliques.len()).filter(|i| kept[*i]).collect();
        if wanted.is_empty() {
            return Err(Error::NoCandidates { round, limit_mib });
        }

        let (errors, coverage) =
            model_errors(model, cliques, &wanted, answers, round, run.checks())?;
        let noise = run.expected_noise(cost.0.measure);
        let domain = run.domain();
        let of = |i: &usize| GainOf {
            marginal: *i,
            weight: relevance[*i],
            noise: noise * domain.cells(&cliques[*i]).unwrap_or(u64::MAX) as f64,
        };
        let scores = errors.gains(gain, &wanted.iter().map(of).collect::<Vec<_>>())?;
        run.scored(wanted.len(), coverage.exact, coverage.sampled);
        let (how, purpose) = (Selection::Exponential, "choose a marginal");
        let choice = run.select(how, scores, cost.0.select, purpose)?;
        Ok(&cliques[wanted[choice]])
    }
}

/// `w_r = Σ_s c_s |r ∩ s|`: the relevance of each clique r to the workload. Summed by attribute:
/// `w_r = Σ_{a ∈ r} Σ_{s ∋ a} c_s`.
pub(super) fn relevance(workload: &Workload, cliques: &[Clique], domain: &Domain) -> Vec<f64> {
    let mut of_attribute = vec![0.0; domain.len()];
    for weighted in workload.weighted_cliques() {
        for attribute in weighted.clique.iter() {
            of_attribute[attribute] += weighted.weight;
        }
    }
    cliques.iter().map(|clique| clique.iter().map(|a| of_attribute[a]).sum()).collect()
}

/// A measurement told a fit that shrinks noise nothing if its squared distance from what was expected is at most this many
/// times that of noise alone.
const TOLD_NOTHING: f64 = 2.0;

/// Whether a measurement that was shrunk told nothing that `expected` did not. AIM's rule, by how far the model moved, would
/// nearly always say so, as such a model hardly moves.
pub(super) fn told_nothing(measurement: &Measurement, expected: &[f64]) -> bool {
    let noise = expected.len() as f64 * measurement.stddev * measurement.stddev;
    squared_distance(&measurement.values, expected) <= TOLD_NOTHING * noise
}

/// `‖y - x‖²`.
pub(super) fn squared_distance(y: &[f64], x: &[f64]) -> f64 {
    y.iter().zip(x).map(|(y, x)| (y - x) * (y - x)).sum()
}

/// Whether a measurement moved a model, from one marginal to another, by no more than its noise: AIM's rule,
/// `‖M_r(new) - M_r(old)‖₁ ≤ √(2/π) σ n_r`.
pub(super) fn moved_nothing(measurement: &Measurement, old: &[f64], new: &[f64]) -> bool {
    let moved: f64 = new.iter().zip(old).map(|(new, old)| (new - old).abs()).sum();
    moved <= (2.0 / std::f64::consts::PI).sqrt() * measurement.stddev * old.len() as f64
}

/// Each single attribute takes one round, and the other cliques need at least one.
pub(super) fn check_rounds(mechanism: &'static str, rounds: u32, singles: usize) -> Result<()> {
    if rounds as usize > singles {
        return Ok(());
    }
    let found = format!("{rounds} rounds for a workload of {singles} attributes");
    let expected = "more rounds than attributes, each of which takes a round";
    Err(Error::invalid_specification(mechanism, found, expected))
}

#[cfg(test)]
mod tests;
