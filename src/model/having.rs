//! How many units have members of some kinds, such as households with a child and an elder.

use crate::data::{Members, Units};
use crate::domain::{Schema, SchemaColumn};
use crate::error::{CommonError, Error, Result};
use crate::model::ask::{Answer, AnswerRow};
use crate::model::{Evidence, Model};

/// Most conditions: the model is asked once for each set of them.
const MOST: usize = 6;

/// Conditions, for each of which a unit has a member that meets it; one member may meet several.
///
/// ```
/// use jointly::data::Units;
/// use jointly::domain::{Domain, Schema};
/// use jointly::model::{Having, Model, WeightedSupport};
/// let homes = Units::new("home", 2)?.linked(["tenure"])?.with_members(["child"], "place")?;
/// let schema = r#"{"columns": [{"name": "tenure", "kind": "coded", "size": 2}, {"name": "home.records", "kind": "coded", "size": 2},
///     {"name": "child.1", "kind": "coded", "size": 2}, {"name": "child.2", "kind": "coded", "size": 2, "na": true}]}"#;
/// let schema = Schema::from_json(schema, "schema.json")?;
/// let model = Model::from(WeightedSupport::all_cells(&schema.domain(), 24.0)?);
/// // Of the six pairs of members, (0, 0) and (0, missing) have no child, and the three with a 1 in the first place have one.
/// let answer = Having::parse("child=1", &schema, Some(&homes))?.answer(&model, &schema)?;
/// assert!((answer.rows[0].answer.unwrap() - 4.0 / 6.0).abs() < 1e-12);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Having {
    conditions: Vec<Condition>,
    most: u32,
    /// The bins that conditions cut, each with its column.
    cut_bins: Vec<String>,
}

/// Values of a column of members.
#[derive(Clone, Debug, PartialEq)]
struct Condition {
    column: String,
    /// As they were written.
    values: String,
}

impl Having {
    /// Reads conditions on one column of members each, such as `AGEP=0..17; AGEP=65..`, separated by semicolons, in the form of
    /// [`Evidence`].
    ///
    /// `schema`, `units`: of a model file.
    ///
    /// # Errors
    /// Units without columns of members, no condition or too many, a column that is not of members, a value that it does not have,
    /// or missing values: members that are not there have these.
    pub fn parse(text: &str, schema: &Schema, units: Option<&Units>) -> Result<Self> {
        let place = "having";
        let wrong = |found: &str, expected: &str| {
            Err(Error::invalid_specification(place, found.to_owned(), expected))
        };
        let with_members = units.and_then(|units| Some((units, units.members()?)));
        let Some((units, members)) = with_members else {
            return wrong("a model without members", "one of synth --members");
        };
        let parts: Vec<&str> =
            text.split(';').map(str::trim).filter(|part| !part.is_empty()).collect();
        if parts.is_empty() || parts.len() > MOST {
            let found = format!("{} conditions", parts.len());
            return wrong(&found, "one to six, separated by semicolons");
        }
        let (mut conditions, mut cut_bins) = (Vec::with_capacity(parts.len()), Vec::new());
        for part in parts {
            let Some((column, values)) = part.split_once('=').filter(|_| !part.contains(','))
            else {
                return wrong(&format!("'{part}'"), "NAME=VALUE of one column for each condition");
            };
            let (column, values) = (column.trim().to_owned(), values.trim().to_owned());
            if !members.columns().contains(&column) {
                let expected = format!("a column of members: {}", members.columns().join(", "));
                return wrong(&format!("'{part}'"), &expected);
            }
            let condition = Condition { column, values };
            let of_first = Members::name_of(&condition.column, 1);
            let cut = condition.evidence(1, schema)?.cut_bins();
            cut_bins.extend(cut.iter().map(|bin| bin.replacen(&of_first, &condition.column, 1)));
            for member in 1..=units.most() {
                let (attribute, shares) = condition.shares(member, schema)?;
                let na = schema.attributes().nth(attribute).and_then(SchemaColumn::na_code);
                if na.is_some_and(|na| shares[na as usize] > 0.0) {
                    let expected =
                        "values that are not missing: members that are not there have these";
                    return wrong(&format!("'{part}'"), expected);
                }
            }
            conditions.push(condition);
        }
        Ok(Self { conditions, most: units.most(), cut_bins })
    }

    /// The units of a model that have such members, and their share of all. Exact for the model, by inclusion and exclusion over the units
    /// in which nobody meets some of the conditions.
    ///
    /// # Errors
    /// A model of other attributes than the schema's, which is that of the conditions.
    pub fn answer(&self, model: &Model, schema: &Schema) -> Result<Answer> {
        let mut count = 0.0;
        for set in 0_usize..1 << self.conditions.len() {
            let own = self.conditions.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
            let without = self.without(model, schema, own.map(|(_, condition)| condition))?;
            count += if set.count_ones() % 2 == 0 { without } else { -without };
        }
        let (count, total) = (count.clamp(0.0, model.total()), model.total());
        let row = AnswerRow::of_model(count, (total > 0.0).then(|| count / total));
        let of = |Condition { column, values }: &Condition| format!("{column}={values}");
        let conditions: Vec<String> = self.conditions.iter().map(of).collect();
        let conditions = conditions.join(", and one with ");
        let question = format!("share of units that have a member with {conditions}");
        Ok(Answer::of_share(question, row, self.cut_bins.clone()))
    }

    /// How many units have no member that meets one of some conditions.
    fn without<'c>(
        &self,
        model: &Model,
        schema: &Schema,
        conditions: impl Iterator<Item = &'c Condition>,
    ) -> Result<f64> {
        // What some condition on a column allows.
        let mut of_columns: Vec<Condition> = Vec::new();
        for Condition { column, values } in conditions {
            match of_columns.iter_mut().find(|known| known.column == *column) {
                Some(known) => known.values = format!("{}|{values}", known.values),
                None => {
                    of_columns.push(Condition { column: column.clone(), values: values.clone() });
                }
            }
        }
        let mut nobody = Vec::new();
        for member in 1..=self.most {
            for condition in &of_columns {
                let (attribute, shares) = condition.shares(member, schema)?;
                nobody.push((attribute, shares.iter().map(|share| 1.0 - share).collect()));
            }
        }
        if nobody.is_empty() {
            return Ok(model.total());
        }
        match model.given(&Evidence::of_shares(nobody)) {
            Ok(given) => Ok(given.total()),
            Err(Error::Common(CommonError::EmptyModel { .. })) => Ok(0.0),
            Err(error) => Err(error),
        }
    }
}

impl Condition {
    /// The condition on a member.
    fn evidence(&self, member: u32, schema: &Schema) -> Result<Evidence> {
        let name = Members::name_of(&self.column, member);
        Evidence::parse(&format!("{name}={}", self.values), schema)
    }

    /// The attribute of a member, and for each of its codes the share that meets the condition.
    fn shares(&self, member: u32, schema: &Schema) -> Result<(usize, Vec<f64>)> {
        let evidence = self.evidence(member, schema)?;
        let only = evidence.iter().next().map(|(attribute, shares)| (attribute, shares.to_vec()));
        only.ok_or_else(|| Error::invalid_specification("having", "no condition", "some"))
    }
}

#[cfg(test)]
mod tests;
