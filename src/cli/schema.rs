//! `jointly schema`: a draft schema for someone who knows the table to check and correct.

use std::path::Path;

use jointly::data::{
    Document, DocumentKind, Draft, Hints, Remark, Units, delimiter_of, draft, draft_from_document,
    draft_from_public, draft_unlikely, draft_unlikely_members, read_text, write_text,
};
use jointly::domain::{Notation, Schema, TableFormat};
use jointly::synthesis::reserve_files;
use serde_json::json;

use super::args::{Export, MemberArgs, SchemaArgs, TableArgs};
use super::console::{self, Console};
use super::failure::{Failure, Outcome};
use super::format::counted;

pub(super) fn run(args: &SchemaArgs, console: Console) -> Outcome {
    if let (Some(schema), Some(Export(out))) = (&args.schema, &args.to) {
        return export(schema, out, console);
    }
    let tables: Vec<&Path> = args.public.iter().map(AsRef::as_ref).collect();
    let mut inputs: Vec<(&str, &Path)> = tables.iter().map(|path| ("--public", *path)).collect();
    let document = match (&args.from, &args.dictionary) {
        (Some(text), _) => {
            let read = text.parse::<Document>();
            Some(read.map_err(|error| Failure::usage(format!("--from: {error}")))?)
        }
        (None, Some(path)) => Some(Document { kind: DocumentKind::Pums, path: path.clone() }),
        (None, None) => None,
    };
    if let Some(document) = &document {
        let flag = if args.from.is_some() { "--from" } else { "--dictionary" };
        inputs.push((flag, &document.path));
    }
    if let Some(schema) = &args.schema {
        inputs.push(("--schema", schema));
    }
    if let Some(header) = &args.table.header_file {
        inputs.push(("--header-file", header));
    }
    let out: Vec<(&str, &Path)> = args.out.iter().map(|out| ("--out", &**out)).collect();
    let _reserved = reserve_files(&inputs, &out, console.existing)?;
    let format = format(&args.table, tables.first().copied())?;
    let hints = hints(&args.table)?;
    let Draft { schema, remarks } = match (&document, tables.is_empty()) {
        _ if args.schema.is_some() => unlikely(args, &tables)?,
        (Some(document), true) => {
            if args.table.no_header {
                return Err(Failure::usage(
                    "--no-header counts the columns of --public, expected one",
                ));
            }
            let Draft { schema, remarks } = draft_from_document(document)?;
            Draft { schema: schema.with_table(format)?, remarks }
        }
        (Some(document), false) => draft(document, &tables, &format, &hints)?,
        (None, _) => draft_from_public(&tables, &format, &hints)?,
    };
    let text = schema.to_json()? + "\n";
    match &args.out {
        None => console::result(&text)?,
        Some(out) => {
            write_text(out, &text)?;
            let domain = schema.domain();
            let note = format!(
                "{}: {} of {}; a draft, to be read and corrected",
                console::name_of(out),
                counted(domain.len() as u64, "attribute"),
                counted(schema.columns().len() as u64, "column")
            );
            let facts = json!({
                "out": out.display().to_string(),
                "attributes": domain.len(),
                "columns": schema.columns().len(),
            });
            console.note("finished", &note, facts);
        }
    }
    list(&remarks, console);
    Ok(())
}

/// A finished schema with the unlikely combinations of public tables.
fn unlikely(args: &SchemaArgs, tables: &[&Path]) -> Outcome<Draft> {
    let Some(schema) = args.schema.as_ref().filter(|_| !tables.is_empty()) else {
        let message =
            "--schema needs --to, to export it, or --public, for its unlikely combinations";
        return Err(Failure::usage(message));
    };
    let mut draft = draft_unlikely(&Schema::read(schema)?, tables)?;
    let MemberArgs { unit, max_records, members, order } = &args.members;
    // Each needs the others.
    if let (Some(unit), Some(most), Some(order)) = (unit, max_records, order) {
        let units = Units::new(unit, *most)?.linked(Vec::<String>::new())?;
        let units = units.with_members(members.iter().cloned(), order.clone())?;
        let of_members = draft_unlikely_members(&draft.schema, tables, &units)?;
        draft.schema = of_members.schema;
        draft.remarks.extend(of_members.remarks);
    }
    Ok(draft)
}

/// Writes a finished schema as the metadata of SDV.
fn export(schema: &Path, out: &Path, console: Console) -> Outcome {
    let _reserved = reserve_files(&[("--schema", schema)], &[("--to", out)], console.existing)?;
    let read = Schema::read(schema)?;
    write_text(out, &(read.to_sdv_metadata()? + "\n"))?;
    let columns = read.domain().len();
    let text = format!(
        "{}: metadata of {} for SDV",
        console::name_of(out),
        counted(columns as u64, "column")
    );
    console.note(
        "finished",
        &text,
        json!({ "out": out.display().to_string(), "columns": columns }),
    );
    Ok(())
}

/// Prints what to look at, one line for each text; columns with the same one share it.
fn list(remarks: &[Remark], console: Console) {
    const SHOWN: usize = 6;
    let mut lines: Vec<(Vec<&str>, &str)> = Vec::new();
    for Remark { column, text } in remarks {
        let name = column.as_deref().unwrap_or("tables");
        match lines.iter_mut().find(|(_, known)| known == text) {
            Some((names, _)) => names.push(name),
            None => lines.push((vec![name], text)),
        }
    }
    if !lines.is_empty() {
        let text = "Look at these; the schema has them as the 'note' of a column:";
        console.note("remarks", text, json!({ "remarks": remarks.len() }));
    }
    for (names, text) in lines {
        // Columns that are left out are all named.
        let most = if text.contains("left out") { names.len() } else { SHOWN };
        let mut shown = names.iter().take(most).copied().collect::<Vec<_>>().join(", ");
        if names.len() > most {
            shown = format!("{shown} and {} more", names.len() - most);
        }
        let facts = json!({ "columns": names, "message": text });
        console.note("remark", &format!("  {shown}: {text}"), facts);
    }
}

/// What the flags say of numbers and dates.
fn hints(args: &TableArgs) -> Outcome<Hints> {
    let decimal = args.decimal.as_ref().and_then(|mark| mark.chars().next());
    if let Some(text) = &args.dates {
        let is_date = Notation::new(text, "--dates").is_ok_and(|notation| notation.is_date());
        if !is_date {
            let expected = "expected a form such as DD/MM/YYYY or M/D/YY";
            return Err(Failure::usage(format!("--dates is '{text}', {expected}")));
        }
    }
    Ok(Hints { decimal, dates: args.dates.clone() })
}

/// The format of tables that the flags describe. Without a delimiter, it is that of the first table.
fn format(args: &TableArgs, first: Option<&Path>) -> Outcome<TableFormat> {
    let known = TableFormat { encoding: args.encoding, ..TableFormat::default() };
    let delimiter = match args.delimiter.as_deref() {
        None => first.map_or(',', |first| delimiter_of(first, &known)),
        Some("tab" | "\\t") => '\t',
        Some(text) => {
            let mut characters = text.chars();
            let (first, more) = (characters.next(), characters.next());
            first.filter(|_| more.is_none()).ok_or_else(|| {
                Failure::usage(format!(
                    "--delimiter is '{text}', expected one ASCII character, or tab"
                ))
            })?
        }
    };
    let names = match &args.header_file {
        Some(file) => Some(names_of(&read_text(file)?, delimiter)),
        None if args.no_header => Some(Vec::new()),
        None => Some(args.header.clone()).filter(|names| !names.is_empty()),
    };
    let is_given = args.header_file.is_some() || !args.header.is_empty();
    let names = names.map(|names: Vec<String>| {
        names.iter().map(|name| name.trim().to_owned()).collect::<Vec<_>>()
    });
    if let Some(names) = names.as_ref().filter(|_| is_given)
        && (names.is_empty() || names.iter().any(String::is_empty))
    {
        return Err(Failure::usage(
            "a name of the header is empty, expected a name for each column",
        ));
    }
    let format = TableFormat { delimiter, names, encoding: args.encoding, trim: false };
    let given = TableFormat { names: format.names.clone().filter(|_| is_given), ..format.clone() };
    given.check("--delimiter or --header").map_err(|error| Failure::usage(error.to_string()))?;
    Ok(format)
}

/// The names in a file: one per line, or all in its only row.
fn names_of(text: &str, delimiter: char) -> Vec<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let bare = |name: &str| name.trim().trim_matches('"').to_owned();
    match lines.as_slice() {
        [only] => only.split([delimiter, ',']).map(bare).collect(),
        lines => lines.iter().map(|line| bare(line)).collect(),
    }
}
