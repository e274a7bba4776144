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
    /// Of records with the first attributes of a domain.
    pub(in crate::data) fn new(domain: &Domain, attributes: usize) -> Self {
        let width = |attribute: usize| match domain.cardinality(attribute) {
            0..=0x100 => 1,
            0x101..=0x1_0000 => 2,
            _ => 4,
        };
        Self { widths: (0..attributes).map(width).collect() }
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

    /// The codes of the record that has a key; `None` if no record of the domain has.
    #[cfg(feature = "arrow")]
    pub(in crate::data) fn codes(&self, key: &[u8], codes: &mut Vec<u32>) -> Option<()> {
        codes.clear();
        let mut rest = key.get(HASH..)?;
        for width in &self.widths {
            let (code, others) = rest.split_at_checked(*width)?;
            codes.push(code.iter().fold(0, |code, byte| code << 8 | u32::from(*byte)));
            rest = others;
        }
        rest.is_empty().then_some(())
    }
}
