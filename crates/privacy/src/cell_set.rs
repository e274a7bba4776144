//! Sets of cells of one marginal, for counts of the records in them.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A box of cells of one marginal: a range of codes for each attribute of a clique, in the clique's order.
///
/// A ledger writes it as `[[from, before], …]`.
///
/// ```
/// use jointly_privacy::CellSet;
/// let cells = CellSet::new([0..2, 1..3])?; // of a marginal of 2 by 4 cells, say
/// assert_eq!(cells.cells(&[2, 4]), [1, 2, 5, 6]);
/// assert!(CellSet::new([3..3]).is_err());
/// # Ok::<(), jointly_privacy::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(u32, u32)>", into = "Vec<(u32, u32)>")]
pub struct CellSet(Vec<(u32, u32)>);

impl CellSet {
    /// The cells with codes in all of these ranges.
    ///
    /// # Errors
    /// A range without a code.
    pub fn new(ranges: impl IntoIterator<Item = Range<u32>>) -> Result<Self> {
        Self::try_from(ranges.into_iter().map(|range| (range.start, range.end)).collect::<Vec<_>>())
    }

    /// The range of codes of each attribute.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u32>> {
        self.0.iter().map(|(from, before)| *from..*before)
    }

    /// The cells of a table of a shape, row-major, in increasing order.
    pub fn cells(&self, shape: &[usize]) -> Vec<usize> {
        self.0.iter().zip(shape).fold(vec![0], |cells, ((from, before), values)| {
            let codes = |cell| (*from..*before).map(move |code| cell * values + code as usize);
            cells.into_iter().flat_map(codes).collect()
        })
    }

    /// Refuses a set that is not of a table of a shape.
    pub(crate) fn check(&self, shape: &[usize]) -> Result<()> {
        let is_inside = |((_, before), values): (&(u32, u32), &usize)| *before as usize <= *values;
        if self.0.len() == shape.len() && self.0.iter().zip(shape).all(is_inside) {
            return Ok(());
        }
        let expected = format!("a range of codes for each attribute, of {shape:?} values");
        Err(Error::invalid_specification("cells to sum", format!("{:?}", self.0), expected))
    }
}

impl TryFrom<Vec<(u32, u32)>> for CellSet {
    type Error = Error;

    fn try_from(ranges: Vec<(u32, u32)>) -> Result<Self> {
        if let Some((from, before)) = ranges.iter().find(|(from, before)| from >= before) {
            let found = format!("codes from {from} to before {before}");
            return Err(Error::invalid_specification("cells to sum", found, "at least one code"));
        }
        Ok(Self(ranges))
    }
}

impl From<CellSet> for Vec<(u32, u32)> {
    fn from(cells: CellSet) -> Self {
        cells.0
    }
}
