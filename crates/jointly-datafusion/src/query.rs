//! Counting the rows of a query.

use datafusion::arrow::array::AsArray;
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::{Expr, lit};
use datafusion::prelude::{SessionContext, ident};
use jointly::data::{CountPlan, Counter};

use crate::function::{external, jointly_count};

/// Counts the rows of a query in SQL by a plan. The query has a column for each attribute of the plan's schema, in any order and
/// among others.
///
/// # Errors
/// A query that fails, a column that is missing or whose type cannot be read. Rows that do not fit the schema are an error of
/// [`Counter::finish`].
pub async fn count(context: &SessionContext, query: &str, plan: &CountPlan) -> Result<Counter> {
    let rows = context.sql(query).await?;
    let columns = rows.schema().fields();
    let mut arguments = vec![literal(plan)?];
    for attribute in plan.schema().attributes() {
        let name = attribute.name.as_str();
        if !columns.iter().any(|column| column.name() == name) {
            let names: Vec<&str> = columns.iter().map(|column| column.name().as_str()).collect();
            return exec_err!(
                "the query has no column '{name}' among {}, expected every attribute of the schema",
                names.join(", ")
            );
        }
        arguments.push(ident(name));
    }
    let counted = rows.aggregate(Vec::new(), vec![jointly_count().call(arguments)])?;
    let mut counter = plan.counter();
    for batch in counted.collect().await? {
        for state in batch.column(0).as_binary::<i64>().iter().flatten() {
            counter.merge(state).map_err(external)?;
        }
    }
    Ok(counter)
}

/// A plan as the first argument of the function.
fn literal(plan: &CountPlan) -> Result<Expr> {
    let text = ScalarValue::Utf8(Some(plan.to_json().map_err(external)?));
    let key = datafusion::arrow::datatypes::DataType::Int32;
    Ok(lit(ScalarValue::Dictionary(Box::new(key), Box::new(text))))
}
