//! A budget that one call spends at once, without rounds: on answers, bins, shares, or how far public tables can be trusted.

use std::path::PathBuf;

use crate::data::CountPlan;
use crate::domain::{Clique, Schema};
use crate::error::Result;
use crate::observe::Unstoppable;
use crate::privacy::{Budget, Curator, LedgerFile, NoiseSeed, PrivacyUnit, PrivateTable};
use crate::synthesis::PrivateSource;

/// What a call may spend, and where the ledger of it goes.
///
/// ```
/// use jointly::synthesis::Spending;
/// use jointly::{Budget, Dataset, NeighboringRelation, domain::Domain};
/// use jointly::privacy::{NoiseSeed, PrivacyUnit, PrivateTable};
///
/// let folder = tempfile::tempdir()?;
/// let ledger = folder.path().join("ledger.json");
/// let unit = PrivacyUnit::of_record(NeighboringRelation::ReplaceOne);
/// let domain = Domain::new([("a", 2)])?;
/// let table = PrivateTable::of_records(Dataset::from_rows(domain.clone(), &[[0], [1], [1]])?, unit.clone())?;
/// let spending = Spending {
///     command: "answer",
///     budget: Budget::approximate(1.0, 1e-9)?,
///     unit,
///     earlier: None,
///     seed: NoiseSeed::System,
///     ledger: Some(ledger.clone()),
/// };
/// let bought = spending.run(&table, |curator| {
///     let rho = curator.remaining();
///     Ok(curator.measure(&domain.clique(&["a"])?, rho)?)
/// })?;
/// assert_eq!(bought.outcome?.values.len(), 2);
/// assert!(ledger.is_file());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Spending {
    /// What spends, as the ledger file names it.
    pub command: &'static str,
    /// The most that may be spent, an earlier ledger included.
    pub budget: Budget,
    /// What differs between neighboring tables.
    pub unit: PrivacyUnit,
    /// A ledger whose cost counts against the budget.
    pub earlier: Option<PathBuf>,
    /// Of the noise.
    pub seed: NoiseSeed,
    /// Where the ledger is written.
    pub ledger: Option<PathBuf>,
}

/// What came of spending.
#[derive(Debug)]
pub struct Bought<T> {
    /// What was spent, in the form of a ledger file; `None` if nothing was.
    pub ledger: Option<LedgerFile>,
    /// What was bought. An error after some was spent does not give it back.
    pub outcome: Result<T>,
}

impl Spending {
    /// Reads the private table, or only counts it: if `is_counted`, and wherever it is not a file of rows. `counts`: the
    /// marginals that will be asked for.
    ///
    /// # Errors
    /// As [`PrivateSource`]'s readers, before anything is spent.
    pub fn table(
        &self,
        private: &PrivateSource,
        schema: &Schema,
        is_counted: bool,
        counts: impl FnOnce() -> Result<Vec<Clique>>,
    ) -> Result<PrivateTable> {
        if is_counted || private.is_counts() {
            let plan = CountPlan::new(schema, &counts()?)?;
            return private.counted(&self.unit, &plan, &Unstoppable);
        }
        private.sealed(&self.unit, schema)
    }

    /// Spends the budget on a table. What was spent is on disk, if there is a file for it, before anyone sees what it bought,
    /// or that it bought nothing.
    ///
    /// # Errors
    /// An earlier ledger that cannot be read or leaves nothing, a ledger that cannot be written.
    pub fn run<T>(
        &self,
        table: &PrivateTable,
        spend: impl FnOnce(&mut Curator<'_>) -> Result<T>,
    ) -> Result<Bought<T>> {
        let earlier = self.earlier.as_deref().map(LedgerFile::read).transpose()?;
        let curator = table.curator(Some(self.budget), self.seed, earlier.as_ref());
        let mut curator = curator.map_err(|error| error.in_file_of(self.earlier.as_deref()))?;
        let before = curator.spent();
        let outcome = spend(&mut curator);
        if curator.spent() == before {
            return Ok(Bought { ledger: None, outcome });
        }
        let file = LedgerFile::new(self.command, Some(self.budget), &curator);
        if let Some(path) = &self.ledger {
            file.write(path)?;
        }
        Ok(Bought { ledger: Some(file), outcome })
    }
}
