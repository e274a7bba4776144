//! `jointly answer`: the marginals of a workload with noise, and the size of the noise.

use jointly::data::write_text;
use jointly::domain::{Schema, SchemaColumn};
use jointly::error_bars::Interval;
use jointly::measurement::Measurement;
use jointly::mechanism::{self, Answers};
use jointly::privacy::LedgerFile;
use jointly::synthesis::reserve_files;
use serde_json::json;

use super::args::AnswerArgs;
use super::ask::{text_of, unwritten};
use super::console::{self, Console};
use super::failure::Outcome;
use super::format::{counted, short};
use super::run;
use super::spend::Spending;

pub(super) fn run(args: &AnswerArgs, console: Console) -> Outcome {
    let source = args.private.source();
    let mut inputs = vec![("--schema", &*args.schema)];
    inputs.extend(source.file().map(|path| ("--private", path)));
    inputs.extend(args.spend.ledger_from.iter().map(|path| ("--ledger-from", &**path)));
    let spending = Spending::new("answer", &args.spend, &args.out)?.keeping(args.keep)?;
    let outputs = [("--out", &*args.out), ("--ledger", spending.ledger())];
    let _reserved = reserve_files(&inputs, &outputs, console.existing)?;
    run::check_parameters(&args.mechanism)?;
    let entry = mechanism::find(&args.mechanism.mechanism)?;
    let answerer = entry.build_answerer(&args.mechanism.parameters)?;
    console.not_private(args.spend.seed);
    let schema = Schema::read(&args.schema)?;
    let (workload, _) = args.workload.source()?.read(&schema.domain())?;
    let counts = || {
        let mechanism = entry.build(&args.mechanism.parameters)?;
        mechanism.counts(&schema.domain(), &workload)
    };
    let private = spending.take(&source, &schema, args.counted, counts, console)?;
    let (answers, file, spent) = spending.run(&private, console, |curator| {
        let answers = answerer.answer(curator, &workload)?;
        let file = LedgerFile::new(answers.mechanism, Some(spending.job.budget), curator);
        Ok((answers, file, curator.ledger().limit()))
    })?;
    let marginals = answers.cliques.iter().map(|clique| answers.marginal(clique));
    let marginals = marginals.collect::<Result<Vec<_>, _>>()?;
    if args.out.extension().is_some_and(|extension| extension == "json") {
        file.with("marginals", &answers.named()?)?.write(&args.out)?;
    } else {
        write_text(&args.out, &table(&schema, &answers, &marginals)?)?;
    }
    let rmse = answers.rmse()?;
    let text = format!(
        "{}: {}, root mean squared error {} counts; all of rho {} spent",
        console::name_of(&args.out),
        counted(marginals.len() as u64, "marginal"),
        short(rmse),
        short(spent.to_f64()),
    );
    let facts = json!({
        "out": args.out.display().to_string(),
        "marginals": marginals.len(),
        "rmse": rmse,
        "private": answers.is_private,
    });
    console.note("finished", &text, facts);
    Ok(())
}

/// One line per cell: the marginal's attributes, the cell's codes and the names of its values, the noisy count, its standard
/// deviation and its 95 % interval.
fn table(schema: &Schema, answers: &Answers, marginals: &[Measurement]) -> Outcome<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header = ["attributes", "codes", "values", "count", "stddev", "lower", "upper"];
    writer.write_record(header).map_err(unwritten)?;
    let columns: Vec<&SchemaColumn> = schema.attributes().collect();
    for marginal in marginals {
        let columns: Vec<&SchemaColumn> = marginal.clique.iter().map(|a| columns[a]).collect();
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let shape = answers.domain.shape(&marginal.clique);
        for (mut cell, count) in marginal.values.iter().enumerate() {
            let (mut codes, mut values) = (vec![String::new(); shape.len()], Vec::new());
            for ((code, column), extent) in codes.iter_mut().zip(&columns).zip(&shape).rev() {
                *code = (cell % extent).to_string();
                values
                    .insert(0, column.value_name(u32::try_from(cell % extent).unwrap_or(u32::MAX)));
                cell /= extent;
            }
            let Interval { lower, upper, .. } = answers.interval(*count, marginal.stddev)?;
            let numbers = [*count, marginal.stddev, lower, upper].map(|x| x.to_string());
            let cells = [names.join(" x "), codes.join(" "), values.join(" x ")];
            writer.write_record(cells.into_iter().chain(numbers)).map_err(unwritten)?;
        }
    }
    text_of(writer)
}
