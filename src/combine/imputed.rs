//! Statistics of tables that are drawn from the posterior distribution of the private one, pooled by Rubin's rules.

use crate::combine::measured::Tested;
use crate::combine::statistic::{Design, Link};
use crate::combine::{CombinedEstimate, Target};
use crate::data::Column;
use crate::domain::Domain;
use crate::error::Result;
use crate::model::Accuracy;
use crate::observe::Checks;
use crate::posterior::Posterior;

/// How tables are drawn from the posterior distribution of the private one ([`crate::posterior`]).
#[derive(Clone, Copy)]
pub struct Imputation<'a> {
    /// M, at least 2; 20 are usual.
    pub tables: usize,
    /// For the draws; it has nothing to do with privacy.
    pub seed: u64,
    /// Asked again and again whether to go on.
    pub checks: &'a dyn Checks,
}

impl Design {
    /// Whether posterior tables say something of the statistic: a logistic regression of which each pair of terms, the response among
    /// them, was measured, with what decides which records count.
    fn is_imputable(&self, domain: &Domain, accuracy: &Accuracy) -> bool {
        let is_measured = |(a, b)| accuracy.measured.determines(domain, &self.clique_of(a, b));
        self.link == Link::Logistic
            && !self.has_missing()
            && !accuracy.measured.is_laplace
            && self.pairs().all(is_measured)
    }

    /// The numbers of the statistic with their intervals and tests, each `None` where some table does not determine it. `None`
    /// unless posterior tables say something of it.
    pub(super) fn imputed(
        &self,
        domain: &Domain,
        accuracy: &Accuracy,
        target: Target,
        how: Imputation<'_>,
    ) -> Result<Option<Vec<Option<Tested>>>> {
        if self.clique.len() < 2 || !self.is_imputable(domain, accuracy) {
            return Ok(None);
        }
        let posterior = Posterior::new(domain, accuracy, &self.clique)?;
        let mut fits = Vec::new();
        posterior.each_table(how.tables, how.seed, how.checks, &mut |table| {
            let columns: Vec<&Column> =
                (0..self.clique.len()).filter_map(|place| table.column(place)).collect();
            fits.push(self.fit(&self.cells_of_columns(&columns, table.records())));
            Ok(())
        })?;
        let of = |place: usize| {
            let values: Option<Vec<f64>> = fits.iter().map(|fit| fit.values[place]).collect();
            let sampling = fits.iter().map(|fit| fit.sampling[place]).sum::<f64>();
            let sampling = match target {
                Target::PrivateTable => 0.0,
                Target::Population => sampling / fits.len() as f64,
            };
            let estimate = CombinedEstimate::of_imputations(&values?, sampling)?;
            Some(Tested { estimate, p_value: estimate.p_value(0.0) })
        };
        Ok(Some((self.reported..self.names.len()).map(of).collect()))
    }
}

#[cfg(test)]
mod tests;
