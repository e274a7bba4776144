//! The measurements of a run as one tidy table.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use csv::{ByteRecord, Writer};

use crate::data::csv::of_file_with_header;
use crate::data::published::Values;
use crate::data::raw_table::text;
use crate::domain::{Clique, Kind, Schema, SchemaColumn};
use crate::error::{Error, Result};
use crate::measurement::{Measurement, Provenance};
use crate::table::CliqueLayout;

/// A row about a cell of a table.
pub(crate) struct TidyRow<'a> {
    /// What stands before its attributes.
    pub(crate) before: Vec<String>,
    pub(crate) clique: &'a Clique,
    pub(crate) cell: usize,
    /// What stands after them.
    pub(crate) after: Vec<String>,
}

/// Cells of tables as one table, CSV: some columns, `attribute_1`, `value_1` and so on for as many attributes as the largest table
/// has, and other columns.
pub(crate) fn tidy(
    schema: &Schema,
    before: &[&str],
    after: &[&str],
    rows: &[TidyRow<'_>],
) -> Result<String> {
    let failed = |error: csv::Error| {
        let expected = "text that CSV can hold";
        Error::invalid_specification("a table of cells", error.to_string(), expected)
    };
    let domain = schema.domain();
    let columns: Vec<&SchemaColumn> = schema.attributes().collect();
    let most = rows.iter().map(|row| row.clique.len()).max().unwrap_or(0);
    let pairs =
        (1..=most).flat_map(|number| [format!("attribute_{number}"), format!("value_{number}")]);
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let mut out = Writer::from_writer(Vec::new());
    let header = named(before).into_iter().chain(pairs).chain(named(after));
    out.write_record(header.collect::<Vec<_>>()).map_err(failed)?;
    let mut layout: Option<Arc<CliqueLayout>> = None;
    for TidyRow { before, clique, cell, after } in rows {
        let own = layout.take().filter(|layout| layout.cliques()[0] == **clique);
        let own = match own {
            Some(own) => own,
            None => CliqueLayout::new(&domain, [(*clique).clone()])?,
        };
        let mut row = before.clone();
        for (column, code) in clique.iter().zip(own.codes(0, *cell)) {
            row.extend([columns[column].name.clone(), value_text(columns[column], code)]);
        }
        row.resize(before.len() + 2 * most, String::new());
        row.extend(after.iter().cloned());
        out.write_record(&row).map_err(failed)?;
        layout = Some(own);
    }
    let bytes = out.into_inner().unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// All measurements, a row for each cell: the number of the measurement, its attributes and the values of the cell, the count,
/// the standard deviation of its noise, and where it is from.
///
/// # Errors
/// Attributes outside the schema.
pub fn tidy_measurements(measurements: &[Measurement], schema: &Schema) -> Result<String> {
    let mut rows = Vec::new();
    for (number, measurement) in (1_u64..).zip(measurements) {
        let Measurement { clique, cell, values, stddev, provenance } = measurement;
        let source = match provenance {
            Provenance::Private => PRIVATE,
            Provenance::Public { source } => source,
        };
        for (at, value) in (cell.unwrap_or(0)..).zip(values) {
            let after = vec![value.to_string(), stddev.to_string(), source.to_owned()];
            rows.push(TidyRow { before: vec![number.to_string()], clique, cell: at, after });
        }
    }
    tidy(schema, &["measurement"], &["count", "stddev", "source"], &rows)
}

/// A value as a file of totals may have it.
fn value_text(column: &SchemaColumn, code: u32) -> String {
    match &column.kind {
        Some(Kind::Categorical { codes, .. }) => {
            codes.get(code as usize).cloned().unwrap_or_else(|| column.value_name(code))
        }
        _ => column.value_name(code),
    }
}

/// Reads measurements from a table as [`tidy_measurements`] writes it, in any order of rows and columns.
///
/// A measurement of which all cells are there, with the same noise, is one of a whole marginal; otherwise each row is a measurement
/// of its cell. Without a column `source` all are of a private table.
///
/// # Errors
/// A file that cannot be read; a header without `measurement`, `count`, `stddev`, or `attribute_1` and `value_1`, or with one of
/// a pair; an attribute or a value that the schema does not have; numbers that are none; rows of one measurement with different
/// attributes or sources; a cell twice. They name file, line and column.
pub fn read_measurements(path: &Path, schema: &Schema) -> Result<Vec<Measurement>> {
    let mut table = of_file_with_header(path, schema)?;
    let names: Vec<&str> = table.header.iter().map(|name| text(name).unwrap_or_default()).collect();
    let position = |wanted: &str| names.iter().position(|name| *name == wanted);
    let required = |wanted: &str| {
        let missing = || {
            let expected = "measurement, attribute_1, value_1, ..., count, stddev";
            table.header_error(format!("no column '{wanted}' ({})", table.names()), expected)
        };
        position(wanted).ok_or_else(missing)
    };
    let [number, count, stddev] = ["measurement", "count", "stddev"].map(required);
    let (number, count, stddev) = (number?, count?, stddev?);
    let source = position("source");
    let mut pairs = vec![(required("attribute_1")?, required("value_1")?)];
    while let Some(attribute) = position(&format!("attribute_{}", pairs.len() + 1)) {
        pairs.push((attribute, required(&format!("value_{}", pairs.len() + 1))?));
    }
    let domain = schema.domain();
    let values: Vec<Values<'_>> =
        schema.attributes().filter_map(|column| Values::new(column, schema)).collect();

    let mut found: HashMap<Vec<u8>, Rows> = HashMap::new();
    let mut order: Vec<Vec<u8>> = Vec::new();
    let mut record = ByteRecord::new();
    while table.next(&mut record)? {
        let cell = |at: usize| record.get(at).unwrap_or_default();
        let wrong = |at: usize, expected: &str| {
            let column = String::from_utf8_lossy(&table.header[at]).into_owned();
            table.cell_error(&record, &column, cell(at), expected.to_owned())
        };
        let mut codes: BTreeMap<usize, u32> = BTreeMap::new();
        for (attribute, value) in &pairs {
            let name = text(cell(*attribute)).unwrap_or_default().trim();
            if name.is_empty() {
                continue;
            }
            let known = domain.position(name).filter(|at| !codes.contains_key(at));
            let at = known.ok_or_else(|| wrong(*attribute, "an attribute of the schema, once"))?;
            let code = values[at].code(cell(*value));
            let code = code.ok_or_else(|| wrong(*value, &values[at].expected()))?;
            codes.insert(at, code);
        }
        let finite = |at: usize| {
            let number = text(cell(at)).and_then(|text| text.trim().parse::<f64>().ok());
            number.filter(|number| number.is_finite())
        };
        let value = finite(count).ok_or_else(|| wrong(count, "a finite number"))?;
        let noise = finite(stddev).filter(|stddev| *stddev >= 0.0);
        let noise = noise.ok_or_else(|| wrong(stddev, "a standard deviation of at least 0"))?;
        let of = source.map(|source| text(cell(source)).unwrap_or_default().trim().to_owned());
        let provenance = match (source, of) {
            (Some(source), Some(of)) if of.is_empty() => {
                return Err(wrong(source, "private, or a name"));
            }
            (Some(_), Some(of)) if !of.eq_ignore_ascii_case(PRIVATE) => {
                Provenance::Public { source: of }
            }
            _ => Provenance::Private,
        };
        let clique = Clique::new(codes.keys().copied());
        let layout = CliqueLayout::new(&domain, [clique.clone()])?;
        let shape = layout.shape(0);
        let place =
            codes.values().zip(shape).fold(0, |cell, (code, size)| cell * size + *code as usize);
        let key = cell(number).to_vec();
        let rows = found.entry(key.clone()).or_insert_with(|| {
            order.push(key);
            Rows { clique: clique.clone(), provenance: provenance.clone(), cells: BTreeMap::new() }
        });
        if rows.clique != clique || rows.provenance != provenance {
            let expected = "the attributes and the source of its other rows";
            return Err(table.record_error(
                &record,
                "another measurement of the same number".into(),
                expected,
            ));
        }
        if rows.cells.insert(place, (value, noise)).is_some() {
            let expected = "each cell of a measurement once";
            return Err(table.record_error(&record, "a cell again".into(), expected));
        }
    }
    let mut measurements = Vec::new();
    for key in order {
        let Some(rows) = found.remove(&key) else { continue };
        rows.measurements(domain.cells(&rows.clique).unwrap_or(u64::MAX), &mut measurements);
    }
    Ok(measurements)
}

/// The source of measurements of the private table.
const PRIVATE: &str = "private";

/// The rows of one measurement: count and standard deviation by cell.
struct Rows {
    clique: Clique,
    provenance: Provenance,
    cells: BTreeMap<usize, (f64, f64)>,
}

impl Rows {
    /// One measurement of the whole marginal, or one for each cell.
    fn measurements(&self, size: u64, out: &mut Vec<Measurement>) {
        let Self { clique, provenance, cells } = self;
        let own = |cell: Option<usize>, values: Vec<f64>, stddev: f64| Measurement {
            clique: clique.clone(),
            cell,
            values,
            stddev,
            provenance: provenance.clone(),
        };
        let mut noise = cells.values().map(|(_, stddev)| *stddev);
        let first = noise.next().unwrap_or(0.0);
        if cells.len() as u64 == size && noise.all(|stddev| (stddev - first).abs() <= 1e-12 * first)
        {
            out.push(own(None, cells.values().map(|(value, _)| *value).collect(), first));
        } else {
            let of_cell = |(cell, (value, stddev)): (&usize, &(f64, f64))| {
                own(Some(*cell), vec![*value], *stddev)
            };
            out.extend(cells.iter().map(of_cell));
        }
    }
}

#[cfg(test)]
mod tests;
