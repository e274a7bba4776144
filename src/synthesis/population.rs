//! Jobs whose release is of the population that the private table is a sample of.

use std::path::Path;

use rand::rngs::ChaCha20Rng;

use crate::data::{Protection, PublishedTable, read_published, weight_bins};
use crate::domain::{Clique, Domain, Schema};
use crate::error::{CommonError, Contradiction, Error, Result};
use crate::estimation::{Target, Targets};
use crate::mechanism::{Release, ReleasedPopulation};
use crate::model::MarkovRandomField;
use crate::observe::{Event, Notice, Observer};
use crate::privacy::MOST_WEIGHTED_VALUES;
use crate::query::Workload;
use crate::survey::{Draw, Emission, Population, Released, Weight};
use crate::synthesis::job::ResolvedJob;
use crate::synthesis::{PublicFile, Tables};

/// Most cells of a marginal with the weight: 2³⁰, or 4 GiB of counts.
const MOST_CELLS: u64 = 1 << 30;

/// The part of all members that may be off in the model's totals without a word.
const UNMET: f64 = 1e-3;

impl ResolvedJob<'_> {
    /// Whether the release is of a population.
    pub(super) fn is_of_population(&self) -> bool {
        self.weight.is_some() || self.known_tables().next().is_some()
    }

    /// The files of totals and invariants.
    pub(super) fn known_tables(&self) -> impl Iterator<Item = &PublicFile> {
        self.totals.iter().chain(&self.invariants)
    }

    /// Refuses what is about the private records themselves, and files of totals with the same name.
    pub(super) fn check_population(&self) -> Result<()> {
        if !self.is_of_population() {
            if self.emit != Emission::default() {
                let needed = "`weight`, `totals` or `invariants`";
                return Err(Contradiction::Needs { what: "weighted records", needed }.into());
            }
            return Ok(());
        }
        let first = if self.weight.is_some() { "a survey weight" } else { "totals" };
        let together = |second, why| Err(Contradiction::Together { first, second, why }.into());
        if self.linked().is_some() {
            return together("columns of units", "a weight is one record's, and not a unit's");
        }
        if self.compress.is_some() {
            return together("merging", "totals and weights are of the values as they are");
        }
        if self.error_share.is_some() && self.weight.is_none() {
            let why = "without weights the private records do not show how far a table of the population is off";
            return together("an error share", why);
        }
        if self.replicates() > 0 {
            let why =
                "a replicate repeats the run on the released records, which are another population";
            return together("replicates", why);
        }
        let mut names: Vec<&str> = self.known_tables().map(|file| &*file.name).collect();
        names.sort_unstable();
        if let Some([name, _]) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            let (found, expected) = (format!("'{name}' twice"), "distinct names (NAME=FILE)");
            return Err(Error::invalid_specification("names of totals", found, expected));
        }
        Ok(())
    }

    /// The schema with the survey weight as an attribute, in bins of the schema or else of the public tables' files.
    pub(super) fn with_weight(&self, schema: &Schema) -> Result<Schema> {
        let Some(name) = &self.weight else { return Ok(schema.clone()) };
        let files = self.public.iter().filter_map(|table| table.source.file());
        let files: Vec<&Path> = files.collect();
        schema.with_weight(name, || {
            if files.is_empty() {
                let place = format!("the survey weight, column '{name}'");
                let found = "no bins in the schema, and no file of a public table to take them from";
                let expected = "\"kind\": \"numeric\" with \"edges\" in the schema, or a public table with the weight";
                return Err(Error::invalid_specification(place, found, expected));
            }
            weight_bins(&files, schema.table(), name)
        })
    }

    /// The workload with marginals of the survey weight ([`WorkloadSource::crossed`](crate::query::WorkloadSource::crossed)).
    pub(super) fn crossed(&self, workload: Workload, domain: &Domain) -> Result<Workload> {
        match self.weight.as_ref().and_then(|name| domain.position(name)) {
            Some(weight) => self.workload.crossed(workload, weight, domain),
            None => Ok(workload),
        }
    }

    /// What is known of the population. `schema`: with the weight.
    pub(super) fn population(
        &self,
        schema: &Schema,
        observer: &mut dyn Observer,
    ) -> Result<Population> {
        let weight = self.weight.as_ref().map(|name| Weight::of(schema, name)).transpose()?;
        let domain = schema.domain();
        let mut tables = Vec::new();
        for file in self.known_tables() {
            let PublishedTable { clique, least: counts, unlisted, .. } =
                read_published(&file.path, schema, Protection::None)?;
            if unlisted > 0 {
                let (totals, unlisted) = (file.name.clone(), unlisted as u64);
                let cells = counts.len() as u64;
                let notice = Notice::TotalsUnlisted { totals, unlisted, cells };
                observer.event(&Event::Notice(notice));
            }
            if let Some(weight) = weight.as_ref().filter(|weight| clique.contains(weight.attribute))
            {
                let found = format!("the survey weight '{}'", domain.name(weight.attribute));
                let expected = "totals of the population, where records have no weight";
                let place = file.path.display().to_string();
                return Err(Error::invalid_specification(place, found, expected));
            }
            tables.push((clique, counts));
        }
        if tables.is_empty() {
            return Ok(Population { weight, totals: None });
        }
        let exact = tables.into_iter().map(|(clique, values)| Target::Exact { clique, values });
        let targets = Targets::new(&domain, exact, None)?;
        // Totals that no table has are refused before anything is paid.
        MarkovRandomField::fit_to(&targets)?;
        Ok(Population { weight, totals: targets.totals().cloned() })
    }

    /// The marginals against which the errors of a weighted release are measured. Refuses, before anything is read or spent, what
    /// cannot be counted.
    pub(super) fn counted_for_errors(
        &self,
        workload: &Workload,
        domain: &Domain,
        population: &Population,
    ) -> Result<Vec<Clique>> {
        let Some(weight) = population.weight.as_ref().filter(|_| self.error_share.is_some()) else {
            return Ok(Vec::new());
        };
        let place = format!("the survey weight '{}'", domain.name(weight.attribute));
        let values = weight.means.len();
        if values > MOST_WEIGHTED_VALUES {
            let (found, most) = (format!("{values} bins"), MOST_WEIGHTED_VALUES);
            let expected = format!("at most {most}, to measure errors with an error share");
            return Err(Error::invalid_specification(place, found, expected));
        }
        let own = Clique::new([weight.attribute]);
        let cliques = workload.without(weight.attribute, domain)?.cliques();
        let counted: Vec<Clique> = cliques.iter().map(|clique| clique.union(&own)).collect();
        let cells = |clique: &&Clique| domain.cells(clique).is_none_or(|cells| cells > MOST_CELLS);
        match counted.iter().find(cells) {
            None => Ok(counted),
            Some(clique) => {
                let name =
                    format!("marginal {}, whose error is to be measured", domain.describe(clique));
                let cells = domain.cells(clique).map(|cells| cells as f64);
                Err(CommonError::too_large(name, cells, MOST_CELLS as f64, "cells").into())
            }
        }
    }

    /// Makes the model of a release that of the population, and draws its records.
    pub(super) fn of_population(
        &self,
        release: &mut Release,
        tables: &Tables,
        records: usize,
        rng: &mut ChaCha20Rng,
        observer: &mut dyn Observer,
    ) -> Result<Released> {
        let population = &tables.population;
        let measured = release.measured_cliques();
        let weighted = Some(population.weighted_total(&release.model)?);
        let model = population.of(&release.model, &measured, rng)?;
        if let Some(share) = population.unmet(&model)?.filter(|share| *share > UNMET) {
            observer.event(&Event::Notice(Notice::TotalsUnmet { share }));
        }
        let sample = std::mem::replace(&mut release.model, model);
        let refinement = release.refinement();
        let (drawing, schema) = (self.draw, &tables.schema);
        let draw = Draw { records, drawing, refinement: &refinement, schema };
        let released = population.rows((&sample, &release.model), self.emit, draw, rng)?;
        release.population = Some(ReleasedPopulation {
            weight: self.weight.clone(),
            weighted: weighted.filter(|_| self.weight.is_some()),
            weighted_alone: population.weight.clone().filter(|_| population.totals.is_none()),
            sampled: sample.records() as u64,
            totals: self.known_tables().map(|file| file.name.clone()).collect(),
            largest_difference: released.largest_difference,
        });
        Ok(released)
    }
}
