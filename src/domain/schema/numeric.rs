//! The bins of a numeric column.

use super::notation::Notation;
use super::piece::{Outside, Piece, wrong};
use crate::error::{Error, Result};

/// Largest edge at which every integer is still a distinct `f64`.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Left-closed bins `[e_i, e_{i+1})` of a number, with increasing edges `e`.
#[derive(Clone, Debug, PartialEq)]
pub struct Bins {
    edges: Vec<f64>,
    integer: bool,
    outside: Outside,
    pieces: Vec<Piece>,
    notation: Option<Notation>,
}

impl Bins {
    /// Checks the edges. `integer`: whether the values are whole numbers; `None` decides it from the edges.
    ///
    /// Values are taken as whole numbers when every edge is a multiple of one half (`0`, `-0.5`, `0.5`, `2500`)
    /// and every bin holds a whole number.
    ///
    /// # Errors
    /// Fewer than two edges, edges that are not finite or do not increase, or `integer: Some(true)` with a
    /// bin that holds no whole number. `place` names the column in them.
    pub fn new(edges: Vec<f64>, integer: Option<bool>, place: &str) -> Result<Self> {
        let wrong = |found: String, expected: &str| {
            Err(Error::invalid_specification(place, found, expected))
        };
        if edges.len() < 2 {
            return wrong(format!("{} edges", edges.len()), "at least two");
        }
        if let Some(edge) = edges.iter().find(|e| !e.is_finite()) {
            return wrong(format!("edge {edge}"), "finite edges");
        }
        if let Some([edge, next, ..]) = edges.windows(2).find(|w| w[0] >= w[1]) {
            return wrong(format!("edge {edge} followed by {next}"), "increasing edges");
        }
        let empty = edges.windows(2).find(|w| w[0].ceil() >= w[1]);
        let integer = match integer {
            Some(true) => {
                if let Some([low, high, ..]) = empty {
                    return wrong(
                        format!("bin [{low}, {high}) without a whole number"),
                        "bins that hold one, or no 'integer'",
                    );
                }
                if edges.iter().any(|e| e.abs() > EXACT) {
                    return wrong("an edge beyond 2^53".into(), "smaller edges of whole numbers");
                }
                true
            }
            Some(false) => false,
            None => {
                let halves = edges.iter().all(|e| e.abs() <= EXACT && (2.0 * e).fract() == 0.0);
                halves && empty.is_none()
            }
        };
        Ok(Self { edges, integer, outside: Outside::Refuse, pieces: Vec::new(), notation: None })
    }

    /// Parts of these bins, which were checked.
    pub(super) fn of_parts(&self, edges: Vec<f64>, pieces: Vec<Piece>) -> Self {
        Self { edges, pieces, ..self.clone() }
    }

    /// The same bins for numbers that are written in another way. Where they are not whole, the notation gets a decimal mark if it
    /// has none.
    #[must_use]
    pub fn with_notation(mut self, notation: Option<Notation>) -> Self {
        let is_integer = self.integer;
        self.notation = notation.map(|own| if is_integer { own } else { own.with_fractions() });
        self
    }

    /// The same bins for the column of others: with the same meaning of values outside, and the same notation.
    #[must_use]
    pub(crate) fn in_place_of(self, others: &Self) -> Self {
        self.with_outside(others.outside).with_notation(others.notation.clone())
    }

    /// How the numbers are written in tables, if not plainly.
    pub fn notation(&self) -> Option<&Notation> {
        self.notation.as_ref()
    }

    /// The same bins, with another meaning of values outside all of them.
    #[must_use]
    pub fn with_outside(mut self, outside: Outside) -> Self {
        self.outside = outside;
        self
    }

    /// The same bins, with pieces from which values are drawn on decoding; bins without one are drawn from evenly.
    ///
    /// # Errors
    /// A piece that does not lie in one bin, overlaps the next or is not in order; in a column of whole numbers, one
    /// with another end or step. `place` names the column in them.
    pub fn with_pieces(mut self, pieces: Vec<Piece>, place: &str) -> Result<Self> {
        for piece in &pieces {
            piece.check(self.integer, place)?;
            let bin = self.find(piece.from).and_then(|bin| self.edges.get(bin as usize + 1));
            if bin.is_none_or(|end| piece.below > *end) {
                return Err(wrong(place, &piece.numbers(), "numbers inside one bin"));
            }
        }
        if let Some([_, next, ..]) =
            pieces.windows(2).find(|w| w[0].from >= w[1].from || w[0].below > w[1].from)
        {
            return Err(wrong(place, &next.numbers(), "increasing pieces that do not overlap"));
        }
        self.pieces = pieces;
        Ok(self)
    }

    /// The edges, one more than bins.
    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    /// Whether the values are whole numbers.
    pub fn is_integer(&self) -> bool {
        self.integer
    }

    /// Number of bins.
    pub fn count(&self) -> u32 {
        u32::try_from(self.edges.len() - 1).unwrap_or(u32::MAX)
    }

    /// What a value outside all bins becomes when a table is read.
    pub fn outside(&self) -> Outside {
        self.outside
    }

    /// The pieces of all bins, in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The pieces of one bin, from which its values are drawn on decoding; empty where they are drawn evenly.
    pub fn pieces_of(&self, bin: u32) -> &[Piece] {
        let edge = |bin: usize| self.edges.get(bin).copied().unwrap_or(f64::INFINITY);
        let first = |edge: f64| self.pieces.partition_point(|piece| piece.from < edge);
        let bin = bin as usize;
        self.pieces.get(first(edge(bin))..first(edge(bin.saturating_add(1)))).unwrap_or_default()
    }

    /// The bin of a value in a table: the one that holds it, or the nearest if the column clamps
    /// ([`Outside::Clamp`]). `None` for a value that is refused, and for NaN.
    pub fn code(&self, value: f64) -> Option<u32> {
        match (self.find(value), self.outside) {
            (None, Outside::Clamp) if value < self.edges[0] => Some(0),
            (None, Outside::Clamp) if value >= self.edges[0] => Some(self.count() - 1),
            (bin, _) => bin,
        }
    }

    /// The bin that holds a value; `None` outside all of them, and for NaN.
    pub fn find(&self, value: f64) -> Option<u32> {
        let after = self.edges.partition_point(|e| *e <= value);
        (after > 0 && after < self.edges.len()).then(|| u32::try_from(after - 1).ok()).flatten()
    }

    /// The part of a bin without pieces from which values are drawn on decoding, `[low, high)`.
    ///
    /// It is the bin itself, except that an outer bin more than 10 times as wide as both its neighbor and
    /// the median bin stands for "so much or more": it is cut, at its outer side, to the larger of those
    /// two widths. Thus `[500000, 10000000)` after `[400000, 500000)` gives values below 600000.
    pub fn plausible(&self, bin: u32) -> (f64, f64) {
        const WIDE: f64 = 10.0;
        let (bin, last) = (bin as usize, self.edges.len() - 2);
        let bin = bin.min(last);
        let (low, high) = (self.edges[bin], self.edges[bin + 1]);
        if last < 2 || (bin != 0 && bin != last) {
            return (low, high);
        }
        let mut widths: Vec<f64> = self.edges.windows(2).map(|w| w[1] - w[0]).collect();
        let neighbor = widths[if bin == 0 { 1 } else { last - 1 }];
        widths.sort_by(f64::total_cmp);
        let width = neighbor.max(widths[widths.len() / 2]);
        if high - low <= WIDE * width {
            return (low, high);
        }
        let (cut_low, cut_high) = if bin == 0 { (high - width, high) } else { (low, low + width) };
        // Do not cut if the bin would lose its last whole number.
        if self.integer && cut_low.ceil() >= cut_high {
            return (low, high);
        }
        (cut_low, cut_high)
    }
}

#[cfg(test)]
mod tests;
