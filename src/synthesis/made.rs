//! How a release was made, in a form to copy.

use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

use crate::domain::{Schema, date_of};
use crate::error::Result;
use crate::privacy::files::hex;
use crate::report::Made;
use crate::synthesis::job::ResolvedJob;

/// Seconds of a day.
const DAY: u64 = 86_400;

impl ResolvedJob<'_> {
    /// The command, the schema and the day.
    ///
    /// `given`: the schema without what a run adds or merges.
    pub(super) fn made(&self, given: &Schema) -> Result<Made> {
        let digest = Sha256::digest(given.to_json()?.as_bytes());
        let seconds =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Ok(Made {
            command: self.command(),
            schema_sha256: hex(&digest),
            date: date_of((seconds / DAY) as f64),
        })
    }
}
