//! The paid steps of a run on disk, so that a killed run resumes and pays for nothing twice.
//!
//! A step is durable, with the entries of the ledger that paid for it, before anyone sees its result. A draw that is lost
//! with the process was never seen, so repeating it costs nothing. The noise generator's state is never stored.
//!
//! The file contains only publishable numbers. Hashes identify the inputs of each step: the schema, the parameters, the
//! public tables and so on, together with the caller's label for the private table (on the command line, its path and
//! modification time). A hash of the private records would itself be a release that nothing paid for; their number is an
//! input where it is public.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::durable::write_durably;
use crate::error::{CheckpointFault, Error, Result};
use crate::text::hex;
use crate::{Ledger, LedgerEntry};

/// Version of the file's format.
const VERSION: u32 = 5;
/// Digits of a checksum.
const CHECKSUM: usize = 64;
const FILE: &str = "checkpoint.json";
const LOCK: &str = "lock";
/// Number of attempts to lock the folder, over one second, while another run has the lock.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// The steps that a run has paid for, in a folder. No other run can open it while this value lives.
///
/// [`Curator::with_checkpoint`](crate::Curator::with_checkpoint) gives it to a run.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    /// Held until the end of the run: two runs on one folder would both pay.
    _lock: File,
    /// What determines every step.
    inputs: Inputs,
    steps: Vec<Step>,
    /// What they have cost, after what was spent before them.
    ledger: Vec<LedgerEntry>,
    /// The number of steps that this run has begun.
    begun: usize,
}

/// A step that was paid for.
#[derive(Debug, Serialize, Deserialize)]
struct Step {
    #[serde(rename = "step")]
    name: String,
    inputs: Inputs,
    /// Its result, opaque here; null: begun, and nothing kept of it.
    value: Box<RawValue>,
    /// The entries of the ledger that paid for it.
    entries: Range<usize>,
}

/// The file, after the version and the checksum.
#[derive(Serialize, Deserialize)]
struct Content<S, L> {
    steps: S,
    ledger: L,
}

/// The part that files of all versions share.
#[derive(Deserialize)]
struct Header {
    version: u32,
}

impl Checkpoint {
    /// Opens the checkpoint of a folder, or begins one. The folder is created if it does not exist.
    ///
    /// `private_label`: distinguishes private tables without using any number computed from their records, for example
    /// by the file's path and modification time.
    ///
    /// # Errors
    /// A folder in use; a file that cannot be read, was changed, or is of another version.
    pub fn open(folder: impl Into<PathBuf>, private_label: &str) -> Result<Self> {
        let folder = folder.into();
        let failed = |action, path: &Path| {
            let path = path.to_owned();
            move |source| Error::Io { action, path, source }
        };
        fs::create_dir_all(&folder).map_err(failed("create", &folder))?;
        let lock = lock(&folder)?;
        let inputs = Inputs::default().with("private table", [private_label]);
        let path = folder.join(FILE);
        let (steps, ledger) = (Vec::new(), Vec::new());
        let mut own = Self { path, _lock: lock, inputs, steps, ledger, begun: 0 };
        match fs::read(&own.path) {
            Ok(text) => (own.steps, own.ledger) = own.read(&text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed("read", &own.path)(error)),
        }
        Ok(own)
    }

    /// Adds an input that determines every step: a public text, such as that of the schema, by the name that errors give
    /// it.
    #[must_use]
    pub fn with_input(mut self, name: &str, text: &str) -> Self {
        self.inputs = self.inputs.with(name, [text]);
        self
    }

    fn read(&self, text: &[u8]) -> Result<(Vec<Step>, Vec<LedgerEntry>)> {
        let unreadable = |error| self.refused(CheckpointFault::Unreadable(error));
        if is_sealed(text) {
            let Content::<Vec<Step>, Ledger> { steps, ledger } =
                serde_json::from_slice(text).map_err(unreadable)?;
            let ends = steps.iter().map(|step| step.entries.end).chain([ledger.entries().len()]);
            let mut follow = steps.iter().map(|step| step.entries.clone()).zip(ends.skip(1));
            if !follow.all(|(own, next)| own.start <= own.end && own.end <= next) {
                let why = "its steps do not match its ledger";
                return Err(self.refused(CheckpointFault::Inconsistent(why)));
            }
            return Ok((steps, ledger.entries().to_vec()));
        }
        Err(self.refused(match serde_json::from_slice(text) {
            Ok(Header { version: VERSION }) => CheckpointFault::Changed,
            Ok(Header { version: found }) => CheckpointFault::Version { found, expected: VERSION },
            Err(_) if text.starts_with(opening().as_bytes()) => CheckpointFault::Changed,
            Err(error) => CheckpointFault::Unreadable(error),
        }))
    }

    /// Begins the next step. Returns its result and what it cost, if it was paid for before.
    ///
    /// `spent`: what was spent before it.
    ///
    /// # Errors
    /// Another step in its place, one with other inputs, or one after something else was spent.
    pub(crate) fn begin<T: DeserializeOwned>(
        &mut self,
        step: &str,
        inputs: Inputs,
        spent: &[LedgerEntry],
    ) -> Result<Option<(T, Vec<LedgerEntry>)>> {
        let inputs = self.inputs.clone().and(inputs);
        let number = self.begun;
        self.begun += 1;
        let Some(found) = self.steps.get(number) else {
            let (name, value, entries) = (step.to_owned(), Box::default(), 0..0);
            self.steps.push(Step { name, inputs, value, entries });
            return Ok(None);
        };
        if found.name != step {
            let (found, expected) = (found.name.clone(), step.to_owned());
            return Err(self.refused(CheckpointFault::OtherStep { found, expected }));
        }
        found.inputs.check(&inputs).map_err(|fault| self.refused(fault))?;
        if found.value.get() == RawValue::NULL.get() {
            return Ok(None);
        }
        let Range { start, end } = found.entries;
        if self.ledger.get(..start) != Some(spent) {
            let why = "its ledger does not begin with what was spent before";
            return Err(self.refused(CheckpointFault::Inconsistent(why)));
        }
        let value = serde_json::from_str(found.value.get());
        let value = value.map_err(|error| self.refused(CheckpointFault::Unreadable(error)))?;
        Ok(Some((value, self.ledger.get(start..end).unwrap_or_default().to_vec())))
    }

    /// Makes the result of the step in progress durable. It is on disk when this returns.
    ///
    /// `ledger`: all that was spent. `before`: the number of entries before the step.
    ///
    /// # Errors
    /// A step that was followed by another one; a file that cannot be written.
    pub(crate) fn keep(
        &mut self,
        value: &impl Serialize,
        ledger: &Ledger,
        before: usize,
    ) -> Result<()> {
        let path = self.path.clone();
        let failed = |source| Error::Io { action: "write", path: path.clone(), source };
        let value = serde_json::value::to_raw_value(value).map_err(|error| failed(error.into()))?;
        let is_last = self.begun == self.steps.len();
        let Some(last) = self.steps.last_mut().filter(|_| is_last) else {
            let why = "a step cannot change once a later step has begun";
            return Err(self.refused(CheckpointFault::Inconsistent(why)));
        };
        (last.value, last.entries) = (value, before..ledger.entries().len());
        let text = serde_json::to_string(&Content { steps: &self.steps, ledger });
        let text = text.map_err(|error| failed(error.into()))?;
        let rest = text.strip_prefix('{').unwrap_or(&text);
        write_durably(&self.path, |out| {
            write!(out, "{}{}\",{rest}", opening(), checksum(rest.as_bytes())).map_err(failed)
        })
    }

    /// An error that names the file.
    pub fn refused(&self, fault: CheckpointFault) -> Error {
        Error::Checkpoint { path: self.path.clone(), fault }
    }
}

/// The beginning of every file of this version, up to the checksum of what follows it.
fn opening() -> String {
    format!("{{\"version\":{VERSION},\"checksum\":\"")
}

/// Whether a file is, byte for byte, one that this version has written. It finds damage and edits by hand. It proves
/// nothing against someone who recomputes the checksum.
fn is_sealed(text: &[u8]) -> bool {
    let sealed = text.strip_prefix(opening().as_bytes());
    let sealed = sealed.and_then(|sealed| sealed.split_at_checked(CHECKSUM));
    let rest = sealed.and_then(|(found, rest)| Some((found, rest.strip_prefix(b"\",")?)));
    rest.is_some_and(|(found, rest)| found == checksum(rest).as_bytes())
}

/// SHA-256 in hexadecimal digits.
fn checksum(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Locks the folder for this process. The system releases the lock when the process ends, however it ends.
///
/// # Errors
/// Another run has the lock.
fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(LOCK);
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

/// Everything that determines a step, except the private records: SHA-256 of each input, by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inputs(BTreeMap<String, String>);

impl Inputs {
    /// Adds an input: public texts, by the name that errors give them.
    #[must_use]
    pub fn with<T: AsRef<str>>(mut self, name: &str, parts: impl IntoIterator<Item = T>) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            let part = part.as_ref();
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        self.0.insert(name.to_owned(), hex(&hash.finalize()));
        self
    }

    /// All of both.
    #[must_use]
    pub(crate) fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// Refuses other inputs, and names them.
    fn check(&self, now: &Self) -> std::result::Result<(), CheckpointFault> {
        let names = self.0.keys().chain(now.0.keys().filter(|name| !self.0.contains_key(*name)));
        let differ = names.filter(|name| self.0.get(*name) != now.0.get(*name)).cloned();
        let differ: Vec<String> = differ.collect();
        if differ.is_empty() { Ok(()) } else { Err(CheckpointFault::OtherInputs { differ }) }
    }
}
