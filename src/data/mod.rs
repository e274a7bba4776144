//! Tables of records: reading, counting, writing.

mod projectable;

pub use projectable::Projectable;
