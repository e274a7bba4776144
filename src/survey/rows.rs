//! Records in which totals hold.

use std::collections::BTreeMap;

use rand::{Rng, RngExt};

use crate::data::{Column, Dataset};
use crate::domain::{Clique, StructuralZero};
use crate::error::Result;
use crate::table::{CliqueLayout, Totals};

/// Records in which totals hold, and what is left where they cannot.
#[derive(Clone, Debug)]
pub struct Adjusted {
    /// The records.
    pub rows: Dataset,
    /// The largest difference between the number of records in a cell of a total and the total, scaled to the number of
    /// records: 0 where totals without a cycle are whole numbers of as many records, and about 1 at most where they are rounded.
    pub largest_difference: f64,
}

/// Draws of a record for a move before another pair of cells is tried.
const DRAWS: u32 = 50;

/// Changes as few records as it takes for totals to hold: in whole numbers, of as many records as there are.
///
/// The tables are taken one after another, such that each shares as much as possible with the ones before. Within each
/// combination of values that it shares with them, the records there are dealt to its cells by largest remainders, and
/// records of cells with too many move to cells with too few, near ones first: they get the values that the tables before do
/// not have, so these keep what they have. Where every table shares with one before it all that it shares with all of them
/// (tables without a cycle) all totals hold. A record never becomes an impossible one.
///
/// # Errors
/// Totals over another domain.
pub fn with_totals<R: Rng + ?Sized>(
    rows: &Dataset,
    totals: &Totals,
    rng: &mut R,
) -> Result<Adjusted> {
    let mut columns = rows.columns().to_vec();
    let mut fixed = Clique::default();
    let order = in_order(totals.layout().cliques());
    for table in &order {
        let clique = &totals.layout().cliques()[*table];
        let current = Dataset::new(rows.domain().clone(), columns)?;
        let moves = moves(&current, totals, *table, &fixed)?;
        let all: Vec<u32> = (0..).take(current.records()).collect();
        columns = moved(&current, clique, &fixed, moves, &all, rng)?;
        fixed = fixed.union(clique);
    }
    let rows = Dataset::new(rows.domain().clone(), columns)?;
    let scale = rows.records() as f64 / totals.total();
    let mut largest_difference = 0.0_f64;
    for (table, clique) in totals.layout().cliques().iter().enumerate() {
        let counts = counted(&rows.cells(clique)?, totals.table(table).len());
        for (count, total) in counts.iter().zip(totals.table(table)) {
            largest_difference = largest_difference.max((*count as f64 - scale * total).abs());
        }
    }
    Ok(Adjusted { rows, largest_difference })
}

/// The records, of which some, drawn at random, have got the values of cells of totals that no record had. A record never
/// becomes an impossible one. Records in a cell with a total of 0, which will have no weight, do not count.
pub(super) fn with_every_cell<R: Rng + ?Sized>(
    rows: Dataset,
    totals: &Totals,
    rng: &mut R,
) -> Result<Dataset> {
    let mut rows = rows;
    for (table, clique) in totals.layout().cliques().iter().enumerate() {
        let wanted = totals.table(table);
        let cells = rows.cells(clique)?;
        let possible = rows.possible_under(totals)?;
        let of_possible: Vec<u32> = possible.iter().map(|record| cells[*record as usize]).collect();
        let counts = counted(&of_possible, wanted.len());
        let empty = (0_u32..).zip(&counts).zip(wanted);
        let empty = empty.filter(|((_, count), total)| **count == 0 && **total > 0.0);
        let many = (0_u32..).zip(&counts).max_by_key(|(_, count)| **count);
        let moves: Moves = many.map_or_else(Vec::new, |(many, _)| {
            empty.map(|((cell, _), _)| (many, cell, 1)).collect()
        });
        if !moves.is_empty() {
            let columns = moved(&rows, clique, &Clique::default(), moves, &possible, rng)?;
            rows = Dataset::new(rows.domain().clone(), columns)?;
        }
    }
    Ok(rows)
}

/// Positions of cliques such that each shares as many attributes as possible with one before it.
fn in_order(cliques: &[Clique]) -> Vec<usize> {
    let mut left: Vec<usize> = (0..cliques.len()).collect();
    let mut order: Vec<usize> = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let shared = |at: &usize| {
            let with = |before: &usize| cliques[*at].intersection(&cliques[*before]).len();
            (order.iter().map(with).max().unwrap_or(0), std::cmp::Reverse(*at))
        };
        let next = (0..left.len()).max_by_key(|i| shared(&left[*i])).unwrap_or(0);
        order.push(left.swap_remove(next));
    }
    order
}

fn counted(cells: &[u32], size: usize) -> Vec<u64> {
    let mut counts = vec![0; size];
    cells.iter().for_each(|cell| counts[*cell as usize] += 1);
    counts
}

/// Records in one cell that should be in another: from, to, how many.
type Moves = Vec<(u32, u32, u64)>;

/// The moves within one table. `fixed`: attributes that keep their values.
fn moves(rows: &Dataset, totals: &Totals, table: usize, fixed: &Clique) -> Result<Moves> {
    let clique = &totals.layout().cliques()[table];
    let wanted = totals.table(table);
    let counts = counted(&rows.cells(clique)?, wanted.len());
    // The cells with the same values of what is fixed.
    let shared = clique.intersection(fixed);
    let layout = CliqueLayout::new(rows.domain(), [clique.clone()])?;
    let mut groups: BTreeMap<Vec<u32>, Vec<usize>> = BTreeMap::new();
    for cell in 0..wanted.len() {
        let codes = layout.codes(0, cell);
        let key = clique.iter().zip(codes).filter(|(a, _)| shared.contains(*a)).map(|(_, c)| c);
        groups.entry(key.collect()).or_default().push(cell);
    }
    let mut moves = Vec::new();
    for cells in groups.values() {
        let records = cells.iter().map(|cell| counts[*cell]).sum();
        let own: Vec<f64> = cells.iter().map(|cell| wanted[*cell]).collect();
        let dealt = dealt(&own, records);
        let (mut over, mut under) = (Vec::new(), Vec::new());
        for (cell, dealt) in cells.iter().zip(dealt) {
            let cell = u32::try_from(*cell).unwrap_or(u32::MAX);
            let count = counts[cell as usize];
            if count > dealt {
                over.push((cell, count - dealt));
            } else if dealt > count {
                under.push((cell, dealt - count));
            }
        }
        // In order of the cells, so that near values are exchanged.
        let (mut from, mut to) = (over.into_iter(), under.into_iter());
        let (mut give, mut take) = (from.next(), to.next());
        while let (Some((a, has)), Some((b, needs))) = (give, take) {
            let share = has.min(needs);
            moves.push((a, b, share));
            give = if has > share { Some((a, has - share)) } else { from.next() };
            take = if needs > share { Some((b, needs - share)) } else { to.next() };
        }
    }
    Ok(moves)
}

/// Records in proportion to weights, by largest remainders; of weights that are all 0, none moves.
fn dealt(weights: &[f64], records: u64) -> Vec<u64> {
    let sum: f64 = weights.iter().sum();
    if sum <= 0.0 {
        let mut dealt = vec![0; weights.len()];
        dealt.iter_mut().take(1).for_each(|first| *first = records);
        return dealt;
    }
    let exact: Vec<f64> = weights.iter().map(|w| w / sum * records as f64).collect();
    // A whole number that was computed just below itself is meant.
    let floor = |x: &f64| (x + 1e-6).floor();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts of records"
    )]
    let mut dealt: Vec<u64> = exact.iter().map(|x| floor(x) as u64).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    let rest = |i: &usize| exact[*i] - floor(&exact[*i]);
    order.sort_by(|i, j| rest(j).total_cmp(&rest(i)).then(i.cmp(j)));
    let given: u64 = dealt.iter().sum();
    let left = usize::try_from(records.saturating_sub(given)).unwrap_or(usize::MAX);
    order.iter().cycle().take(left).for_each(|i| dealt[*i] += 1);
    dealt
}

/// The columns after the moves, as far as they are possible. `movable`: positions of records.
fn moved<R: Rng + ?Sized>(
    rows: &Dataset,
    clique: &Clique,
    fixed: &Clique,
    moves: Moves,
    movable: &[u32],
    rng: &mut R,
) -> Result<Vec<Column>> {
    let domain = rows.domain();
    let layout = CliqueLayout::new(domain, [clique.clone()])?;
    let touched = |zero: &&StructuralZero| !zero.clique().intersection(clique).is_empty();
    let zeros: Vec<&StructuralZero> = domain.structural_zeros().iter().filter(touched).collect();
    let mut records: BTreeMap<u32, Vec<u32>> =
        moves.iter().map(|(from, ..)| (*from, Vec::new())).collect();
    let cells = rows.cells(clique)?;
    for record in movable {
        if let Some(records) = records.get_mut(&cells[*record as usize]) {
            records.push(*record);
        }
    }
    // The new value of an attribute of a record.
    let mut changed: BTreeMap<(usize, u32), u32> = BTreeMap::new();
    for (from, to, count) in moves {
        let new: Vec<(usize, u32)> = clique
            .iter()
            .zip(layout.codes(0, to as usize))
            .filter(|(attribute, _)| !fixed.contains(*attribute))
            .collect();
        let Some(records) = records.get_mut(&from) else { continue };
        for _ in 0..count {
            let is_possible = |record: u32| {
                let code = |attribute: usize| {
                    let new = new.iter().find(|(changed, _)| *changed == attribute);
                    let old = || rows.column(attribute).and_then(|c| c.get(record as usize));
                    new.map(|(_, code)| *code).or_else(old).unwrap_or(0)
                };
                !zeros.iter().any(|zero| zero.forbids(domain, code))
            };
            let drawn = (0..DRAWS).filter(|_| !records.is_empty());
            let mut drawn = drawn.map(|_| rng.random_range(0..records.len()));
            let Some(at) = drawn.find(|at| is_possible(records[*at])) else { break };
            let record = records.swap_remove(at);
            changed.extend(new.iter().map(|(attribute, code)| ((*attribute, record), *code)));
        }
    }
    let column = |(attribute, old): (usize, &Column)| {
        let new =
            |(record, code): (u32, u32)| changed.get(&(attribute, record)).copied().unwrap_or(code);
        if !clique.contains(attribute) || fixed.contains(attribute) {
            return Ok(old.clone());
        }
        let codes = (0_u32..).zip(old.iter()).map(new);
        Ok(Column::from_codes(codes, domain.cardinality(attribute))?)
    };
    rows.columns().iter().enumerate().map(column).collect()
}

#[cfg(test)]
mod tests;
