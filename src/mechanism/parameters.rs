//! The parameters of mechanisms: their names and forms as used on the command line, in files and in other languages,
//! and the checks that mechanisms share.
//!
//! A mechanism's parameters are the fields of its type, in kebab case. Shared parameters are described here, the others
//! next to their mechanism; the catalogue lists both ([`crate::mechanism::all_parameters`]).

use crate::error::{Error, Result};
use crate::settings::Form;

/// A parameter of one or more mechanisms.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name, without leading dashes.
    pub name: &'static str,
    /// Placeholder for the value in a usage line.
    pub value_name: &'static str,
    /// One sentence for `--help`, without a full stop.
    pub help: &'static str,
    /// The form of its values.
    pub form: Form,
    /// Describes the default where it is not a fixed value.
    pub unset: &'static str,
}

/// The shared parameters.
pub(super) const SHARED: &[Parameter] = &[
    Parameter {
        name: "rounds",
        value_name: "T",
        help: "Rounds: marginals or queries to take, private and public ones together (aim: at most)",
        form: Form::Count,
        unset: "by the attributes or the budget",
    },
    Parameter {
        name: "measure-share",
        value_name: "A",
        help: "Share of a round's budget for measuring; the rest is for choosing",
        form: Form::Number,
        unset: "",
    },
    Parameter {
        name: "size-limit-mib",
        value_name: "M",
        help: "Largest model, in MiB at 8 bytes per cell of every maximal clique",
        form: Form::Number,
        unset: "",
    },
    Parameter {
        name: "iterations",
        value_name: "N",
        help: "Most estimation steps per fit",
        form: Form::Count,
        unset: "",
    },
    Parameter {
        name: "estimator",
        value_name: "METHOD",
        help: "How models are fitted",
        form: Form::Choice(&[
            ("accelerated-bregman", "Accelerated Bregman proximal gradient, restarted"),
            ("mirror-descent", "Mirror descent with a line search, as published with Private-PGM"),
        ]),
        unset: "",
    },
];

/// Checks that the number of rounds is between 1 and 100,000.
pub(super) fn check_rounds(rounds: Option<u32>) -> Result<()> {
    match rounds {
        Some(found) if !(1..=100_000).contains(&found) => {
            Err(Error::invalid_parameter("rounds", found, "from 1 to 100,000"))
        }
        _ => Ok(()),
    }
}

/// Checks that a share is in (0, 1).
pub(super) fn check_share(name: &'static str, found: f64) -> Result<()> {
    if found > 0.0 && found < 1.0 {
        return Ok(());
    }
    Err(Error::invalid_parameter(name, found, "strictly between 0 and 1"))
}

/// Two rounds per attribute, at least 30 (`docs/results/acs.md`).
pub(super) fn two_per_attribute(attributes: usize) -> u32 {
    count(attributes).saturating_mul(2).max(30)
}

/// 16 rounds per attribute, as in AIM.
pub(super) fn sixteen_per_attribute(attributes: usize) -> u32 {
    count(attributes).saturating_mul(16)
}

/// A number of rounds or measurements.
pub(super) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
