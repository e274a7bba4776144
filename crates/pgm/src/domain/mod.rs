//! The records that can exist: attributes, their values, and sets of attributes.

mod attribute;
mod clique;
mod structural_zeros;

pub use attribute::{Attribute, Domain};
pub use clique::Clique;
pub use structural_zeros::StructuralZero;
