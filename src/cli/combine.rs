//! `jointly combine`: estimates, intervals and tests from a released table and its replicates. They cost no privacy.

use std::fmt::Write;

use jointly::combine::{
    Combined, CombinedEstimate, CombinedStatistic, Finding, Imputation, Method, StatisticTexts,
    Support, Target,
};
use jointly::data::{Dataset, WholeTable, read_csv};
use jointly::observe::Unstoppable;
use jointly::synthesis::replicate_path;

use super::args::{CombineArgs, StatisticArgs};
use super::console::{self, Console};
use super::failure::{Failure, Outcome};
use super::format::short;
use super::posterior;

pub(super) fn run(args: &CombineArgs, console: Console) -> Outcome {
    if args.tables == 1 || args.tables > posterior::MOST {
        let tables = args.tables;
        return Err(Failure::usage(format!(
            "--tables is {tables}, expected 0, or 2 to {}",
            posterior::MOST
        )));
    }
    let imputation = match args.posterior {
        None => None,
        Some(tables) => Some(Imputation {
            tables: posterior::tables("--posterior", tables)?,
            seed: args.seed.unwrap_or_else(rand::random),
            checks: &Unstoppable,
        }),
    };
    let file = console.open_model(&args.model)?;
    let target = if args.population { Target::Population } else { Target::PrivateTable };
    file.combinable(target)?;
    let (_, schema) = file.written()?;
    let statistics = args.statistics.texts(args.given.clone()).parse(&schema)?;
    let released = match &file.weight {
        Some(weight) => WholeTable::read_weighted(&args.synthetic, &schema, weight)?,
        None => read_csv(&args.synthetic, &schema)?.into(),
    };
    let replicates = (1..=args.tables).map(|number| {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        Ok(read_csv(&replicate_path(&args.synthetic, number), &schema)?)
    });
    let replicates: Vec<Dataset> = replicates.collect::<Outcome<_>>()?;
    let found = file.combine(&statistics, &released, &replicates, target, imputation)?;
    if args.json {
        return console::json_result(&found);
    }
    console::result(&text(&found))
}

impl StatisticArgs {
    fn texts(&self, given: Option<String>) -> StatisticTexts {
        StatisticTexts {
            shares: self.share.clone(),
            means: self.mean.clone(),
            differences: self.difference.clone(),
            linear: self.linear.clone(),
            logistic: self.logistic.clone(),
            given,
        }
    }
}

fn text(found: &Combined) -> String {
    let of = match (found.target, &found.weight) {
        (Target::PrivateTable, None) => "the private table".to_owned(),
        (Target::PrivateTable, Some(weight)) => {
            format!("the private table weighted by {weight}, by the mean of each bin")
        }
        (Target::Population, _) => {
            "the population that the private table is a random sample of".to_owned()
        }
    };
    let mut text = format!("95 % intervals for {of}:\n");
    for CombinedStatistic { statistic, numbers } in &found.statistics {
        _ = writeln!(text, "\n{statistic}:");
        for finding in numbers {
            if numbers.len() > 1 {
                _ = write!(text, "  {}:", finding.name);
            }
            _ = writeln!(text, "  {}", line(finding));
        }
    }
    let mut numbers = found.statistics.iter().flat_map(|statistic| &statistic.numbers);
    let is_posterior = |found: &Finding| {
        found.combined.is_some_and(|combined| combined.method == Method::Posterior)
    };
    if numbers.any(is_posterior) {
        text += "\nIntervals from posterior tables rest on a model of the columns. On three tables 90 to 98 % of them covered.\n";
    }
    text
}

/// What is known about one number.
fn line(finding: &Finding) -> String {
    let released = finding.released.map_or_else(|| "not determined".into(), short);
    let released = format!("{released} on the released table");
    if let Some(CombinedEstimate { method, estimate, lower, upper, .. }) = finding.combined {
        let p = finding.p_value.map_or_else(String::new, |p| match p {
            p if p < 1e-4 => ", p below 0.0001".to_owned(),
            p => format!(", p {p:.4}"),
        });
        let [estimate, lower, upper] = [estimate, lower, upper].map(short);
        let from = if method == Method::Posterior { "from posterior tables" } else { "measured" };
        return format!("{estimate}  ({lower} to {upper}{p}; {from}; {released})");
    }
    let why = match finding.support {
        Support::Measured => "it was measured, but with too much noise",
        Support::Public => "not supported: it rests on a public table",
        Support::Model => "not supported: it does not follow from what the release measured",
    };
    match finding.bound {
        Some(bound) => {
            let [lower, upper] = [bound.lower, bound.upper].map(short);
            format!(
                "between {lower} and {upper} by the measured error of the table  ({why}; {released})"
            )
        }
        None => format!("no interval  ({why}; {released})"),
    }
}
