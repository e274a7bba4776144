use super::*;
use crate::domain::Domain;
use crate::least_squares::Measured;
use crate::measurement::Measurement;

/// Whether counts with independent noise of deviation 2 in each of 2 × 3 cells contradict a combination.
fn contradicted(counts: &[f64], codes: &[&[u32]]) -> bool {
    let domain = Domain::new([("a", 2), ("b", 3)]).unwrap();
    let clique = Clique::new([0, 1]);
    let measured = Measured::of(&[Measurement::new(clique.clone(), counts.to_vec(), 2.0)]);
    let solved = measured.estimates(&domain, std::slice::from_ref(&clique)).unwrap();
    contradicts(&solved.marginal(&clique).unwrap(), &[2, 3], codes)
}

#[test]
fn a_cell_or_a_sum_beyond_its_noise_contradicts() {
    let all: [&[u32]; 2] = [&[0, 1], &[0, 1, 2]];
    // Five standard deviations of a cell are 10, three and a half of the sum of six 17.1.
    assert!(contradicted(&[0.0, 0.0, 10.1, -9.0, 0.0, 0.0], &all));
    assert!(!contradicted(&[0.0, 0.0, 9.9, 0.0, 0.0, 0.0], &all));
    assert!(contradicted(&[3.0, 3.0, 3.0, 3.0, 3.0, 3.0], &all));
    assert!(!contradicted(&[2.8, 2.8, 2.8, 2.8, 2.8, 2.8], &all));
}

#[test]
fn only_the_cells_of_the_combination_count() {
    let counts = [500.0, 0.0, 0.0, 0.0, 500.0, 0.0];
    assert!(!contradicted(&counts, &[&[0], &[1, 2]]));
    assert!(!contradicted(&counts, &[&[1], &[0, 2]]));
    assert!(contradicted(&counts, &[&[1], &[1]]));
}

#[test]
fn none_is_believed_where_more_than_one_in_twenty_is_wrong() {
    for (wrong, left) in [(0, 50), (2, 48), (3, 0)] {
        let mut contradicted: Vec<bool> = (0..50).map(|at| at < wrong).collect();
        disbelieve(&mut contradicted, 40);
        assert_eq!(contradicted.iter().filter(|is| !**is).count(), left, "{wrong}");
    }
    // Nothing measured says nothing.
    let mut contradicted = vec![false; 3];
    disbelieve(&mut contradicted, 0);
    assert_eq!(contradicted, [false; 3]);
}
