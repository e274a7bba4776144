//! MWEM and PMW^Pub: multiplicative weights over all cells of the domain, or over public records.

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::domain::Domain;
use crate::error::Result;
use crate::mechanism::past_queries::{PastQueries, Weights};
use crate::mechanism::query_release::{
    Approximation, Queries, QueryMechanism, QueryRelease, Repeats,
};
use crate::mechanism::reweighting::{Over, Reweighted, Update};
use crate::mechanism::{Parameter, Task};
use crate::settings::Form;

/// Minimum error of a past query that is used again, as a share of the error of the round's own query.
const USED_AGAIN: f64 = 0.5;

/// The answered queries by which a round reweights the records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reuse {
    /// Its own, and all past ones whose error is at least half of the largest error of its own.
    #[default]
    AsBad,
    /// Its own alone, as MWEM was first published.
    Own,
}

/// MWEM (Hardt, Ligett & `McSherry` 2012) over all cells of a small domain, without public tables.
///
/// Each round selects the query that the distribution A answers worst, measures it, and multiplies A(x) by `exp(q_i(x)
/// (a_i - q_i(A)) / 2)` for every answered query i whose error is at least half that of the round's own query. It does
/// so in random order, each time with the current `q_i(A)`. (The paper uses only the round's own query, [`Reuse::Own`];
/// reusing past ones is an improvement that its section 4 proposes.) No query is measured twice while others are left,
/// [`Repeats::Excluded`]. (The paper selects among all queries in every round. The program of its first author,
/// `mrtzh/PrivateMultiplicativeWeights.jl`, takes the errors of measured queries as 0. On Adult repeats are worse:
/// `docs/results/adaptive-measurements.md`.) The queries are the cells of the workload's marginals; its weights are
/// ignored. The distribution starts uniform. Structural zeros stay zero. The number of records n is treated as in
/// [`crate::mechanism::Aim`].
///
/// ```
/// use jointly::mechanism::{Iterate, Mwem, QueryRelease};
/// let release = QueryRelease { iterate: Iterate::Average, ..Mwem::default().release };
/// let mwem = Mwem { release, ..Mwem::default() };
/// assert_eq!(mwem.release.rounds, 100);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mwem {
    /// Rounds, selection, queries and output; by default 100 rounds of single queries.
    #[serde(flatten)]
    pub release: QueryRelease,
    /// The answered queries that a round uses.
    pub reuse: Reuse,
    /// Whether a measured query may be selected again.
    pub repeats: Repeats,
}

impl Default for Mwem {
    fn default() -> Self {
        let (release, repeats) = (QueryRelease::new(100, Queries::Single), Repeats::Excluded);
        Self { release, reuse: Reuse::AsBad, repeats }
    }
}

/// PMW^Pub (Liu, Vietri, Steinke, Ullman & Wu 2021, Algorithm 1): the updates of [`Mwem`] over the distinct records of
/// the public tables, which start at their public frequencies. The records of several tables are pooled.
///
/// Every table must have all attributes. Records that are in no public table get no probability, whatever the budget.
///
/// Algorithm 1 selects among all queries in every round, and so does the authors' program for the paper
/// (`terranceliu/pmw-pub`, `mwem.py`), where the last answer of a query replaces earlier ones; both are the default here.
/// A later program of theirs (`terranceliu/dp-query-release`) selects no query again: [`Repeats::Excluded`]. The two
/// differ most where the public records cannot answer a query, as one that counts none of them: repeats spend many rounds
/// on such a query and leave the weights as they are, while exclusion goes on to other queries that the records answer
/// badly (`docs/results/pmw-pub.md`).
///
/// ```
/// # use jointly::domain::Domain;
/// # use jointly::mechanism::{Mechanism, PmwPub, QueryRelease};
/// # use jointly::{Budget, Dataset, NeighboringRelation, NoiseSeed, PublicData, Silent, Task, Workload};
/// # let rows: Vec<[u32; 3]> = (0..600).map(|i| [i % 2, i % 3, i % 5 / 2]).collect();
/// # let private = Dataset::from_rows(Domain::new([("a", 2), ("b", 3), ("c", 3)])?, &rows)?;
/// # let public = [PublicData::new("last year", private.clone(), private.domain())?];
/// # let workload = Workload::all_k_way(private.domain(), 2)?;
/// # let budget = Budget::approximate(1.0, 1e-6)?;
/// # let mut curator = budget.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
/// let release = QueryRelease { rounds: 5, ..PmwPub::default().release };
/// let mechanism = PmwPub { release, ..PmwPub::default() };
/// let release = mechanism.run(&mut curator, &Task::new(&workload, &public), &mut Silent)?;
/// assert_eq!(release.rounds.len(), 5);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PmwPub {
    /// Rounds, selection, queries and output; by default 50 rounds of single queries.
    #[serde(flatten)]
    pub release: QueryRelease,
    /// The answered queries that a round uses.
    pub reuse: Reuse,
    /// Whether a measured query may be selected again.
    pub repeats: Repeats,
}

impl Default for PmwPub {
    fn default() -> Self {
        let (release, repeats) = (QueryRelease::new(50, Queries::Single), Repeats::Allowed);
        Self { release, reuse: Reuse::AsBad, repeats }
    }
}

/// The update of both mechanisms: `A(x) ~ A(x) exp(q_i(x) (a_i - q_i(A)) / 2)`, one query at a time, in random order.
fn multiply(reuse: Reuse, round: u32, past: &PastQueries, weights: &mut Weights) -> u32 {
    let mut queries = match reuse {
        Reuse::AsBad => past.as_bad_as_the_round(weights, USED_AGAIN),
        Reuse::Own => past.of_the_round(),
    };
    queries.shuffle(&mut ChaCha20Rng::seed_from_u64(u64::from(round)));
    for query in &queries {
        let records = past.records(*query);
        let step = (past.answer(*query) - weights.answer(records)) / 2.0;
        weights.scale(records, step);
    }
    u32::try_from(queries.len()).unwrap_or(u32::MAX)
}

impl Update for Mwem {
    fn reweight(&self, round: u32, past: &PastQueries, weights: &mut Weights) -> u32 {
        multiply(self.reuse, round, past, weights)
    }
}

impl Update for PmwPub {
    fn reweight(&self, round: u32, past: &PastQueries, weights: &mut Weights) -> u32 {
        multiply(self.reuse, round, past, weights)
    }
}

impl QueryMechanism for Mwem {
    const NAME: &'static str = "mwem";

    fn release(&self) -> &QueryRelease {
        &self.release
    }

    fn repeats(&self) -> Repeats {
        self.repeats
    }

    fn model<'m>(
        &'m self,
        domain: &Domain,
        task: &Task<'_>,
    ) -> Result<impl Approximation + use<'m>> {
        Reweighted::new(self, Over::AllCells, domain, task.public)
    }
}

impl QueryMechanism for PmwPub {
    const NAME: &'static str = "pmw-pub";
    const STARTS_FROM_PUBLIC: bool = true;

    fn release(&self) -> &QueryRelease {
        &self.release
    }

    fn repeats(&self) -> Repeats {
        self.repeats
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
        name: "reuse",
        value_name: "WHICH",
        help: "Answered queries that a round uses",
        form: Form::Choice(&[
            ("as-bad", "Its own, and past ones at least half as wrong"),
            ("own", "Its own alone, as first published"),
        ]),
        unset: "",
    },
    Parameter {
        name: "repeats",
        value_name: "WHETHER",
        help: "Whether a round may choose a query that an earlier one measured",
        form: Form::Choice(&[
            ("allowed", "It may, as published; its last answer counts"),
            ("excluded", "Not while another is left, as in some programs of the authors"),
        ]),
        unset: "",
    },
];
