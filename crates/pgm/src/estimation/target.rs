//! Fits to tables of counts of which more or less is known: noisy, exact, rounded or suppressed ones.

use std::sync::Arc;

use crate::data::Dataset;
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::estimation::{
    AcceleratedBregman, Certificate, Estimator, MarginalLoss, Misfit, Stopping, TargetLoss,
    UnderTotals,
};
use crate::inference::{BeliefPropagation, ListedRecords, MarginalOracle};
use crate::measurement::Measurement;
use crate::table::{CliqueLayout, Potentials, Totals};

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
    /// ([`Totals::new`]), intervals for the same cell without a number in common, a total that is not positive, is not known,
    /// or is not that of the exact tables, or noisy counts of less than half or more than twice as many records as the exact ones.
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
        if let Some((known, total)) = known.zip(total)
            && (total.is_nan() || (known - total).abs() > 1e-9 * known)
        {
            let expected = format!("{known}, as in the exact tables");
            let place = "the number of records";
            return Err(Error::invalid_specification(place, total.to_string(), expected));
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
            check_records(domain, &targets, total)?;
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
            let cliques = loss.layout().cliques().iter().enumerate();
            cliques.map(|(table, clique)| (clique.clone(), loss.least(table)))
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
            Some(loss) => Ok(Arc::clone(loss.layout())),
            None => CliqueLayout::new(&self.domain, []),
        }
    }

    /// The potentials, on [`layout`](Self::layout), of a distribution that is nearest to the targets, and of those with its
    /// marginals nearest to that of the oracle, and what is known of the fit.
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
        let mut fit = method.estimate(oracle, loss, self.total, None)?;
        let of_any = fit.lower_bound;
        let mut moved = loss.clone();
        for _ in 0..MOVES {
            if loss.noise() == 0.0 || loss.is_inside(fit.marginals.values()) {
                break;
            }
            moved.move_ends(fit.marginals.values());
            fit = method.estimate(oracle, &moved, self.total, Some(&fit.potentials))?;
        }
        let mu = fit.marginals.values();
        // Of the distributions inside all intervals, if the fit is one, and otherwise of all.
        let is_inside = loss.is_inside(mu);
        let lower_bound = if is_inside { fit.lower_bound - moved.of_moves() } else { of_any };
        let Misfit { value, excess } = loss.misfit(mu);
        let found = certificate(value, lower_bound, loss.noise());
        Ok((fit.potentials, Certificate { excess, ..found }))
    }

    /// The weights of listed records, nearest to given ones in relative entropy, under which they have the exact tables and are
    /// nearest to the others, with what is known of the fit. Their sum is [`total`](Self::total). The lower bound is one for all
    /// weights of these records.
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

/// A fit to targets is made once, and is worth its time.
const STOPPING: Stopping = Stopping {
    iterations: 20_000,
    relative_decrease: 1e-8,
    marginal_share: 1e-10,
    noise_share: 1e-6,
    agreement: -1.0,
    certified_share: 1e-3,
};

/// Refuses noisy tables that cannot be of the records that exact tables count, such as those of a sample beside totals of its
/// population.
fn check_records(domain: &Domain, targets: &[Target], total: f64) -> Result<()> {
    for target in targets {
        let (Target::Noisy(Measurement { clique, .. }), Some((records, variance))) =
            (target, target.records())
        else {
            continue;
        };
        let off = (records - total).abs();
        if off > FAR_OFF * variance.sqrt() && !(0.5 * total..=2.0 * total).contains(&records) {
            let place = format!("the noisy counts of {}", domain.describe(clique));
            let expected = format!(
                "about {total:.0}, as in the exact tables: counts of a sample and totals of its population cannot be fitted together"
            );
            return Err(Error::invalid_specification(
                place,
                format!("{records:.0} records"),
                expected,
            ));
        }
    }
    Ok(())
}

/// Standard deviations from the number of records at which noise does not explain the sum of a table.
const FAR_OFF: f64 = 10.0;

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

#[cfg(test)]
mod tests;
