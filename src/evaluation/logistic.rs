//! Logistic regression on single attributes by Newton's method: deterministic, without tuning parameters.

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::linalg::Cholesky;

/// Most parameters, so that their square is held in 128 MiB.
const MOST_PARAMETERS: usize = 4096;

/// Most Newton steps. If a single value separates the tables, its coefficient grows by about one per step.
const MOST_STEPS: usize = 30;

/// Records as indicators: an intercept, and one parameter for each value of an attribute except its most frequent one.
pub(super) struct Design {
    parameters: usize,
    attributes: usize,
    /// The parameters of a record's values, attribute by attribute; 0, the intercept's place, for the most frequent.
    active: Vec<u32>,
    /// Records of the first and of both tables.
    first: usize,
    records: usize,
}

impl Design {
    /// The records of two tables over one domain, the first one's before the second one's.
    pub(super) fn new(first: &Dataset, second: &Dataset) -> Result<Self> {
        let attributes = first.domain().len();
        let records = first.records() + second.records();
        let mut active = vec![0; records * attributes];
        let mut parameters = 1;
        for (attribute, (a, b)) in first.columns().iter().zip(second.columns()).enumerate() {
            let mut counts = vec![0_u32; first.domain().cardinality(attribute)];
            a.iter().chain(b.iter()).for_each(|code| counts[code as usize] += 1);
            let reference = (0..counts.len()).rev().max_by_key(|code| counts[*code]).unwrap_or(0);
            let mut places = vec![0_u32; counts.len()];
            for (code, place) in places.iter_mut().enumerate() {
                if code != reference && counts[code] > 0 {
                    *place = u32::try_from(parameters).unwrap_or(u32::MAX);
                    parameters += 1;
                }
            }
            let codes = a.iter().chain(b.iter());
            for (place, code) in active.iter_mut().skip(attribute).step_by(attributes).zip(codes) {
                *place = places[code as usize];
            }
        }
        if parameters > MOST_PARAMETERS {
            return Err(Error::too_large(
                "the logistic regression of the propensity score",
                Some(parameters as f64),
                MOST_PARAMETERS as f64,
                "parameters",
            ));
        }
        Ok(Self { parameters, attributes, active, first: first.records(), records })
    }

    fn rows(&self) -> impl Iterator<Item = &[u32]> {
        self.active.chunks_exact(self.attributes)
    }

    /// 1 for a record of the second table, else 0.
    fn label(&self, record: usize) -> f64 {
        f64::from(u8::from(record >= self.first))
    }
}

/// A fitted regression.
pub(super) struct Fit {
    /// For each record, the probability that it is of the second table.
    pub(super) probabilities: Vec<f64>,
    /// Parameters that do not follow from others, the intercept included.
    pub(super) rank: usize,
}

/// Maximum likelihood of `P(second table | x) = 1 / (1 + exp(−β·x))`.
pub(super) fn fit(design: &Design) -> Fit {
    let mut beta = vec![0.0; design.parameters];
    let share = 1.0 - design.first as f64 / design.records as f64;
    beta[0] = (share / (1.0 - share)).ln();
    let (mut probabilities, mut deviance) = predict(design, &beta);
    let mut rank = 0;
    for round in 0..MOST_STEPS {
        let (mut step, hessian) = derivatives(design, &probabilities);
        let factor = Cholesky::new(&hessian, design.parameters);
        if round == 0 {
            rank = factor.rank;
        }
        factor.solve(&mut step);
        // The likelihood is concave, so halving the step ends, at the latest at rounding.
        let mut scale = 1.0;
        let (next, better) = loop {
            let tried: Vec<f64> = beta.iter().zip(&step).map(|(b, s)| b + scale * s).collect();
            let (p, found) = predict(design, &tried);
            if found <= deviance || scale < 1e-6 {
                break (tried, (p, found));
            }
            scale /= 2.0;
        };
        let gain = deviance - better.1;
        if gain >= 0.0 {
            beta = next;
            (probabilities, deviance) = better;
        }
        if gain <= 1e-10 * (deviance.abs() + 0.1) {
            break;
        }
    }
    Fit { probabilities, rank }
}

/// The probabilities, and `−2 log likelihood`.
fn predict(design: &Design, beta: &[f64]) -> (Vec<f64>, f64) {
    let mut deviance = 0.0;
    let mut probability = |(record, row): (usize, &[u32])| {
        let values = row.iter().filter(|place| **place > 0).map(|place| beta[*place as usize]);
        let eta = beta[0] + values.sum::<f64>();
        // log(1 + exp(eta)) without overflow.
        deviance += 2.0 * (eta.max(0.0) + (-eta.abs()).exp().ln_1p() - design.label(record) * eta);
        1.0 / (1.0 + (-eta).exp())
    };
    let probabilities = design.rows().enumerate().map(&mut probability).collect();
    (probabilities, deviance)
}

/// The gradient of the log likelihood, and the lower triangle of its negative Hessian, row-major.
fn derivatives(design: &Design, probabilities: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let size = design.parameters;
    let (mut gradient, mut hessian) = (vec![0.0; size], vec![0.0; size * size]);
    let mut places = Vec::with_capacity(design.attributes + 1);
    for (record, (row, p)) in design.rows().zip(probabilities).enumerate() {
        // Ascending, as the parameters of an attribute follow those of the attributes before it.
        places.clear();
        places.push(0);
        places.extend(row.iter().filter(|place| **place > 0).map(|place| *place as usize));
        let (residual, weight) = (design.label(record) - p, p * (1.0 - p));
        for (at, i) in places.iter().enumerate() {
            gradient[*i] += residual;
            let line = &mut hessian[i * size..(i + 1) * size];
            places[..=at].iter().for_each(|j| line[*j] += weight);
        }
    }
    (gradient, hessian)
}
