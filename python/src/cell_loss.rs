//! Squared loss with a weight for each cell: what other libraries' weighted and partial queries of a marginal say.

use std::ops::Range;
use std::sync::Arc;

use jointly::domain::Domain;
use jointly::estimation::{MarginalLoss, Misfit};
use jointly::measurement::Measurement;
use jointly::table::CliqueLayout;

/// `L(μ) = ½ Σ_c p_c (μ_c - y_c)²` over the cells c of all measured cliques, with precisions `p_c = 1/σ_c²`. Measurements
/// of the same cell are averaged first, which changes the loss by a constant that is kept.
pub(crate) struct CellLoss {
    layout: Arc<CliqueLayout>,
    targets: Vec<f64>,
    precisions: Vec<f64>,
    constant: f64,
    /// For each clique, the number of measured cells.
    measured: Vec<f64>,
}

impl CellLoss {
    /// The loss of measurements of whole marginals, with the precision of each cell; 0 for a cell that was not measured.
    pub(crate) fn new(
        domain: &Domain,
        measurements: &[Measurement],
        given: &[Vec<f64>],
    ) -> jointly::Result<Self> {
        let layout = CliqueLayout::new(domain, measurements.iter().map(|m| m.clique.clone()))?;
        let mut targets = vec![0.0; layout.cells()];
        let mut precisions = vec![0.0; layout.cells()];
        let mut squares = 0.0;
        for (measurement, own) in measurements.iter().zip(given) {
            let range = layout.range(layout.position(&measurement.clique).unwrap_or(0));
            let sums = targets[range.clone()].iter_mut().zip(&mut precisions[range]);
            for ((target, precision), (y, p)) in sums.zip(measurement.values.iter().zip(own)) {
                *target += p * y;
                *precision += p;
                squares += p * y * y;
            }
        }
        let mut averaged = 0.0;
        for (target, precision) in targets.iter_mut().zip(&precisions) {
            if *precision > 0.0 {
                *target /= precision;
                averaged += precision * *target * *target;
            }
        }
        let count =
            |range: Range<usize>| precisions[range].iter().filter(|p| **p > 0.0).count() as f64;
        let measured =
            (0..layout.cliques().len()).map(|index| count(layout.range(index))).collect();
        let constant = 0.5 * (squares - averaged);
        Ok(Self { layout, targets, precisions, constant, measured })
    }

    /// The largest precision of each clique.
    fn largest(&self) -> impl Iterator<Item = f64> {
        let ranges = (0..self.measured.len()).map(|index| self.layout.range(index));
        ranges.map(|range| self.precisions[range].iter().copied().fold(0.0, f64::max))
    }
}

impl MarginalLoss for CellLoss {
    fn layout(&self) -> &Arc<CliqueLayout> {
        &self.layout
    }

    /// At the true marginals a clique with K measured cells has a share of K/2 with standard deviation `√(K/2)`.
    fn misfit(&self, mu: &[f64]) -> Misfit {
        let mut misfit = Misfit { value: self.constant, excess: 0.0 };
        for (index, measured) in self.measured.iter().enumerate() {
            let range = self.layout.range(index);
            let cells = mu[range.clone()].iter().zip(&self.targets[range.clone()]);
            let cells = cells.zip(&self.precisions[range]);
            let share = 0.5 * cells.map(|((m, y), p)| p * (m - y) * (m - y)).sum::<f64>();
            misfit.value += share;
            let above = share - 0.5 * measured;
            if above > 0.0 {
                misfit.excess = misfit.excess.max(above / (0.5 * measured).sqrt());
            }
        }
        misfit
    }

    fn gradient(&self, mu: &[f64], gradient: &mut [f64]) {
        let cells = mu.iter().zip(&self.targets).zip(&self.precisions);
        cells.zip(gradient).for_each(|(((m, y), p), g)| *g = p * (m - y));
    }

    fn smoothness(&self) -> f64 {
        self.largest().sum()
    }

    fn largest_weight(&self) -> f64 {
        self.largest().fold(0.0, f64::max)
    }

    fn noise(&self) -> f64 {
        (0.5 * self.measured.iter().sum::<f64>()).sqrt()
    }

    fn floor(&self) -> f64 {
        self.constant
    }
}
