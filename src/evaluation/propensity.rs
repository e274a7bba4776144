//! The propensity score's mean squared error: how well a record's values predict its table.

use serde::Serialize;

use crate::data::{Dataset, Projectable};
use crate::error::{Error, Result};
use crate::evaluation::logistic::{Design, fit};

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
        let fitted = fit(&Design::new(real, synthetic)?);
        let n = (real.records() + synthetic.records()) as f64;
        let c = synthetic.records() as f64 / n;
        let pmse = fitted.probabilities.iter().map(|p| (p - c) * (p - c)).sum::<f64>() / n;
        let expected = (fitted.rank.saturating_sub(1)) as f64 * (1.0 - c) * (1.0 - c) * c / n;
        let ratio = if expected > 0.0 { pmse / expected } else { 0.0 };
        Ok(Self { pmse, expected, ratio, parameters: fitted.rank })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Domain;
    use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-7, "{found}, expected {expected}");
    }

    fn table(rows: &[[u32; 2]]) -> Dataset {
        Dataset::from_rows(Domain::new([("a", 3), ("b", 4)]).unwrap(), rows).unwrap()
    }

    #[test]
    fn equal_tables_cannot_be_told_apart_and_disjoint_ones_fully() {
        let (real, fake) = (table(&[[0, 1], [1, 2], [1, 0]]), table(&[[2, 3]]));
        let same = PropensityScore::between(&real, &real).unwrap();
        close(same.pmse, 0.0);
        // c = 1/4: the maximum.
        let apart = PropensityScore::between(&real, &fake).unwrap();
        close(apart.pmse, 3.0 / 16.0);
    }

    #[test]
    fn tables_of_different_sizes_have_the_value_computed_by_hand() {
        // Value 0: 6 real, 2 synthetic; value 1: 2 real, 2 synthetic: probabilities 1/4 and 1/2, c = 1/3.
        let rows = |zeros, ones| [vec![[0, 0]; zeros], vec![[1, 0]; ones]].concat();
        let score = PropensityScore::between(&table(&rows(6, 2)), &table(&rows(2, 2))).unwrap();
        close(score.pmse, (8.0 / 144.0 + 4.0 / 36.0) / 12.0);
        close(score.expected, (2.0_f64 / 3.0).powi(2) / 3.0 / 12.0);
        assert_eq!(score.parameters, 2);
    }

    #[test]
    fn an_attribute_that_repeats_another_adds_no_parameter() {
        let real = table(&[[0, 0], [0, 0], [1, 1], [2, 2]]);
        let fake = table(&[[0, 0], [1, 1], [1, 1], [2, 2]]);
        let score = PropensityScore::between(&real, &fake).unwrap();
        assert_eq!(score.parameters, 3);
        // The same with the first attribute alone.
        let alone = |t: &Dataset| t.select(&[0]).unwrap();
        let single = PropensityScore::between(&alone(&real), &alone(&fake)).unwrap();
        close(score.pmse, single.pmse);
    }

    /// 11 parameters: the ratio is that of χ² with 10 degrees to 10, so the mean of 200 has a standard deviation of
    /// 0.032; five of them give a false-alarm rate of 10⁻⁶.
    #[test]
    fn records_drawn_from_the_real_table_have_a_mean_ratio_of_one() {
        let domain = Domain::new([("a", 4), ("b", 3), ("c", 6)]).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        let rows: Vec<[u32; 3]> = (0..1500)
            .map(|_| {
                let a = rng.random_range(0..4);
                [a, (a + rng.random_range(0..2)) % 3, rng.random_range(0..6)]
            })
            .collect();
        let real = Dataset::from_rows(domain.clone(), &rows).unwrap();
        let mut sum = 0.0;
        for _ in 0..200 {
            let drawn: Vec<[u32; 3]> =
                (0..1000).map(|_| rows[rng.random_range(0..rows.len())]).collect();
            let fake = Dataset::from_rows(domain.clone(), &drawn).unwrap();
            let score = PropensityScore::between(&real, &fake).unwrap();
            assert_eq!(score.parameters, 11);
            sum += score.ratio;
        }
        assert!((sum / 200.0 - 1.0).abs() < 0.16, "{}", sum / 200.0);
    }
}
