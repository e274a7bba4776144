//! `jointly sample`: records from a saved model. They cost no privacy.

use jointly::data::{Labels, write_csv_file};
use jointly::model::{ModelFile, ModelLimits};
use jointly::synthesis::check_files;
use rand::rngs::ChaCha20Rng;
use rand::{Rng, SeedableRng};
use serde_json::json;

use super::args::SampleArgs;
use super::console::Console;
use super::failure::Outcome;
use super::format::grouped;
use super::run;

pub(super) fn run(args: &SampleArgs, console: Console) -> Outcome {
    let rows = run::rows(args.rows)?;
    check_files(&[("--model", &args.model)], &[("--out", &args.out)])?;
    let file = ModelFile::read(&args.model, ModelLimits::default())?;
    if !file.is_private {
        console.warning("the model was made with a fixed seed: it is NOT PRIVATE");
    }
    let mut rng = ChaCha20Rng::seed_from_u64(args.seed.unwrap_or_else(rand::random));
    let table = file.model.rows(rows, args.draw.drawing(), &file.refined_on, &mut rng)?;
    write_csv_file(&args.out, &table, &file.schema, Labels::Codes, rng.next_u64())?;
    let note = format!("{}: {} records", args.out.display(), grouped(rows as u64));
    let facts = json!({
        "out": args.out.display().to_string(),
        "records": rows,
        "private": file.is_private,
    });
    console.note("finished", &note, facts);
    Ok(())
}
