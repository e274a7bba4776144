//! Who chooses the marginals to measure.

use serde::{Deserialize, Serialize};

use crate::mechanism::Parameter;
use crate::settings::Form;

/// Who chooses the marginals that [`AnchorPgm`](crate::mechanism::AnchorPgm) measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Chooser {
    /// The expert that predicted the measurements best so far.
    #[default]
    Leader,
    /// [`ExpertKind::Alone`](crate::mechanism::ExpertKind::Alone), the expert without public tables, as AIM does: a run
    /// measures what [`crate::mechanism::Aim`] measures with the budget that the last choice leaves, 90 to 98 %, draw by draw.
    /// The other expert fits these measurements afterwards. AIM's model is one of the k models of the last choice, so with a
    /// probability of 1 - e^-t the mean workload error of the published model is at most AIM's plus `4 (ln k + t)/(n √(8ρ))`,
    /// whatever the public tables are; ρ is that of the choice. Proof: `docs/theory/run.md`, section 2.
    Alone,
}

/// Descriptions of the mechanism's own parameters.
pub(in crate::mechanism) const PARAMETERS: &[Parameter] = &[Parameter {
    name: "chooser",
    value_name: "WHO",
    help: "Who chooses the marginals to measure",
    form: Form::Choice(&[
        ("leader", "The expert that predicted the measurements best so far"),
        (
            "alone",
            "The expert without public tables, as in aim; how much worse than aim it can get is bounded",
        ),
    ]),
    unset: "",
}];
