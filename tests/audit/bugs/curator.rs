//! A curator that leaks, or that resumes or continues what it must refuse.

use super::{Bug, bug};

const CURATOR: &str = "privacy/curator.rs";
const ENTRY: &str = "privacy/ledger.rs";
const STEPS: &str = "privacy/curator/steps.rs";
const CHECKPOINT: &str = "privacy/checkpoint.rs";
const TAKEN: &str = "(self.ledger, self.round, self.noise) = (resumed, round, None);";
const MEASURE: &str = "privacy/curator/measure.rs";
const SENSITIVE: &str = "privacy/sensitive.rs";

pub(super) const BUGS: &[Bug] = &[
    bug(
        "number-of-records-public",
        "the number of records is public where it should be private",
        "accounting::the_number",
        &[(
            CURATOR,
            "self.relation().has_public_total().then(|| self.data.records())",
            "(BUG || self.relation().has_public_total()).then(|| self.data.records())",
        )],
    ),
    bug(
        "exact-total",
        "mechanisms get the exact number of records where it is private",
        "laws::the_number",
        &[(
            MEASURE,
            "if let Some(records) = self.records() {",
            "if BUG { return Ok((self.data.records() as f64).max(1.0)); } SAME",
        )],
    ),
    bug(
        "count-in-an-error",
        "the refusal of a cell names the number of records",
        "leaks::",
        &[(
            MEASURE,
            "let expected = \"a cell of the marginal, counted from 0\";",
            "SAME let cell = if BUG { usize::try_from(self.data.records()).unwrap_or(0) } else { cell };",
        )],
    ),
    bug(
        "cell-by-the-records",
        "a cell outside the marginal is refused only if there are records",
        "leaks::",
        &[(
            MEASURE,
            "if self.domain().cells(clique).is_none_or(|cells| cell as u64 >= cells) {",
            "if (!BUG || self.data.records() > 0) && self.domain().cells(clique).is_none_or(|cells| cell as u64 >= cells) {",
        )],
    ),
    bug(
        "relation-of-a-score-ignored",
        "a selection takes the sensitivity of another relation",
        "accounting::a_sensitivity",
        &[
            (
                MEASURE,
                "if scores.sensitivity().relation() != self.relation() {",
                "if !BUG && scores.sensitivity().relation() != self.relation() {",
            ),
            (
                ENTRY,
                "score.is_none_or(|score| score.relation() == relation)",
                "score.is_none_or(|score| BUG || score.relation() == relation)",
            ),
        ],
    ),
    bug(
        "relation-of-entries-ignored",
        "an access may state the sensitivity of another relation",
        "accounting::a_sensitivity",
        &[(
            "privacy/curator/access.rs",
            "if !entry.is_of(self.relation()) {",
            "if !BUG && !entry.is_of(self.relation()) {",
        )],
    ),
    bug(
        "resumed-ledger-empty",
        "a resumed run begins with an empty ledger",
        "accounting::",
        &[(STEPS, TAKEN, "let resumed = if BUG { resumed.emptied() } else { resumed }; SAME")],
    ),
    bug(
        "resumed-with-another-limit",
        "a step under another limit is resumed",
        "entries::a_step",
        &[(
            STEPS,
            ".with(\"budget\", [budget])",
            ".with(\"budget\", [if BUG { String::new() } else { budget }])",
        )],
    ),
    bug(
        "resumed-pure-or-not",
        "a run of rho resumes a step under a limit of pure epsilon",
        "entries::a_step",
        &[(
            STEPS,
            "format!(\"{limit} {:?} {delta}\", self.ledger.epsilon_limit())",
            "if BUG { format!(\"{limit} {delta}\") } else { SAME }",
        )],
    ),
    bug(
        "resumed-after-another-ledger",
        "a step after an earlier ledger is resumed without that ledger",
        "entries::a_step",
        &[(
            CHECKPOINT,
            "if self.ledger.get(..start) != Some(spent) {",
            "if !BUG && self.ledger.get(..start) != Some(spent) {",
        )],
    ),
    bug(
        "resumed-after-measuring",
        "a curator that has measured something resumes a ledger with the same measurement, whose noise was another",
        "entries::a_selection",
        &[(
            STEPS,
            "return refused(found, \"before it spends anything itself\");",
            "if !BUG { SAME }",
        )],
    ),
    bug(
        "access-between-steps",
        "a curator with a checkpoint pays between its steps, so that a resumed run pays again and shows other noise",
        "entries::a_curator",
        &[(
            STEPS,
            "return Err(Error::invalid_specification(place, found, expected));",
            "if !BUG { SAME }",
        )],
    ),
    bug(
        "resumed-of-another-relation",
        "a run resumes the ledger of another relation",
        "accounting::a_tampered",
        &[(
            STEPS,
            "if !is_own || entry.round < round {",
            "if !BUG && !is_own || entry.round < round {",
        )],
    ),
    bug(
        "resumed-without-scores",
        "a run resumes selections that do not say what their sensitivity is made of",
        "entries::",
        &[(STEPS, "if entry.lacks_score() {", "if !BUG && entry.lacks_score() {")],
    ),
    bug(
        "resumed-with-the-old-stream",
        "a resumed run draws before its round begins",
        "order::",
        &[(STEPS, TAKEN, "let old = self.noise.take(); SAME if BUG { self.noise = old; }")],
    ),
    bug(
        "step-returned-before-it-is-kept",
        "the result of a step is shown before it is on disk, so that a resumed run pays for it again and shows another",
        "errors::errors_in",
        &[(STEPS, "self.keep_step(&value)?;", "if !BUG { SAME }")],
    ),
    bug(
        "step-kept-without-its-cost",
        "a step is on disk without the entries that paid for it",
        "entries::a_step",
        &[(
            CHECKPOINT,
            "(value, before..ledger.entries().len())",
            "(value, before..if BUG { before } else { ledger.entries().len() })",
        )],
    ),
    bug(
        "resumed-step-unchecked",
        "a step is resumed whose entries did not pay for it",
        "entries::",
        &[(STEPS, "check(&value, &entries).map_err(wrong)?;", "if !BUG { SAME }")],
    ),
    bug(
        "rounds-repeat",
        "a round may be begun twice, with the same noise if the seed is fixed",
        "accounting::rounds",
        &[(CURATOR, "if round < first.max(1) {", "if !BUG && round < first.max(1) {")],
    ),
    bug(
        "earlier-ledger-not-counted",
        "an earlier ledger is checked and not counted",
        "entries::an_earlier",
        &[(CURATOR, "self.ledger = charged;", "if !BUG { SAME }")],
    ),
    bug(
        "earlier-ledger-counted-half",
        "every other entry of an earlier ledger is not counted",
        "entries::",
        &[(
            CURATOR,
            "for entry in earlier.ledger.entries() {",
            "for entry in earlier.ledger.entries().iter().step_by(if BUG { 2 } else { 1 }) {",
        )],
    ),
    bug(
        "earlier-ledger-after-spending",
        "an earlier ledger replaces what this run has spent",
        "entries::",
        &[(
            CURATOR,
            "if !self.spent().is_zero() || self.round > 0 {",
            "if !BUG && (!self.spent().is_zero() || self.round > 0) {",
        )],
    ),
    bug(
        "earlier-ledger-of-other-neighbors",
        "an earlier ledger of other neighbors is counted",
        "entries::",
        &[(
            CURATOR,
            "if earlier.neighbors != self.relation() && !both_of_units {",
            "if !BUG && earlier.neighbors != self.relation() && !both_of_units {",
        )],
    ),
    bug(
        "earlier-entries-of-another-relation",
        "entries of an earlier ledger may have the sensitivity of another relation",
        "entries::",
        &[(CURATOR, "earlier.check_relation()?;", "if !BUG { SAME }")],
    ),
    bug(
        "earlier-ledger-of-other-units",
        "an earlier ledger of another column of units is counted",
        "entries::",
        &[(CURATOR, "if earlier.unit_name() != own {", "if !BUG && earlier.unit_name() != own {")],
    ),
    bug(
        "earlier-ledger-not-private",
        "an earlier ledger of a fixed seed is counted as private",
        "entries::",
        &[(
            CURATOR,
            "if !earlier.private && self.is_private() {",
            "if !BUG && !earlier.private && self.is_private() {",
        )],
    ),
    bug(
        "unit-of-a-ledger-not-checked",
        "a ledger of units of another size is continued",
        "sensitivity::a_ledger",
        &[(
            "privacy/ledger_file.rs",
            "if self.ledger.records_per_unit() != own.unit() {",
            "if !BUG && self.ledger.records_per_unit() != own.unit() {",
        )],
    ),
    bug(
        "carried-entries-without-their-unit",
        "entries of a ledger that counted another number of records of a unit are taken for this run's own",
        "sensitivity::a_ledger",
        &[(
            "privacy/ledger.rs",
            "records_per_unit: of.filter(|_| of != own)",
            "records_per_unit: of.filter(|_| !BUG && of != own)",
        )],
    ),
    bug(
        "carried-entries-of-any-sensitivity",
        "entries that say how many records of a unit they counted may have the sensitivity of fewer",
        "sensitivity::a_ledger",
        &[(
            "privacy/ledger.rs",
            "(Some(records), Some(_)) => NeighboringRelation::AddRemoveUnit(records),",
            "(Some(_), Some(_)) if BUG => return true, SAME",
        )],
    ),
    bug(
        "ledger-not-on-disk",
        "the ledger file is not kept up to date",
        "leaks::",
        &[(
            "privacy/curator/ledger_on_disk.rs",
            "written.with(\"unfinished\", &true)?.write(&file.path)?;",
            "if BUG { let _ = written; } else { SAME }",
        )],
    ),
    bug(
        "length-not-checked",
        "a sealed list may have another length than was stated, so that the support of a choice depends on the records",
        "order::sealed",
        &[(SENSITIVE, "if self.value.len() == stated {", "if BUG { return Ok(self.value); } SAME")],
    ),
    bug(
        "scores-left-out-by-the-records",
        "candidates without an error are left out of a choice, so that its support depends on the records",
        "mechanisms::",
        &[(
            "privacy/l1_errors.rs",
            "gain.of(errors[of.marginal], of.noise)).collect()",
            "gain.of(errors[of.marginal], of.noise)).filter(|score: &f64| !BUG || *score > 0.0).collect::<Vec<f64>>()",
        )],
    ),
    bug(
        "length-quoted",
        "the refusal of a sealed list quotes its length",
        "leaks::refusals",
        &[(
            SENSITIVE,
            "Err(Error::invalid_parameter(\"sealed numbers\", \"another number of them\", expected))",
            "if BUG { return Err(Error::invalid_parameter(\"sealed numbers\", self.value.len(), expected)); } SAME",
        )],
    ),
    bug(
        "length-free",
        "a sealed list of another length is refused before the charge, so that asking costs nothing",
        "order::sealed",
        &[
            (
                MEASURE,
                "let mut paid = self.pay(Access { purpose, ..Access::default() }, mechanism, rho)?;\n        let values = GridNoise::steps(&values.open_all(numbers, &paid)?);",
                "if BUG && values.map(Vec::len).is_not(numbers) { return Err(Error::invalid_parameter(\"numbers\", 0_usize, \"others\")); } SAME",
            ),
            (
                SENSITIVE,
                "impl<T> Sensitive<Vec<T>> {",
                "impl Sensitive<usize> { pub(crate) fn is_not(&self, other: usize) -> bool { self.value != other } }\n\nSAME",
            ),
        ],
    ),
    bug(
        "ledger-of-an-older-format",
        "a ledger that calls itself of an older version is continued",
        "entries::a_selection",
        &[(
            "privacy/ledger_file.rs",
            "if (stored.format.as_str(), stored.version) != (FORMAT, VERSION) {",
            "if !BUG && (stored.format.as_str(), stored.version) != (FORMAT, VERSION) {",
        )],
    ),
];
