//! Tables of records: reading, counting, writing.
