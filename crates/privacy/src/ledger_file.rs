//! The ledger file: the amount spent, the command that spent it, and the guarantee.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::durable::write_durably;
use crate::error::{Error, Result};
use crate::text::read_text;
use crate::{Budget, Curator, Keep, Ledger, NeighboringRelation, PrivacyUnit, RecordsPerUnit};

/// The value of the first member of a file, and its version.
const FORMAT: &str = "jointly-ledger";
const VERSION: u32 = 3;

/// A ledger with everything needed to continue it. Every command writes its spending in this format.
///
/// It contains only publishable numbers. [`Curator::charge_earlier`] counts it against a new run's budget.
///
/// ```
/// use jointly_pgm::{Clique, Dataset, Domain};
/// use jointly_privacy::{Budget, LedgerFile, NeighboringRelation, NoiseSeed};
/// let private = Dataset::from_rows(Domain::new([("sex", 2)])?, &[[0], [1], [1]])?;
/// let relation = NeighboringRelation::ReplaceOne;
/// let (first, whole) = (Budget::approximate(0.5, 1e-9)?, Budget::approximate(2.0, 1e-9)?);
/// let mut curator = first.curator(&private, relation, NoiseSeed::System)?;
/// curator.measure(&Clique::new([0]), first.rho())?;
/// let file = LedgerFile::new("a first look", Some(first), &curator);
///
/// let mut next = whole.curator(&private, relation, NoiseSeed::System)?;
/// next.charge_earlier(&file)?;
/// assert_eq!(next.spent(), first.rho());
/// # Ok::<(), jointly_privacy::Error>(())
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct LedgerFile {
    format: &'static str,
    version: u32,
    /// Whether the guarantee holds: false when the noise came from a fixed seed.
    pub private: bool,
    /// Names of tables of the private records that were released as they are: the guarantee holds among private tables that share
    /// them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditional_on: Vec<String>,
    note: &'static str,
    /// The mechanism or the command that spent.
    #[serde(rename = "mechanism")]
    pub command: String,
    /// Which tables are neighbors.
    pub neighbors: NeighboringRelation,
    /// ε of the budget; `None` when nothing may be spent.
    pub epsilon: Option<f64>,
    /// δ of the budget; 0 for pure differential privacy.
    pub delta: Option<f64>,
    /// ε of the entries, if the limit is pure ε.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pure_epsilon: Option<f64>,
    /// What differs between neighbors, if not one record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<LedgerUnit>,
    /// Other output of the command: rounds, public tables, answers.
    #[serde(flatten)]
    pub details: Map<String, Value>,
    /// The entries.
    pub ledger: Ledger,
}

/// The unit of privacy of a ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerUnit {
    /// The column that identifies the unit of each record.
    pub column: String,
    /// The maximum number of records counted per unit.
    pub max_records: u32,
    /// Which records of a unit were counted.
    #[serde(default, skip_serializing_if = "Keep::is_first")]
    pub keep: Keep,
    /// Whether a unit is one record, which holds its members.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_record: bool,
}

/// The members that a reader needs.
#[derive(Deserialize)]
struct RawLedgerFile {
    format: String,
    version: u32,
    private: bool,
    #[serde(default)]
    conditional_on: Vec<String>,
    #[serde(default)]
    mechanism: String,
    neighbors: NeighboringRelation,
    epsilon: Option<f64>,
    delta: Option<f64>,
    unit: Option<LedgerUnit>,
    ledger: Ledger,
}

/// What a reader should know first.
fn note(is_private: bool, conditional_on: &[String]) -> &'static str {
    match (is_private, conditional_on) {
        (false, _) => "NOT PRIVATE: the noise came from a fixed seed",
        (true, []) => "spent is the sum of the entries, and at most the limit",
        (true, _) => {
            "the tables in conditional_on were released without protection, and the guarantee holds among private tables that \
             share them; spent is the sum of the entries, and at most the limit"
        }
    }
}

impl LedgerFile {
    /// What a curator has spent so far. `command`: the command that spent it.
    pub fn new(command: impl Into<String>, budget: Option<Budget>, curator: &Curator<'_>) -> Self {
        let is_private = curator.is_private();
        let ledger = curator.whole_ledger();
        let own = Self::of_release(command, budget, curator.unit(), is_private, &ledger);
        own.conditional_on(curator.conditional_on())
    }

    /// The same, with the names of tables that were released without protection ([`Curator::condition_on`]).
    #[must_use]
    pub fn conditional_on(mut self, tables: &[String]) -> Self {
        self.conditional_on = tables.to_vec();
        self.note = note(self.private, tables);
        self
    }

    /// The same for a finished run.
    pub fn of_release(
        command: impl Into<String>,
        budget: Option<Budget>,
        unit: &PrivacyUnit,
        is_private: bool,
        ledger: &Ledger,
    ) -> Self {
        Self::of(RawLedgerFile {
            format: FORMAT.to_owned(),
            version: VERSION,
            private: is_private,
            conditional_on: Vec::new(),
            mechanism: command.into(),
            neighbors: unit.relation(),
            epsilon: budget.map(Budget::epsilon),
            delta: budget.map(Budget::delta),
            unit: unit.units().map(|units| LedgerUnit {
                column: units.column().to_owned(),
                max_records: units.most(),
                keep: units.keep(),
                one_record: units.members().is_some(),
            }),
            ledger: ledger.clone(),
        })
    }

    fn of(stored: RawLedgerFile) -> Self {
        let is_pure = stored.ledger.epsilon_limit().is_some();
        Self {
            format: FORMAT,
            version: VERSION,
            private: stored.private,
            note: note(stored.private, &stored.conditional_on),
            conditional_on: stored.conditional_on,
            command: stored.mechanism,
            neighbors: stored.neighbors,
            epsilon: stored.epsilon,
            delta: stored.delta,
            pure_epsilon: stored.ledger.pure_epsilon().filter(|_| is_pure),
            unit: stored.unit,
            details: Map::new(),
            ledger: stored.ledger,
        }
    }

    /// Adds a member that is not needed to continue the ledger.
    ///
    /// # Errors
    /// A value that cannot be represented as JSON.
    pub fn with(mut self, name: &str, value: &impl Serialize) -> Result<Self> {
        let value = serde_json::to_value(value).map_err(|error| {
            Error::invalid_specification(name, error.to_string(), "a value that JSON can hold")
        })?;
        self.details.insert(name.to_owned(), value);
        Ok(self)
    }

    /// Writes the file atomically. It is on disk when this returns.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        write_durably(path, |out| {
            let failed = |source| Error::Io { action: "write", path: path.into(), source };
            serde_json::to_writer_pretty(&mut *out, self).map_err(|error| failed(error.into()))?;
            out.write_all(b"\n").map_err(failed)
        })
    }

    /// Reads a file written by any command, and recomputes the sum of its entries.
    ///
    /// # Errors
    /// A file that cannot be read, has another format, or whose entries contradict one another.
    pub fn read(path: &Path) -> Result<Self> {
        Self::from_json(&read_text(path)?, &path.display().to_string())
    }

    /// Reads the text of a file; `place` stands for the file in errors.
    ///
    /// # Errors
    /// As [`LedgerFile::read`].
    pub fn from_json(text: &str, place: &str) -> Result<Self> {
        let stored: RawLedgerFile = serde_json::from_str(text)
            .map_err(|error| Error::wrong_json(place, &error, true, "a ledger"))?;
        // No earlier version was ever published, and a ledger that calls itself one lacks what is checked below.
        if (stored.format.as_str(), stored.version) != (FORMAT, VERSION) {
            let found = format!("format '{}', version {}", stored.format, stored.version);
            let expected = format!("format '{FORMAT}', version {VERSION}");
            return Err(Error::invalid_specification(place, found, expected));
        }
        let lacking = stored.ledger.entries().iter().find(|entry| entry.lacks_score());
        if let Some(entry) = lacking {
            return Err(Error::invalid_specification(
                format!("{place}, round {}, {}", entry.round, entry.purpose),
                "a selection without 'score'",
                "the parts of its sensitivity",
            ));
        }
        Ok(Self::of(stored))
    }

    /// Refuses a ledger of another unit than its relation's, or one with an entry that was measured under another relation.
    pub(crate) fn check_relation(&self) -> Result<()> {
        let own = self.neighbors;
        if self.ledger.records_per_unit() != own.unit() {
            let of = |unit: Option<RecordsPerUnit>| match unit {
                None => "units of one record".to_owned(),
                Some(records) => format!("units of {} records at most", records.get()),
            };
            let found = of(self.ledger.records_per_unit());
            return Err(Error::invalid_specification("ledger", found, of(own.unit())));
        }
        let foreign = self.ledger.entries().iter().find(|entry| !entry.is_of(own));
        match foreign {
            None => Ok(()),
            Some(entry) => Err(Error::invalid_specification(
                format!("ledger, round {}, {}", entry.round, entry.purpose),
                "a sensitivity of another relation",
                format!("that of the relation {own}"),
            )),
        }
    }

    /// The name of what differs between neighbors: a record, or the column of units.
    pub(crate) fn unit_name(&self) -> &str {
        self.unit.as_ref().map_or("a record", |unit| unit.column.as_str())
    }
}
