//! What the members of public units do not have together, though they could: the persons of a household.
//!
//! The pairs of members of one unit are not independent of each other, so a unit counts once: each of its `n` pairs as `1/n`. Then
//! the rule of three holds as for rows: what no unit has, though 30 would have it by chance, at most a tenth of these have where
//! the units come from, with 95 % confidence.

use std::collections::BTreeMap;
use std::path::Path;

use crate::data::draft::unlikely::{
    EXPECTED, MOST_CELLS, SHOWN, combinations, grouped, unlikely_cells, values_in_words,
};
use crate::data::units::{UnitsOfSchema, read_public_units_csv};
use crate::data::{Column, Dataset, Members, Units};
use crate::domain::{
    Difference, Kind, MemberCombination, Schema, SchemaColumn, UnlikelyMemberCombination, Who,
    numbers_of,
};
use crate::error::{Error, Result};

/// The values of all members of the units of some tables.
struct Counted<'t> {
    tables: &'t [Dataset],
    /// Name of the number of members.
    size: String,
}

/// What is unlikely in the units of public tables, most expected first.
///
/// 1. Values of the first member, or of all others (`place`).
/// 2. Pairs of values of any two members.
/// 3. Pairs of values of the first member and another one, which other two may have.
/// 4. Differences of numbers of the first member and another one with some value, such as the ages of a parent and a child.
pub(super) fn unlikely_members(
    schema: &Schema,
    tables: &[&Path],
    units: &Units,
) -> Result<Vec<UnlikelyMemberCombination>> {
    let Some(members) = units.members() else {
        return Err(Error::invalid_specification("units", "no columns of members", "some"));
    };
    units.widened(schema)?;
    let read = tables.iter().map(|path| read_public_units_csv(path, schema, units));
    let tables = read.collect::<Result<Vec<Dataset>>>()?;
    let counted = Counted { tables: &tables, size: units.size_name() };
    let is_own = |column: &&SchemaColumn| members.columns().contains(&column.name);
    let columns: Vec<&SchemaColumn> = schema.attributes().filter(is_own).collect();
    let mut found: Vec<UnlikelyMemberCombination> = Vec::new();
    let mut nobody: BTreeMap<&str, OfPlaces> = BTreeMap::new();
    for column in &columns {
        let (places, of_places) = counted.places(column);
        found.extend(of_places);
        nobody.insert(&column.name, places);
    }
    let mut of_any: BTreeMap<(&str, &str), Vec<bool>> = BTreeMap::new();
    for who in [Who::OneAndAnother, Who::FirstAndLater] {
        for (at, first) in columns.iter().enumerate() {
            // Both orders of any two members count.
            let start = if who == Who::OneAndAnother { at } else { 0 };
            for second in &columns[start..] {
                let Some(counts) = counted.pairs(first, second, who) else { continue };
                let mut cells = unlikely_cells(&counts, first, second);
                let [own, other] = [first, second].map(|column| &nobody[column.name.as_str()]);
                let [rows, width] = [first, second].map(|column| column.cardinality() as usize);
                let any = of_any.get(&(first.name.as_str(), second.name.as_str()));
                let turned = of_any.get(&(second.name.as_str(), first.name.as_str()));
                for (cell, is_unlikely) in cells.iter_mut().enumerate() {
                    let (a, b) = (cell / width, cell % width);
                    let is_known = if who == Who::FirstAndLater {
                        own.first[a]
                            || other.later[b]
                            || any.is_some_and(|any| any[cell])
                            || turned.is_some_and(|any| any[b * rows + a])
                    } else {
                        (own.first[a] || other.later[b])
                            && (own.later[a] || other.first[b])
                            && (own.later[a] || other.later[b])
                            || (first.name == second.name && a > b)
                    };
                    *is_unlikely &= !is_known;
                }
                let pairs = grouped(&cells, &counts, first, second).into_iter();
                found.extend(pairs.map(|pair| {
                    let codes = pair.codes.into_iter().map(|own| vec![own]).collect();
                    of(who, codes, Vec::new(), pair.expected)
                }));
                if who == Who::OneAndAnother {
                    of_any.insert((&first.name, &second.name), symmetric(cells, first, second));
                }
            }
        }
    }
    for numbers in columns.iter().filter(|column| numbers_of(column, 0).is_some()) {
        for given in columns.iter().filter(|column| is_listed(column)) {
            found.extend(counted.differences(numbers, given));
        }
    }
    // As written: sums in another order may differ by rounding.
    let written = |one: &UnlikelyMemberCombination| (10.0 * one.expected).round();
    found.sort_by(|a, b| written(b).total_cmp(&written(a)));
    Ok(found)
}

/// Whether nobody has each value of a column.
struct OfPlaces {
    /// Among first members.
    first: Vec<bool>,
    /// Among the others.
    later: Vec<bool>,
}

/// The cells of a pair in both orders, where both columns are the same one.
fn symmetric(mut cells: Vec<bool>, first: &SchemaColumn, second: &SchemaColumn) -> Vec<bool> {
    if first.name == second.name {
        let width = first.cardinality() as usize;
        for cell in 0..cells.len() {
            let turned = cell % width * width + cell / width;
            cells[turned] |= cells[cell];
        }
    }
    cells
}

fn is_listed(column: &SchemaColumn) -> bool {
    matches!(column.kind, Some(Kind::Categorical { .. }))
}

fn of(
    who: Who,
    codes: Vec<Vec<(String, Vec<u32>)>>,
    differences: Vec<Difference>,
    expected: Option<f64>,
) -> UnlikelyMemberCombination {
    let expected = expected.unwrap_or_default();
    UnlikelyMemberCombination { members: MemberCombination { who, codes, differences }, expected }
}

impl Counted<'_> {
    /// Calls a function with each member or two of each unit, as `who` says, their values in some columns and their weight: that of a
    /// unit is 1. Tables that lack a column are left out; false if all do.
    fn each(
        &self,
        [of_first, of_second]: [&[&SchemaColumn]; 2],
        who: Who,
        mut seen: impl FnMut(&[u32], &[u32], f64),
    ) -> bool {
        let mut is_known = false;
        for table in self.tables {
            let domain = table.domain();
            let column = |name: &str| domain.position(name).map(|at| &table.columns()[at]);
            let Some(size) = domain.position(&self.size) else { continue };
            let sizes = &table.columns()[size];
            let most = u32::try_from(domain.cardinality(size)).unwrap_or(u32::MAX);
            let of_members = |columns: &[&SchemaColumn]| -> Option<Vec<Vec<&Column>>> {
                let of = |own: &&SchemaColumn| {
                    (1..=most).map(|place| column(&Members::name_of(&own.name, place))).collect()
                };
                columns.iter().map(of).collect()
            };
            let both = of_members(of_first).zip(of_members(of_second));
            let Some((of_first, of_second)) = both else { continue };
            is_known = true;
            let places: Vec<Vec<Vec<u32>>> = (0..=most).map(|size| who.places(size)).collect();
            let (mut first, mut second) = (Vec::new(), Vec::new());
            for unit in 0..table.records() {
                let size = sizes.get(unit).unwrap_or_default() + 1;
                let pairs = &places[size as usize];
                for pair in pairs {
                    let codes = |columns: &[Vec<&Column>], place: u32, codes: &mut Vec<u32>| {
                        codes.clear();
                        let own = columns.iter().map(|own| own[place as usize - 1].get(unit));
                        codes.extend(own.map(Option::unwrap_or_default));
                    };
                    codes(&of_first, pair[0], &mut first);
                    codes(&of_second, pair[pair.len() - 1], &mut second);
                    seen(&first, &second, 1.0 / pairs.len() as f64);
                }
            }
        }
        is_known
    }

    /// The table of two columns, of two members each.
    fn pairs(&self, first: &SchemaColumn, second: &SchemaColumn, who: Who) -> Option<Vec<f64>> {
        let [rows, columns] = [first, second].map(|column| column.cardinality() as usize);
        let cells = rows * columns;
        if cells as u64 > MOST_CELLS {
            return None;
        }
        let mut counts = vec![0.0; cells];
        self.each([&[first], &[second]], who, |own, other, weight| {
            counts[own[0] as usize * columns + other[0] as usize] += weight;
        })
        .then_some(counts)
    }

    /// Values that the first member does not have, or no other one.
    fn places(&self, column: &SchemaColumn) -> (OfPlaces, Vec<UnlikelyMemberCombination>) {
        let values = column.cardinality() as usize;
        let place = SchemaColumn::attribute("place", Kind::Coded { size: 2 });
        let mut nobody = OfPlaces { first: vec![false; values], later: vec![false; values] };
        let mut counts = vec![0.0; 2 * values];
        for (at, who) in [Who::First, Who::Later].into_iter().enumerate() {
            let seen = |own: &[u32], _: &[u32], weight: f64| {
                counts[at * values + own[0] as usize] += weight;
            };
            if !self.each([&[column], &[]], who, seen) {
                return (nobody, Vec::new());
            }
        }
        let mut of_places = Vec::new();
        for found in combinations(&counts, &place, column) {
            let own = &found.codes[1];
            for place in &found.codes[0].1 {
                let (who, is_nobody) = if *place == 0 {
                    (Who::First, &mut nobody.first)
                } else {
                    (Who::Later, &mut nobody.later)
                };
                own.1.iter().for_each(|code| is_nobody[*code as usize] = true);
                of_places.push(of(who, vec![vec![own.clone()]], Vec::new(), found.expected));
            }
        }
        (nobody, of_places)
    }

    /// The differences of a number of the first member and of another one with each value of a column that are below, or above, all
    /// that there are.
    fn differences(
        &self,
        numbers: &SchemaColumn,
        given: &SchemaColumn,
    ) -> Vec<UnlikelyMemberCombination> {
        let values = numbers.cardinality() as usize;
        let of_given = given.cardinality() - u32::from(given.na);
        let cells = values * values;
        if cells as u64 * u64::from(of_given) > MOST_CELLS {
            return Vec::new();
        }
        let mut counts = vec![0.0; cells * of_given as usize];
        let seen = |first: &[u32], later: &[u32], weight: f64| {
            let cell = first[0] as usize * values + later[0] as usize;
            if let Some(count) = counts.get_mut(later[1] as usize * cells + cell) {
                *count += weight;
            }
        };
        if !self.each([&[numbers], &[numbers, given]], Who::FirstAndLater, seen) {
            return Vec::new();
        }
        let tables = (0..of_given).zip(counts.chunks(cells.max(1)));
        let found = tables.flat_map(|(value, counts)| {
            let later = (given.name.clone(), vec![value]);
            let of_value = differences(numbers, counts).into_iter();
            of_value.map(move |(difference, expected)| {
                let codes = vec![Vec::new(), vec![later.clone()]];
                of(Who::FirstAndLater, codes, vec![difference], Some(expected))
            })
        });
        found.collect()
    }
}

/// The differences that no pair of members can have, though chance would make them, with how many would have them. `counts`: of the
/// pairs, by both codes.
fn differences(numbers: &SchemaColumn, counts: &[f64]) -> Vec<(Difference, f64)> {
    let values = numbers.cardinality() as usize;
    let code = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let (mut of_first, mut of_second) = (vec![0.0; values], vec![0.0; values]);
    let (mut lowest, mut highest) = (f64::INFINITY, f64::NEG_INFINITY);
    for (cell, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
        let (own, other) = (cell / values, cell % values);
        of_first[own] += count;
        of_second[other] += count;
        let both = numbers_of(numbers, code(own)).zip(numbers_of(numbers, code(other)));
        if let Some((own, other)) = both {
            lowest = lowest.min(own.0 - other.1);
            highest = highest.max(own.1 - other.0);
        }
    }
    let all = of_first.iter().sum::<f64>().max(1.0);
    let is_real = matches!(&numbers.kind, Some(Kind::Numeric(bins)) if !bins.is_integer());
    let above = if is_real { highest } else { highest + 1.0 };
    let below = lowest.is_finite().then_some((f64::NEG_INFINITY, lowest));
    let above = above.is_finite().then_some((above, f64::INFINITY));
    let found = below.into_iter().chain(above).map(|(from, below)| {
        let difference = Difference::new(&numbers.name, from, below);
        let mut expected = 0.0;
        for (own, first) in of_first.iter().enumerate().filter(|(_, count)| **count > 0.0) {
            for (other, second) in of_second.iter().enumerate() {
                if difference.always_has(numbers, code(own), code(other)) {
                    expected += first * second / all;
                }
            }
        }
        (difference, expected)
    });
    found.filter(|(_, expected)| *expected >= EXPECTED).collect()
}

/// What a person should look at.
pub(super) fn remark(schema: &Schema, found: &[UnlikelyMemberCombination]) -> Option<String> {
    let examples: Vec<String> = found.iter().take(SHOWN).map(|one| example(schema, one)).collect();
    (!found.is_empty()).then(|| {
        format!(
            "{} unlikely combinations of members, which no public unit has and at least {EXPECTED} would have by chance, such as {}; \
             units are drawn without them unless what is measured contradicts them; move to 'forbidden_members' what cannot be",
            found.len(),
            examples.join("; ")
        )
    })
}

/// A combination in words.
fn example(schema: &Schema, one: &UnlikelyMemberCombination) -> String {
    let MemberCombination { who, codes, differences } = &one.members;
    let names: &[&str] = match who {
        Who::First => &["first"],
        Who::Later => &["later"],
        Who::FirstAndLater => &["first", "later"],
        Who::OneAndAnother => &["one", "another"],
    };
    let of_member = |(name, codes): (&&str, &Vec<(String, Vec<u32>)>)| {
        let values: Vec<String> = codes.iter().map(|own| values_in_words(schema, own)).collect();
        format!("{name} {}", values.join(" and ")).trim_end().to_owned()
    };
    let members: Vec<String> = names.iter().zip(codes).map(of_member).collect();
    let apart: Vec<String> = differences.iter().map(Difference::in_words).collect();
    [members.join(" with "), apart.join(" and ")].join(" ").trim_end().to_owned()
}

#[cfg(test)]
mod tests;
