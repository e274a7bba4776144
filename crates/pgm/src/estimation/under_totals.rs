//! Inference among the distributions whose marginals are known totals.

use std::sync::Arc;

use crate::data::Dataset;
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::estimation::quasi_newton::Memory;
use crate::inference::{ListedRecords, MarginalOracle, check_layout};
use crate::table::{
    CliqueLayout, Marginals, Potentials, Projection, Totals, cell_name, first_largest,
};

/// The oracle of the distributions `p ~ p₀ exp(Σ_r θ_r + Σ_e λ_e)` that have given totals exactly, where p₀ is that of another
/// oracle: for every θ the multipliers λ are those with which the marginals on the totals' cliques are the totals. That is the
/// I-projection of the distribution of θ on all that have them (Csiszár 1975). Its log-partition value is
/// `A(θ) = min_λ { A₀(θ + λ) − <λ, t>/N }`.
///
/// With it, every estimator fits measurements *under* totals: mirror steps, tests of steps, pull and certificate are the
/// same, and so are their proofs (`docs/theory/totals.md`).
///
/// ```
/// use jointly_pgm::{Clique, Domain, Measurement, table::{CliqueLayout, Totals}};
/// use jointly_pgm::estimation::{AcceleratedBregman, Estimator, SquaredLoss, UnderTotals, Weighting};
/// use jointly_pgm::inference::BeliefPropagation;
/// let domain = Domain::new([("sex", 2), ("work", 2)])?;
/// let totals = Totals::new(&domain, [(Clique::new([0]), vec![52.0, 48.0])])?;
/// let noisy = [Measurement::new(Clique::new([0, 1]), vec![30.0, 16.0, 20.0, 30.0], 2.0)];
/// let loss = SquaredLoss::new(&domain, &noisy, Weighting::InverseVariance)?;
/// let layout = UnderTotals::<BeliefPropagation>::layout(&domain, loss.layout(), &totals)?;
/// let oracle = UnderTotals::new(&domain, BeliefPropagation::new(&domain, &layout), loss.layout(), &totals)?;
/// let fit = AcceleratedBregman::default().estimate(&oracle, &loss, totals.total(), None)?;
/// let women = fit.marginals.table(0)[..2].iter().sum::<f64>();
/// assert!((women - 52.0).abs() < 1e-6);
/// # Ok::<(), jointly_pgm::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct UnderTotals<O> {
    /// p₀, over all cliques.
    oracle: O,
    domain: Domain,
    measured: Arc<CliqueLayout>,
    totals: Totals,
    all: Arc<CliqueLayout>,
    /// Positions of the totals' cliques among all.
    positions: Vec<usize>,
    levels: Vec<Level>,
    /// The curvature of A in each multiplier, about: the share of the records in its cell.
    curvature: Vec<f64>,
}

/// What a measured table shares with the totals: a function of it makes no difference, as the multipliers undo it.
#[derive(Clone, Debug)]
struct Level {
    measured: usize,
    walk: Projection,
    /// The totals of what is shared, as shares of the records.
    shares: Vec<f64>,
}

/// Scratch of [`UnderTotals`], with the multipliers of the last call, from which the next one starts.
#[derive(Debug)]
pub struct UnderTotalsWorkspace<W> {
    inner: W,
    /// θ without what the multipliers undo.
    leveled: Vec<f64>,
    /// θ + λ.
    theta: Potentials,
    mu: Marginals,
    tried: Marginals,
    /// Multipliers, table after table of the totals; those of a total of 0 do not matter.
    lambda: Vec<f64>,
    trial: Vec<f64>,
    /// The curvature of A in the multipliers, from all updates so far: it changes little from call to call.
    memory: Memory,
    /// The largest potential of the last call: how sharp the distributions of this fit are.
    sharpness: f64,
}

/// Marginals have their totals if they differ by no more than this share of all records (L1 norm): during a fit, ...
const WITHIN: f64 = 1e-7;
/// ... and at its end.
const EXACT: f64 = 1e-9;
/// Values within this share of each other are the same but for rounding.
const FLAT: f64 = 1e-13;
/// Nearer than this, multipliers move by Newton's method with the curvature that was seen, further away by proportional
/// fitting.
const NEAR: f64 = 0.1;
/// Moves by Newton's method that are remembered.
const PAIRS: usize = 40;
/// The least share of such a move that is tried.
const NEWTON_LEAST: f64 = 0.05;
/// Most updates of the multipliers. A hundred are rare where totals overlap little; near the limit totals contradict each
/// other, or the domain's impossible combinations.
const UPDATES: u32 = 5000;
/// Updates for an upper bound, which holds with any multipliers.
const UPDATES_OF_BOUND: u32 = 20;
/// Multiples that are tried for such a bound, ...
const SHARPER: u32 = 8;
/// ... each this many times the one before.
const SHARPENED: f64 = 3.0;
/// After the last update, a difference below this share of all records is small enough for the fit to go on.
const NEARLY: f64 = 1e-6;

impl<O: MarginalOracle> UnderTotals<O> {
    /// The cliques that the other oracle must have: the measured ones, which come first, and those of the totals.
    ///
    /// # Errors
    /// Totals over another domain, or tables whose cells do not fit the memory's address range.
    pub fn layout(
        domain: &Domain,
        measured: &CliqueLayout,
        totals: &Totals,
    ) -> Result<Arc<CliqueLayout>> {
        totals.check(domain)?;
        let cliques = measured.cliques().iter().chain(totals.layout().cliques());
        CliqueLayout::new(domain, cliques.cloned())
    }

    /// `oracle`: that of p₀, on the cliques of [`UnderTotals::layout`].
    ///
    /// # Errors
    /// As [`UnderTotals::layout`].
    pub fn new(
        domain: &Domain,
        oracle: O,
        measured: &Arc<CliqueLayout>,
        totals: &Totals,
    ) -> Result<Self> {
        let all = Self::layout(domain, measured, totals)?;
        let cliques = totals.layout().cliques().iter();
        let positions: Vec<usize> = cliques.filter_map(|clique| all.position(clique)).collect();
        let level = |(position, clique): (usize, &Clique)| {
            let cells = |table: &usize| {
                domain.cells(&totals.layout().cliques()[*table].intersection(clique))
            };
            let table = (0..positions.len()).max_by_key(cells)?;
            let shared = totals.layout().cliques()[table].intersection(clique);
            let shares = totals.marginal(table, domain, &shared);
            Some(Level {
                measured: position,
                walk: Projection::between(clique, measured.shape(position), &shared),
                shares: shares.into_iter().map(|t| t / totals.total()).collect(),
            })
        };
        let levels = measured.cliques().iter().enumerate().filter_map(level).collect();
        let share = |t: &f64| if *t > 0.0 { t / totals.total() } else { 1.0 };
        let curvature = totals.values().iter().map(share).collect();
        let (measured, totals, domain) = (Arc::clone(measured), totals.clone(), domain.clone());
        Ok(Self { oracle, domain, measured, totals, all, positions, levels, curvature })
    }

    /// The oracle of p₀.
    pub fn inner(&self) -> &O {
        &self.oracle
    }

    /// The potentials θ + λ of the distribution that has the totals, on all cliques.
    ///
    /// # Errors
    /// As [`MarginalOracle::marginals`].
    pub fn potentials(&self, theta: &Potentials) -> Result<Potentials> {
        let mut workspace = self.workspace();
        self.met(theta, self.totals.total(), EXACT, &mut workspace)?;
        let UnderTotalsWorkspace { leveled, theta: mut all, lambda, .. } = workspace;
        self.add(&leveled, 1.0, &lambda, &mut all);
        Ok(all)
    }

    /// The potentials θ + λ of the distribution that comes nearest to the totals: as [`potentials`](Self::potentials) where one
    /// has them, and otherwise what the multipliers come to, without an error.
    ///
    /// # Errors
    /// As [`MarginalOracle::marginals`], but for totals that cannot be met; totals that leave no record at all.
    pub fn nearest_potentials(&self, theta: &Potentials) -> Result<Potentials> {
        check_layout(theta, &self.measured)?;
        let mut workspace = self.workspace();
        self.level(theta, &mut workspace.leveled);
        self.project(1.0, self.totals.total(), (UPDATES, EXACT), &mut workspace)?;
        let UnderTotalsWorkspace { leveled, theta: mut all, lambda, .. } = workspace;
        self.add(&leveled, 1.0, &lambda, &mut all);
        Ok(all)
    }

    /// Takes off each table of potentials its largest value given what it shares with the totals. Potentials may grow for
    /// ever in this direction without any effect. Returns by how much A falls.
    fn level(&self, theta: &Potentials, leveled: &mut [f64]) -> f64 {
        leveled.copy_from_slice(theta.values());
        let mut fall = 0.0;
        for Level { measured, walk, shares } in &self.levels {
            let table = &mut leveled[self.measured.range(*measured)];
            let mut tops = vec![f64::NEG_INFINITY; shares.len()];
            walk.fold_into(table, &mut tops, f64::max);
            tops.iter_mut().filter(|top| !top.is_finite()).for_each(|top| *top = 0.0);
            walk.zip_from(&tops, table, |value, top| *value -= top);
            fall += tops.iter().zip(shares).map(|(top, share)| top * share).sum::<f64>();
        }
        fall
    }

    /// `sum = scale θ + λ`.
    fn add(&self, theta: &[f64], scale: f64, lambda: &[f64], sum: &mut Potentials) {
        let (own, rest) = sum.values_mut().split_at_mut(theta.len());
        own.iter_mut().zip(theta).for_each(|(sum, theta)| *sum = scale * theta);
        rest.fill(0.0);
        for (table, position) in self.positions.iter().enumerate() {
            let lambda = lambda[self.totals.layout().range(table)].iter();
            let cells = sum
                .table_mut(*position)
                .iter_mut()
                .zip(self.totals.table(table).iter().zip(lambda));
            for (sum, (t, lambda)) in cells {
                *sum = if *t > 0.0 { *sum + lambda } else { f64::NEG_INFINITY };
            }
        }
    }

    /// How far the marginals are from the totals: the largest L1 distance, as a share of the records, and its table.
    fn distance(&self, mu: &Marginals, total: f64) -> (f64, usize) {
        let scale = total / self.totals.total();
        let of_table = |(table, position): (usize, &usize)| {
            let pairs = self.totals.table(table).iter().zip(mu.table(*position));
            (pairs.map(|(t, m)| (scale * t - m).abs()).sum::<f64>() / total, table)
        };
        let all = self.positions.iter().enumerate().map(of_table);
        all.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default()
    }

    /// The gradient of A in the multipliers, `(μ − t)/N`, on all tables.
    fn gradient(&self, mu: &Marginals, total: f64) -> Vec<f64> {
        let scale = total / self.totals.total();
        let of_cell = |(t, m): (&f64, &f64)| if *t > 0.0 { (m - scale * t) / total } else { 0.0 };
        self.of_cells(mu, of_cell)
    }

    /// The move of all multipliers by iterative proportional fitting, `ln(t/μ)`.
    fn fitting(&self, mu: &Marginals, total: f64) -> Vec<f64> {
        let scale = total / self.totals.total();
        // A quotient could overflow. Where the distribution has nothing, multipliers can change nothing.
        let of_cell = |(t, m): (&f64, &f64)| {
            if *t > 0.0 && *m > 0.0 { (scale * t).ln() - m.ln() } else { 0.0 }
        };
        self.of_cells(mu, of_cell)
    }

    /// A number for each cell of the totals, from the total and the marginal.
    fn of_cells(&self, mu: &Marginals, of_cell: impl Fn((&f64, &f64)) -> f64) -> Vec<f64> {
        let tables = self.positions.iter().enumerate();
        let pairs = tables
            .flat_map(|(table, position)| self.totals.table(table).iter().zip(mu.table(*position)));
        pairs.map(of_cell).collect()
    }

    /// `<λ, t>/N`.
    fn along(&self, lambda: &[f64]) -> f64 {
        let pairs = lambda.iter().zip(self.totals.values());
        let sum: f64 = pairs.map(|(l, t)| if *t > 0.0 { l * t } else { 0.0 }).sum();
        sum / self.totals.total()
    }

    /// Brings the multipliers to where the leveled potentials, times a scale, have the totals, in this number of updates at
    /// most; `mu` has their marginals then. Returns A and the distance that is left, with its table.
    fn project(
        &self,
        scale: f64,
        total: f64,
        (updates, within): (u32, f64),
        workspace: &mut UnderTotalsWorkspace<O::Workspace>,
    ) -> Result<(f64, f64, usize)> {
        let UnderTotalsWorkspace {
            inner,
            leveled: theta,
            theta: all,
            mu,
            tried,
            lambda,
            trial,
            memory,
            ..
        } = workspace;
        self.add(theta, scale, lambda, all);
        let mut value = self.oracle.marginals(all, total, inner, mu)? - self.along(lambda);
        let (mut distance, mut table) = self.distance(mu, total);
        let mut gradient = self.gradient(mu, total);
        // All tables at once; a k-th part of the move always makes the value fall (`docs/theory/totals.md`).
        let least = 1.0 / self.positions.len() as f64;
        let (mut share, mut is_newton) = (1.0_f64, distance < NEAR);
        for _ in 0..updates {
            if distance <= within {
                break;
            }
            let by = if is_newton {
                let mut by = gradient.clone();
                memory.precondition(&self.curvature, &mut by);
                by.iter_mut().for_each(|by| *by = -*by);
                by
            } else {
                self.fitting(mu, total)
            };
            for (trial, (lambda, by)) in trial.iter_mut().zip(lambda.iter().zip(&by)) {
                *trial = lambda + share * by;
            }
            self.add(theta, scale, trial, all);
            let next = self.oracle.marginals(all, total, inner, tried)? - self.along(trial);
            let (next_distance, next_table) = self.distance(tried, total);
            // Near the totals values differ by rounding alone: they are flat there, and distances are not.
            let is_flat = (next - value).abs() <= FLAT * value.abs();
            let is_better = if is_flat { next_distance < distance } else { next < value };
            let next_gradient = self.gradient(tried, total);
            memory.learn([lambda, trial], [&gradient, &next_gradient]);
            if is_better || (!is_newton && share <= least) {
                std::mem::swap(lambda, trial);
                std::mem::swap(mu, tried);
                (value, distance, table, gradient) =
                    (next, next_distance, next_table, next_gradient);
                (share, is_newton) = (1.0, distance < NEAR);
            } else if is_newton && share > NEWTON_LEAST {
                share *= 0.25;
            } else {
                // The curvature that was seen is of no use here.
                share = if is_newton { 1.0 } else { (0.5 * share).max(least) };
                is_newton = false;
            }
        }
        Ok((value, distance, table))
    }

    /// Brings the multipliers to where θ has the totals, `within` a share of the records. Returns A.
    fn met(
        &self,
        theta: &Potentials,
        total: f64,
        within: f64,
        workspace: &mut UnderTotalsWorkspace<O::Workspace>,
    ) -> Result<f64> {
        check_layout(theta, &self.measured)?;
        let fall = self.level(theta, &mut workspace.leveled);
        let (value, distance, table) = match self.project(1.0, total, (UPDATES, within), workspace)
        {
            Err(Error::EmptyModel { .. }) if self.totals.values().contains(&0.0) => {
                let found = "every record is in a cell with 0 records, or impossible";
                let expected = "totals that one table can have";
                return Err(Error::invalid_specification("the totals", found, expected));
            }
            found => found?,
        };
        if distance > NEARLY {
            return Err(self.unmet(table, &workspace.mu, total));
        }
        workspace.sharpness = largest(&workspace.leveled).max(1.0);
        Ok(value + fall)
    }

    /// What cannot be met, in words.
    fn unmet(&self, table: usize, mu: &Marginals, total: f64) -> Error {
        let (clique, scale) = (&self.totals.layout().cliques()[table], self.totals.total() / total);
        let (wanted, found) = (self.totals.table(table), mu.table(self.positions[table]));
        let off = |cell: usize| (wanted[cell] - scale * found[cell]).abs();
        let worst = first_largest(wanted.len(), off);
        let cell = cell_name(&self.domain, clique, self.totals.layout().shape(table), worst);
        Error::invalid_specification(
            format!("the totals of {}", self.domain.describe(clique)),
            format!(
                "{} records in {cell}, where the other totals and the records that are possible leave about {:.0}",
                wanted[worst],
                scale * found[worst]
            ),
            "totals that one table can have",
        )
    }
}

impl<O: MarginalOracle> MarginalOracle for UnderTotals<O> {
    type Workspace = UnderTotalsWorkspace<O::Workspace>;

    fn workspace(&self) -> Self::Workspace {
        let (mu, lambda) = (Marginals::zeros(&self.all), vec![0.0; self.totals.values().len()]);
        UnderTotalsWorkspace {
            inner: self.oracle.workspace(),
            leveled: vec![0.0; self.measured.cells()],
            theta: Potentials::zeros(&self.all),
            tried: mu.clone(),
            mu,
            trial: lambda.clone(),
            memory: Memory::new(PAIRS),
            lambda,
            sharpness: 1.0,
        }
    }

    fn marginals(
        &self,
        theta: &Potentials,
        total: f64,
        workspace: &mut Self::Workspace,
        mu: &mut Marginals,
    ) -> Result<f64> {
        let value = self.met(theta, total, WITHIN, workspace)?;
        mu.values_mut().copy_from_slice(&workspace.mu.values()[..self.measured.cells()]);
        Ok(value)
    }

    /// An upper bound for the distributions that have the totals, `max_x {Σ_r θ_r + Σ_e λ_e} − <λ, t>/N`. It holds for any
    /// λ; near the best ones are those of the distribution of a large multiple of θ, divided by it. The first multiple is as
    /// sharp as the distribution of the last call; sharper ones follow as long as the bound falls.
    fn largest_log_weight(
        &self,
        theta: &Potentials,
        workspace: &mut Self::Workspace,
    ) -> Result<Option<f64>> {
        check_layout(theta, &self.measured)?;
        let fall = self.level(theta, &mut workspace.leveled);
        let largest = largest(&workspace.leveled);
        let mut scale = if largest > 0.0 { workspace.sharpness / largest } else { 1.0 };
        let before = workspace.lambda.clone();
        let mut least: Option<f64> = None;
        for _ in 0..SHARPER {
            self.project(scale, self.totals.total(), (UPDATES_OF_BOUND, WITHIN), workspace)?;
            let UnderTotalsWorkspace { inner, leveled, theta: all, lambda, trial, .. } = workspace;
            trial.iter_mut().zip(&*lambda).for_each(|(trial, lambda)| *trial = lambda / scale);
            self.add(leveled, 1.0, trial, all);
            let along = self.along(trial);
            let Some(found) = self.oracle.largest_log_weight(all, inner)? else { break };
            let found = found - along + fall;
            if least.is_some_and(|least| found >= least) {
                break;
            }
            least = Some(found);
            scale *= SHARPENED;
            lambda.iter_mut().for_each(|lambda| *lambda *= SHARPENED);
        }
        workspace.lambda = before;
        Ok(least)
    }

    fn together<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.oracle.together(work)
    }
}

/// The weights of listed records, nearest to given ones in relative entropy, under which they have some totals exactly: raking.
/// The sum of the weights is that of the totals. Where no weights of these records have all totals, they come near: compare
/// [`Dataset::weighted_marginals`].
///
/// ```
/// use jointly_pgm::{Clique, Domain, data::Dataset, estimation::raked_weights, table::Totals};
/// let domain = Domain::new([("sex", 2)])?;
/// let rows = Dataset::from_rows(domain.clone(), &[[0], [1], [1]])?;
/// let totals = Totals::new(&domain, [(Clique::new([0]), vec![30.0, 70.0])])?;
/// let weights = raked_weights(&rows, &[1.0, 1.0, 6.0], &totals)?;
/// assert!((weights[0] - 30.0).abs() < 1e-6 && (weights[2] - 60.0).abs() < 1e-6);
/// # Ok::<(), jointly_pgm::Error>(())
/// ```
///
/// # Errors
/// As [`ListedRecords::new`], totals over another domain, or totals that are 0 wherever a record is.
pub fn raked_weights(rows: &Dataset, weights: &[f64], totals: &Totals) -> Result<Vec<f64>> {
    let none = CliqueLayout::new(rows.domain(), [])?;
    let layout = UnderTotals::<ListedRecords>::layout(rows.domain(), &none, totals)?;
    let oracle = ListedRecords::new(rows, weights, &layout)?;
    let oracle = UnderTotals::new(rows.domain(), oracle, &none, totals)?;
    let potentials = oracle.nearest_potentials(&Potentials::zeros(&none))?;
    let (raked, _) = oracle.inner().weights(&potentials)?;
    let scale = totals.total() / raked.iter().sum::<f64>();
    Ok(raked.into_iter().map(|weight| scale * weight).collect())
}

/// The largest finite size of a number.
fn largest(values: &[f64]) -> f64 {
    values.iter().filter(|x| x.is_finite()).fold(0.0, |most, x| x.abs().max(most))
}

#[cfg(test)]
mod tests;
