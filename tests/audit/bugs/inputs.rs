//! Inputs and outputs that depend on the records.

use super::{Bug, bug};

const UNITS: &str = "data/units.rs";

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
        "private-rows-completed",
        "the private table is taken as the rows to complete, which are written as they are",
        "jobs::a_file_of_the_private_table",
        &[(
            "synthesis/files.rs",
            "let completed = self.completed_file();",
            "let completed = self.completed_file().filter(|_| !BUG);",
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
        &[(
            UNITS,
            "if is_missing(unit, self.na_token) {",
            "if !BUG && is_missing(unit, self.na_token) {",
        )],
    ),
];
