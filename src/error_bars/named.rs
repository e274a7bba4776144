//! Measured errors with the names of attributes, as ledgers and reports hold them.

use serde::Serialize;

use super::{CONFIDENCE, Interval, LeftOut, MeasuredErrors};
use crate::domain::Domain;

/// Measured errors, with the names of attributes instead of their positions.
#[derive(Serialize)]
pub(crate) struct NamedErrors<'a> {
    records: usize,
    total: f64,
    confidence: f64,
    mean: Interval,
    none_above: Option<f64>,
    /// Standard deviation of the noise in each measured error.
    stddev: f64,
    left_out: &'a LeftOut,
    marginals: Vec<Marginal<'a>>,
}

#[derive(Serialize)]
struct Marginal<'a> {
    clique: Vec<&'a str>,
    measured: Interval,
    #[serde(skip_serializing_if = "Option::is_none")]
    shrunk: Option<Interval>,
}

impl<'a> NamedErrors<'a> {
    /// `domain`: that of the released table.
    pub(crate) fn new(errors: &'a MeasuredErrors, domain: &'a Domain) -> Self {
        let marginals = errors.marginals.iter().map(|error| Marginal {
            clique: error.clique.iter().map(|a| domain.name(a)).collect(),
            measured: error.measured,
            shrunk: error.shrunk,
        });
        let MeasuredErrors { records, total, mean, none_above, stddev, .. } = *errors;
        let (marginals, left_out) = (marginals.collect(), &errors.left_out);
        let confidence = CONFIDENCE;
        Self { records, total, confidence, mean, none_above, stddev, left_out, marginals }
    }
}
