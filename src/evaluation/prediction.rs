//! A classifier that is trained on synthetic records and tested on real ones.

use serde::Serialize;

use crate::data::{Column, Dataset, Projectable};
use crate::error::{Error, Result};
use crate::evaluation::logistic::{Coding, Design, fit};

/// How well a classifier that was trained on synthetic records predicts one attribute of real records from all others.
/// **Not private.**
///
/// For each value of the attribute, a logistic regression on the values of all other attributes tells it from the rest; the
/// value with the largest probability is predicted. *Trained on real records* is what to compare with: the real records are
/// split in two, every second one, and each half is predicted by a classifier that was trained on the other. That one has half
/// as many records to learn from.
///
/// ```
/// use jointly::{data::Dataset, domain::Domain, evaluation::Prediction};
/// let domain = Domain::new([("a", 2), ("b", 2)])?;
/// let real = Dataset::from_rows(domain.clone(), &[[0, 0], [0, 0], [1, 1], [1, 1], [0, 1], [0, 1]])?;
/// let turned = Dataset::from_rows(domain, &[[0, 1], [0, 1], [0, 1], [1, 0], [1, 0], [1, 0]])?;
/// // A table that says the contrary is worse than guessing.
/// let found = Prediction::between(&real, &turned, 1)?;
/// assert!(found.synthetic.area < 0.5 && found.real.area > 0.5);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The attribute that is predicted.
    pub attribute: String,
    /// Trained on the synthetic records.
    pub synthetic: Predicted,
    /// Trained on the other half of the real records.
    pub real: Predicted,
    /// The share of its most frequent value in the real table: right as often as a guess.
    pub most_frequent: f64,
}

/// How well a classifier predicts real records.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// The share of real records whose value it predicts, from 0 to 1.
    pub right: f64,
    /// The area under the receiver operating characteristic: the probability that of two records it gives the higher one to
    /// that with the value, ties a half; 1 is perfect, 0.5 a guess. Mean over the values that some real records have and
    /// others do not. With no such value, 0.5.
    pub area: f64,
}

impl Prediction {
    /// Trains and tests. For each value of the attribute, work is cubic and memory quadratic in the number of values of all
    /// others together.
    ///
    /// `attribute`: the position of the one to predict.
    ///
    /// # Errors
    /// Tables over different domains, fewer than two real records or no synthetic one, an attribute that they do not have, or
    /// more than 4,096 parameters.
    pub fn between(real: &Dataset, synthetic: &Dataset, attribute: usize) -> Result<Self> {
        let domain = Projectable::domain(real);
        domain.check_same(synthetic.domain(), "the synthetic table")?;
        let Some(name) = domain.attributes().get(attribute).map(|found| found.name.clone()) else {
            return Err(Error::invalid_parameter("attribute", attribute, "one of the domain"));
        };
        if real.records() < 2 || synthetic.records() == 0 {
            let expected = "two real records and a synthetic one";
            return Err(Error::invalid_specification("table", "fewer records", expected));
        }
        let half = |parity: usize| {
            let positions = (0..).zip(0..real.records()).filter(|(_, i)| i % 2 == parity);
            real.take(&positions.map(|(at, _)| at).collect::<Vec<u32>>())
        };
        let trained_on = |trained, tested| -> Result<Predicted> {
            Ok(Classifier::train(trained, attribute)?.test(tested, attribute))
        };
        let (even, odd) = (half(0), half(1));
        let halves = [trained_on(&odd, &even)?, trained_on(&even, &odd)?];
        let share = even.records() as f64 / real.records() as f64;
        let mean =
            |of: fn(&Predicted) -> f64| share * of(&halves[0]) + (1.0 - share) * of(&halves[1]);
        let most = counts(real, attribute).into_iter().max().unwrap_or(0);
        Ok(Self {
            attribute: name,
            synthetic: trained_on(synthetic, real)?,
            real: Predicted { right: mean(|found| found.right), area: mean(|found| found.area) },
            most_frequent: most as f64 / real.records() as f64,
        })
    }
}

/// One regression for each value that the training records have.
struct Classifier {
    coding: Coding,
    of_values: Vec<OfValue>,
}

/// What says how probable a value is.
enum OfValue {
    /// No training record has it.
    Never,
    /// All have it.
    Always,
    /// The coefficients.
    Sometimes(Vec<f64>),
}

impl Classifier {
    fn train(records: &Dataset, attribute: usize) -> Result<Self> {
        let others = (0..records.domain().len()).filter(|other| *other != attribute).collect();
        let coding = Coding::new(&[records], others, "the classifier")?;
        let design = coding.design(&[records]);
        let of_value = |(value, count): (usize, usize)| {
            if count == 0 {
                OfValue::Never
            } else if count == records.records() {
                OfValue::Always
            } else {
                OfValue::Sometimes(fit(&design, &labels(records, attribute, value)).coefficients)
            }
        };
        let of_values = counts(records, attribute).into_iter().enumerate().map(of_value).collect();
        Ok(Self { coding, of_values })
    }

    fn test(&self, records: &Dataset, attribute: usize) -> Predicted {
        let design = self.coding.design(&[records]);
        let mut best = vec![(f64::NEG_INFINITY, 0); records.records()];
        let mut areas = Vec::new();
        for (value, of_value) in self.of_values.iter().enumerate() {
            let scores = of_value.scores(&design, records.records());
            for (best, score) in best.iter_mut().zip(&scores) {
                if *score > best.0 {
                    *best = (*score, value);
                }
            }
            areas.extend(area(&scores, &labels(records, attribute, value)));
        }
        let codes = records.column(attribute).into_iter().flat_map(Column::iter);
        let right = best.iter().zip(codes).filter(|((_, value), code)| *value == *code as usize);
        let area =
            if areas.is_empty() { 0.5 } else { areas.iter().sum::<f64>() / areas.len() as f64 };
        Predicted { right: right.count() as f64 / records.records() as f64, area }
    }
}

impl OfValue {
    /// The log odds of every record.
    fn scores(&self, design: &Design, records: usize) -> Vec<f64> {
        match self {
            Self::Never => vec![f64::MIN; records],
            Self::Always => vec![f64::MAX; records],
            Self::Sometimes(beta) => design.scores(beta).collect(),
        }
    }
}

/// How often each value occurs.
fn counts(records: &Dataset, attribute: usize) -> Vec<usize> {
    let mut counts = vec![0; records.domain().cardinality(attribute)];
    let codes = records.column(attribute).into_iter().flat_map(Column::iter);
    codes.for_each(|code| counts[code as usize] += 1);
    counts
}

/// Whether each record has a value.
fn labels(records: &Dataset, attribute: usize, value: usize) -> Vec<bool> {
    let codes = records.column(attribute).into_iter().flat_map(Column::iter);
    codes.map(|code| code as usize == value).collect()
}

/// The share of pairs of a record with the label and one without in which the first has the higher score, ties a half;
/// `None` without such pairs. (Mann & Whitney 1947.)
fn area(scores: &[f64], labels: &[bool]) -> Option<f64> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_unstable_by(|a, b| scores[*a].total_cmp(&scores[*b]));
    let (mut below, mut won) = (0.0, 0.0);
    for tied in order.chunk_by(|a, b| scores[*a].total_cmp(&scores[*b]).is_eq()) {
        let with = tied.iter().filter(|i| labels[**i]).count() as f64;
        let without = tied.len() as f64 - with;
        won += with * (below + 0.5 * without);
        below += without;
    }
    let with = labels.len() as f64 - below;
    (with > 0.0 && below > 0.0).then(|| won / (with * below))
}

#[cfg(test)]
mod tests;
