use super::*;
use crate::domain::Domain;
use crate::measurement::{Measurement, Provenance};
use crate::observe::Unstoppable;

fn accuracy(domain: &Domain, cliques: &[&[usize]]) -> Accuracy {
    let measured = |clique: &&[usize]| {
        let clique = Clique::new(clique.iter().copied());
        let cells: usize = domain.shape(&clique).iter().product();
        let values = vec![1000.0 / cells as f64; cells];
        Measurement { clique, cell: None, values, stddev: 5.0, provenance: Provenance::Private }
    };
    let all: Vec<Measurement> = cliques.iter().map(measured).collect();
    let mut accuracy = Accuracy { total: 1000.0, ..Accuracy::of(&all) };
    accuracy.measured.records = Some(1000.0);
    accuracy
}

#[test]
fn tables_differ_and_follow_from_the_seed() {
    let domain = Domain::new([("a", 3), ("b", 2), ("c", 2)]).unwrap();
    let known = accuracy(&domain, &[&[0, 1], &[0, 2], &[1, 2]]);
    let posterior = Posterior::new(&domain, &known, &Clique::new([0, 2])).unwrap();
    let tables = posterior.tables(3, 7, &Unstoppable).unwrap();
    assert_eq!(tables, posterior.tables(3, 7, &Unstoppable).unwrap());
    assert!(tables[0] != tables[1] && tables[1] != tables[2]);
    let other = posterior.tables(3, 8, &Unstoppable).unwrap();
    assert!(tables[0] != other[0]);
    assert!(tables.iter().all(|table| table.records() == 1000 && table.domain().len() == 2));
}

#[test]
fn what_has_no_posterior_is_refused() {
    let domain = Domain::new([("a", 3), ("b", 2), ("c", 2), ("d", 600), ("e", 600)]).unwrap();
    let known = accuracy(&domain, &[&[0, 1], &[0, 2], &[3, 4]]);
    let refused = |known: &Accuracy, columns: &[usize]| {
        let columns = Clique::new(columns.iter().copied());
        Posterior::new(&domain, known, &columns).unwrap_err().to_string()
    };
    assert!(refused(&known, &[0]).contains("2 to 12"));
    assert!(
        refused(&known, &[1, 2]).contains("nothing of b x c together"),
        "{}",
        refused(&known, &[1, 2])
    );
    assert!(refused(&known, &[3, 4]).contains("cells"));
    let mut laplace = known.clone();
    laplace.measured.is_laplace = true;
    assert!(refused(&laplace, &[0, 1]).contains("Gaussian"));
    assert!(refused(&Accuracy { total: 1e9, ..known }, &[0, 1]).contains("records"));
}
