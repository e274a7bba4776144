//! Common code of commands that spend budget but create no table.

use std::path::{Path, PathBuf};

use jointly::data::{CountPlan, Sides, count_private_sides, read_private_csv};
use jointly::domain::{Clique, Schema};
use jointly::observe::Unstoppable;
use jointly::privacy::{Budget, Curator, LedgerFile, NoiseSeed, PrivacyUnit, PrivateTable};
use jointly::synthesis::{PrivateSource, warn_of_budget};
use serde_json::json;

use super::args::{KeepArgs, SpendArgs};
use super::console::{Console, beside};
use super::failure::Outcome;
use super::interrupt::{self, Told};
use super::progress::Progress;
use super::run;

/// A budget to spend in one command.
pub(super) struct Spending<'a> {
    pub(super) command: &'static str,
    pub(super) budget: Budget,
    pub(super) unit: PrivacyUnit,
    /// A ledger whose cost counts against the budget.
    pub(super) earlier: Option<&'a Path>,
    pub(super) seed: Option<u64>,
    /// Where the ledger is written.
    pub(super) ledger: PathBuf,
}

impl<'a> Spending<'a> {
    /// `out`: the result, beside which the ledger is written unless it has a place of its own.
    pub(super) fn new(command: &'static str, args: &'a SpendArgs, out: &Path) -> Outcome<Self> {
        let budget = Budget::approximate(args.epsilon, args.delta)?;
        let (unit, earlier) = (run::unit(&args.unit)?, args.ledger_from.as_deref());
        let ledger = args.ledger.clone().unwrap_or_else(|| beside(out, "ledger.json"));
        Ok(Self { command, budget, unit, earlier, seed: args.seed, ledger })
    }

    /// The same, where other records of a unit count than the first ones.
    pub(super) fn keeping(mut self, args: KeepArgs) -> Outcome<Self> {
        if let Some(units) = self.unit.units() {
            self.unit = PrivacyUnit::of_units(units.clone().keeping(args.keep))?;
        }
        Ok(self)
    }

    /// Reads the private table.
    pub(super) fn read(
        &self,
        private: &Path,
        schema: &Schema,
        console: Console,
    ) -> Outcome<PrivateTable> {
        let table = read_private_csv(private, schema, &self.unit)?;
        self.warn(&table, console);
        Ok(table)
    }

    /// Reads the private table, or only counts it: if that is asked for, and wherever it is not a file of rows.
    pub(super) fn take(
        &self,
        private: &PrivateSource,
        schema: &Schema,
        is_counted: bool,
        counts: impl FnOnce() -> Outcome<Vec<Clique>>,
        console: Console,
    ) -> Outcome<PrivateTable> {
        let table = if is_counted || private.is_counts() {
            let plan = CountPlan::new(schema, &counts()?)?;
            private.counted(&self.unit, &plan, &Unstoppable)?
        } else {
            private.sealed(&self.unit, schema)?
        };
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
        let table = count_private_sides(private, sides, &self.unit)?;
        self.warn(&table, console);
        Ok(table)
    }

    /// Warns of a budget that gives almost no protection.
    pub(super) fn warn(&self, table: &PrivateTable, console: Console) {
        warn_of_budget(self.budget, table.records(), &mut Progress::new(console));
    }

    /// Spends the budget on a table. Writes the ledger even after a failure, as a failed run also spends budget.
    pub(super) fn run<T>(
        &self,
        table: &PrivateTable,
        console: Console,
        spend: impl FnOnce(&mut Curator<'_>) -> jointly::Result<T>,
    ) -> Outcome<T> {
        let seed = self.seed.map_or(NoiseSeed::System, NoiseSeed::Fixed);
        let earlier = self.earlier.map(LedgerFile::read).transpose()?;
        let curator = table.curator(Some(self.budget), seed, earlier.as_ref());
        let mut curator = curator.map_err(|error| error.in_file_of(self.earlier))?;
        let earlier = curator.spent();
        // Nothing is shown before the ledger is written.
        interrupt::begin(Told::new(Some(&self.ledger), None));
        let result = spend(&mut curator);
        let spent = curator.spent();
        if spent == earlier {
            return Ok(result?);
        }
        LedgerFile::new(self.command, Some(self.budget), &curator).write(&self.ledger)?;
        interrupt::spent_at_once(spent, curator.ledger().limit());
        let file = format!("it is recorded in {}", self.ledger.display());
        if result.is_err() {
            console.warning(&format!("rho = {spent} was spent before the failure; {file}"));
        } else {
            let facts = json!({ "rho_spent": spent.to_f64(), "ledger": self.ledger });
            console.note("spent", &format!("rho = {spent} was spent; {file}"), facts);
        }
        Ok(result?)
    }
}
