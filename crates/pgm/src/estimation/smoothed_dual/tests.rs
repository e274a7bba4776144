use super::*;
use crate::domain::Domain;
use crate::estimation::Weighting;
use crate::measurement::{Measurement, Provenance};

/// Overlapping cliques that disagree, one of them part of another.
fn problem() -> (BeliefPropagation, SquaredLoss) {
    let domain = Domain::new([("a", 3), ("b", 2), ("c", 4)]).unwrap();
    let cliques: [&[usize]; 4] = [&[0, 1], &[1, 2], &[0, 2], &[2]];
    let measurements: Vec<Measurement> = cliques
        .iter()
        .map(|clique| {
            let clique = Clique::new(clique.iter().copied());
            let cells = u32::try_from(domain.cells(&clique).unwrap()).unwrap();
            let value = |i: u32| 100.0 / f64::from(cells) + 9.0 * f64::from(i * i * 7 % 5) - 18.0;
            let values = (0..cells).map(value).collect();
            let provenance = Provenance::Private;
            Measurement { clique, cell: None, values, stddev: 3.0, provenance }
        })
        .collect();
    let loss = SquaredLoss::new(&domain, &measurements, Weighting::InverseVariance).unwrap();
    (BeliefPropagation::new(&domain, loss.layout()), loss)
}

fn start(cells: usize) -> Vec<f64> {
    (0..u32::try_from(cells).unwrap()).map(|i| f64::from(i * i % 11) - 5.0).collect()
}

#[test]
fn the_gradient_is_the_slope_of_the_value() {
    let (oracle, loss) = problem();
    let g = start(loss.layout().cells());
    let mut dual = SmoothedDual::new(&oracle, &loss, 100.0, g.clone());
    assert!(dual.sharpen(0.4).unwrap());
    for cell in 0..g.len() {
        let mut value = |by: f64| {
            let mut point = dual.search.at().clone();
            point.x[cell] += by;
            assert!(dual.smooth.evaluate(&mut point).unwrap());
            point.value
        };
        let slope = (value(1e-4) - value(-1e-4)) / 2e-4;
        assert!((slope - dual.search.at().gradient[cell]).abs() < 1e-5, "{cell}: {slope}");
    }
}

#[test]
fn it_rises_with_every_step_and_with_sharpness_and_stays_below_the_exact_dual() {
    let (oracle, loss) = problem();
    let mut dual = SmoothedDual::new(&oracle, &loss, 100.0, start(loss.layout().cells()));
    for sharpness in [0.1, 0.5, 2.0, 10.0] {
        let before = dual.value();
        assert!(dual.sharpen(sharpness).unwrap());
        assert!(sharpness < 0.2 || dual.value() > before);
        let mut before = dual.value();
        while dual.calls() < 200 && dual.step().unwrap() {
            assert!(dual.value() >= before);
            before = dual.value();
        }
        let exact = dual.ray().unwrap().here();
        // ln |X| = ln 24.
        let blur = 100.0 / sharpness * 24_f64.ln();
        assert!(dual.value() <= exact && exact <= dual.value() + blur, "{sharpness}");
    }
}

#[test]
fn what_is_added_to_potentials_is_the_same_for_all_records() {
    let (oracle, loss) = problem();
    let g = start(loss.layout().cells());
    let dual = SmoothedDual::new(&oracle, &loss, 100.0, g);
    let layout = loss.layout();
    let mut sums = Vec::new();
    for record in [[0, 0, 0], [2, 1, 3], [1, 0, 2], [0, 1, 1]] {
        let cell = |index: usize| {
            let attributes = layout.cliques()[index].iter().zip(layout.shape(index));
            attributes.fold(0, |cell, (attribute, k)| cell * k + record[attribute])
        };
        let cells = (0..4).map(|index| dual.smooth.shift[layout.range(index).start + cell(index)]);
        sums.push(cells.sum::<f64>());
    }
    assert!(sums.iter().all(|sum| (sum - sums[0]).abs() < 1e-9), "{sums:?}");
    assert_eq!(dual.smooth.maximal.len(), 3);
}
