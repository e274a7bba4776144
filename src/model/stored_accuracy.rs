//! What was measured, in model files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::least_squares::{Measured, MeasuredResidual};
use crate::measurement::Measurement;
use crate::model::file::check_total;
use crate::model::{Accuracy, PublicPart};

/// The member `accuracy`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "measured marginals and errors")]
pub(super) struct StoredAccuracy {
    /// N.
    total: f64,
    /// N, where it is public and so exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    records: Option<f64>,
    /// In files of version 6: whether the noises of `measured` are independent. Where they are not, nothing is known of
    /// how they go together, so that nothing follows from them.
    #[serde(default = "always", skip_serializing)]
    independent: bool,
    laplace: bool,
    measured: Vec<StoredMarginal>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    residuals: Vec<StoredMarginal>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cells: Vec<StoredCell>,
    public: Vec<StoredPublic>,
    errors: Vec<StoredError>,
}

const fn always() -> bool {
    true
}

/// A marginal, or a residual, that was measured privately.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "{\"attributes\", \"stddev\", \"counts\"}")]
struct StoredMarginal {
    attributes: Vec<String>,
    stddev: f64,
    /// Row-major.
    counts: Vec<f64>,
}

/// A cell of a marginal that was measured privately.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "{\"attributes\", \"cell\", \"stddev\", \"count\"}")]
struct StoredCell {
    attributes: Vec<String>,
    /// Row-major.
    cell: usize,
    stddev: f64,
    count: f64,
}

/// Attributes on which the model has what a public table says. Files written before tables were named have the attributes alone.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "{\"attributes\", \"table\"}")]
enum StoredPublic {
    Named(NamedPublic),
    Attributes(Vec<String>),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedPublic {
    attributes: Vec<String>,
    table: String,
}

/// The estimated error of a marginal of the released table.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "{\"attributes\", \"l1\"}")]
struct StoredError {
    attributes: Vec<String>,
    l1: f64,
    /// The upper end of the measured interval; files written before it was kept do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_most: Option<f64>,
}

impl StoredAccuracy {
    pub(super) fn new(known: &Accuracy, domain: &Domain) -> Self {
        let names = |c: &Clique| c.iter().map(|a| domain.name(a).to_owned()).collect();
        let marginal = |m: &Measurement| StoredMarginal {
            attributes: names(&m.clique),
            stddev: m.stddev,
            counts: m.values.clone(),
        };
        let residual = |(clique, own): (&Clique, &MeasuredResidual)| StoredMarginal {
            attributes: names(clique),
            stddev: own.stddev,
            counts: own.values.clone(),
        };
        let cell = |m: &Measurement| {
            let (cell, count) = m.cell.zip(m.values.first().copied())?;
            Some(StoredCell { attributes: names(&m.clique), cell, stddev: m.stddev, count })
        };
        let public = |part: &PublicPart| {
            let attributes = names(&part.clique);
            match &part.table {
                Some(table) => {
                    StoredPublic::Named(NamedPublic { attributes, table: table.clone() })
                }
                None => StoredPublic::Attributes(attributes),
            }
        };
        let at_most: BTreeMap<&Clique, f64> = known.at_most.iter().map(|(c, m)| (c, *m)).collect();
        let error = |(c, l1): &(Clique, f64)| StoredError {
            attributes: names(c),
            l1: *l1,
            at_most: at_most.get(c).copied(),
        };
        let Measured { records, marginals, residuals, cells, is_laplace } = &known.measured;
        Self {
            total: known.total,
            records: *records,
            independent: true,
            laplace: *is_laplace,
            measured: marginals.iter().map(marginal).collect(),
            residuals: residuals.iter().map(residual).collect(),
            cells: cells.iter().filter_map(cell).collect(),
            public: known.public.iter().map(public).collect(),
            errors: known.errors.iter().map(error).collect(),
        }
    }

    /// The accuracy, if all of its parts fit the domain.
    ///
    /// # Errors
    /// An unknown attribute, tables of another size, or numbers out of range.
    pub(super) fn checked(self, domain: &Domain, place: &str) -> Result<Accuracy> {
        let wrong = |found: &str, expected: &str| {
            Error::invalid_specification(format!("{place}, member 'accuracy'"), found, expected)
        };
        let is_size = |x: f64| x.is_finite() && x >= 0.0;
        check_total(self.total, &format!("{place}, member 'accuracy', total"))?;
        if !self.records.is_none_or(is_size) {
            return Err(wrong("a number of records out of range", "a number of at least 0"));
        }
        let table = |stored: &StoredMarginal| {
            let clique = domain.clique(&stored.attributes)?;
            if domain.cells(&clique) != Some(stored.counts.len() as u64) {
                return Err(wrong("counts of another number", "one for each cell of the marginal"));
            }
            if !(is_size(stored.stddev) && stored.counts.iter().all(|count| count.is_finite())) {
                return Err(wrong("a number out of range", "finite counts and deviations"));
            }
            Ok(clique)
        };
        let mut measured =
            Measured { records: self.records, is_laplace: self.laplace, ..Measured::default() };
        for stored in self.measured {
            let clique = table(&stored)?;
            if self.independent && stored.stddev > 0.0 {
                measured.marginals.push(Measurement::new(clique, stored.counts, stored.stddev));
            }
        }
        for stored in self.residuals {
            let clique = table(&stored)?;
            if stored.stddev <= 0.0 {
                return Err(wrong("a number out of range", "finite counts and deviations above 0"));
            }
            let own = MeasuredResidual::centered(domain, &clique, stored.counts, stored.stddev);
            measured.residuals.insert(clique, own);
        }
        for stored in self.cells {
            let clique = domain.clique(&stored.attributes)?;
            if domain.cells(&clique).is_none_or(|cells| stored.cell as u64 >= cells) {
                return Err(wrong(
                    "a cell beyond its marginal",
                    "a place below its number of cells",
                ));
            }
            if !(is_size(stored.stddev) && stored.stddev > 0.0 && stored.count.is_finite()) {
                return Err(wrong("a number out of range", "finite counts and deviations above 0"));
            }
            let whole = Measurement::new(clique, vec![stored.count], stored.stddev);
            measured.cells.push(Measurement { cell: Some(stored.cell), ..whole });
        }
        let public = self.public.into_iter().map(|stored| {
            let (attributes, table) = match stored {
                StoredPublic::Named(NamedPublic { attributes, table }) => (attributes, Some(table)),
                StoredPublic::Attributes(attributes) => (attributes, None),
            };
            Ok(PublicPart { clique: domain.clique(&attributes)?, table })
        });
        let (mut errors, mut at_most) = (Vec::with_capacity(self.errors.len()), Vec::new());
        for error in &self.errors {
            if !is_size(error.l1) || !error.at_most.is_none_or(is_size) {
                return Err(wrong("an error out of range", "numbers of at least 0"));
            }
            let clique = domain.clique(&error.attributes)?;
            at_most.extend(error.at_most.map(|most| (clique.clone(), most)));
            errors.push((clique, error.l1));
        }
        let public = public.collect::<jointly_pgm::Result<_>>()?;
        Ok(Accuracy { measured, public, errors, at_most, total: self.total, at_once: 1 })
    }
}
