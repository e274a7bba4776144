//! Comparisons with other numbers than their sensitivity is of.

use super::{Bug, bug};

const ERRORS: &str = "privacy/l1_errors.rs";
const CELLS: &str = "privacy/marginals.rs";
const SOURCE: &str = "privacy/source.rs";
const OBSERVED: &str = "privacy/curator/observed.rs";
const NEIGHBORS: &str = "neighbors::every_comparison";
const UNIT: &str = "privacy: l1_errors::";

pub(super) const BUGS: &[Bug] = &[
    bug(
        "weights-of-values-above-one",
        "a weight above 1 is taken, under which a record changes an error by more than is stated",
        UNIT,
        &[(ERRORS, "!(0.0..=1.0).contains(*weight);", "!BUG && !(0.0..=1.0).contains(*weight);")],
    ),
    bug(
        "weighted-values-in-another-order",
        "the values of a weighted marginal get the weights of others",
        UNIT,
        &[(
            ERRORS,
            "block.chunks_exact(stride)) {",
            "block.chunks_exact(if BUG { 1 } else { stride })) {",
        )],
    ),
    bug(
        "improvements-without-the-difference",
        "the difference of two errors has the sensitivity of one",
        NEIGHBORS,
        &[(
            ERRORS,
            "ScoreSensitivity::l1_error_difference(self.source.relation)",
            "(if BUG { ScoreSensitivity::l1_error(self.source.relation) } else { SAME })",
        )],
    ),
    bug(
        "improvements-of-twice-the-error",
        "the error of the model counts twice in the score of a public marginal",
        NEIGHBORS,
        &[(
            ERRORS,
            "errors[term.0] - own(term)",
            "(if BUG { 2.0 } else { 1.0 }) * errors[term.0] - own(term)",
        )],
    ),
    bug(
        "gains-of-one-cell",
        "gains have the sensitivity of one cell's error",
        NEIGHBORS,
        &[(
            ERRORS,
            "ScoreSensitivity::l1_error(self.source.relation).less(penalty)",
            "(if BUG { ScoreSensitivity::cell_error(self.source.relation) } else { ScoreSensitivity::l1_error(self.source.relation) }).less(penalty)",
        )],
    ),
    bug(
        "gains-forget-their-weights",
        "gains are weighted, and their sensitivity is not",
        NEIGHBORS,
        &[(
            ERRORS,
            "if candidates.is_empty() { sensitivity }",
            "if BUG || candidates.is_empty() { sensitivity }",
        )],
    ),
    bug(
        "gains-of-the-least-weight",
        "the sensitivity of gains has the smallest weight of a candidate, not the largest",
        NEIGHBORS,
        &[(
            ERRORS,
            "let largest = candidates.iter().map(|of| of.weight.abs()).fold(0.0, f64::max);",
            "SAME let largest = if BUG { candidates.iter().map(|of| of.weight.abs()).fold(largest, f64::min) } else { largest };",
        )],
    ),
    bug(
        "gains-of-the-mean-weight",
        "the sensitivity of gains has the mean weight of the candidates, not the largest",
        NEIGHBORS,
        &[(
            ERRORS,
            "let largest = candidates.iter().map(|of| of.weight.abs()).fold(0.0, f64::max);",
            "SAME let largest = if BUG { candidates.iter().map(|of| of.weight).sum::<f64>() / candidates.len() as f64 } else { largest };",
        )],
    ),
    bug(
        "gains-doubled",
        "gains are doubled, and their sensitivity is not",
        NEIGHBORS,
        &[(ERRORS, "|of| of.weight * ", "|of| (if BUG { 2.0 } else { 1.0 }) * of.weight * ")],
    ),
    bug(
        "shrunk-gains-squared",
        "shrunk gains grow with the square of the error",
        NEIGHBORS,
        &[(
            ERRORS,
            "let both = error.hypot(noise);",
            "if BUG { return error * error / (1.0 + noise); } SAME",
        )],
    ),
    bug(
        "negative-noise-of-gains",
        "gains take a negative noise, with which they change by more than the error",
        UNIT,
        &[(ERRORS, "&& of.noise >= 0.0", "&& (BUG || of.noise >= 0.0)")],
    ),
    bug(
        "means-of-one-cell",
        "choices among whole models have the sensitivity of one cell's error",
        NEIGHBORS,
        &[(
            ERRORS,
            "ScoreSensitivity::mean_workload_error(first.source.relation)",
            "(if BUG { ScoreSensitivity::cell_error(first.source.relation) } else { SAME })",
        )],
    ),
    bug(
        "means-as-sums",
        "choices among whole models are by the sum of errors, with the sensitivity of the mean",
        NEIGHBORS,
        &[(
            ERRORS,
            "scores.push(constant - weighted_sum(&weights, &errors));",
            "scores.push(constant - if BUG { errors.iter().sum::<f64>() } else { weighted_sum(&weights, &errors) });",
        )],
    ),
    bug(
        "weights-of-a-mean-above-one",
        "the weights of a mean may sum to more than 1",
        UNIT,
        &[(ERRORS, "&& sum <= 1.0 + ROUNDING {", "&& (BUG || sum <= 1.0 + ROUNDING) {")],
    ),
    bug(
        "negative-weights-of-a-mean",
        "the weights of a mean may be negative, so that their absolute values sum to more than 1",
        UNIT,
        &[(
            ERRORS,
            "weights.iter().all(|weight| *weight >= 0.0)",
            "weights.iter().all(|weight| BUG || *weight >= 0.0)",
        )],
    ),
    bug(
        "mean-error-as-a-sum",
        "the measured mean of errors is their sum",
        "errors::errors_have",
        &[(
            ERRORS,
            "vec![weighted_sum(weights, errors)]",
            "vec![if BUG { errors.iter().sum() } else { weighted_sum(weights, errors) }]",
        )],
    ),
    bug(
        "cells-doubled",
        "errors of cells are doubled, and their sensitivity is not",
        NEIGHBORS,
        &[(CELLS, "*score = error);", "*score = if BUG { 2.0 * error } else { error });")],
    ),
    bug(
        "worst-cell-as-a-sum",
        "the score of a marginal is the sum of its cells' errors, with the sensitivity of the worst",
        NEIGHBORS,
        &[(
            CELLS,
            "scores.fill(errors.fold(0.0, f64::max));",
            "scores.fill(if BUG { errors.sum() } else { errors.fold(0.0, f64::max) });",
        )],
    ),
    bug(
        "unsigned-score",
        "a query with its sign is chosen by the absolute error, and the sign is read off the records",
        NEIGHBORS,
        &[(
            CELLS,
            "signs.copy_from_slice(&[error, -error]);",
            "SAME if BUG { signs[usize::from(error > 0.0)] = -1e9; }",
        )],
    ),
    bug(
        "signed-scores-halved",
        "signed errors of cells have half their sensitivity",
        NEIGHBORS,
        &[(
            CELLS,
            "ScoreSensitivity::signed_cell_error(self.source.relation)",
            "(if BUG { ScoreSensitivity::signed_cell_error(self.source.relation).weighted(0.5)? } else { SAME })",
        )],
    ),
    bug(
        "ranges-of-half",
        "the scores of ranges of real values have half their sensitivity",
        "neighbors::the_scores_of_thresholds",
        &[(
            "pap/pmw.rs",
            "Ok(ScoreSensitivity::cell_error(relation))",
            "if BUG { return ScoreSensitivity::cell_error(relation).weighted(0.5); } SAME",
        )],
    ),
    bug(
        "values-of-another-curator",
        "a curator releases the sealed values of another, whose table its ledger does not pay for",
        "order::sealed_values_of",
        &[(
            SOURCE,
            "if Arc::ptr_eq(&self.curator, curator) {",
            "if BUG || Arc::ptr_eq(&self.curator, curator) {",
        )],
    ),
    bug(
        "audit-of-private-noise",
        "a curator with the system's noise shows what neighbors change",
        "neighbors::an_audit",
        &[(OBSERVED, "if self.is_private() {", "if !BUG && self.is_private() {")],
    ),
];
