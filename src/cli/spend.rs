//! Common code of commands that spend budget but create no table.

use std::path::Path;

use jointly::data::Projectable;
use jointly::privacy::{Budget, Curator, LedgerFile, NoiseSeed};

use super::args::{Neighbors, SpendArgs};
use super::console::Console;
use super::failure::Outcome;

/// A budget to spend in one command.
pub(super) struct Spending<'a> {
    pub(super) command: &'static str,
    pub(super) budget: Budget,
    pub(super) neighbors: Neighbors,
    pub(super) seed: Option<u64>,
    pub(super) ledger: Option<&'a Path>,
}

impl<'a> Spending<'a> {
    pub(super) fn new(command: &'static str, args: &'a SpendArgs) -> Outcome<Self> {
        let budget = Budget::approximate(args.epsilon, args.delta)?;
        let (neighbors, seed, ledger) = (args.neighbors, args.seed, args.ledger.as_deref());
        Ok(Self { command, budget, neighbors, seed, ledger })
    }

    /// Spends the budget on some records. Writes the ledger even after a failure, as a failed run also spends budget.
    pub(super) fn run<T>(
        &self,
        data: &dyn Projectable,
        console: Console,
        spend: impl FnOnce(&mut Curator<'_>) -> jointly::Result<T>,
    ) -> Outcome<T> {
        let seed = self.seed.map_or(NoiseSeed::System, NoiseSeed::Fixed);
        let mut curator = self.budget.curator(data, self.neighbors.relation(), seed)?;
        let result = spend(&mut curator);
        let has_spent = !curator.spent().is_zero();
        if result.is_err() && has_spent {
            console.warning(&format!("rho = {} was spent before the failure", curator.spent()));
        }
        if let Some(path) = self.ledger.filter(|_| has_spent) {
            LedgerFile::new(self.command, Some(self.budget), &curator).write(path)?;
        }
        Ok(result?)
    }
}
