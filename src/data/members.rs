//! Units that are one record each, made of the rows of their members, and such records made into rows again.

use std::io::Read;

use crate::data::csv::{Misfit, Reading, is_forbidden, read_keeping};
use crate::data::raw_table::RawTable;
use crate::data::units::UnitsOfSchema;
use crate::data::{Column, Dataset, Members, Units};
use crate::domain::{Domain, Kind, Schema, SchemaColumn};
use crate::error::{Error, Result};

/// Reads the rows of members, and makes one record of each unit: of its first rows in the order, as many as count. So a record
/// depends on the rows of its unit alone: `docs/theory/sensitivities.md`, section 8.
///
/// The records come in the order of the units' first rows. What all members share is taken from the first one.
pub(super) fn read<R: Read>(
    table: RawTable<R>,
    schema: &Schema,
    reading: Reading<'_>,
    (units, members): (&Units, &Members),
) -> Result<Dataset> {
    for column in [units.column(), members.order()] {
        if table.position(column).is_none() {
            let found = format!("a header without a column '{column}' ({})", table.names());
            let expected = "the columns that say which unit a row belongs to, and its place there";
            return Err(table.header_error(found, expected));
        }
    }
    let columns = [units.agree().unwrap_or_default(), members.columns()].concat();
    let of_rows = schema.select(&columns)?;
    // All rows of a unit, as the order decides which of them count.
    let all = Units::new(units.column(), u32::MAX)?;
    let (mut places, mut lines) = (Vec::new(), Vec::new());
    let by_line = table.rows_by_line();
    let (rows, numbers) =
        read_keeping(table, &of_rows, reading.of_rows(&all), &mut |record, table| {
            let cell = table.position(members.order()).and_then(|at| record.get(at));
            let cell = cell.unwrap_or_default();
            let place = std::str::from_utf8(cell).ok().and_then(|text| text.trim().parse().ok());
            let Some(place) = place.filter(|place: &f64| place.is_finite()) else {
                let expected = "a finite number, the place of the row in its unit".to_owned();
                return Err(table.cell_error(record, members.order(), cell, expected));
            };
            places.push(place);
            lines.push(table.line(record));
            Ok(())
        })?;
    let mut of_unit: Vec<Vec<u32>> = Vec::new();
    for (row, number) in (0..).zip(&numbers) {
        let number = *number as usize;
        if of_unit.len() <= number {
            of_unit.resize(number + 1, Vec::new());
        }
        of_unit[number].push(row);
    }
    for rows in &mut of_unit {
        rows.sort_by(|a, b| places[*a as usize].total_cmp(&places[*b as usize]));
        rows.truncate(units.most() as usize);
    }
    let present: Vec<&str> =
        rows.domain().attributes().iter().map(|attribute| attribute.name.as_str()).collect();
    let schema = units.with_size(&of_rows.select(&present)?)?;
    let records = joined(&rows, &of_unit, units, &schema.domain())?;
    if let Some((unit, found)) = forbidden_together(&records, &schema)? {
        let line = of_unit[unit].iter().map(|row| lines[*row as usize]).min().unwrap_or_default();
        let found = format!("{found}, in the {} that begins here", units.column());
        let expected = "no combination that 'forbidden_members' in the schema rules out";
        return Err(by_line.error(line, found, expected));
    }
    Ok(records)
}

/// The first unit whose members have together what the schema forbids, and what that is.
fn forbidden_together(records: &Dataset, schema: &Schema) -> Result<Option<(usize, String)>> {
    if schema.of_members_together()?[0].is_empty() {
        return Ok(None);
    }
    let domain = schema.domain();
    for unit in 0..records.records() {
        let code = |a: usize| records.columns()[a].get(unit).unwrap_or_default();
        if let Some(Misfit::Combination(zero)) = is_forbidden(&domain, code) {
            let clique = domain.structural_zeros()[zero].clique();
            let value = |a: usize| {
                let column = schema.column(domain.name(a));
                let value = column.map(|column| column.value_name(code(a))).unwrap_or_default();
                format!("{} = {value}", domain.name(a))
            };
            let found: Vec<String> = clique.iter().map(value).collect();
            return Ok(Some((unit, found.join(" with "))));
        }
    }
    Ok(None)
}

/// One record of each unit. `of_unit`: its rows, in their order, at least one. `domain`: of the records.
fn joined(rows: &Dataset, of_unit: &[Vec<u32>], units: &Units, domain: &Domain) -> Result<Dataset> {
    let mut columns: Vec<Column> = Vec::with_capacity(domain.len());
    let code = |column: &Column, row: u32| column.get(row as usize).unwrap_or_default();
    let size = of_unit.iter().map(|rows| u32::try_from(rows.len()).unwrap_or(u32::MAX) - 1);
    let is_shared =
        |name: &str| units.agree().unwrap_or_default().iter().any(|column| column == name);
    let own = || rows.domain().attributes().iter().zip(rows.columns());
    for (attribute, column) in own().filter(|(attribute, _)| is_shared(&attribute.name)) {
        let codes = of_unit.iter().map(|rows| rows.first().map_or(0, |row| code(column, *row)));
        columns.push(Column::from_codes(codes, attribute.cardinality as usize)?);
    }
    columns.push(Column::from_codes(size, units.most() as usize)?);
    for member in 0..units.most() as usize {
        for (_, column) in own().filter(|(attribute, _)| !is_shared(&attribute.name)) {
            let values = domain.cardinality(columns.len());
            let absent = u32::try_from(values).unwrap_or(u32::MAX).saturating_sub(1);
            let of = |rows: &Vec<u32>| rows.get(member).map_or(absent, |row| code(column, *row));
            columns.push(Column::from_codes(of_unit.iter().map(of), values)?);
        }
    }
    Ok(Dataset::new(domain.clone(), columns)?)
}

/// The rows of the members of units, the numbers of their units, and the schema for writing them.
///
/// `records`: one for each unit; `numbers`: of the units; `schema`: of the records.
pub(super) fn apart(
    (records, numbers): (&Dataset, &[u32]),
    (units, members): (&Units, &Members),
    schema: &Schema,
) -> Result<(Dataset, Vec<u32>, Schema)> {
    let size_name = units.size_name();
    let most = units.most();
    let places = most.saturating_add(1);
    let order = SchemaColumn::attribute(members.order(), Kind::Coded { size: places });
    let shared = units.agree().unwrap_or_default();
    let written = schema.of_members(shared, &size_name, order, members.columns())?;
    let domain = schema.domain();
    let column_of = |name: &str| -> Result<&Column> {
        let at = domain.position(name).ok_or_else(|| domain.unknown(name, "the units"))?;
        let column = records.columns().get(at);
        column.ok_or_else(|| Error::invalid_specification("units", "no column", name))
    };
    let sizes = column_of(&size_name)?;
    let mut rows: Vec<(usize, u32)> = Vec::new();
    for unit in 0..records.records() {
        let size = sizes.get(unit).unwrap_or_default() + 1;
        rows.extend((1..=size).map(|member| (unit, member)));
    }
    let mut columns = Vec::new();
    for attribute in written.attributes() {
        let (name, values) = (&attribute.name, attribute.cardinality());
        let codes: Vec<u32> = if name == members.order() {
            rows.iter().map(|(_, member)| *member).collect()
        } else if members.columns().contains(name) {
            let own = (1..=most).map(|member| column_of(&Members::name_of(name, member)));
            let own: Vec<&Column> = own.collect::<Result<_>>()?;
            // The schema forbids a member without a value in a column that has no missing ones.
            let code = |(unit, member): &(usize, u32)| {
                own[*member as usize - 1].get(*unit).unwrap_or_default().min(values - 1)
            };
            rows.iter().map(code).collect()
        } else {
            let own = column_of(name)?;
            rows.iter().map(|(unit, _)| own.get(*unit).unwrap_or_default()).collect()
        };
        columns.push(Column::from_codes(codes, values as usize)?);
    }
    let numbers = rows.iter().map(|(unit, _)| numbers.get(*unit).copied().unwrap_or_default());
    let numbers: Vec<u32> = numbers.collect();
    Ok((Dataset::new(written.domain(), columns)?, numbers, written))
}

#[cfg(test)]
mod tests;
