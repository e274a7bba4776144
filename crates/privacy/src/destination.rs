//! Where an output goes: to standard output, into a pipe or a character device, or into an ordinary file.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::DestinationFault;

/// The path that stands for standard output.
const STANDARD_OUTPUT: &str = "-";
/// Most links that are followed one after another, as on Linux.
const MOST_LINKS: u32 = 40;

/// What a path leads to, with symbolic links followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// `-`, or a path to this process's descriptor 1 such as `/dev/stdout`.
    StandardOutput,
    /// A pipe, a character device, or another open descriptor: bytes go there as they are made.
    Stream(PathBuf),
    /// An ordinary file, which may not exist yet.
    File {
        /// The folder.
        folder: PathBuf,
        /// The file in it: no link.
        file: PathBuf,
    },
}

impl Destination {
    /// Follows a path to its end.
    ///
    /// # Errors
    /// A folder, a socket, a block device, links in a circle, or a folder that cannot be reached.
    pub fn of(path: &Path) -> Result<Self, DestinationFault> {
        if path == Path::new(STANDARD_OUTPUT) {
            return Ok(Self::StandardOutput);
        }
        let mut path = path.to_path_buf();
        for _ in 0..=MOST_LINKS {
            if path.is_dir() {
                return Err(DestinationFault::IsFolder);
            }
            let name = path.file_name().ok_or(DestinationFault::IsFolder)?;
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new("."));
            let unwritable =
                |source| DestinationFault::FolderNotWritable { folder: folder.to_owned(), source };
            let folder = fs::canonicalize(folder).map_err(unwritable)?;
            if let Some(descriptor) = descriptor(&folder, name) {
                return Ok(descriptor);
            }
            let file = folder.join(name);
            match fs::symlink_metadata(&file) {
                Ok(there) if there.is_symlink() => {
                    let link = fs::read_link(&file).map_err(DestinationFault::Unreachable)?;
                    path = folder.join(link);
                }
                Ok(there) if there.is_file() => return Ok(Self::File { folder, file }),
                Ok(there) if takes_bytes(&there) => return Ok(Self::Stream(file)),
                Ok(_) => return Err(DestinationFault::IsNotWritten),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Self::File { folder, file });
                }
                Err(error) => return Err(DestinationFault::Unreachable(error)),
            }
        }
        Err(DestinationFault::Unreachable(io::Error::other("its links lead in a circle")))
    }

    /// Tests that the destination can be written, as far as this leaves no trace: a file can be created in the folder,
    /// or the device can be opened. A pipe is not opened, as its reader would then see an end.
    ///
    /// Returns a path that two names of one destination share, or `None` where several outputs may go.
    ///
    /// # Errors
    /// A folder that takes no new file, or a device that cannot be opened.
    pub fn probe(&self) -> Result<Option<PathBuf>, DestinationFault> {
        match self {
            Self::StandardOutput => Ok(Some(STANDARD_OUTPUT.into())),
            Self::Stream(path) => {
                let about = fs::metadata(path).map_err(DestinationFault::Unreachable)?;
                if is_pipe(&about) {
                    return Ok(Some(path.clone()));
                }
                open_stream(path).map_err(DestinationFault::Unreachable)?;
                let file = || fs::canonicalize(path).unwrap_or_else(|_| path.clone());
                Ok(about.is_file().then(file))
            }
            Self::File { folder, file } => {
                let mut prefix = std::ffi::OsString::from(".");
                prefix.push(file.file_name().unwrap_or_default());
                let mut probe = tempfile::Builder::new();
                let probe = probe.prefix(&prefix).suffix(".probe").tempfile_in(folder);
                let closed = probe.and_then(tempfile::NamedTempFile::close);
                let folder = folder.clone();
                closed.map_err(|source| DestinationFault::FolderNotWritable { folder, source })?;
                Ok(Some(file.clone()))
            }
        }
    }
}

/// Opens a stream for writing. What an open file already holds stays.
///
/// # Errors
/// Those of the system.
pub fn open_stream(path: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new().append(true).open(path)
}

/// An open descriptor of this process, where the folder is the system's list of them.
fn descriptor(folder: &Path, name: &OsStr) -> Option<Destination> {
    let listed = fs::canonicalize("/dev/fd").is_ok_and(|list| list == folder);
    let found = if name == "1" {
        Destination::StandardOutput
    } else {
        Destination::Stream(folder.join(name))
    };
    listed.then_some(found)
}

#[cfg(unix)]
fn takes_bytes(about: &fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    about.file_type().is_fifo() || about.file_type().is_char_device()
}

#[cfg(unix)]
fn is_pipe(about: &fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    about.file_type().is_fifo()
}

#[cfg(not(unix))]
fn takes_bytes(_: &fs::Metadata) -> bool {
    false
}

#[cfg(not(unix))]
fn is_pipe(_: &fs::Metadata) -> bool {
    false
}
