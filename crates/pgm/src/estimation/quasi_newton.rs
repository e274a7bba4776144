//! A quasi-Newton method: L-BFGS with a diagonal to start from. Sums are in a fixed order, whatever the threads.

#![expect(
    clippy::inline_always,
    reason = "the loops must be compiled inside the function that enables vector instructions"
)]

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::error::Result;

/// A point of a convex function.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// Where it is.
    pub(super) x: Vec<f64>,
    /// The function's value there.
    pub(super) value: f64,
    /// Its gradient.
    pub(super) gradient: Vec<f64>,
}

/// The present point of a descent, and what its steps have shown of the Hessian.
#[derive(Clone, Debug)]
pub(super) struct QuasiNewton {
    memory: Memory,
    at: Point,
    trial: Point,
    direction: Vec<f64>,
}

/// A step is accepted if it achieves this share of the decrease that the slope predicts (Armijo).
const PROMISED: f64 = 1e-4;
/// Lengths of a step that are tried.
const TRIES: u32 = 20;
/// What a step to a point that cannot be evaluated is shortened to.
const RETREAT: f64 = 0.25;

impl QuasiNewton {
    /// Starts at a point, which [`begin`](Self::begin) evaluates. `pairs`: how many steps are remembered.
    pub(super) fn new(x: Vec<f64>, pairs: usize) -> Self {
        let zeros = vec![0.0; x.len()];
        let at = Point { x, value: 0.0, gradient: zeros.clone() };
        Self { memory: Memory::new(pairs), trial: at.clone(), at, direction: zeros }
    }

    /// The present point.
    pub(super) fn at(&self) -> &Point {
        &self.at
    }

    /// Evaluates the function at the present point, and forgets the steps so far. False, and nothing done, where it cannot be
    /// evaluated.
    pub(super) fn begin(
        &mut self,
        mut evaluate: impl FnMut(&mut Point) -> Result<bool>,
    ) -> Result<bool> {
        self.trial.x.copy_from_slice(&self.at.x);
        let is_known = evaluate(&mut self.trial)?;
        if is_known {
            std::mem::swap(&mut self.at, &mut self.trial);
            self.memory.clear();
        }
        Ok(is_known)
    }

    /// Moves by one step; false when none is found. `diagonal`: the Hessian's estimate before the first step. `evaluate`: writes
    /// value and gradient of a point, and says whether it can be evaluated; the last one that it is called for is the new
    /// point.
    pub(super) fn step(
        &mut self,
        diagonal: &[f64],
        mut evaluate: impl FnMut(&mut Point) -> Result<bool>,
    ) -> Result<bool> {
        let Self { memory, at, trial, direction } = self;
        direction.copy_from_slice(&at.gradient);
        memory.precondition(diagonal, direction);
        let slope = -dot(direction, &at.gradient);
        let mut length = 1.0;
        for _ in 0..TRIES {
            trial.x.copy_from_slice(&at.x);
            add(&mut trial.x, -length, direction);
            if !evaluate(trial)? {
                length *= RETREAT;
                continue;
            }
            let rise = trial.value - at.value;
            if rise <= PROMISED * length * slope {
                memory.learn([&at.x, &trial.x], [&at.gradient, &trial.gradient]);
                std::mem::swap(at, trial);
                return Ok(true);
            }
            // Where the parabola through both values is least.
            let least = -0.5 * slope * length * length / (rise - slope * length);
            length = least.clamp(0.1 * length, 0.5 * length);
        }
        Ok(false)
    }
}

/// The last steps and the changes of the gradient (Nocedal & Wright 2006, Algorithm 7.4).
#[derive(Clone, Debug)]
pub(super) struct Memory {
    /// How many are kept.
    most: usize,
    pairs: Vec<Pair>,
    /// Where the next pair goes once all places are taken.
    oldest: usize,
}

#[derive(Clone, Debug)]
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    /// `1 / <step, change>`.
    inverse: f64,
}

/// A pair is kept when the curvature along it is above this.
const LEAST_CURVATURE: f64 = 1e-12;
/// Cells that one thread passes over: they are in its cache for the second pass. Sums are of the sums of these.
pub(super) const CHUNK: usize = 1 << 13;
/// Interleaved parts of a sum.
const PARTS: usize = 8;

impl Memory {
    /// No pair yet.
    pub(super) fn new(most: usize) -> Self {
        Self { most, pairs: Vec::new(), oldest: 0 }
    }

    /// Forgets all pairs.
    pub(super) fn clear(&mut self) {
        self.pairs.clear();
        self.oldest = 0;
    }

    /// Adds a step, given as the points and gradients before and after it.
    pub(super) fn learn(&mut self, points: [&[f64]; 2], gradients: [&[f64]; 2]) {
        let step = difference(points);
        let change = difference(gradients);
        let curvature = dot(&step, &change);
        if curvature <= LEAST_CURVATURE * dot(&step, &step) {
            return;
        }
        let pair = Pair { step, change, inverse: 1.0 / curvature };
        if self.pairs.len() < self.most {
            self.pairs.push(pair);
        } else {
            self.pairs[self.oldest] = pair;
            self.oldest = (self.oldest + 1) % self.most;
        }
    }

    /// Multiplies a gradient by the estimate of the inverse Hessian; `diagonal` is the Hessian's estimate before the first
    /// pair.
    pub(super) fn precondition(&self, diagonal: &[f64], gradient: &mut [f64]) {
        let (before, after) = self.pairs.split_at(self.oldest);
        let pairs: Vec<&Pair> = after.iter().chain(before).collect();
        let (Some(oldest), Some(newest)) = (pairs.first(), pairs.last()) else {
            return divide(gradient, 1.0, diagonal);
        };
        let mut shares = vec![0.0; pairs.len()];
        let mut along = dot(&newest.step, gradient);
        for (place, pair) in pairs.iter().enumerate().rev() {
            shares[place] = pair.inverse * along;
            let next = place.checked_sub(1).map(|next| &pairs[next].step[..]);
            along = add_and_dot(gradient, -shares[place], &pair.change, next);
        }
        let cells = newest.change.iter().zip(diagonal);
        let scale = 1.0 / (newest.inverse * cells.map(|(c, d)| c * c / d).sum::<f64>());
        divide(gradient, scale, diagonal);
        let mut along = dot(&oldest.change, gradient);
        for (place, (pair, share)) in pairs.iter().zip(shares).enumerate() {
            let next = pairs.get(place + 1).map(|next| &next.change[..]);
            along = add_and_dot(gradient, share - pair.inverse * along, &pair.step, next);
        }
    }
}

/// The second vector minus the first.
fn difference([from, to]: [&[f64]; 2]) -> Vec<f64> {
    let cells = from.par_iter().zip(to).with_min_len(CHUNK);
    cells.map(|(from, to)| to - from).collect()
}

/// `x *= scale / diagonal`, cell by cell.
fn divide(x: &mut [f64], scale: f64, diagonal: &[f64]) {
    let cells = x.par_iter_mut().zip(diagonal).with_min_len(CHUNK);
    cells.for_each(|(x, d)| *x *= scale / d);
}

/// `Σ a b`, in a fixed order.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let one = |(a, b): (&[f64], &[f64])| Arch::new().dispatch(Dot { a, b });
    if a.len() <= CHUNK {
        return one((a, b));
    }
    let sums: Vec<f64> = a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK)).map(one).collect();
    sums.iter().sum()
}

/// `to += share by`.
pub(super) fn add(to: &mut [f64], share: f64, by: &[f64]) {
    add_and_dot(to, share, by, None);
}

/// `to += share by`; then, in the same pass, `Σ to with`.
fn add_and_dot(to: &mut [f64], share: f64, by: &[f64], with: Option<&[f64]>) -> f64 {
    let one = |to: &mut [f64], by: &[f64], with: Option<&[f64]>| {
        Arch::new().dispatch(AddAndDot { to, share, by, with })
    };
    if to.len() <= CHUNK {
        return one(to, by, with);
    }
    let chunks = to.par_chunks_mut(CHUNK).zip(by.par_chunks(CHUNK)).enumerate();
    let sums: Vec<f64> = chunks
        .map(|(at, (to, by))| {
            let with = with.map(|with| &with[at * CHUNK..][..to.len()]);
            one(to, by, with)
        })
        .collect();
    sums.iter().sum()
}

struct Dot<'a> {
    a: &'a [f64],
    b: &'a [f64],
}

impl WithSimd for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let (a, a_rest) = self.a.as_chunks::<PARTS>();
        let (b, b_rest) = self.b.as_chunks::<PARTS>();
        let mut sums = [0.0; PARTS];
        for (a, b) in a.iter().zip(b) {
            for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
                *sum += a * b;
            }
        }
        let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
        sums.iter().sum::<f64>() + rest
    }
}

struct AddAndDot<'a> {
    to: &'a mut [f64],
    share: f64,
    by: &'a [f64],
    with: Option<&'a [f64]>,
}

impl WithSimd for AddAndDot<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Self { to, share, by, with } = self;
        to.iter_mut().zip(by).for_each(|(to, by)| *to += share * by);
        with.map_or(0.0, |b| Dot { a: to, b }.with_simd(simd))
    }
}

#[cfg(test)]
mod tests;
