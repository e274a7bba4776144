//! The library's errors as exceptions of `jointly_dp`.

use jointly::{CommonError, Error, ErrorKind, PrivacyError};
use pyo3::prelude::*;

/// The exception's class, in `jointly_dp._errors`.
fn class(error: &Error) -> &'static str {
    match (error, error.kind()) {
        (Error::Common(CommonError::TooLarge { .. }) | Error::SizeLimit { .. }, _) => "TooLarge",
        (
            Error::Privacy(PrivacyError::BudgetExceeded { .. } | PrivacyError::BudgetUsedUp { .. }),
            _,
        ) => "BudgetExceeded",
        (_, ErrorKind::Usage) => "UsageError",
        (_, ErrorKind::Input) => "InputError",
        (_, ErrorKind::Privacy) => "PrivacyError",
        (_, ErrorKind::Checkpoint) => "CheckpointError",
        _ => "JointlyError",
    }
}

/// The facts of an error that a program may want.
fn facts(error: &Error) -> Vec<(&'static str, String)> {
    match error {
        Error::InvalidCell { file: table, line: row, column, found, expected } => vec![
            ("table", table.clone()),
            ("line", row.to_string()),
            ("column", column.clone()),
            ("found", found.clone()),
            ("expected", expected.clone()),
        ],
        Error::InvalidValue { table, row, column, found, expected } => vec![
            ("table", table.clone()),
            ("row", row.to_string()),
            ("column", column.clone()),
            ("found", found.clone()),
            ("expected", expected.clone()),
        ],
        Error::Common(CommonError::InvalidParameter { name, found, expected })
        | Error::Privacy(PrivacyError::InvalidBudget { name, found, expected }) => vec![
            ("name", (*name).to_owned()),
            ("found", found.to_string()),
            ("expected", (*expected).to_owned()),
        ],
        Error::WrongForm { name, found, expected } => {
            vec![("name", name.clone()), ("found", found.clone()), ("expected", expected.clone())]
        }
        Error::Privacy(PrivacyError::BudgetExceeded { purpose, asked, remaining }) => vec![
            ("purpose", purpose.clone()),
            ("asked", asked.to_string()),
            ("remaining", remaining.to_string()),
        ],
        Error::Common(
            CommonError::UnknownAttribute { name, place, .. }
            | CommonError::DuplicateAttribute { name, place },
        ) => {
            vec![("name", name.clone()), ("place", place.clone())]
        }
        _ => Vec::new(),
    }
}

/// The exception.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    if error.kind() == ErrorKind::Interrupted {
        return pyo3::exceptions::PyKeyboardInterrupt::new_err("interrupted");
    }
    let made = || -> PyResult<PyErr> {
        let class = py.import("jointly_dp._errors")?.getattr(class(error))?;
        let exception = class.call1((error.to_string(),))?;
        exception.setattr(
            "facts",
            facts(error).into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        )?;
        Ok(PyErr::from_value(exception))
    };
    made().unwrap_or_else(|failed| failed)
}

/// Results of the library as those of Python.
pub(crate) trait Raise<T> {
    /// The value, or the exception.
    fn raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T, E: Into<Error>> Raise<T> for Result<T, E> {
    fn raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raised(py, &error.into()))
    }
}

/// The exception for a value that is not what the module expects; the Python code checks first, so users do not see it.
pub(crate) fn wrong(py: Python<'_>, place: &str, reason: impl ToString) -> PyErr {
    raised(py, &Error::invalid_specification(place, reason.to_string(), "the documented form"))
}

/// JSON text.
pub(crate) fn json(py: Python<'_>, value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| wrong(py, "result", error))
}
