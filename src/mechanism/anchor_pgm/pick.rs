//! Step 4: the paid choice among whole models, by their mean errors on the workload.

use crate::domain::Clique;
use crate::error::Result;
use crate::mechanism::Run;
use crate::mechanism::anchor_pgm::constants::{AT_ONCE, FAILS_ONE_IN};
use crate::mechanism::anchor_pgm::mixture::Mixture;
use crate::mechanism::anchor_pgm::whole_units::WholeUnits;
use crate::mechanism::graphical::model_errors;
use crate::model::{Distribution, MarkovRandomField, Model, WeightedSupport};
use crate::privacy::{L1Errors, Rho, ScoreSensitivity, SealedMarginals, Selection};
use crate::query::Workload;
use crate::table::Factor;

/// A model to choose, with its name.
pub(super) struct Candidate {
    pub(super) name: &'static str,
    /// Whether it starts from the public tables.
    pub(super) is_public: bool,
    pub(super) form: Form,
}

pub(super) enum Form {
    Graphical(MarkovRandomField),
    Listed(WeightedSupport),
    Mixed(Mixture),
}

impl Candidate {
    pub(super) fn into_model(self) -> Result<Model> {
        Ok(match self.form {
            Form::Graphical(model) => model.into(),
            Form::Listed(support) => support.into(),
            Form::Mixed(mixture) => mixture.listed()?.into(),
        })
    }
}

/// The marginals of the workload among those of its closure, with weights that sum to 1.
pub(super) struct ComparedMarginals<'a> {
    cliques: &'a [Clique],
    answers: &'a SealedMarginals,
    /// Positions of the workload's cliques.
    wanted: Vec<usize>,
    /// Their weights.
    shares: Vec<f64>,
    /// What the models say of units as a whole; it weighs as much as the workload.
    whole_units: Option<&'a WholeUnits>,
}

impl<'a> ComparedMarginals<'a> {
    /// `answers`: the private marginals of `cliques`, the closure of the workload.
    pub(super) fn new(
        workload: &Workload,
        cliques: &'a [Clique],
        answers: &'a SealedMarginals,
        whole_units: Option<&'a WholeUnits>,
    ) -> Self {
        let mut place = std::collections::BTreeMap::new();
        cliques.iter().enumerate().for_each(|(i, clique)| {
            place.insert(clique, i);
        });
        let weighted = workload.weighted_cliques().iter();
        let (wanted, weights): (Vec<usize>, Vec<f64>) = weighted
            .filter_map(|w| Some((*place.get(&w.clique)?, w.weight)))
            .filter(|(_, weight)| *weight > 0.0)
            .unzip();
        let sum: f64 = weights.iter().sum();
        let shares = weights.iter().map(|weight| weight / sum).collect();
        Self { cliques, answers, wanted, shares, whole_units }
    }

    /// Chooses one of several models by the exponential mechanism, with minus the mean error on the workload as score.
    ///
    /// `favorite`: starts so far ahead that it loses in one of [`FAILS_ONE_IN`] runs at most if no other is better.
    pub(super) fn choose(
        &self,
        run: &mut Run<'_, '_>,
        models: &[Candidate],
        favorite: Option<usize>,
        rho: Rho,
    ) -> Result<usize> {
        let round = run.begin_round()?;
        let sensitivity = ScoreSensitivity::mean_workload_error(run.relation());
        let others = models.len().saturating_sub(1).max(1) as f64;
        let unit = 2.0 * sensitivity.value() / (8.0 * rho.to_f64()).sqrt();
        let ahead = unit * (FAILS_ONE_IN * others).ln();
        let (mut sampled, mut errors) = (0, Vec::with_capacity(models.len()));
        let mut of_mixtures = self.mixture_errors(models)?.into_iter();
        for model in models {
            let mut of_model = match &model.form {
                Form::Graphical(model) => {
                    let Self { cliques, answers, wanted, .. } = self;
                    let (errors, coverage) =
                        model_errors(model, cliques, wanted, answers, round, run.checks())?;
                    sampled += coverage.sampled;
                    errors
                }
                Form::Listed(support) => self.listed_errors(support)?,
                Form::Mixed(_) => of_mixtures.next().unwrap_or_else(|| self.answers.l1_errors()),
            };
            if let Some(whole_units) = self.whole_units {
                of_model.extend(&whole_units.errors(&model.form)?)?;
            }
            errors.push(of_model);
        }
        let constant = |position| if favorite == Some(position) { ahead } else { 0.0 };
        let constants: Vec<f64> = (0..models.len()).map(constant).collect();
        let shares = self.all_shares();
        let scores = L1Errors::minus_means(&errors, &shares, &constants)?;
        let marginals = models.len() * shares.len();
        run.scored(models.len(), marginals - sampled, sampled);
        run.select(Selection::Exponential, scores, rho, "choose a model")
    }

    /// Positions of all tables that are compared, those of whole units last, with weights that sum to 1.
    fn all_shares(&self) -> Vec<(usize, f64)> {
        let own = self.wanted.iter().copied().zip(self.shares.iter().copied());
        let Some(whole_units) = self.whole_units else { return own.collect() };
        let first = self.answers.len();
        let each = 0.5 / whole_units.len() as f64;
        let further = (first..first + whole_units.len()).map(|at| (at, each));
        own.map(|(at, share)| (at, 0.5 * share)).chain(further).collect()
    }

    /// `‖M_r(D) - M_r(model)‖₁` for each of the mixtures among the models.
    fn mixture_errors(&self, models: &[Candidate]) -> Result<Vec<L1Errors>> {
        let mixtures = models.iter().filter_map(|model| match &model.form {
            Form::Mixed(mixture) => Some(mixture),
            Form::Graphical(_) | Form::Listed(_) => None,
        });
        let mixtures: Vec<&Mixture> = mixtures.collect();
        let mut errors: Vec<L1Errors> = mixtures.iter().map(|_| self.answers.l1_errors()).collect();
        for part in self.wanted.chunks(AT_ONCE) {
            let asked: Vec<Clique> = part.iter().map(|i| self.cliques[*i].clone()).collect();
            for (position, tables) in Mixture::marginals(&mixtures, &asked)?.enumerate() {
                for (errors, table) in errors.iter_mut().zip(&tables) {
                    errors.compare(self.answers, &part[position..=position], &[table], 1.0)?;
                }
            }
        }
        Ok(errors)
    }

    /// `‖M_r(D) - M_r(model)‖₁` for listed records.
    fn listed_errors(&self, support: &WeightedSupport) -> Result<L1Errors> {
        let mut errors = self.answers.l1_errors();
        for part in self.wanted.chunks(AT_ONCE) {
            let asked: Vec<Clique> = part.iter().map(|i| self.cliques[*i].clone()).collect();
            let tables = support.marginals(&asked)?;
            let tables: Vec<&[f64]> = tables.iter().map(Factor::values).collect();
            errors.compare(self.answers, part, &tables, 1.0)?;
        }
        Ok(errors)
    }
}
