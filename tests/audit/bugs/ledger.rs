//! A ledger that adds up wrongly, or does not enforce its limit, and conversions that promise too much.

use super::{Bug, bug};

const LEDGER: &str = "privacy/ledger.rs";
const ENTRY: &str = "privacy/noise_mechanism.rs";
const PURE: &str = "privacy/curator/pure.rs";
const CONVERSION: &str = "privacy/conversion.rs";
const FILE: &str = "privacy/ledger_file.rs";

pub(super) const BUGS: &[Bug] = &[
    bug(
        "charged-half",
        "the sum of the ledger grows by half of each cost",
        "accounting::",
        &[(
            LEDGER,
            "self.spent.checked_add(entry.rho)",
            "self.spent.checked_add(if BUG { Rho::from_units(entry.rho.units() / 2) } else { entry.rho })",
        )],
    ),
    bug(
        "limit-not-enforced",
        "charges above the limit are accepted",
        "accounting::",
        &[(LEDGER, "*spent <= self.limit", "BUG || *spent <= self.limit")],
    ),
    bug(
        "limit-exceeded-by-one-unit",
        "the last charge may exceed the limit by one unit",
        "accounting::",
        &[(
            LEDGER,
            "*spent <= self.limit",
            "BUG && spent.units() == self.limit.units().saturating_add(1) || SAME",
        )],
    ),
    bug(
        "pure-limit-not-enforced",
        "a limit of pure epsilon is ignored",
        "order::a_pure",
        &[(
            LEDGER,
            "let Some(limit) = self.epsilon_limit else { return true };",
            "SAME if BUG { return true; }",
        )],
    ),
    bug(
        "remaining-is-the-limit",
        "what remains is always the whole limit",
        "accounting::",
        &[(
            LEDGER,
            "Rho::from_units(self.limit.units().saturating_sub(self.spent.units()))",
            "if BUG { return self.limit; } SAME",
        )],
    ),
    bug(
        "remaining-epsilon-is-the-limit",
        "what remains of a pure epsilon is the whole of it",
        "accounting::all_of",
        &[(
            LEDGER,
            "(limit.to_f64() - self.pure_epsilon().unwrap_or(f64::INFINITY)).max(0.0)",
            "if BUG { limit.to_f64() } else { SAME }",
        )],
    ),
    bug(
        "pure-epsilon-not-summed",
        "the pure epsilon of a ledger is that of its largest entry",
        "exact::pure",
        &[(
            LEDGER,
            "sum.checked_add(entry.mechanism.pure_epsilon()?))",
            "if BUG { Some(sum.max(entry.mechanism.pure_epsilon()?)) } else { sum.checked_add(entry.mechanism.pure_epsilon()?) })",
        )],
    ),
    bug(
        "gaussian-noise-is-pure",
        "Gaussian noise costs no pure epsilon",
        "order::a_pure",
        &[(
            ENTRY,
            "| Self::GridGaussian { .. } => None,",
            "| Self::GridGaussian { .. } => if BUG { Some(0) } else { None },",
        )],
    ),
    bug(
        "selections-cost-half-their-pure-epsilon",
        "the pure epsilon of a selection is halved",
        "exact::pure",
        &[(
            ENTRY,
            "let one = u128::from(epsilon.numerator());",
            "let one = u128::from(epsilon.numerator()) / if BUG { 2 } else { 1 };",
        )],
    ),
    bug(
        "cost-of-entries-not-checked",
        "a ledger with entries that cost too little is accepted",
        "accounting::a_tampered",
        &[(LEDGER, "if !self.mechanism.is_covered_by(self.rho) {", "if BUG {} else SAME")],
    ),
    bug(
        "entries-not-checked-for-consistency",
        "a selection with another grid or sensitivity than its score's is accepted",
        "entries::",
        &[(
            LEDGER,
            "if !self.mechanism.is_consistent() {",
            "if !BUG && !self.mechanism.is_consistent() {",
        )],
    ),
    bug(
        "sensitivity-of-a-selection-not-checked",
        "a ledger's selection may state any sensitivity beside its score",
        "entries::",
        &[(
            ENTRY,
            "score.is_valid() && score.value().to_bits() == sensitivity.to_bits()",
            "BUG || SAME",
        )],
    ),
    bug(
        "sum-of-a-ledger-not-checked",
        "a ledger that is read may state another sum than that of its entries",
        "accounting::a_tampered",
        &[(LEDGER, "if found != sum {", "if !BUG && found != sum {")],
    ),
    bug(
        "fixed-seed-called-private",
        "a ledger file of a run with a fixed seed says that it is private",
        "streams::",
        &[(FILE, "private: is_private,", "private: BUG || is_private,")],
    ),
    bug(
        "ledger-without-score-accepted",
        "a ledger file of this version may have selections without their score",
        "entries::",
        &[(
            FILE,
            "if let Some(entry) = lacking {",
            "if let Some(entry) = lacking.filter(|_| !BUG) {",
        )],
    ),
    bug(
        "pure-limit-without-its-half",
        "the rho of a pure epsilon is its square, not half of it",
        "exact::a_budget",
        &[(
            PURE,
            "let limit = Rho::from_units(units.saturating_mul(units).div_ceil(2));",
            "let limit = Rho::from_units(units.saturating_mul(units).div_ceil(if BUG { 1 } else { 2 }));",
        )],
    ),
    bug(
        "pure-limit-doubled",
        "the limit of a pure budget is twice its epsilon",
        "accounting::all_of",
        &[(
            PURE,
            "Ok((limit, Ratio::new(units, 1 << PURE_BITS)?))",
            "Ok((limit, Ratio::new(units * if BUG { 2 } else { 1 }, 1 << PURE_BITS)?))",
        )],
    ),
    bug(
        "delta-understated",
        "the delta of a rho is smaller than it is",
        "exact::a_budget",
        &[(
            CONVERSION,
            "terms.iter().sum::<f64>() + 1e-14 * magnitude + 1e-13",
            "terms.iter().sum::<f64>() + 1e-14 * magnitude + 1e-13 - if BUG { 0.05 } else { 0.0 }",
        )],
    ),
    bug(
        "delta-rounded-down",
        "the delta of a rho is rounded to the nearest, not up",
        "accounting::delta",
        &[(
            CONVERSION,
            "let magnitude: f64 = terms.iter().map(|term| term.abs()).sum();",
            "SAME if BUG { return terms.iter().sum::<f64>() - 1e-14 * magnitude; }",
        )],
    ),
    bug(
        "rho-for-ten-times-delta",
        "a budget buys the rho of ten times its delta",
        "exact::a_budget",
        &[(
            CONVERSION,
            "delta_from_rho_epsilon(Rho::from_units(units), epsilon) <= delta.0",
            "delta_from_rho_epsilon(Rho::from_units(units), epsilon) <= delta.0 * if BUG { 10.0 } else { 1.0 }",
        )],
    ),
    bug(
        "epsilon-of-a-rho-halved",
        "the epsilon that a ledger reports is half of what it is",
        "accounting::",
        &[(
            CONVERSION,
            "return Epsilon::new(holding);",
            "return Epsilon::new(if BUG { 0.5 * holding } else { holding });",
        )],
    ),
    bug(
        "budget-doubled",
        "the limit of a budget of epsilon and delta is doubled",
        "exact::a_budget",
        &[(
            "privacy/budget.rs",
            "let rho = rho_from_epsilon_delta(epsilon, delta)?;",
            "SAME let rho = if BUG { Rho::from_units(2 * rho.units()) } else { rho };",
        )],
    ),
];
