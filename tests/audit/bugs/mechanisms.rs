//! Mechanisms and releases that state the wrong sensitivity, or report before they have paid.

use super::{Bug, bug};

const RUN: &str = "mechanism/run.rs";
const ERRORS: &str = "mechanism/measured_errors.rs";
const STEPS: &str = "privacy/curator/steps.rs";

pub(super) const BUGS: &[Bug] = &[
    bug(
        "trust-of-one-number",
        "the numbers of `trust` together have the sensitivity of one",
        "joint::the_errors",
        &[
            (
                "privacy/curator/measure.rs",
                "StatisticSensitivity::l1_errors(self.relation(), errors.len())?",
                "StatisticSensitivity::l1_errors(self.relation(), if BUG { 1 } else { errors.len() })?",
            ),
            (
                "privacy/sensitive.rs",
                "if self.value.len() == stated {",
                "if BUG { return Ok(self.value); } SAME",
            ),
        ],
    ),
    bug(
        "mixture-error-with-a-narrow-bracket",
        "the release of a mixture error states a narrower bracket than it solves to",
        "joint::the_best",
        &[(
            "trust/release.rs",
            "let width = SmoothedError::WIDTH;",
            "let width = if BUG { SmoothedError::WIDTH / 64.0 } else { SmoothedError::WIDTH };",
        )],
    ),
    bug(
        "told-before-it-is-on-disk",
        "a round's measurements are reported before their ledger is on disk",
        "leaks::",
        &[(
            STEPS,
            "        self.save_ledger()\n",
            "        if !BUG { self.save_ledger()?; }\n        Ok(())\n",
        )],
    ),
    bug(
        "checkpoint-not-written",
        "a round's measurements are reported before they are in the checkpoint, so that a resumed run draws them again",
        "jobs::what_a_job",
        &[(
            RUN,
            "self.progress.rounds.push(record);\n        self.curator.keep_step(&self.progress)?;",
            "self.progress.rounds.push(record);\n        if !BUG || round > 1 { self.curator.keep_step(&self.progress)?; }",
        )],
    ),
    bug(
        "checkpoint-with-unpaid-measurements",
        "a checkpoint is resumed whose ledger does not list all of its measurements",
        "entries::",
        &[(
            "mechanism/run/progress.rs",
            "self.check_paid(domain, entries)\n",
            "if BUG { return Ok(()); } self.check_paid(domain, entries)\n",
        )],
    ),
    bug(
        "checkpoint-of-another-table",
        "a checkpoint of another private table is resumed",
        "entries::",
        &[(
            "privacy/checkpoint.rs",
            ".with(\"private table\", [private_label])",
            ".with(\"private table\", [if BUG { \"\" } else { private_label }])",
        )],
    ),
    bug(
        "checkpoint-of-a-fixed-seed",
        "a private run resumes the checkpoint of a fixed seed",
        "entries::",
        &[(
            STEPS,
            ".with(\"noise seed\", [format!(\"{:?}\", self.seed())])",
            ".with(\"noise seed\", [if BUG { String::new() } else { format!(\"{:?}\", self.seed()) }])",
        )],
    ),
    bug(
        "errors-of-the-sum",
        "under pure epsilon the sum of the released table's errors gets the noise of their mean",
        "errors::errors_have",
        &[
            (
                "error_bars/mod.rs",
                "weights.iter().map(|weight| weight / sum).collect();",
                "weights.iter().map(|weight| if BUG { *weight } else { weight / sum }).collect();",
            ),
            (
                "privacy/l1_errors.rs",
                "let sum: f64 = weights.iter().sum();",
                "if BUG { return Ok(()); } SAME",
            ),
        ],
    ),
    bug(
        "resumed-errors-not-charged",
        "a resumed run takes the measured errors from its checkpoint and not what they cost",
        "errors::errors_in",
        &[(
            STEPS,
            "let charged = self.resume(&entries);",
            "let charged = if BUG && step.contains(\"errors\") { Ok(()) } else { self.resume(&entries) };",
        )],
    ),
    bug(
        "errors-of-other-records",
        "a resumed run takes the errors of other records for those of its own",
        "errors::errors_in",
        &[(ERRORS, "[hash(table)]", "[if BUG { String::new() } else { hash(table) }]")],
    ),
    bug(
        "errors-of-other-weights",
        "a resumed run takes the errors of the same records with other weights for those of its own",
        "errors::errors_in",
        &[(
            ERRORS,
            "    if let Some(weights) = population.and_then(|population| population.of_released) {\n        hash",
            "    if let Some(weights) = population.and_then(|population| population.of_released).filter(|_| !BUG) {\n        hash",
        )],
    ),
    bug(
        "weighted-errors-in-a-smaller-unit",
        "a record of the largest weight counts for more than one in a weighted error",
        "errors::weighted",
        &[
            (
                "survey/weight.rs",
                "self.means.iter().copied().fold(0.0, f64::max)",
                "if BUG { self.means[0] } else { SAME }",
            ),
            (
                "privacy/l1_errors.rs",
                "        by.check()?;\n",
                "        if !BUG { by.check()?; }\n",
            ),
        ],
    ),
    bug(
        "set-aside-on-top",
        "what is set aside for the errors comes on top of the limit",
        "errors::what_is",
        &[(
            "privacy/curator/set_aside.rs",
            "let SetAside { limit, epsilon_limit, part } = self.set_aside.take()?;",
            "SAME let limit = if BUG { limit.checked_add(part)? } else { limit };",
        )],
    ),
];
