//! Dates of the proleptic Gregorian calendar as days since 1970-01-01.
//!
//! Two conversions by Hinnant's "chrono-compatible low-level date algorithms"; a calendar library would add time zones,
//! clocks and parsers that no table here needs.

/// Longest time after a date that is accepted and dropped: `T23:59:59.999999999+00:00`.
const LONGEST_TIME: usize = 26;

/// Days from 1970-01-01 to a date `YYYY-MM-DD`, which may be followed by `T` or a blank and a time of day; `None` for
/// other text and for days that do not exist.
pub(crate) fn days(text: &str) -> Option<i32> {
    let (date, time) = text.split_at_checked(10)?;
    let is_time = |c: char| c.is_ascii_digit() || matches!(c, ':' | '.' | '+' | '-' | 'Z');
    let rest = time.strip_prefix(['T', ' ']);
    if !time.is_empty()
        && !rest.is_some_and(|r| (2..LONGEST_TIME).contains(&r.len()) && r.chars().all(is_time))
    {
        return None;
    }
    let mut parts = date.split('-').map(|part| {
        let digits = part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<i32>().ok().filter(|_| digits)
    });
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let days = days_of(year, month, day);
    // Other days than those of the calendar come back as another date, other lengths of parts too.
    (parts.next().is_none() && (1..=12).contains(&month) && written(days) == date).then_some(days)
}

/// Days from 1970-01-01 to a date; months and days beyond their ranges give a date later on.
pub(crate) fn days_of(year: i32, month: i32, day: i32) -> i32 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of the month.
pub(crate) fn calendar(days: i32) -> (i32, i32, i32) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year + era * 400 + i32::from(month <= 2), month, day)
}

/// Whether numbers are days of the years 0 to 9999, or the day after.
pub(super) fn in_calendar(days: &[f64]) -> bool {
    let (first, end) = (f64::from(days_of(0, 1, 1)), f64::from(days_of(10_000, 1, 1)));
    days.iter().all(|day| (first..=end).contains(day))
}

/// The date as `YYYY-MM-DD`.
pub(crate) fn written(days: i32) -> String {
    let (year, month, day) = calendar(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The date of an edge or a value of a column of dates.
#[expect(clippy::cast_possible_truncation, reason = "days of dates with four digits for the year")]
pub(crate) fn date_of(day: f64) -> String {
    written(day as i32)
}

#[cfg(test)]
mod tests;
