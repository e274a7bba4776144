//! Records on the sides of lines, and sums over listed queries.

use super::{Bug, bug};

const SIDES: &str = "data/sides.rs";
const ONE_MORE: &str = "counts[side] += 1;";

pub(super) const BUGS: &[Bug] = &[
    bug(
        "record-on-both-sides",
        "a record counts inside of every half-plane, besides the side that it is on",
        "sides::every_record",
        &[(SIDES, ONE_MORE, "SAME if BUG { counts[0] += 1; }")],
    ),
    bug(
        "side-by-the-place-of-a-record",
        "every second record of a table is inside of every half-plane",
        "sides::every_record",
        &[(SIDES, ONE_MORE, "counts[if BUG && all % 2 == 0 { 0 } else { side }] += 1;")],
    ),
    bug(
        "side-of-the-record-before",
        "a record is on the sides of the one before it too, so that it counts twice",
        "neighbors::the_scores_of_half",
        &[(SIDES, ONE_MORE, "SAME if BUG && all > 1 { counts[side] += 1; }")],
    ),
    bug(
        "sides-of-records-that-do-not-count",
        "all records of a unit are counted on the sides of lines",
        "sides::only_records",
        &[(
            "data/csv.rs",
            "Some(units) => Self::units(units),",
            "Some(units) if !BUG => Self::units(units),\n            Some(_) => Self::or_empty(),",
        )],
    ),
    bug(
        "sides-of-empty-refused",
        "half-planes of a table without records are an error, where the number of records is private",
        "twins::no_record",
        &[(
            "data/csv.rs",
            "None if unit.relation().has_public_total() => Self::whole(),",
            "None if BUG || unit.relation().has_public_total() => Self::whole(),",
        )],
    ),
    bug(
        "listed-queries-doubled",
        "the scores of listed queries are of twice their records",
        "neighbors::the_scores_of_thresholds",
        &[(
            "pap/ranges.rs",
            "map(|(at, sign)| sign * running[at]).sum()",
            "map(|(at, sign)| if BUG { 2.0 } else { 1.0 } * sign * running[at]).sum()",
        )],
    ),
];
