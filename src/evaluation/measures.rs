//! All measures of one evaluation.

use std::collections::BTreeMap;
use std::path::Path;

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use serde::Serialize;

#[cfg(feature = "arrow")]
use crate::data::arrow::ArrowTable;
use crate::data::{Dataset, Units, WholeTable};
use crate::domain::{Clique, Schema};
use crate::error::{Error, Result};
use crate::evaluation::settings::UnitSettings;
use crate::evaluation::{
    CorrelationDifference, EditRules, EditViolations, EvaluationSettings, Frequencies,
    GroupDistances, GroupScore, KMarginalScore, Measure, MembersComparison, NumberComparison,
    Prediction, PropensityScore, Regression, RegressionComparison, UniqueMatches, UnitComparison,
    UnitRecords, Weighted, WorkloadError, Yardstick,
};
use crate::query::Workload;

/// The seed for drawing the marginals of scores, so that all tables use the same ones.
const DRAW_SEED: u64 = 1;

/// What to measure, under a schema: [`EvaluationSettings::under`] makes it.
#[derive(Clone, Debug)]
pub struct Evaluation {
    pub(super) settings: EvaluationSettings,
    pub(super) schema: Schema,
    pub(super) workload: Workload,
    pub(super) left_out: usize,
    pub(super) rules: Option<EditRules>,
    pub(super) groups: Option<Clique>,
    pub(super) by: Option<Clique>,
    pub(super) predicted: Option<Clique>,
    pub(super) regressions: Vec<Regression>,
    pub(super) units: Option<UnitSettings>,
}

/// The measures of a synthetic table. **Not private.** A measure that was not asked for is `None` or empty.
#[derive(Clone, Debug, Serialize)]
pub struct Measures {
    /// Always false: exact comparisons with the real records must not be published.
    pub private: bool,
    /// The column of survey weights; `None` if records count the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<String>,
    /// Records of the real table.
    pub real_records: usize,
    /// Records of the synthetic table.
    pub synthetic_records: usize,
    /// Cliques of the workload that are left out because they have too many cells.
    pub left_out: usize,
    /// The error on the workload.
    pub error: WorkloadError,
    /// The error of the product of the real table's one-way marginals.
    pub independent_error: f64,
    /// Random samples of the real records beside the synthetic table; `None` for fewer than 20 real records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub yardstick: Option<Yardstick>,
    /// [`Measure::KMarginal`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k_marginal: Option<KMarginalScore>,
    /// [`Measure::Propensity`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propensity: Option<PropensityScore>,
    /// [`Measure::Correlation`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation: Option<CorrelationDifference>,
    /// [`Measure::UniqueMatches`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique_matches: Option<UniqueMatches>,
    /// [`Measure::SinglesAndPairs`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub singles_and_pairs: Option<SinglesAndPairs>,
    /// Violations of [`EvaluationSettings::rules`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit_rules: Option<EditComparison>,
    /// The distances within [`EvaluationSettings::groups`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_groups: Option<GroupDistances>,
    /// The tables unit by unit, by [`EvaluationSettings::unit`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_units: Option<UnitComparison>,
    /// Units with their members, by [`EvaluationSettings::members`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with_members: Option<MembersComparison>,
    /// The numeric columns; `None` if there are none, or if numbers of a table are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numbers: Option<NumberComparison>,
    /// [`EvaluationSettings::regress`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub regressions: Vec<RegressionComparison>,
    /// [`EvaluationSettings::predict`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub predictions: Vec<Prediction>,
}

/// Errors on the marginals that readers look at first. **Not private.**
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SinglesAndPairs {
    /// All single attributes.
    pub singles: WorkloadError,
    /// All pairs of attributes.
    pub pairs: WorkloadError,
}

impl SinglesAndPairs {
    /// The errors of one table against another.
    ///
    /// # Errors
    /// As [`WorkloadError::between`]; a single attribute has no pairs.
    pub fn between(real: &dyn Frequencies, synthetic: &dyn Frequencies) -> Result<Self> {
        let of = |k| -> Result<WorkloadError> {
            let all = Workload::all_k_way(real.attributes(), k)?;
            WorkloadError::between(real, synthetic, &all, 0)
        };
        Ok(Self { singles: of(1)?, pairs: of(2)? })
    }
}

/// Violations of edit rules in both tables.
#[derive(Clone, Debug, Serialize)]
pub struct EditComparison {
    /// In the real table.
    pub real: EditViolations,
    /// In the synthetic table.
    pub synthetic: EditViolations,
}

impl Evaluation {
    /// The schema of both tables.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The marginals that are compared.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// The column that names the unit of each record, if units are compared.
    pub fn unit(&self) -> Option<&str> {
        self.settings.unit.as_deref()
    }

    /// The column of survey weights, if the tables are weighted.
    pub fn weight(&self) -> Option<&str> {
        self.settings.weight.as_deref()
    }

    /// Reads a table for this evaluation.
    ///
    /// # Errors
    /// As [`WholeTable::read`].
    pub fn read(&self, path: &Path) -> Result<WholeTable> {
        match (&self.settings.weight, self.units_with_members()) {
            (Some(weight), _) => WholeTable::read_weighted(path, &self.schema, weight),
            (None, Some(units)) => {
                WholeTable::read_together(path, &self.schema_of_members()?, units)
            }
            (None, None) => WholeTable::read(path, &self.schema, self.unit()),
        }
    }

    /// Reads a table in memory for this evaluation.
    ///
    /// # Errors
    /// As [`ArrowTable::read_whole`].
    #[cfg(feature = "arrow")]
    pub fn read_arrow(&self, table: &ArrowTable) -> Result<WholeTable> {
        match (&self.settings.weight, self.units_with_members()) {
            (Some(weight), _) => table.read_weighted(&self.schema, weight),
            (None, Some(units)) => {
                WholeTable::together_of_arrow(table, &self.schema_of_members()?, units)
            }
            (None, None) => table.read_whole(&self.schema, self.unit()),
        }
    }

    /// The schema by which units are read with their members: those that break rules about members are counted, not refused.
    fn schema_of_members(&self) -> Result<Schema> {
        self.schema.without_forbidden_members()
    }

    /// Units that are one record each, if members are compared.
    fn units_with_members(&self) -> Option<&Units> {
        self.units.as_ref().and_then(|units| units.with_members.as_ref())
    }

    /// All measures that were asked for.
    ///
    /// # Errors
    /// Tables over another domain than the schema's, a table without records, marginals or groups too large to count, or a
    /// regression or units on tables of which the numbers or units were not read.
    pub fn between(&self, real: &WholeTable, synthetic: &WholeTable) -> Result<Measures> {
        let tables = [&real.records, &synthetic.records];
        let [one, other] = tables;
        let [real_weighted, synthetic_weighted] = &self.weighted(real, synthetic)?;
        let asked = |measure| self.settings.measures.contains(&measure);
        let rng = || ChaCha20Rng::seed_from_u64(DRAW_SEED);
        let k_marginal = || {
            let (k, draws) = (self.settings.k as usize, self.settings.draws);
            let (draws, mut rng) = (draws.map(|draws| draws as usize), rng());
            KMarginalScore::between(real_weighted, synthetic_weighted, k, draws, &mut rng)
        };
        let violations = |rules: &EditRules| -> Result<EditComparison> {
            let [own, other] = [real, synthetic].map(|table| table.numbers.as_ref());
            Ok(EditComparison {
                real: rules.violations_of(*real_weighted, own)?,
                synthetic: rules.violations_of(*synthetic_weighted, other)?,
            })
        };
        let by_groups =
            |groups: &Clique| GroupScore::default().between(one, other, groups, &mut rng());
        let weighted = [*real_weighted, *synthetic_weighted];
        let (numbers, regressions) = self.of_numbers(real, synthetic, weighted)?;
        Ok(Measures {
            private: false,
            weight: self.settings.weight.clone(),
            real_records: one.records(),
            synthetic_records: other.records(),
            left_out: self.left_out,
            error: self.workload_error(real_weighted, synthetic_weighted)?,
            independent_error: self.error_of_independence(real_weighted)?.mean_l1,
            yardstick: Yardstick::of(*real_weighted, *synthetic_weighted, &self.workload)?,
            k_marginal: asked(Measure::KMarginal).then(k_marginal).transpose()?,
            propensity: asked(Measure::Propensity)
                .then(|| PropensityScore::between(one, other))
                .transpose()?,
            correlation: asked(Measure::Correlation)
                .then(|| CorrelationDifference::between(real_weighted, synthetic_weighted))
                .transpose()?,
            unique_matches: asked(Measure::UniqueMatches)
                .then(|| UniqueMatches::between(one, other))
                .transpose()?,
            singles_and_pairs: asked(Measure::SinglesAndPairs)
                .then(|| SinglesAndPairs::between(real_weighted, synthetic_weighted))
                .transpose()?,
            edit_rules: self.rules.as_ref().map(violations).transpose()?,
            by_groups: self.groups.as_ref().map(by_groups).transpose()?,
            by_units: self.by_units(real, synthetic)?,
            with_members: self.with_members(real, synthetic)?,
            numbers,
            regressions,
            predictions: self.predictions(one, other)?,
        })
    }

    /// Both tables, weighted if that was asked for. A synthetic table without weights is one of members of the population.
    ///
    /// # Errors
    /// A real table without the weights.
    pub fn weighted<'t>(
        &self,
        real: &'t WholeTable,
        synthetic: &'t WholeTable,
    ) -> Result<[Weighted<'t>; 2]> {
        let asked = self.settings.weight.as_ref();
        if let Some(column) = asked.filter(|_| real.weights.is_none()) {
            let found = format!("no column '{column}'");
            let expected = "the survey weight of each record";
            return Err(Error::invalid_specification("the real table", found, expected));
        }
        let weighted = |table: &'t WholeTable| Weighted {
            records: &table.records,
            weights: table.weights.as_deref().filter(|_| asked.is_some()),
        };
        Ok([weighted(real), weighted(synthetic)])
    }

    fn predictions(&self, real: &Dataset, synthetic: &Dataset) -> Result<Vec<Prediction>> {
        let asked = self.predicted.iter().flat_map(Clique::iter);
        asked.map(|attribute| Prediction::between(real, synthetic, attribute)).collect()
    }

    /// The error of a synthetic table on the workload.
    fn workload_error(
        &self,
        real: &dyn Frequencies,
        synthetic: &dyn Frequencies,
    ) -> Result<WorkloadError> {
        WorkloadError::between(real, synthetic, &self.workload, self.settings.worst as usize)
    }

    /// The error of the product of a table's one-way marginals on the workload.
    ///
    /// # Errors
    /// A table over another domain, or marginals too large to count.
    pub fn error_of_independence(&self, real: &dyn Frequencies) -> Result<WorkloadError> {
        WorkloadError::of_independence(real, &self.workload, 0)
    }

    /// The comparison of numeric columns, and the regressions.
    fn of_numbers(
        &self,
        real: &WholeTable,
        synthetic: &WholeTable,
        weighted: [Weighted<'_>; 2],
    ) -> Result<(Option<NumberComparison>, Vec<RegressionComparison>)> {
        let (Some(own), Some(other)) = (&real.numbers, &synthetic.numbers) else {
            if self.regressions.is_empty() {
                return Ok((None, Vec::new()));
            }
            let (found, expected) = ("codes alone", "tables whose numbers were read");
            return Err(Error::invalid_specification("the regressions", found, expected));
        };
        let (columns, tables) = ([own, other], [&real.records, &synthetic.records]);
        let weights = weighted.map(|table| table.weights);
        let mut numbers = NumberComparison::between_weighted(columns, weights)?;
        if let Some(by) = &self.by {
            numbers = numbers.by(by, &self.schema, columns, weighted)?;
        }
        let regressions = self.regressions.iter();
        let regressions = regressions.map(|asked| asked.compare(&self.schema, columns, tables));
        let numbers = (!numbers.columns.is_empty()).then_some(numbers);
        Ok((numbers, regressions.collect::<Result<_>>()?))
    }

    /// The comparison unit by unit.
    fn by_units(
        &self,
        real: &WholeTable,
        synthetic: &WholeTable,
    ) -> Result<Option<UnitComparison>> {
        let Some(asked) = &self.units else { return Ok(None) };
        let [real, synthetic] = [real, synthetic].map(|table| counting(table, &asked.units));
        let [real, synthetic] =
            [&real, &synthetic].map(|(records, units)| UnitRecords { records, units });
        let found = UnitComparison::between(real, synthetic, &asked.declared, &asked.evidence)?;
        Ok(Some(found))
    }

    /// Units with their members.
    fn with_members(
        &self,
        real: &WholeTable,
        synthetic: &WholeTable,
    ) -> Result<Option<MembersComparison>> {
        let Some(units) = self.units_with_members() else { return Ok(None) };
        let (Some(real), Some(synthetic)) = (&real.together, &synthetic.together) else {
            let (found, expected) = ("no members of units", "a table that was read with them");
            return Err(Error::invalid_specification("table to compare", found, expected));
        };
        let found = MembersComparison::between(real, synthetic, units)?;
        found.under(&self.schema, [real, synthetic], units).map(Some)
    }
}

/// The records of each unit that count, with their units.
fn counting(table: &WholeTable, units: &Units) -> (Dataset, Vec<u32>) {
    let mut seen: BTreeMap<u32, u32> = BTreeMap::new();
    let counts = |unit: &u32| {
        let records = seen.entry(*unit).or_default();
        *records += 1;
        *records <= units.most()
    };
    let counted: Vec<bool> = table.units.iter().map(counts).collect();
    let positions: Vec<u32> = (0..).zip(&counted).filter(|(_, c)| **c).map(|(at, _)| at).collect();
    let units = positions.iter().map(|at| table.units[*at as usize]).collect();
    (table.records.take(&positions), units)
}

#[cfg(test)]
mod tests;
