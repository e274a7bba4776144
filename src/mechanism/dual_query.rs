//! DualQuery: a distribution over queries, and records that satisfy what is drawn from it.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::domain::Clique;
use crate::error::{Error, Result};
use crate::mechanism::best_response::{BestResponse, Oracle, Perturbation, Response};
use crate::mechanism::query_game::{
    Batch, Game, MAX_SAMPLES, SignedQuery, Stake, check_samples, public_generator,
};
use crate::mechanism::{Mechanism, Parameter, PlanFor, Release, RunPlan, Task, parameters};
use crate::observe::Observer;
use crate::privacy::{Curator, Rho};
use crate::settings::Form;

/// Most rounds that follow from a target η.
const MAX_ROUNDS: f64 = 10_000.0;
/// A round draws one query for this many rounds of the run, unless `samples` is given, ...
const ROUNDS_OF_A_SAMPLE: u32 = 5;
/// ... and at least this many.
const LEAST_SAMPLES: u32 = 10;

/// DualQuery (Gaboardi, Gallego Arias, Hsu, Roth & Wu 2014): records that an oracle finds, from no public table. They
/// are released equally weighted; nothing is measured.
///
/// In each of T rounds, `samples` signed queries are drawn independently with `P(q) ~ exp(η Σ_τ (q(D) − q(x_τ)))`,
/// where the `x_τ` are the records of the rounds before, and an oracle finds a record that satisfies most of them, at
/// random among equals. A query asks for the records in a cell of a marginal of the workload, or for all others. The
/// workload's weights are ignored. The number of records n is treated as in [`crate::mechanism::Aim`].
///
/// Round t is s draws from the exponential mechanism at `ε_t = 2 η (t − 1)/n` with the score `count_q(D) − n q(S)`,
/// where S are all records so far, so it costs `s η² (t − 1)²/(2 n²)` of ρ-zCDP. The first round is uniform and free.
/// The sum is ρ at `η = n √(12 ρ/(s T (T − 1)(2 T − 1)))`: about four times as large as the paper's composition allows.
///
/// T records answer no query finer than 1/T.
///
/// ```
/// use jointly::{mechanism::DualQuery, privacy::Rho};
/// let eta = DualQuery::eta(Rho::from_f64(0.5)?, 1000.0, 10, 11);
/// assert!((eta - 16.12).abs() < 0.005);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct DualQuery {
    /// T, at least 2; `None`: as many as give the target η, from 2 to 10,000.
    pub rounds: Option<u32>,
    /// s, the queries drawn in a round; from 1 to 10,000. `None`: a fifth of the rounds, within 10 and 10,000.
    ///
    /// A record that satisfies more queries is nearer to their average, and leaves less budget for other records. More records
    /// make both finer, so that s should grow with T (`docs/results/adaptive-measurements.md`, where it was chosen).
    pub samples: Option<u32>,
    /// The target η, above 0. Unused if the rounds are given.
    pub eta: f64,
    /// How records are found.
    pub oracle: Oracle,
}

impl Default for DualQuery {
    fn default() -> Self {
        Self { rounds: None, samples: None, eta: 2.0, oracle: Oracle::Auto }
    }
}

impl DualQuery {
    /// η at which the rounds cost ρ. `records`: n.
    pub fn eta(rho: Rho, records: f64, samples: u32, rounds: u32) -> f64 {
        let t = f64::from(rounds);
        let squares = t * (t - 1.0) * (2.0 * t - 1.0);
        records * (12.0 * rho.to_f64() / (f64::from(samples) * squares)).sqrt()
    }

    /// s in a run of T rounds.
    fn samples(&self, rounds: u32) -> u32 {
        self.samples.unwrap_or((rounds / ROUNDS_OF_A_SAMPLE).clamp(LEAST_SAMPLES, MAX_SAMPLES))
    }
}

impl Game for DualQuery {
    fn oracle(&self) -> Oracle {
        self.oracle
    }

    /// T with `s T³ = 6 ρ n²/η²`, rounded down, unless given.
    fn rounds(&self, budget: Rho, total: f64) -> u32 {
        self.rounds.unwrap_or_else(|| {
            let cost = 6.0 * budget.to_f64() * total.powi(2) / self.eta.powi(2);
            let with = |samples: u32| (cost / f64::from(samples)).cbrt();
            // Without a given s: at least 10, and at least T/5.
            let in_proportion = (cost * f64::from(ROUNDS_OF_A_SAMPLE)).powf(0.25);
            let rounds = self.samples.map_or(with(LEAST_SAMPLES).min(in_proportion), with);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "from 2 to 10,000, and rounding down is meant"
            )]
            let rounds = rounds.clamp(2.0, MAX_ROUNDS) as u32;
            rounds
        })
    }

    /// The share `6 (t − 1)²/(T (T − 1)(2 T − 1))` of the budget, rounded down; in the last round all that is left.
    fn stake(&self, round: u32, rounds: u32, budget: Rho, left: Rho) -> Stake {
        let (t, all) = (u64::from(round), u64::from(rounds));
        let share = budget.split(6 * (t - 1) * (t - 1), all * (all - 1) * (2 * all - 1));
        let rho = if round == rounds { left } else { share.unwrap_or_default().0.min(left) };
        // A share below a unit of the ledger buys an ε of 0.
        let samples = self.samples(rounds);
        if rho.is_zero() { Stake::Uniform(samples) } else { Stake::Draws(samples, rho) }
    }

    /// All records so far.
    fn judged<'b>(&self, batches: &'b [Batch]) -> &'b [Batch] {
        batches
    }

    fn respond(
        &self,
        oracle: &mut BestResponse,
        round: u32,
        _rounds: u32,
        chosen: &[(&Clique, SignedQuery)],
    ) -> Result<Vec<Response>> {
        oracle.clear();
        for (clique, query) in chosen {
            oracle.add(clique, query.cell, if query.is_negated { -1 } else { 1 });
        }
        // Numbers of queries are whole: penalties that stay below 1 in all choose among equals.
        let mut rng = public_generator(round);
        let most = 0.5 / oracle.cardinalities().count().max(1) as f64;
        let mut own = |k: usize| (0..k).map(|_| most * rng.random::<f64>()).collect();
        let penalties: Vec<Vec<f64>> = oracle.cardinalities().map(&mut own).collect();
        oracle.best(&[Perturbation { penalties, seed: rng.random() }])
    }
}

impl Mechanism for DualQuery {
    fn name(&self) -> &'static str {
        "dual-query"
    }

    fn check(&self) -> Result<()> {
        parameters::check_rounds(self.rounds)?;
        if let Some(rounds @ 0..2) = self.rounds {
            return Err(Error::invalid_parameter("rounds", rounds, "at least 2"));
        }
        self.samples.map_or(Ok(()), check_samples)?;
        if !(1e-6..=1e6).contains(&self.eta) {
            return Err(Error::invalid_parameter("eta", self.eta, "from 0.000001 to 1,000,000"));
        }
        Ok(())
    }

    fn plan(&self, about: &PlanFor<'_>) -> Result<RunPlan> {
        Ok(self.plan_of(about))
    }

    fn run(
        &self,
        curator: &mut Curator<'_>,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Release> {
        self.play(curator, task, observer)
    }
}

/// The parameter specific to this mechanism.
pub(super) const PARAMETERS: &[Parameter] = &[Parameter {
    name: "eta",
    value_name: "ETA",
    help: "Target weight of a query's error; sets the number of rounds unless that is given",
    form: Form::Number,
    unset: "",
}];

#[cfg(test)]
mod tests;
