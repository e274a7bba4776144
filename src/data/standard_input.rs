//! Standard input as a table, under the path `-`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The path that stands for standard input. A file of that name is `./-`.
const STANDARD_INPUT: &str = "-";

/// All of standard input, once it has been read. It is kept because some commands read a table more than once.
static KEPT: Mutex<Option<&'static [u8]>> = Mutex::new(None);

/// Whether a path stands for standard input.
pub(crate) fn is_standard_input(path: &Path) -> bool {
    path == Path::new(STANDARD_INPUT)
}

/// The name of a table in errors.
pub(super) fn name_of(path: &Path) -> String {
    if is_standard_input(path) {
        return "standard input".to_owned();
    }
    path.display().to_string()
}

/// The bytes of a table, in memory for standard input.
pub(super) enum Input {
    File(File),
    StandardInput(&'static [u8]),
}

impl Input {
    /// Opens a file, or reads standard input to its end the first time.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if !is_standard_input(path) {
            return File::open(path).map(Self::File);
        }
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = *kept {
            return Ok(Self::StandardInput(bytes));
        }
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes)?;
        Ok(Self::StandardInput(kept.insert(bytes.leak())))
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::StandardInput(bytes) => bytes.read(buffer),
        }
    }
}
