//! Values computed from records, before noise.

use crate::privacy::curator::Paid;

/// A value computed from private records, sealed until noise is added and paid for.
///
/// Code can compute with it ([`map`](Self::map), [`zip`](Self::zip)) but cannot read it: it has no `Debug`, `Display`,
/// `Clone` or `Serialize`, and only the privacy path opens it. A closure passed to `map` must not leak the value: no
/// captured `&mut`, no printing, no panicking on a value, no list whose length depends on it.
///
/// ```compile_fail
/// fn show(value: jointly::privacy::Sensitive<u32>) { println!("{value:?}"); }
/// ```
/// ```compile_fail
/// fn show(value: jointly::privacy::Sensitive<u32>) -> String { serde_json::to_string(&value).unwrap() }
/// ```
/// ```compile_fail
/// fn open(value: jointly::privacy::Sensitive<u32>) -> u32 { value.0 }
/// ```
#[must_use]
pub struct Sensitive<T>(T);

impl<T> Sensitive<T> {
    /// Seals a value.
    pub(in crate::privacy) fn new(value: T) -> Self {
        Self(value)
    }

    /// Opens the value for an access that the ledger has recorded.
    pub(in crate::privacy) fn open(self, _paid: &Paid<'_>) -> T {
        self.0
    }

    /// Computes with the value; the result stays sealed.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Sensitive<U> {
        Sensitive(f(self.0))
    }

    /// The same value, by reference.
    pub fn as_ref(&self) -> Sensitive<&T> {
        Sensitive(&self.0)
    }

    /// Two sealed values as a sealed pair.
    pub fn zip<U>(self, other: Sensitive<U>) -> Sensitive<(T, U)> {
        Sensitive((self.0, other.0))
    }
}

impl<T> Sensitive<Vec<T>> {
    /// The number of values. It is fixed before any record is read, like the number of candidates or queries, and is
    /// written into the ledger. A closure that made it depend on the records would break the seal.
    pub(in crate::privacy) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
#[path = "../../tests/unit/privacy_sensitive.rs"]
mod tests;
