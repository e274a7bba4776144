//! Scalar functions that bring the rows of a unit together, and put them in order.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BinaryArray, StringArray};
use arrow_schema::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, lit,
};
use jointly::Schema;
use jointly::data::Units;
use jointly::data::arrow::UnitOrder;
use serde_json::{Value, json};

use crate::function::{external, text_of};

/// `jointly_unit(literal, unit)`: the name of each row's unit.
///
/// As of [`unit_key`], rows that have none are an error: such a row must not vanish among those that do not count.
pub(crate) fn unit_name() -> ScalarUDF {
    ScalarUDF::new_from_impl(OfUnits::new(What::Name))
}

/// `jointly_unit_key(literal, name, c1, ..., cn)`: the key of each row among those of its unit. The rows of a unit with the
/// smallest keys count.
pub(crate) fn unit_key() -> ScalarUDF {
    ScalarUDF::new_from_impl(OfUnits::new(What::Key))
}

/// The first argument of both functions. `schema`: of the rows.
pub(crate) fn literal(schema: &Schema, units: &Units) -> Result<Expr> {
    let schema: Value = read(&schema.to_json().map_err(external)?)?;
    Ok(lit(json!({"schema": schema, "unit": units.column()}).to_string()))
}

fn read(text: &str) -> Result<Value> {
    serde_json::from_str(text).or_else(|error| exec_err!("units as JSON: {error}"))
}

/// What a literal says.
fn order(text: &str) -> Result<UnitOrder> {
    let value = read(text)?;
    let schema = Schema::from_json(&value["schema"].to_string(), "units").map_err(external)?;
    let column = value["unit"].as_str().unwrap_or_default();
    // The order does not depend on how many of them count.
    let units = Units::new(column, 1).map_err(|error| external(error.into()))?;
    UnitOrder::new(&schema, &units).map_err(external)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    Name,
    Key,
}

#[derive(Debug)]
struct OfUnits {
    what: What,
    signature: Signature,
    /// What codes rows and is not in use, with its literal: a partition codes many batches.
    idle: Mutex<Vec<(String, UnitOrder)>>,
}

// What is idle only saves making it again.
impl PartialEq for OfUnits {
    fn eq(&self, other: &Self) -> bool {
        self.what == other.what
    }
}

impl Eq for OfUnits {}

impl std::hash::Hash for OfUnits {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.what.hash(state);
    }
}

impl OfUnits {
    fn new(what: What) -> Self {
        let signature = Signature::variadic_any(Volatility::Immutable);
        Self { what, signature, idle: Mutex::default() }
    }

    fn taken(&self, text: &str) -> Result<UnitOrder> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        match idle.iter().position(|(known, _)| known == text) {
            Some(place) => Ok(idle.swap_remove(place).1),
            None => order(text),
        }
    }

    fn values(&self, order: &mut UnitOrder, arrays: &[ArrayRef]) -> Result<ArrayRef> {
        let Some((first, columns)) = arrays.split_first() else {
            return exec_err!("{} has one argument, expected the columns too", self.name());
        };
        Ok(match self.what {
            What::Name => Arc::new(StringArray::from(order.names(first).map_err(external)?)),
            What::Key => {
                let names: Vec<&str> = first.as_string::<i32>().iter().flatten().collect();
                let keys = order.keys(&names, columns).map_err(external)?;
                Arc::new(BinaryArray::from_iter_values(keys))
            }
        })
    }
}

impl ScalarUDFImpl for OfUnits {
    fn name(&self) -> &'static str {
        match self.what {
            What::Name => "jointly_unit",
            What::Key => "jointly_unit_key",
        }
    }

    /// The name alone: the arguments have the whole schema.
    fn schema_name(&self, _: &[Expr]) -> Result<String> {
        Ok(self.name().to_owned())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.what {
            What::Name => DataType::Utf8,
            What::Key => DataType::Binary,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some((ColumnarValue::Scalar(text), columns)) = args.args.split_first() else {
            return exec_err!("the first argument of {} is no literal", self.name());
        };
        let text = text_of(text).unwrap_or_default();
        let arrays = ColumnarValue::values_to_arrays(columns)?;
        let mut order = self.taken(text)?;
        let values = self.values(&mut order, &arrays)?;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push((text.to_owned(), order));
        Ok(ColumnarValue::Array(values))
    }
}
