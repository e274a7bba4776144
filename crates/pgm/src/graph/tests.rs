use crate::domain::{Clique, Domain};

/// A domain of this number of attributes, each with 2 to 6 values.
pub(super) fn domain(attributes: usize) -> Domain {
    let sizes = (0..attributes).map(|i| u32::try_from(2 + i * 7 % 5).expect("small"));
    Domain::new(sizes.enumerate().map(|(i, size)| (format!("x{i}"), size))).expect("a domain")
}

/// Cliques of at most three attributes.
pub(super) fn random_cliques(attributes: usize, count: usize, seed: u64) -> Vec<Clique> {
    let mut state = seed;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("small") % attributes
    };
    (0..count).map(|_| Clique::new([next(), next(), next()])).collect()
}
