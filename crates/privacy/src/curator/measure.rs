//! Measurements by the curator. Every function documents its noise and cost, charges the ledger and draws the noise.

use std::collections::BTreeMap;

use crate::curator::access::{Access, Paid};
use crate::curator::check_clique;
use crate::error::{Error, Result};
use crate::sampler::{DiscreteGaussian, DiscreteLaplace, IntegerNoise, LARGEST_PART};
use crate::select::Selector;
use crate::statistic::GridNoise;
use crate::threshold::threshold;
use crate::{
    CellSet, Curator, Delta, L1Errors, LaplaceMarginal, MarginalSensitivity, NoiseForm,
    NoiseMechanism, NoisyBlocks, NoisyCell, NoisyMarginal, NoisyResidual, NoisyStatistics,
    NoisySum, NoisyValues, Ratio, ResidualQuery, Rho, Scores, Selection, Sensitive, Statistic,
    StatisticSensitivity, residual_cost,
};
use jointly_pgm::data::Tallies;
use jointly_pgm::domain::Clique;

impl Curator<'_> {
    /// Share of the remaining budget spent on the number of records, if it is private: 1/100.
    pub const TOTAL_SHARE: (u64, u64) = (1, 100);

    /// Measures the number of records, if it is private, at a cost of `rho`. Adds discrete Gaussian noise with
    /// σ² = 1/(2ρ), or K²/(2ρ) if neighbors differ by a unit of K records.
    ///
    /// # Errors
    /// Under replace-one, where the number is public; a `rho` of 0 or above what is left.
    pub fn measure_total(&mut self, rho: Rho) -> Result<i64> {
        if self.relation().has_public_total() {
            let expected = "add-remove-one: otherwise the number of records is public";
            return Err(Error::invalid_parameter(
                "neighboring relation",
                self.relation(),
                expected,
            ));
        }
        // A marginal on no attribute.
        let sensitivity = MarginalSensitivity::of(self.relation());
        let (noise, _, mechanism) = gaussian(sensitivity, rho)?;
        let access = Access { purpose: "number of records".to_owned(), ..Access::default() };
        let mut paid = self.pay(access, mechanism, rho)?;
        let records = i64::try_from(paid.data.records()).unwrap_or(i64::MAX >> 1);
        Ok(paid.add(&noise, [records]).swap_remove(0))
    }

    /// The number of records, at least 1: public under replace-one, otherwise measured at a cost of
    /// [`TOTAL_SHARE`](Self::TOTAL_SHARE) of the remaining budget. Every mechanism and command pays for it here.
    ///
    /// # Errors
    /// A share that rounds to 0.
    pub fn total(&mut self) -> Result<f64> {
        if let Some(records) = self.records() {
            return Ok((records as f64).max(1.0));
        }
        let (numerator, denominator) = Self::TOTAL_SHARE;
        let measured = if self.ledger().epsilon_limit().is_some() {
            let left = self.remaining_epsilon()?;
            let own = Ratio::new(left.numerator() * numerator, left.denominator() * denominator)?;
            self.measure_total_laplace(own)?
        } else {
            let own = self.remaining().split(numerator, denominator).unwrap_or_default().0;
            self.measure_total(own)?
        };
        Ok((measured as f64).max(1.0))
    }

    /// As [`measure_total`](Self::measure_total), with discrete Laplace noise of scale Δ₁/ε.
    fn measure_total_laplace(&mut self, epsilon: Ratio) -> Result<i64> {
        let l1_sensitivity = MarginalSensitivity::of(self.relation()).l1();
        let (scale, rho) = laplace_scale(l1_sensitivity, epsilon)?;
        let noise = IntegerNoise::Laplace(DiscreteLaplace::new(scale)?);
        let mechanism = NoiseMechanism::DiscreteLaplace { scale, l1_sensitivity };
        let access = Access { purpose: "number of records".to_owned(), ..Access::default() };
        let mut paid = self.pay(access, mechanism, rho)?;
        let records = i64::try_from(paid.data.records()).unwrap_or(i64::MAX >> 1);
        Ok(paid.add(&noise, [records]).swap_remove(0))
    }

    /// Measures a marginal at a cost of `rho`. Adds discrete Gaussian noise to every cell, with σ² = Δ₂²/(2ρ), which
    /// is 1/ρ under replace-one, 1/(2ρ) under add-remove-one and K²/(2ρ) for units. σ² is at least 2⁻¹¹ Δ₂² for any
    /// budget. The records are counted here, after the charge.
    ///
    /// # Errors
    /// A clique outside the domain, a `rho` of 0 or above what is left, or a failure to count.
    pub fn measure(&mut self, clique: &Clique, rho: Rho) -> Result<NoisyMarginal> {
        let access = self.marginal(clique)?;
        let (noise, variance, mechanism) = gaussian(MarginalSensitivity::of(self.relation()), rho)?;
        let mut paid = self.pay(access, mechanism, rho)?;
        let values = paid.add(&noise, integers(&paid.counts(clique)?));
        Ok(NoisyMarginal { clique: clique.clone(), values, variance })
    }

    /// Measures a marginal of tallies of the records, as [`measure`](Self::measure): each record is in one cell of it.
    ///
    /// `clique`: of the tallies' attributes.
    ///
    /// # Errors
    /// As [`tallied_marginals`](Self::tallied_marginals) and [`measure`](Self::measure).
    pub fn measure_tallied(
        &mut self,
        tallies: &Tallies,
        clique: &Clique,
        rho: Rho,
    ) -> Result<NoisyMarginal> {
        check_clique(tallies.domain(), clique)?;
        let names = clique.iter().map(|a| tallies.domain().name(a).to_owned()).collect();
        let purpose = "marginal of tallies".to_owned();
        let access = Access { purpose, clique: Some(names), ..Access::default() };
        let one_cell_each = MarginalSensitivity::of(self.relation());
        let (noise, variance, mechanism) = gaussian(one_cell_each, rho)?;
        let mut paid = self.pay(access, mechanism, rho)?;
        let tallied = paid.tallied(tallies, clique)?;
        let values = paid.add(&noise, integers(&tallied));
        Ok(NoisyMarginal { clique: clique.clone(), values, variance })
    }

    /// Measures one cell of a marginal at a cost of `rho`. Adds discrete Gaussian noise with σ² = 1/(2ρ) if neighbors
    /// differ by a record, which changes a single count by at most one, and K²/(2ρ) if they differ by a unit. σ² is at
    /// least 2⁻¹¹ for any budget. The records are counted here, after the charge.
    ///
    /// `cell`: row-major over the clique.
    ///
    /// # Errors
    /// As [`measure`](Self::measure), or a cell outside the marginal.
    pub fn measure_cell(&mut self, clique: &Clique, cell: usize, rho: Rho) -> Result<NoisyCell> {
        let access = self.marginal(clique)?;
        if self.domain().cells(clique).is_none_or(|cells| cell as u64 >= cells) {
            let expected = "a cell of the marginal, counted from 0";
            return Err(Error::invalid_parameter("cell to measure", cell, expected));
        }
        let purpose = "cell of a marginal".to_owned();
        let access = Access { purpose, cell: Some(cell as u64), ..access };
        let sensitivity = MarginalSensitivity::one_cell(self.relation());
        let (noise, variance, mechanism) = gaussian(sensitivity, rho)?;
        let mut paid = self.pay(access, mechanism, rho)?;
        let counts = paid.counts(clique)?;
        let value = paid.add(&noise, [i64::from(counts[cell])]).swap_remove(0);
        Ok(NoisyCell { clique: clique.clone(), cell, value, variance })
    }

    /// Measures the marginal on one attribute with its values merged in blocks of `width` consecutive codes, at a cost
    /// of `rho`; the last block may be shorter. One block of all values is the number of records. The noise is that of
    /// [`measure`](Self::measure): every record is in one block, so a table of blocks is a marginal. The records are
    /// counted here, after the charge.
    ///
    /// # Errors
    /// As [`measure`](Self::measure), or a width of 0.
    pub fn measure_blocks(
        &mut self,
        attribute: usize,
        width: usize,
        rho: Rho,
    ) -> Result<NoisyBlocks> {
        if width == 0 {
            return Err(Error::invalid_parameter("width of blocks", width, "at least 1"));
        }
        let clique = Clique::new([attribute]);
        let purpose = format!("marginal in blocks of {width} values");
        let of_blocks = Access { purpose, ..self.marginal(&clique)? };
        let sensitivity = MarginalSensitivity::of(self.relation());
        let (noise, variance, of_noise) = gaussian(sensitivity, rho)?;
        let mut paid = self.pay(of_blocks, of_noise, rho)?;
        let codes = paid.counts(&clique)?;
        let block = |codes: &[u32]| codes.iter().map(|count| i64::from(*count)).sum::<i64>();
        let values = paid.add(&noise, codes.chunks(width).map(block));
        Ok(NoisyBlocks { attribute, width, values, variance })
    }

    /// Measures one number, the records in a set of cells of a marginal, at a cost of `rho`. Adds discrete Gaussian noise
    /// with the variance of [`measure_cell`](Self::measure_cell): a record is in the set or not, so that the number changes
    /// by at most one between neighbors, or by K for units (`docs/theory/sensitivities.md`, section 1). The records are
    /// counted here, after the charge.
    ///
    /// # Errors
    /// As [`measure`](Self::measure), or cells that are not of the marginal.
    pub fn measure_sum(&mut self, clique: &Clique, cells: &CellSet, rho: Rho) -> Result<NoisySum> {
        let purpose = "sum of cells of a marginal".to_owned();
        let of_sum = Access { purpose, cells: Some(cells.clone()), ..self.marginal(clique)? };
        let shape = self.domain().shape(clique);
        cells.check(&shape)?;
        let inside_or_not = MarginalSensitivity::one_cell(self.relation());
        let (noise, variance, of_noise) = gaussian(inside_or_not, rho)?;
        let mut paid = self.pay(of_sum, of_noise, rho)?;
        let counts = paid.counts(clique)?;
        let exact: i64 = cells.cells(&shape).into_iter().map(|cell| i64::from(counts[cell])).sum();
        let value = paid.add(&noise, [exact]).swap_remove(0);
        Ok(NoisySum { clique: clique.clone(), cells: cells.clone(), value, variance })
    }

    /// Measures the values of a column that its schema does not list, at a cost of `rho` and of a probability `delta`. Adds
    /// discrete Gaussian noise to the number of records of every value that occurs, with the variance of
    /// [`measure`](Self::measure), and returns those whose noisy counts reach a threshold T. A value whose records are all of
    /// one neighbor, K at most, reaches it with a probability of at most δ: `K P[noise ≥ T − K] ≤ δ`. But for that event the
    /// result is that of counts of the values that both neighbors have (`docs/theory/sensitivities.md`, section 10).
    ///
    /// `column`: its name, for the ledger. `values`: the texts, each with its number of records among those that the curator holds.
    ///
    /// # Errors
    /// A `rho` of 0 or above what is left, or a δ above [`remaining_delta`](Self::remaining_delta), which is 0 unless the
    /// [budget](crate::Budget::with_threshold_delta) has a part for thresholds.
    pub fn measure_unlisted(
        &mut self,
        column: &str,
        values: Sensitive<BTreeMap<String, u32>>,
        rho: Rho,
        delta: Delta,
    ) -> Result<NoisyValues> {
        let (relation, own) = (self.relation(), MarginalSensitivity::of(self.relation()));
        let (noise, variance, _) = gaussian(own, rho)?;
        let threshold = threshold(relation, variance, delta)?;
        let squared_l2_sensitivity = own.squared_l2();
        let mechanism = NoiseMechanism::ThresholdedGaussian {
            variance,
            squared_l2_sensitivity,
            threshold,
            delta,
            relation,
        };
        let purpose = "values of many records".to_owned();
        let clique = Some(vec![column.to_owned()]);
        let mut paid = self.pay(Access { purpose, clique, ..Access::default() }, mechanism, rho)?;
        // In the order of their texts, which says nothing about the order of the records.
        let values = values.open(&paid);
        let noisy = paid.add(&noise, values.values().map(|count| i64::from(*count)));
        let named = values.into_keys().zip(noisy);
        let is_named = |count: i64| u64::try_from(count).is_ok_and(|count| count >= threshold);
        let values = named.filter(|(_, count)| is_named(*count)).collect();
        Ok(NoisyValues { column: column.to_owned(), values, threshold, variance })
    }

    /// Measures a marginal at a cost of pure ε. Adds discrete Laplace noise to every cell, with scale exactly Δ₁/ε,
    /// which is 2/ε under replace-one, 1/ε under add-remove-one and K/ε for units. The ledger's entry costs ρ = ε²/2,
    /// rounded up. The records are counted here, after the charge.
    ///
    /// `epsilon`: above 0, at most 1024.
    ///
    /// # Errors
    /// A clique outside the domain, an ε out of range or above what is left, or a failure to count.
    pub fn measure_laplace(&mut self, clique: &Clique, epsilon: Ratio) -> Result<LaplaceMarginal> {
        let access = self.marginal(clique)?;
        let l1_sensitivity = MarginalSensitivity::of(self.relation()).l1();
        let (scale, rho) = laplace_scale(l1_sensitivity, epsilon)?;
        let noise = IntegerNoise::Laplace(DiscreteLaplace::new(scale)?);
        let mechanism = NoiseMechanism::DiscreteLaplace { scale, l1_sensitivity };
        let mut paid = self.pay(access, mechanism, rho)?;
        let values = paid.add(&noise, integers(&paid.counts(clique)?));
        Ok(LaplaceMarginal { clique: clique.clone(), values, scale })
    }

    /// Measures residuals together, at a cost of `rho`. Adds discrete Gaussian noise to every cell of every query,
    /// with the query's variance. The records are counted here, after the charge.
    ///
    /// # Errors
    /// No query, queries that cost more than `rho` (by [`residual_cost`]), a `rho` of 0 or above what is left, or a
    /// failure to count.
    pub fn measure_residuals(
        &mut self,
        queries: &[ResidualQuery],
        rho: Rho,
    ) -> Result<Vec<NoisyResidual>> {
        let cliques: Vec<Clique> = queries.iter().map(|query| query.clique().clone()).collect();
        cliques.iter().try_for_each(|clique| self.check_clique(clique))?;
        queries.iter().try_for_each(|query| query.check_domain(self.data.domain()))?;
        let cost = residual_cost(self.domain(), queries, self.relation())?;
        if queries.is_empty() || rho.is_zero() || cost > rho {
            let expected = "above 0, and what the queries' noise costs";
            return Err(Error::invalid_budget("rho of residuals", rho, expected));
        }
        let mechanism = NoiseMechanism::JointDiscreteGaussian {
            queries: queries.len() as u64,
            squared_sensitivity: Ratio::new(cost.units(), 1 << (Rho::UNIT_BITS - 1))?,
            relation: self.relation(),
        };
        let purpose = "residuals of marginals".to_owned();
        let mut paid = self.pay(Access { purpose, ..Access::default() }, mechanism, rho)?;
        let counts = paid.data.project_many(&cliques)?;
        let measured = queries.iter().zip(counts).map(|(query, counts)| {
            let noise = IntegerNoise::Gaussian(*query.noise());
            let values = paid.add(&noise, query.apply(paid.data.domain(), &counts));
            NoisyResidual { query: query.clone(), values }
        });
        Ok(measured.collect())
    }

    /// Measures `‖M_r(D) − v_r‖₁` of marginals together, at a cost of `rho`, as [`measure_statistic`](Self::measure_statistic).
    ///
    /// # Errors
    /// Errors of another curator, no number, more than 2²⁴, or as [`measure_statistic`](Self::measure_statistic).
    pub fn measure_l1_errors(
        &mut self,
        errors: L1Errors,
        form: NoiseForm,
        rho: Rho,
        purpose: &str,
    ) -> Result<NoisyStatistics> {
        errors.source().check(&self.identity)?;
        let sensitivity = StatisticSensitivity::l1_errors(self.relation(), errors.len())?;
        self.measure_values(errors.into_values(), sensitivity, form, rho, purpose)
    }

    /// Measures the mean of such errors, `Σ_r a_r ‖M_r(D) − v_r‖₁`, one number. It changes by no more than one of them.
    ///
    /// `weights`: `a_r`, which are not negative and sum to at most 1.
    ///
    /// # Errors
    /// Errors of another curator, weights out of range, or as [`measure_statistic`](Self::measure_statistic).
    pub fn measure_mean_l1_error(
        &mut self,
        errors: &L1Errors,
        weights: &[f64],
        form: NoiseForm,
        rho: Rho,
        purpose: &str,
    ) -> Result<NoisyStatistics> {
        errors.source().check(&self.identity)?;
        let sensitivity = StatisticSensitivity::mean_l1_error(self.relation())?;
        self.measure_values(errors.mean(weights)?, sensitivity, form, rho, purpose)
    }

    /// Measures real numbers, in counts, together and with the same noise, at a cost of `rho`. Each number is rounded
    /// to a grid of 2⁻⁸ counts and gets exact noise on the grid. The sensitivity includes the rounding, and says how many
    /// numbers there are.
    ///
    /// # Errors
    /// A `rho` of 0, too small for the sampler, or above what is left; a failure to count. After the charge: another number
    /// of values than the sensitivity is of.
    pub fn measure_statistic<S: Statistic>(
        &mut self,
        statistic: &S,
        form: NoiseForm,
        rho: Rho,
        purpose: &str,
    ) -> Result<NoisyStatistics> {
        let sensitivity = statistic.sensitivity(self.relation())?;
        let mut kept = self.marginals(&[])?.counts().map(|_| S::Kept::default());
        for cliques in statistic.batches() {
            let marginals = self.marginals(&cliques)?;
            kept.update(marginals.counts(), |kept, counts| statistic.add(kept, counts));
        }
        let values = kept.map(|kept| statistic.values(kept));
        self.measure_values(values, sensitivity, form, rho, purpose)
    }

    fn measure_values(
        &mut self,
        values: Sensitive<Vec<f64>>,
        sensitivity: StatisticSensitivity,
        form: NoiseForm,
        rho: Rho,
        purpose: &str,
    ) -> Result<NoisyStatistics> {
        let numbers = sensitivity.numbers();
        let (noise, mechanism) = GridNoise::new(sensitivity, form, rho)?;
        let stated = f64::from(sensitivity.steps()) * StatisticSensitivity::GRID;
        self.observe(purpose, stated, &values);
        let purpose = purpose.to_owned();
        let mut paid = self.pay(Access { purpose, ..Access::default() }, mechanism, rho)?;
        let values = GridNoise::steps(&values.open_all(numbers, &paid)?);
        Ok(noise.in_counts(&paid.add(noise.of_steps(), values)))
    }

    /// Selects a candidate at a cost of `rho` and returns the index of its score. Larger scores are more likely. The
    /// exponential mechanism has ε = √(8ρ), permute-and-flip ε = √(2ρ), rounded down.
    ///
    /// Scores are rounded to a grid of 2⁻¹⁶ of the sensitivity. Two steps are added to the sensitivity, to cover the
    /// rounding and floating-point errors of up to half a step in each score (`docs/theory/sensitivities.md`).
    ///
    /// # Errors
    /// No candidate; scores of another curator or relation; scores too large to be as precise as their sensitivity
    /// assumes, which does not depend on the records; a `rho` of 0 or above what is left. After the charge: another number
    /// of scores than of candidates, or a score that is not finite.
    pub fn select(
        &mut self,
        selection: Selection,
        scores: Scores,
        rho: Rho,
        purpose: &str,
    ) -> Result<usize> {
        self.check_selection(&scores)?;
        let selector = Selector::new(selection, rho, scores.sensitivity())?;
        let (candidates, paid) = self.pay_selection(&selector, &scores, rho, purpose)?;
        selector.draw(&scores.into_values().open_all(candidates, &paid)?, paid.noise)
    }

    /// Selects `times` candidates at a cost of `rho` in all, independently and from one distribution: that of the
    /// exponential mechanism with ε = √(8ρ/times), rounded down. Returns the indices of their scores in the order
    /// drawn; a candidate may occur more than once. The ledger gets one entry.
    ///
    /// # Errors
    /// As [`select`](Self::select), and a `times` of 0.
    pub fn select_times(
        &mut self,
        scores: Scores,
        rho: Rho,
        times: u32,
        purpose: &str,
    ) -> Result<Vec<usize>> {
        self.check_selection(&scores)?;
        let selector = Selector::exponential(rho, scores.sensitivity(), times)?;
        let (candidates, paid) = self.pay_selection(&selector, &scores, rho, purpose)?;
        selector.draw_all(&scores.into_values().open_all(candidates, &paid)?, paid.noise)
    }

    /// Refuses a selection among none, scores of another curator or relation, and scores that are not precise.
    fn check_selection(&self, scores: &Scores) -> Result<()> {
        if scores.candidates() == 0 {
            return Err(Error::invalid_parameter("candidates", 0, "at least one"));
        }
        scores.source().check(&self.identity)?;
        if scores.sensitivity().relation() != self.relation() {
            let found = scores.sensitivity().relation();
            let expected = "the curator's";
            return Err(Error::invalid_parameter("relation of a sensitivity", found, expected));
        }
        scores.check_precision()
    }

    /// Charges a selection. Returns the number of candidates.
    fn pay_selection(
        &mut self,
        selector: &Selector,
        scores: &Scores,
        rho: Rho,
        purpose: &str,
    ) -> Result<(usize, Paid<'_>)> {
        let mechanism = selector.noise_mechanism(scores.candidates() as u64)?;
        self.observe(purpose, scores.sensitivity().value(), scores.values());
        let purpose = purpose.to_owned();
        let paid = self.pay(Access { purpose, ..Access::default() }, mechanism, rho)?;
        Ok((scores.candidates(), paid))
    }

    /// The access to a marginal.
    fn marginal(&self, clique: &Clique) -> Result<Access> {
        self.check_clique(clique)?;
        let names = clique.iter().map(|a| self.domain().name(a).to_owned()).collect();
        Ok(Access { purpose: "marginal".to_owned(), clique: Some(names), ..Access::default() })
    }
}

/// Converts counts to the integers of the samplers.
fn integers(counts: &[u32]) -> impl Iterator<Item = i64> + '_ {
    counts.iter().map(|count| i64::from(*count))
}

/// The discrete Gaussian noise that a budget buys: exactly σ² = Δ₂² / (2ρ), but at least `Δ₂² / 2¹¹`. That minimum is
/// more noise than the budget requires, but has no effect on counts.
fn gaussian(
    sensitivity: MarginalSensitivity,
    rho: Rho,
) -> Result<(IntegerNoise, Ratio, NoiseMechanism)> {
    if rho.is_zero() {
        let expected = "above 0: more budget, or fewer measurements";
        return Err(Error::invalid_budget("rho of a measurement", rho, expected));
    }
    let squared_l2_sensitivity = sensitivity.squared_l2();
    let numerator = u64::from(squared_l2_sensitivity) << (Rho::UNIT_BITS - 1);
    let variance = Ratio::new(numerator, rho.units().min(LARGEST_PART))?;
    let noise = IntegerNoise::Gaussian(DiscreteGaussian::new(variance)?);
    Ok((noise, variance, NoiseMechanism::DiscreteGaussian { variance, squared_l2_sensitivity }))
}

/// The scale `Δ₁/ε` of Laplace noise, exactly, and its cost `ε²/2`, rounded up.
fn laplace_scale(l1_sensitivity: u32, epsilon: Ratio) -> Result<(Ratio, Rho)> {
    let refused = || {
        let expected = "above 0 and at most 1024, in parts of at most 2^40";
        Error::invalid_budget("epsilon of a measurement", epsilon, expected)
    };
    let (numerator, denominator) = (epsilon.numerator(), epsilon.denominator());
    if numerator == 0 || denominator > 1 << 40 || numerator.div_ceil(denominator) > 1024 {
        return Err(refused());
    }
    let scale = Ratio::new(u64::from(l1_sensitivity) * denominator, numerator)?;
    // ε² · 2³⁹ / 1, in units of 2⁻⁴⁰: at most 2⁵⁰ · 2⁵⁰ · 2³⁹ before the division.
    let square = u128::from(numerator).pow(2).checked_mul(1 << (Rho::UNIT_BITS - 1));
    let units = square.map(|square| square.div_ceil(u128::from(denominator).pow(2)));
    let units = units.and_then(|units| u64::try_from(units).ok()).ok_or_else(refused)?;
    Ok((scale, Rho::from_units(units)))
}
