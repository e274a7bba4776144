use super::*;

fn known(counts: &[f64], is_independent: bool) -> Known {
    Known { shape: vec![2, 3], counts: counts.to_vec(), variance: 4.0, is_independent }
}

#[test]
fn a_cell_or_a_sum_beyond_its_noise_contradicts() {
    let all: [&[u32]; 2] = [&[0, 1], &[0, 1, 2]];
    // Five standard deviations of a cell are 10, three and a half of the sum of six 17.1.
    assert!(known(&[0.0, 0.0, 10.1, -9.0, 0.0, 0.0], true).contradicts(&all));
    assert!(!known(&[0.0, 0.0, 9.9, 0.0, 0.0, 0.0], true).contradicts(&all));
    assert!(known(&[3.0, 3.0, 3.0, 3.0, 3.0, 3.0], true).contradicts(&all));
    assert!(!known(&[2.8, 2.8, 2.8, 2.8, 2.8, 2.8], true).contradicts(&all));
    // Noise that may be the same in all cells: 42.
    assert!(!known(&[6.0, 6.0, 6.0, 6.0, 6.0, 6.0], false).contradicts(&all));
    assert!(known(&[7.1, 7.1, 7.1, 7.1, 7.1, 7.1], false).contradicts(&all));
}

#[test]
fn only_the_cells_of_the_combination_count() {
    let counts = [500.0, 0.0, 0.0, 0.0, 500.0, 0.0];
    assert!(!known(&counts, true).contradicts(&[&[0], &[1, 2]]));
    assert!(!known(&counts, true).contradicts(&[&[1], &[0, 2]]));
    assert!(known(&counts, true).contradicts(&[&[1], &[1]]));
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
