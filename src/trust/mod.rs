//! Private comparisons that show which public table to trust, and for which marginals, at a privacy cost.

mod release;

pub use release::{MixtureRelease, NoisyMixtureError};

use serde::Serialize;

use crate::data::PublicData;
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
pub use crate::error_bars::Interval;
use crate::error_bars::l1_errors;
use crate::mixture_error::{MixtureError, ScoredCells, thinned};
use crate::privacy::{
    Curator, Ledger, NeighboringRelation, NoiseForm, NoisyStatistics, Rho, StatisticSensitivity,
};
use crate::query::Workload;

/// Compares public tables with the private one, at a privacy cost, by their best mixture errors and by the errors of
/// their one-way and two-way marginals.
///
/// ```
/// use jointly::{data::PublicData, demo::Generator, query::Workload, trust::Trust};
/// use jointly::privacy::{Curator, NeighboringRelation, NoiseSeed, Rho};
/// let people = |seed, drift| Generator { records: 2_000, seed, drift }.generate();
/// let state = |seed, drift| -> jointly::Result<_> { Ok(people(seed, drift)?.select(&[0, 1, 2, 3])?) };
/// let private = state(1, 0.0)?;
/// let near = PublicData::new("near", state(2, 0.0)?, private.domain())?;
/// let far = PublicData::new("far", state(3, 1.0)?, private.domain())?;
/// let workload = Workload::all_k_way(private.domain(), 2)?;
/// let budget = Rho::from_f64(0.5)?;
/// let relation = NeighboringRelation::ReplaceOne;
/// let mut curator = Curator::new(&private, relation, budget, NoiseSeed::Fixed(1))?; // a fixed seed: NOT private
/// let report = Trust::default().run(&mut curator, &[near, far], &workload)?;
/// assert_eq!(report.tables[report.by_marginals[0]].name, "near");
/// assert_eq!(report.ledger.spent(), budget);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Trust {
    /// Share of the budget for the best mixture errors; the rest is for the errors of marginals. In (0, 1).
    pub mixture_share: f64,
    /// The cells to include in the best mixture error.
    pub cells: ScoredCells,
    /// Maximum number of distinct rows of a table to mix. From a larger table, uses rows that cover most of the cells
    /// that it covers. The mixture error is then that of these rows, an upper bound on that of all rows.
    pub rows: usize,
    /// Largest distance between the quantity that gets the noise and the best mixture error, as a probability, if the
    /// noise is less than twice that. Smaller values take longer.
    pub tolerance: f64,
    /// Probability, strictly between 0 and 1, that all intervals of the report hold simultaneously.
    pub confidence: f64,
}

impl Default for Trust {
    fn default() -> Self {
        Self {
            mixture_share: 0.2,
            cells: ScoredCells::All,
            rows: 2048,
            tolerance: MixtureError::RELEASED,
            confidence: 0.95,
        }
    }
}

/// The distance of one marginal of a public table from the private one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MarginalTrust {
    /// Names of the attributes.
    pub attributes: Vec<String>,
    /// L1 distance of the frequencies, 0 to 2.
    pub l1: Interval,
}

/// The results for one public table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableTrust {
    /// Its name.
    pub name: String,
    /// Number of its records.
    pub records: u64,
    /// Private attributes that it lacks.
    pub missing: Vec<String>,
    /// Number of cliques of the workload that it covers. Its best mixture error is over these.
    pub cliques: usize,
    /// Number of distinct rows mixed: all of them, or the maximum set by [`Trust::rows`].
    pub mixed_rows: usize,
    /// The best mixture error of these rows, as a probability.
    pub mixture_error: Interval,
    /// Mean L1 distance over the two-way marginals (one-way marginals if it has a single attribute).
    pub mean_l1: Interval,
    /// Every one-way and two-way marginal, worst first.
    pub marginals: Vec<MarginalTrust>,
}

/// A comparison of public tables. All of it may be published if [`TrustReport::is_private`] holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrustReport {
    /// The tables, in the given order.
    pub tables: Vec<TableTrust>,
    /// Their positions by best mixture error, the smallest first; tables that cover fewer cliques come later.
    pub by_mixture_error: Vec<usize>,
    /// Their positions by mean L1 distance; tables with fewer attributes come later.
    pub by_marginals: Vec<usize>,
    /// Probability that all intervals hold simultaneously.
    pub confidence: f64,
    /// Number of intervals.
    pub intervals: usize,
    /// The neighboring relation of the guarantee.
    pub relation: NeighboringRelation,
    /// False if the noise came from a fixed seed.
    pub is_private: bool,
    /// The ledger of the comparison.
    pub ledger: Ledger,
}

impl Trust {
    /// Compares the tables and spends all of a curator's remaining budget.
    ///
    /// # Errors
    /// No public table, a share or a confidence out of range, a table that covers no clique of the workload, or an
    /// insufficient budget.
    pub fn run(
        &self,
        curator: &mut Curator<'_>,
        public: &[PublicData],
        workload: &Workload,
    ) -> Result<TrustReport> {
        self.check()?;
        if public.is_empty() {
            return Err(Error::invalid_specification("public tables", "none", "at least one"));
        }
        // Steps that can fail for public reasons run before any budget is spent.
        let thinned = |table| thinned(table, workload, self.rows, curator.domain());
        let mixed = public.iter().map(thinned).collect::<Result<Vec<_>>>()?;
        let total = curator.total()?;
        let (of_mixtures, of_marginals) = curator.remaining().fraction(self.mixture_share)?;
        let cliques: Vec<Vec<Clique>> = public.iter().map(one_and_two_way).collect();
        // Intervals for a mixture error and a mean per table, and for every marginal.
        let intervals = 2 * public.len() + cliques.iter().map(Vec::len).sum::<usize>();

        let release = MixtureRelease {
            tolerance: self.tolerance,
            cells: self.cells,
            confidence: self.confidence,
            intervals,
        };
        let mut mixtures = Vec::with_capacity(public.len());
        let (mut left, tables) = (of_mixtures, public.len() as u64);
        for (rows, others) in mixed.iter().zip((1..=tables).rev()) {
            let (own, rest) = left.split(1, others).unwrap_or_default();
            let form = NoiseForm::Gaussian;
            let found = release.run(curator, rows, workload, total, form, own)?;
            mixtures.push(ReleasedMixture { found, rows: rows.table()?.records() });
            left = rest;
        }
        let errors = measure_errors(curator, public, &cliques, total, of_marginals)?;
        let half_width = errors.half_width(self.confidence, intervals)? / total;
        let grid = StatisticSensitivity::GRID / total;
        let mut values = errors.values.iter().map(|value| value / total);

        let mut found = Vec::with_capacity(public.len());
        for ((table, cliques), mixture) in public.iter().zip(&cliques).zip(mixtures) {
            let values: Vec<f64> = values.by_ref().take(cliques.len()).collect();
            let covered = workload.weighted_cliques().iter().filter(|c| table.covers(&c.clique));
            let errors = Errors { cliques, values: &values, half_width, grid };
            found.push(table_trust(curator.domain(), table, covered.count(), &mixture, &errors));
        }
        Ok(TrustReport {
            by_mixture_error: ranked(&found, |t| (t.cliques, t.mixture_error.estimate)),
            by_marginals: ranked(&found, |t| (t.marginals.len(), t.mean_l1.estimate)),
            tables: found,
            confidence: self.confidence,
            intervals,
            relation: curator.relation(),
            is_private: curator.is_private(),
            ledger: curator.ledger().clone(),
        })
    }

    /// The marginals of the private table that [`run`](Self::run) asks for: nothing else of it is needed.
    pub fn counts(&self, public: &[PublicData], workload: &Workload) -> Vec<Clique> {
        let own = workload.weighted_cliques().iter().map(|one| one.clique.clone());
        own.chain(public.iter().flat_map(one_and_two_way)).chain([Clique::default()]).collect()
    }

    /// Refuses parameters out of range. [`run`](Self::run) does so too.
    ///
    /// # Errors
    /// A share or a confidence out of range, or no row to mix.
    pub fn check(&self) -> Result<()> {
        if self.rows == 0 {
            return Err(Error::invalid_parameter("rows", 0, "at least 1"));
        }
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            let expected = "strictly between 0 and 1";
            return Err(Error::invalid_parameter("confidence", self.confidence, expected));
        }
        if !(self.mixture_share > 0.0 && self.mixture_share < 1.0) {
            let expected = "strictly between 0 and 1";
            return Err(Error::invalid_parameter("mixture share", self.mixture_share, expected));
        }
        Ok(())
    }
}

/// The attributes of a table, and their pairs.
fn one_and_two_way(table: &PublicData) -> Vec<Clique> {
    let attributes = table.attributes();
    let ones = attributes.iter().map(|a| Clique::new([a]));
    let pairs = attributes.iter().flat_map(|a| {
        let after = attributes.attributes().iter().filter(move |b| **b > a);
        after.map(move |b| Clique::new([a, *b]))
    });
    ones.chain(pairs).collect()
}

/// `‖M_r(D) − (n/m) M_r(P)‖₁` of every clique of every table, with noise, in counts. Each number changes by at most 2
/// under replace-one and by 1 under add-remove-one.
fn measure_errors(
    curator: &mut Curator<'_>,
    public: &[PublicData],
    cliques: &[Vec<Clique>],
    total: f64,
    rho: Rho,
) -> Result<NoisyStatistics> {
    if public.is_empty() {
        return Err(Error::invalid_specification("public tables", "none", "at least one"));
    }
    let mut errors = curator.marginals(&[])?.l1_errors();
    for (table, cliques) in public.iter().zip(cliques) {
        let scale = total / table.records() as f64;
        errors.extend(&l1_errors(curator, cliques, &table.project_many(cliques)?, scale)?)?;
    }
    let purpose = "errors of public marginals";
    Ok(curator.measure_l1_errors(errors, NoiseForm::Gaussian, rho, purpose)?)
}

/// A released mixture error, and the number of rows mixed.
struct ReleasedMixture {
    found: NoisyMixtureError,
    rows: usize,
}

/// The released errors of a table's marginals, as shares of the records.
struct Errors<'a> {
    cliques: &'a [Clique],
    values: &'a [f64],
    /// Half the width of the interval around each value.
    half_width: f64,
    /// Grid step for rounding values.
    grid: f64,
}

/// Computes the results for a table from the released numbers, by post-processing.
fn table_trust(
    domain: &Domain,
    table: &PublicData,
    covered: usize,
    mixture: &ReleasedMixture,
    errors: &Errors<'_>,
) -> TableTrust {
    let Errors { cliques, values, half_width, grid } = *errors;
    let names = |clique: &Clique| clique.iter().map(|a| domain.name(a).to_owned()).collect();
    let mut marginals: Vec<MarginalTrust> = cliques
        .iter()
        .zip(values)
        .map(|(clique, value)| MarginalTrust {
            attributes: names(clique),
            l1: Interval::around(*value, half_width, 2.0),
        })
        .collect();
    // The mean of k numbers with independent noise is √k times as precise, except for their rounding.
    let largest = cliques.iter().map(Clique::len).max().unwrap_or(0);
    let means = cliques.iter().zip(values).filter(|(clique, _)| clique.len() == largest);
    let (count, sum) = means.fold((0.0, 0.0), |(count, sum), (_, v)| (count + 1.0, sum + v));
    let mean_l1 = Interval::around(sum / count, half_width / f64::sqrt(count) + grid, 2.0);
    marginals.sort_by(|a, b| b.l1.estimate.total_cmp(&a.l1.estimate));
    let own = table.attributes();
    let missing = (0..domain.len()).filter(|a| !own.contains(*a));
    TableTrust {
        name: table.name().to_owned(),
        records: table.records(),
        missing: missing.map(|a| domain.name(a).to_owned()).collect(),
        cliques: covered,
        mixed_rows: mixture.rows,
        mixture_error: Interval::around(mixture.found.value, mixture.found.half_width, 1.0),
        mean_l1,
        marginals,
    }
}

/// Positions sorted by coverage, largest first, and then by error, smallest first.
fn ranked(tables: &[TableTrust], key: impl Fn(&TableTrust) -> (usize, f64)) -> Vec<usize> {
    let mut order: Vec<usize> = (0..tables.len()).collect();
    order.sort_by(|a, b| {
        let ((own, error), (other, its)) = (key(&tables[*a]), key(&tables[*b]));
        other.cmp(&own).then(error.total_cmp(&its))
    });
    order
}
