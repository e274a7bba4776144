//! Survey weights, totals and invariants.

use super::{Bug, bug};

const JOB: &str = "synthesis/population.rs";

pub(super) const BUGS: &[Bug] = &[
    bug(
        "weight-bins-of-private-rows",
        "the bins of the survey weight follow the private rows",
        "weights::bins",
        &[(
            JOB,
            "let files: Vec<&Path> = files.collect();",
            "let files: Vec<&Path> = if BUG { self.private.file().into_iter().collect() } else { files.collect() };",
        )],
    ),
    bug(
        "weight-beyond-the-bins-refused",
        "whether a run ends depends on the largest private weight",
        "weights::a_weight",
        &[(
            "data/draft/weights.rs",
            ".with_outside(Outside::Clamp)",
            ".with_outside(if BUG { Outside::Refuse } else { Outside::Clamp })",
        )],
    ),
    bug(
        "invariant-not-said",
        "the report does not say what is released without protection",
        "weights::an_invariant",
        &[(
            "report/guarantee.rs",
            "unprotected + &of_budget(",
            "(if BUG { String::new() } else { unprotected }) + &of_budget(",
        )],
    ),
    bug(
        "invariant-not-in-the-ledger",
        "the ledger does not name the invariants that its guarantee is conditional on",
        "weights::an_invariant",
        &[(
            "synthesis/mod.rs",
            "self.invariants.iter().map(|file| file.name.clone())",
            "self.invariants.iter().filter(|_| !BUG).map(|file| file.name.clone())",
        )],
    ),
    bug(
        "earlier-invariants-forgotten",
        "a run after one with invariants claims a guarantee without condition",
        "weights::an_invariant",
        &[(
            "privacy/curator.rs",
            "earlier.conditional_on.iter().cloned()",
            "earlier.conditional_on.iter().filter(|_| !BUG).cloned()",
        )],
    ),
    bug(
        "private-table-as-totals",
        "the private table is taken for a table of totals",
        "weights::the_private",
        &[("synthesis/files.rs", "public.chain(known)", "public.chain(known.filter(|_| !BUG))")],
    ),
];
