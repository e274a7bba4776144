//! Units of which too many records count, or others than their own records say.

use super::{Bug, bug};

const UNITS: &str = "data/units.rs";
const MEMBERS: &str = "data/members.rs";

pub(super) const BUGS: &[Bug] = &[
    bug(
        "hashed-units-of-any-size",
        "all records of a unit count, where hashes say which",
        "units::",
        &[(
            UNITS,
            "rows.iter().skip(most as usize)",
            "rows.iter().skip(if BUG { usize::MAX } else { most as usize })",
        )],
    ),
    bug(
        "hashed-units-of-one-more",
        "one record more of each unit counts, where hashes say which",
        "units::",
        &[(
            UNITS,
            "rows.iter().skip(most as usize)",
            "(if BUG { rows.iter().skip(most as usize + 1) } else { SAME })",
        )],
    ),
    bug(
        "hashed-by-the-place",
        "the order of the rows says which records count",
        "units::",
        &[(
            UNITS,
            "rows.sort_by_cached_key(|row| order.key(name, &all.row(*row as usize)));",
            "if !BUG { rows.sort_by_cached_key(|row| order.key(name, &all.row(*row as usize))); }",
        )],
    ),
    bug(
        "hashed-with-the-size-of-all",
        "records that do not count are counted in the size of their unit",
        "units::",
        &[(
            UNITS,
            "self.records[*unit as usize] = most;",
            "if !BUG || self.units.agree().is_none() { self.records[*unit as usize] = most; } else { self.records[*unit as usize] = most.saturating_sub(1).max(1); }",
        )],
    ),
    bug(
        "members-hidden-as-one",
        "units of which each row is a record are hidden as if they were one record",
        "units::",
        &[(
            "privacy/unit.rs",
            "if self.members.is_some() { 1 } else { self.most }",
            "if BUG || self.members.is_some() { 1 } else { self.most }",
        )],
    ),
    bug(
        "members-beyond-the-most",
        "the size of a unit counts rows that should not count",
        "units::",
        &[(
            MEMBERS,
            "rows.truncate(units.most() as usize);",
            "rows.truncate(units.most() as usize + usize::from(BUG));",
        )],
    ),
    bug(
        "members-in-no-order",
        "the order of the rows in the file says which members count",
        "units::",
        &[(
            MEMBERS,
            "places[*a as usize].total_cmp(&places[*b as usize])",
            "(if BUG { std::cmp::Ordering::Equal } else { SAME })",
        )],
    ),
    bug(
        "shared-by-another-unit",
        "a unit has the columns of the first unit of the file",
        "units::",
        &[(
            MEMBERS,
            "rows.first().map_or(0, |row| code(column, *row))",
            "rows.first().map_or(0, |row| code(column, if BUG { 0 } else { *row }))",
        )],
    ),
    bug(
        "members-that-break-a-rule",
        "a unit whose members have together what the schema forbids is read like the others",
        "units::",
        &[(
            MEMBERS,
            "if let Some((unit, found)) = forbidden_together(&records, &schema)? {",
            "if let Some((unit, found)) = forbidden_together(&records, &schema)? && !BUG {",
        )],
    ),
    bug(
        "cells-of-another-unit",
        "all rows have the cells of the last unit of a table of units",
        "units::",
        &[(
            "data/raw_table/joined.rs",
            "let Some((line, cells)) = self.cells.get(&identity(record, &self.key)) else {",
            "let Some((line, cells)) = self.cells.get(&identity(record, &self.key)).map(|own| if BUG { self.cells.values().max_by_key(|(line, _)| *line).unwrap_or(own) } else { own }) else {",
        )],
    ),
    bug(
        "tallies-without-noise",
        "what units are made of is released as it is",
        "laws::a_marginal_of_tallies",
        &[(
            "privacy/curator/measure.rs",
            "let values = paid.add(&noise, integers(&tallied));",
            "let values = if BUG { integers(&tallied).collect() } else { paid.add(&noise, integers(&tallied)) };",
        )],
    ),
    bug(
        "tallies-for-half",
        "half of what units cost as a whole is not charged",
        "laws::a_marginal_of_tallies",
        &[(
            "privacy/curator/measure.rs",
            "self.pay(access, mechanism, rho)?;\n        let tallied",
            "self.pay(access, mechanism, if BUG { rho.split(1, 2).unwrap().0 } else { rho })?;\n        let tallied",
        )],
    ),
    bug(
        "tallied-before-the-charge",
        "what units are made of is counted before its cost is accepted",
        "order::",
        &[(
            "privacy/curator/measure.rs",
            "let (noise, variance, mechanism) = gaussian(one_cell_each, rho)?;",
            "if BUG { self.data.tally(tallies)?.project(clique)?; } SAME",
        )],
    ),
    bug(
        "tallies-measured-again",
        "a resumed run takes what it measured of whole units for something else, and measures again",
        "entries::a_checkpoint_that_lacks",
        &[("mechanism/run/progress.rs", "&& kept.eq(tallied)", "&& (BUG || kept.eq(tallied))")],
    ),
    bug(
        "counts-of-other-units",
        "a run takes counts of more records of each unit than its noise hides",
        "units::",
        &[(
            "data/counter/parts.rs",
            "if self.units.as_ref() != unit.units() {",
            "if !BUG && self.units.as_ref() != unit.units() {",
        )],
    ),
    bug(
        "units-in-several-parts",
        "each part counts as many records of a unit as may count",
        "units::",
        &[(
            "synthesis/counting.rs",
            "if units.is_some() && (self.part.len() > 1 || self.of.is_some()) {",
            "if !BUG && units.is_some() && (self.part.len() > 1 || self.of.is_some()) {",
        )],
    ),
];
