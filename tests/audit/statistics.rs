//! Statistics of the audit. Each test allows a false alarm in fewer than one run of 10⁹.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]

use jointly::data::Projectable;
use jointly::domain::{Clique, Domain};
use jointly::privacy::{NeighboringRelation, RecordsPerUnit};

/// Standard deviations beyond which a statistic is an alarm: a chance of 4 · 10⁻¹¹ on either side.
pub(crate) const ALARM: f64 = 6.5;

/// The relations, with units of three records at most.
#[expect(clippy::unwrap_used, reason = "three is allowed")]
pub(crate) fn relations() -> [NeighboringRelation; 3] {
    [
        NeighboringRelation::ReplaceOne,
        NeighboringRelation::AddRemoveOne,
        NeighboringRelation::AddRemoveUnit(RecordsPerUnit::new(3).unwrap()),
    ]
}

/// A table with given counts on its first attribute; its other attributes are constant.
pub(crate) struct Counts {
    domain: Domain,
    cells: Vec<u32>,
    records: u64,
}

impl Counts {
    /// `records`: the number that the table states, which need not be the sum of the counts.
    #[expect(clippy::unwrap_used, reason = "a domain of one attribute")]
    pub(crate) fn new(counts: Vec<u32>, records: u64) -> Self {
        let domain = Domain::new([("x", u32::try_from(counts.len()).unwrap())]).unwrap();
        Self { domain, cells: counts, records }
    }
}

impl Projectable for Counts {
    fn domain(&self) -> &Domain {
        &self.domain
    }
    fn records(&self) -> u64 {
        self.records
    }
    fn project_many(
        &self,
        cliques: &[Clique],
    ) -> std::result::Result<Vec<Vec<u32>>, jointly::CommonError> {
        let sum = || vec![u32::try_from(self.records).unwrap_or(u32::MAX)];
        let project = |c: &Clique| if c.is_empty() { sum() } else { self.cells.clone() };
        Ok(cliques.iter().map(project).collect())
    }
}

/// The distance of a chi-square statistic from its mean, in standard deviations of a normal variable (Wilson and
/// Hilferty 1931).
pub(crate) fn chi_square(observed: &[f64], probabilities: &[f64]) -> f64 {
    let draws: f64 = observed.iter().sum();
    let (mut statistic, mut cells, mut rest) = (0.0, 0.0, (0.0, 0.0));
    for (found, probability) in observed.iter().zip(probabilities) {
        let expected = probability * draws;
        if expected < 20.0 {
            rest = (rest.0 + found, rest.1 + expected);
        } else {
            statistic += (found - expected).powi(2) / expected;
            cells += 1.0;
        }
    }
    if rest.1 >= 5.0 {
        statistic += (rest.0 - rest.1).powi(2) / rest.1;
        cells += 1.0;
    } else if rest.0 > rest.1 + 40.0 {
        return f64::INFINITY;
    }
    let freedom: f64 = cells - 1.0;
    let spread = 2.0 / (9.0 * freedom);
    ((statistic / freedom).cbrt() - (1.0 - spread)) / spread.sqrt()
}

/// Checks integers against the law with weights `weight(|x|)`, of a standard deviation of about `scale`.
pub(crate) fn check_law(what: &str, noise: &[i64], scale: f64, weight: impl Fn(f64) -> f64) {
    let reach = (14.0 * scale).ceil() as i64 + 1;
    let weights: Vec<f64> = (-reach..=reach).map(|x| weight(x.abs() as f64)).collect();
    let sum: f64 = weights.iter().sum();
    let mut observed = vec![0.0; weights.len()];
    for x in noise {
        assert!(x.abs() <= reach, "{what}: noise {x} with a scale of {scale}");
        observed[(x + reach) as usize] += 1.0;
    }
    let probabilities: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
    let z = chi_square(&observed, &probabilities);
    assert!(z < ALARM, "{what}: {z:.1} sd from the law that the ledger states");
}

/// Checks that pairs of noise are uncorrelated, of values and of their squares.
pub(crate) fn check_independent(what: &str, pairs: &[(i64, i64)]) {
    for power in [1, 2] {
        let of = |pick: fn(&(i64, i64)) -> i64| -> Vec<f64> {
            pairs.iter().map(|pair| (pick(pair) as f64).powi(power)).collect()
        };
        let (one, other) = (of(|pair| pair.0), of(|pair| pair.1));
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let (a, b) = (mean(&one), mean(&other));
        let sum = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
            one.iter().zip(&other).map(|(x, y)| f(x - a, y - b)).sum()
        };
        let (xy, xx, yy) = (sum(&|x, y| x * y), sum(&|x, _| x * x), sum(&|_, y| y * y));
        // A few large squares of Laplace noise carry much weight: the bound on their correlation is wider.
        let z = xy / (xx * yy).sqrt() * (pairs.len() as f64).sqrt();
        assert!(
            z.abs() < ALARM * f64::from(power),
            "{what}, power {power}: {z:.1} sd of correlation"
        );
    }
}

#[test]
fn the_chi_square_test_sees_a_die_that_is_loaded() {
    let fair = [1.0 / 6.0; 6];
    assert!(chi_square(&[1000.0, 1010.0, 990.0, 1020.0, 985.0, 995.0], &fair) < 2.0);
    assert!(chi_square(&[900.0, 1110.0, 990.0, 1020.0, 685.0, 1295.0], &fair) > ALARM);
}
