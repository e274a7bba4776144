//! The best mixture error in the released form: smoothed, and solved to a fixed width.

use super::game::Game;
use super::problem::Problem;
use super::support::{Answers, Support};
use super::working_set::MAX_INCIDENCES;
use super::{ScoredCells, guaranteed, parts};
use crate::data::PublicData;
use crate::domain::Clique;
use crate::error::{Error, Result};
use crate::query::{WeightedClique, Workload};

/// The value of the game with relative entropies added on both sides (Nesterov 2005), which is within the smoothing of
/// the best mixture error. It is public until answers are added.
pub(crate) struct SmoothedError {
    support: Support,
    incidence: Vec<Vec<u32>>,
    /// The table's attributes, as positions in the private domain.
    attributes: Clique,
    cells: ScoredCells,
    smoothing: f64,
}

/// Answers added so far.
#[derive(Default)]
pub(crate) struct SmoothedAnswers(Answers);

impl SmoothedError {
    /// Width, in counts, of the bracket to which the value is solved.
    pub(crate) const WIDTH: f64 = 0.25;

    /// The game of a public table. Cliques of the workload that the table does not cover are left out.
    ///
    /// # Errors
    /// An instance of more than 2²⁵ distinct rows times cliques, or no clique that the table covers.
    pub(crate) fn new(
        public: &PublicData,
        workload: &Workload,
        cells: ScoredCells,
        smoothing: f64,
    ) -> Result<Self> {
        let support = Support::new(public.table()?, &covered(public, workload)?)?;
        // A larger instance could not be held as a whole, and might not reach its width in reasonable time.
        let needed = support.rows.records().saturating_mul(support.cliques());
        if needed > MAX_INCIDENCES {
            return Err(Error::too_large(
                "a private best mixture error",
                Some(needed as f64),
                MAX_INCIDENCES as f64,
                "distinct rows times cliques",
            ));
        }
        let incidence = support.whole_incidence()?;
        Ok(Self { support, incidence, attributes: public.attributes().clone(), cells, smoothing })
    }

    /// Cliques of the private domain that are counted together, batch by batch.
    pub(crate) fn batches(&self) -> Vec<Vec<Clique>> {
        let own = self.attributes.attributes();
        let private = |clique: &Clique| Clique::new(clique.iter().map(|a| own[a]));
        self.support.batches().iter().map(|batch| batch.iter().map(private).collect()).collect()
    }

    /// Adds the next batch's tables.
    pub(crate) fn extend(&self, answers: &mut SmoothedAnswers, tables: &[Vec<u32>]) {
        self.support.extend(&mut answers.0, tables);
    }

    /// The value, in counts of `total` records: the middle of a bracket of [`WIDTH`](Self::WIDTH). It cannot fail.
    pub(crate) fn value(&self, answers: &SmoothedAnswers, total: f64) -> f64 {
        let floor = self.cells == ScoredCells::All;
        let Problem { targets, floor, .. } = Problem::new(&self.support, &answers.0, total, floor);
        let game = Game::new(&self.incidence, targets, floor).smoothed(self.smoothing);
        let width = Self::WIDTH / total;
        let mut bracket = parts::close(&game, width);
        if bracket[1] - bracket[0] > width {
            bracket = guaranteed::close(&game, width, guaranteed::NORM).bracket;
        }
        bracket[0].midpoint(bracket[1]) * total
    }
}

/// The cliques of a workload of the private domain that a public table covers, in the domain of that table.
pub(super) fn covered(public: &PublicData, workload: &Workload) -> Result<Workload> {
    let attributes = public.attributes();
    let local = |clique: &Clique| {
        Clique::new(clique.iter().map(|a| attributes.iter().take_while(|own| *own < a).count()))
    };
    let cliques = workload.weighted_cliques().iter().filter(|c| public.covers(&c.clique));
    let cliques = cliques.map(|c| WeightedClique { clique: local(&c.clique), weight: c.weight });
    Workload::new(cliques, public.table()?.domain())
}

#[cfg(test)]
mod tests;
