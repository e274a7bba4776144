//! What a run says to its observer, and what it asks.

use crate::error::Result;
use crate::mechanism::{FitRecord, Run};
use crate::observe::{Checks, Event};

impl Run<'_, '_> {
    /// Asks the observer whether to go on. Every charge is preceded by it, so that a stopped run pays for nothing more.
    /// A mechanism should call it in long computations of its own.
    ///
    /// # Errors
    /// [`CommonError::Interrupted`](crate::CommonError::Interrupted) if not.
    pub fn check(&self) -> Result<()> {
        Ok(self.observer.check()?)
    }

    /// The same question, for computations that do not know the run, such as fits
    /// ([`Interruptible`](crate::inference::Interruptible)).
    pub fn checks(&self) -> &dyn Checks {
        &self.observer
    }

    /// Reports to the observer that a model of the public tables is fitted, which may take a while.
    pub fn fitting_public_tables(&mut self) {
        self.tell(&Event::FittingPublicTables { mechanism: self.mechanism });
    }

    /// Reports to the observer that the rounds begin. `planned`: the expected number of rounds. `candidates`: the
    /// number of cliques that may be measured.
    pub fn start(&mut self, planned: u32, candidates: usize) {
        self.planned = planned;
        self.tell(&Event::Started {
            mechanism: self.mechanism,
            rounds: planned,
            first_round: self.next_round(),
            candidates,
            limit: self.curator.ledger().limit(),
        });
    }

    /// Changes the number of rounds that the observer expects.
    pub fn plan(&mut self, rounds: u32) {
        self.planned = rounds;
    }

    /// Reports to the observer how a round's candidates were scored: `exact` and `sampled` say how many model marginals were
    /// computed and how many were estimated from records drawn from the model. All three are public.
    pub fn scored(&mut self, candidates: usize, exact: usize, sampled: usize) {
        let round = self.next_round();
        self.tell(&Event::Scored { round, candidates, exact, sampled });
    }

    /// Records the fit after the last finished round, and reports it to the observer.
    pub fn fitted(&mut self, fit: FitRecord) {
        let Some(record) = self.progress.rounds.last_mut() else { return };
        record.fit = Some(fit);
        let round = record.round;
        self.tell(&Event::Fitted { round, fit });
    }

    /// Reports an event to the observer.
    pub(super) fn tell(&mut self, event: &Event) {
        self.observer.event(event);
    }
}
