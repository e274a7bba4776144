//! Where tables are: in a file, or in several of a folder or of a pattern.

use std::fs;
use std::path::{Path, PathBuf};

use crate::data::is_standard_input;
use crate::error::{Error, Result};

/// How the names of tables in a folder end.
const ENDINGS: [&str; 5] = [".csv", ".csv.gz", ".parquet", ".arrow", ".feather"];

/// The files of a table, in the order of their names: those of a folder that end in `.csv`, `.csv.gz`, `.parquet`,
/// `.arrow` or `.feather`, those that match a pattern such as `parts/*.csv`, or the one file. `file:///data/people` is `/data/people`.
///
/// # Errors
/// A folder without a table, or a pattern that no file matches.
pub(crate) fn files_of(path: &Path) -> Result<Vec<PathBuf>> {
    let path = without_scheme(path);
    if is_standard_input(path) || path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let unread = |source| Error::Io { action: "read", path: path.into(), source };
    if path.is_dir() {
        let mut files = Vec::new();
        for entry in fs::read_dir(path).map_err(unread)? {
            let file = entry.map_err(unread)?.path();
            let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            // Other programs leave files of their own there: `_SUCCESS`, `.part-0.crc`.
            let is_table = ENDINGS.iter().any(|ending| name.ends_with(ending));
            if is_table && !name.starts_with(['.', '_']) && file.is_file() {
                files.push(file);
            }
        }
        return sorted(path, files, "a folder without tables");
    }
    let Some(pattern) = path.to_str().filter(|text| is_pattern(text)) else {
        return Ok(vec![path.to_owned()]);
    };
    let found = glob::glob(pattern).map_err(|error| {
        let found = error.to_string();
        Error::invalid_specification(pattern, found, "a pattern such as parts/*.csv")
    })?;
    let found = found.collect::<std::result::Result<Vec<_>, _>>();
    let found = found.map_err(|error| unread(error.into()))?;
    let files = found.into_iter().filter(|file| file.is_file()).collect();
    sorted(path, files, "a pattern that no file matches")
}

/// The two tables that a place such as `persons.csv+households.csv` names: rows, and their units; `None` for one table. A file that has
/// a plus in its name is one table.
pub(crate) fn pair_of(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let text = path.to_str().filter(|text| text.contains('+'))?;
    let is_there = |text: &str| {
        let place = without_scheme(Path::new(text));
        place.exists() || is_pattern(text)
    };
    if is_there(text) {
        return None;
    }
    let splits = text.match_indices('+').map(|(at, _)| (&text[..at], &text[at + 1..]));
    // Where one of the two is not there, the error is about that one.
    let there = |(rows, units): &(&str, &str)| [is_there(rows), is_there(units)];
    let split = splits.max_by_key(|split| there(split).iter().filter(|is| **is).count())?;
    there(&split).contains(&true).then(|| (split.0.into(), split.1.into()))
}

/// The files of a table, or of two that are joined, as far as they can be told: the one file, those of a folder or a pattern, or
/// those of both tables of `persons.csv+households.csv`.
///
/// ```
/// let files = jointly::data::known_files_of("no/such/table.csv".as_ref());
/// assert_eq!(files, ["no/such/table.csv"].map(std::path::PathBuf::from));
/// ```
pub fn known_files_of(path: &Path) -> Vec<PathBuf> {
    if let Some((rows, units)) = pair_of(path) {
        return [rows, units].iter().flat_map(|path| known_files_of(path)).collect();
    }
    files_of(path).unwrap_or_else(|_| vec![path.to_owned()])
}

/// Whether a file, once it is written, would be one of a table's files.
pub(crate) fn would_be_read(table: &Path, file: &Path) -> bool {
    if let Some((rows, units)) = pair_of(table) {
        return would_be_read(&rows, file) || would_be_read(&units, file);
    }
    let table = without_scheme(table);
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if table.is_dir() {
        let folder = file.parent().and_then(|folder| fs::canonicalize(folder).ok());
        let is_table = ENDINGS.iter().any(|ending| name.ends_with(ending));
        return is_table && folder.is_some() && folder == fs::canonicalize(table).ok();
    }
    let (Some(parent), false) = (table.parent(), table.is_file()) else { return false };
    let pattern = table.file_name().and_then(|name| name.to_str()).filter(|name| is_pattern(name));
    let pattern = pattern.and_then(|name| glob::Pattern::new(name).ok());
    let of_folder = |folder: &Path| {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        fs::canonicalize(folder).ok()
    };
    pattern.is_some_and(|pattern| pattern.matches(name))
        && of_folder(parent).is_some_and(|own| file.parent().and_then(of_folder) == Some(own))
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// The place without `file://`.
fn without_scheme(path: &Path) -> &Path {
    let place = path.to_str().and_then(|text| text.strip_prefix("file://"));
    place.filter(|place| place.starts_with('/')).map_or(path, Path::new)
}

fn sorted(path: &Path, mut files: Vec<PathBuf>, found: &str) -> Result<Vec<PathBuf>> {
    if files.is_empty() {
        let expected = format!("files that end in {}", ENDINGS.join(", "));
        return Err(Error::invalid_specification(path.display().to_string(), found, expected));
    }
    files.sort_unstable();
    Ok(files)
}

#[cfg(test)]
mod tests;
