//! `jointly sample`: records from a saved model. They cost no privacy.

use std::cell::Cell;
use std::path::Path;

use jointly::Error;
use jointly::data::{PartialTable, UnitTable, write_csv_blocks};
use jointly::model::{Evidence, LinkedRows, ModelFile, PartForm, Parts};
use jointly::observe::{Notice, Unstoppable};
use jointly::synthesis::reserve_files;
use rand::rngs::ChaCha20Rng;
use rand::{Rng, SeedableRng};
use serde_json::json;

use super::args::SampleArgs;
use super::console::{self, Console};
use super::failure::{Failure, Outcome};
use super::format::{counted, grouped};
use super::run::rows;

pub(super) fn run(args: &SampleArgs, console: Console) -> Outcome {
    if args.rows == Some(0) {
        return Err(Failure::usage("--rows is 0, expected at least 1"));
    }
    let mut inputs = vec![("--model", &*args.model)];
    inputs.extend(args.complete.iter().map(|path| ("--complete", &**path)));
    // With parts it is a folder.
    let mut out = Vec::new();
    out.extend(args.parts.is_none().then_some(("--out", &*args.out)));
    out.extend(args.units_out.iter().map(|path| ("--units-out", &**path)));
    let _reserved = reserve_files(&inputs, &out, console.existing)?;
    let mut file = console.open_model(&args.model)?;
    if args.units_out.is_some() && file.linked.is_none() {
        return Err(Failure::usage("--units-out needs a model of units, of synth --unit-columns"));
    }
    let seed = args.seed.unwrap_or_else(rand::random);
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    if let Some(path) = &args.complete {
        let records = complete(&file, path, args, &mut rng, console)?;
        note(args, &file, records, console);
        return Ok(());
    }
    let evidence = args.given.as_ref().map(|given| Evidence::parse(given, &file.schema));
    let evidence = evidence.transpose()?;
    if let Some(evidence) = &evidence {
        file = file.given(evidence)?;
    }
    let records = args.rows.map_or_else(|| expected(&file), Ok)?;
    if let Some(name) = args.parts {
        return parts(&file, name, records, seed, args, console);
    }
    if let Some(units) = &file.linked {
        file.check_units(evidence.as_ref())?;
        let records = rows(records)?;
        let drawn = file.model.rows(records, args.draw, &file.refinement(), &mut rng)?;
        let LinkedRows { rows, numbers } = file.model.link(&drawn, units, &mut rng)?;
        let table = UnitTable { rows: &rows, numbers: &numbers, units };
        let alone = args.units_out.as_deref();
        table.write((&args.out, alone), &file.schema, args.labels, rng.next_u64())?;
        note(args, &file, rows.records() as u64, console);
        return Ok(());
    }
    let (kept, schema) = file.written()?;
    let refinement = file.refinement();
    let blocks = file.model.blocks(records, args.draw, &refinement, &mut rng)?;
    let seed = rng.next_u64();
    // Fewer than asked for if the reader of a pipe leaves early.
    let mut drawn = 0;
    let blocks = blocks.map(|block| {
        let block = block?.into_selected(&kept)?;
        drawn += block.records() as u64;
        if drawn < records {
            let text = format!("{} of {}", grouped(drawn), counted(records, "record"));
            console.note("drawn", &text, json!({ "records": drawn, "of": records }));
        }
        Ok(block)
    });
    write_csv_blocks(&args.out, blocks, &schema, args.labels, seed)?;
    note(args, &file, drawn, console);
    Ok(())
}

/// The number of records that the model represents.
fn expected(file: &ModelFile) -> Outcome<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "files hold at most 2^32"
    )]
    let records = file.model.total().round() as u64;
    if records > 0 {
        return Ok(records);
    }
    Err(Failure::usage("the model expects no such record, expected --rows"))
}

/// Writes the records in parts.
fn parts(
    file: &ModelFile,
    form: PartForm,
    records: u64,
    seed: u64,
    args: &SampleArgs,
    console: Console,
) -> Outcome {
    if file.linked.is_some() {
        let message = "--parts cannot go with a model of units: their numbers run through one file";
        return Err(Failure::usage(message));
    }
    if args.out == Path::new("-") {
        return Err(Failure::usage("--out is -, expected a folder for --parts"));
    }
    let (_, schema) = file.written()?;
    let refinement = file.refinement();
    let parts = Parts {
        model: &file.model,
        schema: &schema,
        refinement: &refinement,
        drawing: args.draw,
        labels: args.labels,
        form,
        records,
        part_rows: args.part_rows,
        seed,
    };
    parts.write(&args.out, &Unstoppable)?;
    note(args, file, records, console);
    Ok(())
}

/// The failure, with the flag that keeps a column which the schema does not know.
pub(super) fn kept_with(flag: &str, error: Error) -> Failure {
    let is_unknown = error.to_string().contains("the unknown column");
    let hint =
        if is_unknown { format!("; {flag} NAMES keeps such columns") } else { String::new() };
    let failure = Failure::from(error);
    Failure { message: failure.message + &hint, ..failure }
}

/// Completes the rows of a table. Returns their number.
fn complete(
    file: &ModelFile,
    path: &Path,
    args: &SampleArgs,
    rng: &mut ChaCha20Rng,
    console: Console,
) -> Outcome<u64> {
    let (_, schema) = file.written()?;
    let partial = PartialTable::read(path, &schema, &args.keep, None)
        .map_err(|error| kept_with("--keep", error))?;
    // The survey weight is in no record.
    if partial.known().domain().len() == schema.domain().len() {
        let expected = "a table that lacks at least one attribute of the model";
        return Err(Error::invalid_specification("records to complete", "all", expected).into());
    }
    // A list seldom has a record with all values of a row; a graph that has none is a mistake.
    let left_out = Cell::new(0);
    let contradicted = |rows: &[u32], column: &str| {
        left_out.set(left_out.get() + rows.len() as u64);
        let without_mass = file.model.without_mass(partial.known())?;
        let Some(row) = without_mass.first() else { return Ok(()) };
        let expected = "a value that some record of the model has together with the others";
        Err(partial.contradiction(*row as usize, column, expected))
    };
    let unlikely = file.schema.avoided();
    let drawn = file.model.complete(partial.known(), unlikely, false, rng, &contradicted)?;
    if let left_out @ 1.. = left_out.get() {
        let rows = drawn.records() as u64;
        console.warning(&Notice::RowsCompleted { rows, left_out }.to_string());
    }
    let written = schema.domain();
    let is_written = |at: &usize| written.position(drawn.domain().name(*at)).is_some();
    let written: Vec<usize> = (0..drawn.domain().len()).filter(is_written).collect();
    let drawn = drawn.into_selected(&written)?;
    partial.write_with(&drawn, &schema, &args.out, args.labels, rng.next_u64())?;
    Ok(drawn.records() as u64)
}

fn note(args: &SampleArgs, file: &ModelFile, records: u64, console: Console) {
    let of_members = file.linked.as_ref().is_some_and(|units| units.members().is_some());
    let one = if of_members { "unit" } else { "record" };
    let note = format!("{}: {}", console::name_of(&args.out), counted(records, one));
    let mut facts = json!({ "out": args.out.display().to_string(), "records": records });
    // Completed rows are as public as the rows given, which nobody knows here.
    if args.complete.is_none() {
        facts["private"] = json!(file.is_private);
    }
    console.note("finished", &note, facts);
}
