//! Writing records that come as units.

use std::path::Path;

use rand::rngs::ChaCha20Rng;
use rand::{Rng, SeedableRng};

use crate::data::decode::decoders;
use crate::data::member_numbers::{self, DrawnNumbers};
use crate::data::members;
use crate::data::{Column, Dataset, Labels, Units, write_csv_file};
use crate::domain::{Bins, Kind, Piece, Schema, SchemaColumn, days};
use crate::error::{Error, Result};

/// Synthetic records that come as units, as [`Model::link`](crate::model::Model::link) makes them.
#[derive(Clone, Copy, Debug)]
pub struct UnitTable<'a> {
    /// The records, with the number of records of the unit as an attribute. If a unit is one record, rows are written for its
    /// members.
    pub rows: &'a Dataset,
    /// The number of each record's unit: from 0 and without gaps, the records of a unit one after another.
    pub numbers: &'a [u32],
    /// The units, with the columns on which rows agree.
    pub units: &'a Units,
}

impl UnitTable<'_> {
    /// Writes the table as [`write_csv_file`] does, with the unit column first: numbers from 1. The number of records of a
    /// unit is left out, since the unit shows it. In the columns on which rows agree, a number inside a bin is drawn once
    /// for each unit.
    ///
    /// `paths`: of the rows, and perhaps of the units alone, one row each with their number, the columns on which rows agree, and
    /// the number of records; rows then lack these.
    ///
    /// `schema`: of the rows.
    ///
    /// # Errors
    /// As [`write_csv_file`]; more than 2²⁴ - 1 units.
    pub fn write(
        &self,
        (path, of_units): (&Path, Option<&Path>),
        schema: &Schema,
        labels: Labels,
        seed: u64,
    ) -> Result<()> {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (rows, written) = self.with_numbers(schema, &mut rng)?;
        let seed = rng.next_u64();
        let Some(of_units) = of_units else {
            return write_csv_file(path, &rows, &written, labels, seed);
        };
        let [rows, units] = self.apart(&rows, &written, schema)?;
        write_csv_file(path, &rows.0, &rows.1, labels, seed)?;
        write_csv_file(of_units, &units.0, &units.1, labels, rng.next_u64())
    }

    /// The rows without the columns on which they agree, and the units alone. `rows`: with their unit column, under `written`.
    fn apart(
        &self,
        rows: &Dataset,
        written: &Schema,
        schema: &Schema,
    ) -> Result<[(Dataset, Schema); 2]> {
        let is_shared = |name: &str| {
            self.units.agree().is_some_and(|agree| agree.iter().any(|shared| shared == name))
        };
        let columns: Vec<&SchemaColumn> = written.attributes().collect();
        let positions = |is_wanted: &dyn Fn(&str) -> bool| -> Vec<usize> {
            let own = columns.iter().enumerate();
            let own = own.filter(|(at, column)| *at == 0 || is_wanted(&column.name));
            own.map(|(at, _)| at).collect()
        };
        let of = |table: &Dataset, own: &[usize]| -> Result<(Dataset, Schema)> {
            let described = own.iter().map(|at| columns[*at].clone()).collect();
            Ok((table.select(own)?, written.for_writing(described)?))
        };
        // The rows of a unit come one after another.
        let numbers: Vec<u32> = rows.columns()[0].iter().collect();
        let sizes: Vec<usize> = numbers.chunk_by(|a, b| a == b).map(<[u32]>::len).collect();
        let mut start = 0;
        let firsts: Vec<u32> = sizes
            .iter()
            .map(|size| {
                let first = start;
                start += u32::try_from(*size).unwrap_or(u32::MAX);
                first
            })
            .collect();
        let (units, described) = of(&rows.take(&firsts), &positions(&is_shared))?;
        let name = self.units.size_name();
        let size = schema.column(&name).ok_or_else(|| schema.domain().unknown(&name, "units"))?;
        let codes = sizes.iter().map(|size| u32::try_from(*size).unwrap_or(u32::MAX) - 1);
        let codes = Column::from_codes(codes, size.cardinality() as usize)?;
        let described = described.with_attribute(size.clone())?;
        let columns = units.columns().iter().cloned().chain([codes]).collect();
        let units = (Dataset::new(described.domain(), columns)?, described);
        Ok([of(rows, &positions(&|name| !is_shared(name)))?, units])
    }

    /// The table with its unit column, and the schema under which to write it.
    ///
    /// # Errors
    /// Rows over another domain than the schema's, or as [`write`](Self::write).
    pub fn with_numbers(
        &self,
        schema: &Schema,
        rng: &mut ChaCha20Rng,
    ) -> Result<(Dataset, Schema)> {
        if self.numbers.len() != self.rows.records() {
            let (found, expected) = (self.numbers.len(), self.rows.records());
            let place = "numbers of units";
            return Err(Error::invalid_specification(
                place,
                found.to_string(),
                expected.to_string(),
            ));
        }
        // Records given evidence are over a domain that forbids more.
        let (domain, own) = (schema.domain(), self.rows.domain().attributes());
        if domain.attributes() != own {
            let names = own.iter().map(|attribute| attribute.name.as_str()).collect::<Vec<_>>();
            let (found, expected) = (names.join(", "), "the attributes of the schema");
            return Err(Error::invalid_specification("records of units", found, expected));
        }
        if let Some(members) = self.units.members() {
            let [together, _] = schema.of_members_together()?;
            let records = (self.rows, self.numbers);
            let (rows, numbers, schema) = members::apart(records, (self.units, members), schema)?;
            let apart = UnitTable { rows: &rows, numbers: &numbers, units: self.units };
            let drawn = member_numbers::drawn((&rows, &numbers), &together, &schema, rng)?;
            return apart.of_rows(&schema, &drawn, rng);
        }
        self.of_rows(schema, &[], rng)
    }

    /// The table with its unit column, of rows that are those of members. `drawn`: columns whose numbers have been drawn.
    fn of_rows(
        &self,
        schema: &Schema,
        drawn: &[DrawnNumbers],
        rng: &mut ChaCha20Rng,
    ) -> Result<(Dataset, Schema)> {
        let numbers = self.numbers.iter().max().map_or(0, |last| last.saturating_add(1));
        let size = numbers.saturating_add(1);
        let unit = SchemaColumn::attribute(self.units.column(), Kind::Coded { size });
        let mut described = vec![unit];
        let of_records = self.numbers.iter().map(|number| number + 1);
        let mut columns = vec![Column::from_codes(of_records, size as usize)?];
        let size_name = self.units.size_name();
        for (attribute, own) in schema.attributes().enumerate() {
            if own.name == size_name {
                continue;
            }
            let is_shared = self.units.agree().is_some_and(|agree| agree.contains(&own.name));
            let known = drawn.iter().find(|known| known.attribute == attribute);
            let (own, column) = match (&own.kind, known) {
                (_, Some(known)) => of_values(own, &known.values)?,
                (Some(Kind::Numeric(_) | Kind::Date(_)), _) if is_shared => {
                    of_values(own, &self.one_value_per_unit(attribute, own, schema, rng)?)?
                }
                _ => (own.clone(), self.rows.columns()[attribute].clone()),
            };
            described.push(own);
            columns.push(column);
        }
        let schema = schema.for_writing(described)?;
        Ok((Dataset::new(schema.domain(), columns)?, schema))
    }

    /// A value of a column of bins for each row, drawn once for each unit. `None`: a missing one.
    fn one_value_per_unit(
        &self,
        attribute: usize,
        own: &SchemaColumn,
        schema: &Schema,
        rng: &mut ChaCha20Rng,
    ) -> Result<Vec<Option<f64>>> {
        let table = self.rows.select(&[attribute])?;
        let decoders = decoders(&table, schema, Labels::Codes)?;
        let codes = &table.columns()[0];
        let mut drawn = String::new();
        let mut last: Option<(u32, Option<f64>)> = None;
        let mut values: Vec<Option<f64>> = Vec::with_capacity(table.records());
        for (unit, code) in self.numbers.iter().zip(codes.iter()) {
            let value = match last {
                Some((before, value)) if before == *unit => value,
                _ => value_of(own, code, || decoders[0].plain(code, &mut drawn, rng)),
            };
            last = Some((*unit, value));
            values.push(value);
        }
        Ok(values)
    }
}

/// The number of a code in a column of bins, from its text: that of days for a date; `None` for a missing value.
pub(super) fn value_of<'t>(
    column: &SchemaColumn,
    code: u32,
    text: impl FnOnce() -> &'t str,
) -> Option<f64> {
    if column.na_code() == Some(code) {
        return None;
    }
    if matches!(column.kind, Some(Kind::Date(_))) {
        days(text()).map(f64::from)
    } else {
        text().parse().ok()
    }
}

/// A column of bins that hold one value each, and its codes, for the values of its rows.
fn of_values(own: &SchemaColumn, values: &[Option<f64>]) -> Result<(SchemaColumn, Column)> {
    let mut distinct: Vec<f64> = values.iter().flatten().copied().collect();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    let bins = match &own.kind {
        Some(Kind::Numeric(bins) | Kind::Date(bins)) if !distinct.is_empty() => bins,
        _ => {
            // All are missing, the last code.
            let last = own.cardinality().saturating_sub(1);
            let codes = values.iter().map(|_| last);
            return Ok((own.clone(), Column::from_codes(codes, own.cardinality() as usize)?));
        }
    };
    let end = bins.edges().last().copied();
    let edges = distinct.iter().copied().chain(end).collect();
    let point = |value: &f64| Piece { from: *value, below: *value, rows: 1, step: None };
    let pieces = distinct.iter().map(point).collect();
    let place = format!("column '{}'", own.name);
    let bins = Bins::new(edges, Some(bins.is_integer()), &place)?
        .with_pieces(pieces, &place)?
        .with_notation(bins.notation().cloned());
    let missing = bins.count();
    let is_date = matches!(own.kind, Some(Kind::Date(_)));
    let kind = if is_date { Kind::Date(bins) } else { Kind::Numeric(bins) };
    let own = SchemaColumn { kind: Some(kind), ..own.clone() };
    let code = |value: &Option<f64>| match value {
        None => missing,
        Some(value) => {
            let place = distinct.partition_point(|other| other < value);
            u32::try_from(place).unwrap_or(missing)
        }
    };
    let column = Column::from_codes(values.iter().map(code), own.cardinality() as usize)?;
    Ok((own, column))
}

#[cfg(test)]
mod tests;
