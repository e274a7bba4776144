//! The two innermost levels of a contraction: one outer axis, and the vector lanes under it, in registers.
//!
//! For every step `k` of the axis and every lane, the product of the factors joined outside and the inputs joined here
//! goes to the outputs that keep both and to a sum over `k`. The lanes are cut into tiles of a few vectors whose sums
//! stay in registers while `k` runs. No product is ever stored.

#![expect(
    clippy::inline_always,
    reason = "the loops must be compiled inside the function that enables vector instructions"
)]

use std::ops::Range;

use pulp::Simd;

use crate::inference::semiring::Semiring;

/// An input with lanes: the position of its first vector, and the distance to the next step's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LaneInput<'a> {
    pub table: &'a [f64],
    pub start: usize,
    pub step: usize,
}

/// An output with lanes, in the buffer of accumulators.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LaneOutput {
    pub start: usize,
    pub step: usize,
}

/// Inputs of one walk over the innermost axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sweep<'a> {
    /// Steps of the axis.
    pub steps: usize,
    /// The product joined outside, one number per lane.
    pub before: &'a [f64],
    /// One more factor for every step; empty when there is none.
    pub along: &'a [f64],
    pub inputs: &'a [LaneInput<'a>],
    pub outputs: &'a [LaneOutput],
}

/// Its outputs.
#[derive(Debug)]
pub(super) struct Sums<'a> {
    /// Accumulators of the outputs.
    pub outputs: &'a mut [f64],
    /// The sum over the steps, one number per lane.
    pub lanes: &'a mut [f64],
    /// The sum over the lanes in [`PARTS`] interleaved parts per step; empty if no output needs it.
    pub parts: &'a mut [f64],
}

/// Parts of a sum over lanes: the order of additions is the same for every vector width.
pub(super) const PARTS: usize = 8;

/// Vectors of a tile.
const TILE: usize = 4;

impl Sweep<'_> {
    /// Runs through all tiles. Operands of the common numbers become constants, so that their loops are unrolled.
    #[inline(always)]
    pub(super) fn run<R: Semiring, S: Simd>(&self, simd: S, sums: &mut Sums<'_>) {
        let (inputs, outputs) = (self.inputs, self.outputs);
        let in_parts = !sums.parts.is_empty();
        let lanes = self.before.len();
        let whole = lanes - lanes % (TILE * S::F64_LANES);
        macro_rules! unrolled {
            ($($inputs:literal, $outputs:literal, $parts:literal;)*) => {
                match (inputs.len(), outputs.len(), in_parts, self.along.is_empty()) {
                    $(
                        ($inputs, $outputs, $parts, true) => {
                            let (i, o) = (&inputs[..$inputs], &outputs[..$outputs]);
                            self.tiles::<R, S, TILE>(simd, 0..whole, i, o, &[], $parts, sums);
                        }
                        ($inputs, $outputs, $parts, false) => {
                            let (i, o) = (&inputs[..$inputs], &outputs[..$outputs]);
                            let along = &self.along[..self.steps];
                            self.tiles::<R, S, TILE>(simd, 0..whole, i, o, along, $parts, sums);
                        }
                    )*
                    _ => self.tiles::<R, S, TILE>(
                        simd, 0..whole, inputs, outputs, self.along, in_parts, sums,
                    ),
                }
            };
        }
        // Used only where it matters: every line is compiled for every kind of vector.
        if R::LOGS || S::F64_LANES == 1 {
            let all = (inputs, outputs, self.along);
            self.tiles::<R, S, TILE>(simd, 0..whole, all.0, all.1, all.2, in_parts, sums);
        } else {
            unrolled!(
                0, 0, false; 1, 0, false; 2, 0, false; 3, 0, false;
                0, 1, false; 1, 1, false; 2, 1, false; 3, 1, false;
                1, 2, false; 2, 2, false; 3, 2, false; 3, 3, false;
                1, 1, true; 2, 1, true; 2, 2, true; 3, 2, true; 3, 3, true;
            );
        }
        let vectors = lanes - lanes % S::F64_LANES;
        self.tiles::<R, S, 1>(simd, whole..vectors, inputs, outputs, self.along, in_parts, sums);
        if vectors < lanes {
            self.last_tile::<R, S>(simd, vectors, inputs, outputs, self.along, in_parts, sums);
        }
    }

    /// Tiles of `T` whole vectors in a range of lanes.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "constants where it is called")]
    fn tiles<R: Semiring, S: Simd, const T: usize>(
        &self,
        simd: S,
        lanes: Range<usize>,
        inputs: &[LaneInput<'_>],
        outputs: &[LaneOutput],
        along: &[f64],
        in_parts: bool,
        sums: &mut Sums<'_>,
    ) {
        for at in lanes.step_by(T * S::F64_LANES) {
            self.tile::<R, S, T>(simd, at, inputs, outputs, along, in_parts, sums);
        }
    }

    /// `T` whole vectors of lanes from lane `at` on.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "constants where it is called")]
    fn tile<R: Semiring, S: Simd, const T: usize>(
        &self,
        simd: S,
        at: usize,
        inputs: &[LaneInput<'_>],
        outputs: &[LaneOutput],
        along: &[f64],
        in_parts: bool,
        sums: &mut Sums<'_>,
    ) {
        let width = T * S::F64_LANES;
        let before = vectors::<S, T>(&self.before[at..at + width]);
        let mut total = [simd.splat_f64s(R::ZERO); T];
        for step in 0..self.steps {
            let mut product = before;
            for input in inputs {
                let start = input.start + step * input.step + at;
                let factor = vectors::<S, T>(&input.table[start..start + width]);
                for (p, x) in product.iter_mut().zip(factor) {
                    *p = R::times_lanes(simd, *p, x);
                }
            }
            if !along.is_empty() {
                let scalar = simd.splat_f64s(along[step]);
                for p in &mut product {
                    *p = R::times_lanes(simd, *p, scalar);
                }
            }
            for (t, p) in total.iter_mut().zip(product) {
                *t = R::plus_lanes(simd, *t, p);
            }
            for output in outputs {
                let start = output.start + step * output.step + at;
                let (cells, _) = S::as_mut_simd_f64s(&mut sums.outputs[start..start + width]);
                for (o, p) in cells.iter_mut().zip(product) {
                    *o = R::plus_lanes(simd, *o, p);
                }
            }
            if in_parts {
                for (i, p) in product.into_iter().enumerate() {
                    let start = step * PARTS + (at + i * S::F64_LANES) % PARTS;
                    let parts = &mut sums.parts[start..start + S::F64_LANES];
                    let (parts, _) = S::as_mut_simd_f64s(parts);
                    for o in parts {
                        *o = R::plus_lanes(simd, *o, p);
                    }
                }
            }
        }
        let (cells, _) = S::as_mut_simd_f64s(&mut sums.lanes[at..at + width]);
        for (o, t) in cells.iter_mut().zip(total) {
            *o = R::plus_lanes(simd, *o, t);
        }
    }

    /// The lanes from `at` on, fewer than a vector has.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "constants where it is called")]
    fn last_tile<R: Semiring, S: Simd>(
        &self,
        simd: S,
        at: usize,
        inputs: &[LaneInput<'_>],
        outputs: &[LaneOutput],
        along: &[f64],
        in_parts: bool,
        sums: &mut Sums<'_>,
    ) {
        let width = self.before.len() - at;
        let add = |cells: &mut [f64], product| {
            let sum = R::plus_lanes(simd, simd.partial_load_f64s(cells), product);
            simd.partial_store_f64s(cells, sum);
        };
        let before = simd.partial_load_f64s(&self.before[at..]);
        let mut total = simd.splat_f64s(R::ZERO);
        for step in 0..self.steps {
            let mut product = before;
            for input in inputs {
                let start = input.start + step * input.step + at;
                let factor = simd.partial_load_f64s(&input.table[start..start + width]);
                product = R::times_lanes(simd, product, factor);
            }
            if !along.is_empty() {
                product = R::times_lanes(simd, product, simd.splat_f64s(along[step]));
            }
            total = R::plus_lanes(simd, total, product);
            for output in outputs {
                let start = output.start + step * output.step + at;
                add(&mut sums.outputs[start..start + width], product);
            }
            if in_parts {
                let start = step * PARTS + at % PARTS;
                add(&mut sums.parts[start..start + width], product);
            }
        }
        add(&mut sums.lanes[at..], total);
    }
}

/// The first `T` vectors of a slice that holds as many.
#[inline(always)]
fn vectors<S: Simd, const T: usize>(values: &[f64]) -> [S::f64s; T] {
    let (vectors, _) = S::as_simd_f64s(values);
    std::array::from_fn(|i| vectors[i])
}

/// The sum of the parts of one step, in an order that is the same on every machine.
#[inline(always)]
pub(super) fn reduce<R: Semiring>(parts: &[f64]) -> f64 {
    let mut pairs = [R::ZERO; PARTS / 2];
    let (low, high) = parts.split_at(PARTS / 2);
    for (pair, (a, b)) in pairs.iter_mut().zip(low.iter().zip(high)) {
        *pair = R::plus(*a, *b);
    }
    R::plus(R::plus(pairs[0], pairs[2]), R::plus(pairs[1], pairs[3]))
}

/// The sum of some lanes, in an order that is the same on every machine.
#[inline(always)]
pub(super) fn lane_sum<R: Semiring>(values: &[f64]) -> f64 {
    let mut parts = [R::ZERO; PARTS];
    let (chunks, rest) = values.as_chunks::<PARTS>();
    for chunk in chunks {
        for (p, x) in parts.iter_mut().zip(chunk) {
            *p = R::plus(*p, *x);
        }
    }
    for (p, x) in parts.iter_mut().zip(rest) {
        *p = R::plus(*p, *x);
    }
    reduce::<R>(&parts)
}
