//! A mixture of product distributions.

pub(crate) mod split;

use std::ops::Range;

use ndarray::Array2;
use rand::{Rng, RngExt};
use rayon::prelude::*;

use crate::data::{Column, Dataset, table_sizes};
use crate::domain::{Clique, Domain};
use crate::error::{CommonError, Error, Result};
use crate::linalg::Real;
use crate::model::stored_products::StoredProducts;
use crate::model::{Distribution, Evidence, Model, Sampling, StoredForm, impossible};
use crate::table::Factor;
use jointly_pgm::model::sampling::{Dealer, check_records};
use split::{Split, value_ranges};

/// Most distance of an attribute's probabilities from a sum of 1.
const ROUNDING: f64 = 1e-4;
/// Most draws of a record that the domain forbids, each from the next component.
const DRAWS: usize = 10_000;

/// A mixture of B product distributions, by default of equal weight, with the number of records it stands for: the models of GEM
/// (Liu, Vietri & Wu 2021) and RAP (Aydore et al. 2021).
///
/// Component b has a distribution `P_b^a` over the values of each attribute a; the probability of a record x is `(1/B)
/// Σ_b Π_a P_b^a(x_a)`.
///
/// Records that the domain's structural zeros forbid are never drawn, but marginals are those of the mixture as it is.
///
/// ```
/// use jointly::{domain::{Clique, Domain}, model::{Distribution, Products}};
/// let domain = Domain::new([("a", 2), ("b", 2)])?;
/// // Two components: a = 0 and b = 0, or both uniform.
/// let model = Products::new(domain, &[vec![1.0, 0.0, 1.0, 0.0], vec![0.5, 0.5, 0.5, 0.5]], 8.0)?;
/// assert_eq!(model.marginals(&[Clique::new([0, 1])])?[0].values(), [5.0, 1.0, 1.0, 1.0]);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Products {
    domain: Domain,
    /// A row for each value of each attribute, a column for each component.
    probabilities: Array2<f32>,
    /// The share of each component; `None`: all equal.
    weights: Option<Vec<f64>>,
    total: f64,
}

impl Products {
    /// Components, each with the probabilities of all values of all attributes in the domain's order, standing for
    /// `total` records.
    ///
    /// # Errors
    /// No component; one with another number of probabilities, a negative one, or an attribute whose probabilities do
    /// not sum to 1 within 10⁻⁴; or a total that is not positive and finite.
    pub fn new(domain: Domain, components: &[Vec<f32>], total: f64) -> Result<Self> {
        let values = value_ranges(&domain).last().map_or(0, |range| range.end);
        if let Some(wrong) = components.iter().find(|component| component.len() != values) {
            return Err(Error::invalid_specification(
                "component of a mixture of products",
                format!("{} probabilities", wrong.len()),
                format!("{values}, one for each value of each attribute"),
            ));
        }
        let count = components.len();
        let probabilities = Array2::from_shape_fn((values, count), |(v, b)| components[b][v]);
        Self::of(domain, probabilities, total)
    }

    /// A mixture whose matrix has a row for each value of each attribute and a column for each component.
    pub(crate) fn of(domain: Domain, probabilities: Array2<f32>, total: f64) -> Result<Self> {
        if !(total > 0.0 && total.is_finite()) {
            return Err(Error::invalid_parameter("total", total, "a positive number of records"));
        }
        if probabilities.ncols() == 0 {
            return Err(Error::invalid_parameter(
                "number of products in a mixture",
                0,
                "at least 1",
            ));
        }
        for (attribute, range) in value_ranges(&domain).into_iter().enumerate() {
            for component in probabilities.columns() {
                let own = component.iter().skip(range.start).take(range.len());
                let sum: f64 = own.clone().map(|p| f64::from(*p)).sum();
                let is_negative = own.clone().any(|p| p.is_nan() || *p < 0.0);
                if is_negative || (sum - 1.0).abs() > ROUNDING {
                    return Err(Error::invalid_specification(
                        format!("probabilities of '{}'", domain.name(attribute)),
                        if is_negative { "one below 0".into() } else { format!("a sum of {sum}") },
                        "numbers of at least 0 that sum to 1 in each component",
                    ));
                }
            }
        }
        Ok(Self { domain, probabilities, weights: None, total })
    }

    /// Components with these weights, which are divided by their sum.
    ///
    /// # Errors
    /// A number of weights other than that of components; weights that are negative or not finite, or all 0.
    pub fn with_weights(mut self, mut weights: Vec<f64>) -> Result<Self> {
        let sum: f64 = weights.iter().sum();
        let are_numbers = weights.iter().all(|weight| *weight >= 0.0) && sum.is_finite();
        if weights.len() != self.components() || !are_numbers || sum <= 0.0 {
            let found = format!("{} numbers that sum to {sum}", weights.len());
            let expected = format!("{} of at least 0, not all 0", self.components());
            return Err(Error::invalid_specification("weights of a mixture", found, expected));
        }
        weights.iter_mut().for_each(|weight| *weight /= sum);
        self.weights = Some(weights);
        Ok(self)
    }

    /// The share of each component; `None` if all are equal.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// B, the number of product distributions.
    pub fn components(&self) -> usize {
        self.probabilities.ncols()
    }

    /// `P_b^a`: the distribution of an attribute in component b. Empty outside the domain or the components.
    pub fn distribution(&self, component: usize, attribute: usize) -> Vec<f32> {
        let range = value_ranges(&self.domain).get(attribute).cloned().unwrap_or_default();
        let values = range.filter_map(|value| self.probabilities.get((value, component)));
        values.copied().collect()
    }

    /// The probabilities, where those of a clique's first attribute are multiplied by the components' weights relative to
    /// equal ones. So each product over the clique has its weight once.
    fn weighted(&self, clique: &Clique, weights: &[f64]) -> Array2<f32> {
        let mut matrix = self.probabilities.clone();
        let first =
            clique.iter().next().and_then(|first| value_ranges(&self.domain).get(first).cloned());
        let scale = |weight: &f64| f32::of(weight * weights.len() as f64);
        let scales: Vec<f32> = weights.iter().map(scale).collect();
        for value in first.unwrap_or_default() {
            matrix.row_mut(value).iter_mut().zip(&scales).for_each(|(p, scale)| *p *= scale);
        }
        matrix
    }

    /// The distribution of an attribute, whose values lie in `range`, in a component.
    fn fill(&self, component: usize, range: &Range<usize>, weights: &mut [f64]) {
        for (weight, value) in weights.iter_mut().zip(range.clone()) {
            *weight = self.probabilities[(value, component)].into();
        }
    }

    /// Draws a record again, from component after component, until the domain allows it.
    fn redraw<R: Rng + ?Sized>(
        &self,
        component: usize,
        record: usize,
        columns: &mut [Vec<u32>],
        rng: &mut R,
    ) -> Result<()> {
        let is_allowed = |columns: &[Vec<u32>]| {
            let code = |attribute: usize| columns[attribute][record];
            !self.domain.structural_zeros().iter().any(|zero| zero.forbids(&self.domain, code))
        };
        let one = [u32::try_from(record).unwrap_or(u32::MAX)];
        for draw in 0..DRAWS {
            if is_allowed(columns) {
                return Ok(());
            }
            let component = self.after(component, draw);
            let ranges = value_ranges(&self.domain).into_iter().enumerate();
            for ((attribute, range), column) in ranges.zip(&mut *columns) {
                let mut dealer = Dealer::new(range.len(), attribute, Sampling::Independent, rng);
                self.fill(component, &range, &mut dealer.weights);
                dealer.deal(&one, column, rng);
            }
        }
        let reason = "almost all of its records are forbidden by the schema".to_owned();
        Err(CommonError::EmptyModel { reason }.into())
    }
}

impl Products {
    /// The component that comes some steps after another, among those that have a weight.
    fn after(&self, component: usize, steps: usize) -> usize {
        let Some(weights) = &self.weights else { return (component + steps) % self.components() };
        let has_weight = |at: &usize| weights[*at] > 0.0;
        let all = (component..self.components()).chain(0..component);
        let with_weight: Vec<usize> = all.filter(has_weight).collect();
        with_weight[steps % with_weight.len()]
    }
}

impl Distribution for Products {
    fn domain(&self) -> &Domain {
        &self.domain
    }

    fn total(&self) -> f64 {
        self.total
    }

    /// Size in MiB, at 4 bytes per probability.
    fn size_mib(&self) -> f64 {
        4.0 * self.probabilities.len() as f64 / f64::from(1 << 20)
    }

    fn marginals(&self, cliques: &[Clique]) -> Result<Vec<Factor>> {
        let ranges = value_ranges(&self.domain);
        table_sizes(&self.domain, cliques)?;
        let factors = cliques.par_iter().map(|clique| {
            let split = Split::new(&ranges, clique);
            let mut table = match &self.weights {
                Some(weights) => split.marginal(&self.weighted(clique, weights).view()),
                None => split.marginal(&self.probabilities.view()),
            };
            table.iter_mut().for_each(|cell| *cell *= self.total);
            Ok(Factor::new(&self.domain, clique.clone(), table)?)
        });
        factors.collect()
    }

    /// Draws records. The components get numbers of records in proportion to their weights, one more for some. With [`Sampling::Rounded`] the
    /// expected counts of each attribute within a component are rounded and dealt out in random order, so that
    /// attributes stay independent within a component; with [`Sampling::Independent`] every record is drawn on its own.
    /// A record that the domain forbids is drawn again, from the next component.
    fn draw(&self, records: usize, method: Sampling, rng: &mut dyn Rng) -> Result<Dataset> {
        let count = check_records(records)?;
        let components = self.components();
        let mut groups: Vec<Vec<u32>> = vec![Vec::new(); components];
        match (&self.weights, method) {
            (Some(weights), method) => {
                let mut dealer = Dealer::new(components, self.domain.len(), method, rng);
                dealer.weights.copy_from_slice(weights);
                let mut places = vec![0; records];
                dealer.deal(&(0..count).collect::<Vec<u32>>(), &mut places, rng);
                (0..count).zip(places).for_each(|(record, b)| groups[b as usize].push(record));
            }
            (None, Sampling::Rounded) => {
                let offset = rng.random_range(0..components);
                for record in 0..count {
                    let place = record as usize * components / records;
                    // Fewer records than components: a random component for the first.
                    groups[(place + offset) % components].push(record);
                }
            }
            (None, Sampling::Independent) => {
                (0..count).for_each(|record| groups[rng.random_range(0..components)].push(record));
            }
        }
        let mut columns = Vec::with_capacity(self.domain.len());
        for (attribute, range) in value_ranges(&self.domain).into_iter().enumerate() {
            let mut dealer = Dealer::new(range.len(), attribute, method, rng);
            let mut column = vec![0; records];
            for (component, group) in groups.iter().enumerate().filter(|(_, g)| !g.is_empty()) {
                self.fill(component, &range, &mut dealer.weights);
                dealer.deal(group, &mut column, rng);
            }
            columns.push(column);
        }
        if !self.domain.structural_zeros().is_empty() {
            for (component, group) in groups.iter().enumerate() {
                for record in group {
                    self.redraw(component, *record as usize, &mut columns, rng)?;
                }
            }
        }
        let columns = self.domain.attributes().iter().zip(columns);
        let columns = columns
            .map(|(attribute, codes)| Column::from_codes(codes, attribute.cardinality as usize));
        Ok(Dataset::new(self.domain.clone(), columns.collect::<jointly_pgm::Result<_>>()?)?)
    }

    /// A component agrees with the evidence with the sum of its probabilities of the values, each times the share of these
    /// records that agrees. These sums are factors of the weights, and of each the summands are the new probabilities.
    fn given(&self, evidence: &Evidence) -> Result<Model> {
        let mut given = self.probabilities.clone();
        let equal = || vec![1.0 / self.components() as f64; self.components()];
        let mut weights = self.weights.clone().unwrap_or_else(equal);
        let ranges = value_ranges(&self.domain);
        for (attribute, shares) in evidence.iter() {
            let Some(range) = ranges.get(attribute) else { continue };
            for (mut component, weight) in given.columns_mut().into_iter().zip(&mut weights) {
                let own = component.iter_mut().skip(range.start).zip(shares);
                let sum: f64 = own.map(|(p, share)| f64::from(*p) * share).sum();
                *weight *= sum;
                // Otherwise the component has no weight any more; its numbers remain a distribution.
                if sum > 0.0 {
                    for (p, share) in component.iter_mut().skip(range.start).zip(shares) {
                        *p = f32::of(f64::from(*p) * share / sum);
                    }
                }
            }
        }
        let share: f64 = weights.iter().sum();
        if share <= 0.0 {
            return Err(impossible());
        }
        let given = Self::of(self.domain.clone(), given, share * self.total)?;
        Ok(given.with_weights(weights)?.into())
    }

    fn store(&self) -> Result<StoredForm> {
        StoredForm::new("products", &StoredProducts::new(self))
    }
}

#[cfg(test)]
mod tests;
