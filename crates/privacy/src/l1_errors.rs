//! L1 distances between marginals and tables, and the scores that are made of them.

use jointly_pgm::table::{l1_distance, weighted_sum};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::marginals::SealedMarginals;
use crate::scores::Scores;
use crate::source::Source;
use crate::{ScoreSensitivity, Sensitive};

/// Weights may sum to this much more than 1, by rounding. The grid of a selection outweighs it.
const ROUNDING: f64 = 1e-9;

/// `‖M_r(D) − v_r‖₁` of some marginals r, in counts, sealed, where no `v_r` depends on the records.
///
/// Each number changes by at most 2 between neighbors under replace-one, by 1 under add-remove-one, by K for units.
///
/// ```
/// use jointly_pgm::{Clique, Dataset, Domain};
/// use jointly_privacy::{Budget, NeighboringRelation::ReplaceOne, NoiseSeed, Selection};
/// let records: Vec<[u32; 2]> = (0..1000).map(|i| [i % 2, i % 4]).collect();
/// let private = Dataset::from_rows(Domain::new([("sex", 2), ("age", 4)])?, &records)?;
/// let budget = Budget::approximate(1.0, 1e-9)?;
/// let mut curator = budget.curator(&private, ReplaceOne, NoiseSeed::System)?;
/// let marginals = curator.marginals(&[Clique::new([0]), Clique::new([1])])?;
/// let mut errors = marginals.l1_errors();
/// errors.compare(&marginals, &[0, 1], &[[500.0, 500.0].as_slice(), &[1000.0, 0.0, 0.0, 0.0]], 1.0)?;
/// let scores = errors.plain(&[0, 1])?; // the larger the distance, the likelier the choice
/// assert_eq!(curator.select(Selection::Exponential, scores, budget.rho(), "choose a marginal")?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub struct L1Errors {
    source: Source,
    /// The largest norm of a table so far.
    largest_table: f64,
    marginals: usize,
    values: Sensitive<Vec<f64>>,
}

/// What is gained by measuring a marginal, where `e` is the model's error on it and `a` the expected error of the
/// measurement, both L1 norms in counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Gain {
    /// `e - a`, as in AIM: what is gained by taking the measurement as it is.
    #[default]
    AboveNoise,
    /// `e (1 - a/√(e² + a²))`: what is gained by weighing the measurement against the model. Its derivative in e is in
    /// [0, 1) (`docs/theory/sensitivities.md`, section 3).
    Shrunk,
}

impl Gain {
    /// The gain, in counts. `error`: e. `noise`: a. Both are L1 norms in counts, at least 0.
    pub fn of(self, error: f64, noise: f64) -> f64 {
        match self {
            Self::AboveNoise => error - noise,
            Self::Shrunk => {
                let both = error.hypot(noise);
                if both > 0.0 { error * (1.0 - noise / both) } else { 0.0 }
            }
        }
    }
}

/// A candidate of [`L1Errors::gains`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GainOf {
    /// The position of the marginal.
    pub marginal: usize,
    /// w, finite.
    pub weight: f64,
    /// a, in counts; finite and at least 0.
    pub noise: f64,
}

/// A candidate of [`L1Errors::improvements`].
#[derive(Clone, Copy)]
pub struct ImprovementOf<'e> {
    /// The position of the marginal.
    pub marginal: usize,
    /// What the candidate's own error is.
    pub own: OwnError<'e>,
}

/// Most values of an attribute whose values are weighted: rounding errors grow with their number
/// (`docs/theory/sensitivities.md`, section 9).
pub const MOST_WEIGHTED_VALUES: usize = 1 << 10;

/// How much a record counts by its value of one attribute, the weighted one, which every marginal has that is compared.
#[derive(Clone, Copy)]
pub struct ValueWeights<'w> {
    /// The weight of each value, from 0 to 1. It does not depend on the records.
    pub weights: &'w [f64],
    /// For each marginal that is compared, the number of cells from one value of the attribute to the next, row-major.
    pub strides: &'w [usize],
}

impl ValueWeights<'_> {
    /// Refuses weights above 1, under which a record would change a weighted count by more than a count.
    fn check(&self) -> Result<()> {
        let out_of_range = |weight: &&f64| !(0.0..=1.0).contains(*weight);
        if let Some(weight) = self.weights.iter().find(out_of_range) {
            let expected = "from 0 to 1, so that no record counts for more than one";
            return Err(Error::invalid_parameter("weights of values", *weight, expected));
        }
        if !(1..=MOST_WEIGHTED_VALUES).contains(&self.weights.len()) {
            let (found, expected) = (self.weights.len(), "from 1 to 1,024 values");
            return Err(Error::invalid_parameter("weights of values", found, expected));
        }
        Ok(())
    }

    /// The marginal without the weighted attribute, each record counted by its weight.
    fn weighted(&self, counts: &[u32], stride: usize) -> Vec<f64> {
        let blocks = counts.chunks_exact(stride * self.weights.len());
        let of_block = |block: &[u32]| {
            let mut sums = vec![0.0; stride];
            for (weight, counts) in self.weights.iter().zip(block.chunks_exact(stride)) {
                sums.iter_mut().zip(counts).for_each(|(sum, n)| *sum += weight * f64::from(*n));
            }
            sums
        };
        blocks.flat_map(of_block).collect()
    }
}

/// The error of a candidate itself.
#[derive(Clone, Copy)]
pub enum OwnError<'e> {
    /// A number that does not depend on the records, in counts.
    Expected(f64),
    /// That of the same marginal in another list.
    Sealed(&'e L1Errors),
}

impl L1Errors {
    pub(crate) fn new(source: Source, marginals: usize, values: Sensitive<Vec<f64>>) -> Self {
        Self { source, largest_table: 0.0, marginals, values }
    }

    /// The number of marginals.
    pub fn len(&self) -> usize {
        self.marginals
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.marginals == 0
    }

    /// Sets the distances of some marginals: `‖M_r(D) − scale v‖₁`.
    ///
    /// `marginals`: those that these errors are of. `positions`: which of them. `tables`: v of each, row-major.
    ///
    /// # Errors
    /// Marginals of another curator, tables that do not fit them, or numbers that are not finite.
    pub fn compare<T: Copy + Into<f64> + Sync>(
        &mut self,
        marginals: &SealedMarginals,
        positions: &[usize],
        tables: &[impl AsRef<[T]> + Sync],
        scale: f64,
    ) -> Result<()> {
        let sizes = tables.iter().map(|table| table.as_ref().len());
        self.check_shapes(marginals, positions, sizes)?;
        self.allow(tables, scale)?;
        self.values.update(marginals.counts(), |errors, counts| {
            let pairs = positions.par_iter().zip(tables);
            let distance =
                |(r, table): (&usize, _)| l1_distance(&counts[*r], AsRef::as_ref(table), scale);
            let found: Vec<f64> = pairs.map(distance).collect();
            positions.iter().zip(found).for_each(|(r, distance)| errors[*r] = distance);
        });
        Ok(())
    }

    /// Sets the distances of some weighted marginals: `‖Σ_b u_b M_r(D)(·, b) − scale v‖₁`, where b is the value of one
    /// attribute of r and u its weight. A record changes the weighted marginal by no more than a marginal, as no weight is
    /// above 1; so the distance has the same sensitivity (`docs/theory/sensitivities.md`, section 9).
    ///
    /// `tables`: v of each, row-major, without the weighted attribute; otherwise as [`compare`](Self::compare).
    ///
    /// # Errors
    /// As [`compare`](Self::compare), and weights out of range or that do not fit the marginals.
    pub fn compare_weighted<T: Copy + Into<f64> + Sync>(
        &mut self,
        marginals: &SealedMarginals,
        positions: &[usize],
        tables: &[impl AsRef<[T]> + Sync],
        scale: f64,
        by: ValueWeights<'_>,
    ) -> Result<()> {
        by.check()?;
        let sizes = tables.iter().map(|table| table.as_ref().len() * by.weights.len());
        self.check_shapes(marginals, positions, sizes)?;
        let fits = |(table, stride): (&_, &usize)| {
            let cells = <_ as AsRef<[T]>>::as_ref(table).len();
            *stride > 0 && cells.is_multiple_of(*stride)
        };
        let strides = by.strides.iter();
        if by.strides.len() != tables.len() || !tables.iter().zip(strides).all(fits) {
            let expected = "for each marginal, a divisor of the number of cells without the values";
            return Err(Error::invalid_parameter("strides of values", "others", expected));
        }
        self.allow(tables, scale)?;
        self.values.update(marginals.counts(), |errors, counts| {
            let all = positions.par_iter().zip(tables).zip(by.strides);
            let distance = |((r, table), stride): ((&usize, _), &usize)| {
                let weighted = by.weighted(&counts[*r], *stride);
                l1_distance(&weighted, AsRef::<[T]>::as_ref(table), scale)
            };
            let found: Vec<f64> = all.map(distance).collect();
            positions.iter().zip(found).for_each(|(r, distance)| errors[*r] = distance);
        });
        Ok(())
    }

    /// Refuses marginals that these errors are not of, and tables of another size.
    fn check_shapes(
        &self,
        marginals: &SealedMarginals,
        positions: &[usize],
        sizes: impl ExactSizeIterator<Item = usize>,
    ) -> Result<()> {
        self.source.check_same(marginals.source())?;
        if positions.len() != sizes.len() || marginals.len() != self.marginals {
            let expected = "one for each position";
            return Err(Error::invalid_parameter("tables to compare", sizes.len(), expected));
        }
        positions
            .iter()
            .zip(sizes)
            .try_for_each(|(marginal, size)| marginals.check(*marginal, size))
    }

    /// Takes the norms of tables into account.
    fn allow<T: Copy + Into<f64> + Sync>(
        &mut self,
        tables: &[impl AsRef<[T]> + Sync],
        scale: f64,
    ) -> Result<()> {
        let norm = |table: &[T]| table.iter().map(|v| (scale * (*v).into()).abs()).sum::<f64>();
        let largest = tables.par_iter().map(|table| norm(table.as_ref())).reduce(|| 0.0, larger);
        if !largest.is_finite() {
            let expected = "finite numbers";
            return Err(Error::invalid_parameter("tables to compare", "others", expected));
        }
        self.largest_table = self.largest_table.max(largest);
        Ok(())
    }

    /// Appends the errors of further marginals.
    ///
    /// # Errors
    /// Errors of another curator.
    pub fn extend(&mut self, further: &Self) -> Result<()> {
        self.source.check_same(&further.source)?;
        self.values.update(&further.values, |own, further| own.extend(further));
        self.marginals += further.marginals;
        self.largest_table = self.largest_table.max(further.largest_table);
        Ok(())
    }

    /// `‖M_r(D) − v_r‖₁` as scores of some marginals r. Sensitivity: 2 under replace-one, 1 under add-remove-one, K for
    /// units.
    ///
    /// # Errors
    /// A position outside the list.
    pub fn plain(&self, marginals: &[usize]) -> Result<Scores> {
        let of = |marginal: &usize| GainOf { marginal: *marginal, weight: 1.0, noise: 0.0 };
        self.gains(Gain::AboveNoise, &marginals.iter().map(of).collect::<Vec<_>>())
    }

    /// `w gain(‖M_r(D) − v_r‖₁, a)` as scores. Sensitivity: that of [`plain`](Self::plain) times the largest `|w|`, as a
    /// gain changes by no more than the error (`docs/theory/sensitivities.md`, section 3).
    ///
    /// # Errors
    /// A position outside the list, or numbers out of range.
    pub fn gains(&self, gain: Gain, candidates: &[GainOf]) -> Result<Scores> {
        candidates.iter().try_for_each(|of| self.check(of.marginal))?;
        let is_number =
            |of: &GainOf| of.weight.is_finite() && of.noise >= 0.0 && of.noise.is_finite();
        if !candidates.iter().all(is_number) {
            let expected = "finite weights, and noise of at least 0";
            return Err(Error::invalid_parameter("scores of gains", "other numbers", expected));
        }
        let scores = self.values.map(|errors| {
            candidates.iter().map(|of| of.weight * gain.of(errors[of.marginal], of.noise)).collect()
        });
        let penalty = candidates.iter().map(|of| of.noise).fold(0.0, f64::max);
        let largest = candidates.iter().map(|of| of.weight.abs()).fold(0.0, f64::max);
        let sensitivity = ScoreSensitivity::l1_error(self.source.relation).less(penalty);
        let sensitivity =
            if candidates.is_empty() { sensitivity } else { sensitivity.weighted(largest)? };
        Ok(Scores::new(&self.source, candidates.len(), sensitivity, self.norm(), scores))
    }

    /// `‖M_r(D) − v_r‖₁ − e_r` as scores, where e is the error of the candidate itself: expected, or that of a public
    /// marginal. Sensitivity: twice that of [`plain`](Self::plain), as both errors may change.
    ///
    /// # Errors
    /// A position outside a list, lists of different curators, or expected errors that are not finite.
    pub fn improvements(&self, candidates: &[ImprovementOf<'_>]) -> Result<Scores> {
        let (mut norm, mut constant) = (self.norm(), 0.0_f64);
        // The lists of the candidates' own errors, each once.
        let mut lists: Vec<&Self> = Vec::new();
        let mut terms: Vec<(usize, Option<usize>, f64)> = Vec::with_capacity(candidates.len());
        for ImprovementOf { marginal, own } in candidates {
            self.check(*marginal)?;
            terms.push(match own {
                OwnError::Expected(expected) => {
                    constant = larger(constant, expected.abs());
                    (*marginal, None, *expected)
                }
                OwnError::Sealed(list) => {
                    list.check(*marginal)?;
                    self.source.check_same(&list.source)?;
                    norm = norm.max(list.norm());
                    let known = lists.iter().position(|known| std::ptr::eq(*known, *list));
                    let at = known.unwrap_or(lists.len());
                    if known.is_none() {
                        lists.push(list);
                    }
                    (*marginal, Some(at), 0.0)
                }
            });
        }
        check_constant(constant)?;
        let none = self.values.map(|errors| (errors.clone(), Vec::new()));
        let sealed = lists.iter().fold(none, |mut sealed, list| {
            sealed.update(&list.values, |(_, lists), list| lists.push(list.clone()));
            sealed
        });
        let scores = sealed.map(|(errors, lists): &(Vec<f64>, Vec<Vec<f64>>)| {
            let own = |(r, list, expected): &(usize, Option<usize>, f64)| {
                list.map_or(*expected, |list| lists[list][*r])
            };
            terms.iter().map(|term| errors[term.0] - own(term)).collect()
        });
        let sensitivity =
            ScoreSensitivity::l1_error_difference(self.source.relation).less(constant);
        Ok(Scores::new(&self.source, candidates.len(), sensitivity, norm, scores))
    }

    /// `c_j − Σ_r a_r ‖M_r(D) − v_jr‖₁` as scores of several models j, each with its own list of errors. Sensitivity: that of
    /// [`plain`](Self::plain), whatever the number of marginals, as the weights sum to 1.
    ///
    /// `shares`: positions r and weights `a_r`, which are not negative and sum to at most 1. `constants`: c, in counts.
    ///
    /// # Errors
    /// No model, weights or constants out of range, lists of different curators, or a position outside a list.
    pub fn minus_means(
        models: &[Self],
        shares: &[(usize, f64)],
        constants: &[f64],
    ) -> Result<Scores> {
        let ([first, ..], true) = (models, models.len() == constants.len()) else {
            let expected = "at least one, and a constant for each";
            return Err(Error::invalid_parameter("models to compare", models.len(), expected));
        };
        let weights: Vec<f64> = shares.iter().map(|(_, share)| *share).collect();
        check_weights(&weights)?;
        check_constant(constants.iter().map(|c| c.abs()).fold(0.0, larger))?;
        let mut scores = first.values.map(|_| Vec::with_capacity(models.len()));
        for (model, constant) in models.iter().zip(constants) {
            shares.iter().try_for_each(|(marginal, _)| model.check(*marginal))?;
            first.source.check_same(&model.source)?;
            scores.update(&model.values, |scores, errors| {
                let errors: Vec<f64> = shares.iter().map(|(r, _)| errors[*r]).collect();
                scores.push(constant - weighted_sum(&weights, &errors));
            });
        }
        let norm = models.iter().map(Self::norm).fold(0.0, f64::max);
        let constant = constants.iter().map(|c| c.abs()).fold(0.0, f64::max);
        let sensitivity =
            ScoreSensitivity::mean_workload_error(first.source.relation).less(constant);
        Ok(Scores::new(&first.source, models.len(), sensitivity, norm, scores))
    }

    /// Their mean with these weights, sealed.
    pub(crate) fn mean(&self, weights: &[f64]) -> Result<Sensitive<Vec<f64>>> {
        check_weights(weights)?;
        if weights.len() != self.marginals {
            let expected = "one for each marginal";
            return Err(Error::invalid_parameter("weights of a mean", weights.len(), expected));
        }
        Ok(self.values.map(|errors| vec![weighted_sum(weights, errors)]))
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    pub(crate) fn into_values(self) -> Sensitive<Vec<f64>> {
        self.values
    }

    fn check(&self, marginal: usize) -> Result<()> {
        if marginal < self.marginals {
            return Ok(());
        }
        let expected = "the position of one that was compared";
        Err(Error::invalid_parameter("marginal", marginal, expected))
    }

    /// A bound on what one distance adds up, in counts.
    fn norm(&self) -> f64 {
        self.source.most_records + self.largest_table
    }
}

/// The larger of two numbers, or one that is not a number.
fn larger(one: f64, other: f64) -> f64 {
    if one.is_nan() || one > other { one } else { other }
}

/// Refuses a constant of scores that is not finite.
fn check_constant(largest: f64) -> Result<()> {
    if largest.is_finite() {
        return Ok(());
    }
    Err(Error::invalid_parameter("constants of scores", largest, "finite"))
}

/// Refuses weights that are not those of a mean.
fn check_weights(weights: &[f64]) -> Result<()> {
    let sum: f64 = weights.iter().sum();
    if weights.iter().all(|weight| *weight >= 0.0) && sum <= 1.0 + ROUNDING {
        return Ok(());
    }
    let expected = "at least 0 each, and at most 1 in all";
    Err(Error::invalid_parameter("weights of a mean", sum, expected))
}

#[cfg(test)]
mod tests;
