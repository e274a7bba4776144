use super::*;

#[test]
fn shares_by_groups_make_the_noise_of_all_levels_together_least() {
    let groups = [1, 8, 300];
    for (noise, power) in [(NoiseForm::Gaussian, 0.5), (NoiseForm::Laplace, 1.0)] {
        let total = |shares: &[f64]| -> f64 {
            let sum: f64 = shares.iter().sum();
            let of = |(g, share): (&u64, &f64)| *g as f64 / (share / sum).powf(power);
            groups.iter().zip(shares).map(of).sum()
        };
        let best = LevelShares::ByGroups.weights(noise, &groups).unwrap();
        for level in 0..3 {
            for change in [0.8, 0.99, 1.01, 1.25] {
                let mut other = best.clone();
                other[level] *= change;
                assert!(total(&other) > total(&best), "{noise:?} {level} {change}");
            }
        }
        assert!(total(&[1.0; 3]) > 1.1 * total(&best));
    }
}

#[test]
fn given_shares_are_one_for_each_level_and_above_0() {
    let weights =
        |shares: &[f64]| LevelShares::Given(shares.to_vec()).weights(NoiseForm::Gaussian, &[1, 95]);
    assert_eq!(weights(&[12.0, 88.0]).unwrap(), [12.0, 88.0]);
    for wrong in [&[1.0][..], &[1.0; 3], &[0.0, 1.0], &[-1.0, 2.0], &[f64::NAN, 1.0]] {
        assert!(weights(wrong).is_err(), "{wrong:?}");
    }
    let equal = LevelShares::Equal.weights(NoiseForm::Laplace, &[1, 95]).unwrap();
    assert_eq!(equal, [1.0, 1.0]);
}
