//! The survey weight of a record.

use crate::domain::{Clique, Domain, Kind, Schema};
use crate::error::{Error, Result};
use crate::least_squares::{Measured, MeasuredResidual};
use crate::measurement::Measurement;
use crate::model::bin_mean;

/// An attribute that says how many members of the population a record stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Weight {
    /// Position among the attributes.
    pub attribute: usize,
    /// The mean weight of each value.
    pub means: Vec<f64>,
}

/// The weight of records that stand for nobody, as a share of the largest.
const LEAST: f64 = 1e-9;

impl Weight {
    /// The largest mean weight.
    pub fn largest(&self) -> f64 {
        self.means.iter().copied().fold(0.0, f64::max)
    }

    /// A measurement of the sample as one of the population: each record counts by the mean weight of its bin. `None` for one that
    /// does not say how many records of each weight there are.
    ///
    /// The noise of a weighted count is a sum over the bins, so its standard deviation is `σ ‖m‖₂`, where that in different cells
    /// is independent.
    pub fn weighted(&self, domain: &Domain, measurement: &Measurement) -> Option<Measurement> {
        let own = Clique::new([self.attribute]);
        let Measurement { clique, cell, values, stddev, provenance } = measurement;
        let rest = clique.difference(&own);
        if cell.is_some() || rest.len() == clique.len() || rest.is_empty() {
            return None;
        }
        let norm = self.means.iter().map(|mean| mean * mean).sum::<f64>().sqrt();
        let (stddev, provenance) = (norm * stddev, provenance.clone());
        let values = self.summed(domain, clique, values);
        Some(Measurement { clique: rest, cell: None, values, stddev, provenance })
    }

    /// A table summed over the bins, each with its mean weight. `clique`: with the weight's attribute.
    fn summed(&self, domain: &Domain, clique: &Clique, values: &[f64]) -> Vec<f64> {
        let bins = self.means.len();
        let after = clique.iter().filter(|at| *at > self.attribute);
        let stride: usize = after.map(|at| domain.cardinality(at)).product();
        let mut weighted = Vec::with_capacity(values.len() / bins);
        for block in values.chunks_exact(stride * bins) {
            let terms = |at: usize| {
                let counts = block.iter().skip(at).step_by(stride);
                self.means.iter().zip(counts).map(|(mean, count)| mean * count).sum::<f64>()
            };
            weighted.extend((0..stride).map(terms));
        }
        weighted
    }

    /// What was measured of the sample as measured of the population ([`weighted`](Self::weighted)).
    ///
    /// A weighted residual is `R^w_s = w̄ R_s + Σ_b (m_b − m̄) R_{s∪w}(·, b)`, with w̄ the mean of the means m of the bins b: its parts
    /// have independent noise.
    pub fn measured(&self, domain: &Domain, sample: &Measured) -> Measured {
        let own = Clique::new([self.attribute]);
        let marginals = sample.marginals.iter().filter_map(|m| self.weighted(domain, m));
        let bins = self.means.len() as f64;
        let mean = self.means.iter().sum::<f64>() / bins;
        let spread: f64 = self.means.iter().map(|own| (own - mean).powi(2)).sum();
        let residual = |(clique, crossed): (&Clique, &MeasuredResidual)| {
            let rest = clique.difference(&own);
            if rest.len() == clique.len() {
                return None;
            }
            let (alone, variance) = match (sample.records, sample.residuals.get(&rest)) {
                (_, Some(found)) => (found.values.clone(), found.stddev.powi(2)),
                (Some(records), None) if rest.is_empty() => (vec![records], 0.0),
                _ => return None,
            };
            // A residual is centered, so that it does not matter whether the weights are.
            let mut values = self.summed(domain, clique, &crossed.values);
            values.iter_mut().zip(alone).for_each(|(sum, own)| *sum += mean * own);
            let variance = mean * mean * variance + spread * crossed.stddev.powi(2);
            Some((rest, MeasuredResidual { values, stddev: variance.sqrt() }))
        };
        Measured {
            records: None,
            marginals: marginals.collect(),
            residuals: sample.residuals.iter().filter_map(residual).collect(),
            cells: Vec::new(),
            is_laplace: sample.is_laplace,
        }
    }

    /// The weight of a schema whose attribute `name` counts it in bins ([`Schema::with_weight`]).
    ///
    /// # Errors
    /// No such attribute, one that is no number, or a bin whose mean is below 0.
    pub fn of(schema: &Schema, name: &str) -> Result<Self> {
        let domain = schema.domain();
        let place = "the survey weight";
        let attribute = domain.position(name).ok_or_else(|| domain.unknown(name, place))?;
        let column = schema.column(name).and_then(|column| column.kind.as_ref().zip(Some(column)));
        let wrong = |found: String, expected: &str| {
            Error::invalid_specification(format!("{place}, column '{name}'"), found, expected)
        };
        let Some((Kind::Numeric(bins), column)) = column else {
            return Err(wrong("no numbers".into(), "the kind 'numeric'"));
        };
        if column.na {
            return Err(wrong("missing values".into(), "a weight for each record"));
        }
        let means: Vec<f64> = (0..bins.count()).map(|bin| bin_mean(bins, bin)).collect();
        if let Some(low) = means.iter().find(|mean| **mean < 0.0) {
            return Err(wrong(format!("a mean weight of {low} in a bin"), "weights of at least 0"));
        }
        let largest = means.iter().copied().fold(0.0, f64::max);
        if largest <= 0.0 {
            return Err(wrong("bins of weight 0 alone".into(), "a weight above 0"));
        }
        // No noise can leave a population of nobody.
        let means = means.into_iter().map(|mean| mean.max(LEAST * largest)).collect();
        Ok(Self { attribute, means })
    }
}

#[cfg(test)]
mod tests;
