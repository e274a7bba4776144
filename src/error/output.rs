//! What is wrong with an output file.

use std::path::PathBuf;

use super::DestinationFault;

/// What is wrong with an output file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputFault {
    /// It leads to nothing that can be written.
    #[error(transparent)]
    Destination(#[from] DestinationFault),
    /// It is standard output, and so is this other output.
    #[error(" is standard output, as is {0}, expected a file")]
    IsStandardOutputOf(&'static str),
    /// It is an input or another output, of this name.
    #[error(" is the file of {0}, expected another file")]
    IsFileOf(&'static str),
    /// It would be one of the files of this input, which is a folder or a pattern.
    #[error(" would be one of the files of {0}, expected a file elsewhere")]
    AmongFilesOf(&'static str),
    /// It exists, and nobody asked to replace it.
    #[error(" exists already, expected a new file")]
    Exists,
    /// Another run is about to write it.
    #[error(
        " is locked by another run, expected another file, or to wait until that run has ended"
    )]
    InUse,
    /// A file beside it has the name of a replicate of it, and this run will not write it.
    #[error(": {} lies beside it and would pass for one of its replicates, expected no file of that name: \
             move it away, or choose another output", .0.display())]
    BesideReplicate(PathBuf),
}
