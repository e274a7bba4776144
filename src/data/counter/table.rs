//! A table of which only counts are left.

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::data::{CountPlan, Projectable};
use crate::domain::{Clique, Domain};
use crate::error::{CommonError, Error, Result};
use crate::privacy::files::hex;
use crate::table::Projection;
use jointly_pgm::data::count::sizes;

/// What a [`Counter`](crate::data::Counter) has counted: the marginals on the cliques of its plan and on all their subsets,
/// equal to those of the records. It is as private as they are.
#[derive(Clone, Debug)]
pub struct CountedTable {
    plan: CountPlan,
    tables: Vec<Vec<u32>>,
    records: u64,
    /// For each attribute, the cliques of the plan that have it, with their table; small tables first.
    with: Vec<Vec<(usize, usize)>>,
}

impl CountedTable {
    pub(super) fn new(plan: CountPlan, tables: Vec<Vec<u64>>, records: u64) -> Result<Self> {
        let too_many = || {
            let (needed, limit) = (Some(records as f64), f64::from(u32::MAX));
            Error::too_large("the counted table", needed, limit, "records")
        };
        if u32::try_from(records).is_err() {
            return Err(too_many());
        }
        // No cell is above the number of records. One table after another, so that few are held twice.
        let narrow = |table: Vec<u64>| table.into_iter().map(u32::try_from).collect();
        let tables: std::result::Result<Vec<Vec<u32>>, _> =
            tables.into_iter().map(narrow).collect();
        let tables = tables.map_err(|_| too_many())?;
        let mut places: Vec<(usize, usize)> = (0..)
            .zip(plan.covers())
            .flat_map(|(table, cover)| cover.members.iter().map(move |place| (*place, table)))
            .collect();
        places.sort_unstable_by_key(|(place, table)| (tables[*table].len(), *table, *place));
        let mut with = vec![Vec::new(); plan.domain().len()];
        for (place, table) in places {
            plan.cliques()[place].iter().for_each(|attribute| with[attribute].push((place, table)));
        }
        Ok(Self { plan, tables, records, with })
    }

    /// What was counted.
    pub fn plan(&self) -> &CountPlan {
        &self.plan
    }

    /// Whether the marginal on a clique is known.
    pub fn covers(&self, clique: &Clique) -> bool {
        clique.is_empty() || self.table_for(clique).is_some()
    }

    /// A digest of what was counted: schema, cliques and counts.
    pub(crate) fn digest(&self) -> String {
        let mut digest = Sha256::new_with_prefix(self.plan.digest());
        for count in self.tables.iter().flatten() {
            digest.update(count.to_le_bytes());
        }
        hex(&digest.finalize())
    }

    /// The table that a clique is a sum of.
    fn table_for(&self, clique: &Clique) -> Option<usize> {
        let fewest =
            clique.iter().map(|attribute| &self.with[attribute]).min_by_key(|w| w.len())?;
        let found = fewest.iter().find(|(place, _)| clique.is_subset(&self.plan.cliques()[*place]));
        found.map(|(_, table)| *table)
    }

    fn count(&self, clique: &Clique, cells: usize) -> jointly_pgm::Result<Vec<u32>> {
        if clique.is_empty() {
            return Ok(vec![u32::try_from(self.records).unwrap_or(u32::MAX)]);
        }
        let Some(table) = self.table_for(clique) else {
            return Err(CommonError::invalid_specification(
                "counted table",
                format!("a request for {}", self.domain().describe(clique)),
                "a subset of a clique that was counted",
            ));
        };
        let cover = &self.plan.covers()[table].clique;
        if cover == clique {
            return Ok(self.tables[table].clone());
        }
        let mut sums = vec![0; cells];
        Projection::between(cover, &self.domain().shape(cover), clique)
            .add_into(&self.tables[table], &mut sums);
        Ok(sums)
    }
}

impl Projectable for CountedTable {
    fn domain(&self) -> &Domain {
        self.plan.domain()
    }

    fn records(&self) -> u64 {
        self.records
    }

    /// # Errors
    /// A clique that is no subset of one of the plan's, which the error names.
    fn project_many(&self, cliques: &[Clique]) -> jointly_pgm::Result<Vec<Vec<u32>>> {
        let sizes = sizes(self.domain(), cliques)?;
        let counted: Vec<jointly_pgm::Result<Vec<u32>>> = cliques
            .par_iter()
            .zip(&sizes)
            .map(|(clique, cells)| self.count(clique, *cells))
            .collect();
        counted.into_iter().collect()
    }
}
