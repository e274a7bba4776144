use super::*;

fn network() -> Network<f64> {
    let shape = Shape { latents: 4, hidden: vec![5, 3], components: 9 };
    Network::new(shape, vec![0..2, 2..5], 3)
}

#[test]
fn probabilities_sum_to_one_and_repeat() {
    let network = network();
    for component in network.probabilities.columns() {
        for range in [0..2, 2..5] {
            let sum: f64 = range.map(|value| component[value]).sum();
            assert!((sum - 1.0).abs() < 1e-12);
        }
    }
    let mut again = self::network();
    again.draw_latents(8);
    again.forward();
    assert_ne!(again.probabilities, network.probabilities);
    again.draw_latents(3);
    again.forward();
    assert_eq!(again.probabilities, network.probabilities);
}

#[test]
fn gradients_are_differences() {
    let mut network = network();
    let weights = Array2::from_shape_fn((5, 9), |(v, b)| ((7 * v + 3 * b) as f64).sin());
    let value = |network: &mut Network<f64>| {
        network.forward();
        (&network.probabilities * &weights).sum()
    };
    value(&mut network);
    let gradient = network.backward(weights.clone());
    for (matrix, slopes) in gradient.iter().enumerate() {
        for (at, slope) in slopes.indexed_iter() {
            let mut moved = |by: f64| {
                network.parameters[matrix][at] += by;
                let value = value(&mut network);
                network.parameters[matrix][at] -= by;
                value
            };
            let difference = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            let error = (difference - slope).abs();
            assert!(error < 1e-6 * slope.abs().max(1e-2), "{matrix} {at:?}: {difference} {slope}");
        }
    }
}

#[test]
fn a_cleared_attribute_is_uniform_and_stays_so_without_slopes() {
    let mut network = network();
    network.clear(&[1]);
    let uniform = |network: &Network<f64>| {
        network
            .probabilities
            .slice_axis(Axis(0), Slice::from(2..5))
            .iter()
            .all(|p| (*p - 1.0 / 3.0).abs() < 1e-15)
    };
    assert!(uniform(&network));
    let mut slopes = Array2::zeros((5, 9));
    slopes[(0, 4)] = 1.0;
    let gradient = network.backward(slopes);
    for (parameters, slopes) in network.parameters.iter_mut().zip(&gradient) {
        *parameters -= slopes;
    }
    network.forward();
    assert!(uniform(&network));
}
