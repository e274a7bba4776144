//! `jointly posterior`: tables that are each as likely to be the private one as what was measured allows. They cost no privacy.

use std::path::{Path, PathBuf};

use jointly::data::{Labels, write_csv_file};
use jointly::observe::Unstoppable;
use jointly::synthesis::{posterior_path, reserve_files};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use serde_json::json;

use super::args::PosteriorArgs;
use super::console::{self, Console};
use super::failure::{Failure, Outcome};
use super::format::counted;

/// Most tables, as of replicates.
pub(super) const MOST: u64 = 1000;

/// A number of tables within its limits.
pub(super) fn tables(flag: &str, tables: u64) -> Outcome<usize> {
    usize::try_from(tables).ok().filter(|_| (2..=MOST).contains(&tables)).ok_or_else(|| {
        let expected = "from 2 to 1000: one table does not show what is unknown";
        Failure::usage(format!("{flag} is {tables}, expected {expected}"))
    })
}

pub(super) fn run(args: &PosteriorArgs, console: Console) -> Outcome {
    let many = tables("--tables", args.tables)?;
    if args.out == Path::new("-") {
        return Err(Failure::usage("--out is -, expected a file, beside which the tables are put"));
    }
    let paths: Vec<PathBuf> =
        (1_u32..).take(many).map(|number| posterior_path(&args.out, number)).collect();
    let outputs: Vec<(&str, &Path)> = paths.iter().map(|path| ("--out", &**path)).collect();
    let _reserved = reserve_files(&[("--model", &*args.model)], &outputs, console.existing)?;
    let file = console.open_model(&args.model)?;
    let (posterior, schema) = file.posterior(&args.columns)?;
    let mut rng = ChaCha20Rng::seed_from_u64(args.seed.unwrap_or_else(rand::random));
    let (mut left, mut records) = (paths.iter(), 0);
    posterior.each_table(many, rng.random(), &Unstoppable, &mut |table| {
        records = table.records() as u64;
        let write =
            |path: &PathBuf| write_csv_file(path, &table, &schema, Labels::Codes, rng.random());
        left.next().map_or(Ok(()), write)
    })?;
    let (first, each) = (console::name_of(&paths[0]), counted(records, "record"));
    let facts = json!({
        "out": paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        "records": records,
        "private": file.is_private,
    });
    console.note("finished", &format!("{first} and so on: {many} tables of {each} each"), facts);
    Ok(())
}
