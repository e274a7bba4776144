//! The passes over all measured cells that a step of the accelerated method makes, each once over memory and with
//! the machine's vectors. Sums are in a fixed order, the same on every machine.

use pulp::Arch;

use crate::estimation::{SquaredLoss, is_dying};

/// What a step is judged by.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Move {
    /// `<θ' - θ, μ'>`.
    pub along: f64,
    /// `½ Σ_r w_r ‖μ'_r - μ_r‖²`.
    pub moved: f64,
    /// `L(μ')`.
    pub value: f64,
}

/// Writes the gradient of the loss at `(1-t) x + t z`, and the potentials one step along it.
#[expect(clippy::too_many_arguments, reason = "one pass over the vectors of a step")]
pub(super) fn descend(
    loss: &SquaredLoss,
    t: f64,
    x: &[f64],
    z: &[f64],
    theta: &[f64],
    step: f64,
    gradient: &mut [f64],
    next: &mut [f64],
) {
    for (weight, range) in loss.parts() {
        let targets = &loss.targets()[range.clone()];
        let (x, z, theta) = (&x[range.clone()], &z[range.clone()], &theta[range.clone()]);
        let (gradient, next) = (&mut gradient[range.clone()], &mut next[range]);
        Arch::new().dispatch(|| {
            let read = x.iter().zip(z).zip(targets.iter().zip(theta));
            for ((g, n), ((x, z), (y, p))) in gradient.iter_mut().zip(next).zip(read) {
                let middle = (1.0 - t) * x + t * z;
                *g = weight * (middle - y);
                *n = if is_dying(*z, *g) { *p } else { p - step * *g };
            }
        });
    }
}

/// Compares the marginals `next_z` of the potentials `next` with `z` of `theta`.
pub(super) fn judge(
    loss: &SquaredLoss,
    theta: &[f64],
    next: &[f64],
    z: &[f64],
    next_z: &[f64],
) -> Move {
    let mut total = Move { value: loss.constant(), ..Move::default() };
    for (weight, range) in loss.parts() {
        let targets = &loss.targets()[range.clone()];
        let (theta, next) = (&theta[range.clone()], &next[range.clone()]);
        let (z, next_z) = (&z[range.clone()], &next_z[range]);
        let sums = Arch::new().dispatch(|| {
            let mut sums = [[0.0; LANES]; 3];
            let whole = theta.len() / LANES * LANES;
            for start in (0..whole).step_by(LANES) {
                let at = start..start + LANES;
                let (theta, next) = (&theta[at.clone()], &next[at.clone()]);
                let (z, next_z) = (&z[at.clone()], &next_z[at.clone()]);
                add_cells(&mut sums, theta, next, z, next_z, &targets[at]);
            }
            let rest = whole..theta.len();
            add_cells(
                &mut sums,
                &theta[rest.clone()],
                &next[rest.clone()],
                &z[rest.clone()],
                &next_z[rest.clone()],
                &targets[rest],
            );
            sums.map(|parts| parts.iter().sum::<f64>())
        });
        total.along += sums[0];
        total.moved += 0.5 * weight * sums[1];
        total.value += 0.5 * weight * sums[2];
    }
    total
}

const LANES: usize = 8;

/// Adds up to [`LANES`] cells.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled where vector instructions are enabled")]
fn add_cells(
    sums: &mut [[f64; LANES]; 3],
    theta: &[f64],
    next: &[f64],
    z: &[f64],
    next_z: &[f64],
    targets: &[f64],
) {
    let [along, moved, value] = sums;
    let read = theta.iter().zip(next).zip(z.iter().zip(next_z).zip(targets));
    let write = along.iter_mut().zip(moved.iter_mut().zip(value));
    for ((a, (m, v)), ((theta, next), ((z, next_z), y))) in write.zip(read) {
        // A forbidden cell stays forbidden: minus infinity both times.
        *a += if *next_z > 0.0 { (next - theta) * next_z } else { 0.0 };
        *m += (next_z - z) * (next_z - z);
        *v += (next_z - y) * (next_z - y);
    }
}

/// `mean += share (new - mean)`.
pub(super) fn average(mean: &mut [f64], new: &[f64], share: f64) {
    Arch::new().dispatch(|| {
        for (m, n) in mean.iter_mut().zip(new) {
            *m += share * (n - *m);
        }
    });
}
