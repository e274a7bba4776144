//! Output files: checked before the budget is spent, written whole or not at all.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jointly::Error;
use jointly::data::write_atomically;
use serde::Serialize;

use super::failure::{Failure, Outcome, Reason};

/// Checks that every output can be written: its folder exists and takes new files, it is no folder or device, no input
/// and no other output.
///
/// `inputs`, `outputs`: flags with their files.
pub(super) fn check(inputs: &[(&str, &Path)], outputs: &[(&str, &Path)]) -> Outcome {
    let mut taken: Vec<(&str, PathBuf)> = Vec::new();
    for (flag, path) in inputs {
        if let Ok(path) = fs::canonicalize(path) {
            taken.push((flag, path));
        }
    }
    for (flag, path) in outputs {
        let place = probe(flag, path)?;
        if let Some((other, _)) = taken.iter().find(|(_, used)| *used == place) {
            return Err(Failure::usage(format!(
                "{flag} {} is the file of {other}, expected another file",
                path.display()
            )));
        }
        taken.push((flag, place));
    }
    Ok(())
}

/// Where an output will be, links followed, after a test file was made and removed beside it.
fn probe(flag: &str, path: &Path) -> Outcome<PathBuf> {
    let refused = |message: String| Failure { reason: Reason::Internal, message };
    let Some(name) = path.file_name().filter(|_| !path.is_dir()) else {
        return Err(refused(format!("{flag} {} is a folder, expected a file", path.display())));
    };
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        let path = path.display();
        return Err(refused(format!(
            "{flag} {path} is a device or pipe, expected an ordinary file"
        )));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| Path::new("."));
    let known = fs::canonicalize(folder).map_err(|error| {
        refused(format!("{flag}: cannot write into folder {}: {error}", folder.display()))
    })?;
    let mut probe = OsString::from(".");
    probe.push(name);
    probe.push(format!(".{}.probe", std::process::id()));
    let probe = known.join(probe);
    fs::write(&probe, []).and_then(|()| fs::remove_file(&probe)).map_err(|error| {
        refused(format!("{flag}: cannot write into folder {}: {error}", folder.display()))
    })?;
    Ok(fs::canonicalize(path).unwrap_or_else(|_| known.join(name)))
}

/// Writes a text file, whole or not at all.
pub(super) fn write_text(path: &Path, text: &str) -> Outcome {
    write_atomically(path, |file| {
        file.write_all(text.as_bytes()).map_err(|source| Error::Io {
            action: "write",
            path: path.into(),
            source,
        })
    })?;
    Ok(())
}

/// Writes indented JSON, whole or not at all.
pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Outcome {
    let text = serde_json::to_string_pretty(value).map_err(|error| Error::Io {
        action: "write",
        path: path.into(),
        source: io::Error::other(error),
    })?;
    write_text(path, &(text + "\n"))
}
