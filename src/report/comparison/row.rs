//! A finished run of a comparison.

use serde::{Deserialize, Serialize};

/// The key of a run in the table of results.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Key {
    /// The data set.
    pub data: String,
    /// A mechanism or a baseline.
    pub mechanism: String,
    /// ε; `None` if nothing is spent.
    pub epsilon: Option<f64>,
    /// The seed; `None` if nothing is drawn.
    pub seed: Option<u64>,
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}", self.data, self.mechanism)?;
        self.epsilon.map_or(Ok(()), |epsilon| write!(f, ", epsilon {epsilon}"))?;
        self.seed.map_or(Ok(()), |seed| write!(f, ", seed {seed}"))
    }
}

/// A row of the table; columns are documented in `docs/guide/compare.md`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Row {
    /// The data set.
    pub data: String,
    /// A mechanism or a baseline.
    pub mechanism: String,
    /// ε; `None` if nothing is spent.
    pub epsilon: Option<f64>,
    /// The seed; `None` if nothing is drawn.
    pub seed: Option<u64>,
    /// Mean L1 distance of the workload's marginals.
    pub workload_error: f64,
    /// The largest of these distances.
    pub max_l1: f64,
    /// The largest error of a cell, as a probability.
    pub max_query: f64,
    /// Mean absolute error of the cells.
    #[serde(default)]
    pub mean_query: f64,
    /// Root mean squared error of the cells.
    pub rmse_query: f64,
    /// SDNist's k-marginal score.
    pub k_marginal: Option<f64>,
    /// Mean squared error of a propensity score.
    pub pmse: Option<f64>,
    /// Its ratio to that of resampled real records.
    pub pmse_ratio: Option<f64>,
    /// Mean difference in Pearson's correlation.
    pub pearson_mean: Option<f64>,
    /// The largest one.
    pub pearson_max: Option<f64>,
    /// Mean difference in Cramér's V.
    pub cramers_v_mean: Option<f64>,
    /// The largest one.
    pub cramers_v_max: Option<f64>,
    /// Unique real records that also occur in the table.
    pub unique_matches: Option<u64>,
    /// Their share of all unique real records.
    pub unique_share: Option<f64>,
    /// Mean L1 distance of all single attributes.
    #[serde(default)]
    pub singles_l1: Option<f64>,
    /// The largest error of a value of one, as a probability.
    #[serde(default)]
    pub singles_max: Option<f64>,
    /// Mean L1 distance of all pairs of attributes.
    #[serde(default)]
    pub pairs_l1: Option<f64>,
    /// The largest error of a cell of one, as a probability.
    #[serde(default)]
    pub pairs_max: Option<f64>,
    /// Area under the receiver operating characteristic of a classifier trained on the synthetic records; mean over the
    /// attributes to predict.
    #[serde(default)]
    pub predicted_area: Option<f64>,
    /// The same, trained on real records.
    #[serde(default)]
    pub predicted_area_real: Option<f64>,
    /// The share of real records that it predicts right.
    #[serde(default)]
    pub predicted_right: Option<f64>,
    /// The same, trained on real records.
    #[serde(default)]
    pub predicted_right_real: Option<f64>,
    /// Share of records that violate an edit rule.
    pub edit_share: Option<f64>,
    /// The same for the real table.
    pub edit_share_real: Option<f64>,
    /// NIST's group score.
    pub group_score: Option<f64>,
    /// Mean over the numeric columns of the distance of the means, in real standard deviations.
    #[serde(default)]
    pub mean_difference: Option<f64>,
    /// Mean over the numeric columns of the Wasserstein distance, in real standard deviations.
    #[serde(default)]
    pub wasserstein: Option<f64>,
    /// Marginals measured privately.
    pub private_marginals: Option<usize>,
    /// Marginals taken from public tables.
    pub public_marginals: Option<usize>,
    /// ρ spent.
    pub rho_spent: Option<f64>,
    /// Wall-clock seconds of the run and the drawing of records.
    pub seconds: Option<f64>,
    /// CPU seconds of all threads.
    pub cpu_seconds: Option<f64>,
    /// Peak memory, in MiB.
    pub peak_mib: Option<f64>,
    /// Always false: seeds are fixed, and errors are those against the real records.
    pub private: bool,
    /// Version of the program.
    pub version: String,
    /// A digest of everything that affects the result.
    pub digest: String,
}

impl Row {
    /// The key of the run.
    pub fn key(&self) -> Key {
        Key {
            data: self.data.clone(),
            mechanism: self.mechanism.clone(),
            epsilon: self.epsilon,
            seed: self.seed,
        }
    }

    /// The same result under the key of another run with the same digest.
    #[must_use]
    pub fn under(&self, key: &Key) -> Self {
        let Key { data, mechanism, epsilon, seed } = key.clone();
        Self { data, mechanism, epsilon, seed, ..self.clone() }
    }
}
