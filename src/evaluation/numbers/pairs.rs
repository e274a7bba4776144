//! Correlations between numeric columns.

use rayon::prelude::*;

use crate::data::NumericColumn;
use crate::evaluation::correlation::{DependenceDifference, Sums};

/// Differences of Pearson's and of Spearman's correlations over all pairs of columns, each over the records that have
/// both numbers. A pair counts where both correlations exist in both tables.
pub(super) fn differences(
    columns: &[(&NumericColumn, &NumericColumn)],
    weights: [Option<&[f64]>; 2],
) -> (Option<DependenceDifference>, Option<DependenceDifference>) {
    let count = columns.len();
    let pairs: Vec<[usize; 2]> =
        (0..count).flat_map(|i| (i + 1..count).map(move |j| [i, j])).collect();
    let found = pairs.par_iter().map(|[i, j]| {
        let (one, other) = (columns[*i], columns[*j]);
        let real = correlations(&one.0.values, &other.0.values, weights[0])?;
        let synthetic = correlations(&one.1.values, &other.1.values, weights[1])?;
        Some([real[0] - synthetic[0], real[1] - synthetic[1]])
    });
    let found: Vec<Option<[f64; 2]>> = found.collect();
    let mut sums = [Sums::default(), Sums::default()];
    for (pair, differences) in pairs.into_iter().zip(&found) {
        for (sums, difference) in sums.iter_mut().zip(differences.iter().flatten()) {
            sums.add(pair, *difference);
        }
    }
    if found.iter().all(Option::is_none) {
        return (None, None);
    }
    let [pearson, spearman] = sums.map(|sums| sums.finish(|column| &columns[column].0.name));
    (Some(pearson), Some(spearman))
}

/// Pearson's and Spearman's correlation; `None` with fewer than two records, or if a column is constant.
fn correlations(a: &[f64], b: &[f64], weights: Option<&[f64]>) -> Option<[f64; 2]> {
    let weight = |record: usize| weights.map_or(1.0, |weights| weights[record]);
    let all = a.iter().zip(b).enumerate().map(|(at, (x, y))| (*x, *y, weight(at)));
    let whole: Vec<(f64, f64, f64)> =
        all.filter(|(x, y, w)| !x.is_nan() && !y.is_nan() && *w > 0.0).collect();
    let of = |pick: fn(&(f64, f64, f64)) -> f64| whole.iter().map(pick).collect::<Vec<f64>>();
    let (a, b, weights) = (of(|one| one.0), of(|one| one.1), of(|one| one.2));
    let ranked = pearson(&ranks(&a, &weights), &ranks(&b, &weights), &weights)?;
    Some([pearson(&a, &b, &weights)?, ranked])
}

/// `None` if a column is constant.
fn pearson(a: &[f64], b: &[f64], weights: &[f64]) -> Option<f64> {
    let all = weights.iter().sum::<f64>();
    let mean = |values: &[f64]| values.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>() / all;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let (mut square_a, mut square_b, mut product) = (0.0, 0.0, 0.0);
    for ((x, y), weight) in a.iter().zip(b).zip(weights) {
        let (x, y) = (x - mean_a, y - mean_b);
        square_a += weight * x * x;
        square_b += weight * y * y;
        product += weight * x * y;
    }
    let correlation = product / (square_a * square_b).sqrt();
    correlation.is_finite().then_some(correlation)
}

/// What lies below each number, and half of what is equal to it.
fn ranks(values: &[f64], weights: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0.0;
    for equal in order.chunk_by(|a, b| values[*a].total_cmp(&values[*b]).is_eq()) {
        let own: f64 = equal.iter().map(|record| weights[*record]).sum();
        equal.iter().for_each(|record| ranks[*record] = below + own / 2.0);
        below += own;
    }
    ranks
}

#[cfg(test)]
mod tests;
