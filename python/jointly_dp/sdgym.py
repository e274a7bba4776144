"""Jointly's mechanisms in the benchmarks of SDGym, beside the synthesizers of SDV: ``pip install sdgym``.

>>> import jointly_dp as jd
>>> custom = create(1.0, 1e-9, schema=jd.Schema({"sex": 2, "age": 4}), mechanism="mst")
>>> custom.__name__
'Custom:jointly mst, epsilon 1.0'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._errors import UsageError
from ._hosts import needed
from ._schema import Schema
from ._synthesizer import Synthesizer

sdgym = needed("sdgym", "sdgym")

__all__ = ["create"]


def create(
    epsilon: float,
    delta: float,
    *,
    schema: Schema | Callable[[Any, Any], Schema],
    mechanism: str = "jam-pgm",
    name: str | None = None,
    **parameters: Any,
) -> Any:
    """A class for ``custom_synthesizers`` of ``sdgym.benchmark_single_table``.

    ``schema``: the columns of the data set, or a function of its table and metadata that returns them. What such a function takes
    from the table is not private: SDGym's metadata have no values, and without any nothing can be counted. Write the schema from
    the data set's documentation, or use a function on public data sets only. ``name``: for SDGym's results. Other parameters are
    those of :class:`jointly_dp.Synthesizer`.

    Columns of the table that the schema lacks are an error: SDGym scores all columns of its metadata.
    """

    def train(table: Any, metadata: Any) -> Synthesizer:
        columns = schema(table, metadata) if callable(schema) else schema
        missing = [column for column in table.columns if column not in columns.attributes]
        if missing:
            raise UsageError(f"the schema lacks the columns {missing}, expected all of {list(table.columns)}")
        # SDGym draws other records than those whose errors would be measured.
        settings = {"error_share": 0.0, **parameters}
        synth = Synthesizer(columns, epsilon=epsilon, delta=delta, mechanism=mechanism, **settings)
        return synth.fit(table)

    def sample(synth: Synthesizer, records: int) -> Any:
        return synth.sample(records, kind="pandas")

    shown = f"jointly {mechanism}, epsilon {epsilon}" if name is None else name
    return sdgym.create_single_table_synthesizer(shown, train, sample)
