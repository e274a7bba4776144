//! The aggregate function.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result, ScalarValue, exec_err};
use datafusion::logical_expr::expr::AggregateFunctionParams;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility,
};
use datafusion::physical_plan::expressions::Literal;
use jointly::data::{CountPlan, Counter};

/// The name of the function in SQL.
pub const NAME: &str = "jointly_count";

/// The aggregate function `jointly_count(plan, c1, ..., cn)`: what a [`Counter`] of the plan has counted of the rows, as its
/// [`state`](Counter::state).
///
/// `plan` is the JSON of a [`CountPlan`], as a literal of type `Dictionary(Int32, Utf8)`: a plain text would be copied for
/// every row of every batch. The columns follow in the order of the plan's schema. Rows that do not fit it are counted apart, and make
/// [`Counter::finish`] fail.
pub fn jointly_count() -> AggregateUDF {
    AggregateUDF::new_from_impl(JointlyCount::new(NAME))
}

/// The aggregate function `jointly_count_keys(plan, key[, records])`: the same, of records of units, each of which is in its key; where rows
/// of a unit stay together, with the number of those that count.
pub(crate) fn jointly_count_keys() -> AggregateUDF {
    AggregateUDF::new_from_impl(JointlyCount::new(OF_KEYS))
}

/// The name of the function that counts keys.
const OF_KEYS: &str = "jointly_count_keys";

#[derive(Debug)]
struct JointlyCount {
    name: &'static str,
    signature: Signature,
    latest: Latest,
}

// The function has no parameters: the latest plan only saves reading it again.
impl PartialEq for JointlyCount {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for JointlyCount {}

impl std::hash::Hash for JointlyCount {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl JointlyCount {
    fn new(name: &'static str) -> Self {
        let signature = Signature::variadic_any(Volatility::Immutable);
        Self { name, signature, latest: Latest::default() }
    }
}

/// The plan that was read last, with its text: every partition's accumulator asks for it.
#[derive(Debug, Default)]
struct Latest(Mutex<Option<(String, CountPlan)>>);

impl Latest {
    fn plan(&self, text: &str) -> Result<CountPlan> {
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, plan)) = &*latest
            && known == text
        {
            return Ok(plan.clone());
        }
        let plan = CountPlan::from_json(text, NAME).map_err(external)?;
        *latest = Some((text.to_owned(), plan.clone()));
        Ok(plan)
    }
}

impl AggregateUDFImpl for JointlyCount {
    fn name(&self) -> &str {
        self.name
    }

    /// The name alone: the arguments have the whole plan.
    fn schema_name(&self, _: &AggregateFunctionParams) -> Result<String> {
        Ok(self.name.to_owned())
    }

    fn human_display(&self, _: &AggregateFunctionParams) -> Result<String> {
        Ok(self.name.to_owned())
    }

    fn display_name(&self, _: &AggregateFunctionParams) -> Result<String> {
        Ok(self.name.to_owned())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::LargeBinary)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let name = format!("{}[state]", args.name);
        Ok(vec![Arc::new(Field::new(name, DataType::LargeBinary, true))])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let literal = args.exprs.first().and_then(|plan| plan.downcast_ref::<Literal>());
        let Some(text) = literal.and_then(|plan| text_of(plan.value())) else {
            return exec_err!(
                "the first argument of {} is no literal, expected a plan as JSON",
                self.name
            );
        };
        let counter = self.latest.plan(text)?.counter();
        Ok(Box::new(Counting { counter, of_keys: self.name == OF_KEYS }))
    }
}

/// The text of a literal, in a dictionary or not.
pub(crate) fn text_of(value: &ScalarValue) -> Option<&str> {
    match value {
        ScalarValue::Dictionary(_, value) => text_of(value),
        value => value.try_as_str().flatten(),
    }
}

/// A counter that DataFusion fills.
#[derive(Debug)]
struct Counting {
    counter: Counter,
    of_keys: bool,
}

impl Accumulator for Counting {
    /// `values`: the plan and the columns.
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let columns = values.get(1..).unwrap_or_default();
        if let (true, [keys, sizes @ ..]) = (self.of_keys, columns) {
            return self.counter.update_keys(keys, sizes.first()).map_err(external);
        }
        self.counter.update_columns(columns).map_err(external)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(states) = states.first() else { return Ok(()) };
        let states = states.as_binary::<i64>();
        for state in states.iter().flatten() {
            self.counter.merge(state).map_err(external)?;
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::LargeBinary(Some(self.counter.state().map_err(external)?)))
    }

    fn size(&self) -> usize {
        let cells = usize::try_from(self.counter.plan().cells()).unwrap_or(usize::MAX);
        size_of::<u64>().saturating_mul(cells).saturating_add(size_of::<Self>())
    }
}

/// A failure of the library, for DataFusion.
pub(crate) fn external(error: jointly::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
