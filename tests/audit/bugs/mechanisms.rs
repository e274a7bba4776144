//! Mechanisms that state the wrong sensitivity, or report before they have paid.

use super::{Bug, bug};

const GAME: &str = "mechanism/query_game.rs";
const RUN: &str = "mechanism/run.rs";
const ERRORS: &str = "mechanism/measured_errors.rs";
const STEPS: &str = "privacy/curator/steps.rs";

pub(super) const BUGS: &[Bug] = &[
    bug(
        "jam-without-the-difference",
        "JAM-PGM's list with public candidates has the sensitivity of one error",
        "entries::",
        &[(
            "mechanism/jam_pgm/mod.rs",
            "ScoreSensitivity::l1_error_difference(run.relation())",
            "(if BUG { ScoreSensitivity::l1_error(run.relation()) } else { SAME })",
        )],
    ),
    bug(
        "aim-forgets-its-weights",
        "AIM and Anchor-PGM weight their scores, and not their sensitivity",
        "entries::",
        &[(
            "mechanism/adaptive.rs",
            "let sensitivity = sensitivity.weighted(largest)?;",
            "let sensitivity = if BUG { sensitivity } else { sensitivity.weighted(largest)? };",
        )],
    ),
    bug(
        "aim-takes-its-least-weight",
        "the sensitivity of AIM and Anchor-PGM has the smallest weight of a candidate, not the largest",
        "entries::",
        &[(
            "mechanism/adaptive.rs",
            "let largest = wanted.iter().map(|i| relevance[*i]).fold(0.0, f64::max);",
            "SAME let largest = if BUG { wanted.iter().map(|i| relevance[*i]).fold(largest, f64::min) } else { largest };",
        )],
    ),
    bug(
        "anchor-picks-of-one-cell",
        "Anchor-PGM's choices among whole models have the sensitivity of one cell's error",
        "entries::",
        &[(
            "mechanism/anchor_pgm/pick.rs",
            "ScoreSensitivity::mean_workload_error(run.relation())",
            "(if BUG { ScoreSensitivity::cell_error(run.relation()) } else { SAME })",
        )],
    ),
    bug(
        "mst-of-one-cell",
        "MST's scores have the sensitivity of one cell's error",
        "entries::",
        &[(
            "mechanism/mst.rs",
            "ScoreSensitivity::l1_error(run.relation())",
            "if BUG { ScoreSensitivity::cell_error(run.relation()) } else { SAME }",
        )],
    ),
    bug(
        "mwem-pgm-of-one-cell",
        "MWEM+PGM's scores have the sensitivity of one cell's error",
        "entries::",
        &[(
            "mechanism/mwem_pgm.rs",
            "ScoreSensitivity::l1_error(run.relation()).less(penalty)",
            "if BUG { ScoreSensitivity::cell_error(run.relation()) } else { SAME }",
        )],
    ),
    bug(
        "query-release-halved",
        "the scores of MWEM, PMW-Pub, PEP and PEP-Pub have half their sensitivity",
        "entries::",
        &[(
            "mechanism/query_release.rs",
            "let sensitivity = ScoreSensitivity::cell_error(run.relation());",
            "SAME let sensitivity = if BUG { sensitivity.weighted(0.5)? } else { sensitivity };",
        )],
    ),
    bug(
        "unsigned-score",
        "FEM and DualQuery choose by the absolute error, and read its sign off the records",
        "mechanisms::",
        &[(
            GAME,
            "signs.copy_from_slice(&[score, -score]);",
            "SAME if BUG { signs[usize::from(score > 0.0)] = -1e9; }",
        )],
    ),
    bug(
        "signed-scores-halved",
        "the scores of FEM and DualQuery have half their sensitivity",
        "entries::",
        &[(
            GAME,
            "let sensitivity = ScoreSensitivity::signed_cell_error(run.relation());",
            "SAME let sensitivity = if BUG { sensitivity.weighted(0.5)? } else { sensitivity };",
        )],
    ),
    bug(
        "trust-of-one-number",
        "the numbers of `trust` together have the sensitivity of one",
        "joint::the_errors",
        &[
            (
                "trust/mod.rs",
                "StatisticSensitivity::l1_errors(curator.relation(), numbers)?",
                "StatisticSensitivity::l1_errors(curator.relation(), if BUG { 1 } else { numbers })?",
            ),
            (
                "privacy/sensitive.rs",
                "if self.0.len() == stated {",
                "if BUG { return Ok(self.0); } SAME",
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
        "mechanisms::",
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
        &[(
            "error_bars/mod.rs",
            "weights.iter().map(|weight| weight / sum).collect();",
            "weights.iter().map(|weight| if BUG { *weight } else { weight / sum }).collect();",
        )],
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
        &[(ERRORS, "[hash(records)]", "[if BUG { String::new() } else { hash(records) }]")],
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
