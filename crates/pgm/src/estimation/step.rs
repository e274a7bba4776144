//! The passes over all measured cells in a step of the accelerated method. Each goes over memory once, with the
//! machine's vectors. Sums are in a fixed order, the same on every machine.

#![expect(
    clippy::inline_always,
    reason = "the loops must be compiled inside the function that enables vector instructions"
)]

use pulp::{Arch, Simd, WithSimd};

use crate::estimation::{MarginalLoss, Misfit, SquaredLoss, is_dying};

/// The quantities in the acceptance test of a step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Move {
    /// `<θ' - θ, μ'>`.
    pub along: f64,
    /// `L(μ') - L(μ) - <∇L(μ), μ' - μ>`: for squares, `½ Σ_r w_r ‖μ'_r - μ_r‖²`.
    pub moved: f64,
    /// How far μ' is from the measurements.
    pub misfit: Misfit,
}

/// One step of the potentials θ along the gradient of the loss at `(1-t) x + t z`, where x first moves to z by the
/// share `averaged` of the way.
#[derive(Clone, Copy, Debug)]
pub struct Descent<'a> {
    /// Weight of z in the point whose gradient is taken; in (0, 1].
    pub t: f64,
    /// Share of its way to z that x moves first.
    pub averaged: f64,
    /// Marginals of the present potentials.
    pub z: &'a [f64],
    /// The present potentials.
    pub theta: &'a [f64],
    /// Length of the step.
    pub step: f64,
    /// The share of the new potentials that is kept, in (0, 1]; below 1 where potentials are pulled to zero.
    pub kept: f64,
}

/// Two points of a fit, potentials with their marginals.
#[derive(Clone, Copy, Debug)]
pub struct Points<'a> {
    /// The present potentials, ...
    pub theta: &'a [f64],
    /// ... and the next ones.
    pub next: &'a [f64],
    /// Marginals of the present potentials, ...
    pub z: &'a [f64],
    /// ... and of the next ones.
    pub next_z: &'a [f64],
}

impl Points<'_> {
    /// The comparison for any loss.
    pub(super) fn compared_by_gradient(self, loss: &(impl MarginalLoss + ?Sized)) -> Move {
        let Self { theta, next, z, next_z } = self;
        let mut gradient = vec![0.0; z.len()];
        loss.gradient(z, &mut gradient);
        // A cell without records may hold minus infinity both times.
        let mass =
            |((new, old), m): ((&f64, &f64), &f64)| if *m > 0.0 { (new - old) * m } else { 0.0 };
        let along = next.iter().zip(theta).zip(next_z).map(mass).sum();
        let rise: f64 =
            gradient.iter().zip(next_z.iter().zip(z)).map(|(g, (n, m))| g * (n - m)).sum();
        let misfit = loss.misfit(next_z);
        Move { along, moved: misfit.value - loss.misfit(z).value - rise, misfit }
    }
}

impl Descent<'_> {
    /// The step for any loss.
    pub(super) fn along_gradient(
        self,
        loss: &(impl MarginalLoss + ?Sized),
        x: &mut [f64],
        gradient: &mut [f64],
        next: &mut [f64],
    ) {
        let Self { t, averaged, z, theta, step, kept } = self;
        x.iter_mut().zip(z).for_each(|(x, z)| *x += averaged * (z - *x));
        let middle: Vec<f64> = x.iter().zip(z).map(|(x, z)| (1.0 - t) * x + t * z).collect();
        loss.gradient(&middle, gradient);
        let cells = z.iter().zip(gradient).zip(theta);
        for (n, ((z, g), p)) in next.iter_mut().zip(cells) {
            let left_alone = kept >= 1.0 && is_dying(*z, *g);
            *n = if left_alone { *p } else { kept * (p - step * *g) };
        }
    }

    /// Writes x, the gradient and the new potentials.
    pub(super) fn run(
        self,
        loss: &SquaredLoss,
        x: &mut [f64],
        gradient: &mut [f64],
        next: &mut [f64],
    ) {
        for (weight, range) in loss.parts() {
            Arch::new().dispatch(DescentOfTable {
                descent: Descent {
                    z: &self.z[range.clone()],
                    theta: &self.theta[range.clone()],
                    ..self
                },
                weight,
                targets: &loss.targets()[range.clone()],
                x: &mut x[range.clone()],
                gradient: &mut gradient[range.clone()],
                next: &mut next[range],
            });
        }
    }
}

struct DescentOfTable<'a> {
    descent: Descent<'a>,
    weight: f64,
    targets: &'a [f64],
    x: &'a mut [f64],
    gradient: &'a mut [f64],
    next: &'a mut [f64],
}

impl WithSimd for DescentOfTable<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Descent { t, averaged, z, theta, step, kept } = self.descent;
        let is_free = kept >= 1.0;
        let read = z.iter().zip(self.targets).zip(theta);
        let written = self.x.iter_mut().zip(self.gradient).zip(self.next);
        for (((x, g), n), ((z, y), p)) in written.zip(read) {
            *x += averaged * (z - *x);
            let middle = (1.0 - t) * *x + t * z;
            *g = self.weight * (middle - y);
            *n = if is_free && is_dying(*z, *g) { *p } else { kept * (p - step * *g) };
        }
    }
}

/// Compares the marginals `next_z` of the potentials `next` with `z` of `theta`.
pub(super) fn judge(loss: &SquaredLoss, points: Points<'_>) -> Move {
    let Points { theta, next, z, next_z } = points;
    let mut total = Move::default();
    total.misfit.value = loss.constant();
    for (clique, (weight, range)) in loss.parts().enumerate() {
        let [along, moved, value] = Arch::new().dispatch(JudgeTable {
            theta: &theta[range.clone()],
            next: &next[range.clone()],
            z: &z[range.clone()],
            next_z: &next_z[range.clone()],
            targets: &loss.targets()[range],
        });
        total.along += along;
        total.moved += 0.5 * weight * moved;
        let share = 0.5 * weight * value;
        total.misfit.value += share;
        total.misfit.excess = total.misfit.excess.max(loss.excess_of(clique, share));
    }
    total
}

struct JudgeTable<'a> {
    theta: &'a [f64],
    next: &'a [f64],
    z: &'a [f64],
    next_z: &'a [f64],
    targets: &'a [f64],
}

const LANES: usize = 8;

impl WithSimd for JudgeTable<'_> {
    type Output = [f64; 3];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f64; 3] {
        let whole = self.theta.len() / LANES * LANES;
        let theta = S::as_simd_f64s(&self.theta[..whole]).0;
        let next = S::as_simd_f64s(&self.next[..whole]).0;
        let z = S::as_simd_f64s(&self.z[..whole]).0;
        let next_z = S::as_simd_f64s(&self.next_z[..whole]).0;
        let targets = S::as_simd_f64s(&self.targets[..whole]).0;
        // The number of vectors that make LANES sums, so that the order does not depend on the vector width.
        let part = LANES / S::F64_LANES;
        let zero = simd.splat_f64s(0.0);
        let (mut along, mut moved, mut value) = ([zero; LANES], [zero; LANES], [zero; LANES]);
        let chunks = theta.chunks_exact(part).zip(next.chunks_exact(part));
        let chunks = chunks.zip(z.chunks_exact(part).zip(next_z.chunks_exact(part)));
        for (((theta, next), (z, next_z)), y) in chunks.zip(targets.chunks_exact(part)) {
            for i in 0..part {
                let mass = simd.mul_f64s(simd.sub_f64s(next[i], theta[i]), next_z[i]);
                let lives = simd.greater_than_f64s(next_z[i], zero);
                along[i] = simd.add_f64s(along[i], simd.select_f64s(lives, mass, zero));
                let by = simd.sub_f64s(next_z[i], z[i]);
                moved[i] = simd.add_f64s(moved[i], simd.mul_f64s(by, by));
                let off = simd.sub_f64s(next_z[i], y[i]);
                value[i] = simd.add_f64s(value[i], simd.mul_f64s(off, off));
            }
        }
        let mut sums = [[0.0; LANES]; 3];
        for (sum, vectors) in sums.iter_mut().zip([along, moved, value]) {
            S::as_mut_simd_f64s(sum).0.copy_from_slice(&vectors[..part]);
        }
        let [along, moved, value] = &mut sums;
        for (i, cell) in (whole..self.theta.len()).enumerate() {
            let (z, next_z, y) = (self.z[cell], self.next_z[cell], self.targets[cell]);
            // A cell without records may be minus infinity in both.
            if next_z > 0.0 {
                along[i] += (self.next[cell] - self.theta[cell]) * next_z;
            }
            moved[i] += (next_z - z) * (next_z - z);
            value[i] += (next_z - y) * (next_z - y);
        }
        sums.map(|parts| parts.iter().sum())
    }
}

/// `mean += share (new - mean)`.
pub(super) fn average(mean: &mut [f64], new: &[f64], share: f64) {
    Arch::new().dispatch(Average { mean, new, share });
}

struct Average<'a> {
    mean: &'a mut [f64],
    new: &'a [f64],
    share: f64,
}

impl WithSimd for Average<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (m, n) in self.mean.iter_mut().zip(self.new) {
            *m += self.share * (n - *m);
        }
    }
}
