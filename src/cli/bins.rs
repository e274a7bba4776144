//! `jointly bins`: a schema whose numbers are in bins that follow the private rows, at a cost.

use jointly::data::write_text;
use jointly::domain::Schema;
use jointly::paid_bins::PaidBins;
use jointly::synthesis::check_files;
use serde_json::json;

use super::args::BinsArgs;
use super::console::{self, Console};
use super::failure::{Failure, Outcome};
use super::format::short;
use super::spend::Spending;

pub(super) fn run(args: &BinsArgs, console: Console) -> Outcome {
    let spending = Spending::new("bins", &args.spend)?;
    let mut inputs = vec![("--private", &*args.private), ("--schema", &*args.schema)];
    inputs.extend(spending.earlier.iter().map(|path| ("--ledger-from", *path)));
    let mut outputs = vec![("--out", &*args.out)];
    outputs.extend(spending.ledger.iter().map(|path| ("--ledger", *path)));
    check_files(&inputs, &outputs)?;
    let schema = Schema::read(&args.schema)?;
    let bins = match args.columns.as_slice() {
        [] => PaidBins::of_ranges(&schema)?,
        names => PaidBins::new(&schema, names)?,
    };
    if bins.measurements() == 0 {
        let found = bins.names().collect::<Vec<_>>().join(", ");
        let expected = "a range that needs a measurement: each number of these gets a bin of its own, which the schema can declare";
        return Err(Failure::usage(format!("the columns to cut are {found}, expected {expected}")));
    }
    console.not_private(args.spend.seed);
    let private = bins.read(&spending.unit, &args.private)?;
    spending.warn(&private, console);
    let found = spending.run(&private, console, |curator| bins.run(curator))?;
    write_text(&args.out, &(found.to_json()? + "\n"))?;
    let columns = bins.names().count();
    let text = format!(
        "{}: {columns} columns in bins by the private rows; all of rho {} spent. Count it in the next run: --ledger-from",
        console::name_of(&args.out),
        short(spending.budget.rho().to_f64()),
    );
    let facts = json!({ "out": args.out.display().to_string(), "columns": columns, "private": args.spend.seed.is_none() });
    console.note("finished", &text, facts);
    Ok(())
}
