//! Edit rules: combinations of values that must not occur, as used by statistical offices to check records.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::data::read_text;
use crate::data::{Dataset, Encoder, NumericColumns};
use crate::domain::{Domain, Kind, Schema, SchemaColumn};
use crate::error::{Error, Result};
use crate::evaluation::Weighted;

/// Combinations of values that must not occur, read from JSON against a schema.
///
/// ```
/// use jointly::{data::Dataset, domain::Schema, evaluation::EditRules};
/// let schema = Schema::from_json(r#"{"age": 90, "married": 2}"#, "domain.json")?;
/// let text = r#"{"rules": [{"name": "children are not married",
///                           "forbidden": {"age": {"to": 15}, "married": ["1"]}}]}"#;
/// let rules = EditRules::from_json(text, "rules.json", &schema)?;
/// let table = Dataset::from_rows(schema.domain(), &[[7, 0], [7, 1], [40, 1], [14, 1]])?;
/// let found = rules.violations(&table)?;
/// assert_eq!((found.violating, found.share, found.rules[0].violations), (2, 0.5, 2));
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct EditRules {
    domain: Domain,
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    name: String,
    /// Attributes, with their values in the forbidden combination.
    forbidden: Vec<(usize, Forbidden)>,
}

/// The values of an attribute in a forbidden combination.
#[derive(Clone, Debug)]
enum Forbidden {
    Codes(Vec<bool>),
    /// Numbers from the first to below the second, which cut bins of the column.
    Numbers {
        column: String,
        from: f64,
        to: f64,
    },
}

/// The records of a table that violate edit rules.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EditViolations {
    /// Records that violate at least one rule.
    pub violating: u64,
    /// The same as a share of all records, from 0 to 1.
    pub share: f64,
    /// Rule by rule, in the order of the file.
    pub rules: Vec<RuleViolations>,
}

/// The records of a table that violate one rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleViolations {
    /// The rule's name.
    pub name: String,
    /// Records that violate it.
    pub violations: u64,
    /// The same as a share of all records, from 0 to 1.
    pub share: f64,
}

impl EditRules {
    /// Reads a file of rules; see [`EditRules::from_json`].
    ///
    /// # Errors
    /// An unreadable file, or as [`EditRules::from_json`].
    pub fn read(path: &Path, schema: &Schema) -> Result<Self> {
        let text = read_text(path)?;
        Self::from_json(&text, &path.display().to_string(), schema)
    }

    /// Rules from JSON text that `place` names in errors:
    /// `{"rules": [{"name": "...", "forbidden": {"AGEP": {"to": 15}, "MAR": {"not": ["5"]}}}]}`.
    ///
    /// A record violates a rule when the values of all attributes named in it are among the forbidden ones, given as a
    /// list of texts as in the table, as `not` with a list (all other values), or as numbers `from` (included) and `to`
    /// (excluded), either of which may be missing. With an end inside a bin, the numbers of the tables are needed.
    ///
    /// # Errors
    /// Another form, no rule, a rule without attributes, an unknown attribute, a value outside the schema, or a range
    /// that holds no value, or is on an attribute without numbers.
    pub fn from_json(text: &str, place: &str, schema: &Schema) -> Result<Self> {
        let expected = "{\"rules\": [{\"name\": ..., \"forbidden\": {attribute: [values] or \
                        {\"not\": [values]} or {\"from\": number, \"to\": number}}}]}";
        let wrong = |found: String| Error::invalid_specification(place, found, expected);
        let file: File = serde_json::from_str(text)
            .map_err(|error| Error::wrong_json(place, &error, true, expected))?;
        if file.rules.is_empty() {
            return Err(wrong("no rule".into()));
        }
        let domain = schema.domain();
        let mut rules = Vec::with_capacity(file.rules.len());
        for RawRule { name, forbidden } in file.rules {
            let place = format!("{place}, rule '{name}'");
            if forbidden.is_empty() {
                return Err(Error::invalid_specification(place, "no attribute", "at least one"));
            }
            let resolve = |(attribute, values): (&String, &Values)| {
                let column = schema.attributes().zip(0..).find(|(c, _)| c.name == *attribute);
                let (column, position) =
                    column.ok_or_else(|| domain.unknown(attribute, place.as_str()))?;
                let at = format!("{place}, attribute '{attribute}'");
                Ok((position, values.forbidden(column, schema, &at)?))
            };
            let forbidden = forbidden.iter().map(resolve).collect::<Result<_>>()?;
            rules.push(Rule { name, forbidden });
        }
        Ok(Self { domain, rules })
    }

    /// Counts the records that violate the rules. For a private table, the result is **not private**.
    ///
    /// # Errors
    /// A table over a domain other than the schema's, or a rule with an end inside a bin.
    pub fn violations(&self, table: &Dataset) -> Result<EditViolations> {
        self.violations_of(table.into(), None)
    }

    /// As [`violations`](Self::violations), with shares of the weighted table.
    ///
    /// `numbers`: of the same records, for rules with an end inside a bin.
    ///
    /// # Errors
    /// A table over a domain other than the schema's, or such a rule without numbers.
    pub fn violations_of(
        &self,
        weighted: Weighted<'_>,
        numbers: Option<&NumericColumns>,
    ) -> Result<EditViolations> {
        let table = weighted.records;
        self.domain.check_same(table.domain(), "the table under edit rules")?;
        let share = |violated: &[bool]| {
            weighted.share(violated.iter().enumerate().filter(|(_, v)| **v).map(|(at, _)| at))
        };
        let mut any = vec![false; table.records()];
        let mut rules = Vec::with_capacity(self.rules.len());
        for rule in &self.rules {
            let mut violated = vec![true; table.records()];
            for (attribute, forbidden) in &rule.forbidden {
                let violated = violated.iter_mut();
                match forbidden {
                    Forbidden::Codes(codes) => {
                        let column = table.columns()[*attribute].iter();
                        violated.zip(column).for_each(|(v, code)| *v &= codes[code as usize]);
                    }
                    Forbidden::Numbers { column, from, to } => {
                        let numbers = numbers.and_then(|numbers| numbers.column(column));
                        let numbers = &numbers.ok_or_else(|| rule.needs_numbers(column))?.values;
                        // A missing number is NaN.
                        violated.zip(numbers).for_each(|(v, x)| *v &= from <= x && x < to);
                    }
                }
            }
            any.iter_mut().zip(&violated).for_each(|(any, violated)| *any |= violated);
            let violations = violated.iter().filter(|v| **v).count() as u64;
            rules.push(RuleViolations {
                name: rule.name.clone(),
                violations,
                share: share(&violated),
            });
        }
        let violating = any.iter().filter(|v| **v).count() as u64;
        Ok(EditViolations { violating, share: share(&any), rules })
    }
}

impl Rule {
    fn needs_numbers(&self, column: &str) -> Error {
        Error::invalid_specification(
            format!("rule '{}', attribute '{column}'", self.name),
            "a range that cuts a bin, for a table of codes",
            "bounds at the edges of bins, or a table whose numbers were read",
        )
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rules: Vec<RawRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    name: String,
    forbidden: BTreeMap<String, Values>,
}

/// Values of one attribute as written.
#[derive(Deserialize)]
#[serde(untagged, expecting = "values that are no list, 'not' with a list, or 'from' and 'to'")]
enum Values {
    These(Vec<String>),
    Others(Others),
    Range(Range),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Others {
    not: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    from: Option<f64>,
    to: Option<f64>,
}

impl Values {
    /// The values of a column in a rule.
    fn forbidden(&self, column: &SchemaColumn, schema: &Schema, place: &str) -> Result<Forbidden> {
        let wrong = |found: String, expected: &str| {
            Err(Error::invalid_specification(place, found, expected))
        };
        let mut codes = vec![false; column.cardinality() as usize];
        match self {
            Self::These(texts) | Self::Others(Others { not: texts }) => {
                let encoder = Encoder::new(column, schema);
                for text in texts {
                    let code = encoder.as_ref().and_then(|e| e.encode(text.as_bytes()));
                    let Some(code) = code else {
                        return wrong(format!("'{text}'"), "a value of the attribute's schema");
                    };
                    codes[code as usize] = true;
                }
                if matches!(self, Self::Others(_)) {
                    codes.iter_mut().for_each(|code| *code = !*code);
                }
            }
            Self::Range(Range { from, to }) => {
                let (from, to) = (from.unwrap_or(f64::NEG_INFINITY), to.unwrap_or(f64::INFINITY));
                let bins: Vec<[f64; 2]> = match &column.kind {
                    Some(Kind::Numeric(bins)) => {
                        bins.edges().windows(2).map(|edges| [edges[0], edges[1]]).collect()
                    }
                    Some(Kind::Coded { size }) => {
                        (0..*size).map(|code| [f64::from(code), f64::from(code) + 1.0]).collect()
                    }
                    _ => return wrong("a range".into(), "a list of values of this attribute"),
                };
                let is_cut = |[low, high]: &[f64; 2]| {
                    let is_whole = from <= *low && *high <= to;
                    !is_whole && *low < to && from < *high && from < to
                };
                if bins.iter().any(is_cut) {
                    return Ok(Forbidden::Numbers { column: column.name.clone(), from, to });
                }
                let is_inside = |[low, high]: [f64; 2]| from <= low && high <= to;
                codes.iter_mut().zip(bins).for_each(|(code, bin)| *code = is_inside(bin));
            }
        }
        if codes.contains(&true) {
            Ok(Forbidden::Codes(codes))
        } else {
            wrong("no value".into(), "at least one")
        }
    }
}

#[cfg(test)]
mod tests;
