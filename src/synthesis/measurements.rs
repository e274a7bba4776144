//! The measurements of a run as one tidy table.

use csv::Writer;

use crate::domain::{Kind, Schema, SchemaColumn};
use crate::error::{Error, Result};
use crate::measurement::{Measurement, Provenance};
use crate::table::CliqueLayout;

/// All measurements, a row for each cell: the number of the measurement, its attributes and the values of the cell (as many
/// pairs of columns as the largest measurement has attributes), the count, the standard deviation of its noise, and where it is
/// from.
pub(super) fn tidy(measurements: &[Measurement], schema: &Schema) -> Result<String> {
    let failed = |error: csv::Error| {
        Error::invalid_specification("measurements", error.to_string(), "text that CSV can hold")
    };
    let domain = schema.domain();
    let most = measurements.iter().map(|one| one.clique.len()).max().unwrap_or(0);
    let mut header = vec!["measurement".to_owned()];
    for number in 1..=most {
        header.extend([format!("attribute_{number}"), format!("value_{number}")]);
    }
    header.extend(["count", "stddev", "source"].map(str::to_owned));
    let mut out = Writer::from_writer(Vec::new());
    out.write_record(&header).map_err(failed)?;
    let columns: Vec<&SchemaColumn> = schema.attributes().collect();
    for (number, measurement) in (1_u64..).zip(measurements) {
        let Measurement { clique, cell, values, stddev, provenance } = measurement;
        let source = match provenance {
            Provenance::Private => "private",
            Provenance::Public { source } => source,
        };
        let layout = CliqueLayout::new(&domain, [clique.clone()])?;
        let cells = cell.map_or(0..layout.cells(), |cell| cell..cell + 1);
        for (cell, value) in cells.zip(values) {
            let mut row = vec![number.to_string()];
            for (column, code) in clique.iter().zip(layout.codes(0, cell)) {
                row.extend([columns[column].name.clone(), written(columns[column], code)]);
            }
            row.resize(1 + 2 * most, String::new());
            row.extend([value.to_string(), stddev.to_string(), source.to_owned()]);
            out.write_record(&row).map_err(failed)?;
        }
    }
    let bytes = out.into_inner().unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A value as a file of totals may have it.
fn written(column: &SchemaColumn, code: u32) -> String {
    match &column.kind {
        Some(Kind::Categorical { codes, .. }) => {
            codes.get(code as usize).cloned().unwrap_or_else(|| column.value_name(code))
        }
        _ => column.value_name(code),
    }
}
