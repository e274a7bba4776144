use super::*;
use crate::domain::Domain;
use crate::table::{CliqueLayout, Potentials};

/// A ring of five attributes with a chord, and a rule: what is eliminated first fills in.
fn ring() -> MarkovRandomField {
    let domain = Domain::new([("a", 2), ("b", 3), ("c", 2), ("d", 3), ("e", 2)]).unwrap();
    let rule = vec![("a".to_owned(), vec![1]), ("c".to_owned(), vec![1])];
    let domain = domain.forbid([rule]).unwrap();
    let pairs = [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4]].map(Clique::new);
    let layout = CliqueLayout::new(&domain, pairs).unwrap();
    let mut theta = Potentials::zeros(&layout);
    for (cell, value) in theta.values_mut().iter_mut().enumerate() {
        *value = ((cell * 37 % 11) as f64 / 4.0).sin() * 1.5;
    }
    // d = 2 never with e = 0.
    theta.table_mut(3)[4] = f64::NEG_INFINITY;
    MarkovRandomField::new(&domain, theta, 1.0).unwrap()
}

#[test]
fn completed_records_have_the_exact_conditional_distribution() {
    let model = ring();
    let domain = model.domain();
    let joint = model.marginals(&[domain.everything()]).unwrap().swap_remove(0);
    let records = 120_000;
    for known in [vec![], vec![0], vec![2, 4], vec![1, 3], vec![0, 2, 3], vec![0, 1, 2, 3]] {
        let known = Clique::new(known);
        let given = model.marginals(std::slice::from_ref(&known)).unwrap().swap_remove(0);
        let shape = domain.shape(&known);
        let combinations: usize = shape.iter().product();
        let mut columns = vec![Vec::new(); 5];
        for record in 0..records {
            let mut cell = record % combinations;
            for (attribute, size) in known.iter().zip(&shape).rev() {
                columns[attribute].push(u32::try_from(cell % size).unwrap());
                cell /= size;
            }
        }
        let done = model.complete(&known, columns, records, &[], 5).unwrap().unwrap();
        // Records without mass are those whose known values no record of the model has together.
        let has_mass = |record: usize| given.values()[record % combinations] > 0.0;
        let expected: Vec<u32> =
            (0..).zip(0..records).filter(|(_, r)| !has_mass(*r)).map(|(n, _)| n).collect();
        assert_eq!(done.left, expected, "{known}");
        let sizes = domain.shape(&domain.everything());
        let mut found = vec![0.0; joint.values().len()];
        for record in (0..records).filter(|record| has_mass(*record)) {
            let codes = done.columns.iter().map(|column| column[record] as usize);
            found[codes.zip(&sizes).fold(0, |cell, (code, size)| cell * size + code)] += 1.0;
        }
        let each = records as f64 / combinations as f64;
        for (cell, p) in joint.values().iter().enumerate() {
            let mut rest = cell;
            let mut own = vec![0; 5];
            for attribute in (0..5).rev() {
                own[attribute] = rest % sizes[attribute];
                rest /= sizes[attribute];
            }
            let place = known.iter().zip(&shape).fold(0, |at, (a, size)| at * size + own[a]);
            let mass = given.values()[place];
            let q = if mass > 0.0 { p / mass } else { 0.0 };
            let (mean, sd) = (each * q, (each * q * (1.0 - q)).sqrt());
            let difference = (found[cell] - mean).abs();
            assert!(difference <= 6.0 * sd + 1.0, "{known}, {own:?}: {} and {mean}", found[cell]);
        }
    }
}

#[test]
fn known_attributes_take_no_part_in_the_elimination() {
    let model = ring();
    let factors = model.factors();
    let cliques = || factors.iter().map(|(clique, _)| clique);
    let found = |known: [usize; 2]| -> Vec<(usize, Vec<usize>)> {
        let order = elimination(model.domain(), cliques(), &Clique::new(known));
        order.iter().map(|(a, neighbors)| (*a, neighbors.iter().collect())).collect()
    };
    assert_eq!(found([0, 2]), [(1, vec![]), (3, vec![4]), (4, vec![])]);
    assert_eq!(found([1, 3]), [(2, vec![0]), (0, vec![4]), (4, vec![])]);
}

#[test]
fn the_same_seed_completes_alike_and_tables_that_are_too_large_are_left_alone() {
    let model = ring();
    let known = Clique::new([1]);
    let columns = || vec![Vec::new(), vec![0, 1, 2, 2], Vec::new(), Vec::new(), Vec::new()];
    let drawn = || model.complete(&known, columns(), 4, &[], 9).unwrap();
    assert!(drawn().is_some());
    assert_eq!(drawn(), drawn());
    // A star whose leaves lack is easy; so is one whose center lacks, as its leaves are known.
    let wide = Domain::new(["x", "p", "q", "r", "s"].map(|name| (name, 90))).unwrap();
    let layout = CliqueLayout::new(&wide, (1..5).map(|leaf| Clique::new([0, leaf]))).unwrap();
    let star = MarkovRandomField::new(&wide, Potentials::zeros(&layout), 1.0).unwrap();
    let leaves = vec![Vec::new(), vec![0], vec![1], vec![2], vec![3]];
    assert!(star.complete(&Clique::new([1, 2, 3, 4]), leaves, 1, &[], 1).unwrap().is_some());
    let center = vec![vec![5], Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    assert!(star.complete(&Clique::new([0]), center, 1, &[], 1).unwrap().is_some());
    // Three attributes that are related, none of which is known, have a table of 170³ cells.
    let dense = Domain::new([("x", 2), ("p", 170), ("q", 170), ("r", 170)]).unwrap();
    let layout = CliqueLayout::new(&dense, [Clique::new([0, 1]), Clique::new([1, 2, 3])]).unwrap();
    let dense = MarkovRandomField::new(&dense, Potentials::zeros(&layout), 1.0).unwrap();
    let columns = |known: usize| -> Vec<Vec<u32>> {
        (0..4).map(|at| if at == known { vec![1] } else { Vec::new() }).collect()
    };
    assert!(dense.complete(&Clique::new([0]), columns(0), 1, &[], 1).unwrap().is_none());
    assert!(dense.complete(&Clique::new([2]), columns(2), 1, &[], 1).unwrap().is_some());
}

/// Structural zeros that fits leave to draws are kept to: records that have one are drawn again, the others as before.
#[test]
fn rules_that_are_left_to_draws_are_kept() {
    let plain = ring();
    let rule = vec![("b".to_owned(), vec![1, 2]), ("d".to_owned(), vec![0, 1])];
    let domain = plain.domain().clone().forbid([rule]).unwrap();
    let pair = Clique::new([1, 3]);
    let domain = domain.leaving(|clique| *clique == pair);
    let model = MarkovRandomField::new(&domain, plain.potentials().clone(), 1.0).unwrap();
    assert_eq!(model.domain().zeros_of_draws().count(), 1);
    let columns = || vec![(0..4_000).map(|i| i % 2).collect(), vec![], vec![], vec![], vec![]];
    let known = Clique::new([0]);
    let before = plain.complete(&known, columns(), 4_000, &[], 3).unwrap().unwrap();
    let done = model.complete(&known, columns(), 4_000, &[], 3).unwrap().unwrap();
    assert!(done.left.is_empty());
    let holds = |columns: &[Vec<u32>], r: usize| columns[1][r] > 0 && columns[3][r] < 2;
    let broken: Vec<usize> = (0..4_000).filter(|r| holds(&before.columns, *r)).collect();
    assert!(broken.len() > 500);
    for record in 0..4_000 {
        assert!(!holds(&done.columns, record));
        let is_same = before.columns.iter().zip(&done.columns).all(|(a, b)| a[record] == b[record]);
        assert!(is_same || broken.contains(&record), "{record}");
    }
}
