//! What to measure, as a value for people, files and programs.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::data::Units;
use crate::domain::{Clique, Domain, Schema};
use crate::error::{CommonError, Contradiction, Error, Result};
use crate::evaluation::{EditRules, Evaluation, Regression};
use crate::model::Evidence;
use crate::privacy::PrivacyUnit;
use crate::query::WorkloadSource;
use crate::settings::{self, Choices, Form, settings};

/// A measure in addition to the workload error; see `docs/guide/evaluation.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// [`KMarginalScore`](crate::evaluation::KMarginalScore).
    KMarginal,
    /// [`PropensityScore`](crate::evaluation::PropensityScore).
    Propensity,
    /// [`CorrelationDifference`](crate::evaluation::CorrelationDifference).
    Correlation,
    /// [`UniqueMatches`](crate::evaluation::UniqueMatches).
    UniqueMatches,
    /// [`SinglesAndPairs`](crate::evaluation::SinglesAndPairs).
    SinglesAndPairs,
}

/// The choices of [`EvaluationSettings::measures`].
const MEASURES: Choices = &[
    ("k-marginal", "The k-marginal score of SDNist, 0 to 1000"),
    (
        "propensity",
        "Mean squared error of a propensity score, and its ratio to that of resampled real records",
    ),
    ("correlation", "Differences in Pearson's correlation and in Cramér's V, over all pairs"),
    ("unique-matches", "Unique real records that also occur in the synthetic table"),
    (
        "singles-and-pairs",
        "Errors on all single attributes and on all pairs, whatever the workload",
    ),
];

/// Edit rules: a file of them, or the rules themselves as [`EditRules::from_json`] reads them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RulesSource {
    /// A file.
    File(PathBuf),
    /// The JSON of one.
    Rules(Map<String, Value>),
}

settings! {
    /// What to measure on a synthetic table, beside a real one. The command line, Python and comparisons of mechanisms all hold
    /// this value.
    ///
    /// ```
    /// use jointly::{Schema, data::WholeTable, evaluation::EvaluationSettings};
    /// let schema = Schema::from_json(r#"{"sex": 2, "work": 2}"#, "domain.json")?;
    /// let settings = serde_json::json!({"workload": "all-2-way", "measures": ["unique-matches"]});
    /// let evaluation = EvaluationSettings::from_settings(settings)?.under(&schema)?;
    /// let real = WholeTable::read_from(&b"sex,work\n0,0\n1,1\n"[..], "real.csv", &schema, None)?;
    /// let made = WholeTable::read_from(&b"sex,work\n0,0\n1,0\n"[..], "made.csv", &schema, None)?;
    /// let found = evaluation.between(&real, &made)?;
    /// assert_eq!((found.error.mean_l1, found.unique_matches.unwrap().matched), (1.0, 1));
    /// # Ok::<(), jointly::Error>(())
    /// ```
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
    pub struct EvaluationSettings {
        /// Workload of marginals: all-K-way (for instance all-3-way), all-K-way:N@SEED for N of these drawn at random, or a
        /// file of cliques.
        workload: String = WorkloadSource::default().name, Measures, Form::FileOrName, "all-K-way|FILE";
        /// Leave out cliques of the workload with more than N cells.
        max_cells: Option<u64> = None, Measures, Form::Whole, "N";
        /// Number of worst marginals to list.
        worst: u32 = 10, Measures, Form::Count, "K";
        /// Measures in addition to the workload error, separated by commas.
        measures: Vec<Measure> = Vec::new(), Measures, Form::Choices(MEASURES), "NAME,...";
        /// Number of attributes in each marginal of the k-marginal score.
        k: u32 = 3, Measures, Form::Count, "K";
        /// Number of marginals in the k-marginal score, drawn with a fixed seed [default: all].
        draws: Option<u32> = None, Measures, Form::Count, "N";
        /// Edit rules: a JSON file of combinations that must not occur; counts violations in both tables.
        rules: Option<RulesSource> = None, Measures, Form::File, "FILE";
        /// Grouping attributes, separated by commas; adds the score of NIST's Temporal Map, computed from the marginals
        /// within each group.
        groups: Vec<String> = Vec::new(), Measures, Form::Names, "NAME,...";
        /// Attributes, separated by commas: compares the numeric columns also within each combination of their values.
        by: Vec<String> = Vec::new(), Measures, Form::Names, "NAME,...";
        /// A linear regression to compare, such as 'INCOME ~ AGE + SEX'; may be given several times.
        regress: Vec<String> = Vec::new(), Measures, Form::Texts, "FORMULA";
        /// Attributes, separated by commas: trains a classifier of each on the synthetic records, tests it on the real ones.
        predict: Vec<String> = Vec::new(), Measures, Form::Names, "NAME,...";
        /// Column with the survey weight of each record: errors are then those of the weighted table. A synthetic table without the
        /// column is one of members of the population.
        ///
        /// Not with what is about records: the measures `propensity` and `unique-matches`, `--groups`, `--regress`, `--predict`
        /// and `--unit`. `docs/guide/surveys.md`
        weight: Option<String> = None, Measures, Form::Text, "COLUMN";
        /// Column that identifies the unit of each record in both tables, such as a household; adds measures unit by unit.
        unit: Option<String> = None, Units, Form::Text, "COLUMN";
        /// Maximum number of records per unit; the measures of units count the first K in each file [default: all].
        max_records: Option<u32> = None, Units, Form::Count, "K", needs "unit";
        /// Columns, separated by commas, that all records of a unit should share.
        unit_columns: Vec<String> = Vec::new(), Units, Form::Names, "NAME,...", needs "unit";
        /// Counts how many records of each unit agree with this, such as SPORDER=1; may be given several times.
        per_unit: Vec<String> = Vec::new(), Units, Form::Texts, "EVIDENCE", needs "unit";
        /// Columns of each member of a unit, separated by commas: adds errors of what relates members, and of what units are made
        /// of.
        ///
        /// With `--max-records`, `--unit-columns` and `--order` as `synth` had them: `docs/guide/households.md`
        members: Vec<String> = Vec::new(), Units, Form::Names, "NAME,...", needs "order";
        /// Column of numbers by which the members of a unit are ordered.
        order: Option<String> = None, Units, Form::Text, "COLUMN", needs "members";
    }
}

impl EvaluationSettings {
    /// Settings from their JSON, where members that are missing have their defaults.
    ///
    /// # Errors
    /// A member of another form, or that is no setting.
    pub fn from_settings(settings: Value) -> Result<Self> {
        settings::read(settings, Self::SETTINGS, "evaluation")
    }

    /// The evaluation of tables of a schema. Reads the workload and the rules, and checks all settings, before any table is
    /// read.
    ///
    /// # Errors
    /// A number out of range, an attribute, formula, piece of evidence or rule that the schema does not allow, a workload or
    /// rules that cannot be read, or a setting of units without `unit`.
    pub fn under(&self, schema: &Schema) -> Result<Evaluation> {
        for (name, found) in [("k", Some(self.k)), ("draws", self.draws)] {
            if found == Some(0) {
                return Err(Error::invalid_parameter(name, 0, "at least 1"));
            }
        }
        self.check_weight(schema)?;
        let domain = schema.domain();
        let source = WorkloadSource { name: self.workload.clone(), max_cells: self.max_cells };
        source.check()?;
        let (workload, left_out) = source.read(&domain)?;
        let rules = match &self.rules {
            None => None,
            Some(RulesSource::File(path)) => Some(EditRules::read(path, schema)?),
            Some(RulesSource::Rules(rules)) => {
                let text = Value::Object(rules.clone()).to_string();
                Some(EditRules::from_json(&text, "the rules", schema)?)
            }
        };
        let regression = |formula: &String| Regression::parse(formula, schema);
        Ok(Evaluation {
            settings: self.clone(),
            schema: schema.clone(),
            workload,
            left_out,
            rules,
            groups: attributes(&domain, &self.groups, "groups")?,
            by: attributes(&domain, &self.by, "by")?,
            predicted: attributes(&domain, &self.predict, "predict")?,
            regressions: self.regress.iter().map(regression).collect::<Result<_>>()?,
            units: self.units(schema)?,
        })
    }

    /// Refuses a weight that is an attribute, and what cannot be weighted: matches and scores of single records, and regressions
    /// and classifiers, whose intervals and tests would be wrong.
    fn check_weight(&self, schema: &Schema) -> Result<()> {
        let Some(name) = &self.weight else { return Ok(()) };
        if schema.domain().position(name).is_some() {
            let found = format!("the attribute '{name}'");
            let expected = "a column with the role 'weight', which the errors are not about";
            return Err(Error::invalid_specification("the survey weight", found, expected));
        }
        let others = [
            ("the propensity score", self.measures.contains(&Measure::Propensity)),
            ("unique matches", self.measures.contains(&Measure::UniqueMatches)),
            ("groups", !self.groups.is_empty()),
            ("regressions", !self.regress.is_empty()),
            ("classifiers", !self.predict.is_empty()),
            ("units", self.unit.is_some()),
        ];
        match others.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((second, _)) => {
                let (first, why) = ("a survey weight", "it is about records, whatever they weigh");
                Err(Contradiction::Together { first, second, why }.into())
            }
        }
    }

    /// What to count unit by unit.
    fn units(&self, schema: &Schema) -> Result<Option<UnitSettings>> {
        let others = [
            ("max records", self.max_records.is_some()),
            ("unit columns", !self.unit_columns.is_empty()),
            ("per unit", !self.per_unit.is_empty()),
            ("members", !self.members.is_empty()),
            ("order", self.order.is_some()),
        ];
        let Some(column) = &self.unit else {
            let alone = others.into_iter().find(|(_, is_given)| *is_given);
            return match alone {
                Some((what, _)) => Err(Contradiction::Needs { what, needed: "`unit`" }.into()),
                None => Ok(None),
            };
        };
        let declared = attributes(&schema.domain(), &self.unit_columns, "unit_columns")?;
        let evidence = |text: &String| Ok((text.clone(), Evidence::of_whole_bins(text, schema)?));
        Ok(Some(UnitSettings {
            units: Units::new(column, self.max_records.unwrap_or(u32::MAX))?,
            declared: declared.unwrap_or_else(|| Clique::new([])),
            evidence: self.per_unit.iter().map(evidence).collect::<Result<_>>()?,
            with_members: self.with_members(column, schema)?,
        }))
    }

    /// Units that are one record each, with their members.
    fn with_members(&self, column: &str, schema: &Schema) -> Result<Option<Units>> {
        let order = match (&self.order, self.members.is_empty()) {
            (None, true) => return Ok(None),
            (Some(order), false) => order,
            (None, false) => {
                return Err(Contradiction::Needs { what: "members", needed: "`order`" }.into());
            }
            (Some(_), true) => {
                return Err(Contradiction::Needs { what: "order", needed: "`members`" }.into());
            }
        };
        let Some(most) = self.max_records else {
            return Err(Contradiction::Needs { what: "members", needed: "`max_records`" }.into());
        };
        attributes(&schema.domain(), &self.members, "members")?;
        let units = Units::new(column, most)?.linked(self.unit_columns.iter().cloned())?;
        let units = units.with_members(self.members.iter().cloned(), order.clone())?;
        // K is bounded as for a release.
        PrivacyUnit::of_units(units.clone())?;
        Ok(Some(units))
    }
}

/// What to count unit by unit, under a schema.
#[derive(Clone, Debug)]
pub(super) struct UnitSettings {
    pub(super) units: Units,
    pub(super) declared: Clique,
    pub(super) evidence: Vec<(String, Evidence)>,
    /// Units that are one record each, if members are compared.
    pub(super) with_members: Option<Units>,
}

/// The attributes that a setting names; `None` if it names none.
fn attributes(domain: &Domain, names: &[String], setting: &str) -> Result<Option<Clique>> {
    if names.is_empty() {
        return Ok(None);
    }
    let place = format!("`{setting}`");
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
