//! Fits to tables of counts of which more or less is known: noisy, exact, rounded or suppressed ones.

use std::sync::Arc;

use crate::data::Dataset;
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::estimation::{
    AcceleratedBregman, Certificate, Estimator, MarginalLoss, Misfit, Stopping, UnderTotals,
};
use crate::inference::{BeliefPropagation, ListedRecords, MarginalOracle};
use crate::measurement::Measurement;
use crate::table::{CliqueLayout, Potentials, Totals, cell_name};

/// What is known of one table of counts.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// Its counts with noise, or those of one cell.
    Noisy(Measurement),
    /// Its counts. A fit has them exactly.
    Exact {
        /// The attributes.
        clique: Clique,
        /// Counts, row-major over the sorted attributes.
        values: Vec<f64>,
    },
    /// Two numbers that each of its counts lies between, which may be infinite. Rounded counts are such, and suppressed ones.
    Between {
        /// The attributes.
        clique: Clique,
        /// The least that each count may be, row-major over the sorted attributes.
        least: Vec<f64>,
        /// The most that each count may be.
        most: Vec<f64>,
    },
}

impl Target {
    /// Counts that differ from the true ones by no more than `by`: half of the base, if they are rounded to the nearest
    /// multiple of a base, and the base less 1, if they are rounded up or down at random.
    pub fn rounded(clique: Clique, values: &[f64], by: f64) -> Self {
        let least = values.iter().map(|value| (value - by).max(0.0)).collect();
        let most = values.iter().map(|value| value + by).collect();
        Self::Between { clique, least, most }
    }

    /// The attributes.
    pub fn clique(&self) -> &Clique {
        match self {
            Self::Noisy(measurement) => &measurement.clique,
            Self::Exact { clique, .. } | Self::Between { clique, .. } => clique,
        }
    }

    /// By how much each count of a table is off: positive above what is known of it, negative below, 0 where nothing says
    /// otherwise.
    ///
    /// `table`: counts, row-major over the target's attributes.
    pub fn off(&self, table: &[f64]) -> Vec<f64> {
        match self {
            Self::Noisy(Measurement { cell: Some(cell), values, .. }) => {
                let mut off = vec![0.0; table.len()];
                off[*cell] = table[*cell] - values[0];
                off
            }
            Self::Noisy(Measurement { values, .. }) | Self::Exact { values, .. } => {
                table.iter().zip(values).map(|(found, value)| found - value).collect()
            }
            Self::Between { least, most, .. } => {
                let ends = least.iter().zip(most);
                table
                    .iter()
                    .zip(ends)
                    .map(|(found, (least, most))| found - found.clamp(*least, *most))
                    .collect()
            }
        }
    }

    /// The estimate of the number of all records, and its variance; `None` if it has none.
    fn records(&self) -> Option<(f64, f64)> {
        match self {
            Self::Noisy(Measurement { cell: Some(_), .. }) | Self::Exact { .. } => None,
            Self::Noisy(Measurement { values, stddev, .. }) => {
                let variance = if *stddev > 0.0 { stddev * stddev } else { 1.0 };
                Some((values.iter().sum(), variance * values.len() as f64))
            }
            Self::Between { least, most, .. } => {
                let cells = least.iter().zip(most);
                let sums = cells.fold((0.0, 0.0), |(sum, variance), (least, most)| {
                    (sum + 0.5 * (least + most), variance + variance_between(*least, *most))
                });
                sums.0.is_finite().then_some(sums)
            }
        }
    }
}

/// Variance of a number spread evenly between two whole numbers, their halves included.
fn variance_between(least: f64, most: f64) -> f64 {
    let width = if (most - least).is_finite() { most - least } else { 0.0 };
    (width + 1.0).powi(2) / 12.0
}

/// Tables of one domain that a distribution is to be fitted to.
///
/// The fit minimizes `½ Σ_r Σ_c (μ_rc − y_rc)²/σ_r²` over noisy counts y with standard deviations σ (1 for measurements without
/// noise), among the distributions in which exact counts hold ([`UnderTotals`]) and all others are inside their intervals. Of the
/// distributions with the fitted marginals it is the one of maximum entropy. Where no distribution has all
/// intervals, it comes as near as it can: compare [`Target::off`].
///
/// ```
/// use jointly_pgm::{Clique, Domain, MarkovRandomField, estimation::{Target, Targets}};
/// let domain = Domain::new([("age", 2), ("work", 2)])?;
/// let ages = Target::Exact { clique: Clique::new([0]), values: vec![62.0, 38.0] };
/// // Published in fives.
/// let both = Target::rounded(Clique::new([0, 1]), &[45.0, 15.0, 30.0, 10.0], 2.5);
/// let (model, certificate) = MarkovRandomField::fit_to(&Targets::new(&domain, [ages, both], None)?)?;
/// let found = &model.marginals(&[Clique::new([0, 1])])?[0];
/// assert!((found.values()[0] + found.values()[1] - 62.0).abs() < 1e-6);
/// assert!(found.values().iter().zip([45.0, 15.0, 30.0, 10.0]).all(|(m, y)| (m - y).abs() < 2.51));
/// assert!(certificate.gap() < 1e-3);
/// # Ok::<(), jointly_pgm::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Targets {
    domain: Domain,
    totals: Option<Totals>,
    loss: Option<TargetLoss>,
    total: f64,
}

impl Targets {
    /// `total`: the number of records; `None` for that of the exact tables, or what the others say.
    ///
    /// # Errors
    /// No table, tables of another size than their clique's, numbers that are not finite, exact tables that disagree
    /// ([`Totals::new`]), intervals for the same cell without a number in common, or a total that is not positive, is not known,
    /// or is not that of the exact tables.
    pub fn new(
        domain: &Domain,
        targets: impl IntoIterator<Item = Target>,
        total: Option<f64>,
    ) -> Result<Self> {
        let mut targets: Vec<Target> = targets.into_iter().collect();
        if targets.is_empty() {
            return Err(Error::invalid_specification("the targets", "no table", "at least one"));
        }
        let mut exact = Vec::new();
        targets.retain(|target| match target {
            Target::Exact { clique, values } => {
                exact.push((clique.clone(), values.clone()));
                false
            }
            _ => true,
        });
        let totals = (!exact.is_empty()).then(|| Totals::new(domain, exact)).transpose()?;
        let known = totals.as_ref().map(Totals::total);
        if let Some((known, total)) = known.zip(total) {
            if (known - total).abs() > 1e-9 * known {
                let (found, expected) =
                    (total.to_string(), format!("{known}, as in the exact tables"));
                return Err(Error::invalid_specification("the number of records", found, expected));
            }
        }
        let total = match known.or(total) {
            Some(total) if total > 0.0 && total.is_finite() => total,
            Some(total) => {
                return Err(Error::invalid_parameter(
                    "total",
                    total,
                    "a positive number of records",
                ));
            }
            None => estimated(&targets)?,
        };
        if let Some(totals) = &totals {
            for target in &mut targets {
                if let Target::Noisy(Measurement { clique, cell: None, values, .. }) = target {
                    totals.adjust(domain, clique, values)?;
                }
            }
        }
        let loss = (!targets.is_empty()).then(|| TargetLoss::new(domain, &targets)).transpose()?;
        Ok(Self { domain: domain.clone(), totals, loss, total })
    }

    /// The number of records.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The exact tables.
    pub fn totals(&self) -> Option<&Totals> {
        self.totals.as_ref()
    }

    /// The tables of which some counts are known to be above 0, with the least that each count may be: exact ones, and
    /// intervals.
    pub fn least(&self) -> Vec<(Clique, Vec<f64>)> {
        let exact = self.totals.iter().flat_map(|totals| {
            let cliques = totals.layout().cliques().iter().enumerate();
            cliques.map(|(table, clique)| (clique.clone(), totals.table(table).to_vec()))
        });
        let between = self.loss.iter().flat_map(|loss| {
            let of_table = |(table, clique): (usize, &Clique)| {
                let cells = loss.cells[loss.layout.range(table)].iter();
                (clique.clone(), cells.map(|cell| cell.least.max(0.0)).collect())
            };
            loss.layout.cliques().iter().enumerate().map(of_table)
        });
        let is_known = |(_, counts): &(Clique, Vec<f64>)| counts.iter().any(|count| *count > 0.0);
        exact.chain(between).filter(is_known).collect()
    }

    /// The attributes.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// All cliques: of the loss, then of the exact tables.
    ///
    /// # Errors
    /// Tables whose cells do not fit the memory's address range.
    pub fn layout(&self) -> Result<Arc<CliqueLayout>> {
        let own = self.measured()?;
        match &self.totals {
            Some(totals) => UnderTotals::<BeliefPropagation>::layout(&self.domain, &own, totals),
            None => Ok(own),
        }
    }

    fn measured(&self) -> Result<Arc<CliqueLayout>> {
        match &self.loss {
            Some(loss) => Ok(Arc::clone(&loss.layout)),
            None => CliqueLayout::new(&self.domain, []),
        }
    }

    /// The potentials, on [`layout`](Self::layout), of the distribution of maximum entropy that is nearest to the targets, or of
    /// the nearest one to that of the oracle, and what is known of the fit.
    ///
    /// # Errors
    /// What the oracle reports; exact tables that no distribution has.
    pub(crate) fn potentials<O: MarginalOracle>(
        &self,
        oracle: &O,
    ) -> Result<(Potentials, Certificate)> {
        let Some(totals) = &self.totals else {
            let nothing =
                || Error::invalid_specification("the targets", "no table", "at least one");
            return self.estimate(self.loss.as_ref().ok_or_else(nothing)?, oracle);
        };
        let measured = self.measured()?;
        let oracle = UnderTotals::new(&self.domain, oracle, &measured, totals)?;
        let (potentials, certificate) = match &self.loss {
            Some(loss) => self.estimate(loss, &oracle)?,
            None => (Potentials::zeros(&measured), certificate(0.0, 0.0, 0.0)),
        };
        Ok((oracle.potentials(&potentials)?, certificate))
    }

    /// The fit to what is not exact, by the method of multipliers: where noisy counts pull a fitted one out of its interval, the
    /// ends are moved inwards by as much, until it is inside.
    fn estimate<O: MarginalOracle>(
        &self,
        loss: &TargetLoss,
        oracle: &O,
    ) -> Result<(Potentials, Certificate)> {
        let method = AcceleratedBregman { stopping: STOPPING, ..Default::default() };
        let mut moved = loss.clone();
        let mut fit = method.estimate(oracle, loss, self.total, None)?;
        for _ in 0..MOVES {
            if !moved.move_ends(fit.marginals.values()) {
                break;
            }
            fit = method.estimate(oracle, &moved, self.total, Some(&fit.potentials))?;
        }
        let found = loss.misfit(fit.marginals.values()).value;
        let lower_bound = fit.lower_bound - moved.of_moves();
        Ok((fit.potentials, certificate(found, lower_bound, loss.noise)))
    }

    /// The weights of listed records, nearest to given ones in relative entropy, under which they have the exact tables and are
    /// nearest to the others, with what is known of the fit. Their sum is [`total`](Self::total). The lower bound is that of
    /// the loss alone: which records are listed limits how near they come.
    ///
    /// # Errors
    /// As [`ListedRecords::new`]; exact tables that no weights of these records have.
    pub fn weights(&self, rows: &Dataset, weights: &[f64]) -> Result<(Vec<f64>, Certificate)> {
        let listed = ListedRecords::new(rows, weights, &self.layout()?)?;
        let (potentials, certificate) = self.potentials(&listed)?;
        let (fitted, _) = listed.weights(&potentials)?;
        let scale = self.total / fitted.iter().sum::<f64>();
        Ok((fitted.into_iter().map(|weight| scale * weight).collect(), certificate))
    }
}

fn certificate(loss: f64, lower_bound: f64, noise: f64) -> Certificate {
    Certificate { loss, least_loss: loss, lower_bound, noise, excess: 0.0 }
}

/// Most times that the ends of intervals are moved.
const MOVES: u32 = 20;
/// A count is inside its interval if it is off by no more than this share of the interval's width.
const INSIDE: f64 = 0.01;

/// A fit to targets is made once, and is worth its time.
const STOPPING: Stopping = Stopping {
    iterations: 20_000,
    relative_decrease: 1e-8,
    marginal_share: 1e-8,
    noise_share: 1e-6,
    agreement: -1.0,
    certified_share: 1e-3,
};

/// The number of records, of tables without an exact one: the mean of their sums weighted by their precision, within the
/// sums of all ends of intervals.
fn estimated(targets: &[Target]) -> Result<f64> {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (records, variance) in targets.iter().filter_map(Target::records) {
        sum += records / variance;
        weights += 1.0 / variance;
    }
    let (mut least, mut most) = (0.0_f64, f64::INFINITY);
    for target in targets {
        if let Target::Between { least: own_least, most: own_most, .. } = target {
            least = least.max(own_least.iter().sum());
            most = most.min(own_most.iter().sum());
        }
    }
    let total = if weights > 0.0 { (sum / weights).min(most).max(least) } else { least };
    if total > 0.0 && total.is_finite() {
        return Ok(total);
    }
    let expected = "a whole table with counts, or the number of records";
    Err(Error::invalid_specification("the targets", format!("{total} records"), expected))
}

/// The loss of noisy counts and intervals,
///
/// ```text
/// L(μ) = ½ Σ_r Σ_c (μ_rc − y_rc)²/σ_r²  +  ½ Σ_e Σ_c e_ec d(μ_ec, [l_ec, u_ec])²
/// ```
///
/// where d is the distance from an interval. The weight of its ends is inversely proportional to the counts there, as large as
/// that of the most precise noisy counts in this geometry; [`Targets`] moves the ends until intervals hold.
#[derive(Clone, Debug)]
pub struct TargetLoss {
    layout: Arc<CliqueLayout>,
    /// What is known of each cell.
    cells: Vec<Cell>,
    /// The largest curvature of each table.
    curvatures: Vec<f64>,
    /// The sum of the largest curvatures relative to the entropy, about, for one record.
    relative: f64,
    /// Differences between noisy counts of the same cell.
    constant: f64,
    noise: f64,
}

/// What is known of a cell.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// The mean of its noisy counts, weighted by their precision, ...
    mean: f64,
    /// ... and its precision.
    precision: f64,
    least: f64,
    most: f64,
    /// Precision of the interval's ends.
    edge: f64,
    /// By how much the interval is moved: the multiplier of the ends, divided by their precision.
    moved: f64,
}

impl Cell {
    const UNKNOWN: Self = Self {
        mean: 0.0,
        precision: 0.0,
        least: f64::NEG_INFINITY,
        most: f64::INFINITY,
        edge: 0.0,
        moved: 0.0,
    };

    /// How far a count is outside the moved interval.
    fn outside(&self, mu: f64) -> f64 {
        let at = mu + self.moved;
        at - at.clamp(self.least, self.most)
    }

    /// A count that agrees with all that is known, about.
    fn expected(&self) -> f64 {
        if self.precision > 0.0 {
            return self.mean.max(1.0);
        }
        let middle = 0.5 * (self.least + self.most);
        if middle.is_finite() { middle.max(1.0) } else { self.least.max(1.0) }
    }

    /// The part of a slope g that is of the noisy counts, at the count where the cell's loss has this slope.
    fn noisy_part(&self, g: f64) -> f64 {
        if self.precision == 0.0 {
            return 0.0;
        }
        let inside = self.mean + g / self.precision;
        let off = self.outside(inside);
        if off == 0.0 {
            return g;
        }
        let end = inside - off;
        let count =
            (g + self.precision * self.mean + self.edge * end) / (self.precision + self.edge);
        self.precision * (count - self.mean)
    }
}

impl TargetLoss {
    /// The loss of targets that are not exact; its cliques are theirs.
    ///
    /// # Errors
    /// As [`Targets::new`].
    fn new(domain: &Domain, targets: &[Target]) -> Result<Self> {
        let layout =
            CliqueLayout::new(domain, targets.iter().map(|target| target.clique().clone()))?;
        let mut cells = vec![Cell::UNKNOWN; layout.cells()];
        let (mut constant, mut noise_variance) = (0.0, 0.0);
        for target in targets {
            let clique = target.clique();
            let index = layout.position(clique).unwrap_or(0);
            let own = &mut cells[layout.range(index)];
            let size = own.len();
            let checked = |found: usize, expected: usize| {
                let clique = domain.describe(clique);
                if found == expected {
                    Ok(())
                } else {
                    Err(Error::ShapeMismatch { clique, expected, found })
                }
            };
            let name = |cell: usize| cell_name(domain, clique, layout.shape(index), cell);
            let place = || format!("the counts of {}", domain.describe(clique));
            match target {
                Target::Noisy(Measurement { cell, values, stddev, .. }) => {
                    checked(values.len(), if cell.is_some() { 1 } else { size })?;
                    if cell.is_some_and(|cell| cell >= size) {
                        return Err(Error::invalid_specification(
                            place(),
                            "a cell outside the table",
                            "a cell",
                        ));
                    }
                    let precision = if *stddev > 0.0 { 1.0 / (stddev * stddev) } else { 1.0 };
                    if !(precision.is_finite() && values.iter().all(|value| value.is_finite())) {
                        return Err(Error::invalid_specification(
                            place(),
                            "numbers that are not finite",
                            "finite counts",
                        ));
                    }
                    for (own, value) in own[cell.unwrap_or(0)..].iter_mut().zip(values) {
                        let together = own.precision + precision;
                        let off = value - own.mean;
                        // What two noisy counts of a cell differ by is no model's fault.
                        constant += 0.5 * precision * own.precision / together * off * off;
                        own.mean += precision / together * off;
                        own.precision = together;
                    }
                    if *stddev > 0.0 {
                        noise_variance += 0.5 * values.len() as f64;
                    }
                }
                Target::Between { least, most, .. } => {
                    checked(least.len(), size)?;
                    checked(most.len(), size)?;
                    for (cell, (own, (least, most))) in
                        own.iter_mut().zip(least.iter().zip(most)).enumerate()
                    {
                        let (low, high) = (own.least.max(*least), own.most.min(*most));
                        if low.is_nan() || high.is_nan() || low > high {
                            let found = format!("{least} to {most} in {}", name(cell));
                            let expected = format!(
                                "some of {} to {}, as another table says",
                                own.least, own.most
                            );
                            return Err(Error::invalid_specification(place(), found, expected));
                        }
                        (own.least, own.most) = (low, high);
                        own.edge = 1.0;
                    }
                }
                Target::Exact { .. } => {}
            }
        }
        // Relative to the entropy, a cell's curvature is its weight times its count: the same for all ends, and no less than that
        // of any noisy count.
        let of_noise = |cell: &Cell| cell.precision * cell.expected();
        let largest = cells.iter().map(of_noise).fold(0.0, f64::max);
        let largest = if largest > 0.0 { largest } else { 1.0 };
        for cell in cells.iter_mut().filter(|cell| cell.edge > 0.0) {
            cell.edge = largest / cell.expected();
        }
        let curvature = |of_cell: &dyn Fn(&Cell) -> f64| -> Vec<f64> {
            let of_table =
                |index: usize| cells[layout.range(index)].iter().map(of_cell).fold(0.0, f64::max);
            (0..layout.cliques().len()).map(of_table).collect()
        };
        let curvatures = curvature(&|cell| cell.precision + cell.edge);
        let relative =
            curvature(&|cell| (cell.precision + cell.edge) * cell.expected()).iter().sum();
        Ok(Self { layout, cells, curvatures, relative, constant, noise: noise_variance.sqrt() })
    }

    /// Moves the ends that counts are outside of by as much; false if none has noisy counts to hold out against, or all are inside
    /// already.
    fn move_ends(&mut self, mu: &[f64]) -> bool {
        let is_inside = |(cell, mu): (&Cell, &f64)| {
            let width = (cell.most - cell.least).min(*mu) + 1.0;
            (mu - mu.clamp(cell.least, cell.most)).abs() <= INSIDE * width
        };
        if self.noise == 0.0 || self.cells.iter().zip(mu).all(is_inside) {
            return false;
        }
        self.cells.iter_mut().zip(mu).for_each(|(cell, mu)| cell.moved = cell.outside(*mu));
        true
    }

    /// `½ Σ e s²` of the moves s: a fit inside all intervals has no more than this of the loss with moved ends.
    fn of_moves(&self) -> f64 {
        self.cells.iter().map(|cell| 0.5 * cell.edge * cell.moved * cell.moved).sum()
    }
}

impl MarginalLoss for TargetLoss {
    fn layout(&self) -> &Arc<CliqueLayout> {
        &self.layout
    }

    fn misfit(&self, mu: &[f64]) -> Misfit {
        let of_cell = |(cell, mu): (&Cell, &f64)| {
            let (off, outside) = (mu - cell.mean, cell.outside(*mu));
            cell.precision * off * off + cell.edge * outside * outside
        };
        let value = self.constant + 0.5 * self.cells.iter().zip(mu).map(of_cell).sum::<f64>();
        Misfit { value, excess: f64::INFINITY }
    }

    fn gradient(&self, mu: &[f64], gradient: &mut [f64]) {
        for ((g, cell), mu) in gradient.iter_mut().zip(&self.cells).zip(mu) {
            *g = cell.precision * (mu - cell.mean) + cell.edge * cell.outside(*mu);
        }
    }

    fn smoothness(&self) -> f64 {
        self.curvatures.iter().sum()
    }

    fn first_smoothness(&self, total: f64) -> f64 {
        total * self.relative
    }

    fn largest_weight(&self) -> f64 {
        self.curvatures.iter().copied().fold(0.0, f64::max)
    }

    fn noise(&self) -> f64 {
        self.noise
    }

    fn floor(&self) -> f64 {
        self.constant
    }

    /// Of a cell with an interval the conjugate is `max {g μ: l <= μ + s <= u} + g²/(2 e)`, with ends moved by s. A cell with both is a sum, for which any
    /// division of g between them gives a bound: it is divided as at the count where g is the slope, which is the best for
    /// this length of g.
    fn dual_parts(&self, g: &[f64]) -> Option<(f64, f64)> {
        let (mut along, mut squares) = (0.0, 0.0);
        for (g, cell) in g.iter().zip(&self.cells).filter(|(g, _)| **g != 0.0) {
            let noisy = cell.noisy_part(*g);
            if noisy != 0.0 {
                along += noisy * cell.mean;
                squares += noisy * noisy / cell.precision;
            }
            let rest = g - noisy;
            if rest != 0.0 {
                along += rest * (if rest > 0.0 { cell.most } else { cell.least } - cell.moved);
                squares += rest * rest / cell.edge;
            }
        }
        (along.is_finite() && squares.is_finite()).then_some((along, squares))
    }
}

#[cfg(test)]
mod tests;
