//! Scores of a selection, with the sensitivity that follows from what they compare.

use crate::error::Result;
use crate::source::Source;
use crate::{NeighboringRelation, ScoreSensitivity, Sensitive};

/// Scores of candidates, sealed, with their sensitivity. [`Curator::select`](crate::Curator::select) takes them.
///
/// They come from comparisons: [`SealedMarginals::cell_errors`](crate::SealedMarginals::cell_errors) and its neighbors,
/// [`L1Errors::gains`](crate::L1Errors::gains) and its neighbors, or a type of one's own ([`Score`]).
///
/// ```compile_fail
/// # fn doubled(scores: jointly_privacy::Scores) -> jointly_privacy::Scores {
/// scores.map(|scores| scores.iter().map(|score| 2.0 * score).collect()) // with the sensitivity of the half
/// # }
/// ```
/// ```compile_fail
/// # fn forged(scores: jointly_privacy::Scores, small: jointly_privacy::ScoreSensitivity) -> jointly_privacy::Scores {
/// jointly_privacy::Scores { sensitivity: small, ..scores }
/// # }
/// ```
#[must_use]
pub struct Scores {
    source: Source,
    candidates: usize,
    sensitivity: ScoreSensitivity,
    /// A bound on what one distance in a score adds up, in counts.
    norm: f64,
    values: Sensitive<Vec<f64>>,
}

/// Scores of a type of one's own, with their proof in one place.
///
/// An implementation states how much one record changes a score, and proves it in its documentation. It is audited as
/// the library's own: [`Curator::with_neighbors`](crate::Curator::with_neighbors) shows how much the scores of a run change
/// between neighbors, beside what was stated.
///
/// ```
/// use jointly_pgm::{Clique, Dataset, Domain};
/// use jointly_privacy::{
///     Curator, NeighboringRelation, NoiseSeed, Result, Rho, Score, ScoreSensitivity, Selection,
/// };
///
/// /// The counts of a marginal of three cells. One record changes a count by at most 1.
/// struct Largest;
///
/// impl Score for Largest {
///     fn candidates(&self) -> usize {
///         3
///     }
///     fn sensitivity(&self, relation: NeighboringRelation) -> Result<ScoreSensitivity> {
///         Ok(ScoreSensitivity::cell_error(relation))
///     }
///     fn scores(&self, marginals: &[Vec<u32>]) -> Vec<f64> {
///         marginals[0].iter().map(|count| f64::from(*count)).collect()
///     }
/// }
///
/// let table = |rows: [[u32; 1]; 4]| Dataset::from_rows(Domain::new([("sex", 3)])?, &rows);
/// let (private, neighbor) = (table([[0], [2], [2], [1]])?, table([[0], [2], [0], [1]])?);
/// let relation = NeighboringRelation::ReplaceOne;
/// let curator = Curator::new(&private, relation, Rho::from_f64(1.0)?, NoiseSeed::Fixed(1))?;
/// let mut curator = curator.with_neighbors(vec![&neighbor])?; // an audit, which is not private
/// let scores = curator.marginals(&[Clique::new([0])])?.score(&Largest)?;
/// curator.select(Selection::Exponential, scores, Rho::from_f64(0.5)?, "the most frequent")?;
/// assert_eq!((curator.changes()[0].largest, curator.changes()[0].stated), (1.0, 1.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Score: Sync {
    /// The number of candidates. It does not depend on the records.
    fn candidates(&self) -> usize;

    /// The largest difference of one score between neighbors.
    ///
    /// # Errors
    /// Parameters of the scores out of range.
    fn sensitivity(&self, relation: NeighboringRelation) -> Result<ScoreSensitivity>;

    /// The scores, from the exact marginals. Nothing else may leave: no printing, no files, no panic on a count.
    fn scores(&self, marginals: &[Vec<u32>]) -> Vec<f64>;
}

impl Scores {
    pub(crate) fn new(
        source: &Source,
        candidates: usize,
        sensitivity: ScoreSensitivity,
        norm: f64,
        values: Sensitive<Vec<f64>>,
    ) -> Self {
        Self { source: source.clone(), candidates, sensitivity, norm, values }
    }

    /// The number of candidates.
    pub fn candidates(&self) -> usize {
        self.candidates
    }

    /// The largest difference of one score between neighbors.
    pub fn sensitivity(&self) -> ScoreSensitivity {
        self.sensitivity
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Refuses scores whose floating-point errors may exceed what a selection allows for.
    pub(crate) fn check_precision(&self) -> Result<()> {
        self.sensitivity.check_precision(self.norm)
    }

    pub(crate) fn values(&self) -> &Sensitive<Vec<f64>> {
        &self.values
    }

    pub(crate) fn into_values(self) -> Sensitive<Vec<f64>> {
        self.values
    }
}
