//! Statistics of a release whose model is in a file.

use serde::{Deserialize, Serialize};

use super::{Finding, Imputation, Statistic, Target};
use crate::data::{Dataset, WholeTable};
use crate::domain::Schema;
use crate::error::{Contradiction, Result};
use crate::error_bars::CONFIDENCE;
use crate::model::{Accuracy, ModelFile};
use crate::posterior::Posterior;

/// Statistics in the forms of the command line, each of which may be among some records.
///
/// See [`Statistic::share`], [`Statistic::mean`], [`Statistic::difference`], [`Statistic::linear`], [`Statistic::logistic`] and
/// [`Statistic::among`] for the forms.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StatisticTexts {
    /// Shares of records, such as `AGE=65..`.
    pub shares: Vec<String>,
    /// Attributes whose means are asked for.
    pub means: Vec<String>,
    /// Differences of means or shares between groups.
    pub differences: Vec<String>,
    /// Linear regressions.
    pub linear: Vec<String>,
    /// Logistic regressions.
    pub logistic: Vec<String>,
    /// Which records all of them are about; `None` for all.
    pub given: Option<String>,
}

impl StatisticTexts {
    /// The statistics, in the order of the members.
    ///
    /// # Errors
    /// A text of another form, or about an attribute that the schema lacks.
    pub fn parse(&self, schema: &Schema) -> Result<Vec<Statistic>> {
        type Parse = fn(&str, &Schema) -> Result<Statistic>;
        let forms: [(&[String], Parse); 5] = [
            (&self.shares, Statistic::share),
            (&self.means, Statistic::mean),
            (&self.differences, Statistic::difference),
            (&self.linear, Statistic::linear),
            (&self.logistic, Statistic::logistic),
        ];
        let mut statistics = Vec::new();
        for (texts, parse) in forms {
            for text in texts {
                let statistic = parse(text, schema)?;
                statistics.push(match &self.given {
                    Some(given) => statistic.among(given, schema)?,
                    None => statistic,
                });
            }
        }
        Ok(statistics)
    }
}

/// What a release says of some statistics.
#[derive(Clone, Debug, Serialize)]
pub struct Combined {
    /// False if the model was made with a fixed seed, or from tables that were cleared by hand.
    pub private: bool,
    /// What the intervals are for.
    pub target: Target,
    /// The survey weight of the private table, if it has one.
    pub weight: Option<String>,
    /// Probability with which each interval holds.
    pub confidence: f64,
    /// The statistics, in the order in which they were asked for.
    pub statistics: Vec<CombinedStatistic>,
}

/// One of them.
#[derive(Clone, Debug, Serialize)]
pub struct CombinedStatistic {
    /// Its text.
    pub statistic: String,
    /// Its numbers: one, or the coefficients of a regression.
    pub numbers: Vec<Finding>,
}

impl ModelFile {
    /// What was measured, for [`combine`](Self::combine).
    ///
    /// # Errors
    /// A model whose releases have no such intervals: of units, of a population with known totals, of nothing that was measured;
    /// one with survey weights, where intervals for the population are wanted.
    pub fn combinable(&self, target: Target) -> Result<&Accuracy> {
        let needs = |needed| Contradiction::Needs { what: "combine", needed };
        if self.linked.is_some() {
            let needed = "a model whose rows are drawn one by one: its intervals are for those, not for rows that come as units";
            return Err(needs(needed).into());
        }
        let accuracy = self.accuracy.as_ref().ok_or_else(|| {
            needs(if self.weight.is_some() {
                "a model that says how far it is from the population: one with known totals and weights does not"
            } else {
                "a model that says what was measured: without it, no statistic has an interval"
            })
        })?;
        if self.weight.is_some() && target == Target::Population {
            let (first, second) = ("intervals for a population", "survey weights");
            let why =
                "the variance of weighted records is in replicate weights, which are not read";
            return Err(Contradiction::Together { first, second, why }.into());
        }
        Ok(accuracy)
    }

    /// The posterior of some columns, and the schema of its tables.
    ///
    /// `columns`: names, 2 to 12.
    ///
    /// # Errors
    /// As [`combinable`](Self::combinable) for a population, and [`Posterior::new`]; an unknown column, or one twice.
    pub fn posterior<S: AsRef<str>>(&self, columns: &[S]) -> Result<(Posterior, Schema)> {
        let accuracy = self.combinable(Target::Population)?;
        let (_, schema) = self.written()?;
        let domain = schema.domain();
        let columns = domain.clique(columns)?;
        let posterior = Posterior::new(&domain, accuracy, &columns)?;
        let names: Vec<&str> = columns.iter().map(|at| domain.name(at)).collect();
        Ok((posterior, schema.select(&names)?))
    }

    /// Combines statistics of a released table of this model and of its replicates. It costs no privacy.
    ///
    /// `released`: read under the schema of [`written`](Self::written), with the survey weight if the model has one; the same for
    /// `replicates`. `imputation`: as for [`Statistic::combine`].
    ///
    /// # Errors
    /// As [`combinable`](Self::combinable) and [`Statistic::combine`]; records with weights, which are not members of the population.
    pub fn combine(
        &self,
        statistics: &[Statistic],
        released: &WholeTable,
        replicates: &[Dataset],
        target: Target,
        imputation: Option<Imputation<'_>>,
    ) -> Result<Combined> {
        let accuracy = self.combinable(target)?;
        if released.weights.is_some() {
            let (first, second) = ("combine", "records with survey weights");
            let why = "it reads members of the population, which `sample` draws from the model";
            return Err(Contradiction::Together { first, second, why }.into());
        }
        let (kept, schema) = self.written()?;
        let accuracy = accuracy.of_attributes(&kept);
        let combined = |statistic: &Statistic| {
            let records = &released.records;
            let numbers =
                statistic.combine(&schema, records, replicates, &accuracy, target, imputation)?;
            Ok(CombinedStatistic { statistic: statistic.to_string(), numbers })
        };
        Ok(Combined {
            private: self.is_private,
            target,
            weight: self.weight.clone(),
            confidence: CONFIDENCE,
            statistics: statistics.iter().map(combined).collect::<Result<_>>()?,
        })
    }
}
