//! What a record can be: attributes, their values, and sets of attributes.

mod attribute;
mod clique;

pub use attribute::{Attribute, Domain};
pub use clique::Clique;
