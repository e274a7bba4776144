//! Values that are named too early, or whose δ nobody pays.

use super::{Bug, bug};

const THRESHOLD: &str = "privacy/threshold.rs";
const MEASURE: &str = "privacy/curator/measure.rs";
const LEDGER: &str = "privacy/ledger.rs";
const BUDGET: &str = "privacy/budget.rs";
const ABOVE: &str = "threshold.saturating_sub(records.into())";

pub(super) const BUGS: &[Bug] = &[
    bug(
        "threshold-of-noise-alone",
        "the threshold is for noise alone, not for the records of one neighbor with noise",
        "thresholds::",
        &[(
            THRESHOLD,
            ABOVE,
            "if BUG { threshold } else { threshold.saturating_sub(records.into()) }",
        )],
    ),
    bug(
        "threshold-of-one-value",
        "the records of a unit count as those of one value",
        "thresholds::",
        &[(
            THRESHOLD,
            "f64::from(records).ln() + log_tail",
            "if BUG { 0.0 } else { f64::from(records).ln() } + log_tail",
        )],
    ),
    bug(
        "threshold-not-applied",
        "values below the threshold are named",
        "thresholds::",
        &[(MEASURE, "count >= threshold)", "BUG || count >= threshold)")],
    ),
    bug(
        "threshold-by-the-true-count",
        "values are named by their true counts, without a threshold for noise",
        "thresholds::",
        &[(
            MEASURE,
            "let named = values.into_keys().zip(noisy);",
            "let noisy = if BUG { values.values().map(|count| i64::from(*count)).collect() } else { noisy }; SAME",
        )],
    ),
    bug(
        "threshold-not-checked",
        "a ledger's threshold may be lower than its delta pays for",
        "thresholds::delta_is",
        &[(
            "privacy/noise_mechanism.rs",
            "threshold::is_covered(",
            "BUG || threshold::is_covered(",
        )],
    ),
    bug(
        "delta-limit-not-enforced",
        "thresholds may spend any delta",
        "thresholds::delta_is",
        &[(
            LEDGER,
            "if delta_spent > self.delta_limit {",
            "if !BUG && delta_spent > self.delta_limit {",
        )],
    ),
    bug(
        "delta-not-summed",
        "the delta of a ledger is that of its last entry",
        "thresholds::delta_is",
        &[(
            LEDGER,
            "(self.spent, self.delta_spent) = (spent, delta_spent);",
            "(self.spent, self.delta_spent) = (spent, if BUG { entry.mechanism.delta() } else { delta_spent });",
        )],
    ),
    bug(
        "delta-of-thresholds-on-top",
        "the delta of thresholds is not taken from that of the budget",
        "thresholds::a_later",
        &[(
            BUDGET,
            "let rho = rho_from_epsilon_delta(self.epsilon, Delta::new(rest)?)?;",
            "let rho = rho_from_epsilon_delta(self.epsilon, Delta::new(if BUG { self.delta() } else { rest })?)?;",
        )],
    ),
    bug(
        "delta-of-an-earlier-ledger-forgotten",
        "a later budget does not pay for the delta of an earlier ledger",
        "thresholds::a_later",
        &[
            (
                BUDGET,
                "match earlier.ledger.delta_spent() {",
                "match if BUG { 0.0 } else { earlier.ledger.delta_spent() } {",
            ),
            (
                LEDGER,
                "let delta_spent = self.delta_with(&entry);",
                "let delta_spent = if BUG { 0.0 } else { self.delta_with(&entry) };",
            ),
        ],
    ),
    bug(
        "values-of-records-that-do-not-count",
        "values are counted over all records of a unit",
        "thresholds::only_records",
        &[(
            "data/unlisted.rs",
            "&& !units.counts(&table, &record)?",
            "&& !units.counts(&table, &record)? && !BUG",
        )],
    ),
];
