//! Row-major layouts, and walks over a table alongside one of its projections.

use std::ops::Add;

use crate::domain::Clique;

/// Row-major strides of a shape, in cells.
pub fn row_major_strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    strides
}

/// Strides, in the row-major table over `inner`, of each attribute of `axes`; 0 for attributes not in `inner`.
///
/// `shape` holds the cardinalities of `inner`'s attributes.
pub fn strides_within(axes: &[usize], inner: &Clique, shape: &[usize]) -> Vec<usize> {
    let strides = row_major_strides(shape);
    axes.iter()
        .map(|a| inner.attributes().binary_search(a).map_or(0, |position| strides[position]))
        .collect()
}

/// A walk over the cells of a large table, each with the index of the cell it projects to in a smaller table.
///
/// Built once for a pair of layouts. Neighboring axes along which both layouts continue in the same way are fused, so
/// the inner run is as long as possible.
#[derive(Clone, Debug)]
pub struct Projection {
    /// Extents, outermost first; the last is the run length.
    extents: Vec<usize>,
    /// Strides in the smaller table.
    strides: Vec<usize>,
}

impl Projection {
    /// The walk over a row-major table of this shape, with the smaller table's stride for each axis (0: summed out).
    pub fn new(shape: &[usize], strides: &[usize]) -> Self {
        let mut extents: Vec<usize> = Vec::new();
        let mut fused: Vec<usize> = Vec::new();
        for (&extent, &stride) in shape.iter().zip(strides) {
            if extent == 1 {
                continue;
            }
            match (extents.last_mut(), fused.last_mut()) {
                // The outer axis's stride is exactly one run of this axis: one longer axis.
                (Some(outer), Some(outer_stride)) if *outer_stride == stride * extent => {
                    *outer *= extent;
                    *outer_stride = stride;
                }
                _ => {
                    extents.push(extent);
                    fused.push(stride);
                }
            }
        }
        if extents.is_empty() {
            extents.push(1);
            fused.push(0);
        }
        Self { extents, strides: fused }
    }

    /// The walk from the table over `outer` to the one over `inner` (a subset), both row-major.
    pub fn between(outer: &Clique, outer_shape: &[usize], inner: &Clique) -> Self {
        let inner_shape: Vec<usize> = outer
            .iter()
            .zip(outer_shape)
            .filter(|(a, _)| inner.contains(*a))
            .map(|(_, k)| *k)
            .collect();
        Self::new(outer_shape, &strides_within(outer.attributes(), inner, &inner_shape))
    }

    /// Calls `run(start in the large table, start in the small one, length, stride in the small one)`.
    #[inline]
    fn for_each_run(&self, mut run: impl FnMut(usize, usize, usize, usize)) {
        let last = self.extents.len() - 1;
        let (length, stride) = (self.extents[last], self.strides[last]);
        if let ([rows, _], [row_stride, _]) = (&self.extents[..], &self.strides[..]) {
            for row in 0..*rows {
                run(row * length, row * row_stride, length, stride);
            }
            return;
        }
        let runs: usize = self.extents[..last].iter().product();
        let (mut few, mut many) = ([0_usize; 8], Vec::new());
        let counter = if let Some(few) = few.get_mut(..last) {
            few
        } else {
            many.resize(last, 0_usize);
            &mut many[..]
        };
        let mut small = 0_usize;
        for r in 0..runs {
            run(r * length, small, length, stride);
            for axis in (0..last).rev() {
                counter[axis] += 1;
                small += self.strides[axis];
                if counter[axis] < self.extents[axis] {
                    break;
                }
                small -= self.strides[axis] * self.extents[axis];
                counter[axis] = 0;
            }
        }
    }

    /// `small[projection of c] += large[c]` for every cell.
    pub fn add_into<T: Copy + Add<Output = T>>(&self, large: &[T], small: &mut [T]) {
        self.fold_into(large, small, |a, b| a + b);
    }

    /// `small[projection of c] = plus(small[projection of c], large[c])` for every cell; `plus` is associative and
    /// commutative up to rounding.
    #[inline]
    pub fn fold_into<T: Copy>(
        &self,
        large: &[T],
        small: &mut [T],
        plus: impl Fn(T, T) -> T + Copy,
    ) {
        self.for_each_run(|start, target, length, stride| {
            let cells = &large[start..start + length];
            match stride {
                0 => small[target] = fold_run(small[target], cells, plus),
                1 => {
                    for (s, x) in small[target..target + length].iter_mut().zip(cells) {
                        *s = plus(*s, *x);
                    }
                }
                _ => {
                    for (s, x) in small[target..].iter_mut().step_by(stride).zip(cells) {
                        *s = plus(*s, *x);
                    }
                }
            }
        });
    }

    /// `combine(large[c], small[projection of c])` for every cell.
    #[inline]
    pub fn zip_from<T: Copy>(&self, small: &[T], large: &mut [T], combine: impl Fn(&mut T, T)) {
        self.for_each_run(|start, source, length, stride| {
            let cells = &mut large[start..start + length];
            match stride {
                0 => {
                    let value = small[source];
                    cells.iter_mut().for_each(|x| combine(x, value));
                }
                1 => {
                    for (x, s) in cells.iter_mut().zip(&small[source..source + length]) {
                        combine(x, *s);
                    }
                }
                _ => {
                    for (x, s) in cells.iter_mut().zip(small[source..].iter().step_by(stride)) {
                        combine(x, *s);
                    }
                }
            }
        });
    }
}

/// Folds a run into `first`, long runs in eight interleaved parts so that additions need not wait for each other.
#[inline]
pub(crate) fn fold_run<T: Copy>(first: T, run: &[T], plus: impl Fn(T, T) -> T) -> T {
    let (chunks, rest) = run.as_chunks::<8>();
    let mut sum = first;
    if let Some((head, chunks)) = chunks.split_first() {
        let mut parts = *head;
        for chunk in chunks {
            for (p, x) in parts.iter_mut().zip(chunk) {
                *p = plus(*p, *x);
            }
        }
        let [a, b, c, d, e, f, g, h] = parts;
        sum = plus(sum, plus(plus(plus(a, e), plus(c, g)), plus(plus(b, f), plus(d, h))));
    }
    rest.iter().fold(sum, |s, x| plus(s, *x))
}

#[cfg(test)]
mod tests;
