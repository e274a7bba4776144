//! How numbers, dates and times are written in tables of other places.

use super::date::{calendar, date_of, days, days_of};
use crate::error::{Error, Result};

/// How the numbers, dates or times of a column are written, as an example: `1.234,56 €`, `$1,234`, `DD.MM.YYYY`, `HH:MM`.
///
/// The example of a number has the digits 1234, with a group mark behind the 1 if there is one, and a decimal mark and the
/// digits 56 behind them if there are fractions. A time is a number of minutes, or of seconds with `HH:MM:SS`.
///
/// ```
/// use jointly::domain::Notation;
/// let german: Notation = Notation::new("1.234,56 €", "column 'pay'")?;
/// assert_eq!(german.read("-5.664,39 €"), Some(-5664.39));
/// assert_eq!(german.read("56.64"), None);
/// assert_eq!(german.written("1234567.5"), "1.234.567,5 €");
/// assert_eq!(Notation::new("DD.MM.YYYY", "column 'day'")?.written("2016-08-01"), "01.08.2016");
/// assert_eq!(Notation::new("HH:MM", "column 'start'")?.read("17:53"), Some(1073.0));
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notation {
    text: String,
    form: Form,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    Number {
        decimal: Option<char>,
        group: Option<char>,
        /// Of money or percentages, before and after the digits, with blanks.
        units: [String; 2],
    },
    /// The parts of a date, with the text between them.
    Date(Vec<Part>),
    /// A time of day; whether it has seconds.
    Time { has_seconds: bool },
}

/// A part of a date.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// Digits: at least and at most.
    Year(usize),
    Month {
        is_padded: bool,
    },
    Day {
        is_padded: bool,
    },
    Between(char),
}

/// Years of two digits from this one on are of the 20th century.
const PIVOT: i32 = 69;

impl Notation {
    /// Reads the example. `place` names the column in errors.
    ///
    /// # Errors
    /// Another form.
    pub fn new(text: &str, place: &str) -> Result<Self> {
        let form = match text {
            "HH:MM" => Some(Form::Time { has_seconds: false }),
            "HH:MM:SS" => Some(Form::Time { has_seconds: true }),
            _ => date_form(text).or_else(|| number_form(text)),
        };
        let form = form.ok_or_else(|| {
            let expected = "an example of the digits 1234 or 1234.56, such as '1.234,56 €' or '$1,234', or \
                            'DD.MM.YYYY', 'M/D/YYYY', 'HH:MM', 'HH:MM:SS'";
            Error::invalid_specification(
                format!("{place}, 'notation'"),
                format!("'{text}'"),
                expected,
            )
        })?;
        Ok(Self { text: text.to_owned(), form })
    }

    /// The example.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is one of dates.
    pub fn is_date(&self) -> bool {
        matches!(self.form, Form::Date(_))
    }

    /// Whether it is one of times of day.
    pub(crate) fn is_time(&self) -> bool {
        matches!(self.form, Form::Time { .. })
    }

    /// The same with a decimal mark for fractions, if it is one of numbers without: a comma behind groups with points, otherwise a
    /// point.
    pub(super) fn with_fractions(self) -> Self {
        let Form::Number { decimal: None, group, .. } = &self.form else { return self };
        let mark = if *group == Some('.') { ',' } else { '.' };
        let text = self.text.replacen("234", &format!("234{mark}56"), 1);
        Self { form: number_form(&text).unwrap_or(self.form), text }
    }

    /// The decimal mark of numbers with fractions.
    pub(crate) fn decimal(&self) -> Option<char> {
        match self.form {
            Form::Number { decimal, .. } => decimal,
            _ => None,
        }
    }

    /// The number of a cell; a date is its day since 1970-01-01. `None` for other text.
    pub fn read(&self, cell: &str) -> Option<f64> {
        let cell = cell.trim();
        match &self.form {
            Form::Number { decimal, group, units } => {
                plain(cell, *decimal, *group, units)?.parse().ok()
            }
            Form::Date(parts) => date(parts, cell).map(f64::from),
            Form::Time { has_seconds } => time(cell, *has_seconds),
        }
    }

    /// Whether numbers can be written so where this is the decimal mark.
    pub(crate) fn allows_decimal(&self, mark: char) -> bool {
        match self.form {
            Form::Number { decimal, group, .. } => {
                decimal.is_none_or(|own| own == mark) && group != Some(mark)
            }
            _ => true,
        }
    }

    /// A cell as it would be written plainly: `1234.5`, `2016-08-01`, a time as a number.
    pub(crate) fn plainly(&self, cell: &str) -> Option<String> {
        match &self.form {
            Form::Number { decimal, group, units } => plain(cell.trim(), *decimal, *group, units),
            Form::Date(_) => self.read(cell).map(date_of),
            Form::Time { .. } => self.read(cell).map(|time| time.to_string()),
        }
    }

    /// The cell of a number or a date that is written plainly: `1234.5`, `2016-08-01`.
    pub fn written(&self, plain: &str) -> String {
        match &self.form {
            Form::Number { decimal, group, units: [before, after] } => {
                let (sign, digits) =
                    plain.strip_prefix('-').map_or(("", plain), |digits| ("-", digits));
                let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
                let mut text = format!("{sign}{before}{}", grouped(whole, *group));
                if !fraction.is_empty() {
                    text.push(decimal.unwrap_or('.'));
                    text.push_str(fraction);
                }
                text.push_str(after);
                text
            }
            Form::Date(parts) => {
                let Some(day) = days(plain) else { return plain.to_owned() };
                let (year, month, day) = calendar(day);
                let part = |part: &Part| match part {
                    Part::Year(2) => format!("{:02}", year.rem_euclid(100)),
                    Part::Year(_) => format!("{year:04}"),
                    Part::Month { is_padded: true } => format!("{month:02}"),
                    Part::Month { is_padded: false } => month.to_string(),
                    Part::Day { is_padded: true } => format!("{day:02}"),
                    Part::Day { is_padded: false } => day.to_string(),
                    Part::Between(mark) => mark.to_string(),
                };
                parts.iter().map(part).collect()
            }
            Form::Time { has_seconds } => {
                let Ok(number) = plain.parse::<f64>() else { return plain.to_owned() };
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a float saturates"
                )]
                let number = number.max(0.0) as u64;
                if *has_seconds {
                    let (minutes, seconds) = (number / 60, number % 60);
                    format!("{:02}:{:02}:{seconds:02}", minutes / 60, minutes % 60)
                } else {
                    format!("{:02}:{:02}", number / 60, number % 60)
                }
            }
        }
    }
}

fn is_blank(mark: Option<char>) -> bool {
    mark.is_some_and(char::is_whitespace)
}

/// Digits in groups of three.
fn grouped(digits: &str, group: Option<char>) -> String {
    let Some(mark) = group else { return digits.to_owned() };
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(mark);
        }
        text.push(digit);
    }
    text
}

/// A number as it is written plainly; `None` if it is written in another way.
fn plain(
    cell: &str,
    decimal: Option<char>,
    group: Option<char>,
    units: &[String; 2],
) -> Option<String> {
    let minus = |text: &'_ str| -> Option<String> {
        text.strip_prefix(['-', '\u{2212}']).map(|rest| rest.trim_start().to_owned())
    };
    let (mut is_negative, mut text) = match minus(cell) {
        Some(rest) => (true, rest),
        None => (false, cell.to_owned()),
    };
    let [before, after] = [units[0].trim(), units[1].trim()];
    if let Some(rest) = text.strip_prefix(before).filter(|_| !before.is_empty()) {
        text = rest.trim_start().to_owned();
        if let Some(rest) = minus(&text).filter(|_| !is_negative) {
            (is_negative, text) = (true, rest);
        }
    }
    if let Some(rest) = text.strip_suffix(after).filter(|_| !after.is_empty()) {
        text = rest.trim_end().to_owned();
    }
    let (whole, fraction) = match decimal.and_then(|mark| text.split_once(mark)) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text.as_str(), None),
    };
    let are_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_mark = |c: char| group == Some(c) || is_blank(group) && c.is_whitespace();
    let groups: Vec<&str> = whole.split(is_mark).collect();
    let are_groups = groups[0].len() <= 3
        && !groups[0].starts_with('0')
        && groups[1..].iter().all(|group| group.len() == 3);
    if !groups.iter().all(|group| are_digits(group)) || groups.len() > 1 && !are_groups {
        return None;
    }
    if fraction.is_some_and(|fraction| !are_digits(fraction)) {
        return None;
    }
    let mut number = String::with_capacity(text.len() + 1);
    number.push_str(if is_negative { "-" } else { "" });
    groups.iter().for_each(|group| number.push_str(group));
    if let Some(fraction) = fraction {
        number.push('.');
        number.push_str(fraction);
    }
    Some(number)
}

/// The form of an example of a number.
fn number_form(text: &str) -> Option<Form> {
    let (before, rest) = text.split_once('1')?;
    let (group, rest) = if let Some(rest) = rest.strip_prefix("234") {
        (None, rest)
    } else {
        let mark = rest.chars().next()?;
        (Some(mark), rest[mark.len_utf8()..].strip_prefix("234")?)
    };
    let decimal = rest.chars().next().filter(|mark| rest[mark.len_utf8()..].starts_with("56"));
    let after = decimal.map_or(rest, |mark| &rest[mark.len_utf8() + "56".len()..]);
    let are_marks =
        |mark: char| matches!(mark, ',' | '.' | '\'' | '\u{2019}') || mark.is_whitespace();
    let is_unit = |text: &str| {
        !text.contains(|c: char| c.is_ascii_digit() || matches!(c, '-' | '\u{2212}' | '.' | ','))
    };
    let units = [before, after];
    let is_fine = group.is_none_or(are_marks)
        && decimal.is_none_or(|mark| matches!(mark, ',' | '.'))
        && (group.is_none() || group != decimal)
        && units.iter().all(|unit| is_unit(unit));
    is_fine.then(|| Form::Number { decimal, group, units: units.map(str::to_owned) })
}

/// The form of an example of a date: each of year, month and day once.
fn date_form(text: &str) -> Option<Form> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let run = rest.len() - rest.trim_start_matches(first).len();
        parts.push(match (first, run) {
            ('Y', 2 | 4) => Part::Year(run),
            ('M', 1 | 2) => Part::Month { is_padded: run == 2 },
            ('D', 1 | 2) => Part::Day { is_padded: run == 2 },
            ('.' | '/' | '-' | ' ', 1) => Part::Between(first),
            _ => return None,
        });
        rest = &rest[run..];
    }
    let count = |is: fn(&Part) -> bool| parts.iter().filter(|part| is(part)).count();
    let is_whole = count(|part| matches!(part, Part::Year(_))) == 1
        && count(|part| matches!(part, Part::Month { .. })) == 1
        && count(|part| matches!(part, Part::Day { .. })) == 1
        && parts.len() == 5
        && parts.iter().step_by(2).all(|part| !matches!(part, Part::Between(_)));
    is_whole.then_some(Form::Date(parts))
}

/// The day of a date, which may be followed by a blank and a time of day.
fn date(parts: &[Part], cell: &str) -> Option<i32> {
    let (mut year, mut month, mut day) = (0, 0, 0);
    let mut rest = cell;
    for part in parts {
        let (least, most) = match part {
            Part::Between(mark) => {
                rest = rest.strip_prefix(*mark)?;
                continue;
            }
            Part::Year(digits) => (*digits, *digits),
            Part::Month { is_padded } | Part::Day { is_padded } => (1 + usize::from(*is_padded), 2),
        };
        let digits = rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
        if digits < least {
            return None;
        }
        let number: i32 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        match part {
            Part::Year(2) => year = number + if number >= PIVOT { 1900 } else { 2000 },
            Part::Year(_) => year = number,
            Part::Month { .. } => month = number,
            _ => day = number,
        }
    }
    let has_time = rest.strip_prefix(' ').is_some_and(|time| {
        time.contains(':') && time.chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | '.'))
    });
    if !rest.is_empty() && !has_time {
        return None;
    }
    let number = days_of(year, month, day);
    ((1..=12).contains(&month) && calendar(number) == (year, month, day)).then_some(number)
}

/// A time of day as a number of minutes or seconds.
fn time(cell: &str, has_seconds: bool) -> Option<f64> {
    // Hours may have one digit; so a ratio such as 16:9 is no time.
    let mut parts = cell.split(':').enumerate().map(|(at, part)| {
        let least = if at == 0 { 1 } else { 2 };
        let is_part =
            (least..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<u32>().ok().filter(|_| is_part)
    });
    let (hours, minutes) = (parts.next()??, parts.next()??);
    let seconds = if has_seconds { parts.next()?? } else { 0 };
    let is_time = hours < 24 && minutes < 60 && seconds < 60 && parts.next().is_none();
    let minutes = 60 * hours + minutes;
    is_time.then(|| f64::from(if has_seconds { 60 * minutes + seconds } else { minutes }))
}

#[cfg(test)]
mod tests;
