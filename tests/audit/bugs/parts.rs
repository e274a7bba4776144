//! Counts of parts of a table that are added up wrongly, or go where a release goes.

use super::{Bug, bug};

const PARTS: &str = "data/counter/parts.rs";

pub(super) const BUGS: &[Bug] = &[
    bug(
        "part-counted-twice",
        "a part that is merged twice counts twice",
        "parts::sums",
        &[(
            PARTS,
            "other.parts.iter().find(|part| self.parts.contains(part))",
            "other.parts.iter().find(|part| !BUG && self.parts.contains(part))",
        )],
    ),
    bug(
        "part-missing",
        "a run takes counts without all parts for the table",
        "parts::sums",
        &[(PARTS, "if !missing.is_empty() {", "if !BUG && !missing.is_empty() {")],
    ),
    bug(
        "parts-of-another-table",
        "counts of parts of another list are merged",
        "parts::sums",
        &[(PARTS, "if self.all != other.all {", "if !BUG && self.all != other.all {")],
    ),
    bug(
        "counts-under-another-schema",
        "a run takes counts whose codes mean something else",
        "parts::sums",
        &[(
            PARTS,
            "if self.plan().schema().to_json()? != plan.schema().to_json()? {",
            "if !BUG && self.plan().schema().to_json()? != plan.schema().to_json()? {",
        )],
    ),
    bug(
        "counts-for-everybody",
        "whoever may log in may read exact counts",
        "parts::exact",
        &[(
            "privacy/durable.rs",
            "write_with_mode(path, 0o600, write)",
            "write_with_mode(path, if BUG { 0o644 } else { 0o600 }, write)",
        )],
    ),
    bug(
        "private-counts-merged-into-public-ones",
        "counts of private records are added to those of a public table",
        "parts::private_counts",
        &[(
            PARTS,
            "if self.is_public != other.is_public {",
            "if !BUG && self.is_public != other.is_public {",
        )],
    ),
    bug(
        "private-counts-as-a-public-table",
        "a file of private counts is taken for a public table",
        "parts::private_counts",
        &[(
            PARTS,
            "starts_with(path, PUBLIC_COUNTS)",
            "starts_with(path, if BUG { EXACT_COUNTS } else { PUBLIC_COUNTS })",
        )],
    ),
    bug(
        "counts-on-a-stream",
        "exact counts are written to standard output",
        "parts::exact",
        &[(
            PARTS,
            "if !matches!(Destination::of(path), Ok(Destination::File { .. })) {",
            "if !BUG && !matches!(Destination::of(path), Ok(Destination::File { .. })) {",
        )],
    ),
    bug(
        "counts-of-a-failed-engine",
        "counts of a program that failed are taken for the table's",
        "parts::",
        &[(
            "synthesis/engine.rs",
            "if !output.status.success() {",
            "if !BUG && !output.status.success() {",
        )],
    ),
    bug(
        "engine-told-no-units",
        "a program that counts is asked for all records of a unit",
        "parts::",
        &[(
            "synthesis/engine.rs",
            "(unit.units().cloned(), plan.clone())",
            "(unit.units().filter(|_| !BUG).cloned(), plan.clone())",
        )],
    ),
    bug(
        "record-counted-twice-in-a-part",
        "merging adds some counts twice",
        "parts::",
        &[(
            "data/counter/mod.rs",
            "cells.for_each(|(cell, more)| *cell += more);",
            "cells.for_each(|(cell, more)| *cell += if BUG { 2 * more } else { *more });",
        )],
    ),
];
