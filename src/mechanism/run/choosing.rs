//! The choices of a round.

use crate::error::Result;
use crate::mechanism::Run;
use crate::privacy::{NoiseMechanism, Rho, Scores, Selection};

impl Run<'_, '_> {
    /// Chooses a candidate at random, favoring high scores, and returns its position.
    ///
    /// # Errors
    /// As [`Curator::select`](crate::privacy::Curator::select).
    pub fn select(
        &mut self,
        selection: Selection,
        scores: Scores,
        rho: Rho,
        purpose: &str,
    ) -> Result<usize> {
        self.check()?;
        let choice = self.curator.select(selection, scores, rho, purpose)?;
        self.chosen();
        Ok(choice)
    }

    /// Chooses `times` candidates at random, independently of each other and favoring high scores, for `rho` in all.
    /// Returns their positions, which may repeat.
    ///
    /// # Errors
    /// As [`Curator::select_times`](crate::privacy::Curator::select_times).
    pub fn select_times(
        &mut self,
        scores: Scores,
        rho: Rho,
        times: u32,
        purpose: &str,
    ) -> Result<Vec<usize>> {
        self.check()?;
        let choices = self.curator.select_times(scores, rho, times, purpose)?;
        self.chosen();
        Ok(choices)
    }

    /// Records the choices of the last access: the number of candidates, once for each draw.
    fn chosen(&mut self) {
        let last = self.curator.ledger().entries().last().map(|entry| &entry.mechanism);
        let among = last.and_then(NoiseMechanism::candidates).unwrap_or(0);
        let draws = last.map_or(0, NoiseMechanism::draws);
        self.current_round().choices.extend((0..draws).map(|_| among));
    }
}
