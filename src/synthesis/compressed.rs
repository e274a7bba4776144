//! The first, paid step of a job whose rare values are merged.

use crate::compression::{self, Compression};
use crate::data::PublicData;
use crate::domain::{Domain, Schema};
use crate::error::{Contradiction, Error, Result};
use crate::mechanism::{Mechanism, PlanFor};
use crate::observe::{Event, Notice, Observer};
use crate::privacy::{Budget, Curator, Rho};
use crate::synthesis::Tables;
use crate::synthesis::job::ResolvedJob;

impl ResolvedJob<'_> {
    /// Refuses a share out of range, or one of no budget or of a budget without δ.
    pub(super) fn check_compression(&self) -> Result<()> {
        let Some(share) = self.compress else { return Ok(()) };
        if !(share > 0.0 && share < 1.0) {
            let expected = "strictly between 0 and 1, for instance 0.1";
            return Err(Error::invalid_parameter("share to compress", share, expected));
        }
        if self.budget.is_none_or(Budget::is_pure) {
            let (what, mechanism) = ("a budget with delta, for merging", self.entry.name);
            return Err(Contradiction::Missing { what, mechanism }.into());
        }
        if !self.entry.spends {
            let expected = "one that measures private marginals, which merging is for";
            return Err(Error::invalid_specification("mechanism", &*self.mechanism, expected));
        }
        Ok(())
    }

    /// The tables with the rare values of the attributes with many values merged, if that was requested and there are such
    /// attributes.
    pub(super) fn compressed(
        &self,
        mechanism: &dyn Mechanism,
        tables: &Tables,
        curator: &mut Curator<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Option<Tables>> {
        let Some(share) = self.compress else { return Ok(None) };
        let attributes = self.mergeable(&tables.schema);
        if attributes.is_empty() {
            self.workload_over(&tables.schema.domain(), observer)?;
            return Ok(None);
        }
        // What the mechanism refuses whatever the data, it refuses before anything is paid.
        mechanism.plan(&PlanFor {
            domain: curator.domain(),
            workload: &tables.workload,
            relation: curator.relation(),
            rho: curator.remaining(),
            records: curator.records().unwrap_or(1),
        })?;
        let rho = curator.remaining().fraction(share)?.0;
        let noisy = compression::measure(curator, &attributes, rho)?;
        let found = Compression::new(&tables.schema, &noisy, &tables.public)?;
        let cost = (curator.spent(), curator.ledger().limit());
        let merged = self.merged(tables, &found, cost, observer)?;
        curator.recode(found.recoding())?;
        Ok(Some(merged))
    }

    /// The attributes whose rare values may be merged. What the rows of a unit agree on stays as it is: of a group, each row
    /// would get a value of its own.
    fn mergeable(&self, schema: &Schema) -> Vec<usize> {
        let mut attributes = compression::candidates(schema);
        if let Some(units) = self.linked() {
            let (domain, size) = (schema.domain(), units.size_name());
            let agree = units.agree().unwrap_or_default();
            attributes.retain(|attribute| {
                let name = domain.name(*attribute);
                name != size && agree.iter().all(|column| column != name)
            });
        }
        attributes
    }

    /// The tables under the schema with merged values.
    fn merged(
        &self,
        tables: &Tables,
        found: &Compression,
        (spent, limit): (Rho, Rho),
        observer: &mut dyn Observer,
    ) -> Result<Tables> {
        let (before, after) = (tables.schema.domain(), found.schema().domain());
        let values =
            |domain: &Domain| domain.attributes().iter().map(|a| u64::from(a.cardinality)).sum();
        observer.event(&Event::Notice(Notice::Compressed {
            attributes: found.recoding().attributes(),
            before: values(&before),
            after: values(&after),
            spent,
            limit,
        }));
        let public = tables.public.iter().map(|table| {
            let recoded = table.table()?.recoded(found.recoding())?;
            PublicData::new(table.name(), recoded, &after)
        });
        let workload = self.workload_over(&after, observer)?;
        self.check_linked_workload(&workload, &after)?;
        Ok(Tables {
            schema: found.schema().clone(),
            given: tables.given.clone(),
            public: public.collect::<Result<_>>()?,
            workload,
            population: tables.population.clone(),
            completed: tables.completed.clone(),
        })
    }
}
