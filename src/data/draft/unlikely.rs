//! Pairs of values that public tables do not have, though they could.

use std::collections::BTreeMap;
use std::path::Path;

use crate::data::draft::document::Condition;
use crate::data::{Dataset, Projectable, read_public_csv};
use crate::domain::{Clique, Combination, Kind, Schema, SchemaColumn, UnlikelyCombination};
use crate::error::Result;

/// Two sets of values are unlikely together if no row has both, although this many rows would if the attributes were
/// independent. Then, with 95 % confidence, at most a tenth of these have them where the public rows come from: the rule of
/// three, 3/30.
pub(super) const EXPECTED: f64 = 30.0;
/// Most cells of a pair that is looked at.
pub(super) const MOST_CELLS: u64 = 1 << 22;

/// What is unlikely.
#[derive(Debug, Default)]
pub(super) struct Unlikely {
    /// What no public row has, though chance would make it.
    pub(super) by_rows: Vec<UnlikelyCombination>,
    /// What a document rules out besides, and no public row has.
    pub(super) of_document: Vec<UnlikelyCombination>,
}

/// The unlikely pairs of values of some public tables, most expected first, and after them those that a document's conditions rule out
/// and no public row has. Pairs of attributes that no table has together have none.
pub(super) fn unlikely(
    schema: &Schema,
    tables: &[&Path],
    conditions: &[Condition],
) -> Result<Unlikely> {
    let read = tables.iter().map(|path| read_public_csv(path, schema));
    let tables = read.collect::<Result<Vec<Dataset>>>()?;
    let domain = schema.domain();
    let mut pairs = Vec::new();
    for first in 0..domain.len() {
        let others = first + 1..domain.len();
        pairs.extend(others.map(|second| Clique::new([first, second])));
    }
    pairs.retain(|pair| domain.cells(pair).is_some_and(|cells| cells <= MOST_CELLS));
    let columns: Vec<&SchemaColumn> = schema.attributes().collect();
    let mut found = Vec::new();
    for pair in &pairs {
        let Some(counts) = counted(&tables, schema, pair)? else { continue };
        let [first, second] = [0, 1].map(|at| pair.iter().nth(at).map(|a| columns[a]));
        if let Some((first, second)) = first.zip(second) {
            let counts: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
            found.extend(combinations(&counts, first, second));
        }
    }
    let expected = |one: &UnlikelyCombination| one.expected.unwrap_or_default();
    found.sort_by(|a, b| expected(b).total_cmp(&expected(a)));
    let mut of_document = Vec::new();
    for condition in conditions {
        of_document.extend(documented(schema, &tables, condition, &found)?);
    }
    Ok(Unlikely { by_rows: found, of_document })
}

/// The combination that a condition rules out, unless it was found, or public rows have it.
fn documented(
    schema: &Schema,
    tables: &[Dataset],
    condition: &Condition,
    found: &[UnlikelyCombination],
) -> Result<Option<UnlikelyCombination>> {
    let column = |name: &str| schema.attributes().find(|column| column.name == name);
    let (Some(age), Some(other)) = (column(&condition.age), column(&condition.column)) else {
        return Ok(None);
    };
    let Some(Kind::Numeric(bins)) = &age.kind else { return Ok(None) };
    let is_inside = |bin: &u32| {
        let [low, high] = [0, 1].map(|end| bins.edges()[*bin as usize + end].ceil());
        condition.ages.from <= low && high <= condition.ages.below
    };
    let ages: Vec<u32> = (0..bins.count()).filter(is_inside).collect();
    let values: Vec<u32> = (0..other.cardinality() - u32::from(other.na)).collect();
    let is_known = |age: u32, value: u32| {
        found.iter().any(|known| {
            let has = |name: &str, code| {
                known.codes.iter().any(|(own, codes)| own == name && codes.contains(&code))
            };
            has(&condition.age, age) && has(&condition.column, value)
        })
    };
    // All of no values are known.
    if ages.iter().all(|age| values.iter().all(|value| is_known(*age, *value))) {
        return Ok(None);
    }
    let domain = schema.domain();
    let pair = domain.clique(&[&condition.age, &condition.column])?;
    let mut expected = None;
    if let Some(counts) = counted(tables, schema, &pair)? {
        let [rows, columns] = [age, other].map(|column| column.cardinality() as usize);
        let is_first = domain.position(&condition.age) < domain.position(&condition.column);
        let count = |age: usize, value: usize| {
            counts[if is_first { age * columns + value } else { value * rows + age }]
        };
        let sum = |ages: &mut dyn Iterator<Item = usize>, values: usize| -> u64 {
            ages.map(|age| (0..values).map(|value| count(age, value)).sum::<u64>()).sum()
        };
        let own = || ages.iter().map(|age| *age as usize);
        if sum(&mut own(), values.len()) > 0 {
            return Ok(None);
        }
        let all = sum(&mut (0..rows), columns).max(1);
        let (of_ages, present) = (sum(&mut own(), columns), sum(&mut (0..rows), values.len()));
        expected = Some(of_ages as f64 * present as f64 / all as f64);
    }
    let codes = vec![(condition.age.clone(), ages), (condition.column.clone(), values)];
    Ok(Some(UnlikelyCombination { codes, expected }))
}

/// The counts of a pair in all tables that have it, row-major; `None` if none has.
pub(super) fn counted(
    tables: &[Dataset],
    schema: &Schema,
    pair: &Clique,
) -> Result<Option<Vec<u64>>> {
    let domain = schema.domain();
    let names: Vec<&str> = pair.iter().map(|attribute| domain.name(attribute)).collect();
    let mut counts: Option<Vec<u64>> = None;
    for table in tables {
        let Ok(own) = table.domain().clique(&names) else { continue };
        let found = table.project(&own)?;
        let counts = counts.get_or_insert_with(|| vec![0; found.len()]);
        counts.iter_mut().zip(found).for_each(|(count, found)| *count += u64::from(found));
    }
    Ok(counts)
}

/// The sets of values of which a table may have none: each value, all others than it (where one value decides another), all that are
/// not missing, and all up to or from a number, as age below 15.
fn sets(column: &SchemaColumn) -> Vec<Vec<usize>> {
    let values = column.cardinality() as usize;
    let present = values - usize::from(column.na);
    let mut sets: Vec<Vec<usize>> = (0..values).map(|value| vec![value]).collect();
    if column.na && present > 1 {
        sets.push((0..present).collect());
    }
    if values > 2 {
        sets.extend((0..values).map(|value| (0..values).filter(|other| *other != value).collect()));
    }
    if let Some(Kind::Numeric(_) | Kind::Date(_)) = &column.kind {
        sets.extend((2..present).map(|end| (0..end).collect()));
        sets.extend((1..present.saturating_sub(1)).map(|start| (start..present).collect()));
    }
    sets
}

/// The unlikely cells of a pair, as few combinations: values of one attribute that lack the same values of the other.
pub(super) fn combinations(
    counts: &[f64],
    first: &SchemaColumn,
    second: &SchemaColumn,
) -> Vec<UnlikelyCombination> {
    grouped(&unlikely_cells(counts, first, second), counts, first, second)
}

/// Whether each cell of a pair is in two sets of values that do not occur together, though chance would make it.
pub(super) fn unlikely_cells(
    counts: &[f64],
    first: &SchemaColumn,
    second: &SchemaColumn,
) -> Vec<bool> {
    let [rows, columns] = [first, second].map(|column| column.cardinality() as usize);
    let Sums { of_rows, of_columns, all } = Sums::of(counts, rows, columns);
    let mut unlikely = vec![false; counts.len()];
    let sets_of_columns = sets(second);
    for set in sets(first) {
        let share = set.iter().map(|row| of_rows[*row]).sum::<f64>() / all;
        // The columns that no row of the set has.
        let lacks = |column: &usize| set.iter().all(|row| counts[row * columns + column] <= 0.0);
        let lacking: Vec<bool> = (0..columns).map(|column| lacks(&column)).collect();
        for others in sets_of_columns.iter().filter(|others| others.iter().all(|c| lacking[*c])) {
            let expected = share * others.iter().map(|column| of_columns[*column]).sum::<f64>();
            if expected >= EXPECTED {
                let cells =
                    set.iter().flat_map(|row| others.iter().map(move |c| row * columns + c));
                cells.for_each(|cell| unlikely[cell] = true);
            }
        }
    }
    unlikely
}

/// The sums of a table of a pair.
struct Sums {
    of_rows: Vec<f64>,
    of_columns: Vec<f64>,
    /// At least 1.
    all: f64,
}

impl Sums {
    fn of(counts: &[f64], rows: usize, columns: usize) -> Self {
        let (mut of_rows, mut of_columns) = (vec![0.0; rows], vec![0.0; columns]);
        for (cell, count) in counts.iter().enumerate() {
            of_rows[cell / columns] += count;
            of_columns[cell % columns] += count;
        }
        let all = of_rows.iter().sum::<f64>().max(1.0);
        Self { of_rows, of_columns, all }
    }
}

/// Some cells of a pair as few combinations.
pub(super) fn grouped(
    cells: &[bool],
    counts: &[f64],
    first: &SchemaColumn,
    second: &SchemaColumn,
) -> Vec<UnlikelyCombination> {
    let [rows, columns] = [first, second].map(|column| column.cardinality() as usize);
    let Sums { of_rows, of_columns, all } = Sums::of(counts, rows, columns);
    let expected = |row: usize, column: usize| of_rows[row] * of_columns[column] / all;
    let is_unlikely = |row: usize, column: usize| cells[row * columns + column];
    let mut by_row: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
    let mut by_column: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
    let codes = |count: usize| 0..u32::try_from(count).unwrap_or(u32::MAX);
    for row in codes(rows) {
        let lacking = codes(columns).filter(|column| is_unlikely(row as usize, *column as usize));
        by_row.entry(lacking.collect()).or_default().push(row);
    }
    for column in codes(columns) {
        let lacking = codes(rows).filter(|row| is_unlikely(*row as usize, column as usize));
        by_column.entry(lacking.collect()).or_default().push(column);
    }
    let is_by_row = by_row.len() <= by_column.len();
    let groups = if is_by_row { by_row } else { by_column };
    let groups = groups.into_iter().filter(|(lacking, _)| !lacking.is_empty());
    let combination = |(lacking, own): (Vec<u32>, Vec<u32>)| {
        let (rows, columns) = if is_by_row { (own, lacking) } else { (lacking, own) };
        let cells = rows.iter().flat_map(|row| columns.iter().map(move |column| (row, column)));
        let expected = cells.map(|(row, column)| expected(*row as usize, *column as usize)).sum();
        let codes: Combination = vec![(first.name.clone(), rows), (second.name.clone(), columns)];
        UnlikelyCombination { codes, expected: Some(expected) }
    };
    groups.map(combination).collect()
}

impl Unlikely {
    /// What a person should look at.
    pub(super) fn remark(&self, schema: &Schema) -> Option<String> {
        let Self { by_rows, of_document } = self;
        let of = |found: &[UnlikelyCombination], what: &str| {
            let examples: Vec<String> =
                found.iter().take(SHOWN).map(|one| example(schema, one)).collect();
            format!(
                "{} unlikely combinations of two values, {what}, such as {}",
                found.len(),
                examples.join("; ")
            )
        };
        let mut texts = Vec::new();
        if !by_rows.is_empty() {
            let what =
                format!("which no public row has and at least {EXPECTED} would have by chance");
            texts.push(of(by_rows, &what));
        }
        if !of_document.is_empty() {
            texts.push(of(of_document, "which the document rules out"));
        }
        let meaning = "records are drawn without them unless what is measured contradicts them; move to 'forbidden' what \
                       cannot be";
        (!texts.is_empty()).then(|| format!("{}; {meaning}", texts.join("; ")))
    }
}

/// A combination in words.
fn example(schema: &Schema, one: &UnlikelyCombination) -> String {
    let values = |own: &(String, Vec<u32>)| values_in_words(schema, own);
    let [first, second] = [0, 1].map(|at| one.codes.get(at).map(values).unwrap_or_default());
    format!("{first} with {second}")
}

/// Some values of a column.
pub(super) fn values_in_words(schema: &Schema, (name, codes): &(String, Vec<u32>)) -> String {
    let column = schema.attributes().find(|column| column.name == *name);
    let name_of = |code: &u32| column.map_or_else(String::new, |column| column.value_name(*code));
    let shown: Vec<String> = codes.iter().take(SHOWN).map(name_of).collect();
    let more = if codes.len() > SHOWN { ", ..." } else { "" };
    format!("{name} {}{more}", shown.join(", "))
}

/// Values of an example, and examples.
pub(super) const SHOWN: usize = 3;

#[cfg(test)]
mod tests;
