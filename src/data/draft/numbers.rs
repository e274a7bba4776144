//! Round numbers near others.

/// The shortest number in `(above, most]`: a multiple of the largest 1, 2 or 5 times a power of ten that has one there.
pub(super) fn shortest(above: f64, most: f64) -> f64 {
    if above < 0.0 && most >= 0.0 {
        return 0.0;
    }
    let size = above.abs().max(most.abs());
    let mut unit = 10_f64.powf(size.log10().floor());
    while unit.is_normal() && size / unit < 1e15 {
        for factor in [1.0, 0.5, 0.2] {
            let candidate = multiple(most, unit * factor, f64::floor);
            if candidate > above && candidate <= most {
                return candidate;
            }
        }
        unit /= 10.0;
    }
    most
}

/// The extreme value of a column to two digits, moved towards the others: down for the largest (`side` 1), up for the
/// smallest (`side` -1).
pub(super) fn inward(extreme: f64, side: f64) -> f64 {
    if extreme == 0.0 || extreme.abs() < 100.0 && extreme.fract() == 0.0 {
        return extreme;
    }
    let unit = 10_f64.powf(extreme.abs().log10().floor() - 1.0);
    multiple(extreme, unit, if side < 0.0 { f64::ceil } else { f64::floor })
}

/// A number right after a value and not beyond the next one: the next whole number, or one that keeps the two apart.
pub(super) fn after(value: f64, next: f64, whole: bool) -> f64 {
    if whole {
        return value.floor() + 1.0;
    }
    let gap = (next - value).min(value.abs().max(1.0)) / 4.0;
    let close = shortest(value + gap / 2.0, value + gap);
    if close > value { close } else { next }
}

/// The multiple of a unit near a value. Dividing by a power of ten below 1 would leave errors in the last digit.
fn multiple(value: f64, unit: f64, round: fn(f64) -> f64) -> f64 {
    if unit < 1.0 {
        let per = (1.0 / unit).round();
        return round(value * per) / per;
    }
    round(value / unit) * unit
}

/// The largest step, one of 1, 2.5 or 5 times a power of ten, that divides nearly all of some values; of whole ones, a whole number.
pub(super) fn step(values: &[(f64, u64)], span: f64, whole: bool) -> Option<f64> {
    const MOST_ROWS_OFF: u64 = 20;
    let rows: u64 = values.iter().map(|(_, rows)| rows).sum();
    let divides = |step: f64| {
        let off = values.iter().filter(|(value, _)| !is_multiple(*value, step));
        off.map(|(_, rows)| rows).sum::<u64>() * MOST_ROWS_OFF <= rows
    };
    let powers = (-6..=6).rev().map(|power| 10_f64.powi(power));
    let steps = powers.flat_map(|power| [5.0, 2.5, 1.0].map(|factor| tidy(factor * power)));
    let is_allowed = |step: &f64| *step <= span && !(whole && step.fract() > 0.0);
    steps.filter(is_allowed).find(|step| divides(*step))
}

/// Whether a value is a multiple of a step, up to the last digits of a float.
fn is_multiple(value: f64, step: f64) -> bool {
    let times = value / step;
    (times - times.round()).abs() <= 1e-9 + 1e-15 * times.abs()
}

/// The shortest decimal number that is this one up to its last digits.
fn tidy(value: f64) -> f64 {
    format!("{value:.9}").parse().unwrap_or(value)
}

/// The smallest multiple of a step from a value on.
pub(super) fn align(value: f64, step: f64) -> f64 {
    tidy((value / step - 1e-9).ceil() * step)
}
