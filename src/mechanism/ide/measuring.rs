//! Measuring at a cost, durably, within what is left.

use crate::domain::Clique;
use crate::error::Result;
use crate::mechanism::Run;
use crate::mechanism::ide::noise::Cost;

/// What the levels may still spend. One marginal is a round. A resumed run does not measure durable rounds again: all
/// else follows from the measurements, and is computed again.
pub(super) struct Measuring {
    /// The number of the last round, durable before or not.
    round: usize,
    left: Cost,
}

impl Measuring {
    /// Nothing measured yet of a budget.
    pub(super) fn new(budget: Cost) -> Self {
        Self { round: 0, left: budget }
    }

    /// What the measurements so far have left of the budget.
    pub(super) fn left(&self) -> Cost {
        self.left
    }

    /// Measures marginals that share a cost evenly; the last one has what rounding leaves. Noisy counts, row-major.
    ///
    /// # Errors
    /// A part so small that it is nothing, a failure to count or to keep the state, or a checkpoint of other marginals.
    pub(super) fn measure(
        &mut self,
        run: &mut Run<'_, '_>,
        cliques: &[Clique],
        cost: Cost,
    ) -> Result<Vec<Vec<f64>>> {
        let each = cost.part(1.0, cliques.len() as f64)?;
        let mut rest = cost;
        let mut measured = Vec::with_capacity(cliques.len());
        for (i, clique) in cliques.iter().enumerate() {
            let own = if i + 1 == cliques.len() { rest } else { each };
            rest = rest.less(own);
            self.left = self.left.less(own);
            if self.round >= run.rounds().len() {
                run.begin_round()?;
                own.measure(run, clique)?;
                run.end_round()?;
            }
            let known = run.measurements().get(self.round).filter(|known| known.clique == *clique);
            let known = known.ok_or_else(|| run.refused("it measured other marginals"))?;
            measured.push(known.values.clone());
            self.round += 1;
        }
        Ok(measured)
    }
}
