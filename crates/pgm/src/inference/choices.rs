//! Choices of layouts that were made before. A search takes about as long as running a contraction once, and a model that grows by a
//! clique asks for the same ones again.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::domain::{Clique, Domain};
use crate::inference::search::{Choice, choose};

/// Choices that are remembered, some 10 MiB. If there are more, all are forgotten.
const MOST: usize = 1 << 14;

/// The choices of an oracle, and of those that follow it. None depends on whether it was made before.
#[derive(Debug, Default)]
pub(super) struct Choices {
    known: RwLock<HashMap<Vec<u32>, Arc<Choice>>>,
}

impl Choices {
    /// As [`choose`].
    pub(super) fn choose(
        &self,
        domain: &Domain,
        clique: &Clique,
        inputs: &[Clique],
        outputs: &[Clique],
    ) -> Arc<Choice> {
        let choice = || Arc::new(choose(domain, clique, inputs, outputs));
        let Some(pattern) = pattern(domain, clique, inputs, outputs) else { return choice() };
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(&pattern) {
            return Arc::clone(found);
        }
        drop(known);
        let found = choice();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(pattern, Arc::clone(&found));
        found
    }
}

/// All that a choice depends on: the cardinalities of the attributes, and which of them each table has. `None` for more than 32
/// attributes.
fn pattern(
    domain: &Domain,
    clique: &Clique,
    inputs: &[Clique],
    outputs: &[Clique],
) -> Option<Vec<u32>> {
    // Tables may have attributes of a single value that the clique lacks.
    let mut attributes: Vec<usize> = clique.iter().collect();
    for table in inputs.iter().chain(outputs) {
        attributes.extend(table.iter().filter(|attribute| !clique.contains(*attribute)));
    }
    attributes.sort_unstable();
    attributes.dedup();
    if attributes.len() > 32 {
        return None;
    }
    let table = |table: &Clique| {
        let place = |attribute| attributes.binary_search(&attribute).map_or(0, |place| 1 << place);
        table.iter().fold(0_u32, |mask, attribute| mask | place(attribute))
    };
    let number = |count: usize| u32::try_from(count).ok();
    let mut pattern = Vec::with_capacity(2 + attributes.len() + inputs.len() + outputs.len());
    pattern.extend([number(attributes.len())?, number(inputs.len())?]);
    for attribute in &attributes {
        pattern.push(number(domain.cardinality(*attribute))?);
    }
    pattern.extend(inputs.iter().chain(outputs).map(table));
    Some(pattern)
}

#[cfg(test)]
mod tests;
