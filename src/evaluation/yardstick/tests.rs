use super::*;
use crate::data::Dataset;
use crate::domain::Domain;

fn people(records: u32) -> Dataset {
    let domain = Domain::new([("a", 4), ("b", 5), ("c", 6)]).unwrap();
    let rows = (0..records).map(|i| {
        let mixed = i.wrapping_mul(2_654_435_761) >> 7;
        [mixed % 4, mixed / 4 % 5, (mixed / 20 + i % 2) % 6]
    });
    Dataset::from_rows(domain, &rows.collect::<Vec<_>>()).unwrap()
}

#[test]
fn a_sample_has_about_its_own_share() {
    let real = people(8000);
    let workload = Workload::all_k_way(real.domain(), 2).unwrap();
    let mut positions: Vec<u32> = (0..8000).collect();
    positions.shuffle(&mut ChaCha20Rng::seed_from_u64(7));
    for size in [6400, 4000, 1600, 240, 40] {
        let share = size as f64 / 8000.0;
        let sample = real.take(&positions[..size]);
        let found = Yardstick::of((&real).into(), (&sample).into(), &workload).unwrap().unwrap();
        let fraction = found.fraction.unwrap();
        assert!((fraction / share).ln().abs() < 0.7, "{fraction} for a sample of {share}");
    }
    // With weights: those of the records that are drawn.
    let weights: Vec<f64> = (0..8000).map(|i| f64::from(1 + i % 3)).collect();
    let of = |records, weights| Weighted { records, weights: Some(weights) };
    let own: Vec<f64> = positions[..800].iter().map(|at| weights[*at as usize]).collect();
    let sample = real.take(&positions[..800]);
    let found = Yardstick::of(of(&real, &weights), of(&sample, &own), &workload).unwrap().unwrap();
    assert!((found.fraction.unwrap() / 0.1).ln().abs() < 0.7, "{found:?}");
}

#[test]
fn the_extremes_are_said() {
    let real = people(400);
    let workload = Workload::all_k_way(real.domain(), 2).unwrap();
    let elsewhere = Dataset::from_rows(real.domain().clone(), &[[0, 0, 0]; 50]).unwrap();
    let found = Yardstick::of((&real).into(), (&elsewhere).into(), &workload).unwrap().unwrap();
    assert_eq!(found.fraction, None);
    let same = Yardstick::of((&real).into(), (&real).into(), &workload).unwrap().unwrap();
    assert_eq!(same.fraction, Some(1.0));
    let few = people(19);
    assert_eq!(Yardstick::of((&few).into(), (&few).into(), &workload).unwrap(), None);
}

#[test]
fn between_samples_the_error_is_a_power_of_the_share() {
    let samples = [(0.5, 0.1), (0.25, 0.2), (0.125, 0.4)];
    let near = |error: f64, expected: f64| {
        let found = fraction(error, &samples).unwrap();
        assert!((found - expected).abs() < 1e-12, "{found}, expected {expected}");
    };
    near(0.2, 0.25);
    near(0.1 * 2.0_f64.sqrt(), 0.5 / 2.0_f64.sqrt());
    near(0.1, 0.5);
    near(0.05, 0.8);
    near(0.0, 1.0);
    assert_eq!(fraction(0.5, &samples), None);
}
