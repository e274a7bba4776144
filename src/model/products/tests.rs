use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use super::split::Slopes;
use super::*;
use crate::data::Projectable;
use crate::linalg::Real;

/// Two components over attributes of two and three values.
fn two() -> Products {
    let domain = Domain::new([("a", 2), ("b", 3)]).unwrap();
    let components = vec![vec![0.2, 0.8, 0.5, 0.3, 0.2], vec![0.6, 0.4, 0.1, 0.1, 0.8]];
    Products::new(domain, &components, 1.0).unwrap()
}

/// A random mixture over five attributes, in 64 bits, and its ranges.
fn random(components: usize) -> (Domain, Array2<f64>) {
    let domain = Domain::new([("a", 2), ("b", 3), ("c", 4), ("d", 2), ("e", 3)]).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let mut matrix = Array2::from_shape_simple_fn((14, components), || rng.random::<f64>());
    for range in value_ranges(&domain) {
        for mut component in matrix.columns_mut() {
            let sum: f64 = range.clone().map(|value| component[value]).sum();
            range.clone().for_each(|value| component[value] /= sum);
        }
    }
    (domain, matrix)
}

#[test]
fn a_pair_of_two_components() {
    let table = two().marginals(&[Clique::new([0, 1])]).unwrap();
    let expected = [0.08, 0.06, 0.26, 0.22, 0.14, 0.24];
    for (found, expected) in table[0].values().iter().zip(expected) {
        assert!((found - expected).abs() < 1e-7, "{found} {expected}");
    }
}

#[test]
fn marginals_are_those_of_all_cells_added_up() {
    let (domain, matrix) = random(300);
    let ranges = value_ranges(&domain);
    let everything = Split::new(&ranges, &domain.everything()).marginal(&matrix.view());
    let all = Factor::new(&domain, domain.everything(), everything).unwrap();
    for (row, probability) in domain_rows(&domain).iter().zip(all.values()) {
        let product = |b: usize| -> f64 {
            row.iter().zip(&ranges).map(|(code, range)| matrix[(range.start + code, b)]).product()
        };
        let expected = (0..300).map(product).sum::<f64>() / 300.0;
        assert!((probability - expected).abs() < 1e-12);
    }
    for clique in domain.everything().subsets() {
        let own = Split::new(&ranges, &clique).marginal(&matrix.view());
        let narrow = Split::new(&ranges, &clique).marginal(&matrix.mapv(f32::of).view());
        for ((own, narrow), summed) in own.iter().zip(narrow).zip(all.project(&clique).values()) {
            assert!((own - summed).abs() < 1e-12);
            assert!((own - narrow).abs() < 1e-6);
        }
    }
}

/// All records of a domain, row-major.
fn domain_rows(domain: &Domain) -> Vec<Vec<usize>> {
    domain.attributes().iter().fold(vec![Vec::new()], |rows, attribute| {
        let with = |row: Vec<usize>| {
            (0..attribute.cardinality as usize).map(move |code| [row.clone(), vec![code]].concat())
        };
        rows.into_iter().flat_map(with).collect()
    })
}

#[test]
fn the_gradient_of_a_square_in_closed_form() {
    let products = two();
    let matrix = products.probabilities.mapv(f64::from);
    let split = Split::new(&value_ranges(products.domain()), &Clique::new([0, 1]));
    let slopes: Vec<f64> = split.marginal(&matrix.view()).iter().map(|m| m - 1.0 / 6.0).collect();
    let slopes = split.slopes(slopes.into_iter().enumerate().collect());
    let mut found = Array2::zeros(matrix.dim());
    split.pull_back(&matrix.view(), &slopes, &mut found.view_mut());
    // The slopes belong to the mean of two components, those of the function to their sum.
    assert!((found[(0, 0)] / 2.0 + 0.028_333_333).abs() < 1e-7, "{}", found[(0, 0)] / 2.0);
}

#[test]
fn few_slopes_stay_a_list_and_those_of_one_cell_are_added_up() {
    let (domain, _) = random(1);
    let split = Split::new(&value_ranges(&domain), &Clique::new([1, 2, 3, 4]));
    assert!(
        matches!(split.slopes(vec![(71, 1.0), (71, 2.0)]), Slopes::Few(cells) if cells.len() == 2)
    );
    let Slopes::Table(table) = split.slopes(vec![(71, 1.0), (0, 4.0), (71, 2.0)]) else {
        panic!("three of 72 cells are not few");
    };
    let cells: Vec<f64> = table.into_iter().collect();
    assert!((cells[0] - 4.0).abs() + (cells[71] - 3.0).abs() < 1e-12);
    assert!((cells.iter().sum::<f64>() - 7.0).abs() < 1e-12);
}

#[test]
fn gradients_are_differences() {
    let (domain, matrix) = random(7);
    let ranges = value_ranges(&domain);
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    for clique in domain.everything().subsets() {
        let split = Split::new(&ranges, &clique);
        let (height, width) = split.shape();
        let weights: Vec<f64> = (0..height * width).map(|_| rng.random::<f64>() - 0.5).collect();
        let value = |matrix: &Array2<f64>| -> f64 {
            let cells = split.marginal(&matrix.view());
            cells.iter().zip(&weights).map(|(cell, weight)| cell * weight).sum::<f64>() * 7.0
        };
        let cells: Vec<(usize, f64)> = weights.iter().copied().enumerate().collect();
        let pulled_back = |slopes: &Slopes<f64>| {
            let mut gradient = Array2::zeros(matrix.dim());
            split.pull_back(&matrix.view(), slopes, &mut gradient.view_mut());
            gradient
        };
        let table = split.slopes(cells.clone());
        assert!(matches!(table, Slopes::Table(_)));
        let gradient = pulled_back(&table);
        let cell_by_cell = pulled_back(&Slopes::Few(cells));
        assert!((&gradient - cell_by_cell).iter().all(|difference| difference.abs() < 1e-12));
        for (at, slope) in gradient.indexed_iter() {
            let moved = |by: f64| {
                let mut matrix = matrix.clone();
                matrix[at] += by;
                value(&matrix)
            };
            let difference = (moved(1e-4) - moved(-1e-4)) / 2e-4;
            assert!((difference - slope).abs() < 1e-6 * slope.abs().max(1e-2), "{clique} {at:?}");
        }
    }
}

#[test]
fn rounded_records_have_the_expected_counts() {
    let (domain, matrix) = random(10);
    let products = Products::of(domain.clone(), matrix.mapv(f32::of), 2000.0).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let rows = products.draw(2000, Sampling::Rounded, &mut rng).unwrap();
    for attribute in 0..5 {
        let clique = Clique::new([attribute]);
        let expected = products.marginals(std::slice::from_ref(&clique)).unwrap();
        for (count, expected) in rows.project(&clique).unwrap().iter().zip(expected[0].values()) {
            assert!((f64::from(*count) - expected).abs() <= 10.0, "{count} {expected}");
        }
    }
    // A pair is off by the noise of a shuffle, no more.
    let pair = Clique::new([1, 2]);
    let expected = products.marginals(std::slice::from_ref(&pair)).unwrap();
    for (count, expected) in rows.project(&pair).unwrap().iter().zip(expected[0].values()) {
        assert!((f64::from(*count) - expected).abs() < 4.0 * expected.sqrt() + 5.0);
    }
    for records in [1, 7, 11] {
        assert_eq!(products.draw(records, Sampling::Rounded, &mut rng).unwrap().records(), records);
    }
    let rows = products.draw(20_000, Sampling::Independent, &mut rng).unwrap();
    let scale = 20_000.0 / 2000.0;
    for (count, expected) in rows.project(&pair).unwrap().iter().zip(expected[0].values()) {
        let expected = scale * expected;
        assert!((f64::from(*count) - expected).abs() < 5.0 * expected.sqrt());
    }
}

#[test]
fn forbidden_records_are_never_drawn() {
    let domain = Domain::new([("a", 2), ("b", 2)]).unwrap();
    let zeros = [vec![("a", vec![0]), ("b", vec![1])]];
    let domain = domain.forbid(zeros).unwrap();
    let half = vec![0.5; 4];
    let products = Products::new(domain.clone(), &[half.clone(), half], 10.0).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    for method in [Sampling::Rounded, Sampling::Independent] {
        let rows = products.draw(500, method, &mut rng).unwrap();
        assert_eq!(rows.project(&Clique::new([0, 1])).unwrap()[1], 0);
    }
    let only = Products::new(domain, &[vec![1.0, 0.0, 0.0, 1.0]], 10.0).unwrap();
    let error = only.draw(3, Sampling::Rounded, &mut rng).unwrap_err();
    assert!(error.to_string().contains("forbidden"), "{error}");
}

#[test]
fn what_is_no_mixture_is_refused() {
    let domain = || Domain::new([("a", 2)]).unwrap();
    for (components, total, part) in [
        (vec![], 1.0, "at least 1"),
        (vec![vec![1.0]], 1.0, "one for each value"),
        (vec![vec![0.5, 0.6]], 1.0, "sum"),
        (vec![vec![-0.5, 1.5]], 1.0, "below 0"),
        (vec![vec![f32::NAN, 1.0]], 1.0, "below 0"),
        (vec![vec![0.5, 0.5]], 0.0, "positive"),
    ] {
        let error = Products::new(domain(), &components, total).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
