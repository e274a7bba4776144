//! Counting many marginals at once.
//!
//! Cliques that differ in their last attribute alone are counted together: the row-major index of the
//! shared attributes (the prefix) is computed once for a block of records, and each last attribute adds
//! one pass over 16-bit indices. Tables of up to 2¹⁶ cells, nearly all of them, are counted into four
//! interleaved sub-histograms, so that runs of equal records do not wait for one another's stores.
//! Counts are integers, so neither blocks nor threads can change the result.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::data::Column;
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};

/// Largest number of cells one call may return, over all its cliques: 2³¹, or 8 GiB of counts.
pub const MAX_TOTAL_CELLS: u64 = 1 << 31;

/// Records counted in one go: their prefix indices stay in the second-level cache.
const BLOCK: usize = 1 << 17;

/// Number of 16-bit indices.
const SMALL: usize = 1 << 16;

/// Cliques with the same attributes but for the last: the prefix, and (last attribute, place in the answer).
type Group<'c> = (&'c [usize], Vec<(usize, usize)>);

/// The marginals of a table on every clique, in row-major order of the sorted attributes.
///
/// # Errors
/// An attribute outside the domain, or more than [`MAX_TOTAL_CELLS`] cells in all.
pub(super) fn count(
    domain: &Domain,
    columns: &[Column],
    records: usize,
    cliques: &[Clique],
) -> Result<Vec<Vec<u32>>> {
    let sizes = sizes(domain, cliques)?;
    let mut groups: BTreeMap<&[usize], Vec<(usize, usize)>> = BTreeMap::new();
    let mut answers: Vec<Vec<u32>> = vec![Vec::new(); cliques.len()];
    for (place, clique) in cliques.iter().enumerate() {
        match clique.attributes().split_last() {
            Some((last, prefix)) => groups.entry(prefix).or_default().push((*last, place)),
            None => answers[place] = vec![u32::try_from(records).unwrap_or(u32::MAX)],
        }
    }
    let groups = split_groups(groups, rayon::current_num_threads());
    let scratch: Mutex<Vec<Scratch>> = Mutex::new(Vec::new());
    let counted: Vec<Vec<(usize, Vec<u32>)>> = groups
        .par_iter()
        .with_max_len(1)
        .map(|group| {
            let taken = scratch.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut own = taken.unwrap_or_default();
            let tables = own.count_group(domain, columns, records, group, &sizes);
            scratch.lock().unwrap_or_else(PoisonError::into_inner).push(own);
            tables
        })
        .collect();
    for (place, table) in counted.into_iter().flatten() {
        answers[place] = table;
    }
    Ok(answers)
}

/// Cells of every clique.
fn sizes(domain: &Domain, cliques: &[Clique]) -> Result<Vec<usize>> {
    let mut total = 0_u64;
    let mut sizes = Vec::with_capacity(cliques.len());
    for clique in cliques {
        if let Some(outside) = clique.iter().find(|a| *a >= domain.len()) {
            return Err(domain.unknown(&format!("#{outside}"), format!("the clique {clique}")));
        }
        let cells = domain.cells(clique);
        let within = cells.and_then(|cells| total.checked_add(cells));
        total = within.filter(|total| *total <= MAX_TOTAL_CELLS).ok_or_else(|| {
            let cells = cells.map_or("more than 2^64".into(), |c| c.to_string());
            Error::TooLarge {
                what: format!("counting {}", domain.describe(clique)),
                needed: format!("{cells} cells (and {total} before it)"),
                limit: format!("{MAX_TOTAL_CELLS} cells in one call"),
            }
        })?;
        sizes.push(usize::try_from(cells.unwrap_or(0)).unwrap_or(0));
    }
    Ok(sizes)
}

/// Cuts large groups so that every thread has work, largest first.
fn split_groups(groups: BTreeMap<&[usize], Vec<(usize, usize)>>, threads: usize) -> Vec<Group<'_>> {
    let cliques: usize = groups.values().map(Vec::len).sum();
    let most = (cliques / (4 * threads.max(1))).max(1);
    let mut parts: Vec<Group<'_>> = Vec::with_capacity(groups.len());
    for (prefix, lasts) in groups {
        parts.extend(lasts.chunks(most).map(|chunk| (prefix, chunk.to_vec())));
    }
    parts.sort_by_key(|(_, lasts)| std::cmp::Reverse(lasts.len()));
    parts
}

/// Indices computed before they are counted: a piece that stays in the first-level cache.
const PIECE: usize = 2048;

/// Cells between two sub-histograms, so that equal cells of two do not share the low bits of their address.
const GAP: usize = 272;

/// Buffers of one thread.
struct Scratch {
    /// Prefix indices of a block, where they fit 16 bits.
    narrow: Vec<u16>,
    /// Prefix indices of a block, where they do not.
    wide: Vec<u32>,
    /// Four sub-histograms with gaps between; all 0 between uses.
    histograms: Vec<u32>,
}

impl Default for Scratch {
    fn default() -> Self {
        Self { narrow: Vec::new(), wide: Vec::new(), histograms: vec![0; 4 * (SMALL + GAP)] }
    }
}

impl Scratch {
    /// Counts the cliques of one group.
    fn count_group(
        &mut self,
        domain: &Domain,
        columns: &[Column],
        records: usize,
        (prefix, lasts): &Group<'_>,
        sizes: &[usize],
    ) -> Vec<(usize, Vec<u32>)> {
        let mut tables: Vec<(usize, Vec<u32>)> =
            lasts.iter().map(|(_, place)| (*place, vec![0; sizes[*place]])).collect();
        // Saturating is enough: without a table there is nothing to count, and with one the product fits.
        let prefix_cells =
            prefix.iter().fold(1_usize, |n, a| n.saturating_mul(domain.cardinality(*a)));
        let blocks = records.div_ceil(BLOCK).max(1);
        let block = records.div_ceil(blocks);
        for start in (0..records).step_by(block.max(1)) {
            let rows = start..(start + block).min(records);
            let narrow = prefix_cells <= SMALL;
            if narrow {
                self.narrow.clear();
                self.narrow.resize(rows.len(), 0);
                for attribute in *prefix {
                    extend_narrow(
                        &mut self.narrow,
                        &columns[*attribute],
                        rows.clone(),
                        domain.cardinality(*attribute),
                    );
                }
            } else {
                self.wide.clear();
                self.wide.resize(rows.len(), 0);
                for attribute in *prefix {
                    extend_wide(
                        &mut self.wide,
                        &columns[*attribute],
                        rows.clone(),
                        domain.cardinality(*attribute),
                    );
                }
            }
            for ((last, _), (_, table)) in lasts.iter().zip(&mut tables) {
                let k = domain.cardinality(*last);
                let rows = rows.clone();
                let histograms = self.histograms.as_mut_slice();
                match &columns[*last] {
                    Column::U8(c) if table.len() <= SMALL => {
                        count_small(&self.narrow, &c[rows], k, histograms, table);
                    }
                    Column::U16(c) if table.len() <= SMALL => {
                        count_small(&self.narrow, &c[rows], k, histograms, table);
                    }
                    column if narrow => count_large(&self.narrow, column, rows, k, table),
                    column => count_large(&self.wide, column, rows, k, table),
                }
            }
        }
        tables
    }
}

/// `index = index k + code` for every record of the block, in 16 bits.
#[expect(clippy::cast_possible_truncation, reason = "the indices were checked to fit 16 bits")]
fn extend_narrow(indices: &mut [u16], column: &Column, rows: Range<usize>, k: usize) {
    fn extend<C: Copy + Into<u16>>(indices: &mut [u16], codes: &[C], k: u16) {
        for (index, code) in indices.iter_mut().zip(codes) {
            *index = index.wrapping_mul(k).wrapping_add((*code).into());
        }
    }
    match column {
        Column::U8(codes) => extend(indices, &codes[rows], k as u16),
        Column::U16(codes) => extend(indices, &codes[rows], k as u16),
        Column::U32(codes) => {
            for (index, code) in indices.iter_mut().zip(&codes[rows]) {
                *index = index.wrapping_mul(k as u16).wrapping_add(*code as u16);
            }
        }
    }
}

/// `index = index k + code` for every record of the block, in 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "a cardinality fits 32 bits")]
fn extend_wide(indices: &mut [u32], column: &Column, rows: Range<usize>, k: usize) {
    fn extend<C: Copy + Into<u32>>(indices: &mut [u32], codes: &[C], k: u32) {
        for (index, code) in indices.iter_mut().zip(codes) {
            *index = index.wrapping_mul(k).wrapping_add((*code).into());
        }
    }
    match column {
        Column::U8(codes) => extend(indices, &codes[rows], k as u32),
        Column::U16(codes) => extend(indices, &codes[rows], k as u32),
        Column::U32(codes) => extend(indices, &codes[rows], k as u32),
    }
}

/// Adds the counts of a block to a table of at most 2^16 cells.
///
/// An index of 16 bits cannot leave a histogram of 2^16 cells, so the loop needs no check.
#[expect(clippy::cast_possible_truncation, reason = "a table of at most 2^16 cells")]
fn count_small<C: Copy + Into<u16>>(
    prefix: &[u16],
    codes: &[C],
    k: usize,
    histograms: &mut [u32],
    table: &mut [u32],
) {
    let Some((first, rest)) = histograms.split_first_chunk_mut::<SMALL>() else {
        return;
    };
    let Some((second, rest)) = rest[GAP..].split_first_chunk_mut::<SMALL>() else {
        return;
    };
    let Some((third, rest)) = rest[GAP..].split_first_chunk_mut::<SMALL>() else {
        return;
    };
    let Some((fourth, _)) = rest[GAP..].split_first_chunk_mut::<SMALL>() else {
        return;
    };
    let k = k as u16;
    let mut indices = [0_u16; PIECE];
    for (prefix, codes) in prefix.chunks(PIECE).zip(codes.chunks(PIECE)) {
        for (index, (prefix, code)) in indices.iter_mut().zip(prefix.iter().zip(codes)) {
            *index = prefix.wrapping_mul(k).wrapping_add((*code).into());
        }
        let (quads, rest) = indices[..codes.len()].as_chunks::<4>();
        for [a, b, c, d] in quads {
            first[usize::from(*a)] += 1;
            second[usize::from(*b)] += 1;
            third[usize::from(*c)] += 1;
            fourth[usize::from(*d)] += 1;
        }
        for index in rest {
            first[usize::from(*index)] += 1;
        }
    }
    let cells = table.len();
    let parts =
        (&mut first[..cells], &mut second[..cells], &mut third[..cells], &mut fourth[..cells]);
    for (cell, count) in table.iter_mut().enumerate() {
        *count += parts.0[cell] + parts.1[cell] + parts.2[cell] + parts.3[cell];
    }
    for part in [parts.0, parts.1, parts.2, parts.3] {
        part.fill(0);
    }
}

/// Adds the counts of a block to a table of any size.
fn count_large<P: Copy + Into<u32>>(
    prefix: &[P],
    column: &Column,
    rows: Range<usize>,
    k: usize,
    table: &mut [u32],
) {
    fn add<P: Copy + Into<u32>, C: Copy + Into<u32>>(
        prefix: &[P],
        codes: &[C],
        k: usize,
        table: &mut [u32],
    ) {
        for (prefix, code) in prefix.iter().zip(codes) {
            let (prefix, code): (u32, u32) = ((*prefix).into(), (*code).into());
            table[prefix as usize * k + code as usize] += 1;
        }
    }
    match column {
        Column::U8(codes) => add(prefix, &codes[rows], k, table),
        Column::U16(codes) => add(prefix, &codes[rows], k, table),
        Column::U32(codes) => add(prefix, &codes[rows], k, table),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::data::{Dataset, Projectable};

    /// The definition, record by record.
    fn naive(data: &Dataset, clique: &Clique) -> Vec<u32> {
        let shape = data.domain().shape(clique);
        let mut table = vec![0; shape.iter().product()];
        for record in 0..data.records() {
            let row = data.row(record);
            let cell = clique.iter().zip(&shape).fold(0, |i, (a, k)| i * k + row[a] as usize);
            table[cell] += 1;
        }
        table
    }

    fn pseudo_random_table(shape: &[u32], records: usize) -> Dataset {
        let domain =
            Domain::new(shape.iter().enumerate().map(|(i, k)| (format!("a{i}"), *k))).unwrap();
        let mut state = 1_u64;
        let rows: Vec<Vec<u32>> = (0..records)
            .map(|_| {
                shape
                    .iter()
                    .map(|k| {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        u32::try_from((state >> 33) % u64::from(*k)).unwrap()
                    })
                    .collect()
            })
            .collect();
        Dataset::from_rows(domain, &rows).unwrap()
    }

    #[test]
    fn every_width_of_index_and_column_agrees_with_the_definition() {
        let data = pseudo_random_table(&[3, 300, 70_000, 1, 256, 5], 3001);
        let mut cliques = Clique::new([0, 1, 3, 4]).subsets();
        cliques.extend([[2, 3], [1, 2], [0, 2], [2, 5]].map(Clique::new));
        cliques.extend([Clique::new([2]), Clique::new([0, 5, 2]), Clique::default()]);
        cliques.push(cliques[0].clone());
        let tables = data.project_many(&cliques).unwrap();
        for (clique, table) in cliques.iter().zip(&tables) {
            assert_eq!(*table, naive(&data, clique), "{clique}");
        }
    }

    #[test]
    fn several_blocks_add_up() {
        let data = pseudo_random_table(&[2, 3, 400], 2 * BLOCK + 17);
        let clique = Clique::new([0, 1, 2]);
        assert_eq!(data.project(&clique).unwrap(), naive(&data, &clique));
        assert_eq!(data.project(&Clique::new([1])).unwrap(), naive(&data, &Clique::new([1])));
    }

    #[test]
    fn a_clique_outside_the_domain_or_too_large_is_an_error() {
        let data = pseudo_random_table(&[2, 1 << 20, 1 << 20, 1 << 20, 1 << 20], 3);
        let error = data.project(&Clique::new([0, 5])).unwrap_err().to_string();
        assert!(error.contains("#5") && error.contains("{0, 5}"), "{error}");
        let error = data.project(&Clique::new([1, 2])).unwrap_err().to_string();
        assert!(error.contains("1099511627776 cells"), "{error}");
        let error = data.project(&Clique::new([1, 2, 3, 4])).unwrap_err().to_string();
        assert!(error.contains("more than 2^64"), "{error}");
    }

    #[test]
    fn no_record_gives_tables_of_zeros() {
        let data = Dataset::from_rows::<[u32; 2]>(Domain::new([("a", 2), ("b", 2)]).unwrap(), &[]);
        assert_eq!(data.unwrap().project(&Clique::new([0, 1])).unwrap(), [0; 4]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn summing_out_a_projection_is_the_smaller_projection(
            shape in prop::collection::vec(1_u32..9, 3), records in 1_usize..200,
        ) {
            let data = pseudo_random_table(&shape, records);
            let all = data.project(&Clique::new([0, 1, 2])).unwrap();
            let pair = data.project(&Clique::new([0, 1])).unwrap();
            let summed: Vec<u32> =
                all.chunks(shape[2] as usize).map(|cells| cells.iter().sum()).collect();
            prop_assert_eq!(summed, pair);
        }
    }
}
