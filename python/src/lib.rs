//! The native module of the Python package `jointly_dp`: thin classes over the library, with JSON for everything that is
//! not a table. Names, documentation and checks for users are in Python.

mod answers;
mod cell_loss;
mod compare;
mod counts;
mod errors;
mod fitted;
mod incoming;
mod measured;
mod model;
mod process;
mod release;
mod spending;
mod tables;
mod thresholds;
mod tools;
mod watch;

/// The module. Nothing in it is public: `jointly_dp` re-exports what users need.
#[pyo3::pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::answers::{answer, bins, mixture_error, trust};
    #[pymodule_export]
    use super::compare::{compare, compare_run};
    #[pymodule_export]
    use super::counts::{CountPlan, Counter};
    #[pymodule_export]
    use super::fitted::{FittedTables, fit_settings, fit_tables, write_csv};
    #[pymodule_export]
    use super::measured::fit_measurements;
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::release::{Release, fit};
    #[pymodule_export]
    use super::tables::{Given, PrivateRows, Rows, Schema, columns};
    #[pymodule_export]
    use super::thresholds::{Thresholds, thresholds};
    #[pymodule_export]
    use super::tools::{
        budget, evaluate, evaluation_settings, files_of, ledger, mechanisms, plan, set_threads,
        settings, tune,
    };

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::types::PyModuleMethods;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
