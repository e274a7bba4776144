//! `jointly bins`: a schema with bins of numbers, and categories, that follow the private rows, at a cost.

use jointly::data::write_text;
use jointly::domain::Schema;
use jointly::paid_bins::{PaidBins, PaidSchema};
use jointly::synthesis::reserve_files;
use serde_json::json;

use super::args::BinsArgs;
use super::console::{self, Console};
use super::failure::Outcome;
use super::format::{counted, short};
use super::spend::Spending;

pub(super) fn run(args: &BinsArgs, console: Console) -> Outcome {
    let mut spending = Spending::new("bins", &args.spend, &args.out)?;
    let mut inputs = vec![("--private", &*args.private), ("--schema", &*args.schema)];
    inputs.extend(spending.job.earlier.iter().map(|path| ("--ledger-from", &**path)));
    let outputs = [("--out", &*args.out), ("--ledger", spending.ledger())];
    let _reserved = reserve_files(&inputs, &outputs, console.existing)?;
    let schema = Schema::read(&args.schema)?;
    let mut job = PaidSchema::new(&schema, &args.columns, &args.categories)?;
    job.category_share = args.category_share;
    job.check()?;
    spending.job.budget = job.with_category_delta(spending.job.budget, args.category_delta)?;
    console.not_private(args.spend.seed);
    let (private, values) = job.read(&spending.job.unit, &args.private)?.into_parts();
    spending.warn(&private, console);
    let (found, named, spent) = spending.run(&private, console, |curator| {
        let (schema, named) = job.run(curator, values)?;
        Ok((schema, named, curator.ledger().limit()))
    })?;
    write_text(&args.out, &(found.to_json()? + "\n"))?;
    for name in job.bins.iter().flat_map(PaidBins::names) {
        if let Some(note) = found.column(name).and_then(|column| column.note.as_ref()) {
            console.note(
                "bins",
                &format!("{name}: {note}"),
                json!({ "column": name, "note": note }),
            );
        }
    }
    for column in &named {
        let text = format!(
            "{}: {} named, those with a noisy count of at least {}; the others are 'other'",
            column.column,
            counted(column.values.len() as u64, "value"),
            counted(column.threshold, "record"),
        );
        let facts = json!({
            "column": column.column, "values": column.values.len(), "threshold": column.threshold,
        });
        console.note("categories", &text, facts);
    }
    let columns = job.bins.as_ref().map_or(0, |bins| bins.names().count());
    let made = [(columns, "in bins"), (named.len(), "with categories")];
    let made = made.iter().filter(|(number, _)| *number > 0);
    let made: Vec<String> =
        made.map(|(number, how)| format!("{} {how}", counted(*number as u64, "column"))).collect();
    let text = format!(
        "{}: {} by the private rows; all of rho {} spent. Count it in the next run: --ledger-from",
        console::name_of(&args.out),
        made.join(" and "),
        short(spent.to_f64()),
    );
    let facts = json!({
        "out": args.out.display().to_string(), "columns": columns, "categories": named.len(),
        "private": args.spend.seed.is_none(),
    });
    console.note("finished", &text, facts);
    Ok(())
}
