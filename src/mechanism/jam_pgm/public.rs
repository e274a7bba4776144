//! The marginals of the public tables, and where private measurements contradict them.

use crate::data::PublicData;
use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::measurement::{Measurement, Provenance};
use crate::mechanism::contradiction::is_contradiction;
use crate::privacy::{L1Errors, SealedMarginals};
use crate::table::Factor;

/// The marginals of the public tables, counted once.
pub(super) struct PublicAnswers<'a> {
    tables: &'a [PublicData],
    cliques: &'a [Clique],
    /// For each table, the counts on each clique; empty where it lacks an attribute.
    counts: Vec<Vec<Vec<u32>>>,
}

impl<'a> PublicAnswers<'a> {
    pub(super) fn count(tables: &'a [PublicData], cliques: &'a [Clique]) -> Result<Self> {
        let mut counts = Vec::with_capacity(tables.len());
        for table in tables {
            let covered: Vec<usize> =
                (0..cliques.len()).filter(|i| table.covers(&cliques[*i])).collect();
            let asked: Vec<Clique> = covered.iter().map(|i| cliques[*i].clone()).collect();
            let mut all = vec![Vec::new(); cliques.len()];
            for (i, found) in covered.into_iter().zip(table.project_many(&asked)?) {
                all[i] = found;
            }
            counts.push(all);
        }
        Ok(Self { tables, cliques, counts })
    }

    /// n/m: the factor that scales a table's counts to the private total.
    fn scale(&self, table: usize, total: f64) -> f64 {
        total / (self.tables[table].records() as f64).max(1.0)
    }

    /// `‖M_τ(D) - (n/m) M_τ(P)‖₁` for every table, and for every clique that it covers. Constant over the rounds.
    pub(super) fn errors(&self, answers: &SealedMarginals, total: f64) -> Result<Vec<L1Errors>> {
        let of_table = |(table, counts): (usize, &Vec<Vec<u32>>)| {
            let covers = |i: &usize| self.tables[table].covers(&self.cliques[*i]);
            let covered: Vec<usize> = (0..self.cliques.len()).filter(covers).collect();
            let own: Vec<&[u32]> = covered.iter().map(|i| counts[*i].as_slice()).collect();
            let mut errors = answers.l1_errors();
            errors.compare(answers, &covered, &own, self.scale(table, total))?;
            Ok(errors)
        };
        self.counts.iter().enumerate().map(of_table).collect()
    }

    /// A free marginal, scaled to the private total.
    ///
    /// `clique`: its position.
    pub(super) fn measurement(&self, table: usize, clique: usize, total: f64) -> Measurement {
        let scale = self.scale(table, total);
        Measurement {
            clique: self.cliques[clique].clone(),
            cell: None,
            values: self.counts[table][clique].iter().map(|c| scale * f64::from(*c)).collect(),
            stddev: 0.0,
            provenance: Provenance::Public { source: self.tables[table].name().to_owned() },
        }
    }

    /// The marginal with the mean sampling variance of its cells as noise, instead of none.
    pub(super) fn as_sample(&self, mut taken: Measurement, total: f64) -> Measurement {
        if let Some(table) = self.source(&taken) {
            let (records, cells) = (self.tables[table].records() as f64, taken.values.len() as f64);
            taken.stddev = self.scale(table, total) * (records / cells).sqrt();
        }
        taken
    }

    /// The table of a public measurement.
    pub(super) fn source(&self, measurement: &Measurement) -> Option<usize> {
        let Provenance::Public { source } = &measurement.provenance else { return None };
        self.tables.iter().position(|table| table.name() == source)
    }

    /// The tables and cliques where a private measurement contradicts the public table: a marginal of the measurement is
    /// further from the table's than its noise and the table's sampling error explain.
    pub(super) fn contradictions(
        &self,
        domain: &Domain,
        measurements: &[Measurement],
        total: f64,
    ) -> Result<Contradictions> {
        let mut found = Vec::new();
        for measurement in measurements.iter().filter(|m| m.provenance == Provenance::Private) {
            let whole =
                Factor::new(domain, measurement.clique.clone(), measurement.values.clone())?;
            let parts = self.cliques.iter().enumerate();
            for (i, part) in parts.filter(|(_, part)| part.is_subset(&measurement.clique)) {
                let private = whole.project(part);
                let summed = measurement.values.len() as f64 / private.values().len() as f64;
                let noise = measurement.stddev * measurement.stddev * summed;
                for (table, counts) in self.counts.iter().enumerate() {
                    let scale = self.scale(table, total);
                    let standardized = |(y, k): (&f64, &u32)| {
                        let count = f64::from(*k);
                        (y - scale * count).powi(2) / (noise + scale * scale * count.max(1.0))
                    };
                    let squares = private.values().iter().zip(&counts[i]).map(standardized).sum();
                    if is_contradiction(squares, private.values().len()) {
                        found.push((table, part.clone()));
                    }
                }
            }
        }
        Ok(Contradictions(found))
    }
}

/// Tables and cliques on which they are wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Contradictions(Vec<(usize, Clique)>);

impl Contradictions {
    /// Whether a table is wrong on a clique: on all of its attributes, or on some.
    pub(super) fn spoil(&self, table: usize, clique: &Clique) -> bool {
        self.0.iter().any(|(wrong, part)| *wrong == table && part.is_subset(clique))
    }
}
