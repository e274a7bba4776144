//! The records that can exist: attributes, their values, and sets of attributes.

mod attribute;
mod clique;
mod schema;
mod structural_zeros;

pub use attribute::{Attribute, Domain};
pub use clique::Clique;
pub use schema::{
    Bins, Encoding, Group, GroupValue, Kind, MAX_CARDINALITY, Outside, Piece, Role, Schema,
    SchemaColumn, TableFormat,
};
pub(crate) use schema::{calendar, date_of, days, days_of, texts, written};
pub use structural_zeros::StructuralZero;
