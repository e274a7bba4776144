"""Counting a table of Spark: every worker counts its partitions, and the driver merges what they counted.

The workers need this package. What leaves them is counts and, where rows do not fit the schema, one value or combination of each column or rule
that they break. PySpark 3.3 or later, with pyarrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ._counts import Counter, CountPlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STATE = "state binary"


def count(frame: DataFrame, plan: CountPlan, *, merges: int = 8) -> Counter:
    """Counts the rows of a DataFrame by a plan. It has a column for each attribute of the plan's schema, among others.

    ``merges``: how many tasks merge the counts of the partitions before the driver merges theirs. A task that fails is repeated by Spark, and counts once.

    ::

        plan = jd.CountPlan(schema, workload="all-3-way", max_cells=10_000)
        counter = jointly_dp.spark.count(spark.read.parquet("s3://people/"), plan)
        synth = jd.Synthesizer(schema, workload="all-3-way", max_cells=10_000, epsilon=1.0, delta=1e-9).fit(counter)
    """
    text = plan.to_json()
    names = plan.attributes
    lacking = [name for name in names if name not in frame.columns]
    if lacking:
        raise ValueError(f"the table has no column {lacking[0]!r} among {frame.columns}, expected every attribute of the schema")

    def counted(batches: Iterator[Any]) -> Iterator[Any]:
        counter = CountPlan.from_json(text).counter()
        for batch in batches:
            counter.update(batch.rename_columns(names))
        yield _batch(counter)

    def merged(batches: Iterator[Any]) -> Iterator[Any]:
        counter = CountPlan.from_json(text).counter()
        for batch in batches:
            for state in batch.column(0):
                counter.merge(state.as_py())
        yield _batch(counter)

    # A name with a dot is one column, not a member of another; and mapInArrow takes none.
    columns = [f"`{name.replace('`', '``')}`" for name in names]
    plain = frame.select(*columns).toDF(*(f"c{position}" for position in range(len(names))))
    states = plain.mapInArrow(counted, _STATE)
    states = states.repartition(merges).mapInArrow(merged, _STATE)
    counter = plan.counter()
    # One after another, so that the driver holds one state at a time.
    for row in states.toLocalIterator():
        counter.merge(bytes(row[0]))
    return counter


def _batch(counter: Counter) -> Any:
    import pyarrow

    return pyarrow.RecordBatch.from_pydict({"state": [counter.state()]})
