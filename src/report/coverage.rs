//! How much of the workload was measured, and the error that the noise alone leaves in it.

use serde::Serialize;
use serde_json::{Value, json};

use super::Content;
use super::format::grouped;
use crate::domain::Clique;
use crate::measurement::{Measurement, Provenance};

/// Marginals in the list.
const WORST: usize = 8;

/// The marginals of the workload by what is known of them.
#[derive(Serialize)]
pub(super) struct Coverage {
    all: String,
    private: String,
    public: String,
    neither: String,
    worst: Vec<Row>,
    /// How many marginals are measured, public, and neither.
    numbers: [u64; 3],
}

/// A marginal and its expected error.
#[derive(Serialize)]
struct Row {
    marginal: String,
    error: String,
}

/// `None` if the mechanism measured no marginal.
pub(super) fn coverage(content: &Content<'_>) -> Option<Coverage> {
    let release = content.release;
    let whole: Vec<&Measurement> =
        release.measurements.iter().filter(|m| m.cell.is_none()).collect();
    if whole.is_empty() {
        return None;
    }
    let of = |clique: &Clique, is_private: bool| -> Vec<&Measurement> {
        let from = |m: &&&Measurement| (m.provenance == Provenance::Private) == is_private;
        let holds = |m: &&&Measurement| clique.is_subset(&m.clique);
        whole.iter().filter(from).filter(holds).copied().collect()
    };
    let (mut public, mut neither) = (0_u64, 0_u64);
    let mut found: Vec<(&Clique, f64)> = Vec::new();
    for weighted in content.workload.weighted_cliques() {
        let clique = &weighted.clique;
        let measured = of(clique, true);
        if measured.is_empty() {
            let is_public = !of(clique, false).is_empty();
            *(if is_public { &mut public } else { &mut neither }) += 1;
        } else {
            let errors = measured.iter().map(|m| expected_error(content, clique, m));
            found.push((clique, errors.fold(f64::INFINITY, f64::min)));
        }
    }
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    let domain = release.model.domain();
    let row = |(clique, error): &(&Clique, f64)| Row {
        marginal: domain.describe(clique).replace(" x ", " \u{d7} "),
        // Two distributions are never further apart.
        error: if *error < 2.0 { format!("{error:.3}") } else { "over 2: noise alone".to_owned() },
    };
    Some(Coverage {
        all: grouped(content.workload.len() as u64),
        private: grouped(found.len() as u64),
        public: grouped(public),
        neither: grouped(neither),
        worst: found.iter().take(WORST).map(row).collect(),
        numbers: [found.len() as u64, public, neither],
    })
}

impl Coverage {
    /// The numbers, for programs.
    pub(super) fn described(&self) -> Value {
        let [private, public, neither] = self.numbers;
        json!({ "measured": private, "public_only": public, "neither": neither })
    }
}

/// The mean L1 error of a marginal that is summed from one measurement, `k s √(2/π) / n` for k cells with Gaussian noise of
/// standard deviation s each; with Laplace noise, the mean error is up to 12 % smaller. The fit to all measurements, none of them below 0, is usually closer.
fn expected_error(content: &Content<'_>, clique: &Clique, measurement: &Measurement) -> f64 {
    let domain = content.release.model.domain();
    let cells = |clique| domain.cells(clique).unwrap_or(u64::MAX) as f64;
    let own = cells(clique);
    let stddev = measurement.stddev * (cells(&measurement.clique) / own).sqrt();
    let total = content.release.model.total().max(1.0);
    own * stddev * std::f64::consts::FRAC_2_PI.sqrt() / total
}
