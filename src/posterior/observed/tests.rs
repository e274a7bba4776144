use super::*;
use crate::least_squares::center;
use crate::measurement::{Measurement, Provenance};

#[test]
fn contrasts_are_orthonormal_and_hold_all_of_a_centered_table() {
    let shape = [3, 2, 4];
    let mut table: Vec<f64> = (0..24).map(|i| f64::from((i * i) % 17)).collect();
    let of_raw = to_contrasts(&table, &shape);
    center(&shape, &mut table);
    let contrasts = to_contrasts(&table, &shape);
    assert_eq!(contrasts.len(), 2 * 3);
    let squares = |values: &[f64]| values.iter().map(|x| x * x).sum::<f64>();
    assert!((squares(&contrasts) - squares(&table)).abs() < 1e-9);
    let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
    assert!(close(&of_raw, &contrasts), "constants along an axis have no contrast");
    assert!(close(&to_table(&contrasts, &shape), &table));
}

#[test]
fn parts_are_those_that_were_measured_and_every_pair_must_be() {
    let domain = Domain::new([("a", 2), ("b", 3), ("c", 2), ("d", 4)]).unwrap();
    let measured = |clique: &[usize]| {
        let clique = Clique::new(clique.iter().copied());
        let cells: usize = domain.shape(&clique).iter().product();
        let values = (0..cells).map(|i| i as f64).collect();
        Measurement { clique, cell: None, values, stddev: 2.0, provenance: Provenance::Private }
    };
    let all = [measured(&[0, 1]), measured(&[0, 3]), measured(&[1, 3])];
    let measured = Measured { records: Some(15.0), ..Measured::of(&all) };
    let found = Observed::new(&domain, &measured, &Clique::new([0, 1, 3])).unwrap();
    let sizes: Vec<usize> = found.parts.iter().map(|part| part.range.len()).collect();
    assert_eq!(sizes, [1, 2, 3, 2, 3, 6]);
    assert_eq!((found.size, found.total_variance), (17, 0.0));
    // The pair alone: 4. The single attribute is in two pairs, merged from three and four cells: 1 / (1/12 + 1/16).
    assert!((found.parts[3].variance - 4.0).abs() < 1e-12);
    assert!((found.parts[0].variance - 48.0 / 7.0).abs() < 1e-12);
    let error = Observed::new(&domain, &measured, &Clique::new([0, 1, 2])).unwrap_err();
    assert!(error.to_string().contains('c'), "{error}");
}
