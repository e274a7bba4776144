//! Tables of records: reading, counting, writing.

mod count;
mod csv;
mod dataset;
mod encoder;
mod projectable;
mod public;

pub use self::csv::{AbsentColumns, read_csv, read_csv_from, read_public_csv};
pub use count::MAX_TOTAL_CELLS;
pub use dataset::{Column, Dataset};
pub use projectable::Projectable;
pub use public::PublicData;
