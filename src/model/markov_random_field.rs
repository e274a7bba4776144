//! Graphical models among the other kinds of models.

use rand::Rng;

use crate::data::Dataset;
use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::model::stored_factors::factors;
use crate::model::{
    Distribution, Evidence, MarkovRandomField, Model, Refinement, Sampling, StoredForm, impossible,
};
use crate::table::Factor;

impl Distribution for MarkovRandomField {
    fn domain(&self) -> &Domain {
        self.domain()
    }

    fn total(&self) -> f64 {
        self.total()
    }

    fn size_mib(&self) -> f64 {
        self.size_mib()
    }

    fn marginals(&self, cliques: &[Clique]) -> Result<Vec<Factor>> {
        Ok(self.marginals(cliques)?)
    }

    fn draw(&self, records: usize, method: Sampling, rng: &mut dyn Rng) -> Result<Dataset> {
        Ok(self.sample(records, method, rng)?)
    }

    fn refined(
        &self,
        records: usize,
        refinement: &Refinement,
        rng: &mut dyn Rng,
    ) -> Result<Dataset> {
        let drawn = self.sample_without(records, &refinement.unlikely, rng)?;
        Ok(self.refine(&drawn, refinement)?)
    }

    /// Values that cannot be become structural zeros of the domain, and potentials have the shares of the others, attribute by
    /// attribute, so that the probability of each is a single marginal.
    fn given(&self, evidence: &Evidence) -> Result<Model> {
        let (mut domain, mut given) = (self.domain().clone(), self.clone());
        for (attribute, shares) in evidence.iter() {
            let marginal = &given.marginals(&[Clique::new([attribute])])?[0];
            let total: f64 = marginal.values().iter().zip(shares).map(|(cell, s)| cell * s).sum();
            if total <= 0.0 {
                return Err(impossible());
            }
            let impossible = (0_u32..).zip(shares).filter(|(_, share)| **share <= 0.0);
            let impossible: Vec<u32> = impossible.map(|(code, _)| code).collect();
            if !impossible.is_empty() {
                let name = domain.name(attribute).to_owned();
                domain = domain.forbid([vec![(name, impossible)]])?;
            }
            let is_cut = shares.iter().any(|share| *share > 0.0 && *share < 1.0);
            let tilted = if is_cut { Some(given.tilted(attribute, shares)?) } else { None };
            let potentials = tilted.as_ref().unwrap_or(&given).potentials().clone();
            given = Self::new(&domain, potentials, total)?;
        }
        Ok(given.into())
    }

    fn store(&self) -> Result<StoredForm> {
        StoredForm::new("factors", &factors(self))
    }
}
