//! Files as tables of a session, by their places.

use std::ffi::OsStr;
use std::path::Path;

use datafusion::common::{DataFusionError, Result, TableReference, exec_err};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::prelude::{CsvReadOptions, ParquetReadOptions, SessionContext};
use futures::StreamExt as _;

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

/// Makes a file or a folder a table: Parquet, or CSV in UTF-8 with commas and a header, whose empty cells are missing values.
/// `place`: a path, or an address in an object store that the session knows.
///
/// # Errors
/// A name that is neither `.parquet` nor `.csv`, or a file that cannot be read.
pub async fn register(
    context: &SessionContext,
    name: impl Into<TableReference>,
    place: &str,
) -> Result<()> {
    let registered = registered(context, name.into(), place).await;
    registered.or_else(|error| match error {
        DataFusionError::ObjectStore(reason) if is_in_store(place) => exec_err!(
            "table '{place}' cannot be read with the credentials of the environment (AWS_*, GOOGLE_*, AZURE_*): {reason}"
        ),
        other => Err(other),
    })
}

async fn registered(context: &SessionContext, name: TableReference, place: &str) -> Result<()> {
    match kind(context, place).await? {
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

/// Whether a place is in an object store.
fn is_in_store(place: &str) -> bool {
    place.contains("://") && !place.starts_with("file://")
}

enum Kind {
    Parquet,
    Csv,
}

impl Kind {
    /// By the end of a name.
    fn of_name(name: &str) -> Option<Self> {
        match Path::new(name).extension().and_then(OsStr::to_str) {
            Some("parquet") => Some(Self::Parquet),
            Some("csv") => Some(Self::Csv),
            _ => None,
        }
    }
}

/// The kind of a file by its name, and of a folder by that of its first file.
async fn kind(context: &SessionContext, place: &str) -> Result<Option<Kind>> {
    if is_in_store(place) {
        let by_name = Kind::of_name(place);
        return if by_name.is_some() { Ok(by_name) } else { kind_in_store(context, place).await };
    }
    let folder = Path::new(place.strip_prefix("file://").unwrap_or(place));
    if !folder.is_dir() {
        return Ok(Kind::of_name(place.trim_end_matches('/')));
    }
    let names =
        std::fs::read_dir(folder)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    Ok(names.iter().find_map(|name| Kind::of_name(name)))
}

/// As [`kind`], of a folder of an object store.
async fn kind_in_store(context: &SessionContext, place: &str) -> Result<Option<Kind>> {
    let place = ListingTableUrl::parse(place)?;
    let store = context.runtime_env().object_store(&place)?;
    let mut files = store.list(Some(place.prefix()));
    while let Some(file) = files.next().await {
        let file = file.map_err(|error| DataFusionError::ObjectStore(Box::new(error)))?;
        if let Some(kind) = Kind::of_name(file.location.as_ref()) {
            return Ok(Some(kind));
        }
    }
    Ok(None)
}
