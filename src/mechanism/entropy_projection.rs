//! PEP and PEP^Pub: entropy projections over all cells of the domain, or over public records.

use serde::{Deserialize, Serialize};

use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::mechanism::past_queries::{PastQueries, Weights};
use crate::mechanism::query_release::{Approximation, Queries, QueryMechanism, QueryRelease};
use crate::mechanism::reweighting::{Over, Reweighted, Update};
use crate::mechanism::{Parameter, Task};
use crate::settings::Form;

/// Minimum distance of answers from 0 and 1, where a projection would be infinitely far away.
const MARGIN: f64 = 1e-6;
/// Error at which a round's projections end: the size of rounding errors.
const MET: f64 = 1e-12;

/// PEP, private entropy projection (Liu, Vietri & Wu 2021, Algorithm 2), over all cells of a small domain, without
/// public tables.
///
/// Each round selects the query that the distribution A answers worst, and measures it. Then, up to `projections`
/// times, A is projected onto the answered query i with the largest error, at the least relative entropy:
/// `A(x) ~ A(x) exp(l q_i(x))` with `l = ln(a (1-b) / ((1-a) b))`, `b = q_i(A)`, both kept in `[10⁻⁶, 1 - 10⁻⁶]`. By
/// default, rounds select whole marginals by their worst cell; all cells of a measured marginal are answered queries.
/// Queries and the number of records n are treated as in [`crate::mechanism::Mwem`].
///
/// ```
/// # use jointly::domain::Domain;
/// # use jointly::mechanism::{Mechanism, Pep, QueryRelease};
/// # use jointly::{Budget, Dataset, NeighboringRelation, NoiseSeed, Silent, Task, Workload};
/// # let rows: Vec<[u32; 3]> = (0..600).map(|i| [i % 2, i % 3, i % 5 / 2]).collect();
/// # let private = Dataset::from_rows(Domain::new([("a", 2), ("b", 3), ("c", 3)])?, &rows)?;
/// # let workload = Workload::all_k_way(private.domain(), 2)?;
/// # let budget = Budget::approximate(1.0, 1e-6)?;
/// # let mut curator = budget.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
/// let release = QueryRelease { rounds: 5, ..Pep::default().release };
/// let mechanism = Pep { release, ..Pep::default() };
/// let release = mechanism.run(&mut curator, &Task::new(&workload, &[]), &mut Silent)?;
/// assert_eq!(release.rounds.len(), 5);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pep {
    /// Rounds, selection, queries and output; by default 25 rounds of whole marginals.
    #[serde(flatten)]
    pub release: QueryRelease,
    /// K, the maximum number of projections per round; at least 1.
    pub projections: u32,
    /// γ, the error of an answered query, as a probability, below which it is left as it is; in [0, 1). The paper's
    /// programs use 0.
    pub tolerance: f64,
}

/// The default K.
const PROJECTIONS: u32 = 25;

impl Default for Pep {
    fn default() -> Self {
        Self {
            release: QueryRelease::new(25, Queries::Marginals),
            projections: PROJECTIONS,
            tolerance: 0.0,
        }
    }
}

/// PEP^Pub: the rounds of [`Pep`] over the distinct records of the public tables, which start at their public
/// frequencies. Public tables are treated as in [`crate::mechanism::PmwPub`].
///
/// ```
/// # use jointly::domain::Domain;
/// # use jointly::mechanism::{Mechanism, PepPub, QueryRelease};
/// # use jointly::{Budget, Dataset, NeighboringRelation, NoiseSeed, PublicData, Silent, Task, Workload};
/// # let rows: Vec<[u32; 3]> = (0..600).map(|i| [i % 2, i % 3, i % 5 / 2]).collect();
/// # let private = Dataset::from_rows(Domain::new([("a", 2), ("b", 3), ("c", 3)])?, &rows)?;
/// # let public = [PublicData::new("last year", private.clone(), private.domain())?];
/// # let workload = Workload::all_k_way(private.domain(), 2)?;
/// # let budget = Budget::approximate(1.0, 1e-6)?;
/// # let mut curator = budget.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
/// let release = QueryRelease { rounds: 5, ..PepPub::default().release };
/// let mechanism = PepPub { release, ..PepPub::default() };
/// let release = mechanism.run(&mut curator, &Task::new(&workload, &public), &mut Silent)?;
/// assert_eq!(release.rounds.len(), 5);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PepPub {
    /// Rounds, selection, queries and output; by default 25 rounds of single queries.
    #[serde(flatten)]
    pub release: QueryRelease,
    /// K, the maximum number of projections per round; at least 1.
    pub projections: u32,
    /// γ, the error of an answered query, as a probability, below which it is left as it is; in [0, 1). The paper's
    /// programs use 0.
    pub tolerance: f64,
}

impl Default for PepPub {
    fn default() -> Self {
        Self {
            release: QueryRelease::new(25, Queries::Single),
            projections: PROJECTIONS,
            tolerance: 0.0,
        }
    }
}

/// The update of both mechanisms: projects onto the worst answered query, up to `projections` times.
fn project(projections: u32, tolerance: f64, past: &PastQueries, weights: &mut Weights) -> u32 {
    let met = tolerance.max(MET);
    for done in 0..projections {
        let Some((query, _)) = past.worst(weights).filter(|(_, error)| *error > met) else {
            return done;
        };
        let records = past.records(query);
        let log_odds = |p: f64| {
            let p = p.clamp(MARGIN, 1.0 - MARGIN);
            (p / (1.0 - p)).ln()
        };
        let factor = log_odds(past.answer(query)) - log_odds(weights.answer(records));
        weights.scale(records, factor);
    }
    projections
}

fn check(projections: u32, tolerance: f64) -> Result<()> {
    if projections == 0 {
        return Err(Error::invalid_parameter("projections", 0, "at least 1"));
    }
    if !(0.0..1.0).contains(&tolerance) {
        return Err(Error::invalid_parameter("tolerance", tolerance, "from 0 to less than 1"));
    }
    Ok(())
}

impl Update for Pep {
    fn reweight(&self, _round: u32, past: &PastQueries, weights: &mut Weights) -> u32 {
        project(self.projections, self.tolerance, past, weights)
    }
}

impl Update for PepPub {
    fn reweight(&self, _round: u32, past: &PastQueries, weights: &mut Weights) -> u32 {
        project(self.projections, self.tolerance, past, weights)
    }
}

impl QueryMechanism for Pep {
    const NAME: &'static str = "pep";

    fn release(&self) -> &QueryRelease {
        &self.release
    }

    fn check_model(&self) -> Result<()> {
        check(self.projections, self.tolerance)
    }

    fn model<'m>(
        &'m self,
        domain: &Domain,
        task: &Task<'_>,
    ) -> Result<impl Approximation + use<'m>> {
        Reweighted::new(self, Over::AllCells, domain, task.public)
    }
}

impl QueryMechanism for PepPub {
    const NAME: &'static str = "pep-pub";
    const STARTS_FROM_PUBLIC: bool = true;

    fn release(&self) -> &QueryRelease {
        &self.release
    }

    fn check_model(&self) -> Result<()> {
        check(self.projections, self.tolerance)
    }

    fn model<'m>(
        &'m self,
        domain: &Domain,
        task: &Task<'_>,
    ) -> Result<impl Approximation + use<'m>> {
        Reweighted::new(self, Over::PublicRecords, domain, task.public)
    }
}

/// The parameters specific to these mechanisms.
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "projections",
        value_name: "K",
        help: "Most projections per round",
        form: Form::Count,
        unset: "",
    },
    Parameter {
        name: "tolerance",
        value_name: "G",
        help: "Error, as a probability, at which an answered query is left as it is",
        form: Form::Number,
        unset: "",
    },
];
