//! The memory of a quasi-Newton method: L-BFGS with a diagonal to start from.

/// The last steps and the changes of the gradient (Nocedal & Wright 2006, Algorithm 7.4).
#[derive(Clone, Debug)]
pub(super) struct Memory {
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

/// Pairs that are kept.
const PAIRS: usize = 40;
/// A pair is kept when the curvature along it is above this.
const LEAST_CURVATURE: f64 = 1e-12;

impl Memory {
    /// No pair yet.
    pub(super) fn new() -> Self {
        Self { pairs: Vec::new(), oldest: 0 }
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
        if self.pairs.len() < PAIRS {
            self.pairs.push(pair);
        } else {
            self.pairs[self.oldest] = pair;
            self.oldest = (self.oldest + 1) % PAIRS;
        }
    }

    /// Multiplies a gradient by the estimate of the inverse Hessian; `diagonal` is the Hessian's estimate before the first
    /// pair.
    pub(super) fn precondition(&self, diagonal: &[f64], gradient: &mut [f64]) {
        let (before, after) = self.pairs.split_at(self.oldest);
        let in_order = || after.iter().chain(before);
        let mut shares = Vec::with_capacity(self.pairs.len());
        for pair in in_order().rev() {
            let share = pair.inverse * dot(&pair.step, gradient);
            add(gradient, -share, &pair.change);
            shares.push(share);
        }
        let scale = in_order().next_back().map_or(1.0, |pair| {
            let cells = pair.change.iter().zip(diagonal);
            1.0 / (pair.inverse * cells.map(|(c, d)| c * c / d).sum::<f64>())
        });
        for (x, d) in gradient.iter_mut().zip(diagonal) {
            *x *= scale / d;
        }
        for (pair, share) in in_order().zip(shares.into_iter().rev()) {
            let other = pair.inverse * dot(&pair.change, gradient);
            add(gradient, share - other, &pair.step);
        }
    }
}

/// The second vector minus the first.
fn difference([from, to]: [&[f64]; 2]) -> Vec<f64> {
    from.iter().zip(to).map(|(from, to)| to - from).collect()
}

/// `Σ a b`, in a fixed order.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    const PARTS: usize = 8;
    let (a, a_rest) = a.as_chunks::<PARTS>();
    let (b, b_rest) = b.as_chunks::<PARTS>();
    let mut sums = [0.0; PARTS];
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// `to += share by`.
pub(super) fn add(to: &mut [f64], share: f64, by: &[f64]) {
    for (to, by) in to.iter_mut().zip(by) {
        *to += share * by;
    }
}

#[cfg(test)]
mod tests;
