//! Durable measurements within the remaining budget.

use crate::domain::Clique;
use crate::error::Result;
use crate::mechanism::Run;
use crate::mechanism::ide::noise::Cost;

/// The budget that the levels may still spend. Each marginal is one round. A resumed run does not repeat durable
/// rounds; it recomputes everything else from their measurements.
pub(super) struct Measuring {
    /// The number of the last round, whether or not it was resumed.
    round: usize,
    left: Cost,
}

impl Measuring {
    /// The state before the first measurement.
    pub(super) fn new(budget: Cost) -> Self {
        Self { round: 0, left: budget }
    }

    /// The budget that remains after the measurements so far.
    pub(super) fn left(&self) -> Cost {
        self.left
    }

    /// Measures marginals that share a cost evenly; the last one also gets the rounding remainder. Returns noisy
    /// counts, row-major.
    ///
    /// # Errors
    /// A part so small that it rounds to zero, a failure to count or to store the state, or a checkpoint of other
    /// marginals.
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
