//! Values computed from records, before noise.

use crate::curator::Paid;
use crate::error::{Error, Result};

/// A value computed from private records, sealed until noise is added and paid for.
///
/// Whoever reads private records may seal what was read ([`new`](Self::new)). Code outside this crate can do nothing else
/// with it: there is no `Debug`, `Display`, `Clone` or `Serialize`, and only this crate computes with it or opens it, for an
/// access that the ledger has recorded.
///
/// In an audit ([`Curator::with_neighbors`](crate::Curator::with_neighbors)) it also holds what the same computation gives
/// for neighbors of the private table, so that the largest change is seen beside the sensitivity that is stated for it.
///
/// ```compile_fail
/// fn carry(value: jointly_privacy::Sensitive<u32>) -> u32 { let _ = value.map(|value| println!("{value}")); 0 }
/// ```
/// ```compile_fail
/// fn copy(value: &jointly_privacy::Sensitive<u32>) -> jointly_privacy::Sensitive<u32> { value.clone() }
/// ```
/// ```compile_fail
/// fn show(value: jointly_privacy::Sensitive<u32>) { println!("{value:?}"); }
/// ```
/// ```compile_fail
/// fn show(value: jointly_privacy::Sensitive<u32>) -> String { serde_json::to_string(&value).unwrap() }
/// ```
/// ```compile_fail
/// fn open(value: jointly_privacy::Sensitive<u32>) -> u32 { value.value }
/// ```
#[must_use]
pub struct Sensitive<T> {
    value: T,
    /// The same of neighboring tables; empty but in an audit.
    neighbors: Vec<T>,
}

impl<T> Sensitive<T> {
    /// Seals a value: whoever reads private records does this first.
    pub fn new(value: T) -> Self {
        Self { value, neighbors: Vec::new() }
    }

    /// A value beside those of neighboring tables.
    pub(crate) fn beside(value: T, neighbors: Vec<T>) -> Self {
        Self { value, neighbors }
    }

    /// Opens the value for an access that the ledger has recorded.
    pub(crate) fn open(self, _paid: &Paid<'_>) -> T {
        self.value
    }

    #[cfg(test)]
    pub(crate) fn value(&self) -> &T {
        &self.value
    }

    /// Computes with the value by reference; the result is sealed.
    pub(crate) fn map<U>(&self, f: impl Fn(&T) -> U) -> Sensitive<U> {
        Sensitive { value: f(&self.value), neighbors: self.neighbors.iter().map(f).collect() }
    }

    /// Changes the value by another one.
    pub(crate) fn update<U>(&mut self, other: &Sensitive<U>, f: impl Fn(&mut T, &U)) {
        f(&mut self.value, &other.value);
        self.neighbors.iter_mut().zip(&other.neighbors).for_each(|(own, other)| f(own, other));
    }

    /// What a function says of the value beside each of its neighbors, in an audit: of a value with a fixed seed, which is
    /// not private.
    pub(crate) fn compare(&self, f: impl Fn(&T, &T) -> f64) -> Vec<f64> {
        self.neighbors.iter().map(|neighbor| f(&self.value, neighbor)).collect()
    }
}

impl<T> Sensitive<Vec<T>> {
    /// Opens a list for an access that the ledger has recorded. Its length was stated outside the seal, before any record
    /// was read. If it depends on the records, nothing comes out, not even the length.
    ///
    /// # Errors
    /// Another length than the stated one.
    pub(crate) fn open_all(self, stated: usize, _paid: &Paid<'_>) -> Result<Vec<T>> {
        if self.value.len() == stated {
            return Ok(self.value);
        }
        let expected = "as many as were stated before they were computed";
        Err(Error::invalid_parameter("sealed numbers", "another number of them", expected))
    }
}

#[cfg(test)]
mod tests;
