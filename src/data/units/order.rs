//! The order in which records of a unit are kept, where it does not depend on the order of the rows.

use sha2::{Digest, Sha256};

use crate::domain::Domain;

/// Bytes of a hash.
const HASH: usize = 8;

/// Orders the records of a unit by a hash of the unit's name and the record's codes, and then by the codes: records that tie are
/// equal. What is kept of a unit so depends on its own records alone: `docs/theory/sensitivities.md`, section 8.
#[derive(Clone, Debug)]
pub(in crate::data) struct RecordOrder {
    /// Bytes of a code of each attribute.
    widths: Vec<usize>,
}

impl RecordOrder {
    pub(in crate::data) fn new(domain: &Domain) -> Self {
        let width = |attribute: usize| match domain.cardinality(attribute) {
            0..=0x100 => 1,
            0x101..=0x1_0000 => 2,
            _ => 4,
        };
        Self { widths: (0..domain.len()).map(width).collect() }
    }

    /// The place of a record among those of its unit: keys are compared byte by byte.
    pub(in crate::data) fn key(&self, unit: &[u8], codes: &[u32]) -> Vec<u8> {
        let mut key = vec![0; HASH];
        for (code, width) in codes.iter().zip(&self.widths) {
            key.extend(&code.to_be_bytes()[4 - width..]);
        }
        let mut hash = Sha256::new();
        hash.update((unit.len() as u64).to_le_bytes());
        hash.update(unit);
        hash.update(&key[HASH..]);
        key[..HASH].copy_from_slice(&hash.finalize()[..HASH]);
        key
    }
}
