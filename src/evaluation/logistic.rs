//! Logistic regression on single attributes by Newton's method: deterministic, without tuning parameters.

use crate::data::{Column, Dataset};
use crate::error::{Error, Result};
use crate::linalg::Cholesky;

/// Most parameters, so that their square is held in 128 MiB.
const MOST_PARAMETERS: usize = 4096;

/// Most Newton steps. If a single value separates the tables, its coefficient grows by about one per step.
const MOST_STEPS: usize = 30;

/// Which indicators a record has: an intercept, and one for each value of an attribute except its most frequent one.
pub(super) struct Coding {
    attributes: Vec<usize>,
    /// The parameter of each value, attribute by attribute; 0, the intercept's place, for the most frequent and for those that
    /// no record has.
    places: Vec<Vec<u32>>,
    parameters: usize,
}

impl Coding {
    /// Of the values that these tables over one domain have. `what`: the regression, for the error.
    pub(super) fn new(tables: &[&Dataset], attributes: Vec<usize>, what: &str) -> Result<Self> {
        let mut places = Vec::with_capacity(attributes.len());
        let mut parameters = 1;
        for attribute in &attributes {
            let cells = tables.first().map_or(0, |table| table.domain().cardinality(*attribute));
            let mut counts = vec![0_u32; cells];
            let columns = tables.iter().filter_map(|table| table.column(*attribute));
            columns.flat_map(Column::iter).for_each(|code| counts[code as usize] += 1);
            let reference = (0..cells).rev().max_by_key(|code| counts[*code]).unwrap_or(0);
            let place = |(code, count): (usize, &u32)| {
                if code == reference || *count == 0 {
                    return 0;
                }
                parameters += 1;
                u32::try_from(parameters - 1).unwrap_or(u32::MAX)
            };
            places.push(counts.iter().enumerate().map(place).collect::<Vec<u32>>());
        }
        if parameters > MOST_PARAMETERS {
            let (found, most) = (Some(parameters as f64), MOST_PARAMETERS as f64);
            return Err(Error::too_large(what, found, most, "parameters"));
        }
        Ok(Self { attributes, places, parameters })
    }

    /// The records of these tables, one table after the other.
    pub(super) fn design(&self, tables: &[&Dataset]) -> Design {
        let attributes = self.attributes.len();
        let records = tables.iter().map(|table| table.records()).sum();
        let mut active = vec![0; records * attributes];
        for (at, (attribute, places)) in self.attributes.iter().zip(&self.places).enumerate() {
            let columns = tables.iter().filter_map(|table| table.column(*attribute));
            let codes = columns.flat_map(Column::iter);
            for (place, code) in active.iter_mut().skip(at).step_by(attributes).zip(codes) {
                *place = places[code as usize];
            }
        }
        Design { parameters: self.parameters, attributes, active, records }
    }
}

/// Records as indicators.
pub(super) struct Design {
    parameters: usize,
    attributes: usize,
    /// The parameters of a record's values, attribute by attribute.
    active: Vec<u32>,
    records: usize,
}

impl Design {
    fn rows(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.records).map(|i| &self.active[i * self.attributes..(i + 1) * self.attributes])
    }

    /// `β·x` of every record.
    pub(super) fn scores(&self, beta: &[f64]) -> impl Iterator<Item = f64> {
        self.rows().map(|row| {
            let values = row.iter().filter(|place| **place > 0).map(|place| beta[*place as usize]);
            beta[0] + values.sum::<f64>()
        })
    }
}

/// A fitted regression.
pub(super) struct Fit {
    /// β, the intercept first.
    pub(super) coefficients: Vec<f64>,
    /// For each record, the probability of its label being true.
    pub(super) probabilities: Vec<f64>,
    /// Parameters that do not follow from others, the intercept included.
    pub(super) rank: usize,
}

/// Maximum likelihood of `P(label | x) = 1 / (1 + exp(−β·x))`. `labels`: of every record; both must occur.
pub(super) fn fit(design: &Design, labels: &[bool]) -> Fit {
    let mut beta = vec![0.0; design.parameters];
    let share = labels.iter().filter(|label| **label).count() as f64 / design.records as f64;
    beta[0] = (share / (1.0 - share)).ln();
    let (mut probabilities, mut deviance) = predict(design, labels, &beta);
    let mut rank = 0;
    for round in 0..MOST_STEPS {
        let (mut step, hessian) = derivatives(design, labels, &probabilities);
        let factor = Cholesky::new(&hessian, design.parameters);
        if round == 0 {
            rank = factor.rank;
        }
        factor.solve(&mut step);
        // The likelihood is concave, so halving the step ends, at the latest at rounding.
        let mut scale = 1.0;
        let (next, better) = loop {
            let tried: Vec<f64> = beta.iter().zip(&step).map(|(b, s)| b + scale * s).collect();
            let (p, found) = predict(design, labels, &tried);
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
    Fit { coefficients: beta, probabilities, rank }
}

/// The probabilities, and `−2 log likelihood`.
fn predict(design: &Design, labels: &[bool], beta: &[f64]) -> (Vec<f64>, f64) {
    let mut deviance = 0.0;
    let probability = |(eta, label): (f64, &bool)| {
        // log(1 + exp(eta)) without overflow.
        let of_label = if *label { eta } else { 0.0 };
        deviance += 2.0 * (eta.max(0.0) + (-eta.abs()).exp().ln_1p() - of_label);
        1.0 / (1.0 + (-eta).exp())
    };
    let probabilities = design.scores(beta).zip(labels).map(probability).collect();
    (probabilities, deviance)
}

/// The gradient of the log likelihood, and the lower triangle of its negative Hessian, row-major.
fn derivatives(design: &Design, labels: &[bool], probabilities: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let size = design.parameters;
    let (mut gradient, mut hessian) = (vec![0.0; size], vec![0.0; size * size]);
    let mut places = Vec::with_capacity(design.attributes + 1);
    for ((row, label), p) in design.rows().zip(labels).zip(probabilities) {
        // Ascending, as the parameters of an attribute follow those of the attributes before it.
        places.clear();
        places.push(0);
        places.extend(row.iter().filter(|place| **place > 0).map(|place| *place as usize));
        let (residual, weight) = (f64::from(u8::from(*label)) - p, p * (1.0 - p));
        for (at, i) in places.iter().enumerate() {
            gradient[*i] += residual;
            let line = &mut hessian[i * size..(i + 1) * size];
            places[..=at].iter().for_each(|j| line[*j] += weight);
        }
    }
    (gradient, hessian)
}
