//! The public records, reweighted, and records drawn from a fit of the same measurements, as one model.

use std::sync::Arc;

use crate::data::{Dataset, Projectable};
use crate::domain::Clique;
use crate::error::Result;
use crate::mechanism::anchor_pgm::rows::{drawn_beside, drawn_from};
use crate::model::{Distribution, MarkovRandomField, WeightedSupport};

/// A mixture of both. A fit of limited size misses what many attributes have in common, and reweighted records keep it; records
/// are few, and a fit smooths over what they are by chance.
#[derive(Clone)]
pub(super) struct Mixture {
    parts: Arc<Parts>,
    /// The share of the public records.
    share: f64,
}

/// What all mixtures of a run are made of.
struct Parts {
    public: WeightedSupport,
    drawn: Dataset,
}

impl Mixture {
    /// One mixture for each share of the public records.
    pub(super) fn each(
        public: &WeightedSupport,
        records: usize,
        fit: &MarkovRandomField,
        shares: &[f64],
    ) -> Result<Vec<Self>> {
        let drawn = drawn_from(fit, drawn_beside(records))?;
        let parts = Arc::new(Parts { public: public.clone(), drawn });
        Ok(shares.iter().map(|share| Self { parts: Arc::clone(&parts), share: *share }).collect())
    }

    /// The marginals of mixtures of the same parts, clique by clique; each part is counted once for all of them.
    pub(super) fn marginals<'m>(
        mixtures: &'m [&Self],
        cliques: &[Clique],
    ) -> Result<impl Iterator<Item = Vec<Vec<f64>>> + 'm> {
        let (mut of_public, mut of_drawn, mut scale) = (Vec::new(), Vec::new(), 0.0);
        if let Some(Self { parts, .. }) = mixtures.first() {
            of_public = parts.public.marginals(cliques)?;
            of_drawn = parts.drawn.project_many(cliques)?;
            scale = parts.public.total() / parts.drawn.records() as f64;
        }
        Ok(of_public.into_iter().zip(of_drawn).map(move |(public, drawn)| {
            let of = |mixture: &&Self| {
                let share = mixture.share;
                let cells = public.values().iter().zip(&drawn);
                cells.map(|(p, d)| share * p + (1.0 - share) * scale * f64::from(*d)).collect()
            };
            mixtures.iter().map(of).collect()
        }))
    }

    /// The mixture as a list of records.
    pub(super) fn listed(&self) -> Result<WeightedSupport> {
        let Parts { public, drawn } = &*self.parts;
        let sum: f64 = public.weights().iter().sum();
        let own = public.weights().iter().map(|weight| self.share * weight / sum);
        let each = (1.0 - self.share) / drawn.records() as f64;
        let weights = own.chain(std::iter::repeat_n(each, drawn.records())).collect();
        let rows = Dataset::joined(public.domain(), &[public.rows(), drawn])?;
        WeightedSupport::new(&rows, weights, public.total())
    }
}

#[cfg(test)]
mod tests;
