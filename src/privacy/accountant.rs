//! The privacy filter: adds up what is spent and refuses what would overrun.

use crate::error::Result;
use crate::privacy::{Ledger, LedgerEntry, Rho};

/// Fully adaptive composition of ρ-zCDP (Whitehouse, Ramdas, Rogers & Wu 2023): any sequence of accesses, each chosen
/// after seeing the ones before, is private at the limit as long as the sum of their costs stays within it.
///
/// ```
/// use jointly::privacy::{Accountant, LedgerEntry, NoiseMechanism, Ratio, Rho};
/// let mut accountant = Accountant::new(Rho::from_f64(0.5)?);
/// let entry = LedgerEntry {
///     round: 1,
///     purpose: "a count".into(),
///     clique: None,
///     cell: None,
///     mechanism: NoiseMechanism::DiscreteGaussian {
///         variance: Ratio::new(2, 1)?,
///         squared_l2_sensitivity: 1,
///     },
///     rho: Rho::from_f64(0.25)?, // 1 / (2 * 2)
/// };
/// accountant.charge(entry.clone())?;
/// accountant.charge(entry.clone())?;
/// assert!(accountant.charge(entry).is_err());
/// assert_eq!(accountant.remaining(), Rho::ZERO);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Accountant {
    ledger: Ledger,
}

impl Accountant {
    /// Nothing spent of a limit.
    pub fn new(limit: Rho) -> Self {
        Self { ledger: Ledger::new(limit) }
    }

    /// Goes on with a ledger that has no entry.
    pub(in crate::privacy) fn of(ledger: Ledger) -> Self {
        Self { ledger }
    }

    /// Continues a ledger, after adding up its entries again.
    ///
    /// # Errors
    /// An entry whose cost does not cover its mechanism, or entries that overrun the limit.
    pub fn resume(ledger: &Ledger) -> Result<Self> {
        let mut accountant = Self::of(ledger.emptied());
        for entry in ledger.entries() {
            accountant.charge(entry.clone())?;
        }
        Ok(accountant)
    }

    /// Writes an entry into the ledger.
    ///
    /// # Errors
    /// [`Error::BudgetExceeded`](crate::Error::BudgetExceeded) when it would overrun the limit; an entry whose cost
    /// does not cover its mechanism. Nothing is spent then.
    pub fn charge(&mut self, entry: LedgerEntry) -> Result<()> {
        self.ledger.add(entry)
    }

    /// What is spent.
    pub fn spent(&self) -> Rho {
        self.ledger.spent()
    }

    /// What is left: `spent + remaining = limit`, exactly.
    pub fn remaining(&self) -> Rho {
        self.ledger.remaining()
    }

    /// The entries so far.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}
