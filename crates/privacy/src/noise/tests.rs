use rand::Rng;

use super::*;

#[test]
fn a_fixed_seed_repeats_each_round_and_no_two_rounds_agree() {
    let draw = |seed: NoiseSeed, round| seed.generator(round).unwrap().next_u64();
    assert_eq!(draw(NoiseSeed::Fixed(7), 3), draw(NoiseSeed::Fixed(7), 3));
    assert_ne!(draw(NoiseSeed::Fixed(7), 3), draw(NoiseSeed::Fixed(7), 4));
    assert_ne!(draw(NoiseSeed::Fixed(7), 3), draw(NoiseSeed::Fixed(8), 3));
    assert_ne!(draw(NoiseSeed::System, 3), draw(NoiseSeed::System, 3));
}

#[test]
fn every_byte_of_the_systems_keys_varies() {
    let mut keys = std::collections::HashSet::new();
    let mut values = vec![std::collections::HashSet::new(); 32];
    for round in 0..10_000 {
        let key = NoiseSeed::System.generator(round % 3).unwrap().get_seed();
        key.iter().zip(&mut values).for_each(|(byte, seen)| _ = seen.insert(*byte));
        assert!(keys.insert(key), "two generators with one key");
    }
    // A byte misses more than 16 of 256 values in 10,000 uniform draws with a chance far below 10⁻⁹.
    assert!(values.iter().all(|seen| seen.len() >= 240), "a byte of the key hardly varies");
}
