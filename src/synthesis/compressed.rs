//! The first, paid step of a job whose rare values are merged.

use std::sync::Arc;

use crate::compression::{self, Compression};
use crate::data::{Projectable, PublicData};
use crate::domain::Domain;
use crate::error::{Contradiction, Error, Result};
use crate::mechanism::{CheckpointFolder, KeptCompression};
use crate::observe::{Event, Notice, Observer};
use crate::privacy::LedgerFile;
use crate::synthesis::{Synthesis, Tables};

/// A job's tables with merged values, and what finding them has cost, together with what was spent before.
pub(super) struct Compressed {
    pub(super) tables: Tables,
    pub(super) earlier: LedgerFile,
    /// Held until the end of the job.
    pub(super) kept: Option<KeptCompression>,
}

impl Synthesis {
    /// Refuses a share out of range, or one of no budget or of a budget without δ.
    pub(super) fn check_compression(&self) -> Result<()> {
        let Some(share) = self.compress else { return Ok(()) };
        if !(share > 0.0 && share < 1.0) {
            let expected = "strictly between 0 and 1, for instance 0.1";
            return Err(Error::invalid_parameter("share to compress", share, expected));
        }
        if self.budget.is_none_or(|budget| budget.is_pure()) {
            let (what, mechanism) = ("a budget with delta for --compress", self.entry()?.name);
            return Err(Contradiction::Missing { what, mechanism }.into());
        }
        Ok(())
    }

    /// Merges the rare values of the attributes with many values, if that was requested and there are such attributes.
    pub(super) fn compressed(
        &self,
        tables: &Tables,
        earlier: Option<&LedgerFile>,
        checkpoint: Option<&CheckpointFolder>,
        observer: &mut dyn Observer,
    ) -> Result<Option<Compressed>> {
        let Some(share) = self.compress else { return Ok(None) };
        let mut attributes = compression::candidates(&tables.schema);
        // What the rows of a unit agree on has one value in all of them, also in a group.
        let domain = tables.schema.domain();
        let agree =
            self.linked().map(|units| (units.size_name(), units.agree().unwrap_or_default()));
        attributes.retain(|attribute| {
            let name = domain.name(*attribute);
            agree.as_ref().is_none_or(|(size, columns)| {
                name != size && columns.iter().all(|column| column != name)
            })
        });
        if attributes.is_empty() {
            return Ok(None);
        }
        let mut kept = checkpoint.map(KeptCompression::open).transpose()?;
        let data: &dyn Projectable = &*tables.private;
        let mut curator = self.curator(data, earlier)?;
        let before = curator.spent();
        let rho = curator.remaining().fraction(share)?.0;
        let measured = match &mut kept {
            Some(kept) => kept.measure(&mut curator, &attributes, rho),
            None => compression::measure(&mut curator, &attributes, rho),
        };
        let noisy = measured.inspect_err(|_| {
            if curator.spent() > before {
                self.failed(&self.mechanism, &curator, observer);
            }
        })?;
        curator.save_ledger()?;
        let spent = LedgerFile::new(&self.mechanism, self.budget, &curator);
        let found = Compression::new(&tables.schema, &noisy, &tables.public)?;
        let (before, after) = (tables.schema.domain(), found.schema().domain());
        let values =
            |domain: &Domain| domain.attributes().iter().map(|a| u64::from(a.cardinality)).sum();
        observer.event(&Event::Notice(Notice::Compressed {
            attributes: found.attributes(),
            before: values(&before),
            after: values(&after),
        }));
        let workload = self.workload_over(&after, observer)?;
        let public = tables
            .public
            .iter()
            .map(|table| PublicData::new(table.name(), found.recode(table.table())?, &after));
        let tables = Tables {
            schema: found.schema().clone(),
            private: Arc::new(found.recode(&tables.private)?),
            public: public.collect::<Result<_>>()?,
            workload,
        };
        Ok(Some(Compressed { tables, earlier: spent, kept }))
    }
}
