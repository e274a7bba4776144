//! Whole numbers as people write them.

/// 2⁵³: larger numbers with an exponent would be rounded.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads a whole number: `130000`, `130_000`, `130,000` or `1.3e5`.
pub(super) fn count(text: &str) -> Result<u64, String> {
    let plain = text.parse::<u64>();
    if let Ok(number) = plain {
        return Ok(number);
    }
    if let Some(number) = grouped(text, ',').or_else(|| grouped(text, '_')) {
        return Ok(number);
    }
    let with_exponent = text.contains(['e', 'E']) && text.starts_with(|c: char| c.is_ascii_digit());
    let number = text.parse::<f64>().ok().filter(|_| with_exponent);
    match number.filter(|number| number.fract() == 0.0 && (0.0..=EXACT).contains(number)) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, 0 to 2^53"
        )]
        Some(number) => Ok(number as u64),
        None => Err(plain.map_or_else(|error| error.to_string(), |_| String::new())),
    }
}

/// A number in groups of three digits.
fn grouped(text: &str, mark: char) -> Option<u64> {
    let mut groups = text.split(mark);
    let first = groups.next().filter(|first| (1..=3).contains(&first.len()))?;
    let rest: Vec<&str> = groups.collect();
    let is_group =
        |group: &&str| group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit());
    if rest.is_empty()
        || !rest.iter().all(is_group)
        || !first.bytes().all(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    format!("{first}{}", rest.concat()).parse().ok()
}

#[cfg(test)]
mod tests;
