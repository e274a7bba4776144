//! The state of a run on disk, so that a killed run can resume without paying twice.
//!
//! When a round ends, its measurements and ledger durably replace the previous file. Nothing from the round is shown or
//! written elsewhere before that. A draw that is lost with the process was never seen, so repeating it costs nothing.
//! The noise generator's state is never stored.
//!
//! The file contains only publishable numbers. Hashes identify the inputs: the schema, the parameters, the public tables and
//! so on, together with the caller's label for the private table (on the command line, its path and modification time). A
//! hash of the private records would itself be a release that nothing paid for; their number is an input where it is public.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::data::write_durably;
use crate::domain::Domain;
use crate::error::{CheckpointFault, Error, Result};
use crate::measurement::{Measurement, Provenance};
use crate::mechanism::{ModelState, RoundRecord, Task};
use crate::privacy::{Curator, Ledger, NoiseMechanism};
use crate::text::hex;

/// The folder of a checkpoint, and the private table's label in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointFolder {
    /// The folder; created if it does not exist.
    pub folder: PathBuf,
    /// Distinguishes private tables without using any number computed from their records, for example by the file's
    /// path and modification time.
    pub private_label: String,
    /// More inputs of the run, public ones, by the names that errors give them: the text of a schema, for example.
    pub inputs: BTreeMap<&'static str, String>,
}

impl CheckpointFolder {
    /// A folder, and the private table's label in it, without more inputs.
    pub fn new(folder: impl Into<PathBuf>, private_label: impl Into<String>) -> Self {
        let (folder, private_label) = (folder.into(), private_label.into());
        Self { folder, private_label, inputs: BTreeMap::new() }
    }
}

/// Version of the file's format. Version 1 had one choice and one measurement per round, version 2 no checksum, version 3
/// one hash of all inputs.
const VERSION: u32 = 4;
/// Digits of a checksum.
const CHECKSUM: usize = 64;
pub(super) const FILE: &str = "checkpoint.json";
const LOCK: &str = "lock";
/// Number of attempts to lock the folder, over one second, while another run has the lock.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// The state after the last durable round.
#[derive(Debug, Default)]
pub(super) struct Checkpoint {
    /// `None`: nothing is stored.
    path: Option<PathBuf>,
    /// Held for the duration of the run: two runs on one checkpoint would pay twice.
    lock: Option<File>,
    inputs: Inputs,
    pub(super) total: Option<f64>,
    pub(super) measurements: Vec<Measurement>,
    pub(super) rounds: Vec<RoundRecord>,
    state: Option<StoredState>,
}

/// The state of a model, opaque here.
#[derive(Debug, Serialize, Deserialize)]
struct StoredState {
    kind: String,
    version: u32,
    value: Box<RawValue>,
}

/// The part that files of all versions share.
#[derive(Deserialize)]
struct Header {
    version: u32,
}

/// The file as written, after the version and the checksum.
#[derive(Serialize)]
struct Written<'a> {
    inputs: &'a Inputs,
    total: Option<f64>,
    measurements: &'a [Measurement],
    rounds: &'a [RoundRecord],
    state: Option<&'a StoredState>,
    ledger: &'a Ledger,
}

/// The file as read, without the version and the checksum.
#[derive(Deserialize)]
struct Stored {
    inputs: Inputs,
    total: Option<f64>,
    measurements: Vec<Measurement>,
    rounds: Vec<RoundRecord>,
    state: Option<StoredState>,
    ledger: Ledger,
}

impl Stored {
    /// Checks that all parts match the domain and each other.
    ///
    /// `earlier`: entries of the ledger that were there before the first round.
    fn check(&self, domain: &Domain, earlier: usize) -> std::result::Result<(), &'static str> {
        let is_finite = |m: &Measurement| {
            m.stddev.is_finite()
                && m.stddev >= 0.0
                && m.values.iter().all(|value| value.is_finite())
        };
        let has_shape = |m: &Measurement| {
            let cells = domain.cells(&m.clique);
            m.clique.iter().all(|a| a < domain.len())
                && match m.cell {
                    None => cells == Some(m.values.len() as u64),
                    Some(cell) => {
                        cells.is_some_and(|cells| (cell as u64) < cells) && m.values.len() == 1
                    }
                }
        };
        if !self.measurements.iter().all(|m| is_finite(m) && has_shape(m)) {
            return Err("a measurement does not fit the domain");
        }
        let mut end = 0;
        for (number, record) in (1..).zip(&self.rounds) {
            let own = &record.measurements;
            if record.round != number || own.start != end || own.end < own.start {
                return Err("rounds and measurements do not match");
            }
            end = own.end;
        }
        if end != self.measurements.len() {
            return Err("rounds and measurements do not match");
        }
        self.check_paid(domain, earlier)
    }

    /// Checks that the ledger lists exactly what was drawn from the records. Otherwise the run would spend that budget
    /// again.
    fn check_paid(&self, domain: &Domain, earlier: usize) -> std::result::Result<(), &'static str> {
        let (mut chosen, mut measured, mut counted) = (Vec::new(), Vec::new(), 0);
        for entry in self.ledger.entries().iter().skip(earlier) {
            match (&entry.mechanism, &entry.clique) {
                (
                    NoiseMechanism::ExponentialMechanism { candidates, .. }
                    | NoiseMechanism::PermuteAndFlip { candidates, .. },
                    _,
                ) => {
                    let draws = entry.mechanism.draws();
                    chosen.extend((0..draws).map(|_| (entry.round, *candidates)));
                }
                (
                    NoiseMechanism::DiscreteGaussian { .. }
                    | NoiseMechanism::DiscreteLaplace { .. },
                    Some(clique),
                ) => measured.push((entry.round, clique.clone(), entry.cell)),
                (
                    NoiseMechanism::DiscreteGaussian { .. }
                    | NoiseMechanism::DiscreteLaplace { .. },
                    None,
                ) => counted += 1,
                _ => return Err("the ledger has an entry that no round makes"),
            }
        }
        let choices = self.rounds.iter().flat_map(|r| r.choices.iter().map(|n| (r.round, *n)));
        let taken = self.rounds.iter().flat_map(|record| {
            let own = &self.measurements[record.measurements.clone()];
            let private = own.iter().filter(|m| m.provenance == Provenance::Private);
            private.map(|m| {
                let names = m.clique.iter().map(|a| domain.name(a).to_owned()).collect();
                (record.round, names, m.cell.map(|cell| cell as u64))
            })
        });
        let total_is_paid = self.total.is_none_or(|total| total.is_finite() && total >= 1.0)
            && counted == usize::from(self.total.is_some());
        if total_is_paid && choices.eq(chosen) && taken.eq(measured) {
            return Ok(());
        }
        Err("the ledger does not match the measurements")
    }
}

impl Checkpoint {
    /// An empty state, or the one found in the folder. In the latter case the curator resumes its ledger.
    ///
    /// # Errors
    /// A checkpoint that cannot be read, has another version, or belongs to other inputs.
    pub(super) fn open(
        mechanism: &str,
        parameters: &impl Serialize,
        curator: &mut Curator<'_>,
        task: &Task<'_>,
    ) -> Result<Self> {
        let mut own = Self::default();
        let Some(checkpoint) = task.checkpoint else { return Ok(own) };
        let folder = &checkpoint.folder;
        let failed = |action, path: &Path| {
            let path = path.to_owned();
            move |source| Error::Io { action, path, source }
        };
        fs::create_dir_all(folder).map_err(failed("create", folder))?;
        let path = folder.join(FILE);
        own.lock = Some(lock(folder, LOCK)?);
        own.path = Some(path.clone());
        let parameters =
            serde_json::to_string(parameters).map_err(|error| own.unwritable(error))?;
        own.inputs = Inputs::of(mechanism, &parameters, curator, task, checkpoint);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(own),
            Err(error) => return Err(failed("read", &path)(error)),
        };
        let unreadable = |error| own.refused(CheckpointFault::Unreadable(error));
        if !is_sealed(&text) {
            let fault = match serde_json::from_slice(&text) {
                Ok(Header { version: VERSION }) => CheckpointFault::Changed,
                Ok(Header { version: found }) => {
                    CheckpointFault::Version { found, expected: VERSION }
                }
                Err(_) if text.starts_with(opening().as_bytes()) => CheckpointFault::Changed,
                Err(error) => CheckpointFault::Unreadable(error),
            };
            return Err(own.refused(fault));
        }
        let stored: Stored = serde_json::from_slice(&text).map_err(unreadable)?;
        stored.inputs.check(&own.inputs).map_err(|fault| own.refused(fault))?;
        stored
            .check(curator.domain(), curator.ledger().entries().len())
            .map_err(|why| own.refused(CheckpointFault::Inconsistent(why)))?;
        let resumed = curator.continue_from(&stored.ledger);
        resumed.map_err(|error| own.refused(CheckpointFault::Ledger(Box::new(error))))?;
        let Stored { total, measurements, rounds, state, .. } = stored;
        Ok(Self { total, measurements, rounds, state, ..own })
    }

    /// The stored state.
    pub(super) fn state<S: ModelState>(&self) -> Result<Option<S>> {
        let Some(stored) = &self.state else { return Ok(None) };
        if (stored.kind.as_str(), stored.version) != (S::KIND, S::VERSION) {
            let found = format!("{} {}", stored.kind, stored.version);
            let expected = format!("{} {}", S::KIND, S::VERSION);
            return Err(self.refused(CheckpointFault::OtherState { found, expected }));
        }
        let state = serde_json::from_str(stored.value.get());
        state.map(Some).map_err(|error| self.refused(CheckpointFault::Unreadable(error)))
    }

    /// Sets the state for the next write.
    pub(super) fn keep<S: ModelState>(&mut self, state: &S) -> Result<()> {
        if self.path.is_some() {
            let value = serde_json::value::to_raw_value(state).map_err(|e| self.unwritable(e))?;
            self.state = Some(StoredState { kind: S::KIND.into(), version: S::VERSION, value });
        }
        Ok(())
    }

    /// Makes the state durable, together with its ledger.
    pub(super) fn write(&self, ledger: &Ledger) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        debug_assert!(self.lock.is_some(), "only the holder of the lock writes");
        let written = Written {
            inputs: &self.inputs,
            total: self.total,
            measurements: &self.measurements,
            rounds: &self.rounds,
            state: self.state.as_ref(),
            ledger,
        };
        let text = serde_json::to_string(&written).map_err(|error| self.unwritable(error))?;
        let rest = text.strip_prefix('{').unwrap_or(&text);
        let failed = |source| Error::Io { action: "write", path: path.clone(), source };
        write_durably(path, |out| {
            write!(out, "{}{}\",{rest}", opening(), checksum(rest.as_bytes())).map_err(failed)
        })
    }

    /// An error that names the file.
    pub(super) fn refused(&self, fault: CheckpointFault) -> Error {
        Error::Checkpoint { path: self.path.clone().unwrap_or_default(), fault }
    }

    fn unwritable(&self, error: serde_json::Error) -> Error {
        let path = self.path.clone().unwrap_or_default();
        Error::Io { action: "write", path, source: error.into() }
    }
}

/// The beginning of every file of this version, up to the checksum of what follows it.
pub(super) fn opening() -> String {
    format!("{{\"version\":{VERSION},\"checksum\":\"")
}

/// Whether a file is, byte for byte, one that this version has written. It finds damage and edits by hand. It proves
/// nothing against someone who recomputes the checksum.
pub(super) fn is_sealed(text: &[u8]) -> bool {
    let sealed = text.strip_prefix(opening().as_bytes());
    let sealed = sealed.and_then(|sealed| sealed.split_at_checked(CHECKSUM));
    let rest = sealed.and_then(|(found, rest)| Some((found, rest.strip_prefix(b"\",")?)));
    rest.is_some_and(|(found, rest)| found == checksum(rest).as_bytes())
}

/// SHA-256 in hexadecimal digits.
pub(super) fn checksum(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Locks the folder for this process. The system releases the lock when the process ends, however it ends.
///
/// # Errors
/// Another run has the lock.
pub(super) fn lock(folder: &Path, name: &str) -> Result<File> {
    let path = folder.join(name);
    let failed = |action| {
        let path = path.clone();
        move |source| Error::Io { action, path, source }
    };
    let file = File::create(&path).map_err(failed("create"))?;
    // A process that another thread is starting has a copy of the open file until it executes its own program.
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Err(TryLockError::Error(source)) => return Err(failed("lock")(source)),
        }
    }
    Err(Error::Checkpoint { path: folder.to_owned(), fault: CheckpointFault::InUse })
}

/// Everything that determines a run, except the private records: SHA-256 of each input, by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Inputs(BTreeMap<String, String>);

impl Inputs {
    pub(super) fn of(
        mechanism: &str,
        parameters: &str,
        curator: &Curator<'_>,
        task: &Task<'_>,
        checkpoint: &CheckpointFolder,
    ) -> Self {
        let mut own = Self::default();
        own.add("private table", [&checkpoint.private_label]);
        own.add("mechanism", [mechanism, parameters]);
        own.add("budget", [curator.ledger().limit().units().to_string()]);
        own.add("neighboring relation", [curator.relation().to_string()]);
        own.add("noise seed", [format!("{:?}", curator.seed())]);
        // Public, as is everything that the curator says of it.
        own.add("number of private records", [format!("{:?}", curator.records())]);
        let attributes = curator.domain().attributes().iter();
        own.add("attributes", attributes.map(|a| format!("{} {}", a.cardinality, a.name)));
        let cliques = task.workload.weighted_cliques().iter();
        let cliques = cliques.map(|c| format!("{} {}", c.clique, c.weight.to_bits()));
        own.add("workload", cliques);
        for table in task.public {
            let columns = table.table().columns();
            let columns = table.table().domain().attributes().iter().zip(columns);
            let columns = columns.map(|(attribute, column)| {
                let mut codes = Sha256::new();
                for code in column.iter() {
                    codes.update(code.to_le_bytes());
                }
                format!("{} {}", hex(&codes.finalize()), attribute.name)
            });
            own.add(&format!("public table '{}'", table.name()), columns);
        }
        checkpoint.inputs.iter().for_each(|(name, text)| own.add(name, [text]));
        own
    }

    fn add<T: AsRef<str>>(&mut self, name: &str, parts: impl IntoIterator<Item = T>) {
        let mut hash = Sha256::new();
        for part in parts {
            let part = part.as_ref();
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        self.0.insert(name.to_owned(), hex(&hash.finalize()));
    }

    /// Refuses other inputs, and names them.
    pub(super) fn check(&self, now: &Self) -> std::result::Result<(), CheckpointFault> {
        let names = self.0.keys().chain(now.0.keys().filter(|name| !self.0.contains_key(*name)));
        let differ = names.filter(|name| self.0.get(*name) != now.0.get(*name)).cloned();
        let differ: Vec<String> = differ.collect();
        if differ.is_empty() { Ok(()) } else { Err(CheckpointFault::OtherInputs { differ }) }
    }
}
