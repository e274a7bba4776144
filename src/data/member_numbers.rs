//! Numbers for the members of units that keep the schema's rules about their differences.
//!
//! Codes keep these rules as far as codes can: two bins whose numbers are all too near to one another do not occur together. Where
//! some of the numbers in two bins are, the numbers that are drawn in them are drawn again until none is.

use rand::RngExt;
use rand::rngs::ChaCha20Rng;

use crate::data::decode::{Decoder, decoders};
use crate::data::unit_table::value_of;
use crate::data::{Dataset, Labels};
use crate::domain::{Difference, MemberCombination, Schema, SchemaColumn, Who};
use crate::error::Result;

/// How often numbers of a unit are drawn again.
const ATTEMPTS: usize = 1000;

/// The numbers of a column, one for each row; a missing one has none.
pub(super) struct DrawnNumbers {
    pub(super) attribute: usize,
    pub(super) values: Vec<Option<f64>>,
}

/// A rule, with the attributes of its columns.
struct Rule<'r> {
    who: Who,
    /// Of each of the two members: attributes with their codes.
    codes: Vec<Vec<(usize, &'r [u32])>>,
    /// Positions of the columns among those that are drawn.
    differences: Vec<(usize, &'r Difference)>,
}

/// Draws the numbers of the columns whose differences rules restrict. `numbers`: of the rows' units, which come one after another.
///
/// A unit that breaks a rule after a thousand draws keeps the numbers that it has then.
pub(super) fn drawn(
    (rows, numbers): (&Dataset, &[u32]),
    rules: &[MemberCombination],
    schema: &Schema,
    rng: &mut ChaCha20Rng,
) -> Result<Vec<DrawnNumbers>> {
    let columns: Vec<&SchemaColumn> = schema.attributes().collect();
    let position = |name: &str| columns.iter().position(|column| column.name == name);
    let has_bins = |at: &usize| columns[*at].has_bins();
    let named = rules.iter().flat_map(|rule| &rule.differences);
    let mut of_rules: Vec<usize> =
        named.filter_map(|difference| position(&difference.column)).filter(has_bins).collect();
    of_rules.sort_unstable();
    of_rules.dedup();
    let rule = |rule| Rule::new(rule, &position, &of_rules);
    let rules: Vec<Rule<'_>> = rules.iter().filter_map(rule).collect();
    if rules.is_empty() {
        return Ok(Vec::new());
    }
    let decoders = decoders(rows, schema, Labels::Codes)?;
    let mut units = Members { rows, columns: &columns, decoders: &decoders, values: Vec::new() };
    let mut drawn: Vec<DrawnNumbers> = of_rules
        .iter()
        .map(|attribute| DrawnNumbers { attribute: *attribute, values: Vec::new() })
        .collect();
    let mut start = 0;
    for unit in numbers.chunk_by(|a, b| a == b) {
        units.values.clear();
        for row in start..start + unit.len() {
            units.values.push(of_rules.iter().map(|at| units.draw(*at, row, rng)).collect());
        }
        for _ in 0..ATTEMPTS {
            let Some((member, column)) = units.broken(start, &rules, rng) else { break };
            units.values[member][column] = units.draw(of_rules[column], start + member, rng);
        }
        for (at, drawn) in drawn.iter_mut().enumerate() {
            drawn.values.extend(units.values.iter().map(|values| values[at]));
        }
        start += unit.len();
    }
    Ok(drawn)
}

impl<'r> Rule<'r> {
    /// `None` for a rule without a difference, or on columns that are not there.
    fn new(
        rule: &'r MemberCombination,
        position: &impl Fn(&str) -> Option<usize>,
        drawn: &[usize],
    ) -> Option<Self> {
        let of = |(name, codes): &'r (String, Vec<u32>)| Some((position(name)?, codes.as_slice()));
        let codes = rule.codes.iter().map(|codes| codes.iter().map(of).collect());
        let codes = codes.collect::<Option<Vec<Vec<_>>>>()?;
        let difference = |difference: &'r Difference| {
            let attribute = position(&difference.column)?;
            Some((drawn.iter().position(|own| *own == attribute)?, difference))
        };
        let differences = rule.differences.iter().map(difference).collect::<Option<Vec<_>>>()?;
        (!differences.is_empty()).then_some(Self { who: rule.who, codes, differences })
    }
}

/// The members of one unit.
struct Members<'a, 's> {
    rows: &'a Dataset,
    columns: &'a [&'s SchemaColumn],
    decoders: &'a [Decoder<'s>],
    /// Of each member, the numbers of the columns that are drawn.
    values: Vec<Vec<Option<f64>>>,
}

impl Members<'_, '_> {
    fn draw(&self, attribute: usize, row: usize, rng: &mut ChaCha20Rng) -> Option<f64> {
        let code = self.rows.columns()[attribute].get(row).unwrap_or_default();
        let text = &mut String::new();
        let decoder = &self.decoders[attribute];
        value_of(self.columns[attribute], code, || decoder.plain(code, text, rng))
    }

    /// One of the two members, and the column, of a rule that the numbers break; `None` if they break none.
    fn broken(
        &self,
        start: usize,
        rules: &[Rule<'_>],
        rng: &mut ChaCha20Rng,
    ) -> Option<(usize, usize)> {
        let most = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        for rule in rules {
            for places in rule.who.places(most) {
                let members: Vec<usize> = places.iter().map(|place| *place as usize - 1).collect();
                let [first, second] = members[..] else { continue };
                let has = |(attribute, codes): &(usize, &[u32]), member: usize| {
                    let code = self.rows.columns()[*attribute].get(start + member);
                    code.is_some_and(|code| codes.contains(&code))
                };
                let mut of_members = rule.codes.iter().zip(&members);
                let is_near = |(column, difference): &(usize, &Difference)| {
                    let own = self.values[first][*column].zip(self.values[second][*column]);
                    own.is_some_and(|(first, second)| difference.has(first, second))
                };
                if of_members.all(|(codes, member)| codes.iter().all(|own| has(own, *member)))
                    && rule.differences.iter().all(is_near)
                {
                    let member = if rng.random::<bool>() { first } else { second };
                    let column = rng.random_range(0..rule.differences.len());
                    return Some((member, rule.differences[column].0));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
