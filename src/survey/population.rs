//! The model of the population that a sample stands for.

use std::cmp::Reverse;

use rand::Rng;

use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::model::{Distribution, MarkovRandomField, Model, Sampling, WeightedSupport};
use crate::survey::Weight;
use crate::table::Totals;

/// What is known of the population that a sample was drawn from.
///
/// Of a sample with the distribution p(x, w), where w is the bin of a record's weight and m(w) the mean weight there, the
/// population is
///
/// ```text
/// 1  q(x, w) ∝ p(x, w) m(w)               what the weights say
/// 2  q ← argmin KL(q' ‖ q), q' has the totals     what is known, in the way of raking (the I-projection)
/// ```
///
/// Of listed records each has one weight, which is one draw from those that records like it have. There q is instead the
/// distribution nearest to that of the records *without* their weights which has, besides the totals, those tables that step
/// 1 and 2 give on what was measured together with the weight, and without totals on all single attributes. This takes the
/// chance of single weights out of all other tables.
#[derive(Clone, Debug, Default)]
pub struct Population {
    /// The weight; `None` if all records count the same.
    pub weight: Option<Weight>,
    /// What is known exactly; `None` for nothing.
    pub totals: Option<Totals>,
}

impl Population {
    /// The model of the population, with all attributes of the sample's. It stands for as many records as the totals have, or
    /// as the weights say.
    ///
    /// `sample`: the model of the sample. `measured`: the cliques that were measured. `rng`: for models that are neither
    /// graphical nor listed records, of which records are drawn.
    ///
    /// # Errors
    /// Totals over another domain, or that are 0 wherever the model has a record. Totals that its records cannot have together
    /// are approached.
    pub fn of<R: Rng + ?Sized>(
        &self,
        sample: &Model,
        measured: &[Clique],
        rng: &mut R,
    ) -> Result<Model> {
        let total = self.total(sample)?;
        if let Some(sample) = sample.as_markov_random_field() {
            let found = self.graphical(sample)?;
            let domain = found.domain().clone();
            return Ok(MarkovRandomField::new(&domain, found.potentials().clone(), total)?.into());
        }
        let drawn;
        let listed = if let Some(listed) = sample.as_weighted_support() {
            listed
        } else {
            let records = sample.records().clamp(DRAWN.0, DRAWN.1);
            let rows = sample.sample(records, Sampling::Rounded, rng)?;
            let weights = vec![1.0; rows.records()];
            drawn = WeightedSupport::new(&rows, weights, sample.total())?;
            &drawn
        };
        let found = self.listed(listed, measured)?;
        let weights = found.weights().to_vec();
        Ok(found.reweighted(weights, total)?.into())
    }

    /// The number of members of the population.
    fn total(&self, sample: &Model) -> Result<f64> {
        match &self.totals {
            Some(totals) => Ok(totals.total()),
            None => Ok(self.weighted_total(sample)?),
        }
    }

    /// The sum of the weights of a sample, by its model: the number of its records, if they have none.
    ///
    /// # Errors
    /// A model without the attribute of the weight.
    pub fn weighted_total(&self, sample: &Model) -> Result<f64> {
        let Some(Weight { attribute, means }) = &self.weight else { return Ok(sample.total()) };
        let counts = &sample.marginals(&[Clique::new([*attribute])])?[0];
        Ok(counts.values().iter().zip(means).map(|(count, mean)| count * mean).sum())
    }

    /// How far a model is from the totals: the part of all members that would have to move for the farthest table to hold. `None`
    /// without totals.
    ///
    /// # Errors
    /// A model of another domain.
    pub fn unmet(&self, model: &Model) -> Result<Option<f64>> {
        let Some(totals) = &self.totals else { return Ok(None) };
        let scale = totals.total() / model.total();
        let found = model.marginals(totals.layout().cliques())?;
        let moved = found.iter().enumerate().map(|(table, found)| {
            let pairs = found.values().iter().zip(totals.table(table));
            pairs.map(|(found, total)| (scale * found - total).abs()).sum::<f64>() / 2.0
        });
        Ok(Some(moved.fold(0.0, f64::max) / totals.total()))
    }

    fn graphical(&self, sample: &MarkovRandomField) -> Result<MarkovRandomField> {
        let weighted = match &self.weight {
            Some(weight) => sample.tilted(weight.attribute, &weight.means)?,
            None => sample.clone(),
        };
        match &self.totals {
            Some(totals) => Ok(weighted.projected(totals)?),
            None => Ok(weighted),
        }
    }

    fn listed(&self, sample: &WeightedSupport, measured: &[Clique]) -> Result<WeightedSupport> {
        let sample = match &self.totals {
            Some(totals) => sample.completed(totals)?,
            None => sample.clone(),
        };
        let projected = |model: WeightedSupport| match &self.totals {
            Some(totals) => model.raked(totals),
            None => Ok(model),
        };
        let Some(weight) = &self.weight else { return projected(sample) };
        let weighted = projected(sample.tilted(weight.attribute, &weight.means)?)?;
        let known = self.known(sample.domain(), weight, measured);
        if known.is_empty() {
            return Ok(weighted);
        }
        // Weights of these very records have all of them.
        let tables = weighted.marginals(&known)?;
        let tables = tables.iter().map(|table| table.values().to_vec());
        sample.raked(&Totals::new(sample.domain(), known.iter().cloned().zip(tables))?)
    }

    /// The tables of the population on which its weights are known, none part of another: the totals, what was measured
    /// together with the weight, and without totals all single attributes.
    fn known(&self, domain: &Domain, weight: &Weight, measured: &[Clique]) -> Vec<Clique> {
        let own = Clique::new([weight.attribute]);
        let crossed = measured.iter().filter(|clique| clique.contains(weight.attribute));
        let mut cliques: Vec<Clique> = crossed.map(|clique| clique.difference(&own)).collect();
        if let Some(totals) = &self.totals {
            cliques.extend(totals.layout().cliques().iter().cloned());
        } else {
            let others = (0..domain.len()).filter(|attribute| *attribute != weight.attribute);
            cliques.extend(others.map(|attribute| Clique::new([attribute])));
        }
        cliques.sort_by_key(|clique| Reverse(clique.len()));
        let mut known: Vec<Clique> = Vec::new();
        for clique in cliques.into_iter().filter(|clique| !clique.is_empty()) {
            if !known.iter().any(|larger| clique.is_subset(larger)) {
                known.push(clique);
            }
        }
        known
    }
}

/// Records drawn from a model that is neither graphical nor a list, at least and at most.
const DRAWN: (usize, usize) = (100_000, 1_000_000);

#[cfg(test)]
mod tests;
