use super::*;
use rand::{SeedableRng, rngs::ChaCha20Rng};

fn domain() -> Domain {
    Domain::new([("a", 2), ("puma", 3), ("b", 2), ("year", 2), ("c", 2)]).unwrap()
}

fn table(rows: &[[u32; 5]]) -> Dataset {
    Dataset::from_rows(domain(), rows).unwrap()
}

fn score(method: GroupScore, real: &Dataset, fake: &Dataset, by: &[usize]) -> GroupDistances {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    method.between(real, fake, &Clique::new(by.iter().copied()), &mut rng).unwrap()
}

#[test]
fn the_score_is_that_computed_by_hand() {
    // Group 0: c differs in one of two records, so that a x c and b x c have L1 1, and a x b 0. Group 2: equal shares
    // although twice the records. Group 1: in the synthetic table only.
    let real = table(&[[0, 0, 0, 0, 0], [1, 0, 1, 0, 1], [1, 2, 0, 0, 0]]);
    let fake = table(&[
        [0, 0, 0, 0, 0],
        [1, 0, 1, 0, 0],
        [1, 2, 0, 0, 0],
        [1, 2, 0, 0, 0],
        [0, 1, 0, 0, 0],
    ]);
    // The year, no grouping attribute, is the same everywhere: pairs with it have the L1 of the other attribute, 1 for c
    // and 0 for a and b. Six pairs with it, of which three have L1 1.
    let found = score(GroupScore::default(), &real, &fake, &[1]);
    assert_eq!((found.groups, found.penalized, found.marginals), (3, 1, 6));
    assert!((found.by_group[0].distance - 0.5).abs() < 1e-12);
    assert!((found.score - (0.5 + 2.0 + 0.0) / 3.0).abs() < 1e-12);
    assert!((found.points - 1000.0 * (1.0 - found.score / 2.0)).abs() < 1e-9);
    // Without the year among the attributes, two of three.
    let found = score(GroupScore::default(), &real, &fake, &[1, 3]);
    assert_eq!((found.marginals, found.by_group[2].codes.clone()), (3, vec![2, 0]));
    assert!((found.score - (2.0 / 3.0 + 2.0) / 3.0).abs() < 1e-12);
    assert!(score(GroupScore::default(), &real, &real, &[1]).score.abs() < 1e-12);
}

#[test]
fn a_group_of_another_size_is_penalized_beyond_the_limit_only() {
    let of = |records: usize| table(&vec![[0, 0, 0, 0, 0]; records]);
    let found = score(GroupScore::default(), &of(1000), &of(1250), &[1]);
    assert_eq!((found.score, found.penalized), (0.0, 0));
    for other in [of(749), of(1251)] {
        let found = score(GroupScore::default(), &of(1000), &other, &[1]);
        assert_eq!((found.score, found.points, found.penalized), (2.0, 0.0, 1));
    }
    let strict = GroupScore { bias_penalty: 0, ..GroupScore::default() };
    assert_eq!(score(strict, &of(3), &of(4), &[1]).penalized, 1);
}

#[test]
fn drawn_pairs_are_as_many_as_asked_for_and_without_the_grouping_attributes() {
    let wide = Domain::new((0..20).map(|i| (i.to_string(), 2))).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let (groups, method) = (Clique::new([3, 7]), GroupScore::default());
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..40 {
        let cliques = method.pairs(&wide, &groups, &mut rng).unwrap().cliques();
        assert_eq!(cliques.len(), 50);
        assert!(cliques.iter().all(|c| c.len() == 2 && !c.iter().any(|a| a == 3 || a == 7)));
        seen.extend(cliques);
    }
    // Each of 18 · 17 / 2 pairs is missed by 40 draws with probability (2/3)⁴⁰, 10⁻⁷.
    assert_eq!(seen.len(), 153);
}

#[test]
fn what_has_no_score_is_refused() {
    let (real, mut rng) = (table(&[[0, 0, 0, 0, 0]]), ChaCha20Rng::seed_from_u64(1));
    let mut refused = |method: GroupScore, fake: &Dataset, by: &[usize]| {
        let groups = Clique::new(by.iter().copied());
        method.between(&real, fake, &groups, &mut rng).unwrap_err().to_string()
    };
    let plain = GroupScore::default();
    assert!(refused(plain, &real, &[9]).contains("'#9' in the grouping attributes"));
    assert!(refused(plain, &real, &[]).contains("at least one"));
    assert!(refused(plain, &real, &[0, 1, 2, 3]).contains("two others"));
    assert!(refused(plain, &table(&[]), &[1]).contains("synthetic table"));
    assert!(refused(GroupScore { draws: 0, ..plain }, &real, &[1]).contains("draws"));
}
