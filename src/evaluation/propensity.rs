//! The propensity score's mean squared error: how well a record's values predict its table.

use serde::Serialize;

use crate::data::{Dataset, Projectable};
use crate::error::{Error, Result};
use crate::evaluation::logistic::{Coding, fit};

/// The propensity score's mean squared error (pMSE) of a synthetic table with N₂ records and a real table with N₁.
/// **Not private.**
///
/// `pMSE = (1/N) Σ_i (p̂_i − c)²` over all N = N₁ + N₂ records, where c = N₂/N and p̂ is the fitted probability that a
/// record is synthetic (Woo et al. 2009; Snoke et al. 2018, section 2): from 0, when the tables are indistinguishable,
/// to c (1 − c), when every record is recognized.
///
/// The fit is a logistic regression on the single attributes, each value an indicator. Its expectation for synthetic
/// records drawn from the real table itself is `(k − 1) (1 − c)² c / N` with k the number of parameters that do not
/// follow from others (Snoke et al. 2018, Theorem 1), so the ratio to it is near 1 for such records. Dependences
/// between attributes are ignored: the measure covers single attributes together. (SDNist fits a tree of depth five
/// instead, for which no such expectation is known.)
///
/// ```
/// use jointly::{data::Dataset, domain::Domain, evaluation::PropensityScore};
/// let domain = Domain::new([("a", 2)])?;
/// let real = Dataset::from_rows(domain.clone(), &[[0], [0], [0], [1]])?;
/// let synthetic = Dataset::from_rows(domain, &[[0], [1], [1], [1]])?;
/// let score = PropensityScore::between(&real, &synthetic)?;
/// // The fitted probabilities are 1/4 and 3/4; the expectation is 1/64.
/// assert!((score.pmse - 1.0 / 16.0).abs() < 1e-9 && (score.ratio - 4.0).abs() < 1e-7);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PropensityScore {
    /// The pMSE, from 0 to c (1 − c).
    pub pmse: f64,
    /// Its expectation for records drawn from the real table.
    pub expected: f64,
    /// `pmse / expected`; 0 if no attribute varies.
    pub ratio: f64,
    /// k, the intercept included.
    pub parameters: usize,
}

impl PropensityScore {
    /// Fits the regression. Work is cubic and memory quadratic in the number of values of all attributes together.
    ///
    /// # Errors
    /// Tables over different domains, a table without records, or more than 4,096 parameters.
    pub fn between(real: &Dataset, synthetic: &Dataset) -> Result<Self> {
        Projectable::domain(real).check_same(synthetic.domain(), "the synthetic table")?;
        if real.records() == 0 || synthetic.records() == 0 {
            return Err(Error::invalid_specification("table", "no record", "at least one"));
        }
        let (tables, attributes) = ([real, synthetic], (0..real.domain().len()).collect());
        let coding =
            Coding::new(&tables, attributes, "the logistic regression of the propensity score")?;
        let labels: Vec<bool> =
            (0..real.records() + synthetic.records()).map(|i| i >= real.records()).collect();
        let fitted = fit(&coding.design(&tables), &labels);
        let n = (real.records() + synthetic.records()) as f64;
        let c = synthetic.records() as f64 / n;
        let pmse = fitted.probabilities.iter().map(|p| (p - c) * (p - c)).sum::<f64>() / n;
        let expected = (fitted.rank.saturating_sub(1)) as f64 * (1.0 - c) * (1.0 - c) * c / n;
        let ratio = if expected > 0.0 { pmse / expected } else { 0.0 };
        Ok(Self { pmse, expected, ratio, parameters: fitted.rank })
    }
}

#[cfg(test)]
mod tests;
