//! Units of which too many records count, or others than their own records say.

use super::{Bug, bug};

const UNITS: &str = "data/units.rs";

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
