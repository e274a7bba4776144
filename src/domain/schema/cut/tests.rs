//! Shares and parts of bins, by hand.

use super::*;

fn range(from: f64, below: f64) -> NumberRange {
    NumberRange { from, below }
}

fn ages() -> Bins {
    let piece = |from, below, rows| Piece { from, below, rows, step: None };
    let bins = Bins::new(vec![0.0, 10.0, 20.0, 30.0], Some(true), "age").unwrap();
    bins.with_pieces(vec![piece(10.0, 16.0, 30), piece(18.0, 18.0, 10)], "age").unwrap()
}

#[test]
fn a_share_of_a_bin_is_that_of_its_pieces() {
    let share = |bin, from, below| ages().share_within(bin, &[range(from, below)]);
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}");
    // Even, without pieces.
    near(share(0, 4.0, 7.0), 0.3);
    near(share(0, -5.0, 3.5), 0.4);
    // 10 to 15 with 5 rows each, and 18 with 10.
    near(share(1, 12.0, 16.0), 0.5);
    near(share(1, 15.0, 19.0), 15.0 / 40.0);
    near(share(1, 16.0, 18.0), 0.0);
    near(share(1, 10.0, 20.0), 1.0);
    near(share(2, 0.0, 30.0), 1.0);
    near(share(2, 0.0, 20.0), 0.0);
    let both = NumberRange::joined(vec![range(18.0, 19.0), range(10.0, 11.0), range(11.0, 12.0)]);
    assert_eq!(both, [range(10.0, 12.0), range(18.0, 19.0)]);
    near(ages().share_within(1, &both), 0.5);
}

#[test]
fn real_numbers_and_steps_have_shares_too() {
    let bins = Bins::new(vec![0.0, 1.0, 2.5], Some(false), "pay").unwrap();
    let of = |bin, from, below| bins.share_within(bin, &[range(from, below)]);
    assert!((of(1, 1.5, 9.0) - 2.0 / 3.0).abs() < 1e-12);
    assert!((of(0, 0.25, 0.5) - 0.25).abs() < 1e-12);
    let piece = Piece { from: 0.0, below: 1.0, rows: 7, step: Some(0.25) };
    let stepped = bins.with_pieces(vec![piece], "pay").unwrap();
    // 0, 0.25, 0.5, 0.75.
    assert!((stepped.share_within(0, &[range(0.3, 0.6)]) - 0.25).abs() < 1e-12);
    assert!(stepped.share_within(0, &[range(0.5, 0.5_f64.next_up())]) > 0.0);
}

#[test]
fn narrowed_bins_have_the_pieces_inside() {
    let narrow = ages().narrowed(&[range(14.0, 25.0)]);
    let ends: Vec<(f64, f64)> = narrow.pieces().iter().map(|p| (p.from, p.below)).collect();
    // The first bin is as it was; of the third, 20 to 24.
    assert_eq!(ends, [(14.0, 16.0), (18.0, 18.0), (20.0, 25.0)]);
    let rows: Vec<u32> = narrow.pieces_of(1).iter().map(|piece| piece.rows).collect();
    assert_eq!(rows, [100_000, 100_000], "10 rows each");
    assert!((narrow.share_within(1, &[range(14.0, 25.0)]) - 1.0).abs() < 1e-12);
}

#[test]
fn bins_are_cut_with_their_pieces() {
    let cut = ages().cut_at(&[12.0, 17.5, -3.0, 30.0, 99.0, 20.0]);
    assert_eq!(cut.edges(), [0.0, 10.0, 12.0, 18.0, 20.0, 30.0]);
    let pieces: Vec<(f64, f64, u32)> =
        cut.pieces().iter().map(|p| (p.from, p.below, p.rows)).collect();
    assert_eq!(pieces, [(10.0, 12.0, 10), (12.0, 16.0, 20), (18.0, 18.0, 10)]);
    // What the checks of a schema accept.
    let again = Bins::new(cut.edges().to_vec(), Some(true), "age").unwrap();
    assert_eq!(again.with_pieces(cut.pieces().to_vec(), "age").unwrap(), cut);
    // Edges between whole numbers: no bin without one.
    let halves = Bins::new(vec![-0.5, 0.5, 9.5], None, "kids").unwrap();
    assert_eq!(halves.cut_at(&[0.0, 1.0]).edges(), [-0.5, 0.5, 9.5]);
    assert_eq!(halves.cut_at(&[4.0]).edges(), [-0.5, 0.5, 4.0, 9.5]);
}
