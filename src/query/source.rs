//! Where a workload comes from.

use std::path::Path;

use crate::data::Units;
use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::query::workload::built_in;
use crate::query::{WeightedClique, Workload};

/// Where a workload comes from: a name such as `all-3-way` or a file of cliques, and how large its cliques may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadSource {
    /// `all-K-way`, the path of a file, or the text of a JSON file.
    pub name: String,
    /// Cliques with more cells are left out.
    pub max_cells: Option<u64>,
}

impl Default for WorkloadSource {
    /// All three-way marginals.
    fn default() -> Self {
        Self { name: "all-3-way".into(), max_cells: None }
    }
}

impl WorkloadSource {
    /// Refuses a name that can be no workload, without reading a file.
    ///
    /// # Errors
    /// Such a name, or cliques of at most 0 cells.
    pub fn check(&self) -> Result<()> {
        if self.max_cells == Some(0) {
            return Err(Error::invalid_parameter("max cells", 0, "at least 1"));
        }
        let is_empty = self.name.starts_with("all-0-way");
        let is_known = self.is_built_in() && !is_empty;
        if is_known || self.is_json() || self.file().is_some() {
            return Ok(());
        }
        let expected = "all-K-way with a whole number K of at least 1, all-K-way:N@SEED for N of these, or a file";
        Err(Error::invalid_parameter("workload", format!("'{}'", self.name), expected))
    }

    /// The file, if the name is not that of a built-in workload.
    pub fn file(&self) -> Option<&Path> {
        let path = Path::new(&self.name);
        let is_path = !self.is_built_in()
            && !self.is_json()
            && (path.exists() || self.name.contains(['/', '.']));
        is_path.then_some(path)
    }

    /// A workload of this source with marginals of an attribute, the survey weight: it is how the weight depends on the other
    /// attributes that makes the population differ from the sample ([`Workload::crossed_with`]). A file that has cliques with it
    /// says itself what matters.
    ///
    /// # Errors
    /// As [`Workload::crossed_with`].
    pub fn crossed(&self, workload: Workload, weight: usize, domain: &Domain) -> Result<Workload> {
        let has_weight = |clique: &WeightedClique| clique.clique.contains(weight);
        let says_itself = !self.is_built_in() && workload.weighted_cliques().iter().any(has_weight);
        // Of few attributes, each clique may have the weight.
        if says_itself || workload.weighted_cliques().iter().all(has_weight) {
            return Ok(workload);
        }
        workload.crossed_with(weight, domain, self.max_cells)
    }

    /// Whether the name is that of a built-in workload, as of [`Workload::parse`].
    pub fn is_built_in(&self) -> bool {
        built_in(&self.name).is_some()
    }

    fn is_json(&self) -> bool {
        self.name.starts_with(['{', '['])
    }

    /// The workload, and how many of its cliques were left out.
    ///
    /// # Errors
    /// As [`Workload::read`], [`Workload::parse`] and [`Workload::restrict`].
    pub fn read(&self, domain: &Domain) -> Result<(Workload, usize)> {
        let all = |k: usize| Workload::all_k_way(domain, k);
        // The default holds for domains of fewer attributes too.
        let is_short = self.name == Self::default().name && domain.len() < 3;
        self.read_among(domain, &|k| if is_short { all(domain.len()) } else { all(k) })
    }

    /// As [`read`](Self::read), over records that are units with their members: all K-way marginals are then those of
    /// [`Workload::of_units`].
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(crate) fn read_of_units(
        &self,
        domain: &Domain,
        units: &Units,
    ) -> Result<(Workload, usize)> {
        self.read_among(domain, &|k| Workload::of_units(domain, units, k))
    }

    /// The workload. `all`: the built-in one of some K.
    fn read_among(
        &self,
        domain: &Domain,
        all: &dyn Fn(usize) -> Result<Workload>,
    ) -> Result<(Workload, usize)> {
        let workload = match self.file() {
            Some(path) => Workload::read(path, domain)?,
            None if self.is_json() => Workload::from_text(&self.name, "workload", domain)?,
            // A sample is one of the cliques that are small enough.
            None => match built_in(&self.name) {
                Some((k, _)) => all(k)?,
                None => Workload::parse(&self.name, domain)?,
            },
        };
        let (workload, left_out) = match self.max_cells {
            None => (workload, 0),
            Some(most) => workload.restrict(domain, most)?,
        };
        match built_in(&self.name) {
            Some((_, Some((cliques, seed)))) => Ok((workload.sampled(cliques, seed)?, left_out)),
            _ => Ok((workload, left_out)),
        }
    }
}
