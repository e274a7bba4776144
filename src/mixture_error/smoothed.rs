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
        let support = Support::new(public.table(), &covered(public, workload)?)?;
        // A larger instance could not be held as a whole, and might not reach its width in reasonable time.
        let needed = support.rows.records().saturating_mul(support.cliques());
        if needed > MAX_INCIDENCES {
            return Err(Error::TooLarge {
                what: "a private best mixture error".into(),
                needed: format!("{needed} distinct rows times cliques"),
                limit: format!("{MAX_INCIDENCES}: fewer cliques, or some of the public rows"),
            });
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
    pub(crate) fn extend(
        &self,
        mut answers: SmoothedAnswers,
        tables: &[Vec<u32>],
    ) -> SmoothedAnswers {
        self.support.extend(&mut answers.0, tables);
        answers
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
    Workload::new(cliques, public.table().domain())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Projectable};
    use crate::domain::Domain;
    use crate::privacy::NeighboringRelation::ReplaceOne;
    use crate::privacy::StatisticSensitivity;

    /// N v over all neighbors of small tables: v is the middle of a bracket of the smoothed value.
    #[test]
    fn what_is_released_changes_by_no_more_than_is_stated() {
        let domain = Domain::new([("a", 2), ("b", 3)]).unwrap();
        let table = |rows: &[[u32; 2]]| Dataset::from_rows(domain.clone(), rows).unwrap();
        let values: Vec<[u32; 2]> = (0..6).map(|v| [v % 2, v / 2]).collect();
        let workload = Workload::all_k_way(&domain, 2).unwrap();
        let stated = StatisticSensitivity::mixture_error(ReplaceOne, SmoothedError::WIDTH).unwrap();
        let stated = f64::from(stated.steps()) * StatisticSensitivity::GRID;
        let own = [[0, 0], [0, 0], [1, 1], [1, 2], [0, 1]];
        let total = own.len() as f64;
        let mut largest = 0.0_f64;
        for public in [vec![[0, 0], [1, 1]], vec![[0, 1], [1, 2], [0, 0], [1, 0]]] {
            let public = PublicData::new("public", table(&public), &domain).unwrap();
            for (smoothing, cells) in [
                (0.02, ScoredCells::All),
                (0.02, ScoredCells::Supported),
                (0.1, ScoredCells::Supported),
                (0.1, ScoredCells::All),
            ] {
                let smoothed = SmoothedError::new(&public, &workload, cells, smoothing).unwrap();
                let release = |rows: &[[u32; 2]]| {
                    let real = table(rows);
                    let mut answers = SmoothedAnswers::default();
                    for batch in smoothed.batches() {
                        answers = smoothed.extend(answers, &real.project_many(&batch).unwrap());
                    }
                    smoothed.value(&answers, total)
                };
                let before = release(&own);
                for place in 0..own.len() {
                    for value in &values {
                        let mut other = own;
                        other[place] = *value;
                        largest = largest.max((release(&other) - before).abs());
                    }
                }
            }
        }
        assert!(largest <= stated && largest > 0.9, "{largest} against {stated}");
    }
}
