//! Measures in addition to the workload error, shared by `evaluate` and `compare`. Their results are not private.

use jointly::data::Dataset;
use jointly::domain::{Clique, Domain, Schema};
use jointly::evaluation::{
    CorrelationDifference, EditRules, EditViolations, GroupDistances, GroupScore, KMarginalScore,
    PropensityScore, UniqueMatches,
};
use jointly::{CommonError, Error};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use serde::Serialize;

use super::args::{Measure, MeasureArgs};
use super::failure::Outcome;
use super::format::{grouped, percent, short};

/// The seed for drawing the marginals of scores, so that all tables use the same ones.
const DRAW_SEED: u64 = 1;

/// What to measure, with its files already read.
pub(super) struct Measures<'a> {
    asked: &'a MeasureArgs,
    rules: Option<EditRules>,
}

/// The results; `None` for a measure that was not requested.
#[derive(Default, Serialize)]
pub(super) struct Measured {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) k_marginal: Option<KMarginalScore>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) propensity: Option<PropensityScore>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) correlation: Option<CorrelationDifference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unique_matches: Option<UniqueMatches>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) edit_rules: Option<EditComparison>,
}

/// Edit-rule violations in both tables.
#[derive(Serialize)]
pub(super) struct EditComparison {
    pub(super) real: EditViolations,
    pub(super) synthetic: EditViolations,
}

impl MeasureArgs {
    /// Refuses numbers out of range.
    pub(super) fn check(&self) -> jointly::Result<()> {
        if self.k == 0 {
            return Err(Error::invalid_parameter("k", 0, "at least 1"));
        }
        if self.draws == Some(0) {
            return Err(Error::invalid_parameter("draws", 0, "at least 1"));
        }
        Ok(())
    }
}

impl<'a> Measures<'a> {
    pub(super) fn new(asked: &'a MeasureArgs, schema: &Schema) -> Outcome<Self> {
        let rules = asked.rules.as_ref().map(|path| EditRules::read(path, schema)).transpose()?;
        Ok(Self { asked, rules })
    }

    pub(super) fn between(&self, real: &Dataset, synthetic: &Dataset) -> Outcome<Measured> {
        let mut measured = Measured::default();
        for measure in &self.asked.measures {
            match measure {
                Measure::KMarginal => {
                    let MeasureArgs { k, draws, .. } = *self.asked;
                    let mut rng = ChaCha20Rng::seed_from_u64(DRAW_SEED);
                    let score = KMarginalScore::between(real, synthetic, k, draws, &mut rng)?;
                    measured.k_marginal = Some(score);
                }
                Measure::Propensity => {
                    measured.propensity = Some(PropensityScore::between(real, synthetic)?);
                }
                Measure::Correlation => {
                    measured.correlation = Some(CorrelationDifference::between(real, synthetic)?);
                }
                Measure::UniqueMatches => {
                    measured.unique_matches = Some(UniqueMatches::between(real, synthetic)?);
                }
            }
        }
        if let Some(rules) = &self.rules {
            let (real, synthetic) = (rules.violations(real)?, rules.violations(synthetic)?);
            measured.edit_rules = Some(EditComparison { real, synthetic });
        }
        Ok(measured)
    }
}

/// The distances of all groups by some attributes; `None` if no attribute is given.
pub(super) fn group_score(
    groups: &[String],
    real: &Dataset,
    synthetic: &Dataset,
) -> Outcome<Option<GroupDistances>> {
    let Some(groups) = attributes(real.domain(), groups, "--groups")? else { return Ok(None) };
    let mut rng = ChaCha20Rng::seed_from_u64(DRAW_SEED);
    Ok(Some(GroupScore::default().between(real, synthetic, &groups, &mut rng)?))
}

/// The attributes that a flag names; `None` if it names none.
pub(super) fn attributes(
    domain: &Domain,
    names: &[String],
    flag: &str,
) -> jointly::Result<Option<Clique>> {
    if names.is_empty() {
        return Ok(None);
    }
    let place = flag.to_owned();
    let clique = domain.clique(names).map_err(|error| match error {
        CommonError::UnknownAttribute { name, known, .. } => {
            CommonError::UnknownAttribute { name, place, known }
        }
        CommonError::DuplicateAttribute { name, .. } => {
            CommonError::DuplicateAttribute { name, place }
        }
        other => other,
    })?;
    Ok(Some(clique))
}

impl Measured {
    /// Passes names and values for readers to a function, one call per line.
    pub(super) fn rows(&self, row: &mut impl FnMut(&str, &str)) {
        if let Some(found) = &self.k_marginal {
            row(&format!("{}-marginal score (0 to 1000)", found.k), &short(found.score));
            row("  marginals", &grouped(found.marginals));
        }
        if let Some(found) = &self.propensity {
            row("Propensity mean squared error", &short(found.pmse));
            row("  ratio to that of resampled real records", &short(found.ratio));
        }
        if let Some(CorrelationDifference { pearson, cramers_v, .. }) = &self.correlation {
            row("Pearson correlation, mean difference", &short(pearson.mean));
            row(&largest(&pearson.worst), &short(pearson.max));
            row("Cramér's V, mean difference", &short(cramers_v.mean));
            row(&largest(&cramers_v.worst), &short(cramers_v.max));
        }
        if let Some(found) = &self.unique_matches {
            row("Unique real records", &grouped(found.unique));
            row("  of them in the synthetic table", &grouped(found.matched));
            row("  as a share of the unique ones", &percent(found.share_of_unique));
        }
        if let Some(EditComparison { real, synthetic }) = &self.edit_rules {
            row("Records against an edit rule, synthetic", &grouped(synthetic.violating));
            row("  as a share", &percent(synthetic.share));
            row("  real, as a share", &percent(real.share));
            for rule in synthetic.rules.iter().filter(|rule| rule.violations > 0) {
                row(&format!("  against '{}'", rule.name), &grouped(rule.violations));
            }
        }
    }
}

fn largest(pair: &[String; 2]) -> String {
    format!("  largest ({} x {})", pair[0], pair[1])
}
