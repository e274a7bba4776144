//! `jointly sample`: records from a saved model. They cost no privacy.

use jointly::model::{Model, ModelFile, ModelLimits};
use jointly::query::Workload;
use serde_json::json;

use super::args::SampleArgs;
use super::console::Console;
use super::failure::Outcome;
use super::format::grouped;
use super::{config, output, run};

pub(super) fn run(args: &SampleArgs, console: Console) -> Outcome {
    let rows = config::rows(args.rows)?;
    output::check(&[("--model", &args.model)], &[("--out", &args.out)])?;
    let file = ModelFile::read(&args.model, ModelLimits::default())?;
    if !file.is_private {
        console.warning("the model was made with a fixed seed: it is NOT PRIVATE");
    }
    // Without a workload at hand: all pairs, and what was measured.
    let domain = file.model.domain();
    let mut near = Workload::all_k_way(domain, domain.len().min(2))?.cliques();
    if let Model::MarkovRandomField(model) = &file.model {
        near.extend_from_slice(model.potentials().layout().cliques());
    }
    run::write_records(&file.model, &file.schema, &near, Some(rows), args.seed, &args.out)?;
    let note = format!("{}: {} records", args.out.display(), grouped(rows as u64));
    let facts = json!({
        "out": args.out.display().to_string(),
        "records": rows,
        "private": file.is_private,
    });
    console.note("finished", &note, facts);
    Ok(())
}
