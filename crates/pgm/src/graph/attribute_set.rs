//! Sets of attributes as bits, for elimination.

use std::fmt::Debug;

/// A set of attribute positions. How many fit is a matter of the type, so that sets of few attributes need no memory of their
/// own ([`Words`]), and those of many have no limit ([`ManyWords`]).
pub(super) trait AttributeSet: Clone + Debug + Default + PartialEq + Send + Sync {
    /// No attributes, of this number of attributes at most.
    fn empty(attributes: usize) -> Self;

    fn words(&self) -> &[u64];

    fn words_mut(&mut self) -> &mut [u64];

    /// All of this number of attributes.
    fn all(attributes: usize) -> Self {
        let mut set = Self::empty(attributes);
        (0..attributes).for_each(|a| set.insert(a));
        set
    }

    fn insert(&mut self, attribute: usize) {
        self.words_mut()[attribute / 64] |= 1 << (attribute % 64);
    }

    fn remove(&mut self, attribute: usize) {
        self.words_mut()[attribute / 64] &= !(1 << (attribute % 64));
    }

    fn contains(&self, attribute: usize) -> bool {
        self.words()[attribute / 64] & (1 << (attribute % 64)) != 0
    }

    fn union_with(&mut self, other: &Self) {
        self.words_mut().iter_mut().zip(other.words()).for_each(|(a, b)| *a |= b);
    }

    fn intersect_with(&mut self, other: &Self) {
        self.words_mut().iter_mut().zip(other.words()).for_each(|(a, b)| *a &= b);
    }

    fn remove_all(&mut self, other: &Self) {
        self.words_mut().iter_mut().zip(other.words()).for_each(|(a, b)| *a &= !b);
    }

    fn is_subset(&self, other: &Self) -> bool {
        self.words().iter().zip(other.words()).all(|(a, b)| a & !b == 0)
    }

    fn len(&self) -> u32 {
        self.words().iter().map(|w| w.count_ones()).sum()
    }

    /// Number of elements that are not in `other`.
    fn count_outside(&self, other: &Self) -> u32 {
        self.words().iter().zip(other.words()).map(|(a, b)| (a & !b).count_ones()).sum()
    }

    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let words = self.words().iter().enumerate();
        words.flat_map(|(word, bits)| Ones(*bits).map(move |bit| 64 * word + bit))
    }
}

/// The places of the ones of a word.
struct Ones(u64);

impl Iterator for Ones {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let place = self.0.trailing_zeros();
        // Clears the lowest one; 0 stays 0.
        self.0 &= self.0.wrapping_sub(1);
        (place < 64).then_some(place as usize)
    }
}

/// At most `64 W` attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Words<const W: usize>([u64; W]);

impl<const W: usize> Default for Words<W> {
    fn default() -> Self {
        Self([0; W])
    }
}

impl<const W: usize> AttributeSet for Words<W> {
    fn empty(_attributes: usize) -> Self {
        Self::default()
    }

    fn words(&self) -> &[u64] {
        &self.0
    }

    fn words_mut(&mut self) -> &mut [u64] {
        &mut self.0
    }
}

/// Any number of attributes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ManyWords(Vec<u64>);

impl Clone for ManyWords {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }

    /// Reuses the existing memory, which the derived method would not.
    fn clone_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }
}

impl AttributeSet for ManyWords {
    fn empty(attributes: usize) -> Self {
        Self(vec![0; attributes.div_ceil(64)])
    }

    fn words(&self) -> &[u64] {
        &self.0
    }

    fn words_mut(&mut self) -> &mut [u64] {
        &mut self.0
    }
}
