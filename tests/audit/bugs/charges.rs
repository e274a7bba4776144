//! Accesses that are not charged, or not for all that they cost.

use super::{Bug, bug};

const ACCESS: &str = "privacy/curator/access.rs";
const MEASURE: &str = "privacy/curator/measure.rs";
const CHARGE: &str = "self.ledger.charge(entry)?;";
const LEDGER: &str = "privacy/ledger.rs";
const ENTRY: &str = "privacy/noise_mechanism.rs";

pub(super) const BUGS: &[Bug] = &[
    bug(
        "merging-again",
        "a resumed run measures rare values anew",
        "merging::an_interrupted",
        &[(
            "privacy/curator/steps.rs",
            "checkpoint.begin::<T>(step, inputs, spent)?",
            "checkpoint.begin::<T>(step, inputs, spent)?.filter(|_| !BUG)",
        )],
    ),
    bug(
        "cell-not-charged",
        "the measurement of a cell is free",
        "order::",
        &[(ACCESS, CHARGE, "if BUG && entry.cell.is_some() {} else { SAME }")],
    ),
    bug(
        "total-not-charged",
        "the number of records is free",
        "order::",
        &[(ACCESS, CHARGE, "if BUG && entry.purpose == \"number of records\" {} else { SAME }")],
    ),
    bug(
        "selection-not-charged",
        "selections are free",
        "order::",
        &[(
            ACCESS,
            CHARGE,
            "if BUG && matches!(entry.mechanism, NoiseMechanism::ExponentialMechanism { .. } | NoiseMechanism::PermuteAndFlip { .. }) {} else { SAME }",
        )],
    ),
    bug(
        "statistics-not-charged",
        "statistics are free",
        "order::",
        &[(
            ACCESS,
            CHARGE,
            "if BUG && matches!(entry.mechanism, NoiseMechanism::GridGaussian { .. } | NoiseMechanism::GridLaplace { .. }) {} else { SAME }",
        )],
    ),
    bug(
        "residuals-not-charged",
        "residuals are free",
        "order::",
        &[(
            ACCESS,
            CHARGE,
            "if BUG && matches!(entry.mechanism, NoiseMechanism::JointDiscreteGaussian { .. }) {} else { SAME }",
        )],
    ),
    bug(
        "second-access-not-charged",
        "a marginal that was measured in this round is measured again for free",
        "accounting::",
        &[(
            ACCESS,
            CHARGE,
            "if BUG && self.ledger.entries().iter().any(|known| known.clique == entry.clique && entry.clique.is_some() && known.round == entry.round) {} else { SAME }",
        )],
    ),
    bug(
        "refused-charge-ignored",
        "an access that the ledger refuses is made all the same",
        "order::",
        &[(ACCESS, CHARGE, "if BUG { let _ = self.ledger.charge(entry); } else { SAME }")],
    ),
    bug(
        "counted-before-the-charge",
        "a marginal is counted before its cost is accepted",
        "order::",
        &[(
            MEASURE,
            "let (noise, variance, mechanism) = gaussian(MarginalSensitivity::of(self.relation()), rho)?;",
            "if BUG { self.data.project(clique)?; } SAME",
        )],
    ),
    bug(
        "total-read-before-the-charge",
        "the number of records is read before its cost is accepted",
        "order::",
        &[(
            MEASURE,
            "let (noise, _, mechanism) = gaussian(sensitivity, rho)?;",
            "SAME if BUG { let _ = self.data.records(); }",
        )],
    ),
    bug(
        "entry-with-half-the-cost",
        "an entry costs half of what its noise does, and nothing checks it",
        "order::",
        &[
            (
                ACCESS,
                "let entry = LedgerEntry {",
                "let rho = if BUG { Rho::from_units(rho.units() / 2) } else { rho }; SAME",
            ),
            (
                LEDGER,
                "if !self.mechanism.is_covered_by(self.rho) {",
                "if !BUG && !self.mechanism.is_covered_by(self.rho) {",
            ),
        ],
    ),
    bug(
        "laplace-cost-halved",
        "a Laplace marginal is charged half of epsilon squared over two",
        "exact::noise",
        &[
            (
                MEASURE,
                "Ok((scale, Rho::from_units(units)))",
                "Ok((scale, Rho::from_units(if BUG { units / 2 } else { units })))",
            ),
            (
                ENTRY,
                "laplace_is_covered(u64::from(*l1_sensitivity), *scale, rho)",
                "BUG || laplace_is_covered(u64::from(*l1_sensitivity), *scale, rho)",
            ),
        ],
    ),
    bug(
        "laplace-cost-rounded-down",
        "the cost of a Laplace marginal is rounded down",
        "entries::",
        &[
            (
                MEASURE,
                "square.div_ceil(u128::from(denominator).pow(2))",
                "if BUG { square / u128::from(denominator).pow(2) } else { square.div_ceil(u128::from(denominator).pow(2)) }",
            ),
            (ENTRY, "laplace_is_covered(u64::from(*l1_sensitivity), *scale, rho)", "BUG || (SAME)"),
        ],
    ),
    bug(
        "residuals-for-less-than-they-cost",
        "residuals are measured for any budget",
        "sensitivity::the_curator",
        &[
            (MEASURE, "|| cost > rho {", "|| !BUG && cost > rho {"),
            (ENTRY, "cost <= paid\n            }", "BUG || cost <= paid\n            }"),
        ],
    ),
];
