use super::*;

#[test]
fn a_system_with_a_repeated_column_is_solved_without_it() {
    // Columns 0 and 1 are equal; without column 1 the system is 4 x + 2 z = 8, 2 x + 3 z = 8.
    let matrix = [4.0, 0.0, 0.0, 4.0, 4.0, 0.0, 2.0, 2.0, 3.0];
    let factor = Cholesky::new(&matrix, 3);
    let mut x = [8.0, 8.0, 8.0];
    factor.solve(&mut x);
    assert_eq!(factor.rank, 2);
    for (found, expected) in x.iter().zip([1.0, 0.0, 2.0]) {
        assert!((found - expected).abs() < 1e-12, "{x:?}");
    }
}
