//! Least squares on a tree of dyadic sums, and the exact variance of every running sum of its leaves.

/// Noisy counts of all blocks of `2^k` leaves, k the level's place.
pub(super) struct Level {
    /// A count for each block; the last block may be short.
    pub(super) values: Vec<f64>,
    /// The variance of each count; 0 where it is known.
    pub(super) variance: f64,
}

/// The least squares fit to all levels.
pub(super) struct Fit {
    /// The count of every leaf; they agree with one another at all levels.
    pub(super) leaves: Vec<f64>,
    /// The variance of the sum of the leaves up to and including each.
    pub(super) prefix_variances: Vec<f64>,
}

/// An unbiased number.
#[derive(Clone, Copy)]
struct Estimate {
    value: f64,
    variance: f64,
}

/// Fits counts of leaves to the noisy counts of all levels, from leaves to root, by weighted least squares, in one sweep up
/// and one down (Hay, Rastogi, Miklau & Suciu 2010, section 4.2, here for any variances and any number of leaves).
///
/// Up: `z_v` = mean of a node's own count and its children's sum, weights 1/variance. Down: what a node's value has more
/// than its children's `z` goes to them in proportion to their variances, halves where they are equal.
///
/// Only the last level may have variance 0, and it has one node.
pub(super) fn least_squares(levels: &[Level]) -> Fit {
    let ups = upward(levels);
    let mut values: Vec<f64> =
        ups.last().map_or(Vec::new(), |root| root.iter().map(|z| z.value).collect());
    for children in ups.iter().rev().skip(1) {
        let pairs = children.chunks(2).zip(&values);
        values = pairs.flat_map(|(pair, value)| divided(pair, *value)).collect();
    }
    let prefix_variances = prefix_variances(&ups);
    Fit { leaves: values, prefix_variances }
}

/// For every node, the best estimate from the counts in its own subtree.
fn upward(levels: &[Level]) -> Vec<Vec<Estimate>> {
    let mut ups: Vec<Vec<Estimate>> = Vec::with_capacity(levels.len());
    for level in levels {
        let variance = level.variance;
        let own = level.values.iter().map(|value| Estimate { value: *value, variance });
        let level = match ups.last() {
            None => own.collect(),
            Some(children) => {
                own.zip(children.chunks(2)).map(|(own, pair)| own.and(sum(pair))).collect()
            }
        };
        ups.push(level);
    }
    ups
}

impl Estimate {
    /// The mean of two independent estimates of one number, weights 1/variance.
    fn and(self, other: Self) -> Self {
        let both = self.variance + other.variance;
        Self {
            value: (self.value * other.variance + other.value * self.variance) / both,
            variance: self.variance * other.variance / both,
        }
    }
}

fn sum(pair: &[Estimate]) -> Estimate {
    let add = |a: Estimate, b: &Estimate| Estimate {
        value: a.value + b.value,
        variance: a.variance + b.variance,
    };
    pair.iter().fold(Estimate { value: 0.0, variance: 0.0 }, add)
}

/// The children's values, given the node's.
fn divided(pair: &[Estimate], value: f64) -> impl Iterator<Item = f64> {
    let children = sum(pair);
    let rest = value - children.value;
    pair.iter().map(move |child| child.value + rest * child.variance / children.variance)
}

/// The variance of the fitted sum of the leaves up to each.
///
/// Given the value x of a node, the sum of its leaves up to j is `a_j x + const + e_j` with `Var e_j = r_j`, where `e_j`
/// depends on the counts below the node only. For a leaf a = 1 and r = 0. Let the children have values l and x − l. From what was
/// counted below them alone, `Var(l | x) = c = V_l V_r / (V_l + V_r)`, and l rises by `g = V_l / (V_l + V_r)` with x. So
///
/// ```text
/// j in the left child:   a ← a g,                    r ← r + a² c
/// j in the right child:  a ← 1 − (1 − a)(1 − g),     r ← r + (1 − a)² c
/// ```
///
/// and at the root, `Var = r + a² V_root`.
fn prefix_variances(ups: &[Vec<Estimate>]) -> Vec<f64> {
    let leaves = ups.first().map_or(0, Vec::len);
    let mut slopes = vec![(1.0, 0.0); leaves];
    for (level, children) in ups.iter().enumerate().take(ups.len().saturating_sub(1)) {
        for (node, slopes) in slopes.chunks_mut(2 << level).enumerate() {
            let &[left, right] = &children[2 * node..children.len().min(2 * node + 2)] else {
                continue; // an only child has its parent's value
            };
            let both = left.variance + right.variance;
            let (share, shared) = (left.variance / both, left.variance * right.variance / both);
            for (place, (a, r)) in slopes.iter_mut().enumerate() {
                if place < 1 << level {
                    *r += *a * *a * shared;
                    *a *= share;
                } else {
                    *r += (1.0 - *a) * (1.0 - *a) * shared;
                    *a = 1.0 - (1.0 - *a) * (1.0 - share);
                }
            }
        }
    }
    let root = ups.last().and_then(|root| root.first()).map_or(0.0, |root| root.variance);
    slopes.into_iter().map(|(a, r)| r + a * a * root).collect()
}

/// The non-decreasing numbers closest to `values` in squared distance (pool adjacent violators).
pub(super) fn isotonic(values: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::with_capacity(values.len());
    for value in values {
        let (mut mean, mut size) = (*value, 1);
        while let Some((before, others)) = pools.pop_if(|(before, _)| *before >= mean) {
            mean = (mean * size as f64 + before * others as f64) / (size + others) as f64;
            size += others;
        }
        pools.push((mean, size));
    }
    pools.into_iter().flat_map(|(mean, size)| std::iter::repeat_n(mean, size)).collect()
}

#[cfg(test)]
mod tests;
