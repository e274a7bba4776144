//! The only way from records to a publishable number.

mod access;
mod ledger_on_disk;
mod measure;
mod noisy;
mod observed;
mod pure;
mod set_aside;
mod steps;

pub(crate) use access::Paid;
pub use noisy::{
    LaplaceMarginal, NoisyBlocks, NoisyCell, NoisyMarginal, NoisyResidual, NoisySum, NoisyValues,
};
pub use observed::ObservedChange;

use std::sync::Arc;

use rand::rngs::ChaCha20Rng;

use crate::curator::ledger_on_disk::LedgerOnDisk;
use crate::curator::set_aside::SetAside;
use crate::error::{Error, Result};
use crate::private_table::Table;
use crate::source::Source;
use crate::{
    Checkpoint, Cost, Ledger, LedgerFile, NeighboringRelation, NoiseSeed, PrivacyUnit, Rho,
    SealedMarginals, Sensitive, Units,
};
use jointly_pgm::data::{Projectable, Recoding, Tallies};
use jointly_pgm::domain::{Clique, Domain};

/// Holds the private records, the remaining budget and the noise generator.
///
/// One private function, shared by all accesses, charges every result to the ledger before its noise is drawn.
/// Values that are not charged are sealed. Error messages never depend on the records.
///
/// Under [`NeighboringRelation::ReplaceOne`] the number of records is public; otherwise it must be measured. Under
/// [`NeighboringRelation::AddRemoveUnit`] no unit may have more records than the relation allows:
/// a reader enforces it.
///
/// ```
/// use jointly_pgm::{Clique, Dataset, Domain};
/// use jointly_privacy::{Budget, NeighboringRelation::AddRemoveOne, NoiseSeed};
/// let private = Dataset::from_rows(Domain::new([("sex", 2), ("age", 4)])?, &[[0, 3], [1, 2], [1, 1]])?;
/// let budget = Budget::approximate(1.0, 1e-9)?;
/// let mut curator = budget.curator(&private, AddRemoveOne, NoiseSeed::System)?;
/// let (tenth, _) = budget.rho().fraction(0.1)?;
/// let noisy = curator.measure(&Clique::new([0]), tenth)?;
/// assert_eq!((noisy.values.len(), curator.ledger().entries().len()), (2, 1));
/// assert!(curator.remaining() < budget.rho());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Curator<'a> {
    data: Table<'a>,
    /// What tells its sealed values from those of other curators.
    identity: Arc<()>,
    /// Neighbors of the table, and what was seen beside them; only in an audit.
    neighbors: Vec<Table<'a>>,
    observed: Vec<ObservedChange>,
    unit: PrivacyUnit,
    ledger: Ledger,
    checkpoint: Option<Checkpoint>,
    /// The number of entries that a resumed run does not pay for again: those of an earlier ledger and of kept steps.
    accounted: usize,
    /// The number of entries before the step in progress.
    before_step: usize,
    seed: NoiseSeed,
    round: u32,
    /// `None` after resuming a run, until the next round begins.
    noise: Option<ChaCha20Rng>,
    on_disk: Option<LedgerOnDisk>,
    set_aside: Option<SetAside>,
    /// Tables that are released without protection.
    conditional_on: Vec<String>,
}

impl<'a> Curator<'a> {
    /// Creates a curator that has spent nothing. It starts at round 0, before the first round.
    ///
    /// # Errors
    /// [`Error::Entropy`] when the system's random generator fails.
    pub fn new(
        data: &'a dyn Projectable,
        relation: NeighboringRelation,
        limit: Rho,
        seed: NoiseSeed,
    ) -> Result<Self> {
        Self::of(Table::Borrowed(data), relation, limit, seed)
    }

    pub(crate) fn of(
        data: Table<'a>,
        relation: NeighboringRelation,
        limit: Rho,
        seed: NoiseSeed,
    ) -> Result<Self> {
        Self::of_ledger(data, relation, Ledger::new(limit), seed)
    }

    /// Sets the column that names the units of privacy. The curator then refuses ledgers of other units.
    ///
    /// # Errors
    /// A unit whose relation differs from the curator's.
    pub fn with_unit(mut self, unit: PrivacyUnit) -> Result<Self> {
        if unit.relation() != self.relation() {
            let found = unit.relation();
            return Err(Error::invalid_parameter("relation of a unit", found, "the curator's"));
        }
        self.unit = unit;
        Ok(self)
    }

    fn of_ledger(
        data: Table<'a>,
        relation: NeighboringRelation,
        ledger: Ledger,
        seed: NoiseSeed,
    ) -> Result<Self> {
        let noise = Some(seed.generator(0)?);
        let ledger = ledger.of_unit(relation.unit());
        let unit = PrivacyUnit::of_record(relation);
        Ok(Self {
            data,
            identity: Arc::new(()),
            neighbors: Vec::new(),
            observed: Vec::new(),
            unit,
            ledger,
            checkpoint: None,
            accounted: 0,
            before_step: 0,
            seed,
            round: 0,
            noise,
            on_disk: None,
            set_aside: None,
            conditional_on: Vec::new(),
        })
    }

    /// Takes note of tables of the private records that are released as they are (invariants): what the ledger says holds among
    /// private tables that share them only. Those of an earlier ledger stay.
    pub fn condition_on(&mut self, tables: impl IntoIterator<Item = String>) {
        for table in tables {
            if !self.conditional_on.contains(&table) {
                self.conditional_on.push(table);
            }
        }
    }

    /// The names of the tables that are released without protection.
    pub fn conditional_on(&self) -> &[String] {
        &self.conditional_on
    }

    /// Goes on with the same records under new codes. Call this before the first round.
    ///
    /// The rule may depend on what the curator has released. It gives each record its codes from its own old ones, so that
    /// neighboring tables stay neighbors.
    ///
    /// # Errors
    /// A table of which only counts are left, or codes of other attributes; [`Error::Entropy`] when the system's random
    /// generator fails.
    pub fn recode(&mut self, recoding: &Recoding) -> Result<()> {
        self.data.recode(recoding)?;
        self.neighbors.iter_mut().try_for_each(|neighbor| neighbor.recode(recoding))?;
        // A generator of its own, also after resuming the step that the rule came from.
        self.noise = Some(self.seed.generator(self.round)?);
        Ok(())
    }

    /// Counts what an earlier run spent on the same records against this run's limit. Its entries come first in the
    /// ledger, dated before the first round. Call this before any other access.
    ///
    /// The ledger of units may have counted another number of records of each, or a unit as one record: whatever it counted of
    /// a unit is that unit's own, so that its cost is for adding or removing a whole unit as well
    /// (`docs/theory/sensitivities.md`, section 8).
    ///
    /// # Errors
    /// A ledger with noise from a fixed seed, unless this run has a fixed seed too; a ledger of another unit or another
    /// relation; a ledger that spends more than the limit, or has an entry whose cost does not cover its mechanism;
    /// or a curator that has already spent something.
    pub fn charge_earlier(&mut self, earlier: &LedgerFile) -> Result<()> {
        let refused = |found: String, expected: String| {
            Error::invalid_specification("earlier ledger", found, expected)
        };
        if !self.spent().is_zero() || self.round > 0 {
            let found = format!("a run that has spent {} by round {}", self.spent(), self.round);
            return Err(refused(found, "before anything is spent".into()));
        }
        let both_of_units = earlier.neighbors.unit().is_some() && self.relation().unit().is_some();
        if earlier.neighbors != self.relation() && !both_of_units {
            let found = format!("neighbors {}", earlier.neighbors);
            return Err(refused(found, format!("{}, as in this run", self.relation())));
        }
        let own = self.unit.units().map_or("a record", Units::column);
        if earlier.unit_name() != own {
            let found = format!("units by {}", earlier.unit_name());
            return Err(refused(found, format!("by {own}, as in this run")));
        }
        if !earlier.private && self.is_private() {
            let found = "noise from a fixed seed, which is NOT PRIVATE".into();
            return Err(refused(found, "a private run, or a fixed seed in this run too".into()));
        }
        earlier.check_relation()?;
        let (before, own) = (earlier.ledger.records_per_unit(), self.relation().unit());
        let mut charged = self.ledger.emptied();
        let used_up = |spent: Cost, limit: Cost| Err(Error::BudgetUsedUp { spent, limit });
        for entry in earlier.ledger.entries() {
            match charged.charge(entry.carried(before, own)) {
                Err(Error::BudgetExceeded { remaining: Cost::Rho(_), .. }) => {
                    let spent = Cost::Rho(earlier.ledger.spent());
                    return used_up(spent, Cost::Rho(charged.limit()));
                }
                done => done?,
            }
        }
        if charged.remaining().is_zero() {
            return used_up(Cost::Rho(charged.spent()), Cost::Rho(charged.limit()));
        }
        self.accounted = charged.entries().len();
        self.ledger = charged;
        self.condition_on(earlier.conditional_on.iter().cloned());
        Ok(())
    }

    /// Where the noise comes from.
    pub fn seed(&self) -> NoiseSeed {
        self.seed
    }

    /// Begins a round with its own noise generator. The generator is fresh from the system, or derived from a fixed
    /// seed and the round, so that a resumed run repeats the same draws.
    ///
    /// `round`: counted from 1, above the previous round. Directly after [`resume`](Self::resume) it may repeat the last round
    /// of the ledger.
    ///
    /// # Errors
    /// A round that is not above the previous one, or [`Error::Entropy`].
    pub fn begin_round(&mut self, round: u32) -> Result<()> {
        let first = if self.noise.is_some() { self.round.saturating_add(1) } else { self.round };
        if round < first.max(1) {
            let expected = "at least 1 and above every round before";
            return Err(Error::invalid_parameter("round", round, expected));
        }
        self.noise = Some(self.seed.generator(round)?);
        self.round = round;
        Ok(())
    }

    /// The attributes of the records; public.
    pub fn domain(&self) -> &Domain {
        self.data.domain()
    }

    /// Which tables are indistinguishable.
    pub fn relation(&self) -> NeighboringRelation {
        self.unit.relation()
    }

    /// What differs between neighboring tables.
    pub fn unit(&self) -> &PrivacyUnit {
        &self.unit
    }

    /// The number of records where it is public, that is, under replace-one.
    pub fn records(&self) -> Option<u64> {
        self.relation().has_public_total().then(|| self.data.records())
    }

    /// The round, counted from 1; 0 before the first.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// The budget spent so far.
    pub fn spent(&self) -> Rho {
        self.ledger.spent()
    }

    /// The budget that remains.
    pub fn remaining(&self) -> Rho {
        self.ledger.remaining()
    }

    /// The δ that accesses with a threshold may still spend, rounded down.
    pub fn remaining_delta(&self) -> f64 {
        self.ledger.remaining_delta()
    }

    /// Lets accesses with a threshold spend δ, beside the budget of ρ; [`crate::Budget`] says how much that is.
    #[must_use]
    pub(crate) fn with_delta(mut self, limit: f64) -> Self {
        self.ledger = self.ledger.of_delta(limit);
        self
    }

    /// The ledger so far.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Whether the noise protects the records. False when its seed is fixed.
    pub fn is_private(&self) -> bool {
        self.seed.is_private()
    }

    /// The exact marginals on some cliques, sealed. This costs nothing, as no value leaves the curator.
    ///
    /// # Errors
    /// A clique outside the domain, or a failure to count.
    pub fn marginals(&self, cliques: &[Clique]) -> Result<SealedMarginals> {
        cliques.iter().try_for_each(|clique| self.check_clique(clique))?;
        self.sealed(self.domain(), cliques, |data| Ok(data.project_many(cliques)?))
    }

    /// The exact marginals of tallies of the records, sealed. They have the sensitivities of the records' own marginals, as each
    /// record gets its tallies from its own codes (`docs/theory/sensitivities.md`, section 8).
    ///
    /// `cliques`: of the tallies' attributes.
    ///
    /// # Errors
    /// A table of which only counts are left, tallies of another domain, or as [`marginals`](Self::marginals).
    pub fn tallied_marginals(
        &self,
        tallies: &Tallies,
        cliques: &[Clique],
    ) -> Result<SealedMarginals> {
        let domain = tallies.domain();
        cliques.iter().try_for_each(|clique| check_clique(domain, clique))?;
        self.sealed(domain, cliques, |data| Ok(data.tally(tallies)?.project_many(cliques)?))
    }

    /// Counts in the table, and in an audit in its neighbors.
    fn sealed(
        &self,
        domain: &Domain,
        cliques: &[Clique],
        count: impl Fn(&Table<'_>) -> Result<Vec<Vec<u32>>>,
    ) -> Result<SealedMarginals> {
        let shape =
            |clique: &Clique| (domain.shape(clique).iter().product(), domain.describe(clique));
        let neighbors = self.neighbors.iter().map(&count).collect::<Result<_>>()?;
        let counts = Sensitive::beside(count(&self.data)?, neighbors);
        let most_records = self.records().unwrap_or_else(|| u32::MAX.into()) as f64;
        let shapes = cliques.iter().map(shape).collect();
        let source = Source::new(&self.identity, self.relation(), most_records);
        Ok(SealedMarginals::new(source, shapes, counts))
    }

    /// Refuses an attribute outside the domain.
    fn check_clique(&self, clique: &Clique) -> Result<()> {
        check_clique(self.domain(), clique)
    }
}

/// Refuses an attribute outside a domain.
fn check_clique(domain: &Domain, clique: &Clique) -> Result<()> {
    match clique.iter().next_back() {
        Some(last) if last >= domain.len() => Err(Error::invalid_specification(
            format!("clique {clique}"),
            format!("attribute {last}"),
            format!("one of the {} attributes of the domain", domain.len()),
        )),
        _ => Ok(()),
    }
}
