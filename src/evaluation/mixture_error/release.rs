//! The private release of a best mixture error.

use serde::Serialize;

use super::problem::Problem;
use super::support::{Answers, Support};
use super::working_set::MAX_INCIDENCES;
use super::{MixtureError, ScoredCells, guaranteed};
use crate::data::PublicData;
use crate::domain::Clique;
use crate::error::{Error, Result};
use crate::privacy::{Curator, NoiseForm, Rho, Sensitive, StatisticSensitivity};
use crate::query::{WeightedClique, Workload};

/// A best mixture error with noise: it may be published.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NoisyMixtureError {
    /// The error with noise, as a probability; it may be below 0 or above 1.
    pub value: f64,
    /// Standard deviation of the noise, as a probability.
    pub stddev: f64,
    /// Half the width of an interval around the value that covers the error itself with the confidence asked for.
    pub half_width: f64,
}

impl MixtureError {
    /// Releases the best mixture error of a public table for the private records, at a cost of `rho`.
    ///
    /// One record changes every count by at most 1, so n f by at most 1, under both relations; the middle of a bracket of
    /// width [`tolerance`](Self::tolerance) is within half of that of f, so the noise is that of a sensitivity of 1 + n times
    /// the tolerance, in counts (`docs/theory/sensitivities.md`, section 7). The bracket does get as narrow: where neither the
    /// first-order method nor linear programs bring it there, a method with a proved number of iterations does, which may
    /// take long. **The running time depends on the records** and should not be published with the result.
    ///
    /// Cliques of the workload that the table does not cover are left out. `total`: n where it is public, else what was
    /// measured for it. `confidence`: of [`NoisyMixtureError::half_width`], of `numbers` such intervals at once.
    ///
    /// # Errors
    /// An instance of more than 2²⁵ distinct rows times cliques, a tolerance of 0 or of more than 1,024 counts, a total below 1, no clique of the workload that the table covers, or
    /// a budget that does not suffice. No message depends on the records.
    pub fn release(
        &self,
        curator: &mut Curator<'_>,
        public: &PublicData,
        workload: &Workload,
        total: f64,
        noise: (NoiseForm, Rho),
        (confidence, numbers): (f64, usize),
    ) -> Result<NoisyMixtureError> {
        self.check()?;
        if !(total >= 1.0 && total.is_finite()) {
            return Err(Error::invalid_parameter("total", total, "at least 1"));
        }
        let width = self.tolerance * total;
        let sensitivity = StatisticSensitivity::mixture_error(curator.relation(), width)?;
        let (form, rho) = noise;
        let support = Support::new(public.table(), &covered(public, workload)?)?;
        refuse_large(&support)?;
        let exact = answers(curator, public, &support)?.map(|answers| {
            let floor = self.cells == ScoredCells::All;
            let problem = Problem::new(&support, &answers, total, floor);
            // What can fail has been tried on the public rows alone.
            vec![self.settle(&problem).unwrap_or_default() * total]
        });
        let purpose = format!("best mixture error of {}", public.name());
        let noisy = curator.measure_statistics(exact, sensitivity, form, rho, &purpose)?;
        Ok(NoisyMixtureError {
            value: noisy.values[0] / total,
            stddev: noisy.stddev / total,
            half_width: (noisy.half_width(confidence, numbers)? + 0.5 * width) / total,
        })
    }

    /// The middle of a bracket that is as narrow as the tolerance.
    fn settle(&self, problem: &Problem<'_>) -> Result<f64> {
        let mut found = problem.bracket()?;
        self.search(problem, &mut found)?;
        if found.gap() > self.tolerance {
            guaranteed::close(problem, &mut found, self.tolerance)?;
        }
        Ok(found.lower.midpoint(found.upper))
    }
}

/// Refuses an instance that the first-order method could not hold as a whole: it might not come to its width in any
/// reasonable time. Decided on public sizes alone.
fn refuse_large(support: &Support) -> Result<()> {
    let needed = support.rows.records().saturating_mul(support.cliques());
    if needed <= MAX_INCIDENCES {
        return Ok(());
    }
    Err(Error::TooLarge {
        what: "a private best mixture error".into(),
        needed: format!("{needed} distinct rows times cliques"),
        limit: format!("{MAX_INCIDENCES}: fewer cliques, or some of the public rows"),
    })
}

/// The cliques of a workload of the private domain that a public table covers, in the domain of that table.
fn covered(public: &PublicData, workload: &Workload) -> Result<Workload> {
    let attributes = public.attributes();
    let local = |clique: &Clique| {
        Clique::new(clique.iter().map(|a| attributes.iter().take_while(|own| *own < a).count()))
    };
    let cliques = workload.weighted_cliques().iter().filter(|c| public.covers(&c.clique));
    let cliques = cliques.map(|c| WeightedClique { clique: local(&c.clique), weight: c.weight });
    Workload::new(cliques, public.table().domain())
}

/// What the private table has in the cells of a support, sealed.
fn answers(
    curator: &Curator<'_>,
    public: &PublicData,
    support: &Support,
) -> Result<Sensitive<Answers>> {
    let attributes = public.attributes();
    let private = |clique: &Clique| Clique::new(clique.iter().map(|a| attributes.attributes()[a]));
    let mut sealed: Option<Sensitive<Answers>> = None;
    for batch in support.batches() {
        let cliques: Vec<Clique> = batch.iter().map(private).collect();
        let tables = curator.marginals(&cliques)?;
        let extended = |mut answers: Answers, tables: Vec<Vec<u32>>| {
            support.extend(&mut answers, &tables);
            answers
        };
        sealed = Some(match sealed {
            None => tables.map(|tables| extended(Answers::default(), tables)),
            Some(before) => before.zip(tables).map(|(answers, tables)| extended(answers, tables)),
        });
    }
    sealed.ok_or_else(|| Error::invalid_specification("workload", "no clique", "at least one"))
}
