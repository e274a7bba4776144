//! The L1 distance between counts and a table.

/// Number of partial sums. Each takes every so-many-th cell, so that they can be kept in vector registers.
const LANES: usize = 8;

/// `Σ |count - scale · value|` over the cells of a marginal. Counts may be weighted ones.
///
/// The sum is compensated: each partial sum carries its own rounding errors (Ogita, Rump & Oishi 2005, algorithm Sum2).
/// With A the exact result for the rounded `scale · value`, and up to 2²⁸ cells, the error is below 2.2 · 2⁻⁵³ A:
/// one rounding of each term and one of the sum, and what it carries (`docs/theory/sensitivities.md`, section 5).
pub fn l1_distance<C: Copy + Into<f64>, T: Copy + Into<f64>>(
    counts: &[C],
    table: &[T],
    scale: f64,
) -> f64 {
    let (mut sums, mut errors) = ([0.0; LANES], [0.0; LANES]);
    let mut add = |lane: usize, count: C, value: T| {
        let term = (count.into() - scale * value.into()).abs();
        let sum = sums[lane] + term;
        let rounded = sum - sums[lane];
        errors[lane] += (sums[lane] - (sum - rounded)) + (term - rounded);
        sums[lane] = sum;
    };
    let (count_blocks, count_rest) = counts.as_chunks::<LANES>();
    let (table_blocks, table_rest) = table.as_chunks::<LANES>();
    for (counts, values) in count_blocks.iter().zip(table_blocks) {
        for lane in 0..LANES {
            add(lane, counts[lane], values[lane]);
        }
    }
    for (lane, (count, value)) in count_rest.iter().zip(table_rest).enumerate() {
        add(lane, *count, *value);
    }
    let (mut sum, mut error) = (0.0, errors.iter().sum::<f64>());
    for lane in sums {
        let next: f64 = sum + lane;
        let rounded = next - sum;
        error += (sum - (next - rounded)) + (lane - rounded);
        sum = next;
    }
    sum + error
}

/// `Σ_r a_r x_r` of numbers that are not negative, such as the mean of many distances.
///
/// Compensated as [`l1_distance`]: with S the exact result and up to 2²⁶ terms, the error is below 2.5 · 2⁻⁵³ S, one rounding
/// of each product and one and a half of the sum. A plain sum of as many numbers would not be precise enough for
/// a selection (`docs/theory/sensitivities.md`, section 5).
pub fn weighted_sum(weights: &[f64], values: &[f64]) -> f64 {
    let (mut sum, mut error) = (0.0, 0.0);
    for (weight, value) in weights.iter().zip(values) {
        let term = weight * value;
        let next: f64 = sum + term;
        let rounded = next - sum;
        error += (sum - (next - rounded)) + (term - rounded);
        sum = next;
    }
    sum + error
}

#[cfg(test)]
mod tests;
