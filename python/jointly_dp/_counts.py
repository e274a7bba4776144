"""Counting a table part by part: larger than memory, or on many machines."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _native
from ._schema import Schema, SchemaLike, Workload
from ._settings import as_json
from ._tables import batches


class CountPlan:
    """What a run needs to know of its private table, from public inputs alone: all parts are counted by the same plan.

    ``schema``, ``workload``, ``max_cells``, ``mechanism``, ``weight`` and the mechanism's parameters are those of the
    :class:`Synthesizer`. ``public``: files of public tables, from which the bins of a weight come if the schema has none. A plan can be
    pickled, and sent anywhere.

    >>> import jointly_dp as jd
    >>> schema = jd.Schema({"sex": 2, "age": 3})
    >>> plan = jd.CountPlan(schema, workload="all-2-way", mechanism="mst")
    >>> east, west = plan.counter(), plan.counter()
    >>> east.update({"sex": [0, 1], "age": [2, 2]})
    >>> west.update({"sex": [1], "age": [0]})
    >>> east.merge(west.state())
    >>> east.records
    3
    >>> synth = jd.Synthesizer(schema, epsilon=1.0, delta=1e-6, workload="all-2-way", mechanism="mst").fit(east)
    >>> synth.sample(5).num_rows
    5
    """

    def __init__(
        self,
        schema: SchemaLike,
        *,
        workload: Any = "all-3-way",
        max_cells: int | None = None,
        mechanism: str = "anchor-pgm",
        weight: str | None = None,
        public: Mapping[str, str | os.PathLike[str]] | Sequence[str | os.PathLike[str]] = (),
        **parameters: Any,
    ) -> None:
        if parameters.get("unit") is not None or parameters.get("max_records") is not None:
            raise TypeError(
                "unit is no parameter of CountPlan: which rows of a unit count depends on rows in all parts, and a counter sees them one by "
                "one; `jointly count --unit` and DataFusion count units"
            )
        marginals = Workload._of(workload)
        files = [f"{name}={os.fspath(path)}" for name, path in public.items()] if isinstance(public, Mapping) else public
        settings = {
            **parameters,
            "workload": marginals._name(),
            "max_cells": max_cells if marginals.max_cells is None else marginals.max_cells,
            "mechanism": mechanism,
            "weight": weight,
            "public": [os.fspath(path) for path in files],
        }
        self._native = _native.CountPlan.of_job(Schema._given(schema)._native, as_json(settings))

    @classmethod
    def from_json(cls, text: str) -> CountPlan:
        """A plan that :meth:`to_json` wrote.

        >>> import jointly_dp as jd
        >>> plan = jd.CountPlan(jd.Schema({"sex": 2}), workload="all-1-way")
        >>> jd.CountPlan.from_json(plan.to_json()).cells
        2
        """
        plan = cls.__new__(cls)
        plan._native = _native.CountPlan.from_json(text)
        return plan

    def to_json(self) -> str:
        """The plan as text: the schema and the marginals, nothing of any record."""
        return self._native.to_json()

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (CountPlan.from_json, (self.to_json(),))

    @property
    def cells(self) -> int:
        """Number of cells that a counter holds, 8 bytes each."""
        return self._native.cells

    @property
    def cliques(self) -> list[list[str]]:
        """The marginals, as lists of names.

        >>> import jointly_dp as jd
        >>> jd.CountPlan(jd.Schema({"sex": 2, "age": 3}), workload="all-2-way", mechanism="aim").cliques
        [['sex'], ['sex', 'age'], ['age']]
        """
        return self._native.cliques

    @property
    def attributes(self) -> list[str]:
        """Names of the columns that are counted, in the order of the schema.

        >>> import jointly_dp as jd
        >>> jd.CountPlan(jd.Schema({"sex": 2, "age": 3}), workload="all-1-way").attributes
        ['sex', 'age']
        """
        return self._native.attributes

    def counter(self) -> Counter:
        """A counter that has counted nothing."""
        return Counter(self)


class Counter:
    """What was counted of a table by a :class:`CountPlan`. Its memory does not grow with the rows. It is **as private as they are**.

    The same parts in any order give the same counts, on one machine or on many: send :meth:`state` to where they are merged.

    >>> import jointly_dp as jd
    >>> counter = jd.CountPlan(jd.Schema({"sex": 2}), workload="all-1-way").counter()
    >>> counter.update(iter([{"sex": [0, 1]}, {"sex": [1]}]))
    >>> counter.records
    3
    """

    def __init__(self, plan: CountPlan) -> None:
        self._native = plan._native.counter()

    def update(self, table: Any) -> None:
        """Counts the rows of a table: a frame, a dictionary of columns, or parts of one as they come.

        Whatever streams is never held as a whole: a polars ``LazyFrame``, a ``Dataset``, ``Scanner`` or ``RecordBatchReader`` of pyarrow, a
        relation of DuckDB, an iterator of frames. Rows that do not fit the schema are counted apart, and refused by :meth:`write` and
        by a run.
        """
        for part in batches(table):
            self._native.update(part)

    def merge(self, state: bytes) -> None:
        """Adds what another counter of the same plan has counted: its :meth:`state`."""
        self._native.merge(state)

    def state(self) -> bytes:
        """What was counted so far. Counts by another plan, and bytes that were changed, are refused by :meth:`merge`."""
        return self._native.state()

    @property
    def records(self) -> int:
        """Number of rows counted so far."""
        return self._native.records

    def write(
        self, path: str | os.PathLike[str], *, name: str = "table", as_public: bool = False, overwrite: bool = False
    ) -> None:
        """Writes the counts as a file that its owner alone may read, for ``jointly synth --private`` and :meth:`Synthesizer.fit`.

        ``name``: of the table, in errors. ``as_public``: the table is public: anybody may read the file, which stands for it in ``public=`` where
        marginals are enough, as for ``jam-pgm``; no run takes it for a private one.

        >>> import jointly_dp as jd, pathlib, tempfile
        >>> schema = jd.Schema({"sex": 2})
        >>> counter = jd.CountPlan(schema, workload="all-1-way", mechanism="independent").counter()
        >>> counter.update({"sex": [0, 1] * 50})
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.counts"
        >>> counter.write(path)
        >>> synth = jd.Synthesizer(schema, epsilon=1.0, delta=1e-6, workload="all-1-way", mechanism="independent")
        >>> synth.fit(path).sample(7).num_rows
        7
        """
        self._native.write(os.fspath(path), name, overwrite, as_public)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a counter is not pickled: it holds exact counts; send its state()")
