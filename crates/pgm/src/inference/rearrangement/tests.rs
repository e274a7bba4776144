use super::*;

/// The same by the definition: cell by cell of the source.
fn by_cells(
    shape: &[usize],
    strides: &[usize],
    summed: &[(usize, usize)],
    source: &[f64],
) -> Vec<f64> {
    let cells: usize = shape.iter().product();
    let at = |mut index: usize, extents: &[usize], strides: &[usize]| {
        extents.iter().zip(strides).rev().fold(0, |at, (extent, stride)| {
            let setting = index % extent;
            index /= extent;
            at + setting * stride
        })
    };
    let (extents, beside): (Vec<usize>, Vec<usize>) = summed.iter().copied().unzip();
    let terms: usize = extents.iter().product();
    let sum = |cell: usize| {
        (0..terms).map(|t| source[at(cell, shape, strides) + at(t, &extents, &beside)]).sum()
    };
    (0..cells).map(sum).collect()
}

/// Numbers whose sums are exact.
fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|i| f64::from(u32::try_from(i * 7919 % 1013).unwrap())).collect()
}

#[track_caller]
fn check(shape: &[usize], strides: &[usize], summed: &[(usize, usize)]) {
    let farthest: usize = shape
        .iter()
        .zip(strides)
        .map(|(extent, stride)| (extent - 1) * stride)
        .chain(summed.iter().map(|(extent, stride)| (extent - 1) * stride))
        .sum();
    let source = numbers(farthest + 1);
    let walk = Rearrangement::new(shape, strides, summed);
    let mut target = vec![f64::NAN; shape.iter().product()];
    walk.run(&source, &mut target, 0.0, |a, b| a + b);
    assert_eq!(
        target,
        by_cells(shape, strides, summed, &source),
        "{shape:?} {strides:?} {summed:?}"
    );
}

#[test]
fn all_orders_of_four_axes() {
    let extents = [3, 9, 2, 17];
    let mut orders = vec![vec![]];
    for axis in 0..4_usize {
        orders = orders
            .into_iter()
            .flat_map(|order: Vec<usize>| {
                (0..=order.len()).map(move |place| {
                    let mut order = order.clone();
                    order.insert(place, axis);
                    order
                })
            })
            .collect();
    }
    assert_eq!(orders.len(), 24);
    for order in orders {
        let mut strides = [0; 4];
        let mut stride = 1;
        for axis in order.iter().rev() {
            strides[*axis] = stride;
            stride *= extents[*axis];
        }
        check(&extents, &strides, &[]);
        // The same where the source lacks an axis, or has one more than the target.
        for axis in 0..4 {
            let mut without = strides;
            without[axis] = 0;
            check(&extents, &without, &[]);
            let kept: Vec<usize> = (0..4).filter(|a| *a != axis).collect();
            let shape: Vec<usize> = kept.iter().map(|a| extents[*a]).collect();
            let left: Vec<usize> = kept.iter().map(|a| strides[*a]).collect();
            check(&shape, &left, &[(extents[axis], strides[axis])]);
        }
        check(&extents[..2], &strides[..2], &[(2, strides[2]), (17, strides[3])]);
    }
}

#[test]
fn one_cell_and_none_of_the_axes() {
    check(&[], &[], &[]);
    check(&[1, 1], &[0, 0], &[]);
    check(&[], &[], &[(5, 1)]);
    check(&[], &[], &[(5, 3), (3, 1)]);
}

#[test]
fn large_tables_are_written_in_pieces() {
    // Near rows along the first axis, along another, and none.
    check(&[70, 40, 50], &[1, 3500, 70], &[]);
    check(&[7, 100, 200], &[20_000, 1, 100], &[]);
    check(&[3, 200, 200], &[1, 0, 3], &[]);
    check(&[300, 300], &[2, 600], &[(2, 1)]);
    check(&[300, 300], &[1, 900], &[(3, 300)]);
}

#[test]
fn rows_are_parts_of_axes_of_any_length() {
    for long in [2, 21, 22, 32, 33, 63, 64, 65, 127, 129, 193, 1013] {
        for width in [1, 2, 3, 7, 8, 9] {
            // The target's order is (3, long, 5, width), the source's (5, long, 3, width).
            check(&[3, long, 5, width], &[width, 3 * width, 3 * long * width, 1], &[]);
            // The source lacks the long axis, or the one beside it, or has an axis more, which is summed.
            check(&[3, long, 5, width], &[width, 0, 3 * width, 1], &[]);
            check(&[3, long, 5, width], &[width, 3 * width, 0, 1], &[]);
            let beside = 15 * long * width;
            check(&[3, long, 5, width], &[width, 3 * width, 3 * long * width, 1], &[(2, beside)]);
            // A sum over what is contiguous.
            check(&[long, 3], &[width, long * width], &[(width, 1)]);
            check(&[long, 3], &[width, long * width], &[(2, 3 * long * width), (width, 1)]);
        }
    }
}
