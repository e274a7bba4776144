//! The records that can exist: attributes, their values, and sets of attributes.

mod schema;

pub use jointly_pgm::domain::{Attribute, Clique, Domain, StructuralZero};
pub use schema::{
    Bins, Combination, Encoding, Group, GroupValue, Kind, MAX_CARDINALITY, Notation, Outside,
    Piece, Role, Schema, SchemaColumn, TableFormat, UnlikelyCombination,
};
pub(crate) use schema::{
    Difference, MemberCombination, NumberRange, UnitColumns, UnlikelyMemberCombination, Who,
    calendar, date_of, days, days_of, numbers_of, texts, written,
};
