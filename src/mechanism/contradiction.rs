//! When measurements contradict what a public table says.

/// t of the test: by chance alone, a measurement fails it with a probability of at most `e⁻ᵗ`.
const DOUBT: f64 = 6.0;

/// Whether the differences of a marginal's cells are larger than noise explains:
/// `χ² > k + 2 √(k t) + 2 t` (Laurent & Massart 2000, Lemma 1).
///
/// `squares`: χ², the sum of the squared differences, each divided by its variance. `cells`: k.
pub(super) fn is_contradiction(squares: f64, cells: usize) -> bool {
    let cells = cells as f64;
    squares > cells + 2.0 * (cells * DOUBT).sqrt() + 2.0 * DOUBT
}
