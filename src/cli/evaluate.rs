//! `jointly evaluate`: the errors of a synthetic table against the real one. Its output is not private.

use std::path::Path;

use jointly::data::write_text;
use jointly::domain::Schema;
use jointly::evaluation::RulesSource;
use jointly::report::evaluation::{self, Page};
use jointly::synthesis::reserve_files;

use super::args::EvaluateArgs;
use super::console::{self, Console};
use super::failure::Outcome;

pub(super) fn run(args: &EvaluateArgs, console: Console) -> Outcome {
    let settings = &args.evaluation.0;
    let mut inputs: Vec<(&'static str, &Path)> = vec![
        ("--private", &args.private),
        ("--synthetic", &args.synthetic),
        ("--schema", &args.schema),
    ];
    if let Some(RulesSource::File(rules)) = &settings.rules {
        inputs.push(("--rules", rules));
    }
    let outputs: Vec<_> = args.report.iter().map(|path| ("--report", &**path)).collect();
    let _reserved = reserve_files(&inputs, &outputs, console.existing)?;
    let evaluation = settings.under(&Schema::read(&args.schema)?)?;
    let (real, synthetic) = (evaluation.read(&args.private)?, evaluation.read(&args.synthetic)?);
    let measures = evaluation.between(&real, &synthetic)?;
    if let Some(path) = &args.report {
        let page = Page {
            names: [&args.private, &args.synthetic].map(|path| console::input_name(path)),
            schema: evaluation.schema(),
            tables: evaluation.weighted(&real, &synthetic)?,
            measures: &measures,
        };
        write_text(path, &evaluation::render(&page)?)?;
    }
    if args.json {
        console::json_result(&measures)
    } else {
        console::result(&evaluation::text(&measures))
    }
}
