//! Inputs and outputs that depend on the records.

use super::{Bug, bug};

const UNITS: &str = "data/units.rs";
const SYNTHESIS: &str = "synthesis/mod.rs";

pub(super) const BUGS: &[Bug] = &[
    bug(
        "empty-table-refused",
        "a table without records is refused where their number is private",
        "twins::no_record",
        &[(
            "data/private.rs",
            "None => read_csv_or_empty(path, schema),",
            "None => if BUG { read_csv(path, schema) } else { read_csv_or_empty(path, schema) },",
        )],
    ),
    bug(
        "empty-table-of-units-refused",
        "a table without units is refused",
        "twins::no_unit",
        &[(
            "data/csv.rs",
            "units: Some(units), least_records: 0 }",
            "units: Some(units), least_records: u64::from(BUG) }",
        )],
    ),
    bug(
        "units-of-any-size",
        "all records of a unit count, however many",
        "leaks::",
        &[(UNITS, "*records == self.units.most()", "!BUG && *records == self.units.most()")],
    ),
    bug(
        "units-of-one-more",
        "one record more of each unit counts than its sensitivity says",
        "leaks::",
        &[(
            UNITS,
            "*records == self.units.most()",
            "(if BUG { *records > self.units.most() } else { SAME })",
        )],
    ),
    bug(
        "missing-units-accepted",
        "records whose unit is missing are one shared unit",
        "leaks::",
        &[(UNITS, "if self.is_missing(unit) {", "if !BUG && self.is_missing(unit) {")],
    ),
    bug(
        "model-written-if-there-are-records",
        "the model file is written only if the private table has records",
        "twins::no_record",
        &[(
            SYNTHESIS,
            "if let Some(path) = &self.model {",
            "if let Some(path) = self.model.as_ref().filter(|_| !BUG || tables.private.records() > 0) {",
        )],
    ),
    bug(
        "as-many-rows-as-records",
        "the synthetic table has as many rows as the private one where that is private",
        "leaks::",
        &[(
            SYNTHESIS,
            "self.draw(release, curator, merged)",
            "if BUG { crate::Job { rows: self.rows.or(Some(tables.private.records() as u64)), ..crate::Job::clone(self) }.resolve()?.draw(release, curator, merged) } else { SAME }",
        )],
    ),
    bug(
        "warning-by-the-true-number",
        "the warning of a large delta compares it with the true number of records",
        "leaks::",
        &[(
            SYNTHESIS,
            "is_public.then(|| tables.private.records())",
            "(BUG || is_public).then(|| tables.private.records())",
        )],
    ),
    bug(
        "true-number-in-the-summary",
        "the last line of a run states the number of private records",
        "leaks::",
        &[(
            "cli/run.rs",
            "let facts = json!({",
            "let text = if BUG { format!(\"{text}; {} read\", done.tables.private.records()) } else { text };\n    SAME",
        )],
    ),
    bug(
        "exit-code-by-the-records",
        "a run fails if the private table has no record",
        "twins::no_record",
        &[(
            SYNTHESIS,
            "self.warn(&given, observer);",
            "if BUG && given.private.records() == 0 { return Err(crate::error::Error::invalid_parameter(\"records\", 0, \"some\")); } SAME",
        )],
    ),
];
