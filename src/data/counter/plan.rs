//! What to count.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::data::Counter;
use crate::domain::{Clique, Domain, Schema};
use crate::error::{Error, Result};
use jointly_pgm::data::count::{empty_tables, sizes};
use jointly_pgm::data::cover::{Cover, cover};

/// Largest number of cells that a plan may hold: 2³⁰, or 8 GiB of counts in each counter.
pub const MAX_PLAN_CELLS: u64 = 1 << 30;

/// What to count of tables under a schema, so that the marginals on some cliques and on all their subsets are known. Not
/// the cliques themselves are counted but tables that cover them, as [`Dataset`](crate::data::Dataset) does.
///
/// A plan depends on nothing but the schema and the cliques. Everyone who counts a part of a table needs the same plan:
/// [`to_json`](Self::to_json) writes it down.
///
/// ```
/// use jointly::data::{CountPlan, Dataset, Projectable};
/// use jointly::domain::{Clique, Schema};
/// let schema = Schema::from_json(r#"{"sex": 2, "age": 3}"#, "domain.json")?;
/// let plan = CountPlan::new(&schema, &[Clique::new([0, 1])])?;
/// assert_eq!(plan.cells(), 6);
/// // Two machines count a part each.
/// let (mut here, mut there) = (plan.counter(), plan.counter());
/// here.update(&Dataset::from_rows(schema.domain(), &[[0, 2], [1, 2]])?)?;
/// there.update(&Dataset::from_rows(schema.domain(), &[[1, 2]])?)?;
/// here.merge(&there.state()?)?;
/// let table = here.finish()?;
/// assert_eq!((table.records(), table.project(&Clique::new([1]))?), (3, vec![0, 0, 3]));
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CountPlan(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    schema: Schema,
    domain: Domain,
    cliques: Vec<Clique>,
    covers: Vec<Cover>,
    digest: [u8; 32],
    cells: u64,
}

/// A plan as it is written. The cliques are lists of names.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPlan<'a> {
    version: u32,
    #[serde(borrow)]
    schema: &'a RawValue,
    cliques: Vec<Vec<String>>,
}

/// The version of the written form, and of the states of counters.
pub(super) const VERSION: u32 = 1;

impl CountPlan {
    /// A plan to count these cliques; the order and repetitions do not matter.
    ///
    /// # Errors
    /// A clique with an attribute outside the schema, or more than [`MAX_PLAN_CELLS`] cells to count.
    pub fn new(schema: &Schema, cliques: &[Clique]) -> Result<Self> {
        let domain = schema.domain();
        let mut cliques = cliques.to_vec();
        cliques.sort_unstable();
        cliques.dedup();
        sizes(&domain, &cliques)?;
        // The table may have any number of records.
        let covers = cover(&domain, &cliques, usize::MAX);
        let mut sums = covers.iter().map(|cover| domain.cells(&cover.clique));
        let cells = sums.try_fold(0_u64, |sum, cells| sum.checked_add(cells?));
        let Some(cells) = cells.filter(|cells| *cells <= MAX_PLAN_CELLS) else {
            let (needed, limit) = (cells.map(|cells| cells as f64), MAX_PLAN_CELLS as f64);
            return Err(Error::too_large("the plan of a counter", needed, limit, "cells"));
        };
        let digest = digest(schema, &cliques, &covers)?;
        let schema = schema.clone();
        Ok(Self(Arc::new(Inner { schema, domain, cliques, covers, digest, cells })))
    }

    /// A counter that has counted nothing.
    pub fn counter(&self) -> Counter {
        Counter::new(self.clone())
    }

    /// The schema of the tables.
    pub fn schema(&self) -> &Schema {
        &self.0.schema
    }

    /// The attributes of the tables.
    pub fn domain(&self) -> &Domain {
        &self.0.domain
    }

    /// The cliques, sorted.
    pub fn cliques(&self) -> &[Clique] {
        &self.0.cliques
    }

    /// Number of cells that a counter holds, 8 bytes each.
    pub fn cells(&self) -> u64 {
        self.0.cells
    }

    /// The plan as JSON, for other processes. It names the schema and the cliques, and nothing of any record.
    ///
    /// # Errors
    /// None in practice.
    pub fn to_json(&self) -> Result<String> {
        let unwritten = |error: serde_json::Error| {
            Error::invalid_specification("plan of a counter", error.to_string(), "a writable plan")
        };
        let name = |attribute: usize| self.domain().name(attribute).to_owned();
        let cliques = self.cliques().iter().map(|clique| clique.iter().map(name).collect());
        let schema = RawValue::from_string(self.schema().to_json()?).map_err(unwritten)?;
        let stored = RawPlan { version: VERSION, schema: &schema, cliques: cliques.collect() };
        serde_json::to_string(&stored).map_err(unwritten)
    }

    /// A plan that [`to_json`](Self::to_json) wrote. `place` stands for the text in errors.
    ///
    /// # Errors
    /// Another text, an unknown version, or as [`CountPlan::new`].
    pub fn from_json(text: &str, place: &str) -> Result<Self> {
        let expected = "a plan of a counter, as this program writes it";
        let stored: RawPlan<'_> = serde_json::from_str(text)
            .map_err(|error| Error::invalid_specification(place, error.to_string(), expected))?;
        if stored.version != VERSION {
            let found = format!("version {}", stored.version);
            return Err(Error::invalid_specification(place, found, format!("version {VERSION}")));
        }
        let schema = Schema::from_json(stored.schema.get(), place)?;
        let domain = schema.domain();
        let clique = |names: &Vec<String>| match names.as_slice() {
            [] => Ok(Clique::default()),
            names => domain.clique(names),
        };
        let cliques = stored.cliques.iter().map(clique).collect::<jointly_pgm::Result<Vec<_>>>();
        Self::new(&schema, &cliques.map_err(|error| error.in_file(place))?)
    }

    pub(super) fn covers(&self) -> &[Cover] {
        &self.0.covers
    }

    /// Identifies the schema, the cliques and the tables that cover them.
    pub(super) fn digest(&self) -> [u8; 32] {
        self.0.digest
    }

    /// Tables of zeros to count into.
    pub(super) fn tables(&self) -> Vec<Vec<u64>> {
        empty_tables(self.domain(), self.covers())
    }
}

fn digest(schema: &Schema, cliques: &[Clique], covers: &[Cover]) -> Result<[u8; 32]> {
    let mut hash = Sha256::new();
    hash.update(VERSION.to_le_bytes());
    let text = schema.to_json()?;
    hash.update((text.len() as u64).to_le_bytes());
    hash.update(text);
    for cliques in [cliques.iter().collect::<Vec<_>>(), covers.iter().map(|c| &c.clique).collect()]
    {
        hash.update((cliques.len() as u64).to_le_bytes());
        for clique in cliques {
            hash.update((clique.len() as u64).to_le_bytes());
            clique.iter().for_each(|attribute| hash.update((attribute as u64).to_le_bytes()));
        }
    }
    Ok(hash.finalize().into())
}
