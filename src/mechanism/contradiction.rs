//! When measurements contradict what a public table says.

/// t of the test: by chance alone, a measurement fails it with a probability of at most `e⁻ᵗ`.
const DOUBT: f64 = 6.0;

/// Whether `squares`, the sum of squared standardized differences of so many cells, is more than noise explains:
/// `χ² > k + 2 √(k t) + 2 t` (Laurent & Massart 2000, Lemma 1).
pub(super) fn is_contradiction(squares: f64, cells: usize) -> bool {
    let cells = cells as f64;
    squares > cells + 2.0 * (cells * DOUBT).sqrt() + 2.0 * DOUBT
}
