//! Steps 2 and 4: paid choices among whole models, by their mean errors on the workload.

use crate::domain::Clique;
use crate::error::Result;
use crate::mechanism::Run;
use crate::mechanism::anchor_pgm::constants::{AHEAD, AT_ONCE};
use crate::mechanism::graphical::model_errors;
use crate::model::{Distribution, MarkovRandomField, Model, WeightedSupport};
use crate::privacy::{Rho, ScoreSensitivity, Selection, Sensitive};
use crate::query::Workload;
use crate::table::{Factor, l1_distance, weighted_sum};

/// A model to choose, with its name.
pub(super) struct Candidate {
    pub(super) name: &'static str,
    pub(super) form: Form,
}

pub(super) enum Form {
    Graphical(MarkovRandomField),
    Listed(WeightedSupport),
}

impl Candidate {
    fn total(&self) -> f64 {
        match &self.form {
            Form::Graphical(model) => model.total(),
            Form::Listed(support) => support.total(),
        }
    }

    pub(super) fn into_model(self) -> Model {
        match self.form {
            Form::Graphical(model) => model.into(),
            Form::Listed(support) => support.into(),
        }
    }
}

/// The marginals of the workload among those of its closure, with weights that sum to 1.
pub(super) struct ComparedMarginals<'a> {
    cliques: &'a [Clique],
    answers: &'a Sensitive<Vec<Vec<u32>>>,
    /// Positions of the workload's cliques.
    wanted: Vec<usize>,
    /// Their weights.
    shares: Vec<f64>,
}

impl<'a> ComparedMarginals<'a> {
    /// `answers`: the private marginals of `cliques`, the closure of the workload.
    pub(super) fn new(
        workload: &Workload,
        cliques: &'a [Clique],
        answers: &'a Sensitive<Vec<Vec<u32>>>,
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
        Self { cliques, answers, wanted, shares }
    }

    /// Chooses one of several models by the exponential mechanism, with minus the mean error on the workload as score.
    ///
    /// `favorite`: starts [`AHEAD`] nats ahead.
    pub(super) fn choose(
        &self,
        run: &mut Run<'_, '_>,
        models: &[Candidate],
        favorite: Option<usize>,
        rho: Rho,
    ) -> Result<usize> {
        let round = run.begin_round()?;
        let sensitivity = ScoreSensitivity::mean_workload_error(run.relation());
        let ahead = AHEAD * 2.0 * sensitivity.value() / (8.0 * rho.to_f64()).sqrt();
        let mut sampled = 0;
        let mut scores = self.answers.as_ref().map(|_| Vec::with_capacity(models.len()));
        for (position, model) in models.iter().enumerate() {
            let errors = match &model.form {
                Form::Graphical(model) => {
                    let (errors, coverage) = model_errors(
                        model,
                        self.cliques,
                        &self.wanted,
                        self.answers,
                        round,
                        run.checks(),
                    )?;
                    sampled += coverage.sampled;
                    errors
                }
                Form::Listed(support) => self.listed_errors(support)?,
            };
            let constant = if favorite == Some(position) { ahead } else { 0.0 };
            scores = scores.zip(errors).map(|(mut scores, errors): (Vec<f64>, Vec<f64>)| {
                scores.push(constant - weighted_sum(&self.shares, &errors));
                scores
            });
        }
        let total = models.iter().map(Candidate::total).fold(0.0, f64::max);
        sensitivity.less(ahead).check_precision(run.largest_records() + total)?;
        let marginals = models.len() * self.wanted.len();
        run.scored(models.len(), marginals - sampled, sampled);
        let (how, purpose) = (Selection::Exponential, "choose a model");
        run.select(how, scores, models.len(), sensitivity, rho, purpose)
    }

    /// `‖M_r(D) - M_r(model)‖₁` for listed records.
    fn listed_errors(&self, support: &WeightedSupport) -> Result<Sensitive<Vec<f64>>> {
        let mut errors = self.answers.as_ref().map(|_| Vec::new());
        for part in self.wanted.chunks(AT_ONCE) {
            let asked: Vec<Clique> = part.iter().map(|i| self.cliques[*i].clone()).collect();
            let tables = support.marginals(&asked)?;
            errors = errors.zip(self.answers.as_ref()).map(|(mut errors, answers)| {
                let pairs = part.iter().zip(&tables);
                let distance =
                    |(i, table): (&usize, &Factor)| l1_distance(&answers[*i], table.values(), 1.0);
                errors.extend(pairs.map(distance));
                errors
            });
        }
        Ok(errors)
    }
}
