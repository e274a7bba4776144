use super::*;

fn bins(edges: &[f64]) -> Bins {
    Bins::new(edges.to_vec(), None, "column").unwrap()
}

#[test]
fn bins_are_closed_on_the_left_and_open_on_the_right() {
    let bins = bins(&[0.0, 5.0, 10.0]);
    assert_eq!(bins.find(0.0), Some(0));
    assert_eq!(bins.find(4.999), Some(0));
    assert_eq!(bins.find(5.0), Some(1));
    assert_eq!(bins.find(10.0), None);
    assert_eq!(bins.find(-0.1), None);
    assert_eq!(bins.find(f64::NAN), None);
}

#[test]
fn whole_numbers_are_seen_from_whole_and_half_edges() {
    assert!(bins(&[-1e7, -0.5, 0.5, 2500.0, 1e7]).is_integer());
    assert!(!bins(&[0.0, 0.25, 1.0]).is_integer());
    assert!(!bins(&[-0.5, 0.0, 1.0]).is_integer(), "no whole number in [-0.5, 0)");
    assert!(Bins::new(vec![0.1, 0.2], Some(true), "c").is_err());
}

#[test]
fn open_ended_outer_bins_are_cut_and_the_others_are_not() {
    let income = bins(&[-1e7, -0.5, 0.5, 2500.0, 5000.0, 7500.0, 1e7]);
    assert_eq!(income.plausible(0), (-2500.5, -0.5));
    assert_eq!(income.plausible(1), (-0.5, 0.5));
    assert_eq!(income.plausible(5), (7500.0, 10000.0));
    assert_eq!(bins(&[1.0, 10.0, 15.0, 20.0]).plausible(0), (1.0, 10.0));
}

#[test]
fn values_outside_are_refused_or_count_in_the_outer_bins() {
    let refused = bins(&[0.0, 5.0, 10.0]);
    assert_eq!((refused.code(-1.0), refused.code(7.0), refused.code(10.0)), (None, Some(1), None));
    let clamped = refused.with_outside(Outside::Clamp);
    assert_eq!(
        (clamped.code(-1.0), clamped.code(7.0), clamped.code(1e9)),
        (Some(0), Some(1), Some(1))
    );
    assert_eq!(clamped.code(f64::NAN), None);
    assert_eq!(clamped.find(10.0), None);
}

#[test]
fn pieces_lie_in_bins_in_order() {
    let value = |value: f64| Piece { from: value, below: value, rows: 2, step: None };
    let range = |from: f64, below: f64| Piece { from, below, rows: 2, step: None };
    let with = |pieces: &[Piece]| bins(&[0.0, 5.0, 10.0]).with_pieces(pieces.to_vec(), "c");
    let good =
        with(&[value(0.0), range(1.0, 4.0), value(4.0), value(5.0), range(6.0, 10.0)]).unwrap();
    assert_eq!(good.pieces_of(0).len(), 3);
    assert_eq!(good.pieces_of(1), [value(5.0), range(6.0, 10.0)]);
    assert!(good.pieces_of(2).is_empty() && good.pieces_of(u32::MAX).is_empty());
    for wrong in [
        vec![range(1.0, 6.0)],
        vec![value(10.0)],
        vec![value(-1.0)],
        vec![range(2.0, 1.0)],
        vec![value(2.0), value(1.0)],
        vec![range(1.0, 4.0), value(3.0)],
        vec![value(1.5)],
        vec![value(f64::NAN)],
        vec![Piece { step: Some(0.5), ..range(1.0, 4.0) }],
        vec![Piece { step: Some(0.0), ..range(1.0, 4.0) }],
    ] {
        assert!(with(&wrong).is_err(), "{wrong:?}");
    }
}
