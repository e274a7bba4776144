//! Step 3: the choice of a marginal, as AIM's, on the driver's model.

use crate::domain::Clique;
use crate::error::{Error, Result};
use crate::mechanism::Run;
use crate::mechanism::anchor_pgm::expert::Expert;
use crate::mechanism::anchor_pgm::setting::Gain;
use crate::mechanism::annealing::Step;
use crate::mechanism::graphical::{model_errors, tractable};
use crate::privacy::{ScoreSensitivity, Selection, Sensitive};

/// The marginals that may be measured.
pub(super) struct Candidates<'a> {
    /// The closure of the workload.
    pub(super) cliques: &'a [Clique],
    /// `w_r`.
    pub(super) relevance: &'a [f64],
    /// The private marginals of all cliques.
    pub(super) answers: &'a Sensitive<Vec<Vec<u32>>>,
    /// The size limit at the end.
    pub(super) size_limit_mib: f64,
}

impl Candidates<'_> {
    /// Chooses the marginal by whose measurement the driver gains most.
    pub(super) fn choose(
        &self,
        run: &mut Run<'_, '_>,
        driver: &Expert,
        gain: Gain,
        cost: Step,
    ) -> Result<&Clique> {
        let Self { cliques, relevance, answers, .. } = self;
        let round = run.next_round();

        // Candidates within the size limit, which grows with the budget spent, including this round's.
        let share = run.spent_share_with(cost.0.sum());
        let limit_mib = driver.limit_mib(self.size_limit_mib, share);
        let kept = tractable(run.domain(), &driver.cliques(run.measurements()), cliques, limit_mib);
        let wanted: Vec<usize> = (0..cliques.len()).filter(|i| kept[*i]).collect();
        if wanted.is_empty() {
            return Err(Error::NoCandidates { round, limit_mib });
        }

        // Score: the gain, weighted by relevance to the workload.
        let (errors, coverage) = model_errors(&driver.model, cliques, &wanted, answers, round)?;
        let noise = run.expected_noise(cost.0.measure);
        let domain = run.domain();
        let expected = |i: usize| noise * domain.cells(&cliques[i]).unwrap_or(u64::MAX) as f64;
        let scores = errors.map(|errors| {
            let score = |(i, error): (&usize, f64)| relevance[*i] * gain.of(error, expected(*i));
            wanted.iter().zip(errors).map(score).collect()
        });
        let penalty = wanted.iter().map(|i| expected(*i)).fold(0.0, f64::max);
        let largest = wanted.iter().map(|i| relevance[*i]).fold(0.0, f64::max);
        let sensitivity = ScoreSensitivity::l1_error(run.relation()).less(penalty);
        sensitivity.check_precision(run.largest_records() + driver.model.total())?;
        let sensitivity = sensitivity.weighted(largest)?;

        run.scored(wanted.len(), coverage.exact, coverage.sampled);
        let (how, purpose) = (Selection::Exponential, "choose a marginal");
        let choice = run.select(how, scores, sensitivity, cost.0.select, purpose)?;
        Ok(&cliques[wanted[choice]])
    }
}
