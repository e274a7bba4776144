//! Flags of `jointly synth` for groups and for units of privacy.

use clap::{Args, ValueEnum};
use jointly::mechanism::LevelShares;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum NoiseName {
    /// Discrete Gaussian, for zCDP and so for (epsilon, delta)
    Gaussian,
    /// Discrete Laplace; without --delta the release is purely epsilon-private
    Laplace,
}

/// How ide works.
#[derive(Args, Clone, Debug, Default)]
pub(in crate::cli) struct IdeArgs {
    /// Group attributes, outermost first, such as STATE,PUMA; public tables may lack them (ide)
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(in crate::cli) groups: Vec<String>,
    /// Form of the noise (ide) [default: gaussian]
    #[arg(long, value_enum, value_name = "FORM")]
    pub(in crate::cli) noise: Option<NoiseName>,
    /// Most marginals measured at each level of groups (ide) [default: one an attribute, those worth their noise]
    #[arg(long, value_name = "N")]
    pub(in crate::cli) cliques: Option<usize>,
    /// Shares of the budget for the levels of groups, in proportion, outermost first (ide) [default: by-groups]
    #[arg(long, value_name = "by-groups|equal|SHARE,...", allow_hyphen_values = true)]
    pub(in crate::cli) level_shares: Option<LevelShares>,
}

impl IdeArgs {
    /// A flag that is given.
    pub(in crate::cli) fn given(&self) -> Option<&'static str> {
        let given = [
            ("--groups", !self.groups.is_empty()),
            ("--noise", self.noise.is_some()),
            ("--cliques", self.cliques.is_some()),
            ("--level-shares", self.level_shares.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(flag, _)| flag)
    }
}

/// What differs between neighboring tables, where it is not one record.
#[derive(Args, Clone, Debug, Default)]
pub(in crate::cli) struct UnitArgs {
    /// Column that names the unit of each record, such as a household; needs --neighbors add-remove-one
    #[arg(long, value_name = "COLUMN", requires = "max_records")]
    pub(in crate::cli) unit: Option<String>,
    /// Records of a unit that count, the first in the file; the rest is dropped
    #[arg(long, value_name = "K", requires = "unit")]
    pub(in crate::cli) max_records: Option<u32>,
}
