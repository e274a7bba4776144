use super::*;

#[test]
fn projecting_sums_the_other_axes_out() {
    let (outer, inner) = (Clique::new([0, 1, 2]), Clique::new([0, 2]));
    let walk = Projection::between(&outer, &[2, 3, 2], &inner);
    let large: Vec<f64> = (0..12).map(f64::from).collect();
    let mut small = vec![0.0; 4];
    walk.add_into(&large, &mut small);
    assert_eq!(small, [0.0 + 2.0 + 4.0, 1.0 + 3.0 + 5.0, 6.0 + 8.0 + 10.0, 7.0 + 9.0 + 11.0]);
}

#[test]
fn neighboring_axes_are_fused() {
    let outer = Clique::new([0, 1, 2]);
    let walk = Projection::between(&outer, &[2, 3, 2], &Clique::new([1, 2]));
    assert_eq!(walk.extents, [2, 6]);
    let walk = Projection::between(&outer, &[2, 3, 2], &Clique::new([0]));
    assert_eq!(walk.extents, [2, 6]);
    assert_eq!(walk.strides, [1, 0]);
}
