//! Fitted models: computing marginals, drawing records, reading and writing files.

mod accuracy;
mod ask;
mod binned_numbers;
mod blocks;
mod complete;
mod counts;
mod digest;
mod distribution;
mod donors;
mod evidence;
mod file;
mod grouped_support;
mod having;
mod left_out;
mod link;
mod markov_random_field;
mod parts;
pub(crate) mod products;
mod stored_accuracy;
mod stored_factors;
mod stored_groups;
mod stored_products;
mod stored_support;
mod stored_units;
mod weighted_support;

pub use accuracy::{Accuracy, Basis, CountInterval, PublicPart, RestsOn};
pub(crate) use accuracy::{EMPTY, count_interval};
pub use ask::{Answer, AnswerInterval, AnswerRow, FromModel, Grade, NamedParts, Question};
pub use binned_numbers::LOOSE;
pub(crate) use binned_numbers::{Spread, bin_mean};
pub use blocks::Blocks;
pub(crate) use blocks::check_rows;
pub use complete::Contradicted;
pub use distribution::{Distribution, Drawing, Model};
pub use evidence::Evidence;
pub(crate) use evidence::impossible;
pub use file::{ModelFile, ModelLimits, StoredForm};
pub use grouped_support::{Group, GroupedSupport};
pub use having::Having;
pub use jointly_pgm::model::{Completion, MarkovRandomField, Refinement, Sampling};
pub use link::LinkedRows;
pub use parts::{PART_ROWS, PartForm, Parts};
pub use products::Products;
pub use weighted_support::WeightedSupport;

use file::FileForm;

/// Readers for the kinds of models in files. Each kind is written by its own [`Distribution::store`].
const FORMS: &[FileForm] = &[
    FileForm { member: "factors", read: stored_factors::read },
    FileForm { member: "support", read: stored_support::read },
    FileForm { member: "groups", read: stored_groups::read },
    FileForm { member: "products", read: stored_products::read },
];
