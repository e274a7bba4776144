//! Values computed from records, before noise.

use crate::curator::Paid;
use crate::error::{Error, Result};

/// A value computed from private records, sealed until noise is added and paid for.
///
/// Code can compute with it ([`map`](Self::map), [`zip`](Self::zip)) but cannot read it: it has no `Debug`, `Display`,
/// `Clone` or `Serialize`, and only the privacy path opens it. The type of the closure passed to `map` excludes captured
/// `&mut` and cells. The closure must not leak the value in ways that no type excludes: locks, atomics, files, printing,
/// a panic on a value. `tests/audit/doors.rs` looks for these in the source. The length of a sealed list is stated outside
/// the seal and checked when the list is opened, so that no length depends on the records.
///
/// ```compile_fail
/// fn carry(value: jointly_privacy::Sensitive<u32>) -> u32 {
///     let mut out = 0;
///     let _ = value.map(|value| out = value);
///     out
/// }
/// ```
/// ```compile_fail
/// fn carry(value: jointly_privacy::Sensitive<u32>) -> u32 {
///     let out = std::cell::Cell::new(0);
///     let _ = value.map(|value| out.set(value));
///     out.get()
/// }
/// ```
/// ```compile_fail
/// fn carry(value: jointly_privacy::Sensitive<u32>) -> Vec<u32> {
///     let out = std::cell::RefCell::new(Vec::new());
///     let _ = value.map(|value| out.borrow_mut().push(value));
///     out.into_inner()
/// }
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
/// fn open(value: jointly_privacy::Sensitive<u32>) -> u32 { value.0 }
/// ```
#[must_use]
pub struct Sensitive<T>(T);

impl<T> Sensitive<T> {
    /// Seals a value: whoever reads private records does this first.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// Opens the value for an access that the ledger has recorded.
    pub(crate) fn open(self, _paid: &Paid<'_>) -> T {
        self.0
    }

    /// Computes with the value; the result stays sealed.
    ///
    /// `f` can neither move nor change what it captures ([`Fn`]), nor change it through a cell ([`Sync`]), so that it
    /// has no simple way to carry the value out.
    pub fn map<U>(self, f: impl Fn(T) -> U + Sync) -> Sensitive<U> {
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
    /// Opens a list for an access that the ledger has recorded. Its length was stated outside the seal, before any record
    /// was read. A closure that made it depend on the records has broken the seal: then nothing comes out, not even the
    /// length.
    ///
    /// # Errors
    /// Another length than the stated one.
    pub(crate) fn open_all(self, stated: usize, _paid: &Paid<'_>) -> Result<Vec<T>> {
        if self.0.len() == stated {
            return Ok(self.0);
        }
        let expected = "as many as were stated before they were computed";
        Err(Error::invalid_parameter("sealed numbers", "another number of them", expected))
    }
}

#[cfg(test)]
mod tests;
