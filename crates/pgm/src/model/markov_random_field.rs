//! The distribution that a graphical-model fit returns.

use std::sync::Arc;

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::estimation::{
    Certificate, EstimatorKind, SquaredLoss, Stopping, Targets, UnderTotals, Weighting,
};
use crate::graph;
use crate::inference::{BeliefPropagation, Calibrated};
use crate::measurement::Measurement;
use crate::table::{CliqueLayout, Factor, Potentials, Projection, Totals};

/// `p(x) ~ exp(Σ_r θ_r(x_r))` over the records of a domain, with the number of records it stands for.
///
/// ```
/// use jointly_pgm::{domain::{Clique, Domain}, model::MarkovRandomField};
/// use jointly_pgm::table::{CliqueLayout, Potentials};
/// let domain = Domain::new([("a", 2), ("b", 2), ("c", 3)])?;
/// let layout = CliqueLayout::new(&domain, [Clique::new([0, 1])])?;
/// let mut theta = Potentials::zeros(&layout);
/// theta.table_mut(0)[0] = 3_f64.ln();
/// let model = MarkovRandomField::new(&domain, theta, 12.0)?;
/// let ac = &model.marginals(&[Clique::new([0, 2])])?[0]; // off the measured cliques
/// assert!((ac.values()[0] - 8.0 / 3.0).abs() < 1e-9);
/// # Ok::<(), jointly_pgm::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MarkovRandomField {
    potentials: Potentials,
    total: f64,
    oracle: Arc<BeliefPropagation>,
    calibrated: Calibrated,
}

impl MarkovRandomField {
    /// The model with these potentials, standing for `total` records.
    ///
    /// # Errors
    /// A total that is not positive and finite, potentials that are NaN or plus infinity, or that forbid every record.
    pub fn new(domain: &Domain, potentials: Potentials, total: f64) -> Result<Self> {
        let oracle = Arc::new(BeliefPropagation::new(domain, potentials.layout()));
        Self::with_oracle(oracle, potentials, total)
    }

    /// The model whose marginals are nearest to some measurements, each weighted by its precision: the minimum of
    /// `½ Σ_r ‖μ_r - y_r‖²/σ_r²` over the marginals μ of distributions with this total. Of the distributions with these
    /// marginals it is the one of maximum entropy.
    ///
    /// [`estimation`](crate::estimation) has the parts: other weights and losses, other ways to end the fit, a start from an
    /// earlier one, certificates.
    ///
    /// # Errors
    /// No measurement, one whose size is not that of its clique, numbers that are not finite, or a total that is not
    /// positive.
    pub fn fit(domain: &Domain, measurements: &[Measurement], total: f64) -> Result<Self> {
        let loss = SquaredLoss::new(domain, measurements, Weighting::InverseVariance)?;
        let oracle = Arc::new(BeliefPropagation::new(domain, loss.layout()));
        let (method, stopping) = (EstimatorKind::default(), Stopping::default());
        let estimate = method.estimate(stopping, &*oracle, &loss, total, None)?;
        Self::with_oracle(oracle, estimate.potentials, total)
    }

    /// A distribution that has the exact ones of some tables and is nearest to the others, noisy, rounded or suppressed ones, with
    /// what is known of the fit; of those with its marginals the one of maximum entropy. Where all tables are published ones it
    /// needs no private table at all. Exactly is to a part in 10⁹ of the records, or in 10⁶ where exact tables all but contradict one another.
    ///
    /// ```
    /// use jointly_pgm::{Clique, Domain, MarkovRandomField, Measurement};
    /// use jointly_pgm::estimation::{Target, Targets};
    /// let domain = Domain::new([("age", 2), ("sex", 2), ("work", 2)])?;
    /// let published = Target::Exact { clique: Clique::new([0, 1]), values: vec![20.0, 30.0, 25.0, 25.0] };
    /// let noisy = Measurement::new(domain.clique(&["age", "work"])?, vec![40.0, 8.0, 12.0, 43.0], 0.5);
    /// let targets = Targets::new(&domain, [published, Target::Noisy(noisy)], None)?;
    /// let (model, _) = MarkovRandomField::fit_to(&targets)?;
    /// let found = model.marginals(&[Clique::new([0, 1]), Clique::new([0, 2])])?;
    /// assert!(found[0].values().iter().zip([20.0, 30.0, 25.0, 25.0]).all(|(m, t)| (m - t).abs() < 1e-6));
    /// // 48 noisy records of the first age, where 50 are known: one more in each cell.
    /// assert!((found[1].values()[0] - 41.0).abs() < 0.05);
    /// # Ok::<(), jointly_pgm::Error>(())
    /// ```
    ///
    /// # Errors
    /// Exact tables that no distribution has ([`UnderTotals`]).
    pub fn fit_to(targets: &Targets) -> Result<(Self, Certificate)> {
        let oracle = Arc::new(BeliefPropagation::new(targets.domain(), &targets.layout()?));
        let (potentials, certificate) = targets.potentials(&*oracle)?;
        Ok((Self::with_oracle(oracle, potentials, targets.total())?, certificate))
    }

    /// The distribution in which each record is as many times as likely as its value of one attribute says, but for a common
    /// factor: `p(x) f(x_a)`. With the mean survey weight of each value it is the population of a weighted sample. It stands
    /// for as many records as before.
    ///
    /// ```
    /// use jointly_pgm::{Clique, Domain, MarkovRandomField, Measurement};
    /// let domain = Domain::new([("tenure", 2), ("weight", 2)])?;
    /// let rows = Measurement::new(Clique::new([0, 1]), vec![80.0, 10.0, 5.0, 5.0], 1e-4);
    /// let sample = MarkovRandomField::fit(&domain, &[rows], 100.0)?;
    /// // Half of the renters stand for ten times as many people as the other half.
    /// let people = sample.tilted(1, &[1.0, 10.0])?.marginals(&[Clique::new([0])])?;
    /// assert!((people[0].values()[1] - 100.0 * 55.0 / 235.0).abs() < 1e-3);
    /// # Ok::<(), jointly_pgm::Error>(())
    /// ```
    ///
    /// # Errors
    /// An attribute outside the domain, another number of factors than it has values, or factors that are negative, not finite,
    /// or 0 for every possible record.
    pub fn tilted(&self, attribute: usize, factors: &[f64]) -> Result<Self> {
        let domain = self.domain();
        let clique = Clique::new([attribute]);
        let values = CliqueLayout::new(domain, [clique.clone()])?.cells();
        if factors.len() != values {
            let (expected, found) = (values, factors.len());
            let clique = domain.describe(&clique);
            return Err(Error::ShapeMismatch { clique, expected, found });
        }
        if let Some(bad) = factors.iter().find(|factor| !(factor.is_finite() && **factor >= 0.0)) {
            let expected = "finite numbers of at least 0";
            return Err(Error::invalid_parameter("factor of a value", *bad, expected));
        }
        let own = self.potentials.layout().cliques();
        let host = own.iter().position(|clique| clique.contains(attribute));
        let layout = match host {
            Some(_) => Arc::clone(self.potentials.layout()),
            None => CliqueLayout::new(domain, own.iter().cloned().chain([clique.clone()]))?,
        };
        let mut potentials = Potentials::zeros(&layout);
        potentials.values_mut()[..self.potentials.values().len()]
            .copy_from_slice(self.potentials.values());
        let host = host.unwrap_or(own.len());
        let logs: Vec<f64> = factors.iter().map(|factor| factor.ln()).collect();
        let walk = Projection::between(&layout.cliques()[host], layout.shape(host), &clique);
        walk.zip_from(&logs, potentials.table_mut(host), |potential, log| *potential += log);
        Self::new(domain, potentials, self.total)
    }

    /// The distribution nearest to this one, in relative entropy, of those that have some totals exactly: this one times a
    /// factor for each cell of each total (the I-projection, Csiszár 1975; survey statistics calls it raking). It stands for as
    /// many records as the totals have. Where this distribution has no record for some totals, it comes near: compare
    /// [`marginals`](Self::marginals).
    ///
    /// # Errors
    /// Totals over another domain, or that are 0 wherever this distribution has a record.
    pub fn projected(&self, totals: &Totals) -> Result<Self> {
        let oracle = under(self.domain(), self.potentials.layout(), totals)?;
        Self::new(self.domain(), oracle.nearest_potentials(&self.potentials)?, totals.total())
    }

    /// The model in which all records are equally likely.
    ///
    /// # Errors
    /// A total that is not positive and finite.
    pub fn uniform(domain: &Domain, total: f64) -> Result<Self> {
        let layout = CliqueLayout::new(domain, [])?;
        Self::new(domain, Potentials::zeros(&layout), total)
    }

    /// The model with an oracle that is there already, such as the one that fitted the potentials.
    ///
    /// # Errors
    /// As [`MarkovRandomField::new`], or potentials on cliques other than the oracle's.
    pub fn with_oracle(
        oracle: Arc<BeliefPropagation>,
        potentials: Potentials,
        total: f64,
    ) -> Result<Self> {
        if !(total > 0.0 && total.is_finite()) {
            return Err(Error::invalid_parameter("total", total, "a positive number of records"));
        }
        let calibrated = oracle.calibrate(&potentials)?;
        Ok(Self { potentials, total, oracle, calibrated })
    }

    /// The attributes.
    pub fn domain(&self) -> &Domain {
        &self.calibrated.structure.domain
    }

    /// Number of records the model stands for.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The log-potentials on the measured cliques.
    pub fn potentials(&self) -> &Potentials {
        &self.potentials
    }

    /// Size in MiB as the literature states it: 8 bytes per cell of every maximal clique. The engine holds far less.
    pub fn size_mib(&self) -> f64 {
        graph::size_mib(self.oracle.model_cells())
    }

    /// The marginals on any cliques, in counts that sum to the total: exact, by variable elimination on the
    /// calibrated tree, with shared work where cliques share a path.
    ///
    /// # Errors
    /// A clique whose table does not fit in memory.
    pub fn marginals(&self, cliques: &[Clique]) -> Result<Vec<Factor>> {
        match self.calibrated.marginals(cliques, self.total) {
            // A product of messages can underflow where the sweeps did not.
            Err(Error::EmptyModel { .. }) if self.calibrated.is_linear() => {
                let calibrated = self.oracle.calibrate_in_log_space(&self.potentials)?;
                calibrated.marginals(cliques, self.total)
            }
            found => found,
        }
    }

    /// Cells that the elimination for this clique visits: its cost in [`MarkovRandomField::marginals`].
    pub fn marginal_work(&self, clique: &Clique) -> u64 {
        self.calibrated.work(clique)
    }

    /// The positions of cliques whose marginals visit at most `cells` cells together in
    /// [`marginals`](Self::marginals), in an order in which neighbors share work, and the positions of the others, in
    /// increasing order. Those with the least work a clique come first.
    pub fn affordable(&self, cliques: &[Clique], cells: u64) -> (Vec<usize>, Vec<usize>) {
        self.calibrated.affordable(cliques, cells)
    }

    /// Whether a clique of the junction tree holds this one, so that its marginal is a sum.
    pub fn holds(&self, clique: &Clique) -> bool {
        self.calibrated.in_tree(clique)
    }

    pub(crate) fn calibrated(&self) -> &Calibrated {
        &self.calibrated
    }
}

/// The oracle of the distributions that have the totals.
fn under(
    domain: &Domain,
    measured: &Arc<CliqueLayout>,
    totals: &Totals,
) -> Result<UnderTotals<BeliefPropagation>> {
    let layout = UnderTotals::<BeliefPropagation>::layout(domain, measured, totals)?;
    UnderTotals::new(domain, BeliefPropagation::new(domain, &layout), measured, totals)
}
