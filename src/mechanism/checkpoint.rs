//! The state of a run on disk, so that a killed run goes on where it was and never pays twice.
//!
//! After each round the measurements and the ledger are written to a new file, synced, and moved over the old one.
//! Nothing of the round is shown or written elsewhere before that: a draw that is lost with the process was never seen,
//! so drawing it anew costs nothing. The noise generator's state is never stored.
//!
//! The file holds publishable numbers only. It tells the inputs apart by a hash of the parameters and the public tables
//! and by the label that the caller gives to the private table (on the command line its path and time of change); a
//! hash of private records would itself be an unpaid release.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::measurement::{Measurement, Provenance};
use crate::mechanism::{RoundRecord, Task};
use crate::privacy::{Curator, Ledger, NoiseMechanism};
use crate::table::{CliqueLayout, Potentials};

/// Where checkpoints are kept, and what the private table is called there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointFolder {
    /// The folder; made when it does not exist.
    pub folder: PathBuf,
    /// Tells one private table from another without a number computed from its records, for example the file's path
    /// and time of change.
    pub private_label: String,
}

/// Version of the file's format.
const VERSION: u32 = 1;
const FILE: &str = "checkpoint.json";
const LOCK: &str = "lock";
/// A lock that another run holds is tried again for a second.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// What a run goes by, save its inputs.
pub(super) struct Identity<'m> {
    /// The mechanism's name.
    pub name: &'static str,
    /// All parameters that shape the run, as text.
    pub parameters: String,
    /// Whether the number of records is measured by itself before the first round, where it is not public.
    pub measures_total: bool,
    /// Where the state is kept.
    pub checkpoint: Option<&'m CheckpointFolder>,
}

/// State after the last durable round.
#[derive(Debug, Default)]
pub(super) struct Checkpoint {
    path: Option<PathBuf>,
    /// Held while the run lasts: two runs over one checkpoint would pay twice.
    lock: Option<File>,
    fingerprint: String,
    pub total: Option<f64>,
    pub measurements: Vec<Measurement>,
    pub rounds: Vec<RoundRecord>,
    /// Potentials of the last fit before the last measurement: where the next fit starts.
    pub potentials: Option<Potentials>,
}

/// What the files of all versions have.
#[derive(Deserialize)]
struct Header {
    version: u32,
}

/// The file.
#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    fingerprint: String,
    total: Option<f64>,
    measurements: Vec<Measurement>,
    rounds: Vec<RoundRecord>,
    potentials: Vec<(Clique, Vec<f64>)>,
    ledger: Ledger,
}

impl Stored {
    /// The potentials, after a look at whether all parts fit the domain and each other.
    ///
    /// # Errors
    /// What does not fit.
    fn check(
        &self,
        domain: &Domain,
        needs_total: bool,
    ) -> std::result::Result<Option<Potentials>, String> {
        let fits = |clique: &Clique, values: &[f64]| {
            clique.iter().all(|a| a < domain.len())
                && domain.cells(clique) == Some(values.len() as u64)
                && values.iter().all(|value| value.is_finite())
        };
        let is_within = |m: &Measurement| match m.cell {
            None => fits(&m.clique, &m.values),
            Some(cell) => {
                m.clique.iter().all(|a| a < domain.len())
                    && domain.cells(&m.clique).is_some_and(|cells| (cell as u64) < cells)
                    && matches!(m.values[..], [value] if value.is_finite())
            }
        };
        if !self.measurements.iter().all(is_within) {
            return Err("a measurement does not fit the domain".into());
        }
        let agree = |(number, (record, m)): (u32, (&RoundRecord, &Measurement))| {
            (record.round, &record.clique) == (number, &m.clique)
                && record.provenance == m.provenance
        };
        if self.rounds.len() != self.measurements.len()
            || !(1..).zip(self.rounds.iter().zip(&self.measurements)).all(agree)
        {
            return Err("rounds and measurements do not match".into());
        }
        // What was drawn from the records must be paid for: otherwise the run would spend that budget again.
        let (mut chosen, mut measured, mut counted) = (Vec::new(), Vec::new(), false);
        for entry in self.ledger.entries() {
            match entry.mechanism {
                NoiseMechanism::ExponentialMechanism { .. }
                | NoiseMechanism::PermuteAndFlip { .. } => chosen.push(entry.round),
                NoiseMechanism::DiscreteGaussian { .. }
                | NoiseMechanism::DiscreteLaplace { .. }
                    if entry.clique.is_some() =>
                {
                    measured.push((entry.round, entry.cell));
                }
                NoiseMechanism::DiscreteGaussian { .. } => counted = true,
                NoiseMechanism::DiscreteLaplace { .. }
                | NoiseMechanism::JointDiscreteGaussian { .. }
                | NoiseMechanism::GridGaussian { .. }
                | NoiseMechanism::GridLaplace { .. } => {
                    return Err("the ledger has an entry that no round makes".into());
                }
            }
        }
        let choices = self.rounds.iter().filter(|r| r.candidates > 0).map(|r| r.round);
        let rounds = self.rounds.iter().zip(&self.measurements);
        let private = rounds.filter(|(r, _)| r.provenance == Provenance::Private);
        let rounds_are_paid = choices.eq(chosen)
            && private.map(|(r, m)| (r.round, m.cell.map(|cell| cell as u64))).eq(measured);
        let total_is_paid = self.total.is_none_or(|total| total.is_finite() && total >= 1.0)
            && counted == self.total.is_some()
            && counted == needs_total;
        if !total_is_paid || !rounds_are_paid {
            return Err("the ledger does not match the measurements".into());
        }
        if self.potentials.is_empty() {
            return Ok(None);
        }
        let hosts = |clique: &Clique| self.measurements.iter().any(|m| clique.is_subset(&m.clique));
        if !self.potentials.iter().all(|(clique, values)| fits(clique, values) && hosts(clique)) {
            return Err("a table of potentials does not fit the domain or the measurements".into());
        }
        let cliques = self.potentials.iter().map(|(clique, _)| clique.clone());
        let layout = CliqueLayout::new(domain, cliques).map_err(|error| error.to_string())?;
        if layout.cliques().len() != self.potentials.len() {
            return Err("two tables of potentials on the same clique".into());
        }
        let mut potentials = Potentials::zeros(&layout);
        for (index, (_, values)) in self.potentials.iter().enumerate() {
            potentials.table_mut(index).copy_from_slice(values);
        }
        Ok(Some(potentials))
    }
}

impl Checkpoint {
    /// An empty state, or the one found in the folder; then the curator goes on from its ledger.
    ///
    /// # Errors
    /// A checkpoint that cannot be read, is of another version, or of other inputs.
    pub(super) fn open(
        identity: &Identity<'_>,
        curator: &mut Curator<'_>,
        task: &Task<'_>,
    ) -> Result<Self> {
        let mut empty = Self::default();
        let Some(CheckpointFolder { folder, private_label }) = identity.checkpoint else {
            return Ok(empty);
        };
        fs::create_dir_all(folder).map_err(|source| Error::Io {
            action: "create",
            path: folder.clone(),
            source,
        })?;
        let path = folder.join(FILE);
        empty.lock = Some(lock(folder)?);
        empty.fingerprint = fingerprint(identity, curator, task, private_label);
        empty.path = Some(path.clone());
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(empty),
            Err(source) => return Err(Error::Io { action: "read", path, source }),
        };
        let refuse = |reason: String| Error::Checkpoint { path: path.clone(), reason };
        let unreadable = |error: serde_json::Error| refuse(format!("not readable: {error}"));
        let Header { version } = serde_json::from_slice(&text).map_err(unreadable)?;
        if version != VERSION {
            return Err(refuse(format!("version {version}, expected {VERSION}")));
        }
        let stored: Stored = serde_json::from_slice(&text).map_err(unreadable)?;
        if stored.fingerprint != empty.fingerprint {
            return Err(refuse("it belongs to other inputs or parameters".into()));
        }
        let domain = curator.domain().clone();
        let needs_total = identity.measures_total && !curator.relation().has_public_total();
        let potentials = stored.check(&domain, needs_total).map_err(&refuse)?;
        curator.continue_from(&stored.ledger).map_err(|error| refuse(error.to_string()))?;
        Ok(Self {
            total: stored.total,
            measurements: stored.measurements,
            rounds: stored.rounds,
            potentials,
            ..empty
        })
    }

    /// The first round that is not durable yet, counted from 1.
    pub(super) fn next_round(&self) -> u32 {
        self.rounds.last().map_or(1, |record| record.round + 1)
    }

    /// The measurement of a round that is durable already; `None` for a round to come.
    ///
    /// # Errors
    /// One of another marginal.
    pub(super) fn durable(&self, round: u32, clique: &Clique) -> Result<Option<&Measurement>> {
        let index = (round as usize).checked_sub(1);
        match index.and_then(|index| self.measurements.get(index)) {
            Some(known) if known.clique != *clique => Err(Error::Checkpoint {
                path: self.path.clone().unwrap_or_default(),
                reason: format!("round {round} measured another marginal than this run does"),
            }),
            found => Ok(found),
        }
    }

    /// Keeps the estimate of the number of records.
    pub(super) fn record_total(&mut self, total: f64, ledger: &Ledger) -> Result<()> {
        self.total = Some(total);
        self.write(ledger)
    }

    /// Adds a round's measurement and makes it durable.
    pub(super) fn record(
        &mut self,
        round: u32,
        candidates: usize,
        measurement: Measurement,
        ledger: &Ledger,
    ) -> Result<()> {
        self.rounds.push(RoundRecord {
            round,
            clique: measurement.clique.clone(),
            provenance: measurement.provenance.clone(),
            stddev: measurement.stddev,
            candidates,
            loss: 0.0,
            oracle_calls: 0,
            model_mib: 0.0,
        });
        self.measurements.push(measurement);
        self.write(ledger)
    }

    fn write(&self, ledger: &Ledger) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        debug_assert!(self.lock.is_some(), "only the holder of the lock writes");
        let potentials = self.potentials.iter().flat_map(|theta| {
            let cliques = theta.layout().cliques().iter().enumerate();
            cliques.map(|(i, clique)| (clique.clone(), theta.table(i).to_vec()))
        });
        let stored = Stored {
            version: VERSION,
            fingerprint: self.fingerprint.clone(),
            total: self.total,
            measurements: self.measurements.clone(),
            rounds: self.rounds.clone(),
            potentials: potentials.collect(),
            ledger: ledger.clone(),
        };
        let text = serde_json::to_vec(&stored)
            .map_err(|error| Error::Checkpoint { path: path.clone(), reason: error.to_string() })?;
        write_durably(path, &text).map_err(|source| Error::Io {
            action: "write",
            path: path.clone(),
            source,
        })
    }
}

/// Locks the folder for this process; the system frees the lock when the process ends, however it ends.
///
/// # Errors
/// Another run holds it.
fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(LOCK);
    let file = File::create(&path).map_err(|source| Error::Io {
        action: "create",
        path: path.clone(),
        source,
    })?;
    // A process that another thread is just starting holds a copy of the open file until it runs its own program.
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Err(TryLockError::Error(source)) => {
                return Err(Error::Io { action: "lock", path, source });
            }
        }
    }
    Err(Error::Checkpoint { path: folder.to_owned(), reason: "another run is using it".into() })
}

/// Writes a new file, syncs it, moves it over the old one, and syncs the folder.
fn write_durably(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let new = path.with_extension("tmp");
    let mut file = File::create(&new)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// SHA-256 over everything that shapes a run, save the private records.
fn fingerprint(
    identity: &Identity<'_>,
    curator: &Curator<'_>,
    task: &Task<'_>,
    private_label: &str,
) -> String {
    let mut hash = Sha256::new();
    let mut add = |part: &str| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    };
    add(private_label);
    add(identity.name);
    add(&format!("{} {}", identity.parameters, curator.ledger().limit().units()));
    add(&format!("{} {:?}", curator.relation(), curator.seed()));
    for attribute in curator.domain().attributes() {
        add(&attribute.name);
        add(&attribute.cardinality.to_string());
    }
    for weighted in task.workload.weighted_cliques() {
        add(&format!("{} {}", weighted.clique, weighted.weight.to_bits()));
    }
    for table in task.public {
        add(table.name());
        for (attribute, column) in
            table.table().domain().attributes().iter().zip(table.table().columns())
        {
            add(&attribute.name);
            let mut codes = Sha256::new();
            for code in column.iter() {
                codes.update(code.to_le_bytes());
            }
            add(&hex(&codes.finalize()));
        }
    }
    hex(&hash.finalize())
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
