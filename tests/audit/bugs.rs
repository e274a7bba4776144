//! The planted bugs of the kill matrix (`tests/kill_matrix.rs`). Each one weakens privacy, or a check that guards it.
//!
//! A patch names a file, a text that occurs in it exactly once, and what replaces it in a copy of the source. In the
//! replacement, `BUG` becomes a question whether the bug is switched on, and `SAME` the text that was there. Several bugs
//! may replace the same text if all of them but the first contain `SAME`.

#[path = "bugs/charges.rs"]
mod charges;
#[path = "bugs/comparisons.rs"]
mod comparisons;
#[path = "bugs/curator.rs"]
mod curator;
#[path = "bugs/inputs.rs"]
mod inputs;
#[path = "bugs/ledger.rs"]
mod ledger;
#[path = "bugs/mechanisms.rs"]
mod mechanisms;
#[path = "bugs/noise.rs"]
mod noise;
#[path = "bugs/options.rs"]
mod options;
#[path = "bugs/parts.rs"]
mod parts;
#[path = "bugs/sealed.rs"]
mod sealed;
#[path = "bugs/seeds.rs"]
mod seeds;
#[path = "bugs/selection.rs"]
mod selection;
#[path = "bugs/sensitivities.rs"]
mod sensitivities;
#[path = "bugs/sides.rs"]
mod sides;
#[path = "bugs/thresholds.rs"]
mod thresholds;
#[path = "bugs/units.rs"]
mod units;
#[path = "bugs/weights.rs"]
mod weights;

/// One planted bug.
pub(crate) struct Bug {
    pub(crate) name: &'static str,
    /// What it does.
    pub(crate) what: &'static str,
    /// The tests that are run first: a filter of the audit suite, `file::test`, or of the unit tests of the privacy path after
    /// `privacy: `.
    pub(crate) by: &'static str,
    pub(crate) patches: &'static [Patch],
}

/// A file below `src`, or below `crates/privacy/src` after `privacy/`, the text to replace, and its replacement.
pub(crate) type Patch = (&'static str, &'static str, &'static str);

const fn bug(
    name: &'static str,
    what: &'static str,
    by: &'static str,
    patches: &'static [Patch],
) -> Bug {
    Bug { name, what, by, patches }
}

/// All of them.
pub(crate) fn all() -> Vec<&'static Bug> {
    [
        sensitivities::BUGS,
        noise::BUGS,
        charges::BUGS,
        ledger::BUGS,
        selection::BUGS,
        seeds::BUGS,
        comparisons::BUGS,
        curator::BUGS,
        inputs::BUGS,
        sealed::BUGS,
        options::BUGS,
        parts::BUGS,
        mechanisms::BUGS,
        thresholds::BUGS,
        units::BUGS,
        weights::BUGS,
        sides::BUGS,
    ]
    .into_iter()
    .flatten()
    .collect()
}
