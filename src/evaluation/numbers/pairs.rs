//! Correlations between numeric columns.

use rayon::prelude::*;

use crate::data::NumericColumn;
use crate::evaluation::correlation::{DependenceDifference, Sums};

/// Differences of Pearson's and of Spearman's correlations over all pairs of columns, each over the records that have
/// both numbers. A pair counts where both correlations exist in both tables.
pub(super) fn differences(
    columns: &[(&NumericColumn, &NumericColumn)],
) -> (Option<DependenceDifference>, Option<DependenceDifference>) {
    let count = columns.len();
    let pairs: Vec<[usize; 2]> =
        (0..count).flat_map(|i| (i + 1..count).map(move |j| [i, j])).collect();
    let found = pairs.par_iter().map(|[i, j]| {
        let (one, other) = (columns[*i], columns[*j]);
        let real = correlations(&one.0.values, &other.0.values)?;
        let synthetic = correlations(&one.1.values, &other.1.values)?;
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
fn correlations(a: &[f64], b: &[f64]) -> Option<[f64; 2]> {
    let is_whole = |(x, y): &(&f64, &f64)| !x.is_nan() && !y.is_nan();
    let (a, b): (Vec<f64>, Vec<f64>) = a.iter().zip(b).filter(is_whole).unzip();
    Some([pearson(&a, &b)?, pearson(&ranks(&a), &ranks(&b))?])
}

fn pearson(a: &[f64], b: &[f64]) -> Option<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let (mut square_a, mut square_b, mut product) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().zip(b) {
        let (x, y) = (x - mean_a, y - mean_b);
        square_a += x * x;
        square_b += y * y;
        product += x * y;
    }
    let correlation = product / (square_a * square_b).sqrt();
    correlation.is_finite().then_some(correlation)
}

/// The rank of each number; equal ones share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0;
    for equal in order.chunk_by(|a, b| values[*a].total_cmp(&values[*b]).is_eq()) {
        let rank = below as f64 + (equal.len() as f64 - 1.0) / 2.0;
        equal.iter().for_each(|record| ranks[*record] = rank);
        below += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests;
