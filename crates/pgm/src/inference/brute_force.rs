//! The definition, evaluated cell by cell over the whole domain: the reference for tests.

use std::sync::Arc;

use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::inference::MarginalOracle;
use crate::table::{CliqueLayout, Marginals, Potentials, strides_within};

/// Sums over every record of the domain. For domains of at most a few million records.
#[derive(Clone, Debug)]
pub(crate) struct BruteForce {
    domain: Domain,
    layout: Arc<CliqueLayout>,
    cells: usize,
}

impl BruteForce {
    /// Most records that are summed over.
    pub(crate) const LIMIT: u64 = 1 << 24;

    /// An oracle for the cliques of a layout.
    ///
    /// # Errors
    /// A domain of more than [`BruteForce::LIMIT`] records.
    pub(crate) fn new(domain: &Domain, layout: &Arc<CliqueLayout>) -> Result<Self> {
        let cells = domain
            .cells(&domain.everything())
            .filter(|cells| *cells <= Self::LIMIT)
            .and_then(|cells| usize::try_from(cells).ok())
            .ok_or_else(|| {
                Error::too_large(
                    "a sum over the whole domain",
                    Some(10_f64.powf(domain.log10_cells())),
                    Self::LIMIT as f64,
                    "records",
                )
            })?;
        Ok(Self { domain: domain.clone(), layout: Arc::clone(layout), cells })
    }
}

impl MarginalOracle for BruteForce {
    type Workspace = Vec<f64>;

    fn workspace(&self) -> Vec<f64> {
        vec![0.0; self.cells]
    }

    fn marginals(
        &self,
        theta: &Potentials,
        total: f64,
        joint: &mut Vec<f64>,
        mu: &mut Marginals,
    ) -> Result<f64> {
        let all = self.domain.everything();
        let shape = self.domain.shape(&all);
        let strides: Vec<Vec<usize>> = self
            .layout
            .cliques()
            .iter()
            .map(|c| strides_within(all.attributes(), c, &self.domain.shape(c)))
            .collect();
        let cell_of = |record: usize, strides: &[usize]| {
            let mut rest = record;
            let mut cell = 0;
            for (k, stride) in shape.iter().zip(strides).rev() {
                cell += rest % k * stride;
                rest /= k;
            }
            cell
        };
        let place = strides_within(all.attributes(), &all, &shape);
        for (record, log) in joint.iter_mut().enumerate() {
            let code = |a: usize| u32::try_from(record / place[a] % shape[a]).unwrap_or(u32::MAX);
            if self.domain.fitted_zeros().any(|zero| zero.forbids(&self.domain, code)) {
                *log = f64::NEG_INFINITY;
                continue;
            }
            *log = strides
                .iter()
                .enumerate()
                .map(|(i, strides)| theta.table(i)[cell_of(record, strides)])
                .sum();
        }
        let max = joint.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if max == f64::NEG_INFINITY {
            return Err(Error::EmptyModel { reason: "no record is possible".into() });
        }
        let sum: f64 = joint.iter().map(|log| (log - max).exp()).sum();
        mu.values_mut().fill(0.0);
        for (record, log) in joint.iter().enumerate() {
            let count = total * (log - max).exp() / sum;
            for (i, strides) in strides.iter().enumerate() {
                mu.table_mut(i)[cell_of(record, strides)] += count;
            }
        }
        Ok(max + sum.ln())
    }
}
