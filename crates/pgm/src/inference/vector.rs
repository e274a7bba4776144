//! Element-wise work on tables with the machine's vectors. Results are the same on every machine: no fused
//! multiply-add, and sums in a fixed order.

#![expect(
    clippy::inline_always,
    reason = "the loops must be compiled inside the function that enables vector instructions"
)]

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::inference::lanes::{PARTS, lane_sum, reduce};
use crate::inference::semiring::SumProduct;

/// Cells of a large table that one thread passes over; sums are of the sums of these.
const CHUNK: usize = 1 << 14;

/// Below this, `exp` counts as zero; down to it, results are normal numbers.
const LEAST_EXPONENT: f64 = -708.0;
const GREATEST_EXPONENT: f64 = 709.0;

/// Writes `exp(log - shift)` for every cell. Relative error below 5e-16; zero below an exponent of −708.
pub(super) fn exp(logs: &[f64], shift: f64, table: &mut [f64]) {
    Arch::new().dispatch(Exp { logs, shift, table });
}

struct Exp<'a> {
    logs: &'a [f64],
    shift: f64,
    table: &'a mut [f64],
}

impl WithSimd for Exp<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (x, log) in self.table.iter_mut().zip(self.logs) {
            *x = exp_of(*log - self.shift);
        }
    }
}

/// Replaces every cell by `exp(cell - shift)`.
pub(super) fn exp_in_place(table: &mut [f64], shift: f64) {
    Arch::new().dispatch(ExpInPlace { table, shift });
}

struct ExpInPlace<'a> {
    table: &'a mut [f64],
    shift: f64,
}

impl WithSimd for ExpInPlace<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for x in self.table {
            *x = exp_of(*x - self.shift);
        }
    }
}

/// The largest value (minus infinity without any), or `None` if one of them is NaN or plus infinity.
pub(super) fn largest_log(logs: &[f64]) -> Option<f64> {
    Arch::new().dispatch(LargestLog { logs })
}

struct LargestLog<'a> {
    logs: &'a [f64],
}

impl WithSimd for LargestLog<'_> {
    type Output = Option<f64>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Option<f64> {
        let (mut max, mut unusable) = ([f64::NEG_INFINITY; PARTS], [0.0; PARTS]);
        let (chunks, rest) = self.logs.as_chunks::<PARTS>();
        let look = |x: f64, max: &mut f64, unusable: &mut f64| {
            *max = if x > *max { x } else { *max };
            *unusable += if x < f64::INFINITY { 0.0 } else { 1.0 };
        };
        for chunk in chunks {
            for i in 0..PARTS {
                look(chunk[i], &mut max[i], &mut unusable[i]);
            }
        }
        for x in rest {
            look(*x, &mut max[0], &mut unusable[0]);
        }
        let usable = unusable.iter().sum::<f64>() < 0.5;
        usable.then(|| max.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    }
}

/// Writes the table, scaled to sum to `total`.
pub(super) fn scale_to(table: &[f64], total: f64, scaled: &mut [f64]) {
    Arch::new().dispatch(ScaleTo { table, total, scaled });
}

struct ScaleTo<'a> {
    table: &'a [f64],
    total: f64,
    scaled: &'a mut [f64],
}

impl WithSimd for ScaleTo<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let scale = self.total / lane_sum::<SumProduct>(self.table);
        for (s, x) in self.scaled.iter_mut().zip(self.table) {
            *s = scale * x;
        }
    }
}

/// The message from a parent: its belief on the separator divided by the message that this node sent up, scaled so that
/// the product of both sums to 1. Cells whose upward message is below `least` get 0; the sum of their share of the
/// belief is returned.
pub(super) fn message_down(belief: &[f64], up: &[f64], least: f64, down: &mut [f64]) -> f64 {
    let sum = |belief: &[f64]| Arch::new().dispatch(Sum { values: belief });
    let one = |scale: f64, belief: &[f64], up: &[f64], down: &mut [f64]| {
        Arch::new().dispatch(MessageDown { belief, up, least, scale, down })
    };
    if belief.len() <= CHUNK {
        return one(1.0 / sum(belief), belief, up, down);
    }
    let sums: Vec<f64> = belief.par_chunks(CHUNK).map(sum).collect();
    let scale = 1.0 / sums.iter().sum::<f64>();
    let chunks = belief.par_chunks(CHUNK).zip(up.par_chunks(CHUNK));
    let chunks = chunks.zip(down.par_chunks_mut(CHUNK));
    let lost: Vec<f64> = chunks.map(|((b, u), d)| one(scale, b, u, d)).collect();
    lost.iter().sum()
}

struct Sum<'a> {
    values: &'a [f64],
}

impl WithSimd for Sum<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        lane_sum::<SumProduct>(self.values)
    }
}

struct MessageDown<'a> {
    belief: &'a [f64],
    up: &'a [f64],
    least: f64,
    scale: f64,
    down: &'a mut [f64],
}

impl WithSimd for MessageDown<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let scale = self.scale;
        let (beliefs, last_beliefs) = self.belief.as_chunks::<PARTS>();
        let (ups, last_ups) = self.up.as_chunks::<PARTS>();
        let (downs, last_downs) = self.down.as_chunks_mut::<PARTS>();
        // A cell that gets 0 has an infinite divisor: one division per cell, and no branch.
        let divisor = |up: f64| if up > self.least { up } else { f64::INFINITY };
        let missed = |share: f64, up: f64| if up > self.least { 0.0 } else { share };
        let mut lost = [0.0; PARTS];
        for ((down, belief), up) in downs.iter_mut().zip(beliefs).zip(ups) {
            let shares = belief.map(|b| scale * b);
            let divisors = up.map(divisor);
            for ((d, share), divisor) in down.iter_mut().zip(shares).zip(divisors) {
                *d = share / divisor;
            }
            for ((l, share), up) in lost.iter_mut().zip(shares).zip(up) {
                *l += missed(share, *up);
            }
        }
        for ((down, belief), up) in last_downs.iter_mut().zip(last_beliefs).zip(last_ups) {
            *down = scale * belief / divisor(*up);
            lost[0] += missed(scale * belief, *up);
        }
        reduce::<SumProduct>(&lost)
    }
}

/// Copies numbers that are not negative, and returns the largest; 0 without any.
pub(super) fn copy_and_largest(from: &[f64], to: &mut [f64]) -> f64 {
    let one = |(from, to): (&[f64], &mut [f64])| {
        to.copy_from_slice(from);
        Arch::new().dispatch(Largest { values: to })
    };
    if from.len() <= CHUNK {
        return one((from, to));
    }
    from.par_chunks(CHUNK).zip(to.par_chunks_mut(CHUNK)).map(one).reduce(|| 0.0, f64::max)
}

struct Largest<'a> {
    values: &'a [f64],
}

impl WithSimd for Largest<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let mut max = [0.0; PARTS];
        let (chunks, rest) = self.values.as_chunks::<PARTS>();
        for chunk in chunks {
            for (m, x) in max.iter_mut().zip(chunk) {
                *m = if *x > *m { *x } else { *m };
            }
        }
        max.iter().chain(rest).copied().fold(0.0, f64::max)
    }
}

/// `exp` without branches: `2^n exp(r)` with `|r| <= ln(2)/2`, the latter by its Taylor polynomial.
#[inline(always)]
fn exp_of(x: f64) -> f64 {
    const LOG2_E: f64 = std::f64::consts::LOG2_E;
    /// ln 2 in two parts; the first has few enough digits that its multiples by exponents are exact.
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
mod tests;
