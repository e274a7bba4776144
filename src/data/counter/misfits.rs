//! Rows that do not fit a schema, by what does not fit.

use std::fmt::Write as _;

use crate::data::csv::Misfit;
use crate::domain::{Domain, StructuralZero};
use crate::error::{Error, Result};

/// How many rows do not fit, and one example, for each attribute and then for each structural zero of a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Misfits {
    attributes: usize,
    pub(super) kinds: Vec<Kind>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) rows: u64,
    /// The first one in the order of their texts, so that the order of the rows does not matter.
    pub(super) example: String,
}

impl Misfits {
    pub(super) fn new(domain: &Domain) -> Self {
        let kinds = vec![Kind::default(); domain.len() + domain.structural_zeros().len()];
        Self { attributes: domain.len(), kinds }
    }

    /// Notes a row. `found`: what does not fit.
    #[cfg_attr(not(feature = "arrow"), expect(dead_code, reason = "files are refused at the row"))]
    pub(super) fn note(&mut self, misfit: Misfit, found: String) {
        let place = match misfit {
            Misfit::Cell(attribute) => attribute,
            Misfit::Combination(zero) => self.attributes + zero,
        };
        if let Some(kind) = self.kinds.get_mut(place) {
            kind.add(&Kind { rows: 1, example: found });
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.kinds.iter_mut().zip(&other.kinds).for_each(|(kind, more)| kind.add(more));
    }

    /// # Errors
    /// A row that does not fit.
    pub(super) fn check(&self, domain: &Domain) -> Result<()> {
        const SHOWN: usize = 5;
        let rules = domain.structural_zeros().iter().map(StructuralZero::clique);
        let names = (0..self.attributes).map(|a| format!("'{}'", domain.name(a)));
        let names = names.chain(rules.map(|rule| format!("the rule on {}", domain.describe(rule))));
        let wrong: Vec<String> = names
            .zip(&self.kinds)
            .filter(|(_, kind)| kind.rows > 0)
            .map(|(name, Kind { rows, example })| {
                format!(
                    "{rows} row{} against {name}, such as {example}",
                    if *rows == 1 { "" } else { "s" }
                )
            })
            .collect();
        if wrong.is_empty() {
            return Ok(());
        }
        let more = wrong.len().saturating_sub(SHOWN);
        let mut found = wrong[..wrong.len().min(SHOWN)].join("; ");
        if more > 0 {
            // Writing to a string cannot fail.
            _ = write!(found, "; and {more} more columns or rules");
        }
        Err(Error::invalid_specification("counted table", found, "rows that fit the schema"))
    }
}

impl Kind {
    fn add(&mut self, other: &Self) {
        if other.rows > 0 && (self.rows == 0 || other.example < self.example) {
            self.example.clone_from(&other.example);
        }
        self.rows = self.rows.saturating_add(other.rows);
    }
}
