//! Counting the rows of a query.

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{AggregateUDF, Expr, ExprFunctionExt, cast, lit, when};
use datafusion::prelude::{DataFrame, SessionContext, ident};
use jointly::data::{CountPlan, Counter, Keep, Units};

use crate::function::{external, jointly_count, jointly_count_keys};
use crate::units;

/// Counts the rows of a query in SQL by a plan. The query has a column for each attribute of the plan's schema, in any order and
/// among others.
///
/// # Errors
/// A query that fails, a column that is missing or whose type cannot be read. Rows that do not fit the schema are an error of
/// [`Counter::finish`].
pub async fn count(context: &SessionContext, query: &str, plan: &CountPlan) -> Result<Counter> {
    let rows = context.sql(query).await?;
    let columns = columns(&rows, plan.schema().attributes().map(|column| column.name.as_str()))?;
    counted(rows, &jointly_count(), columns, plan).await
}

/// As [`count`], where only some rows of each unit count, as [`Keep::Hash`] says: whatever the order of the rows and however they
/// are distributed, the same ones. The query has the column of the units too.
///
/// `plan`: where rows of a unit stay together, its schema has their number as the last attribute, which the query lacks.
///
/// # Errors
/// As [`count`]; units of which the first rows count, since a query has no first row; a row without a unit. Here rows that do not
/// fit the schema make the query fail.
pub async fn count_units(
    context: &SessionContext,
    query: &str,
    plan: &CountPlan,
    units: &Units,
) -> Result<Counter> {
    const NAME: &str = "jointly unit";
    const KEY: &str = "jointly key";
    const ROW: &str = "jointly row";
    const ALL: &str = "jointly rows";
    if units.keep() != Keep::Hash {
        return exec_err!("the first rows of a unit count, expected that hashes say which");
    }
    let rows = context.sql(query).await?;
    let size = units.size_name();
    let names = plan.schema().attributes().map(|column| column.name.as_str());
    let names: Vec<&str> = names.filter(|name| units.agree().is_none() || *name != size).collect();
    let own = columns(&rows, names.iter().copied())?;
    let unit = columns(&rows, [units.column()])?;
    let schema = plan.schema().select(&names).map_err(external)?;
    let literal = units::literal(&schema, units)?;

    let name = units::unit_name().call([vec![literal.clone()], unit].concat());
    let rows = rows.select([own.clone(), vec![name.alias(NAME)]].concat())?;
    // The key has all that is counted, so that nothing else is sorted.
    let key = units::unit_key().call([vec![literal, ident(NAME)], own].concat());
    let rows = rows.select(vec![ident(NAME), key.alias(KEY)])?;
    let of_unit = |function: Expr| function.partition_by(vec![ident(NAME)]);
    let place = of_unit(row_number()).order_by(vec![ident(KEY).sort(true, false)]).build()?;
    let mut rows = rows.window(vec![place.alias(ROW)])?;
    let most = i64::from(units.most());
    let mut columns = vec![ident(KEY)];
    if units.agree().is_some() {
        let all = of_unit(WindowFunction::new(count_udaf(), vec![lit(1_i64)]).into()).build()?;
        rows = rows.window(vec![all.alias(ALL)])?;
        let kept = when(ident(ALL).gt(lit(most)), lit(most)).otherwise(ident(ALL))?;
        rows = rows.with_column(&size, cast(kept, DataType::Int64))?;
        columns.push(ident(&size));
    }
    let rows = rows.filter(cast(ident(ROW), DataType::Int64).lt_eq(lit(most)))?;
    counted(rows, &jointly_count_keys(), columns, plan).await
}

/// Columns of a query by their names.
fn columns<'n>(rows: &DataFrame, names: impl IntoIterator<Item = &'n str>) -> Result<Vec<Expr>> {
    let known = rows.schema().fields();
    let column = |name: &str| {
        if known.iter().any(|column| column.name() == name) {
            return Ok(ident(name));
        }
        let known: Vec<&str> = known.iter().map(|column| column.name().as_str()).collect();
        exec_err!(
            "the query has no column '{name}' among {}, expected every attribute of the schema, and the unit if there is one",
            known.join(", ")
        )
    };
    names.into_iter().map(column).collect()
}

/// The counts of some rows, by an aggregate function of a plan and of columns.
async fn counted(
    rows: DataFrame,
    function: &AggregateUDF,
    columns: Vec<Expr>,
    plan: &CountPlan,
) -> Result<Counter> {
    let arguments = [vec![literal(plan)?], columns].concat();
    let counted = rows.aggregate(Vec::new(), vec![function.call(arguments)])?;
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
    let key = DataType::Int32;
    Ok(lit(ScalarValue::Dictionary(Box::new(key), Box::new(text))))
}
