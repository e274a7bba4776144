//! Conditions under which a column does not apply, as data dictionaries have them: `N/A (less than 15 years old)`.

use super::DescribedColumn;
use crate::data::draft::patterns::Change;
use crate::domain::{Kind, NumberRange};

/// Columns that hold ages.
const AGES: [&str; 2] = ["AGEP", "AGE"];

/// A column has no value at some ages.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::data::draft) struct Condition {
    /// The column of ages.
    pub(in crate::data::draft) age: String,
    pub(in crate::data::draft) ages: NumberRange,
    pub(in crate::data::draft) column: String,
}

impl Condition {
    /// The number at which its ages end or begin.
    fn end(&self) -> f64 {
        if self.ages.from.is_finite() { self.ages.from } else { self.ages.below }
    }

    /// Where the conditions on a column of ages end or begin, in order.
    pub(in crate::data::draft) fn changes(conditions: &[Self], age: &str) -> Vec<Change> {
        let own = || conditions.iter().filter(|condition| condition.age == age);
        let mut ends: Vec<f64> = own().map(Self::end).collect();
        ends.sort_by(f64::total_cmp);
        ends.dedup();
        let change = |at: f64| {
            let columns = own().filter(|condition| condition.end().total_cmp(&at).is_eq());
            let columns: Vec<&str> = columns.map(|condition| &*condition.column).collect();
            Change { at, text: Some(Change::text(at, &columns)) }
        };
        ends.into_iter().map(change).collect()
    }
}

/// The conditions on ages that some columns have.
pub(super) fn conditions(columns: &[DescribedColumn]) -> Vec<Condition> {
    let is_age = |described: &&DescribedColumn| {
        let column = &described.column;
        let named = AGES.iter().any(|name| column.name.eq_ignore_ascii_case(name));
        named && matches!(&column.kind, Some(Kind::Numeric(bins)) if bins.is_integer())
    };
    let Some(age) = columns.iter().find(is_age).map(|described| &described.column.name) else {
        return Vec::new();
    };
    let of = |described: &DescribedColumn| {
        let column = described.column.name.clone();
        let ages = described.not_applicable.as_deref().map(ages).unwrap_or_default();
        let condition = move |ages| Condition { age: age.clone(), ages, column: column.clone() };
        ages.into_iter().map(condition).collect::<Vec<_>>()
    };
    columns.iter().filter(|described| described.column.na).flat_map(of).collect()
}

/// The ages that such a text names. Of several conditions, one is enough; one that says more than an age is left out.
fn ages(text: &str) -> Vec<NumberRange> {
    let lower = text.to_ascii_lowercase();
    let inside = lower.split_once('(').map_or(&*lower, |(_, inside)| inside);
    let inside = inside.trim_end().trim_end_matches(')');
    inside.split('/').flat_map(|part| part.split(", or ")).filter_map(age_range).collect()
}

/// "less than 15 years old", "under 16", "greater than 50 years".
fn age_range(text: &str) -> Option<NumberRange> {
    let mut words = text.split_whitespace().peekable();
    while words.next_if(|word| ["person", "persons", "age", "aged"].contains(word)).is_some() {}
    let is_below = match words.next()? {
        "less" => words.next()? == "than",
        "under" => true,
        "greater" | "more" if words.next()? == "than" => false,
        "over" => false,
        _ => return None,
    };
    let number: f64 = words.next()?.parse::<u32>().ok()?.into();
    let rest: Vec<&str> = words.collect();
    let of_age = [
        vec![],
        vec!["years"],
        vec!["year"],
        vec!["years", "old"],
        vec!["year", "old"],
        vec!["years", "of", "age"],
    ];
    let range = if is_below {
        NumberRange { from: f64::NEG_INFINITY, below: number }
    } else {
        NumberRange { from: number + 1.0, below: f64::INFINITY }
    };
    of_age.contains(&rest).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_read_where_they_are_all_that_is_said() {
        let below = |number| NumberRange { from: f64::NEG_INFINITY, below: number };
        assert_eq!(ages("N/A (less than 15 years old)"), [below(15.0)]);
        assert_eq!(ages("N/A (Less than 5 years old)"), [below(5.0)]);
        assert_eq!(ages("N/A (age less than 15 years)"), [below(15.0)]);
        assert_eq!(
            ages("N/A (person less than 1 year old/lived in same house 1 year ago)"),
            [below(1.0)]
        );
        let over = NumberRange { from: 51.0, below: f64::INFINITY };
        assert_eq!(
            ages("N/A (less than 15 years/greater than 50 years/ male)"),
            [below(15.0), over]
        );
        assert_eq!(
            ages("N/A (less than 16 years old, or last worked long ago, or never)"),
            [below(16.0)]
        );
        // An age and something else.
        assert_eq!(ages("N/A (individuals who are under 15 and unrelated to the householder)"), []);
        assert_eq!(ages("N/A (less than bachelor's degree)"), []);
        assert_eq!(ages("N/A (GQ/vacant)"), []);
    }
}
