//! How the numbers, dates and times of a public table are written, found from its cells.

use crate::domain::{Notation, days};

/// What a person says of all columns that may be read in several ways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// The decimal mark, `,` or `.`.
    pub decimal: Option<char>,
    /// How dates are written, such as `DD/MM/YYYY`.
    pub dates: Option<String>,
}

/// Texts before or after a number that are no part of it.
const UNITS: [&str; 10] =
    ["\u{20ac}", "$", "\u{a3}", "\u{a5}", "%", "EUR", "USD", "GBP", "CHF", "kr"];

/// Dates, those that are more usual first.
const DATES: [&str; 12] = [
    "DD.MM.YYYY",
    "D.M.YYYY",
    "MM/DD/YYYY",
    "M/D/YYYY",
    "DD/MM/YYYY",
    "D/M/YYYY",
    "DD-MM-YYYY",
    "YYYY/MM/DD",
    "YYYY.MM.DD",
    "DD.MM.YY",
    "MM/DD/YY",
    "DD/MM/YY",
];

/// A notation of a column, with what else it could be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) notation: Notation,
    /// Another one under which all cells can be read too, as other numbers or days.
    pub(super) doubt: Option<Notation>,
}

/// The notation of some texts; `None` if they are written plainly, or are no numbers, dates or times.
///
/// `decimal`: the decimal mark that other columns of the same table leave no doubt about.
pub(super) fn notation_of(texts: &[&str], hints: &Hints, decimal: Option<char>) -> Option<Found> {
    let all = |notation: &Notation| texts.iter().all(|text| notation.read(text).is_some());
    let known = |text: &str| Notation::new(text, "a draft").ok();
    if texts.is_empty()
        || texts.iter().all(|text| text.parse::<f64>().is_ok() || days(text).is_some())
    {
        return None;
    }
    let mut found: Vec<Notation> = ["HH:MM", "HH:MM:SS"].into_iter().filter_map(known).collect();
    found.extend(hints.dates.iter().filter_map(|text| known(text)));
    found.extend(DATES.into_iter().filter_map(known));
    found.extend(numbers(texts));
    let is_allowed =
        |notation: &Notation| hints.decimal.is_none_or(|mark| notation.allows_decimal(mark));
    found.retain(|notation| all(notation) && is_allowed(notation));
    let asked = hints.decimal.or(decimal);
    let is_asked = |notation: &Notation| asked.is_some() && notation.decimal() == asked;
    // A stable sort: the order above decides among the others. Without fractions, dots may be groups under a decimal comma.
    let is_day_first = |notation: &Notation| {
        asked == Some(',') && notation.is_date() && notation.text().starts_with('D')
    };
    found.sort_by_key(|notation| {
        let is_named = hints.dates.as_deref() == Some(notation.text());
        !(is_named || is_asked(notation) || is_day_first(notation))
    });
    let mut found = found.into_iter();
    let notation = found.next()?;
    let is_settled = hints.dates.as_deref() == Some(notation.text());
    let reads_other =
        |other: &Notation| texts.iter().any(|text| other.read(text) != notation.read(text));
    let doubt = found.find(reads_other).filter(|_| !is_settled);
    Some(Found { notation, doubt })
}

/// Notations of numbers with the unit of the first text, those without doubt first: fractions, then groups.
fn numbers(texts: &[&str]) -> Vec<Notation> {
    let with_unit = |text: &&&str| {
        text.chars().any(|c| c.is_alphabetic() || UNITS.iter().any(|unit| unit.starts_with(c)))
    };
    let example = texts.iter().find(with_unit).or(texts.first()).map_or("", |text| text.trim());
    let example = example.trim_start_matches(['-', '\u{2212}']).trim_start();
    let digit = |c: char| c.is_ascii_digit();
    let (Some(first), Some(last)) = (example.find(digit), example.rfind(digit)) else {
        return Vec::new();
    };
    let (before, after) = (&example[..first], &example[last + 1..]);
    let is_unit = |text: &str| {
        let text = text.trim();
        text.is_empty() || UNITS.contains(&text)
    };
    if !is_unit(before) || !is_unit(after) {
        return Vec::new();
    }
    let blank = texts.iter().flat_map(|text| text[text.find(digit).unwrap_or(0)..].chars());
    let blank = blank.into_iter().find(|c| c.is_whitespace()).unwrap_or(' ');
    let mut forms = Vec::new();
    for (decimal, groups) in [(",", ['.', blank, '\'']), (".", [',', blank, '\''])] {
        forms.extend(groups.map(|group| format!("1{group}234{decimal}56")));
    }
    // Where every mark has three digits behind it, it is one of groups.
    let whole = [',', '.', blank, '\''].map(|group| format!("1{group}234"));
    let fractions = [",", "."].map(|decimal| format!("1234{decimal}56"));
    let plain = ["1234".to_owned()];
    let all = whole.into_iter().chain(fractions).chain(forms).chain(plain);
    all.filter_map(|form| Notation::new(&format!("{before}{form}{after}"), "a draft").ok())
        .collect()
}

#[cfg(test)]
mod tests;
