//! Files as tables of a session, by their places.

use std::ffi::OsStr;
use std::path::Path;

use datafusion::common::{Result, TableReference, exec_err};
use datafusion::prelude::{CsvReadOptions, ParquetReadOptions, SessionContext};

/// Makes each table of a query that the session does not know a file or a folder: a query names it by its place, as in
/// `SELECT * FROM 'people.parquet'`.
///
/// # Errors
/// A text that is no query; as [`register`].
pub async fn register_named(context: &SessionContext, query: &str) -> Result<()> {
    let state = context.state();
    let dialect = state.config().options().sql_parser.dialect;
    let statement = state.sql_to_statement(query, &dialect)?;
    for table in state.resolve_table_references(&statement)? {
        if !context.table_exist(table.clone())? {
            let place = table.table().to_owned();
            register(context, table, &place).await?;
        }
    }
    Ok(())
}

/// Makes a file or a folder a table: Parquet, or CSV in UTF-8 with commas and a header, whose empty cells are missing values. `place` is a path, or a URL of an object store that the session knows.
///
/// # Errors
/// A name that is neither `.parquet` nor `.csv`, or a file that cannot be read.
pub async fn register(
    context: &SessionContext,
    name: impl Into<TableReference>,
    place: &str,
) -> Result<()> {
    match kind(place) {
        Some(Kind::Parquet) => {
            context.register_parquet(name, place, ParquetReadOptions::default()).await
        }
        Some(Kind::Csv) => {
            let mut options = CsvReadOptions::new().has_header(true);
            // Codes are texts: "01" is not 1.
            options.schema_infer_max_records = 0;
            context.register_csv(name, place, options).await
        }
        None => {
            exec_err!("table '{place}' is neither .parquet nor .csv, nor a folder of such files")
        }
    }
}

enum Kind {
    Parquet,
    Csv,
}

/// The kind of a file by its name, and of a folder by that of its first file.
fn kind(place: &str) -> Option<Kind> {
    let of_name = |name: &str| match Path::new(name).extension().and_then(OsStr::to_str) {
        Some("parquet") => Some(Kind::Parquet),
        Some("csv") => Some(Kind::Csv),
        _ => None,
    };
    let folder = Path::new(place.strip_prefix("file://").unwrap_or(place));
    if !folder.is_dir() {
        return of_name(place.trim_end_matches('/'));
    }
    let names = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names.iter().find_map(|name| of_name(name))
}
