//! Questions about records that are never drawn, as the schema's rules leave them out.

use std::collections::BTreeMap;

use crate::domain::{Clique, Domain, Schema, StructuralZero};
use crate::model::Evidence;

/// The rules of drawn records that questions on some attributes can be about.
pub(super) struct LeftOut<'s> {
    domain: &'s Domain,
    rules: Vec<&'s StructuralZero>,
    /// For each attribute that is given, its possible codes.
    given: BTreeMap<usize, Vec<u32>>,
}

impl<'s> LeftOut<'s> {
    /// The rules of a schema whose attributes are all in a clique or given.
    pub(super) fn new(
        domain: &'s Domain,
        schema: &'s Schema,
        clique: &Clique,
        given: Option<&Evidence>,
    ) -> Self {
        let rules = schema.avoided().iter().chain(domain.zeros_of_draws());
        Self::of_rules(domain, rules, clique, given)
    }

    /// The combinations that no record can have, and that models know.
    pub(super) fn impossible(
        domain: &'s Domain,
        clique: &Clique,
        given: Option<&Evidence>,
    ) -> Self {
        Self::of_rules(domain, domain.fitted_zeros(), clique, given)
    }

    fn of_rules(
        domain: &'s Domain,
        rules: impl Iterator<Item = &'s StructuralZero>,
        clique: &Clique,
        given: Option<&Evidence>,
    ) -> Self {
        let own = |evidence: &Evidence| -> Vec<(usize, Vec<u32>)> {
            let attributes = evidence.attributes();
            attributes.iter().filter_map(|a| Some((a, evidence.possible(a)?))).collect()
        };
        let given: BTreeMap<usize, Vec<u32>> = given.map(own).into_iter().flatten().collect();
        let known = clique.union(&Clique::new(given.keys().copied()));
        let rules = rules.filter(|rule| rule.clique().is_subset(&known)).collect();
        Self { domain, rules, given }
    }

    /// Whether some rule leaves out all records with one of some codes of each attribute.
    pub(super) fn holds(&self, codes: impl Fn(usize) -> Option<Vec<u32>>) -> bool {
        self.rules.iter().any(|rule| {
            let mut cells = vec![0];
            for attribute in rule.clique().iter() {
                let given = self.given.get(&attribute);
                let own = match (codes(attribute), given) {
                    (Some(own), Some(given)) => {
                        own.into_iter().filter(|code| given.contains(code)).collect()
                    }
                    (Some(own), None) => own,
                    (None, given) => given.cloned().unwrap_or_default(),
                };
                let extent = self.domain.cardinality(attribute);
                let of = |cell: usize| own.iter().map(move |code| cell * extent + *code as usize);
                cells = cells.into_iter().flat_map(of).collect();
            }
            !cells.is_empty() && cells.iter().all(|cell| rule.forbidden()[*cell])
        })
    }
}
