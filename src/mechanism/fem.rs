//! FEM: follow the perturbed leader against queries that the records so far answer worst.

use rand::RngExt;
use rand_distr::Exp1;
use serde::{Deserialize, Serialize};

use crate::domain::Clique;
use crate::error::{Error, Result};
use crate::mechanism::best_response::{BestResponse, ORACLE, Oracle, Perturbation, Response};
use crate::mechanism::query_game::{
    Batch, Game, SAMPLES, SignedQuery, Stake, check_samples, public_generator,
};
use crate::mechanism::{Mechanism, Parameter, PlanFor, Release, RunPlan, Task, parameters};
use crate::observe::Observer;
use crate::privacy::{Curator, Rho};
use crate::settings::Form;

/// FEM (Vietri, Tian, Bun, Steinke & Wu 2020): records that an oracle finds, from no public table. They are released
/// equally weighted; nothing is measured.
///
/// F is the number of queries chosen so far that a record satisfies, 0 at first. In each of T rounds an oracle finds
/// `samples` records, each of which maximizes `F(x) − ν √T Σ_a η_a(x_a)` with fresh `η_a(v) ~ Exp(1)`. Before each
/// round but the first, the exponential mechanism chooses a query, the records in a cell of a marginal of the workload
/// or all others, by the signed score `count_q(D) − n q(S)`, where S are the records of the round before. Each of these
/// T - 1 choices costs `ρ/(T − 1)`. (The paper chooses a query after the last round, too, which no record answers to.)
/// The workload's weights are ignored. The number of records n is treated as in [`crate::mechanism::Aim`].
///
/// ```
/// use jointly::mechanism::Fem;
/// assert_eq!((Fem::default().rounds, Fem::default().samples), (100, 50));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Fem {
    /// T, at least 2.
    pub rounds: u32,
    /// s, the records of a round; from 1 to 10,000.
    pub samples: u32,
    /// ν, the scale of the perturbation; at least 0.
    pub perturbation: f64,
    /// The first rounds whose records are not released; below T. `None`: half of the rounds (`docs/adr/0022-the-best-response-oracle.md`);
    /// 0 as published.
    pub burn_in: Option<u32>,
    /// How records are found.
    pub oracle: Oracle,
}

impl Default for Fem {
    fn default() -> Self {
        Self { rounds: 100, samples: 50, perturbation: 0.5, burn_in: None, oracle: Oracle::Auto }
    }
}

impl Game for Fem {
    fn oracle(&self) -> Oracle {
        self.oracle
    }

    fn rounds(&self, _budget: Rho, _total: f64) -> u32 {
        self.rounds
    }

    fn stake(&self, round: u32, rounds: u32, _budget: Rho, left: Rho) -> Stake {
        if round == 1 {
            return Stake::Nothing;
        }
        Stake::One(left.split(1, u64::from(rounds - round) + 1).unwrap_or_default().0)
    }

    /// The records of the round before.
    fn judged<'b>(&self, batches: &'b [Batch]) -> &'b [Batch] {
        &batches[batches.len().saturating_sub(1)..]
    }

    fn respond(
        &self,
        oracle: &mut BestResponse,
        round: u32,
        rounds: u32,
        chosen: &[(&Clique, SignedQuery)],
    ) -> Result<Vec<Response>> {
        for (clique, query) in chosen {
            oracle.add(clique, query.cell, if query.is_negated { -1 } else { 1 });
        }
        let mut rng = public_generator(round);
        let scale = self.perturbation * f64::from(rounds).sqrt();
        let samples = (0..self.samples).map(|_| {
            let mut eta = |_| -> f64 { scale * rng.sample::<f64, _>(Exp1) };
            let penalties = oracle.cardinalities().map(|k| (0..k).map(&mut eta).collect());
            Perturbation { penalties: penalties.collect(), seed: rng.random() }
        });
        let samples: Vec<Perturbation> = samples.collect();
        oracle.best(&samples)
    }

    fn released<'b>(&self, batches: &'b [Batch]) -> &'b [Batch] {
        let burnt = self.burn_in.unwrap_or(self.rounds / 2);
        batches.get(burnt as usize..).unwrap_or(batches)
    }
}

impl Mechanism for Fem {
    fn name(&self) -> &'static str {
        "fem"
    }

    fn check(&self) -> Result<()> {
        parameters::check_rounds(Some(self.rounds))?;
        if self.rounds < 2 {
            return Err(Error::invalid_parameter("rounds", self.rounds, "at least 2"));
        }
        check_samples(self.samples)?;
        if !(0.0..=1e6).contains(&self.perturbation) {
            let found = self.perturbation;
            return Err(Error::invalid_parameter("perturbation", found, "from 0 to 1,000,000"));
        }
        if let Some(burnt) = self.burn_in.filter(|burnt| *burnt >= self.rounds) {
            return Err(Error::invalid_parameter("burn in", burnt, "below the number of rounds"));
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

/// The parameters of this mechanism, some of which are those of DualQuery, too.
pub(super) const PARAMETERS: &[Parameter] = &[
    SAMPLES,
    Parameter {
        name: "perturbation",
        value_name: "NU",
        help: "Scale of the random penalties under which records are found",
        form: Form::Number,
        unset: "",
    },
    Parameter {
        name: "burn-in",
        value_name: "ROUNDS",
        help: "Number of first rounds whose records are left out",
        form: Form::Count,
        unset: "half of the rounds",
    },
    ORACLE,
];
