//! Private tables that another program counts.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::data::{CountPlan, CountRequest, CountedParts, Keep};
use crate::error::{Contradiction, Error, Result};
use crate::privacy::PrivacyUnit;

/// The program that counts, and its arguments, by default.
pub const DEFAULT_ENGINE: &str = "jointly-datafusion count";

/// A private table that another program reads, from a database or from files. It gets a list of marginals, counts them, and sends
/// back the counts alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueriedTable {
    /// A query in SQL, or the place of a table: a file, a folder, or the URL of an object store.
    pub table: String,
    /// The program that counts, and its arguments, separated by blanks. It reads a [`CountRequest`] from its standard input, and
    /// writes counts to its standard output.
    pub engine: String,
}

impl QueriedTable {
    /// The rows of the table, in SQL.
    pub fn query(&self) -> String {
        if self.table.contains(char::is_whitespace) {
            return self.table.clone();
        }
        format!("SELECT * FROM '{}'", self.table.replace('\'', "''"))
    }

    /// Has the table counted.
    ///
    /// # Errors
    /// Units of which the first records count; a program that is not there or fails, with what it says: such an error may quote a
    /// row to whoever runs it.
    pub(super) fn count(&self, plan: &CountPlan, unit: &PrivacyUnit) -> Result<CountedParts> {
        if unit.units().is_some_and(|units| units.keep() == Keep::First) {
            let needed = "`keep` hash: a query has no first row";
            return Err(Contradiction::Needs {
                what: "units of a private table elsewhere",
                needed,
            }
            .into());
        }
        let engine = &self.engine;
        let unusable = |found: String| {
            let expected = "a program that counts: docs/guide/large-tables.md";
            Error::invalid_specification(format!("engine '{engine}'"), found, expected)
        };
        let mut words = engine.split_whitespace();
        let Some(program) = words.next() else { return Err(unusable("no program".to_owned())) };
        let (units, plan) = (unit.units().cloned(), plan.clone());
        let request = CountRequest { query: self.query(), units, plan }.to_json()?;
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| unusable(error.to_string()))?;
        let input = child.stdin.take();
        // A program that ends without reading says why itself, or needs to know nothing.
        let telling = std::thread::spawn(move || {
            input.is_none_or(|mut input| writeln!(input, "{request}").is_ok())
        });
        let output = child.wait_with_output().map_err(|error| unusable(error.to_string()))?;
        _ = telling.join();
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.trim().trim_start_matches("error: ").trim_end_matches('.');
            let place = format!("the private table, as '{engine}' reads it");
            let found = if said.is_empty() { output.status.to_string() } else { said.to_owned() };
            return Err(Error::invalid_specification(place, found, "a table that it can count"));
        }
        CountedParts::from_bytes(&output.stdout, &format!("what '{engine}' returned"))
    }
}
