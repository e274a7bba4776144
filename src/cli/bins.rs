//! `jointly bins`: a schema whose numbers are in bins, and whose categories are those, that follow the private rows, at a
//! cost.

use std::path::Path;

use jointly::data::{Dataset, UnlistedValues, write_text};
use jointly::domain::Schema;
use jointly::paid_bins::{PaidBins, PaidCategories};
use jointly::privacy::{Curator, NoisyValues, Sensitive};
use jointly::synthesis::check_files;
use serde_json::json;

use super::args::BinsArgs;
use super::console::{self, Console};
use super::failure::{Failure, Outcome};
use super::format::{grouped, short};
use super::spend::Spending;

pub(super) fn run(args: &BinsArgs, console: Console) -> Outcome {
    let mut spending = Spending::new("bins", &args.spend)?;
    let mut inputs = vec![("--private", &*args.private), ("--schema", &*args.schema)];
    inputs.extend(spending.earlier.iter().map(|path| ("--ledger-from", *path)));
    let mut outputs = vec![("--out", &*args.out)];
    outputs.extend(spending.ledger.iter().map(|path| ("--ledger", *path)));
    check_files(&inputs, &outputs)?;
    let schema = Schema::read(&args.schema)?;
    let job = Job::new(args, &schema)?;
    if job.categories.is_some() {
        let delta = args.category_delta.unwrap_or(spending.budget.delta() / 2.0);
        spending.budget = spending.budget.with_threshold_delta(delta)?;
    }
    console.not_private(args.spend.seed);
    let (private, values) = job.read(&spending, &schema, &args.private)?;
    spending.warn(&private, console);
    let share = args.category_share;
    let (found, named, spent) = spending.run(&private, console, |curator| {
        let (schema, named) = job.spend(&schema, share, curator, values)?;
        Ok((schema, named, curator.ledger().limit()))
    })?;
    write_text(&args.out, &(found.to_json()? + "\n"))?;
    for column in &named {
        let text = format!(
            "{}: {} values named, those with a noisy count of at least {} records; the others are 'other'",
            column.column,
            grouped(column.values.len() as u64),
            grouped(column.threshold),
        );
        let facts = json!({
            "column": column.column, "values": column.values.len(), "threshold": column.threshold,
        });
        console.note("categories", &text, facts);
    }
    let columns = job.bins.as_ref().map_or(0, |bins| bins.names().count());
    let made = [(columns, "columns in bins"), (named.len(), "columns with categories")];
    let made = made.iter().filter(|(number, _)| *number > 0);
    let made: Vec<String> = made.map(|(number, what)| format!("{number} {what}")).collect();
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

/// What to find.
struct Job {
    bins: Option<PaidBins>,
    categories: Option<PaidCategories>,
}

impl Job {
    fn new(args: &BinsArgs, schema: &Schema) -> Outcome<Self> {
        let categories = match args.categories.as_slice() {
            [] => None,
            names => Some(PaidCategories::new(schema, names)?),
        };
        let bins = match args.columns.as_slice() {
            [] if categories.is_some() && !PaidBins::has_ranges(schema) => None,
            [] => Some(PaidBins::of_ranges(schema)?),
            names => Some(PaidBins::new(schema, names)?),
        };
        if let Some(bins) = bins.as_ref().filter(|bins| bins.measurements() == 0)
            && categories.is_none()
        {
            let found = bins.names().collect::<Vec<_>>().join(", ");
            let expected = "a range that needs a measurement: these get a bin for each number, for which a schema can say so";
            return Err(Failure::usage(format!(
                "the columns to cut are {found}, expected {expected}"
            )));
        }
        Ok(Self { bins, categories })
    }

    /// Reads the private table, and the values of the columns of categories, sealed.
    fn read(
        &self,
        spending: &Spending<'_>,
        schema: &Schema,
        private: &Path,
    ) -> Outcome<(Dataset, Vec<Sensitive<UnlistedValues>>)> {
        let unit = &spending.unit;
        let values = self.categories.as_ref().map(|own| own.read(unit, private)).transpose()?;
        let table = match (&self.bins, &self.categories) {
            (Some(bins), _) => bins.read(unit, private)?,
            (None, Some(own)) => {
                unit.read_csv(private, &schema.select(&own.names().collect::<Vec<_>>())?)?
            }
            (None, None) => unit.read_csv(private, schema)?,
        };
        Ok((table, values.unwrap_or_default()))
    }

    /// Spends the whole budget: a share of it on categories, the rest on bins.
    fn spend(
        &self,
        schema: &Schema,
        share: f64,
        curator: &mut Curator<'_>,
        values: Vec<Sensitive<UnlistedValues>>,
    ) -> jointly::Result<(Schema, Vec<NoisyValues>)> {
        let is_shared = self.categories.is_some()
            && self.bins.as_ref().is_some_and(|bins| bins.measurements() > 0);
        if is_shared {
            curator.set_aside(share)?;
        }
        let found = self.bins.as_ref().map(|bins| bins.run(curator)).transpose()?;
        let schema = found.unwrap_or_else(|| schema.clone());
        curator.release_set_aside();
        let Some(categories) = &self.categories else { return Ok((schema, Vec::new())) };
        let named = categories.run(curator, values)?;
        Ok((categories.add(&schema, &named)?, named))
    }
}
