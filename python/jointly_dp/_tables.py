"""Tables that go in and come out: paths, Arrow, dictionaries of columns; frames of the kind that went in."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class ArrowStream(Protocol):
    """Anything that exports a table through the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


@runtime_checkable
class ArrowArray(Protocol):
    """Anything that exports a record batch through the Arrow PyCapsule interface."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...


Table = str | os.PathLike[str] | ArrowStream | ArrowArray | Mapping[str, Sequence[Any]]
"""A path (CSV, gzip CSV, Parquet), a frame (pandas, polars, pyarrow, DuckDB, ...), or columns by name."""


def readable(table: Table) -> Any:
    """The table as the native module takes it."""
    if isinstance(table, (str, os.PathLike)):
        return os.fspath(table)
    if isinstance(table, Mapping):
        return {str(name): _values(column) for name, column in table.items()}
    if hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__"):
        if _kind(table) == "pandas" and not _exports(table):
            return {str(name): _values(table[name]) for name in table.columns}  # type: ignore[attr-defined]
        return table
    columns = getattr(table, "columns", None)
    if _kind(table) == "pandas" and columns is not None:
        return {str(name): _values(table[name]) for name in columns}  # type: ignore[index]
    raise TypeError(
        f"a table is a {type(table).__name__}, expected a path, a frame that exports Arrow, or a dictionary of columns"
    )


def _exports(table: Any) -> bool:
    """Whether a pandas frame can export Arrow: that takes pyarrow."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True


def _values(column: Any) -> list[Any]:
    """The values of a column as Python objects, dates as text."""
    kind = getattr(getattr(column, "dtype", None), "kind", None)
    if kind == "M":  # numpy.datetime64
        column = column.astype("datetime64[D]") if not hasattr(column, "dt") else column.dt.date
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    return [_value(value) for value in values]


def _value(value: Any) -> Any:
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if hasattr(value, "isoformat"):
        return None if str(value) == "NaT" else value.isoformat()
    if hasattr(value, "item"):
        return value.item()
    return None if type(value).__name__ in ("NAType", "NaTType") else value


def _kind(table: object) -> str:
    """The library that a frame comes from."""
    return type(table).__module__.partition(".")[0]


def kind_of(table: Table) -> str:
    """Which kind of table to give back for one that went in."""
    kind = _kind(table)
    return kind if kind in ("pandas", "polars", "pyarrow") else "arrow"


def returned(table: Any, kind: str) -> Any:
    """An Arrow table as a frame of some kind; where that library is missing, as it is."""
    if kind == "polars":
        import polars

        return polars.DataFrame(table)
    if kind == "pyarrow":
        import pyarrow

        return pyarrow.table(table)
    if kind == "pandas":
        return _pandas(table)
    return table


def _pandas(table: Any) -> Any:
    import pandas

    try:
        import pyarrow
    except ImportError:
        return _pandas_alone(table, pandas)
    arrow = pyarrow.table(table)
    frame = arrow.to_pandas()
    for field in arrow.schema:
        # Integers with missing values stay integers.
        if field.nullable and pyarrow.types.is_integer(field.type):
            frame[field.name] = arrow[field.name].to_pandas(types_mapper={field.type: pandas.Int64Dtype()}.get)
    return frame


def _pandas_alone(table: Any, pandas: Any) -> Any:
    columns = {}
    for name in table.column_names:
        field = table.field(name) if hasattr(table, "field") else table.schema.field(name)
        values = [scalar.as_py() for scalar in table[name]]
        kind = "Int64" if field.nullable and "int" in str(field.type).lower() else None
        columns[name] = pandas.array(values, dtype=kind) if kind else values
    return pandas.DataFrame(columns)
