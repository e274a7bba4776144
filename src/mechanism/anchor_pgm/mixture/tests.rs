use super::*;
use crate::domain::Domain;
use crate::table::{CliqueLayout, Potentials};

/// What is compared in the last choice is what a mixture's list of records says, for all marginals and shares.
#[test]
fn marginals_are_those_of_the_listed_records() {
    let domain = Domain::new([("a", 3), ("b", 2), ("c", 2)]).unwrap();
    let layout = CliqueLayout::new(&domain, [Clique::new([0, 1]), Clique::new([2])]).unwrap();
    let mut potentials = Potentials::zeros(&layout);
    potentials.table_mut(0)[1] = 2.0;
    let fit = MarkovRandomField::new(&domain, potentials, 900.0).unwrap();
    let rows = Dataset::from_rows(domain.clone(), &[[0, 0, 1], [2, 1, 0], [2, 1, 1]]).unwrap();
    let public = WeightedSupport::new(&rows, vec![3.0, 1.0, 2.0], 900.0).unwrap();
    let shares = [0.0, 0.25, 1.0];
    let mixtures = Mixture::each(&public, 3, &fit, &shares).unwrap();
    let asked = [Clique::new([0]), Clique::new([0, 1, 2])];
    let all: Vec<&Mixture> = mixtures.iter().collect();
    let compared = Mixture::marginals(&all, &asked).unwrap().collect::<Vec<_>>();
    for (position, mixture) in mixtures.iter().enumerate() {
        let listed = mixture.listed().unwrap().marginals(&asked).unwrap();
        for (tables, of_list) in compared.iter().zip(&listed) {
            for (cell, expected) in tables[position].iter().zip(of_list.values()) {
                assert!((cell - expected).abs() < 1e-9, "{cell} {expected}");
            }
        }
    }
    // The ends are the parts.
    assert!((compared[1][2][1] - 450.0).abs() < 1e-9, "{:?}", compared[1][2]);
    let whole: f64 = compared[0][0].iter().sum();
    assert!((whole - 900.0).abs() < 1e-9);
    let first = fit.marginals(&asked[..1]).unwrap();
    assert!((compared[0][0][0] - first[0].values()[0]).abs() < 1.0);
}
