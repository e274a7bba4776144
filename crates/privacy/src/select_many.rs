//! Exact selection among many candidates of which few would be accepted, without trying them one by one.

use std::ops::Range;

use rand::rngs::ChaCha20Rng;
use rand::{CryptoRng, SeedableRng};
use rayon::prelude::*;

use crate::sampler::{InverseE, bernoulli_exp_fraction, uniform_below};

/// Number of bands of candidates. Band k has γ in [k, k + 1); the last band has no upper end.
const BANDS: usize = 32;

/// Number of candidates per parallel block.
const BLOCK: usize = 1 << 11;

/// Candidates, described by the gap between their scores and the best score.
pub(crate) struct Gaps<G> {
    /// Steps below the best score.
    pub gap: G,
    /// Number of candidates, below 2³².
    pub candidates: usize,
    /// What a step adds to the exponent γ, as numerator and denominator.
    pub exponent: (u64, u128),
}

impl<G: Fn(usize) -> u64> Gaps<G> {
    /// γ of a candidate, as numerator and denominator: it is accepted with probability exp(−γ).
    pub(crate) fn gamma(&self, candidate: usize) -> (u128, u128) {
        let (numerator, denominator) = self.exponent;
        (u128::from((self.gap)(candidate)) * u128::from(numerator), denominator)
    }

    fn bands(&self) -> Bands {
        let (numerator, denominator) = self.exponent;
        let bound = |k: u128| (k * denominator).div_ceil(u128::from(numerator.max(1)));
        let bounds = (1..BANDS as u128).map(|k| u64::try_from(bound(k)).unwrap_or(u64::MAX));
        Bands { bounds: bounds.collect(), per_step: numerator as f64 / denominator as f64 }
    }
}

/// The bounds of the bands.
struct Bands {
    /// The smallest gap of each band after the first: γ ≥ k.
    bounds: Vec<u64>,
    /// Approximate γ of one step.
    per_step: f64,
}

impl Bands {
    #[inline]
    fn of(&self, gap: u64) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative; large values saturate"
        )]
        let mut band = ((gap as f64 * self.per_step) as usize).min(BANDS - 1);
        // The product may be off by a rounding error; the bounds decide.
        while band > 0 && self.bounds[band - 1] > gap {
            band -= 1;
        }
        while self.bounds.get(band).is_some_and(|bound| *bound <= gap) {
            band += 1;
        }
        band
    }
}

/// The number of candidates of each block in each band.
struct Census {
    blocks: Vec<[u32; BANDS]>,
}

impl Census {
    fn new<G: Fn(usize) -> u64 + Sync>(gaps: &Gaps<G>, bands: &Bands) -> Self {
        let blocks = (0..gaps.candidates.div_ceil(BLOCK)).into_par_iter().map(|block| {
            let mut counts = [0_u32; BANDS];
            for candidate in block_of(block, gaps.candidates) {
                counts[bands.of((gaps.gap)(candidate))] += 1;
            }
            counts
        });
        Self { blocks: blocks.collect() }
    }

    /// `2³¹⁻ᵏ` times the number of candidates in band k. All of them together are below 2⁶³.
    fn weights(&self) -> [u64; BANDS] {
        let mut weights = [0; BANDS];
        for counts in &self.blocks {
            let shifted = (0..BANDS).map(|band| u64::from(counts[band]) << (BANDS - 1 - band));
            weights.iter_mut().zip(shifted).for_each(|(weight, more)| *weight += more);
        }
        weights
    }

    /// The candidate at a given position within a band.
    fn at<G: Fn(usize) -> u64>(
        &self,
        gaps: &Gaps<G>,
        bands: &Bands,
        mut place: u64,
        band: usize,
    ) -> usize {
        for (block, counts) in self.blocks.iter().enumerate() {
            let own = u64::from(counts[band]);
            if place < own {
                let place = usize::try_from(place).unwrap_or(0);
                let mut candidates = block_of(block, gaps.candidates)
                    .filter(|candidate| bands.of((gaps.gap)(*candidate)) == band);
                return candidates.nth(place).unwrap_or(0);
            }
            place -= own;
        }
        0
    }
}

/// The candidates of a block.
fn block_of(block: usize, candidates: usize) -> Range<usize> {
    block * BLOCK..((block + 1) * BLOCK).min(candidates)
}

/// The exponential mechanism: `P[i] ∝ exp(−γ_i)`.
///
/// A trial proposes a candidate of band k with probability proportional to `2⁻ᵏ`, in whole numbers, and accepts it
/// with probability `2ᵏ exp(−γ) = (2/e)ᵏ exp(−(γ − k))`. Few trials are needed even to find one candidate among many
/// millions: if n candidates share the probability with the best one, about `n^0.31` are tried.
pub(crate) fn exponential<G, R>(gaps: &Gaps<G>, rng: &mut R) -> usize
where
    G: Fn(usize) -> u64 + Sync,
    R: CryptoRng + ?Sized,
{
    let bands = gaps.bands();
    let census = Census::new(gaps, &bands);
    let weights = census.weights();
    let all = weights.iter().sum();
    let mut coins = InverseE::default();
    loop {
        let (mut band, mut place) = (0, uniform_below(all, rng));
        while place >= weights[band] {
            place -= weights[band];
            band += 1;
        }
        if (0..band).all(|_| coins.flip_twice_as_likely(rng)) {
            let proposal = census.at(gaps, &bands, place >> (BANDS - 1 - band), band);
            let (numerator, denominator) = gaps.gamma(proposal);
            if bernoulli_exp_fraction(numerator - band as u128 * denominator, denominator, rng) {
                return proposal;
            }
        }
    }
}

/// Permute-and-flip among the candidates not yet rejected: flips a coin of probability exp(−γ) for each one and draws
/// uniformly among the successes. (The first accepted candidate in random order is uniform among all that would be
/// accepted.)
///
/// Blocks of candidates run in parallel, each with its own generator, seeded from `rng`. Neither the size of the blocks
/// nor the draws depend on the number of threads.
///
/// `refused`: sorted. It does not contain the best candidate.
pub(crate) fn permute_and_flip<G, R>(gaps: &Gaps<G>, refused: &[usize], rng: &mut R) -> usize
where
    G: Fn(usize) -> u64 + Sync,
    R: CryptoRng + ?Sized,
{
    let bands = gaps.bands();
    let mut blocks = Vec::with_capacity(gaps.candidates.div_ceil(BLOCK));
    for block in 0..gaps.candidates.div_ceil(BLOCK) {
        let mut seed = <ChaCha20Rng as SeedableRng>::Seed::default();
        rng.fill_bytes(&mut seed);
        blocks.push((block_of(block, gaps.candidates), seed));
    }
    let accepted: Vec<(u64, usize)> = blocks
        .into_par_iter()
        .map(|(block, seed)| {
            let mut rng = ChaCha20Rng::from_seed(seed);
            accepted_in(gaps, block, &bands.bounds, refused, &mut rng)
        })
        .collect();
    let mut place = uniform_below(accepted.iter().map(|(number, _)| number).sum(), rng);
    for (number, chosen) in accepted {
        if place < number {
            return chosen;
        }
        place -= number;
    }
    debug_assert!(false, "the best candidate is accepted for certain");
    0
}

/// The number of accepted candidates in a block, and one of them drawn uniformly.
fn accepted_in<G: Fn(usize) -> u64, R: CryptoRng + ?Sized>(
    gaps: &Gaps<G>,
    block: Range<usize>,
    bounds: &[u64],
    refused: &[usize],
    rng: &mut R,
) -> (u64, usize) {
    let first = refused.partition_point(|candidate| *candidate < block.start);
    let mut refused = refused[first..].iter().copied().peekable();
    let mut coins = InverseE::default();
    let (mut chosen, mut accepted) = (0, 0_u64);
    for candidate in block {
        if refused.next_if_eq(&candidate).is_some() {
            continue;
        }
        // First flip the coins of probability e⁻¹ for the whole part of γ: most candidates fail one of them.
        let gap = (gaps.gap)(candidate);
        let band = bounds.iter().take_while(|bound| **bound <= gap && coins.flip(rng)).count();
        if bounds.get(band).is_some_and(|bound| *bound <= gap) {
            continue;
        }
        let (numerator, denominator) = gaps.gamma(candidate);
        if bernoulli_exp_fraction(numerator - band as u128 * denominator, denominator, rng) {
            accepted += 1;
            if uniform_below(accepted, rng) == 0 {
                chosen = candidate;
            }
        }
    }
    (accepted, chosen)
}
