use super::*;
use crate::observe::Unstoppable;
use crate::posterior::log_linear::tests::example;

#[test]
fn the_gradient_is_that_of_the_density() {
    let (_, observed, model) = example(3.0);
    let chains = Chains::start(&model, &observed, 200.0, &Unstoppable).unwrap();
    let theta: Vec<f64> = (0..observed.size).map(|i| 0.2 * (i as f64).cos()).collect();
    let gradient = chains.by_theta(&theta).1;
    for i in 0..observed.size {
        let step = 1e-5;
        let moved = |by: f64| {
            let mut theta = theta.clone();
            theta[i] += by;
            chains.by_theta(&theta).0
        };
        let slope = (moved(step) - moved(-step)) / (2.0 * step);
        assert!((gradient[i] - slope).abs() < 1e-4 * (1.0 + slope.abs()), "{i}");
    }
    // By z as by θ: the directional derivative is the same.
    let z: Vec<f64> = (0..observed.size).map(|i| 0.1 * i as f64).collect();
    let place = chains.place(z.clone());
    let moved = |by: f64| chains.place(z.iter().map(|z| z + by).collect()).log_density;
    let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
    assert!((place.gradient.iter().sum::<f64>() - slope).abs() < 1e-4 * (1.0 + slope.abs()));
}

/// With much data the posterior is normal: around what was measured, as wide as noise and sampling.
#[test]
fn draws_are_as_wide_as_noise_and_sampling() {
    for stddev in [0.5, 8.0] {
        let (_, observed, model) = example(stddev);
        let chains = Chains::start(&model, &observed, 200.0, &Unstoppable).unwrap();
        let draws = chains.draw(400, 1, &Unstoppable).unwrap().expect("chains that agree");
        assert_eq!(draws.len(), 400);
        let mut moments = Moments::default();
        for theta in &draws {
            let means = model.means(&model.distribution(theta));
            moments.add(&means.iter().map(|m| 200.0 * m).collect::<Vec<f64>>());
        }
        let p = model.distribution(&chains.mode);
        let spread = model.covariance(&p, &model.means(&p)) * 200.0;
        for part in &observed.parts {
            for i in part.range.clone() {
                let expected = spread[[i, i]] + part.variance;
                let variance = moments.squares[i] / (moments.count - 1.0);
                // The prior and bounds make it narrower, by less where the noise is small.
                let ratio = variance / expected;
                assert!((0.4..1.35).contains(&ratio), "{stddev}, {i}: {ratio}");
                let away = (moments.mean[i] - observed.values[i]).abs();
                assert!(away < 0.5 * expected.sqrt() + 1.0, "{stddev}, {i}: {away}");
            }
        }
    }
}

#[test]
fn an_interruption_ends_the_chains() {
    struct Stop;
    impl Checks for Stop {
        fn check(&self) -> jointly_pgm::Result<()> {
            Err(jointly_pgm::Error::Interrupted)
        }
    }
    let (_, observed, model) = example(3.0);
    assert!(Chains::start(&model, &observed, 200.0, &Stop).is_err());
    let chains = Chains::start(&model, &observed, 200.0, &Unstoppable).unwrap();
    assert!(chains.draw(4, 1, &Stop).is_err());
}
