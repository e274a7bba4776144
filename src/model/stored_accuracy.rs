//! What was measured, in model files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::measurement::{Measurement, Provenance};
use crate::model::Accuracy;
use crate::model::file::check_total;

/// The member `accuracy`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "measured marginals and errors")]
pub(super) struct StoredAccuracy {
    /// N.
    total: f64,
    independent: bool,
    laplace: bool,
    measured: Vec<StoredMarginal>,
    public: Vec<Vec<String>>,
    errors: Vec<StoredError>,
}

/// A marginal that was measured privately.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "{\"attributes\", \"stddev\", \"counts\"}")]
struct StoredMarginal {
    attributes: Vec<String>,
    stddev: f64,
    /// Row-major.
    counts: Vec<f64>,
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
        let at_most: BTreeMap<&Clique, f64> = known.at_most.iter().map(|(c, m)| (c, *m)).collect();
        let error = |(c, l1): &(Clique, f64)| StoredError {
            attributes: names(c),
            l1: *l1,
            at_most: at_most.get(c).copied(),
        };
        Self {
            total: known.total,
            independent: known.is_independent,
            laplace: known.is_laplace,
            measured: known.measured.iter().map(marginal).collect(),
            public: known.public.iter().map(names).collect(),
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
        let mut measured = Vec::with_capacity(self.measured.len());
        for stored in self.measured {
            let clique = domain.clique(&stored.attributes)?;
            if domain.cells(&clique) != Some(stored.counts.len() as u64) {
                return Err(wrong("counts of another number", "one for each cell of the marginal"));
            }
            if !(is_size(stored.stddev) && stored.counts.iter().all(|count| count.is_finite())) {
                return Err(wrong("a number out of range", "finite counts and deviations"));
            }
            measured.push(Measurement {
                clique,
                cell: None,
                values: stored.counts,
                stddev: stored.stddev,
                provenance: Provenance::Private,
            });
        }
        let public = self.public.iter().map(|names| domain.clique(names));
        let (mut errors, mut at_most) = (Vec::with_capacity(self.errors.len()), Vec::new());
        for error in &self.errors {
            if !is_size(error.l1) || !error.at_most.is_none_or(is_size) {
                return Err(wrong("an error out of range", "numbers of at least 0"));
            }
            let clique = domain.clique(&error.attributes)?;
            at_most.extend(error.at_most.map(|most| (clique.clone(), most)));
            errors.push((clique, error.l1));
        }
        Ok(Accuracy {
            measured,
            public: public.collect::<jointly_pgm::Result<_>>()?,
            is_independent: self.independent,
            is_laplace: self.laplace,
            errors,
            at_most,
            total: self.total,
        })
    }
}
