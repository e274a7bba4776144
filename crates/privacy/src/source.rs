//! Where a sealed value comes from.

use std::sync::Arc;

use crate::NeighboringRelation;
use crate::error::{Error, Result};

/// The curator that a sealed value was counted by: no other may release it, as its ledger would not be that of the records.
#[derive(Clone)]
pub(crate) struct Source {
    curator: Arc<()>,
    pub(crate) relation: NeighboringRelation,
    /// The most records that the table may have: n where it is public.
    pub(crate) most_records: f64,
}

impl Source {
    pub(crate) fn new(curator: &Arc<()>, relation: NeighboringRelation, most_records: f64) -> Self {
        Self { curator: Arc::clone(curator), relation, most_records }
    }

    /// Refuses values of another curator.
    pub(crate) fn check(&self, curator: &Arc<()>) -> Result<()> {
        if Arc::ptr_eq(&self.curator, curator) {
            return Ok(());
        }
        let expected = "those of the curator that pays for them";
        Err(Error::invalid_parameter("sealed values", "those of another curator", expected))
    }

    /// Refuses to put values of two curators together.
    pub(crate) fn check_same(&self, other: &Self) -> Result<()> {
        self.check(&other.curator)
    }
}
