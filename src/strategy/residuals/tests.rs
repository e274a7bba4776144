use super::*;

#[test]
fn a_marginal_is_the_sum_of_its_residuals() {
    let domain = Domain::new([("a", 2), ("b", 3), ("c", 2)]).unwrap();
    let clique = Clique::new([0, 1, 2]);
    let table: Vec<f64> = (0..12).map(|i| f64::from(i * i % 7)).collect();
    let mut residuals = Residuals::of_total(&domain, table.iter().sum());
    for part in clique.subsets() {
        let mut marginal = vec![0.0; domain.shape(&part).iter().product()];
        let walk = Projection::between(&clique, &domain.shape(&clique), &part);
        walk.add_into(&table, &mut marginal);
        residuals.insert_table(part, marginal);
    }
    for (found, expected) in residuals.marginal(&clique).unwrap().iter().zip(&table) {
        assert!((found - expected).abs() < 1e-12);
    }
    assert!(residuals.marginal(&Clique::new([3])).is_err());
}
