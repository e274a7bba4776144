//! Common code of commands that spend budget but create no table.

use std::path::Path;

use jointly::data::{Sides, count_private_sides, read_private_csv};
use jointly::domain::{Clique, Schema};
use jointly::privacy::{Budget, Curator, NoiseSeed, PrivacyUnit, PrivateTable};
use jointly::synthesis::{self, Bought, PrivateSource, warn_of_budget};
use serde_json::json;

use super::args::{KeepArgs, SpendArgs};
use super::console::{Console, beside};
use super::failure::Outcome;
use super::interrupt::{self, Told};
use super::progress::Progress;
use super::run;

/// A budget to spend in one command, which says what became of it.
pub(super) struct Spending {
    pub(super) job: synthesis::Spending,
}

impl Spending {
    /// `out`: the result, beside which the ledger is written unless it has a place of its own.
    pub(super) fn new(command: &'static str, args: &SpendArgs, out: &Path) -> Outcome<Self> {
        let budget = Budget::approximate(args.epsilon, args.delta)?;
        let (unit, earlier) = (run::unit(&args.unit)?, args.ledger_from.clone());
        let seed = args.seed.map_or(NoiseSeed::System, NoiseSeed::Fixed);
        let ledger = Some(args.ledger.clone().unwrap_or_else(|| beside(out, "ledger.json")));
        Ok(Self { job: synthesis::Spending { command, budget, unit, earlier, seed, ledger } })
    }

    /// The same, where other records of a unit count than the first ones.
    pub(super) fn keeping(mut self, args: KeepArgs) -> Outcome<Self> {
        if let Some(units) = self.job.unit.units() {
            self.job.unit = PrivacyUnit::of_units(units.clone().keeping(args.keep))?;
        }
        Ok(self)
    }

    /// Where the ledger is written.
    pub(super) fn ledger(&self) -> &Path {
        self.job.ledger.as_deref().unwrap_or(Path::new(""))
    }

    /// Reads the private table.
    pub(super) fn read(
        &self,
        private: &Path,
        schema: &Schema,
        console: Console,
    ) -> Outcome<PrivateTable> {
        let table = read_private_csv(private, schema, &self.job.unit)?;
        self.warn(&table, console);
        Ok(table)
    }

    /// Reads the private table, or only counts it ([`synthesis::Spending::table`]).
    pub(super) fn take(
        &self,
        private: &PrivateSource,
        schema: &Schema,
        is_counted: bool,
        counts: impl FnOnce() -> jointly::Result<Vec<Clique>>,
        console: Console,
    ) -> Outcome<PrivateTable> {
        let table = self.job.table(private, schema, is_counted, counts)?;
        self.warn(&table, console);
        Ok(table)
    }

    /// Counts the private table on each side of some lines.
    pub(super) fn count_sides(
        &self,
        private: &Path,
        sides: &Sides,
        console: Console,
    ) -> Outcome<PrivateTable> {
        let table = count_private_sides(private, sides, &self.job.unit)?;
        self.warn(&table, console);
        Ok(table)
    }

    /// Warns of a budget that gives almost no protection.
    pub(super) fn warn(&self, table: &PrivateTable, console: Console) {
        warn_of_budget(self.job.budget, table.records(), &mut Progress::new(console));
    }

    /// Spends the budget on a table, and says what was spent and where that is recorded, after a failure too.
    pub(super) fn run<T>(
        &self,
        table: &PrivateTable,
        console: Console,
        spend: impl FnOnce(&mut Curator<'_>) -> jointly::Result<T>,
    ) -> Outcome<T> {
        // Nothing is shown before the ledger is written.
        interrupt::begin(Told::new(Some(self.ledger()), None));
        let Bought { ledger, outcome } = self.job.run(table, spend)?;
        let Some(file) = ledger else { return Ok(outcome?) };
        let (spent, limit) = (file.ledger.spent(), file.ledger.limit());
        interrupt::spent_at_once(spent, limit);
        let place = format!("it is recorded in {}", self.ledger().display());
        if outcome.is_err() {
            console.warning(&format!("rho = {spent} was spent before the failure; {place}"));
        } else {
            let facts = json!({ "rho_spent": spent.to_f64(), "ledger": self.ledger() });
            console.note("spent", &format!("rho = {spent} was spent; {place}"), facts);
        }
        Ok(outcome?)
    }
}
