use super::*;
use crate::data::Dataset;
use crate::domain::Domain;
use rand::{SeedableRng, rngs::ChaCha20Rng};

fn table(rows: &[[u32; 3]]) -> Dataset {
    let domain = Domain::new([("a", 2), ("b", 2), ("c", 2)]).unwrap();
    Dataset::from_rows(domain, rows).unwrap()
}

#[test]
fn the_score_is_that_computed_by_hand() {
    // Only c differs, in one of two records: pairs with c have L1 1, the pair a x b has 0.
    let (real, fake) = (table(&[[0, 0, 0], [1, 1, 1]]), table(&[[0, 0, 0], [1, 1, 0]]));
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut score =
        |k, draws| KMarginalScore::between(&real, &fake, k, draws, &mut rng).map(|s| s.score);
    assert!((score(2, None).unwrap() - 1000.0 * 2.0 / 3.0).abs() < 1e-9);
    assert!((score(1, None).unwrap() - 1000.0 * (1.0 - 0.5 / 3.0)).abs() < 1e-9);
    assert!((score(3, None).unwrap() - 500.0).abs() < 1e-9);
    // More draws than there are marginals: all of them.
    let difference = score(2, Some(9)).unwrap() - score(2, None).unwrap();
    assert!(difference.abs() < 1e-9);
    assert!(score(0, None).is_err() && score(4, None).is_err() && score(2, Some(0)).is_err());
}

#[test]
fn drawn_marginals_are_different_and_of_the_size_asked_for() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let drawn = draw(7, 3, 20, &mut rng);
    assert_eq!(drawn.iter().map(|c| &c.clique).collect::<BTreeSet<_>>().len(), 20);
    assert!(drawn.iter().all(|c| c.clique.len() == 3));
    assert_eq!((choices(7, 3), choices(52, 3), choices(2, 3)), (35, 22_100, 0));
}
