//! Element-wise work on tables with the machine's vectors. Results are the same on every machine: no fused
//! multiply-add, and sums in a fixed order.

use pulp::Arch;

use crate::inference::lanes::lane_sum;
use crate::inference::semiring::SumProduct;

/// Below this, `exp` is taken for zero; down to it, results are normal numbers.
const LEAST_EXPONENT: f64 = -708.0;
const GREATEST_EXPONENT: f64 = 709.0;

/// Writes `exp(log - shift)` for every cell. Relative error below 5e-16; zero below an exponent of −708.
pub(super) fn exp(logs: &[f64], shift: f64, table: &mut [f64]) {
    Arch::new().dispatch(|| {
        for (x, log) in table.iter_mut().zip(logs) {
            *x = exp_of(*log - shift);
        }
    });
}

/// Replaces every cell by `exp(cell - shift)`.
pub(super) fn exp_in_place(table: &mut [f64], shift: f64) {
    Arch::new().dispatch(|| {
        for x in table.iter_mut() {
            *x = exp_of(*x - shift);
        }
    });
}

/// The largest value (minus infinity without any), or `None` when one of them is NaN or plus infinity.
pub(super) fn largest_log(logs: &[f64]) -> Option<f64> {
    Arch::new().dispatch(|| {
        let (mut max, mut usable) = ([f64::NEG_INFINITY; 8], [true; 8]);
        let (chunks, rest) = logs.as_chunks::<8>();
        for chunk in chunks {
            for ((m, u), x) in max.iter_mut().zip(&mut usable).zip(chunk) {
                *m = if *x > *m { *x } else { *m };
                *u &= *x < f64::INFINITY;
            }
        }
        for x in rest {
            max[0] = if *x > max[0] { *x } else { max[0] };
            usable[0] &= *x < f64::INFINITY;
        }
        usable.iter().all(|u| *u).then(|| max.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    })
}

/// Writes the table, scaled to sum to `total`.
pub(super) fn scale_to(table: &[f64], total: f64, scaled: &mut [f64]) {
    Arch::new().dispatch(|| {
        let scale = total / lane_sum::<SumProduct>(table);
        for (s, x) in scaled.iter_mut().zip(table) {
            *s = scale * x;
        }
    });
}

/// `exp` without branches: `2^n exp(r)` with `|r| <= ln(2)/2`, the latter by its Taylor polynomial.
#[inline(always)]
fn exp_of(x: f64) -> f64 {
    const LOG2_E: f64 = std::f64::consts::LOG2_E;
    /// ln 2 in two parts; the first has so few digits that its multiples by exponents are exact.
    const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    /// Adding it rounds to a whole number, which is then in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let clamped = x.clamp(LEAST_EXPONENT, GREATEST_EXPONENT);
    let rounded = clamped * LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = (clamped - n * LN_2_HIGH) - n * LN_2_LOW;
    let r2 = r * r;
    let r4 = r2 * r2;
    let low = (1.0 + r) + r2 * (1.0 / 2.0 + r * (1.0 / 6.0));
    let middle = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0));
    let high = (1.0 / 40_320.0 + r * (1.0 / 362_880.0))
        + r2 * (1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0));
    let highest = 1.0 / 479_001_600.0 + r * (1.0 / 6_227_020_800.0);
    let exp_r = low + r4 * (middle + r4 * (high + r4 * highest));
    let scaled = f64::from_bits(exp_r.to_bits().wrapping_add(rounded.to_bits() << 52));
    if x < LEAST_EXPONENT { 0.0 } else { scaled }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_those_of_the_standard_library() {
        let logs: Vec<f64> = (-7_080_000..7_090_000).map(|i| f64::from(i) * 1e-4).collect();
        let mut found = vec![0.0; logs.len()];
        exp(&logs, 0.0, &mut found);
        let worst = logs
            .iter()
            .zip(&found)
            .map(|(x, found)| (found / x.exp() - 1.0).abs())
            .fold(0.0, f64::max);
        assert!(worst < 5e-16, "{worst:e}");
    }

    #[test]
    fn far_exponents_are_zero_and_shifts_are_subtracted() {
        let mut found = [1.0; 5];
        exp(&[f64::NEG_INFINITY, -709.0, -1e300, 3.0, 4.0], 3.0, &mut found);
        assert_eq!(found[..4], [0.0, 0.0, 0.0, 1.0]);
        let mut table = [4.0];
        exp_in_place(&mut table, 3.0);
        assert_eq!(found[4].to_bits(), table[0].to_bits());
    }

    #[test]
    fn numbers_that_are_no_logs_are_found_anywhere() {
        for place in 0..19 {
            for bad in [f64::NAN, f64::INFINITY] {
                let mut logs = vec![-1.0; 19];
                logs[place] = bad;
                assert_eq!(largest_log(&logs), None);
                logs[place] = 5.0;
                assert_eq!(largest_log(&logs), Some(5.0));
            }
        }
        assert_eq!(largest_log(&[f64::NEG_INFINITY]), Some(f64::NEG_INFINITY));
    }
}
