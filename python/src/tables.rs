//! Schemas and coded tables.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, NullArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema as ArrowSchema};
use jointly::data::arrow::ArrowTable;
use jointly::data::{
    CountedParts, Dataset, Document, Draft, Hints, RowSource, Sides, Units, WholeTable,
    count_private_arrow_sides, count_private_sides, delimiter_of, draft, draft_from_document,
    draft_from_public, draft_unlikely, draft_unlikely_members, read_csv, read_private_rows,
    weight_bins,
};
use jointly::domain::TableFormat;
use jointly::evaluation::Evaluation;
use jointly::privacy::{PrivacyUnit, PrivateTable};
use jointly::synthesis::{GivenSource, PrivateSource, TableSource};
use jointly::{CommonError, Job};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use pyo3_arrow::PyTable;
use pyo3_arrow::input::AnyRecordBatch;

use crate::counts::Counter;
use crate::errors::{Raise, json, raised};
use crate::incoming::Incoming;
use crate::process;
use crate::watch;

/// A schema.
#[pyclass(frozen, module = "jointly_dp._native")]
pub(crate) struct Schema(pub(crate) Arc<jointly::Schema>);

#[pymethods]
impl Schema {
    /// Reads the text of a `schema.json` or `domain.json`.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str, place: &str) -> PyResult<Self> {
        Ok(Self(Arc::new(jointly::Schema::from_json(text, place).raise(py)?)))
    }

    /// Reads a file.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(Self(Arc::new(jointly::Schema::read(&path).raise(py)?)))
    }

    /// Drafts a schema from public tables, a document `KIND:FILE`, or both. Returns it with remarks, as JSON.
    #[staticmethod]
    fn draft(
        py: Python<'_>,
        tables: Vec<PathBuf>,
        document: Option<String>,
        decimal: Option<char>,
        dates: Option<String>,
    ) -> PyResult<(Self, String)> {
        let document = document.map(|text| text.parse::<Document>()).transpose().raise(py)?;
        let paths: Vec<&Path> = tables.iter().map(PathBuf::as_path).collect();
        let hints = Hints { decimal, dates };
        let found = process::detached(py, || {
            let mut format = TableFormat::default();
            if let Some(first) = paths.first() {
                format.delimiter = delimiter_of(first, &format);
            }
            match (&document, paths.is_empty()) {
                (Some(document), true) => draft_from_document(document),
                (Some(document), false) => draft(document, &paths, &format, &hints),
                (None, _) => draft_from_public(&paths, &format, &hints),
            }
        });
        let Draft { schema, remarks } = found?;
        let remarks: Vec<(Option<String>, String)> =
            remarks.into_iter().map(|remark| (remark.column, remark.text)).collect();
        Ok((Self(Arc::new(schema)), json(py, &remarks)?))
    }

    /// The text of a `schema.json`.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        self.0.to_json().raise(py)
    }

    /// The text of SDV's metadata of one table.
    fn to_sdv_metadata(&self, py: Python<'_>) -> PyResult<String> {
        self.0.to_sdv_metadata().raise(py)
    }

    /// Names and numbers of values of the attributes.
    fn attributes(&self) -> Vec<(String, u32)> {
        let domain = self.0.domain();
        domain.attributes().iter().map(|a| (a.name.clone(), a.cardinality)).collect()
    }

    /// The names of an attribute's values, in the order of their codes.
    fn values(&self, py: Python<'_>, name: &str) -> PyResult<Vec<String>> {
        let domain = self.0.domain();
        let column = self.0.column(name).filter(|_| domain.position(name).is_some());
        let column =
            column.ok_or_else(|| raised(py, &domain.unknown(name, "the question").into()))?;
        Ok((0..column.cardinality()).map(|code| column.value_name(code)).collect())
    }

    /// The same schema with a survey weight as an attribute, in its bins or else in those of public tables.
    fn with_weight(&self, py: Python<'_>, name: &str, public: Vec<PathBuf>) -> PyResult<Self> {
        let files: Vec<&Path> = public.iter().map(PathBuf::as_path).collect();
        let bins = || weight_bins(&files, self.0.table(), name);
        Ok(Self(Arc::new(process::detached(py, || self.0.with_weight(name, bins))?)))
    }

    /// The same schema with the unlikely combinations of public tables.
    fn with_unlikely(&self, py: Python<'_>, public: Vec<PathBuf>) -> PyResult<Self> {
        let files: Vec<&Path> = public.iter().map(PathBuf::as_path).collect();
        let found = process::detached(py, || draft_unlikely(&self.0, &files))?;
        Ok(Self(Arc::new(found.schema)))
    }

    /// The same schema with what members of units of public tables do not have together.
    fn with_unlikely_members(
        &self,
        py: Python<'_>,
        public: Vec<PathBuf>,
        unit: String,
        most: u32,
        members: Vec<String>,
        order: String,
    ) -> PyResult<Self> {
        let files: Vec<&Path> = public.iter().map(PathBuf::as_path).collect();
        let found = process::detached(py, || {
            let units = Units::new(unit, most)?.linked(Vec::<String>::new())?;
            draft_unlikely_members(&self.0, &files, &units.with_members(members, order)?)
        })?;
        Ok(Self(Arc::new(found.schema)))
    }

    /// The same schema with some attributes only.
    fn select(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Self> {
        Ok(Self(Arc::new(self.0.select(&names).raise(py)?)))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

/// A table that was passed in.
pub(crate) enum Table {
    File(PathBuf),
    Memory(ArrowTable),
}

impl Table {
    /// A path, something that exports Arrow, or a dictionary of columns. `name`: of a table in memory.
    pub(crate) fn new(table: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        match table.extract::<PathBuf>() {
            Ok(path) => Ok(Self::File(path)),
            Err(_) => Ok(Self::Memory(in_memory(table, name)?)),
        }
    }

    /// Its file, if it is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Memory(_) => None,
        }
    }

    /// Its rows, for what reads files and tables in memory alike.
    pub(crate) fn rows(&self) -> RowSource<'_> {
        match self {
            Self::File(path) => RowSource::File(path),
            Self::Memory(table) => RowSource::Memory(table),
        }
    }

    /// Its name, without folders.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) => {
                let name = path.file_name().unwrap_or(path.as_os_str());
                name.to_string_lossy().into_owned()
            }
            Self::Memory(table) => table.name().to_owned(),
        }
    }

    /// The private table, coded and sealed.
    pub(crate) fn private(
        &self,
        schema: &jointly::Schema,
        unit: &PrivacyUnit,
    ) -> jointly::Result<PrivateTable> {
        read_private_rows(self.rows(), schema, unit)
    }

    /// The private table on the sides of lines, sealed.
    pub(crate) fn private_sides(
        &self,
        sides: &Sides,
        unit: &PrivacyUnit,
    ) -> jointly::Result<PrivateTable> {
        match self {
            Self::File(path) => count_private_sides(path, sides, unit),
            Self::Memory(table) => count_private_arrow_sides(table, sides, unit),
        }
    }

    /// The released records of a model, with their survey weights if they have some.
    pub(crate) fn released(
        &self,
        schema: &jointly::Schema,
        weight: Option<&str>,
    ) -> jointly::Result<WholeTable> {
        match (self, weight) {
            (Self::File(path), Some(weight)) => WholeTable::read_weighted(path, schema, weight),
            (Self::Memory(table), Some(weight)) => table.read_weighted(schema, weight),
            (Self::File(path), None) => Ok(read_csv(path, schema)?.into()),
            (Self::Memory(table), None) => Ok(table.read(schema)?.into()),
        }
    }

    /// The table as an evaluation needs it.
    pub(crate) fn whole(&self, asked: &Evaluation) -> jointly::Result<WholeTable> {
        match self {
            Self::File(path) => asked.read(path),
            Self::Memory(table) => asked.read_arrow(table),
        }
    }
}

/// The private table, coded and sealed. It has no representation of its contents and is never pickled.
#[pyclass(frozen, module = "jointly_dp._native")]
pub(crate) struct PrivateRows {
    rows: Private,
    file: Option<PathBuf>,
}

/// What is known of the private table.
enum Private {
    Sealed(PrivateTable),
    /// Counts alone: of a file, or in memory.
    Counts(PrivateSource),
}

#[pymethods]
impl PrivateRows {
    /// Codes and seals a table: a path, something that exports Arrow, a dictionary of columns, or an iterator of parts.
    ///
    /// `together`: what rows of a unit have in common, as JSON of settings.
    #[staticmethod]
    #[pyo3(signature = (schema, table, name, neighbors="replace-one", unit=None, together="{}"))]
    fn read(
        py: Python<'_>,
        schema: &Schema,
        table: &Bound<'_, PyAny>,
        name: &str,
        neighbors: &str,
        unit: Option<(String, u32, String)>,
        together: &str,
    ) -> PyResult<Self> {
        let unit = unit_of_rows(py, neighbors, unit, together)?;
        let (schema, table) = (Arc::clone(&schema.0), Incoming::new(table, name)?);
        let file = table.file().map(Path::to_owned);
        if let Some(path) = table.file().filter(|path| CountedParts::is_file(path)) {
            return Ok(Self { rows: Private::Counts(path.into()), file });
        }
        let sealed = watch::run(py, None, move |_| table.private(&schema, &unit))?;
        Ok(Self { rows: Private::Sealed(sealed), file })
    }

    /// What a counter has counted.
    #[staticmethod]
    fn of_counter(py: Python<'_>, counter: &Counter) -> PyResult<Self> {
        let counts = Arc::new(counter.counts("the counter").raise(py)?);
        let label = String::new();
        Ok(Self { rows: Private::Counts(PrivateSource::Counts { counts, label }), file: None })
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("the private table is not pickled"))
    }
}

impl PrivateRows {
    /// The file that the rows or counts came from, if they did.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The table of a job.
    pub(crate) fn source(&self, label: String) -> PrivateSource {
        match &self.rows {
            Private::Sealed(table) => PrivateSource::Sealed { table: table.clone(), label },
            Private::Counts(PrivateSource::Counts { counts, .. }) => {
                PrivateSource::Counts { counts: Arc::clone(counts), label }
            }
            Private::Counts(file) => file.clone(),
        }
    }
}

/// The records of a public table, coded.
#[pyclass(frozen, module = "jointly_dp._native")]
pub(crate) struct Rows {
    /// Nothing of a table that was only counted.
    data: Option<Arc<Dataset>>,
    file: Option<PathBuf>,
}

#[pymethods]
impl Rows {
    /// Codes a table: a path, something that exports Arrow, a dictionary of columns, or an iterator of parts.
    ///
    /// `unit` and `together`: as of the private table, where rows of a unit stay together.
    #[staticmethod]
    #[pyo3(signature = (schema, table, name, unit=None, together="{}"))]
    fn read(
        py: Python<'_>,
        schema: &Schema,
        table: &Bound<'_, PyAny>,
        name: &str,
        unit: Option<(String, u32, String)>,
        together: &str,
    ) -> PyResult<Self> {
        let neighbors = if unit.is_some() { "add-remove-one" } else { "replace-one" };
        let unit = unit_of_rows(py, neighbors, unit, together)?;
        let (schema, table) = (Arc::clone(&schema.0), Incoming::new(table, name)?);
        let file = table.file().map(Path::to_owned);
        if file.as_deref().is_some_and(CountedParts::is_public_file) {
            return Ok(Self { data: None, file });
        }
        let rows = watch::run(py, None, move |_| {
            let units = unit.units().filter(|units| units.agree().is_some());
            table.public(&schema, units)
        })?;
        Ok(Self { data: Some(Arc::new(rows)), file })
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("records are not pickled: write them to a file"))
    }
}

impl Rows {
    /// The file that they came from, if they did.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The rows.
    ///
    /// # Errors
    /// A table that was only counted.
    pub(crate) fn data(&self) -> jointly::Result<&Arc<Dataset>> {
        self.data.as_ref().ok_or_else(|| {
            let place = self.file().map_or_else(String::new, |file| file.display().to_string());
            let (found, expected) = ("counts alone".to_owned(), "records".to_owned());
            CommonError::InvalidSpecification { place, found, expected }.into()
        })
    }

    /// The rows as a table of a job.
    pub(crate) fn source(&self) -> TableSource {
        match (&self.data, &self.file) {
            (Some(rows), _) => TableSource::Rows(Arc::clone(rows)),
            (None, file) => TableSource::File(file.clone().unwrap_or_default()),
        }
    }
}

/// Rows to complete.
#[pyclass(frozen, module = "jointly_dp._native")]
pub(crate) struct Given(pub(crate) GivenSource);

#[pymethods]
impl Given {
    /// A table as for [`Rows::read`], which is kept as it is.
    ///
    /// `keep`: columns that the schema does not know. `unit`: the name of one more.
    #[staticmethod]
    #[pyo3(signature = (schema, table, name, keep, unit=None))]
    fn read(
        py: Python<'_>,
        schema: &Schema,
        table: &Bound<'_, PyAny>,
        name: &str,
        keep: Vec<String>,
        unit: Option<String>,
    ) -> PyResult<Self> {
        let (schema, table) = (Arc::clone(&schema.0), Incoming::new(table, name)?);
        Ok(Self(watch::run(py, None, move |_| table.given(&schema, &keep, unit.as_deref()))?))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("records are not pickled: write them to a file"))
    }
}

/// What differs between neighboring tables: that of a job with these settings.
pub(crate) fn privacy_unit(
    py: Python<'_>,
    neighbors: &str,
    unit: Option<(String, u32, String)>,
) -> PyResult<PrivacyUnit> {
    unit_of_rows(py, neighbors, unit, "{}")
}

/// The same, of rows that stay together. `together`: more settings, as JSON.
fn unit_of_rows(
    py: Python<'_>,
    neighbors: &str,
    unit: Option<(String, u32, String)>,
    together: &str,
) -> PyResult<PrivacyUnit> {
    let more = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(together);
    let mut settings = more.unwrap_or_default();
    settings.insert("neighbors".into(), neighbors.into());
    if let Some((column, most, keep)) = unit {
        settings.insert("unit".into(), column.into());
        settings.insert("max-records".into(), most.into());
        settings.insert("keep".into(), keep.into());
    }
    Job::from_settings(settings.into()).and_then(|job| job.privacy_unit()).raise(py)
}

/// A table of anything that exports Arrow, or of a dictionary of columns.
pub(crate) fn in_memory(table: &Bound<'_, PyAny>, name: &str) -> PyResult<ArrowTable> {
    if let Ok(columns) = table.cast::<PyDict>() {
        return of_columns(columns, name);
    }
    let (batches, schema) = table.extract::<AnyRecordBatch>()?.into_table()?.into_inner();
    Ok(ArrowTable::new(name, schema, batches))
}

/// A table of lists.
fn of_columns(columns: &Bound<'_, PyDict>, name: &str) -> PyResult<ArrowTable> {
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for (column, values) in columns {
        let column: String = column.extract()?;
        let array = array(&column, values.cast::<PyList>()?)?;
        fields.push(Field::new(column, array.data_type().clone(), true));
        arrays.push(array);
    }
    let schema = Arc::new(ArrowSchema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays);
    let batch =
        batch.map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
    Ok(ArrowTable::new(name, schema, vec![batch]))
}

/// An array of Python values of one kind: booleans, integers, numbers or texts; `None` and NaN are missing.
fn array(column: &str, values: &Bound<'_, PyList>) -> PyResult<ArrayRef> {
    let (mut texts, mut floats, mut bools, mut others) = (false, false, false, false);
    for value in values {
        match () {
            () if value.is_none() => {}
            () if value.is_instance_of::<PyString>() => texts = true,
            () if value.is_instance_of::<PyBool>() => bools = true,
            () if value.is_instance_of::<PyInt>() => others = true,
            () if value.is_instance_of::<PyFloat>() => floats |= !value.extract::<f64>()?.is_nan(),
            () => {
                let kind = value.get_type().name()?;
                return Err(PyTypeError::new_err(format!(
                    "column '{column}' holds a {kind}, expected text, numbers, booleans or dates"
                )));
            }
        }
    }
    let is_missing =
        |value: &Bound<'_, PyAny>| value.is_none() || value.extract::<f64>().is_ok_and(f64::is_nan);
    if usize::from(texts) + usize::from(bools) + usize::from(floats || others) > 1 {
        return Err(PyTypeError::new_err(format!(
            "column '{column}' mixes text, numbers and booleans"
        )));
    }
    macro_rules! built {
        ($builder:ty, $kind:ty) => {{
            let mut builder = <$builder>::new();
            for value in values {
                let value = if is_missing(&value) { None } else { Some(value.extract::<$kind>()?) };
                builder.append_option(value);
            }
            Arc::new(builder.finish()) as ArrayRef
        }};
    }
    Ok(if texts {
        built!(StringBuilder, String)
    } else if bools {
        built!(BooleanBuilder, bool)
    } else if floats {
        built!(Float64Builder, f64)
    } else if others {
        built!(Int64Builder, i64)
    } else {
        Arc::new(NullArray::new(values.len()))
    })
}

/// Days from 0001-01-01, which Python counts as day 1, to 1970-01-01.
const DAYS_BEFORE_1970: i32 = 719_163;

/// The columns of a table that was drawn, as Python values: name, whether it is of integers that may be missing, values.
#[pyfunction]
pub(crate) fn columns(
    py: Python<'_>,
    table: PyTable,
) -> PyResult<Vec<(String, bool, Bound<'_, PyList>)>> {
    let date = py.import("datetime")?.getattr("date")?;
    let (batches, schema) = table.into_inner();
    let mut found = Vec::with_capacity(schema.fields().len());
    for (at, field) in schema.fields().iter().enumerate() {
        let values = PyList::empty(py);
        for batch in &batches {
            let array = batch.column(at);
            for row in 0..array.len() {
                match field.data_type() {
                    _ if array.is_null(row) => values.append(py.None())?,
                    DataType::Int64 => {
                        values.append(array.as_primitive::<Int64Type>().value(row))?;
                    }
                    DataType::Float64 => {
                        values.append(array.as_primitive::<Float64Type>().value(row))?;
                    }
                    DataType::Date32 => {
                        let day = array.as_primitive::<Date32Type>().value(row);
                        values
                            .append(date.call_method1("fromordinal", (day + DAYS_BEFORE_1970,))?)?;
                    }
                    _ => values.append(array.as_string::<i32>().value(row))?,
                }
            }
        }
        let may_be_missing = field.is_nullable() && *field.data_type() == DataType::Int64;
        found.push((field.name().clone(), may_be_missing, values));
    }
    Ok(found)
}
