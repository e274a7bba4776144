//! The network of GEM: fixed random inputs, hidden layers with batch normalization, a soft-max for each attribute.

use std::ops::Range;

use ndarray::{Array2, ArrayView1, ArrayViewMut2, Axis, Slice};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

use super::soft_max;
use crate::linalg::{Real, multiply};

/// Added to a variance before its root is taken.
const VARIANCE: f64 = 1e-5;
/// The stream of a seed's generator that inputs come from; weights come from stream 0.
const LATENTS: u64 = 1;

/// The sizes of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// E, the number of random inputs of a component.
    pub(super) latents: usize,
    /// Width of each hidden layer.
    pub(super) hidden: Vec<usize>,
    /// B, the number of components.
    pub(super) components: usize,
}

impl Shape {
    /// Numbers of a network with `values` outputs for each component, in training: parameters with their gradient and
    /// its moments, and activations with their derivatives.
    pub(super) fn numbers(&self, values: usize) -> f64 {
        let mut width = self.latents as f64;
        let mut parameters = 0.0;
        for outputs in self.hidden.iter().chain([&values]) {
            parameters += *outputs as f64 * (width + 2.0);
            width += *outputs as f64;
        }
        4.0 * parameters + 3.0 * width * self.components as f64
    }
}

/// A network with its activations. Matrices have a column for each component.
///
/// The input of the first hidden layer is `X = Z`. A hidden layer computes `A = W X` and normalizes each row over the
/// components: Â is A less its mean, over the root of its variance plus 10⁻⁵. It hands on `[max(0, γ Â + β); X]`. (The bias
/// that published code adds to A has no effect: the mean takes it away.) The output is `W X + b`, of which each
/// attribute's part goes through a soft-max. Means and variances are always those of the components at hand.
#[derive(Clone, Debug)]
pub(super) struct Network<F> {
    shape: Shape,
    /// Where the values of each attribute lie in the output.
    ranges: Vec<Range<usize>>,
    /// W, γ and β of each hidden layer, then W and b of the output. Vectors are columns.
    pub(super) parameters: Vec<Array2<F>>,
    /// `[Y_L; ...; Y_1; Z]`: the input of the hidden layer l is the part below `Y_l`.
    inputs: Array2<F>,
    /// Â of each hidden layer, and `1/√(var + 10⁻⁵)` of its rows.
    normalized: Vec<(Array2<F>, Vec<F>)>,
    /// A row for each value of each attribute.
    pub(super) probabilities: Array2<F>,
}

impl<F: Real> Network<F> {
    /// A network with random inputs and weights from the given seed: weights are uniform in ±1/√(number of inputs), γ
    /// is 1 and β is 0. `ranges`: where the values of each attribute lie in the output.
    pub(super) fn new(shape: Shape, ranges: Vec<Range<usize>>, seed: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let values = ranges.last().map_or(0, |range| range.end);
        let mut width = shape.latents;
        let mut parameters = Vec::with_capacity(3 * shape.hidden.len() + 2);
        let mut uniform = |rows: usize, columns: usize, inputs: usize| {
            let bound = 1.0 / (inputs.max(1) as f64).sqrt();
            let number = || F::of(bound * (2.0 * rng.random::<f64>() - 1.0));
            Array2::from_shape_simple_fn((rows, columns), number)
        };
        for hidden in &shape.hidden {
            parameters.push(uniform(*hidden, width, width));
            parameters.extend([Array2::ones((*hidden, 1)), Array2::zeros((*hidden, 1))]);
            width += hidden;
        }
        parameters.extend([uniform(values, width, width), uniform(values, 1, width)]);
        let inputs = Array2::zeros((width, shape.components));
        let probabilities = Array2::zeros((values, shape.components));
        let normalized = Vec::new();
        let mut own = Self { shape, ranges, parameters, inputs, normalized, probabilities };
        own.draw_latents(seed);
        own.forward();
        own
    }

    /// Draws Z from a seed; that of [`new`](Self::new) draws the first inputs again. The probabilities change with the
    /// next [`forward`](Self::forward).
    pub(super) fn draw_latents(&mut self, seed: u64) {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        rng.set_stream(LATENTS);
        let hidden = self.inputs.nrows() - self.shape.latents;
        let mut latents = self.inputs.slice_axis_mut(Axis(0), Slice::from(hidden..));
        latents.mapv_inplace(|_| {
            let normal: f64 = StandardNormal.sample(&mut rng);
            F::of(normal)
        });
    }

    /// Sets the output weights of some attributes to 0, which makes them uniform and independent of all others.
    pub(super) fn clear(&mut self, attributes: &[usize]) {
        for range in attributes.iter().filter_map(|attribute| self.ranges.get(*attribute)) {
            for parameters in self.parameters.iter_mut().rev().take(2) {
                parameters.slice_axis_mut(Axis(0), Slice::from(range.clone())).fill(F::zero());
            }
        }
        self.forward();
    }

    /// Computes the probabilities.
    pub(super) fn forward(&mut self) {
        let (hidden, output) = self.parameters.split_at(3 * self.shape.hidden.len());
        let mut start = self.inputs.nrows() - self.shape.latents;
        self.normalized.clear();
        for layer in hidden.chunks_exact(3) {
            let (weights, scale, shift) = (&layer[0], &layer[1], &layer[2]);
            let (mut before, inputs) = self.inputs.view_mut().split_at(Axis(0), start);
            start -= weights.nrows();
            let mut sums = Array2::zeros((weights.nrows(), self.shape.components));
            multiply(&weights.view(), &inputs.view(), sums.view_mut(), false);
            let roots = normalize(&mut sums);
            let mut outputs = before.slice_axis_mut(Axis(0), Slice::from(start..));
            let rows = outputs.outer_iter_mut().zip(sums.outer_iter()).zip(scale.iter().zip(shift));
            for ((mut outputs, normal), (scale, shift)) in rows {
                outputs.zip_mut_with(&normal, |y, a| *y = (*scale * *a + *shift).max(F::zero()));
            }
            self.normalized.push((sums, roots));
        }
        if let [weights, bias] = output {
            self.probabilities.assign(bias);
            let logits = self.probabilities.view_mut();
            multiply(&weights.view(), &self.inputs.view(), logits, true);
        }
        soft_max::forward(&mut self.probabilities, &self.ranges);
    }

    /// The derivatives in all parameters, from those in the probabilities of the last [`forward`](Self::forward).
    pub(super) fn backward(&self, mut slopes: Array2<F>) -> Vec<Array2<F>> {
        soft_max::backward(&self.probabilities, &mut slopes, &self.ranges);
        let mut gradient: Vec<Array2<F>> =
            self.parameters.iter().map(|parameters| Array2::zeros(parameters.dim())).collect();
        let mut start = 0;
        // The derivatives in [Y_L; ...; Y_1]; those in Z are not needed.
        let inner = (self.inputs.nrows() - self.shape.latents, self.shape.components);
        let mut inner = Array2::zeros(inner);
        let (hidden, output) = self.parameters.split_at(3 * self.shape.hidden.len());
        let (of_hidden, of_output) = gradient.split_at_mut(hidden.len());
        if let ([weights, _], [of_weights, of_bias]) = (output, of_output) {
            multiply(&slopes.view(), &self.inputs.t(), of_weights.view_mut(), false);
            of_bias.assign(&slopes.sum_axis(Axis(1)).insert_axis(Axis(1)));
            into_inputs(weights, &slopes, inner.view_mut());
        }
        let layers = hidden.chunks_exact(3).zip(of_hidden.chunks_exact_mut(3));
        for ((layer, of_layer), (normal, roots)) in layers.zip(&self.normalized).rev() {
            let own = Slice::from(start..start + layer[0].nrows());
            start += layer[0].nrows();
            let mut slopes = inner.slice_axis(Axis(0), own).to_owned();
            // Without a branch, which would be mispredicted often: about half of the outputs are 0, in no order.
            slopes.zip_mut_with(&self.inputs.slice_axis(Axis(0), own), |slope, y| {
                *slope = if *y > F::zero() { *slope } else { F::zero() };
            });
            through_normalization(&layer[1], &mut slopes, normal, roots, of_layer);
            let inputs = self.inputs.slice_axis(Axis(0), Slice::from(start..));
            multiply(&slopes.view(), &inputs.t(), of_layer[0].view_mut(), false);
            let below = inner.slice_axis_mut(Axis(0), Slice::from(start..));
            into_inputs(&layer[0], &slopes, below);
        }
        gradient
    }
}

/// Adds `Wᵀ ∂A` to the derivatives in the inputs that come from hidden layers.
fn into_inputs<F: Real>(weights: &Array2<F>, slopes: &Array2<F>, inner: ArrayViewMut2<'_, F>) {
    if inner.nrows() > 0 {
        let weights = weights.slice_axis(Axis(1), Slice::from(..inner.nrows()));
        multiply(&weights.t(), &slopes.view(), inner, true);
    }
}

/// From the derivatives g in `γ Â + β` to those in A: with their mean m over the components and the mean k of `g Â`,
/// `∂A = γ/√(var + 10⁻⁵) (g - m - k Â)`. The derivatives in γ and β are sums.
fn through_normalization<F: Real>(
    scale: &Array2<F>,
    slopes: &mut Array2<F>,
    normal: &Array2<F>,
    roots: &[F],
    of_layer: &mut [Array2<F>],
) {
    let components = F::of(normal.ncols() as f64);
    let rows = slopes.outer_iter_mut().zip(normal.outer_iter()).zip(scale.iter().zip(roots));
    for (row, ((mut slopes, normal), (scale, root))) in rows.enumerate() {
        let (sum, product) = (slopes.sum(), slopes.dot(&normal));
        of_layer[1][(row, 0)] = product;
        of_layer[2][(row, 0)] = sum;
        let (mean, mean_product) = (sum / components, product / components);
        let factor = *scale * *root;
        slopes.zip_mut_with(&normal, |g, a| *g = factor * (*g - mean - mean_product * *a));
    }
}

/// Normalizes every row, and returns `1/√(var + 10⁻⁵)` of each.
fn normalize<F: Real>(sums: &mut Array2<F>) -> Vec<F> {
    let count = sums.ncols().max(1) as f64;
    let rows = sums.outer_iter_mut().map(|mut row| {
        let mean = wide_sum(&row.view(), |a| a) / count;
        let variance = wide_sum(&row.view(), |a| (a - mean).powi(2)) / count;
        let (mean, root) = (F::of(mean), F::of(1.0 / (variance + VARIANCE).sqrt()));
        row.mapv_inplace(|a| (a - mean) * root);
        root
    });
    rows.collect()
}

/// A sum over a row in 64 bits. Its parts are summed side by side, as one sum would wait for each addition.
fn wide_sum<F: Real>(row: &ArrayView1<'_, F>, of: impl Fn(f64) -> f64) -> f64 {
    let mut sums = [0.0; 16];
    for part in row.axis_chunks_iter(Axis(0), sums.len()) {
        sums.iter_mut().zip(part).for_each(|(sum, a)| *sum += of(a.wide()));
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests;
