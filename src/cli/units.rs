//! `evaluate --unit`: both tables unit by unit.

use std::path::Path;

use jointly::data::{Units, read_csv_by_unit};
use jointly::domain::{Clique, Schema};
use jointly::evaluation::{Pair, UnitComparison, UnitRecords};
use jointly::model::Evidence;

use super::args::EvaluateArgs;
use super::failure::Outcome;
use super::format::{grouped, percent, short};
use super::measures::attributes;

/// Compares the tables; `None` without a unit.
pub(super) fn compare(args: &EvaluateArgs, schema: &Schema) -> Outcome<Option<UnitComparison>> {
    let Some(column) = &args.unit else { return Ok(None) };
    let units = Units::new(column, args.max_records.unwrap_or(u32::MAX))?;
    let declared = attributes(&schema.domain(), &args.unit_columns, "--unit-columns")?;
    let declared = declared.unwrap_or_else(|| Clique::new([]));
    let evidence = args.per_unit.iter();
    let evidence = evidence.map(|text| Ok((text.clone(), Evidence::parse(text, schema)?)));
    let evidence: Vec<_> = evidence.collect::<jointly::Result<_>>()?;
    let read = |path: &Path| read_csv_by_unit(path, schema, &units);
    let (real, synthetic) = (read(&args.private)?, read(&args.synthetic)?);
    let [real, synthetic] =
        [&real, &synthetic].map(|(records, units)| UnitRecords { records, units });
    Ok(Some(UnitComparison::between(real, synthetic, &declared, &evidence)?))
}

/// Passes names and values for readers to a function, one call per line.
pub(super) fn rows(found: &UnitComparison, row: &mut impl FnMut(&str, &str)) {
    let shares = |pair: &Pair<f64>| format!("{} ({})", percent(pair.synthetic), percent(pair.real));
    row("Units, real", &grouped(found.units.real));
    row("Units, synthetic", &grouped(found.units.synthetic));
    row("  sizes, L1 distance (0 to 2)", &short(found.sizes_l1));
    row("Units that contradict themselves (real)", &shares(&found.contradictions));
    for column in &found.columns {
        row(&format!("  in {} (real)", column.name), &shares(&column.contradictions));
        row("    shares of units, L1 distance", &short(column.l1));
        row("    with the size, L1 distance", &short(column.l1_with_size));
    }
    for counts in &found.counts {
        let names = ["none", "one", "more"];
        for ((name, real), made) in
            names.iter().zip(counts.shares.real).zip(counts.shares.synthetic)
        {
            let shares = shares(&Pair { real, synthetic: made });
            row(&format!("Units with {name} of {} (real)", counts.evidence), &shares);
        }
    }
    row("Units of several records that differ (real):", "");
    for column in &found.others {
        row(&format!("  in {}", column.name), &shares(&column.differing));
    }
}
