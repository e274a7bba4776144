//! How a release was made, in a form to copy.

use std::fmt::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::data::Labels;
use crate::domain::{Schema, date_of};
use crate::error::Result;
use crate::model::Drawing;
use crate::report::Made;
use crate::synthesis::{Outputs, Synthesis};
use crate::text::hex;

/// Seconds of a day.
const DAY: u64 = 86_400;

impl Synthesis {
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

    /// The command line of this job, with the names of files and without their folders. Empty for tables in memory.
    fn command(&self) -> String {
        let name = |path: &Path| {
            path.file_name().map_or_else(String::new, |name| quoted(&name.to_string_lossy()))
        };
        let public = self.public.iter().map(|table| Some((&table.name, table.source.file()?)));
        let (Some(private), Some(schema), Some(public)) =
            (self.private.file(), self.schema.file(), public.collect::<Option<Vec<_>>>())
        else {
            return String::new();
        };
        let mut command = format!("jointly synth --private {}", name(private));
        let mut flag = |flag: &str, value: String| {
            _ = write!(command, " --{flag} {value}");
        };
        for (table, path) in public {
            flag("public", format!("{}={}", quoted(table), name(path)));
        }
        flag("schema", name(schema));
        flag("mechanism", self.mechanism.clone());
        for (parameter, value) in &self.parameters {
            match value {
                Value::Null => {}
                Value::String(text) => flag(parameter, quoted(text)),
                Value::Array(members) => {
                    let text = |member: &Value| {
                        member.as_str().map_or_else(|| member.to_string(), str::to_owned)
                    };
                    flag(
                        parameter,
                        quoted(&members.iter().map(text).collect::<Vec<_>>().join(",")),
                    );
                }
                other => flag(parameter, other.to_string()),
            }
        }
        flag("workload", self.workload.file().map_or_else(|| quoted(&self.workload.name), name));
        if let Some(most) = self.workload.max_cells {
            flag("max-cells", most.to_string());
        }
        if let Some(budget) = self.budget {
            flag("epsilon", budget.epsilon().to_string());
            if !budget.is_pure() {
                flag("delta", format!("{:e}", budget.delta()));
            }
        }
        match self.unit.units() {
            Some(units) => {
                flag("neighbors", "add-remove-one".to_owned());
                flag("unit", quoted(units.column()));
                flag("max-records", units.most().to_string());
                if let Some(columns) = units.agree() {
                    flag("unit-columns", quoted(&columns.join(",")));
                }
            }
            None if self.unit.relation().has_public_total() => {}
            None => flag("neighbors", "add-remove-one".to_owned()),
        }
        if let Some(share) = self.error_share {
            flag("error-share", share.to_string());
        }
        if self.replicates > 0 {
            flag("tables", self.replicates.to_string());
        }
        if let Some(share) = self.compress {
            flag("compress", share.to_string());
        }
        if let Some(path) = &self.ledger_from {
            flag("ledger-from", name(path));
        }
        if let Some(rows) = self.rows {
            flag("rows", rows.to_string());
        }
        if self.drawing == Drawing::Independent {
            flag("draw", "independent".to_owned());
        }
        if self.labels == Labels::Text {
            flag("labels", "text".to_owned());
        }
        if let Some(seed) = self.seed {
            flag("seed", seed.to_string());
        }
        let Outputs { table, model, ledger, report } = &self.outputs;
        let written = [
            ("out", table),
            ("model", model),
            ("ledger", ledger),
            ("report", report),
            ("checkpoint", &self.checkpoint),
        ];
        for (output, path) in written {
            if let Some(path) = path {
                flag(output, name(path));
            }
        }
        if self.counted {
            command.push_str(" --counted");
        }
        command
    }
}

/// Text as one word of a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/=:@,+%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests;
