//! Unit tests of `src/domain/schema/numeric.rs`.

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
