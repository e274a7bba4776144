//! Mechanisms whose model is a mixture of product distributions: GEM and RAP.

mod adam;
mod gem;
mod network;
mod pretraining;
mod rap;
mod soft_max;
mod targets;
mod training;

pub use gem::{Gem, GemPub, Latents, Loss, NeuralFit};
pub use rap::{Rap, RapSoftmax, RowFit};

use crate::error::{Error, Result};
use crate::mechanism::Parameter;
use crate::settings::Form;

/// Most of whatever is counted: components, steps, inputs, units of a layer.
const MOST: u32 = 1 << 20;

/// Checks a whole number that must be at least 1.
fn check_count(name: &'static str, found: u32) -> Result<()> {
    if (1..=MOST).contains(&found) {
        return Ok(());
    }
    Err(Error::invalid_parameter(name, found, "from 1 to 1,048,576"))
}

/// Most numbers of a model in training: 2 GiB at 4 bytes.
const MOST_NUMBERS: f64 = 536_870_912.0;

/// Checks the size of a model in training.
fn check_size(numbers: f64) -> Result<()> {
    if numbers <= MOST_NUMBERS {
        return Ok(());
    }
    Err(Error::too_large("the model in training", Some(numbers), MOST_NUMBERS, "numbers"))
}

/// Checks a learning rate.
fn check_rate(found: f64) -> Result<()> {
    if found.is_finite() && found > 0.0 {
        return Ok(());
    }
    Err(Error::invalid_parameter("learning rate", found, "a positive number"))
}

/// The parameters of GEM and RAP.
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "components",
        value_name: "B",
        help: "Product distributions in the mixture: GEM's batch, RAP's rows",
        form: Form::Count,
        unset: "",
    },
    Parameter {
        name: "steps",
        value_name: "S",
        help: "Most training steps a round",
        form: Form::Count,
        unset: "",
    },
    Parameter {
        name: "learning-rate",
        value_name: "R",
        help: "Size of Adam's first steps",
        form: Form::Number,
        unset: "",
    },
    Parameter {
        name: "hidden",
        value_name: "N,...",
        help: "Width of each hidden layer",
        form: Form::Counts,
        unset: "",
    },
    Parameter {
        name: "embedding",
        value_name: "E",
        help: "Random inputs of the network for each component",
        form: Form::Count,
        unset: "",
    },
    Parameter {
        name: "latents",
        value_name: "WHEN",
        help: "When the random inputs are drawn",
        form: Form::Choice(&[
            ("fixed", "Once"),
            ("fresh", "Again for every training step, as in the paper"),
        ]),
        unset: "",
    },
    Parameter {
        name: "loss",
        value_name: "NORM",
        help: "Norm of the errors that training minimizes",
        form: Form::Choice(&[
            ("l2", "The Euclidean norm of the large errors"),
            ("l1", "The sum of the large errors, as in the paper"),
        ]),
        unset: "",
    },
    Parameter {
        name: "start",
        value_name: "SEED",
        help: "Public seed of the network's first weights and inputs",
        form: Form::Whole,
        unset: "",
    },
    Parameter {
        name: "pretrain-steps",
        value_name: "N",
        help: "Training steps on the public tables, before the rounds",
        form: Form::Count,
        unset: "",
    },
];

#[cfg(test)]
mod tests;
