//! A choice that is remembered is the one that a search would make.

use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use super::*;

/// A domain of few cardinalities, so that many cliques look alike, and tables on some of its attributes.
fn case(rng: &mut ChaCha20Rng) -> (Domain, Clique, Vec<Clique>, Vec<Clique>) {
    let cardinalities = (0..3).map(|_| [1, 2, 40][rng.random_range(0..3_usize)]);
    let cardinalities: Vec<u32> = cardinalities.collect();
    let names = cardinalities.iter().enumerate();
    let domain = Domain::new(names.map(|(i, k)| (format!("x{i}"), *k))).expect("a domain");
    let table = |rng: &mut ChaCha20Rng| Clique::new((0..3).filter(|_| rng.random_bool(0.6)));
    let inputs: Vec<Clique> = (0..rng.random_range(1..=2)).map(|_| table(rng)).collect();
    let outputs: Vec<Clique> = (0..rng.random_range(1..=2)).map(|_| table(rng)).collect();
    let clique = inputs.iter().chain(&outputs).fold(Clique::default(), |all, t| all.union(t));
    let clique = Clique::new(clique.iter().filter(|a| domain.cardinality(*a) > 1));
    (domain, clique, inputs, outputs)
}

#[test]
fn what_is_remembered_is_what_a_search_finds() {
    let mut rng = ChaCha20Rng::seed_from_u64(0);
    let choices = Choices::default();
    let mut searched = 0;
    for _ in 0..20_000 {
        let (domain, clique, inputs, outputs) = case(&mut rng);
        let known = choices.known.read().unwrap().len();
        let found = choices.choose(&domain, &clique, &inputs, &outputs);
        assert_eq!(*found, choose(&domain, &clique, &inputs, &outputs));
        searched += usize::from(choices.known.read().unwrap().len() != known);
    }
    assert!((1_000..19_000).contains(&searched), "{searched}");
}

#[test]
fn too_many_are_forgotten() {
    let choices = Choices::default();
    let pair = Clique::new([0, 1]);
    for first in 2..150 {
        for second in 2..150 {
            let domain = Domain::new([("a", first), ("b", second)]).unwrap();
            choices.choose(&domain, &pair, std::slice::from_ref(&pair), &[Clique::new([0])]);
        }
    }
    assert_eq!(choices.known.read().unwrap().len(), 148 * 148 - MOST);
}

#[test]
fn more_than_32_attributes_are_searched_each_time() {
    let domain = Domain::new((0..40).map(|i| (format!("x{i}"), 1 + u32::from(i == 7)))).unwrap();
    let (clique, all) = (Clique::new([7]), domain.everything());
    let choices = Choices::default();
    let (inputs, outputs) = ([all], [clique.clone()]);
    let found = choices.choose(&domain, &clique, &inputs, &outputs);
    assert_eq!(*found, choose(&domain, &clique, &inputs, &outputs));
    assert!(choices.known.read().unwrap().is_empty());
}
