//! Sets of attributes as bits, for elimination.

/// A set of attribute positions.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct AttributeSet(Vec<u64>);

impl Clone for AttributeSet {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }

    /// Reuses the existing memory, which the derived method would not.
    fn clone_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }
}

impl AttributeSet {
    pub(super) fn empty(attributes: usize) -> Self {
        Self(vec![0; attributes.div_ceil(64)])
    }

    /// All of this number of attributes.
    pub(super) fn all(attributes: usize) -> Self {
        let mut set = Self::empty(attributes);
        (0..attributes).for_each(|a| set.insert(a));
        set
    }

    pub(super) fn insert(&mut self, attribute: usize) {
        self.0[attribute / 64] |= 1 << (attribute % 64);
    }

    pub(super) fn remove(&mut self, attribute: usize) {
        self.0[attribute / 64] &= !(1 << (attribute % 64));
    }

    pub(super) fn contains(&self, attribute: usize) -> bool {
        self.0[attribute / 64] & (1 << (attribute % 64)) != 0
    }

    pub(super) fn union_with(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    pub(super) fn intersect_with(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
    }

    pub(super) fn is_subset(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a & !b == 0)
    }

    pub(super) fn len(&self) -> u32 {
        self.0.iter().map(|w| w.count_ones()).sum()
    }

    /// Number of elements that are not in `other`.
    pub(super) fn count_outside(&self, other: &Self) -> u32 {
        self.0.iter().zip(&other.0).map(|(a, b)| (a & !b).count_ones()).sum()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(word, &bits)| {
            std::iter::successors((bits != 0).then_some(bits), |b| {
                let rest = b & (b - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |b| word * 64 + b.trailing_zeros() as usize)
        })
    }
}
