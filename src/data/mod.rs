//! Tables of records: reading, counting, writing.
//!
//! A function that reads a file takes CSV, plain or gzip, and with the feature `parquet` Parquet and Arrow files (Feather of
//! version 2); the content shows which it is. The path `-` is standard input, CSV only: it is read once and then kept in memory, so that every later reading gives
//! the same table. A function that writes a table writes Parquet if the name ends in `.parquet`, and an Arrow
//! file if it ends in `.arrow` or `.feather`.
//!
//! The libraries that read Parquet and Arrow panic on some damaged files, which is an error here. So that nothing is printed then,
//! the first such file that is read puts a panic hook around the one that is there; all other panics still reach that one.

#[cfg(feature = "arrow")]
pub mod arrow;
#[cfg(feature = "parquet")]
mod arrow_file;
mod blocks;
#[cfg(feature = "parquet")]
mod contained;
mod counter;
mod csv;
mod decode;
mod draft;
mod encoder;
mod files;
mod measurements;
mod member_numbers;
mod members;
mod numbers;
mod numeric_columns;
mod output_lock;
#[cfg(feature = "parquet")]
mod parquet;
mod partial;
mod places;
mod private;
mod public;
mod published;
mod raw_table;
mod sides;
mod standard_input;
mod transcode;
mod unit_table;
mod units;
mod unlisted;
mod whole_table;

pub use self::csv::{AbsentColumns, read_csv, read_csv_from, read_csv_or_empty, read_public_csv};
pub use counter::{CountPlan, CountRequest, CountedParts, CountedTable, Counter, MAX_PLAN_CELLS};
pub(crate) use decode::check_form;
pub use decode::{Labels, write_csv, write_csv_blocks, write_csv_file};
pub use draft::{
    Document, DocumentKind, Draft, Hints, Remark, delimiter_of, draft, draft_from_document,
    draft_from_public, draft_unlikely, draft_unlikely_members, weight_bins,
};
pub(crate) use draft::{HEAP, MOST, MOST_OF_REST, UNITS, cut_at_quantiles};
pub(crate) use encoder::Encoder;
pub use files::{read_text, write_text};
pub(crate) use jointly_pgm::data::count::sizes as table_sizes;
pub use jointly_pgm::data::{
    Column, Dataset, MAX_TOTAL_CELLS, Projectable, Recoding, Tallies, Tally,
};
pub use jointly_privacy::files::nearest;
pub(crate) use jointly_privacy::files::{Destination, write_durably};
pub use jointly_privacy::{Keep, Members, Units};
pub(crate) use measurements::{TidyRow, tidy};
pub use measurements::{read_measurements, tidy_measurements};
pub use numbers::{MISSING_NUMBERS, read_public_numbers, read_public_numbers_from};
pub use numeric_columns::{NumericColumn, NumericColumns};
pub(crate) use output_lock::OutputLock;
pub use partial::PartialTable;
pub use places::known_files_of;
pub(crate) use places::would_be_read;
pub(crate) use private::check_counted;
pub use private::{
    RowSource, count_private_file, count_private_sides, read_private_csv, read_private_rows,
    read_unlisted,
};
#[cfg(feature = "arrow")]
pub use private::{count_private_arrow_sides, read_private_arrow};
pub use public::PublicData;
pub use published::{Protection, PublishedTable, read_published};
pub(crate) use raw_table::quoted;
pub use sides::{HalfPlane, SideCounts, Sides, read_public_points, read_public_points_from};
pub(crate) use standard_input::is_standard_input;
pub use unit_table::UnitTable;
pub(crate) use units::UnitsOfSchema;
pub use units::{read_public_units_csv, read_units_csv, read_units_csv_from};
pub use whole_table::WholeTable;
