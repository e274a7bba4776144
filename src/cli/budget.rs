//! `jointly budget`: converts between (ε, δ) and ρ.

use jointly::Error;
use jointly::privacy::{
    Delta, Epsilon, Rho, delta_from_rho_epsilon, epsilon_from_rho_delta, rho_from_epsilon_delta,
};
use serde::Serialize;

use super::args::BudgetArgs;
use super::console;
use super::failure::{Failure, Outcome};

#[derive(Serialize)]
struct Answer {
    epsilon: f64,
    delta: f64,
    rho: f64,
    /// ρ in whole units of 2⁻⁴⁰, as the ledger counts it.
    rho_units: u64,
    /// Which of the three values was computed.
    computed: &'static str,
    /// Noise of one marginal, in counts, if all of ρ were spent on it.
    stddev_replace_one: f64,
    stddev_add_remove_one: f64,
}

impl Answer {
    fn new(args: &BudgetArgs) -> Outcome<Self> {
        let epsilon = args.epsilon.map(Epsilon::of_budget).transpose()?;
        let delta = args.delta.map(Delta::new).transpose()?;
        // As for ε, than which the ρ of a budget is smaller.
        if let Some(found) = args.rho.filter(|rho| *rho > Epsilon::MOST) {
            let expected = "at most 4096: more is no protection";
            return Err(Error::invalid_budget("rho", found, expected).into());
        }
        let rho = args.rho.map(Rho::from_f64).transpose()?;
        if rho.is_some_and(Rho::is_zero) {
            let found = args.rho.unwrap_or(0.0);
            return Err(Error::invalid_budget("rho", found, "at least 2^-40").into());
        }
        let (epsilon, delta, rho, computed) = match (epsilon, delta, rho) {
            (Some(epsilon), Some(delta), None) => {
                let rho = rho_from_epsilon_delta(epsilon, delta)?;
                (epsilon.value(), delta.value(), rho, "rho")
            }
            (None, Some(delta), Some(rho)) => {
                let epsilon = epsilon_from_rho_delta(rho, delta)?;
                (epsilon.value(), delta.value(), rho, "epsilon")
            }
            (Some(epsilon), None, Some(rho)) => {
                (epsilon.value(), delta_from_rho_epsilon(rho, epsilon), rho, "delta")
            }
            _ => {
                return Err(Failure::usage(
                    "expected two of --epsilon, --delta and --rho; the third is computed",
                ));
            }
        };
        Ok(Self {
            epsilon,
            delta,
            rho: rho.to_f64(),
            rho_units: rho.units(),
            computed,
            stddev_replace_one: rho.to_f64().recip().sqrt(),
            stddev_add_remove_one: (2.0 * rho.to_f64()).recip().sqrt(),
        })
    }

    fn text(&self) -> String {
        let mark = |name| if self.computed == name { "   (computed)" } else { "" };
        format!(
            "epsilon  {}{}\ndelta    {:e}{}\nrho      {}{}\n\n\
             One marginal measured with all of it: standard deviation of {:.2} counts in every cell\n\
             under replace-one, {:.2} under add-remove-one.\n",
            self.epsilon,
            mark("epsilon"),
            self.delta,
            mark("delta"),
            self.rho,
            mark("rho"),
            self.stddev_replace_one,
            self.stddev_add_remove_one,
        )
    }
}

pub(super) fn run(args: &BudgetArgs) -> Outcome {
    let answer = Answer::new(args)?;
    if args.json { console::json_result(&answer) } else { console::result(&answer.text()) }
}
