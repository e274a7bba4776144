//! Unit tests of `src/privacy/noise.rs`.

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
