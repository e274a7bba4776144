//! Residuals of marginals: many integer queries, measured together, whose joint cost is known exactly.

use crate::error::{Error, Result};
use crate::sampler::{DiscreteGaussian, LARGEST_PART};
use crate::{NeighboringRelation, Ratio, Rho};
use jointly_pgm::domain::{Clique, Domain};

/// Number of fractional bits, per unit of ρ, used to sum costs. Each cost is rounded up.
const FRACTION_BITS: u32 = 20;
/// Maximum number of sets of attributes times queries to enumerate for the joint sensitivity under replace-one.
const MOST_STEPS: u64 = 1 << 25;
/// Largest product of the cardinalities of centered attributes: with fewer than 2³² records, values stay below 2⁶².
const LARGEST_SCALE: u64 = 1 << 24;

/// An integer query `v = (⊗_{i ∈ A} T_i) M_A(D)` with `T_i = k_i I − J` (J: all ones) for the *centered* attributes and
/// `T_i = I` for the others, measured with discrete Gaussian noise on every cell.
///
/// Divided by its [`scale`](Self::scale) and centered along the other attributes too, it is an unbiased estimate of the
/// residual of A: the information in the marginal on A beyond the marginals on its subsets
/// (`docs/theory/strategies.md`, section 3; Xiao, He, Zhang & Kifer 2023, section 4.4).
#[derive(Clone, Debug, PartialEq)]
pub struct ResidualQuery {
    clique: Clique,
    centered: Clique,
    scale: u64,
    noise: DiscreteGaussian,
}

impl ResidualQuery {
    /// Creates the query on a clique, centered along some of its attributes.
    ///
    /// `clique`: may be empty, for the number of records. `variance`: σ² of the noise on v, in squared units of v, from
    /// 2⁻¹¹ to 2⁵⁰.
    ///
    /// # Errors
    /// A clique outside the domain, centered attributes outside the clique or with more than 2²⁴ cells, or a
    /// variance out of range.
    pub fn new(domain: &Domain, clique: Clique, centered: Clique, variance: Ratio) -> Result<Self> {
        if clique.iter().any(|a| a >= domain.len()) || !centered.is_subset(&clique) {
            return Err(Error::invalid_specification(
                format!("residual of {clique}"),
                format!("centered along {centered}"),
                "attributes of the clique, and a clique of the domain",
            ));
        }
        let scale = domain.cells(&centered).filter(|scale| *scale <= LARGEST_SCALE);
        let scale = scale.ok_or_else(|| {
            Error::too_large(
                format!("the scale of the residual of {}", domain.describe(&clique)),
                None,
                LARGEST_SCALE as f64,
                "units",
            )
        })?;
        if u128::from(variance.numerator()) << 11 < u128::from(variance.denominator()) {
            return Err(Error::invalid_parameter(
                "variance of a residual",
                variance,
                "2^-11 or more",
            ));
        }
        Ok(Self { clique, centered, scale, noise: DiscreteGaussian::new(variance)? })
    }

    /// A: the attributes.
    pub fn clique(&self) -> &Clique {
        &self.clique
    }

    /// The attributes along which v is centered.
    pub fn centered(&self) -> &Clique {
        &self.centered
    }

    /// The factor by which v is larger than counts: the product of the cardinalities of the centered attributes.
    pub fn scale(&self) -> u64 {
        self.scale
    }

    /// The parameter σ² of the noise on v, in squared units of v.
    pub fn variance(&self) -> Ratio {
        self.noise.variance()
    }

    /// Refuses a query for another domain.
    pub(crate) fn check_domain(&self, domain: &Domain) -> Result<()> {
        if domain.cells(&self.centered) == Some(self.scale) {
            return Ok(());
        }
        Err(Error::invalid_parameter("residual query", "of another domain", "one of the records'"))
    }

    pub(crate) fn noise(&self) -> &DiscreteGaussian {
        &self.noise
    }

    /// Computes v from an exact marginal.
    ///
    /// `counts`: `M_A(D)`, row-major, with a sum below 2³².
    pub(crate) fn apply(&self, domain: &Domain, counts: &[u32]) -> Vec<i64> {
        let mut values: Vec<i64> = counts.iter().map(|count| i64::from(*count)).collect();
        let mut run = values.len(); // cells that share the attributes so far
        for attribute in self.clique.iter() {
            let cardinality = domain.cardinality(attribute);
            let block = run;
            run /= cardinality.max(1);
            if !self.centered.contains(attribute) {
                continue;
            }
            let factor = i64::try_from(cardinality).unwrap_or(i64::MAX);
            for block in values.chunks_exact_mut(block.max(1)) {
                for cell in 0..run {
                    let sum: i64 = block[cell..].iter().step_by(run).sum();
                    block[cell..].iter_mut().step_by(run).for_each(|x| *x = factor * *x - sum);
                }
            }
        }
        values
    }

    /// `<u(a), u(b)>` for the columns u of the query's matrix that belong to two records a, b which differ in exactly the
    /// attributes of a set; `‖u(a)‖²` for the empty set. `None` beyond 126 bits.
    ///
    /// One attribute contributes, if centered, `k(k − 1)` where the records agree and `−k` where they differ; if not, 1
    /// and 0.
    fn inner_product(&self, domain: &Domain, differs: impl Fn(usize) -> bool) -> Option<i128> {
        self.clique.iter().try_fold(1_i128, |product, attribute| {
            let cardinality = i128::try_from(domain.cardinality(attribute)).ok()?;
            product.checked_mul(match (self.centered.contains(attribute), differs(attribute)) {
                (true, false) => cardinality * (cardinality - 1),
                (true, true) => -cardinality,
                (false, false) => 1,
                (false, true) => 0,
            })
        })
    }

    /// The query's part `‖Δ‖²/(2σ²)` of the cost, in fractions of a unit of ρ, rounded up.
    ///
    /// `squared`: ‖Δ‖².
    fn cost(&self, squared: i128) -> Option<u128> {
        let squared = u128::try_from(squared).ok()?;
        let variance = self.variance();
        let cost = squared
            .checked_mul(variance.denominator().into())?
            .checked_mul(1 << (Rho::UNIT_BITS - 1 + FRACTION_BITS))?;
        Some(cost.div_ceil(variance.numerator().into()))
    }
}

/// The cost of measuring some queries together, rounded up to units: `½ max Σ_q ‖Δ_q‖²/σ_q²` over all pairs of
/// neighbors (`docs/theory/strategies.md`, sections 3 to 5).
///
/// Under add-remove-one every pair of neighbors attains it; for units of K records it is K² times as much, attained by
/// equal records. Under replace-one the maximum is over the sets of attributes in which two records differ, as long as
/// sets times queries are at most 2²⁵; beyond that, it is bounded by the sum of each query's own maximum.
///
/// # Errors
/// A cost beyond what [`Rho`] can hold.
pub fn residual_cost(
    domain: &Domain,
    queries: &[ResidualQuery],
    relation: NeighboringRelation,
) -> Result<Rho> {
    let cost = match relation {
        NeighboringRelation::AddRemoveOne => sum(queries, |q| change(q, domain, None)),
        NeighboringRelation::AddRemoveUnit(unit) => {
            // K equal records change every query K times as much as one record.
            let of_one = sum(queries, |q| change(q, domain, None));
            of_one.and_then(|cost| cost.checked_mul(u128::from(unit.get()).pow(2)))
        }
        NeighboringRelation::ReplaceOne => {
            let mut attributes =
                queries.iter().fold(Clique::default(), |all, q| all.union(&q.clique));
            attributes = Clique::new(attributes.iter().filter(|a| domain.cardinality(*a) > 1));
            let sets = 1_u64.checked_shl(u32::try_from(attributes.len()).unwrap_or(64));
            let steps = sets.and_then(|sets| sets.checked_mul(queries.len() as u64));
            if steps.is_some_and(|steps| steps <= MOST_STEPS) {
                let of_set = |set: &Clique| sum(queries, |q| change(q, domain, Some(set)));
                attributes.subsets().iter().map(of_set).try_fold(0, |most, c| Some(c?.max(most)))
            } else {
                sum(queries, |q| {
                    let of_set = |set: &Clique| change(q, domain, Some(set));
                    // Alone, a query is worst for records that differ in one attribute only (section 5).
                    let single = |attribute| Clique::new([attribute]);
                    let varied = attributes.intersection(&q.clique);
                    varied
                        .iter()
                        .map(|a| of_set(&single(a)))
                        .try_fold(0, |most, c| Some(c?.max(most)))
                })
            }
        }
    };
    let units = cost.and_then(|cost| u64::try_from(cost.div_ceil(1 << FRACTION_BITS)).ok());
    units.map(Rho::from_units).ok_or_else(|| {
        Error::too_large("the cost of measuring residuals", None, 2_f64.powi(24), "rho")
    })
}

/// The cost of one query for records that differ in a set of attributes, or for one additional record.
fn change(query: &ResidualQuery, domain: &Domain, differ: Option<&Clique>) -> Option<u128> {
    let norm = query.inner_product(domain, |_| false)?;
    match differ {
        None => query.cost(norm),
        Some(set) if query.clique.iter().any(|a| set.contains(a)) => {
            let inner = query.inner_product(domain, |a| set.contains(a))?;
            query.cost(norm.checked_sub(inner)?.checked_mul(2)?)
        }
        Some(_) => Some(0),
    }
}

fn sum(queries: &[ResidualQuery], cost: impl Fn(&ResidualQuery) -> Option<u128>) -> Option<u128> {
    queries.iter().try_fold(0_u128, |sum, query| sum.checked_add(cost(query)?))
}

/// The smallest fraction with about 33 significant bits that is not below a variance. Its numerator and denominator fit
/// the sampler.
///
/// `variance`: above 0; below 2⁻¹¹ the result is 2⁻¹¹.
///
/// # Errors
/// A variance above 2⁵⁰, or one that is not a number.
pub fn variance_at_least(variance: f64) -> Result<Ratio> {
    const BITS: i32 = 33;
    let least = variance.max(f64::from(2.0_f32.powi(-11)));
    if variance.is_nan() || least > LARGEST_PART as f64 {
        let expected = "at most 2^50: a larger budget, or a smaller workload";
        return Err(Error::invalid_parameter("variance of a residual", variance, expected));
    }
    #[expect(clippy::cast_possible_truncation, reason = "between -11 and 50")]
    let exponent = least.log2().floor() as i32;
    let shift = u32::try_from(BITS - exponent).unwrap_or(0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and at most 2^50; scaling by a power of two is exact"
    )]
    let numerator = (least * (1_u64 << shift) as f64).ceil() as u64;
    Ratio::new(numerator, 1 << shift)
}

#[cfg(test)]
mod tests;
