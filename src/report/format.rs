//! Formats numbers for readers.

use crate::domain::date_of;

/// Four significant digits: `0.01497`, `134300`, `1.2e-7`.
pub fn short(x: f64) -> String {
    if x == 0.0 {
        // Without the sign of a zero.
        return "0".into();
    }
    if !x.is_finite() {
        return x.to_string();
    }
    let rounded: f64 = format!("{x:.3e}").parse().unwrap_or(x);
    let magnitude = rounded.abs();
    if (1e-4..1e9).contains(&magnitude) { rounded.to_string() } else { format!("{rounded:e}") }
}

/// Groups of three digits: `18,832`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with what it counts: `1 column`, `1,200 columns`. `one`: a noun with a plural in `s`.
pub fn counted(n: u64, one: &str) -> String {
    format!("{} {one}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// A share as a percentage: `12.3 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", short(100.0 * share))
}

/// A number of bytes: `24.3 MiB`.
pub fn bytes(n: f64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut size = n;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{} {}", short(size), UNITS[unit])
}

/// Seconds as `48 s` or `3 min 20 s`.
pub fn duration(seconds: f64) -> String {
    if seconds < 9.95 {
        return format!("{seconds:.1} s");
    }
    let minutes = (seconds / 60.0).floor();
    if seconds < 99.5 {
        format!("{seconds:.0} s")
    } else {
        format!("{minutes:.0} min {:.0} s", (seconds - 60.0 * minutes).floor())
    }
}

/// A number with four digits, or the date that it stands for.
pub fn number(value: f64, is_date: bool) -> String {
    if is_date { date_of(value.floor()) } else { short(value) }
}

#[cfg(test)]
mod tests;
