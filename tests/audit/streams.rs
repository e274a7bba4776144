//! The streams of noise: no two runs, rounds, threads or processes share one.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashSet;

use jointly::domain::Clique;
use jointly::privacy::{Curator, NeighboringRelation, NoiseSeed, Rho};

use crate::statistics::Counts;

/// The first draws of a curator: six numbers of about 20 random bits.
fn first_draws(seed: NoiseSeed, round: Option<u32>) -> Vec<i64> {
    let data = Counts::new(vec![0; 6], 0);
    let limit = Rho::from_units(16);
    let relation = NeighboringRelation::ReplaceOne;
    let mut curator = Curator::new(&data, relation, limit, seed).unwrap();
    if let Some(round) = round {
        curator.begin_round(round).unwrap();
    }
    curator.measure(&Clique::new([0]), Rho::from_units(1)).unwrap().values
}

#[test]
fn ten_thousand_generators_draw_different_noise() {
    let mut seen = HashSet::new();
    for run in 0..5_000 {
        assert!(seen.insert(first_draws(NoiseSeed::System, None)), "run {run} repeats another");
        assert!(seen.insert(first_draws(NoiseSeed::System, Some(1))), "run {run} repeats another");
    }
}

#[test]
fn threads_draw_different_noise() {
    let draw = || (0..200).map(|_| first_draws(NoiseSeed::System, Some(3))).collect::<Vec<_>>();
    let drawn = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(draw)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(drawn.iter().collect::<HashSet<_>>().len(), drawn.len());
}

#[test]
fn rounds_of_one_run_draw_different_noise() {
    for seed in [NoiseSeed::System, NoiseSeed::Fixed(5)] {
        let data = Counts::new(vec![0; 6], 0);
        let limit = Rho::from_units(4_000);
        let relation = NeighboringRelation::ReplaceOne;
        let mut curator = Curator::new(&data, relation, limit, seed).unwrap();
        let mut seen = HashSet::new();
        for round in 1..1_000 {
            curator.begin_round(round).unwrap();
            for _ in 0..2 {
                let drawn = curator.measure(&Clique::new([0]), Rho::from_units(1)).unwrap();
                assert!(seen.insert(drawn.values), "{seed:?}, round {round}");
            }
        }
    }
}

#[test]
fn only_a_run_without_a_fixed_seed_calls_itself_private() {
    assert!(NoiseSeed::System.is_private());
    assert!(!NoiseSeed::Fixed(0).is_private() && !NoiseSeed::Fixed(u64::MAX).is_private());
    let data = Counts::new(vec![0; 6], 0);
    let relation = NeighboringRelation::ReplaceOne;
    for seed in [NoiseSeed::System, NoiseSeed::Fixed(1)] {
        let curator = Curator::new(&data, relation, Rho::from_units(1), seed).unwrap();
        assert_eq!(curator.is_private(), seed == NoiseSeed::System);
        let file = jointly::privacy::LedgerFile::new("test", None, &curator);
        assert_eq!(file.private, seed == NoiseSeed::System);
    }
}
