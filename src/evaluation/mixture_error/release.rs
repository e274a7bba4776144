//! The private release of a best mixture error.

use serde::Serialize;

use super::game::Game;
use super::problem::Problem;
use super::support::{Answers, Support};
use super::working_set::MAX_INCIDENCES;
use super::{MixtureError, ScoredCells, guaranteed, parts};
use crate::data::PublicData;
use crate::domain::Clique;
use crate::error::{Error, Result};
use crate::privacy::{Curator, NoiseForm, Rho, Sensitive, StatisticSensitivity};
use crate::query::{WeightedClique, Workload};

/// Width, in counts, of the bracket of a value that is released.
const WIDTH: f64 = 0.25;

/// A best mixture error with noise: it may be published.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NoisyMixtureError {
    /// The error with noise, as a probability; it may be below 0 or above 1.
    pub value: f64,
    /// Standard deviation of the noise, as a probability.
    pub stddev: f64,
    /// Half the width of an interval around the value that covers the error itself with the confidence asked for.
    pub half_width: f64,
}

impl MixtureError {
    /// Releases the best mixture error of a public table for the private records, at a cost of `rho`.
    ///
    /// What is released is the value of the game with relative entropies added on both sides (Nesterov 2005), which is
    /// within [`tolerance`](Self::tolerance) of f, or within half the standard deviation of the noise where that is more, and
    /// solved to a bracket of a quarter of a count. One record changes n times that value by at most 1, under both
    /// relations, and the middle of the bracket by at most 1.25; a unit of K records by K and K + 0.25
    /// (`docs/theory/sensitivities.md`, section 7). The bracket does get as narrow: where the fast method does not bring it
    /// there, one with a proved number of iterations does. **The running time depends on the records** and should not be
    /// published with the result.
    ///
    /// Cliques of the workload that the table does not cover are left out. `total`: n where it is public, else what was
    /// measured for it. `confidence`: of [`NoisyMixtureError::half_width`], of `numbers` such intervals at once.
    ///
    /// # Errors
    /// An instance of more than 2²⁵ distinct rows times cliques, a tolerance outside (0, 1), a total below 1, no clique of the
    /// workload that the table covers, or a budget that does not suffice. No message depends on the records.
    pub fn release(
        &self,
        curator: &mut Curator<'_>,
        public: &PublicData,
        workload: &Workload,
        total: f64,
        noise: (NoiseForm, Rho),
        (confidence, numbers): (f64, usize),
    ) -> Result<NoisyMixtureError> {
        self.check()?;
        if !(total >= 1.0 && total.is_finite()) {
            return Err(Error::invalid_parameter("total", total, "at least 1"));
        }
        if self.tolerance >= 1.0 {
            return Err(Error::invalid_parameter("tolerance", self.tolerance, "below 1"));
        }
        let sensitivity = StatisticSensitivity::mixture_error(curator.relation(), WIDTH)?;
        let (form, rho) = noise;
        let changed = f64::from(sensitivity.steps()) * StatisticSensitivity::GRID / total;
        let noise = changed / (2.0 * rho.to_f64()).sqrt();
        let smoothing = self.tolerance.max(0.5 * noise).min(1.0);
        let support = Support::new(public.table(), &covered(public, workload)?)?;
        refuse_large(&support)?;
        let incidence = support.whole_incidence()?;
        let exact = answers(curator, public, &support)?.map(|answers| {
            let floor = self.cells == ScoredCells::All;
            let Problem { targets, floor, .. } = Problem::new(&support, &answers, total, floor);
            let game = Game::new(&incidence, targets, floor).smoothed(smoothing);
            vec![settle(&game, WIDTH / total) * total]
        });
        let purpose = format!("best mixture error of {}", public.name());
        let noisy = curator.measure_statistics(exact, sensitivity, form, rho, &purpose)?;
        Ok(NoisyMixtureError {
            value: noisy.values[0] / total,
            stddev: noisy.stddev / total,
            half_width: (noisy.half_width(confidence, numbers)? + 0.5 * WIDTH) / total + smoothing,
        })
    }
}

/// The middle of a bracket of a smoothed game's value that is no wider than `width`. Nothing in it can fail.
fn settle(game: &Game, width: f64) -> f64 {
    let mut bracket = parts::close(game, width);
    if bracket[1] - bracket[0] > width {
        bracket = guaranteed::close(game, width, guaranteed::NORM).bracket;
    }
    bracket[0].midpoint(bracket[1])
}

/// Refuses an instance that the first-order method could not hold as a whole: it might not come to its width in any
/// reasonable time. Decided on public sizes alone.
fn refuse_large(support: &Support) -> Result<()> {
    let needed = support.rows.records().saturating_mul(support.cliques());
    if needed <= MAX_INCIDENCES {
        return Ok(());
    }
    Err(Error::TooLarge {
        what: "a private best mixture error".into(),
        needed: format!("{needed} distinct rows times cliques"),
        limit: format!("{MAX_INCIDENCES}: fewer cliques, or some of the public rows"),
    })
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

/// What the private table has in the cells of a support, sealed.
fn answers(
    curator: &Curator<'_>,
    public: &PublicData,
    support: &Support,
) -> Result<Sensitive<Answers>> {
    let attributes = public.attributes();
    let private = |clique: &Clique| Clique::new(clique.iter().map(|a| attributes.attributes()[a]));
    let mut sealed: Option<Sensitive<Answers>> = None;
    for batch in support.batches() {
        let cliques: Vec<Clique> = batch.iter().map(private).collect();
        let tables = curator.marginals(&cliques)?;
        let extended = |mut answers: Answers, tables: Vec<Vec<u32>>| {
            support.extend(&mut answers, &tables);
            answers
        };
        sealed = Some(match sealed {
            None => tables.map(|tables| extended(Answers::default(), tables)),
            Some(before) => before.zip(tables).map(|(answers, tables)| extended(answers, tables)),
        });
    }
    sealed.ok_or_else(|| Error::invalid_specification("workload", "no clique", "at least one"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Projectable};
    use crate::domain::Domain;
    use crate::privacy::NeighboringRelation::ReplaceOne;

    /// N v over all neighbors of small tables: v is the middle of a bracket of the smoothed value, by the fast method and,
    /// where that is stopped at once, by the other.
    #[test]
    fn what_is_released_changes_by_no_more_than_is_stated() {
        let domain = Domain::new([("a", 2), ("b", 3)]).unwrap();
        let table = |rows: &[[u32; 2]]| Dataset::from_rows(domain.clone(), rows).unwrap();
        let values: Vec<[u32; 2]> = (0..6).map(|v| [v % 2, v / 2]).collect();
        let workload = Workload::all_k_way(&domain, 2).unwrap();
        let stated = StatisticSensitivity::mixture_error(ReplaceOne, WIDTH).unwrap();
        let stated = f64::from(stated.steps()) * StatisticSensitivity::GRID;
        let own = [[0, 0], [0, 0], [1, 1], [1, 2], [0, 1]];
        let total = own.len() as f64;
        let mut largest = 0.0_f64;
        for public in [vec![[0, 0], [1, 1]], vec![[0, 1], [1, 2], [0, 0], [1, 0]]] {
            let support = Support::new(&table(&public), &workload).unwrap();
            let incidence = support.whole_incidence().unwrap();
            for (tolerance, all) in [(0.02, true), (0.02, false), (0.1, false), (0.1, true)] {
                let release = |rows: &[[u32; 2]]| {
                    let real = table(rows);
                    let answers = support.answers(|cliques| real.project_many(cliques)).unwrap();
                    let Problem { targets, floor, .. } =
                        Problem::new(&support, &answers, total, all);
                    let game = Game::new(&incidence, targets, floor).smoothed(tolerance);
                    settle(&game, WIDTH / total) * total
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
