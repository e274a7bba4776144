use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand_distr::{Distribution, Normal};

use super::*;
use crate::domain::Bins;
use crate::paid_bins::tree::fitted;

/// Noisy counts of numbers from 0 to 100, most of them below 20, with missing values.
fn median(sigma: f64, rng: &mut ChaCha20Rng) -> Median {
    let grid = Grid::new(&Bins::new(vec![0.0, 100.0], Some(true), "x").unwrap());
    let noise = Normal::new(0.0, sigma).unwrap();
    let count = |x: usize| if x < 20 { 40.0 } else { 2.5 };
    let noisy = |x: usize| count(x) + noise.sample(rng);
    let blocks = (0..grid.padded()).map(noisy).collect();
    let levels = [Level::of(1, blocks, 30.0, sigma * sigma)];
    let leaves = fitted(&levels, 1030.0);
    Median::new(&grid, &levels, &leaves).unwrap()
}

#[test]
fn the_interval_holds_the_median_as_often_as_it_says() {
    // 800 numbers below 20 and 200 from there on: the median is 12.
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let holds = |found: &Median| found.low <= 12.0 && 12.0 < found.high;
    for sigma in [2.0, 10.0, 40.0] {
        let found: Vec<Median> = (0..2000).map(|_| median(sigma, &mut rng)).collect();
        let share = found.iter().filter(|found| holds(found)).count() as f64 / 2000.0;
        assert!(share > 0.94, "{share} at {sigma}");
    }
}

#[test]
fn noise_that_drowns_the_numbers_is_said() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let (clear, drowned) = (median(0.5, &mut rng), median(60.0, &mut rng));
    assert!(!clear.is_drowned() && !clear.text().contains("drowns"), "{clear:?}");
    assert!(clear.text().starts_with("median 12, and from 1"), "{}", clear.text());
    assert!(drowned.is_drowned() && drowned.text().contains("noise drowns where the numbers lie"));
}

#[test]
fn a_table_without_records_has_a_text_too() {
    let grid = Grid::new(&Bins::new(vec![0.0, 100.0], Some(true), "x").unwrap());
    let levels = [Level::of(1, vec![0.0; grid.padded()], 0.0, 4.0)];
    let found = Median::new(&grid, &levels, &[]).unwrap();
    assert_eq!(found.text().matches("noise drowns").count(), 1, "{found:?}");
    assert_eq!(Median::new(&grid, &[], &[]), None);
}
