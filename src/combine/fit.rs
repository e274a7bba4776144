//! The value of a statistic on a table or a marginal, with its variances.

use crate::combine::statistic::{Design, Link, Row};
use crate::data::{Column, Dataset};
use crate::linalg::Cholesky;

/// Most Newton steps. Where a value decides the response, its coefficient grows by about one per step.
const MOST_STEPS: usize = 30;

/// A statistic on one table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fit {
    /// The coefficients; `None` where a term follows from others, or no record counts.
    pub(super) values: Vec<Option<f64>>,
    /// The variance of each coefficient if the records are a random sample from a population: `A⁻¹ (Σ_i ψ_i ψ_iᵀ) A⁻¹` with
    /// `ψ_i` the score of a record and A the negative Hessian (White 1980).
    pub(super) sampling: Vec<f64>,
}

/// Cells whose records count, and their weights.
#[derive(Default)]
pub(super) struct WeightedCells {
    pub(super) rows: Vec<Row>,
    pub(super) weights: Vec<f64>,
}

impl WeightedCells {
    pub(super) fn push(&mut self, row: Option<Row>, weight: f64) {
        if let Some(row) = row {
            self.rows.push(row);
            self.weights.push(weight);
        }
    }
}

impl Design {
    /// The numbers of the statistic on a table over the same domain; `None` for one that is not determined there.
    pub fn values(&self, table: &Dataset) -> Vec<Option<f64>> {
        self.on_records(table).values.split_off(self.reported)
    }

    /// Their variances if the table is a random sample from a population.
    pub fn sampling_variances(&self, table: &Dataset) -> Vec<f64> {
        self.on_records(table).sampling.split_off(self.reported)
    }

    /// The statistic on a table's records.
    pub(super) fn on_records(&self, table: &Dataset) -> Fit {
        self.fit(&self.cells_of(table))
    }

    /// The cells that a table's records are in.
    pub(super) fn cells_of(&self, table: &Dataset) -> WeightedCells {
        let columns: Vec<&Column> = self.clique.iter().filter_map(|a| table.column(a)).collect();
        self.cells_of_columns(&columns, table.records())
    }

    /// The cells of records that have the statistic's attributes only. `columns`: in their order.
    pub(super) fn cells_of_columns(&self, columns: &[&Column], records: usize) -> WeightedCells {
        let code = |record: usize, place: usize| {
            columns.get(place).and_then(|column| column.get(record)).unwrap_or_default()
        };
        let tuple = |record: usize| -> Vec<u32> {
            (0..columns.len()).map(|place| code(record, place)).collect()
        };
        let mut records: Vec<Vec<u32>> = (0..records).map(tuple).collect();
        records.sort_unstable();
        let groups = records.chunk_by(|a, b| a == b);
        let mut cells = WeightedCells::default();
        groups.for_each(|group| cells.push(self.row_of(&group[0]), group.len() as f64));
        cells
    }

    pub(super) fn fit(&self, cells: &WeightedCells) -> Fit {
        let size = self.names.len();
        let nothing = || Fit { values: vec![None; size], sampling: vec![0.0; size] };
        let records: f64 = cells.weights.iter().sum();
        if records <= 0.0 {
            return nothing();
        }
        let mut beta = vec![0.0; size];
        if self.link == Link::Logistic {
            let ones = cells.rows.iter().zip(&cells.weights).map(|((y, _), w)| y * w);
            // With noise, the share may be outside of (0, 1).
            let share = (ones.sum::<f64>() / records).clamp(0.001, 0.999);
            beta[0] = (share / (1.0 - share)).ln();
        }
        let mut deviance = self.deviance(cells, &beta);
        for _ in 0..MOST_STEPS {
            let (mut step, hessian) = self.derivatives(cells, &beta);
            Cholesky::new(&hessian, size).solve(&mut step);
            let moved = |scale: f64| -> Vec<f64> {
                beta.iter().zip(&step).map(|(b, s)| b + scale * s).collect()
            };
            // The likelihood of counts is concave, so halving the step ends, at the latest at rounding. With noisy counts
            // below 0 it may not be.
            let mut scale = 1.0;
            while scale > 1e-6 && self.deviance(cells, &moved(scale)) > deviance {
                scale /= 2.0;
            }
            beta = moved(scale);
            let gain = deviance - self.deviance(cells, &beta);
            deviance -= gain;
            if self.link == Link::Identity || gain <= 1e-12 * (deviance.abs() + 0.1) {
                break;
            }
        }
        if beta.iter().any(|b| !b.is_finite()) || !self.is_stationary(cells, &beta) {
            return nothing();
        }
        self.with_variances(cells, &beta)
    }

    /// Whether a Newton step would not change the likelihood: the coefficients are its maximum.
    fn is_stationary(&self, cells: &WeightedCells, beta: &[f64]) -> bool {
        const CLOSE: f64 = 1e-4;
        let (gradient, hessian) = self.derivatives(cells, beta);
        let mut step = gradient.clone();
        Cholesky::new(&hessian, beta.len()).solve(&mut step);
        let decrement: f64 = step.iter().zip(&gradient).map(|(s, g)| s * g).sum();
        self.link == Link::Identity || decrement.abs() < CLOSE
    }

    /// The residual of a cell, and the derivative of its mean.
    pub(super) fn residual(&self, row: &Row, beta: &[f64]) -> (f64, f64) {
        let eta: f64 = row.1.iter().zip(beta).map(|(x, b)| x * b).sum();
        match self.link {
            Link::Identity => (row.0 - eta, 1.0),
            Link::Logistic => {
                let p = 1.0 / (1.0 + (-eta).exp());
                (row.0 - p, p * (1.0 - p))
            }
        }
    }

    /// `−2 log likelihood`, or the sum of squares.
    fn deviance(&self, cells: &WeightedCells, beta: &[f64]) -> f64 {
        let of_cell = |row: &Row| match self.link {
            Link::Identity => self.residual(row, beta).0.powi(2),
            Link::Logistic => {
                let eta: f64 = row.1.iter().zip(beta).map(|(x, b)| x * b).sum();
                // log(1 + exp(eta)) without overflow.
                2.0 * (eta.max(0.0) + (-eta.abs()).exp().ln_1p() - row.0 * eta)
            }
        };
        cells.rows.iter().zip(&cells.weights).map(|(row, w)| w * of_cell(row)).sum()
    }

    /// The gradient of the log likelihood, and the lower triangle of its negative Hessian, row-major.
    fn derivatives(&self, cells: &WeightedCells, beta: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let size = beta.len();
        let (mut gradient, mut hessian) = (vec![0.0; size], vec![0.0; size * size]);
        for (row, weight) in cells.rows.iter().zip(&cells.weights) {
            let (residual, slope) = self.residual(row, beta);
            for (i, x) in row.1.iter().enumerate().filter(|(_, x)| **x != 0.0) {
                gradient[i] += weight * residual * x;
                let line = &mut hessian[i * size..=i * size + i];
                line.iter_mut().zip(&row.1).for_each(|(h, z)| *h += weight * slope * x * z);
            }
        }
        (gradient, hessian)
    }

    /// The rows of `A⁻¹`; `None` for a coefficient that is not determined.
    pub(super) fn inverses(&self, cells: &WeightedCells, beta: &[f64]) -> Vec<Option<Vec<f64>>> {
        let size = beta.len();
        let factor = Cholesky::new(&self.derivatives(cells, beta).1, size);
        let row = |place: usize| {
            let mut inverse = vec![0.0; size];
            inverse[place] = 1.0;
            factor.solve(&mut inverse);
            factor.kept[place].then_some(inverse)
        };
        (0..size).map(row).collect()
    }

    fn with_variances(&self, cells: &WeightedCells, beta: &[f64]) -> Fit {
        let inverses = self.inverses(cells, beta);
        let values = beta.iter().zip(&inverses).map(|(b, inverse)| inverse.as_ref().map(|_| *b));
        let values = values.collect();
        let sampling = inverses.iter().map(|inverse| {
            let of_cell = |(row, weight): (&Row, &f64)| {
                let moved = inverse.iter().flatten().zip(&row.1).map(|(u, x)| u * x);
                weight * (moved.sum::<f64>() * self.residual(row, beta).0).powi(2)
            };
            cells.rows.iter().zip(&cells.weights).map(of_cell).sum()
        });
        Fit { values, sampling: sampling.collect() }
    }
}

#[cfg(test)]
mod tests;
