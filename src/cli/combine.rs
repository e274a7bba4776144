//! `jointly combine`: estimates, intervals and tests from a released table and its replicates. They cost no privacy.

use std::fmt::Write;
use std::path::Path;

use jointly::combine::{CombinedEstimate, Finding, Method, Statistic, Support, Target};
use jointly::data::{Dataset, WholeTable, read_csv};
use jointly::domain::Schema;
use jointly::model::{ModelFile, ModelLimits};
use jointly::synthesis::replicate_path;
use serde_json::json;

use super::args::{CombineArgs, StatisticArgs};
use super::console::{self, Console};
use super::failure::{Failure, Outcome};
use super::format::short;

/// Most replicates that are read, as for `synth`.
const MOST: u64 = 1000;

pub(super) fn run(args: &CombineArgs, console: Console) -> Outcome {
    if args.tables == 1 || args.tables > MOST {
        let tables = args.tables;
        return Err(Failure::usage(format!("--tables is {tables}, expected 0, or 2 to {MOST}")));
    }
    let file = ModelFile::read(&args.model, ModelLimits::default())?;
    if !file.is_private {
        console.warning("the model is NOT PRIVATE: it was made with a fixed seed, or from tables that were cleared by hand");
    }
    if file.linked.is_some() {
        let model = args.model.display();
        let text = "makes rows that come as units: the intervals of combine are for rows that are drawn one by one";
        return Err(Failure::usage(format!("{model} {text}")));
    }
    let Some(accuracy) = &file.accuracy else {
        let model = args.model.display();
        let text = if file.weight.is_some() {
            "is of a population with known totals: what was measured of its sample does not say how far they are from it"
        } else {
            "does not say what was measured: no statistic has an interval"
        };
        return Err(Failure::usage(format!("{model} {text}")));
    };
    if let Some(weight) = file.weight.as_ref().filter(|_| args.population) {
        let text = format!(
            "--population needs the variance of a random sample; that of records weighted by {weight} is in replicate weights, \
             which combine does not read"
        );
        return Err(Failure::usage(text));
    }
    let (kept, schema) = file.written()?;
    let accuracy = accuracy.of_attributes(&kept);
    let statistics = args.statistics.parse(&schema, args.given.as_deref())?;
    let released = released(&file, &schema, &args.synthetic)?;
    let replicates = (1..=args.tables).map(|number| {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        Ok(read_csv(&replicate_path(&args.synthetic, number), &schema)?)
    });
    let replicates: Vec<Dataset> = replicates.collect::<Outcome<_>>()?;
    let target = if args.population { Target::Population } else { Target::PrivateTable };
    let mut results = Vec::with_capacity(statistics.len());
    for statistic in &statistics {
        let found = statistic.combine(&schema, &released, &replicates, &accuracy, target)?;
        results.push((statistic, found));
    }
    let from_replicates = |finding: &Finding| {
        finding.combined.is_some_and(|combined| combined.method == Method::Replicates)
    };
    if results.iter().any(|(_, findings)| findings.iter().any(from_replicates)) {
        console.warning(
            "the noise of this release is dependent between cells, so that intervals and p values come from the \
             replicates alone, and cover less often than they say at small budgets",
        );
    }
    if args.json {
        let of = |(statistic, found): &(&Statistic, Vec<Finding>)| json!({ "statistic": statistic.to_string(), "numbers": found });
        return console::json_result(&json!({
            "private": file.is_private,
            "target": target,
            "weight": file.weight,
            "confidence": jointly::error_bars::CONFIDENCE,
            "statistics": results.iter().map(of).collect::<Vec<_>>(),
        }));
    }
    console::result(&text(&results, target, file.weight.as_deref()))
}

/// The released records: of a model of a population, members of it.
fn released(file: &ModelFile, schema: &Schema, path: &Path) -> Outcome<Dataset> {
    let Some(weight) = &file.weight else { return Ok(read_csv(path, schema)?) };
    let table = WholeTable::read_weighted(path, schema, weight)?;
    if table.weights.is_some() {
        let table = path.display();
        let text = format!(
            "{table} has records with the weights of {weight}; combine reads members of the population: `jointly sample` draws \
             them from the model"
        );
        return Err(Failure::usage(text));
    }
    Ok(table.records)
}

impl StatisticArgs {
    fn parse(&self, schema: &Schema, given: Option<&str>) -> Outcome<Vec<Statistic>> {
        type Parse = fn(&str, &Schema) -> jointly::Result<Statistic>;
        let forms: [(&[String], Parse); 5] = [
            (&self.share, Statistic::share),
            (&self.mean, Statistic::mean),
            (&self.difference, Statistic::difference),
            (&self.linear, Statistic::linear),
            (&self.logistic, Statistic::logistic),
        ];
        let mut statistics = Vec::new();
        for (texts, parse) in forms {
            for text in texts {
                let statistic = parse(text, schema)?;
                statistics.push(match given {
                    Some(given) => statistic.among(given, schema)?,
                    None => statistic,
                });
            }
        }
        Ok(statistics)
    }
}

fn text(results: &[(&Statistic, Vec<Finding>)], target: Target, weight: Option<&str>) -> String {
    let of = match (target, weight) {
        (Target::PrivateTable, None) => "the private table".to_owned(),
        (Target::PrivateTable, Some(weight)) => {
            format!("the private table weighted by {weight}, by the mean of each bin")
        }
        (Target::Population, _) => {
            "the population that the private table is a random sample of".to_owned()
        }
    };
    let mut text = format!("95 % intervals for {of}:\n");
    for (statistic, findings) in results {
        _ = writeln!(text, "\n{statistic}:");
        for finding in findings {
            if findings.len() > 1 {
                _ = write!(text, "  {}:", finding.name);
            }
            _ = writeln!(text, "  {}", line(finding));
        }
    }
    text
}

/// What is known about one number.
fn line(finding: &Finding) -> String {
    let released = finding.released.map_or_else(|| "not determined".into(), short);
    let released = format!("{released} on the released table");
    if let Some(CombinedEstimate { method, estimate, lower, upper, .. }) = finding.combined {
        let from = match method {
            Method::Measurements => "measured",
            Method::Replicates => "replicates",
        };
        let p = finding.p_value.map_or_else(String::new, |p| match p {
            p if p < 1e-4 => ", p below 0.0001".to_owned(),
            p => format!(", p {p:.4}"),
        });
        let [estimate, lower, upper] = [estimate, lower, upper].map(short);
        return format!("{estimate}  ({lower} to {upper}{p}; {from}; {released})");
    }
    let why = match finding.support {
        Support::Measured if finding.replicates.is_empty() => {
            "it was measured, but with too much noise, or with noise that needs replicates (--tables)"
        }
        Support::Measured => "it was measured, but with too much noise",
        Support::Public => "not supported: it rests on a public table",
        Support::Model => "not supported: the release did not measure a marginal that holds it",
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
