//! The naive baseline: a model of a public table alone.

use crate::domain::Clique;
use crate::error::{Error, Result};
use crate::measurement::{Measurement, Provenance};
use crate::mechanism::{Mechanism, Release, RoundRecord, Task, adaptive};
use crate::model::MarkovRandomField;
use crate::observe::{Event, Observer};
use crate::privacy::Curator;
use crate::table::Potentials;

/// Fits a graphical model to marginals of the first public table, and spends nothing.
///
/// Greedy: every round takes the marginal of the downward closure on which the model is furthest from the public
/// table, among those that keep the model within the size limit. The private table gives its number of records, and
/// only where that is public; otherwise the model stands for the public table's.
#[derive(Clone, Debug)]
pub struct PublicOnly {
    /// Marginals to take; `None`: [`super::JamPgm::default_rounds`].
    pub rounds: Option<u32>,
    /// Largest model, in MiB.
    pub size_limit_mib: f64,
    /// Most oracle calls of a fit.
    pub iterations: u32,
}

impl Default for PublicOnly {
    fn default() -> Self {
        Self { rounds: None, size_limit_mib: 80.0, iterations: 1000 }
    }
}

impl PublicOnly {
    fn check(&self) -> Result<()> {
        if self.rounds == Some(0) {
            return Err(Error::invalid_parameter("rounds", 0, "at least 1"));
        }
        if !(self.size_limit_mib > 0.0 && self.size_limit_mib.is_finite()) {
            let found = self.size_limit_mib;
            return Err(Error::invalid_parameter("size limit", found, "above 0 MiB"));
        }
        if self.iterations == 0 {
            return Err(Error::invalid_parameter("iterations", 0, "at least 1"));
        }
        Ok(())
    }
}

impl Mechanism for PublicOnly {
    fn name(&self) -> &'static str {
        "public-only"
    }

    fn run(
        &self,
        curator: &mut Curator<'_>,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Release> {
        self.check()?;
        let Some(table) = task.public.first() else {
            return Err(Error::invalid_parameter("public tables", "none", "at least one"));
        };
        let domain = curator.domain().clone();
        adaptive::check_size_limit(&domain, self.size_limit_mib)?;
        let rounds = self.rounds.unwrap_or_else(|| super::JamPgm::default_rounds(domain.len()));
        let total = curator.records().unwrap_or_else(|| table.records()).max(1) as f64;
        let cliques: Vec<Clique> =
            task.workload.downward_closure().into_iter().filter(|c| table.covers(c)).collect();
        let scale = total / (table.records() as f64).max(1.0);
        let counts = table.project_many(&cliques)?;
        observer.event(&Event::Started {
            mechanism: self.name(),
            rounds,
            first_round: 1,
            candidates: cliques.len(),
            limit: curator.ledger().limit(),
        });
        let mut model = MarkovRandomField::uniform(&domain, total)?;
        let mut measurements: Vec<Measurement> = Vec::new();
        let mut records = Vec::new();
        let mut potentials: Option<Potentials> = None;
        for round in 1..=rounds {
            let limit_mib = self.size_limit_mib * f64::from(round) / f64::from(rounds);
            let measured: Vec<Clique> = measurements.iter().map(|m| m.clique.clone()).collect();
            let kept = adaptive::tractable(&domain, &measured, &cliques, limit_mib);
            let wanted: Vec<usize> = (0..cliques.len()).filter(|i| kept[*i]).collect();
            let distances =
                adaptive::table_distances(&model, &cliques, &wanted, &counts, scale, round)?;
            let furthest = wanted
                .iter()
                .zip(&distances)
                .max_by(|(i, a), (j, b)| a.total_cmp(b).then(j.cmp(i)))
                .map(|(i, _)| *i);
            let Some(i) = furthest else {
                let reason = format!("no clique fits a model of {limit_mib:.3} MiB");
                return Err(Error::NoCandidates { round, reason });
            };
            let provenance = Provenance::Public { source: table.name().to_owned() };
            measurements.push(Measurement {
                clique: cliques[i].clone(),
                values: counts[i].iter().map(|c| scale * f64::from(*c)).collect(),
                stddev: 0.0,
                provenance: provenance.clone(),
            });
            observer.event(&Event::Measured {
                round,
                rounds,
                clique: cliques[i].iter().map(|a| domain.name(a).to_owned()).collect(),
                provenance: provenance.clone(),
                stddev: 0.0,
                spent: curator.spent(),
                limit: curator.ledger().limit(),
            });
            let (fitted, estimate) =
                adaptive::fit(&domain, &measurements, total, potentials.as_ref(), self.iterations)?;
            observer.event(&Event::Fitted {
                round,
                loss: estimate.loss,
                oracle_calls: estimate.oracle_calls,
                model_mib: fitted.size_mib(),
            });
            records.push(RoundRecord {
                round,
                clique: cliques[i].clone(),
                provenance,
                stddev: 0.0,
                candidates: wanted.len(),
                loss: estimate.loss,
                oracle_calls: estimate.oracle_calls,
                model_mib: fitted.size_mib(),
            });
            potentials = Some(estimate.potentials);
            model = fitted;
        }
        Ok(Release {
            mechanism: self.name(),
            model,
            measurements,
            rounds: records,
            ledger: curator.ledger().clone(),
            relation: curator.relation(),
            is_private: curator.is_private(),
        })
    }
}
