//! The two meanings of "multiply and sum": products and sums of numbers, or sums and maxima of their logs.

#![expect(
    clippy::inline_always,
    reason = "the loops must be compiled inside the function that enables vector instructions"
)]

use pulp::Simd;

/// The operations of a contraction on its numbers.
pub(crate) trait Semiring: Copy + Send + Sync {
    /// Whether the numbers are logs.
    const LOGS: bool;
    /// Leaves a sum as it is, and turns any product into itself.
    const ZERO: f64;
    /// Leaves a product as it is.
    const ONE: f64;

    /// Whether a product is [`Semiring::ZERO`], so that everything under it can be skipped.
    fn is_zero(a: f64) -> bool;
    fn times(a: f64, b: f64) -> f64;
    fn plus(a: f64, b: f64) -> f64;
    fn times_lanes<S: Simd>(simd: S, a: S::f64s, b: S::f64s) -> S::f64s;
    fn plus_lanes<S: Simd>(simd: S, a: S::f64s, b: S::f64s) -> S::f64s;
}

/// Products and sums of non-negative numbers: marginals and partition values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SumProduct;

/// Sums and maxima of logs: the largest log-weight of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MaxSum;

impl Semiring for SumProduct {
    const LOGS: bool = false;
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;

    #[inline(always)]
    fn is_zero(a: f64) -> bool {
        a == 0.0
    }

    #[inline(always)]
    fn times(a: f64, b: f64) -> f64 {
        a * b
    }

    #[inline(always)]
    fn plus(a: f64, b: f64) -> f64 {
        a + b
    }

    #[inline(always)]
    fn times_lanes<S: Simd>(simd: S, a: S::f64s, b: S::f64s) -> S::f64s {
        simd.mul_f64s(a, b)
    }

    #[inline(always)]
    fn plus_lanes<S: Simd>(simd: S, a: S::f64s, b: S::f64s) -> S::f64s {
        simd.add_f64s(a, b)
    }
}

impl Semiring for MaxSum {
    const LOGS: bool = true;
    const ZERO: f64 = f64::NEG_INFINITY;
    const ONE: f64 = 0.0;

    #[inline(always)]
    fn is_zero(a: f64) -> bool {
        a == f64::NEG_INFINITY
    }

    #[inline(always)]
    fn times(a: f64, b: f64) -> f64 {
        a + b
    }

    #[inline(always)]
    fn plus(a: f64, b: f64) -> f64 {
        if a > b { a } else { b }
    }

    #[inline(always)]
    fn times_lanes<S: Simd>(simd: S, a: S::f64s, b: S::f64s) -> S::f64s {
        simd.add_f64s(a, b)
    }

    #[inline(always)]
    fn plus_lanes<S: Simd>(simd: S, a: S::f64s, b: S::f64s) -> S::f64s {
        simd.max_f64s(a, b)
    }
}
