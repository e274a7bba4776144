"""Tables that go in and come out: paths, Arrow, dictionaries of columns; frames of the kind that went in."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from . import _native


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

Streamed = Table | Iterator[Table] | Any
"""A table, or what gives its parts one after another: a polars ``LazyFrame``, a ``Dataset``, ``Scanner`` or ``RecordBatchReader`` of
pyarrow, an iterator of frames."""


Public = Table | Sequence[Table] | Mapping[str, Table]
"""A public table, several, or several by name."""


def readable(table: Table) -> Any:
    """The table as the native module takes it."""
    if isinstance(table, (str, os.PathLike)):
        return os.fspath(table)
    if isinstance(table, Mapping):
        return {str(name): _values(column) for name, column in table.items()}
    frame: Any = table
    exports = hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__arrow_c_array__")
    if _kind(frame) == "pandas" and not (exports and _has_pyarrow()):
        return {str(name): _values(frame[name]) for name in frame.columns}
    if exports:
        return frame
    raise TypeError(
        f"a table is a {type(table).__name__}, expected a path, a frame that exports Arrow, or a dictionary of columns"
    )


def incoming(table: Any) -> Any:
    """The table as the native module takes it to code it once: what streams is passed on as it comes, and never held."""
    if _kind(table) == "polars" and hasattr(table, "collect_batches"):
        return table.collect_batches()
    if _kind(table) == "pyarrow" and hasattr(table, "scanner"):
        return table.scanner().to_reader()
    if _kind(table) == "pyarrow" and hasattr(table, "to_reader") and not hasattr(table, "__arrow_c_stream__"):
        return table.to_reader()
    if isinstance(table, Iterator) and not hasattr(table, "__arrow_c_stream__"):
        return (readable(part) for part in table)
    return readable(table)


def named(public: Public | None) -> list[tuple[str, Table]]:
    """Public tables with their names, however they were given."""
    given: Any = public
    if given is None:
        return []
    if isinstance(given, Mapping) and all(_is_table(value) for value in given.values()):
        return [(str(name), table) for name, table in given.items()]
    if isinstance(given, (list, tuple)):
        return [(_stem(table) or f"public-{number}", table) for number, table in enumerate(given, 1)]
    return [(_stem(given) or "public", given)]


def _is_table(value: object) -> bool:
    """Whether this is a table, and not a column."""
    if isinstance(value, (str, os.PathLike, Mapping, Iterator)):
        return True
    return any(hasattr(value, name) for name in ("columns", "column_names", "schema", "dataset_schema", "collect_schema"))


def _stem(table: object) -> str:
    """A file's name without its folder and form; nothing for a table in memory."""
    if not isinstance(table, (str, os.PathLike)):
        return ""
    name = os.path.basename(os.fspath(table)).removesuffix(".gz")
    for end in (".parquet", ".arrow", ".feather", ".csv"):
        name = name.removesuffix(end)
    return name


def batches(table: object) -> Iterator[Any]:
    """A table as parts that the native module takes one after another, so that one larger than memory is never held."""
    parts = incoming(table)
    if isinstance(parts, Iterator) and not hasattr(parts, "__arrow_c_stream__"):
        yield from parts
    else:
        yield parts


def _has_pyarrow() -> bool:
    """Whether pyarrow is installed, without which a frame of pandas exports nothing."""
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


def kind_of(table: Any) -> str:
    """Which kind of table to give back for one that went in."""
    kind = _kind(table)
    return kind if kind in ("pandas", "polars", "pyarrow") else "arrow"


def returned(table: Any, kind: str) -> Any:
    """An Arrow table of the native module as a frame of some kind."""
    if kind == "polars":
        import polars

        return polars.DataFrame(table)
    if kind == "pyarrow":
        import pyarrow

        return pyarrow.table(table)
    if kind == "pandas":
        return _pandas(table)
    if kind == "columns":
        return {name: values for name, _, values in _native.columns(table)}
    if kind == "arrow":
        return table
    raise ValueError(f"kind is {kind!r}, expected 'pandas', 'polars', 'pyarrow', 'columns' or 'arrow'")


def _pandas(table: Any) -> Any:
    import pandas

    if _has_pyarrow():
        return _pandas_by_arrow(table, pandas)
    columns = {}
    for name, may_be_missing, values in _native.columns(table):
        # Integers with missing values stay integers.
        columns[name] = pandas.array(values, dtype="Int64") if may_be_missing else values
    return pandas.DataFrame(columns)


def _pandas_by_arrow(table: Any, pandas: Any) -> Any:
    """The same, in a fraction of the time."""
    import pyarrow

    arrow = pyarrow.table(table)
    frame = arrow.to_pandas()
    for field in arrow.schema:
        if field.nullable and pyarrow.types.is_integer(field.type):
            kinds = {field.type: pandas.Int64Dtype()}
            frame[field.name] = arrow[field.name].to_pandas(types_mapper=kinds.get)
    return frame


def units(column: str | None, most: int | None, keep: str = "first") -> tuple[str, int, str] | None:
    """The column of the units of privacy, the most rows of one that count, and which these are."""
    if column is None and most is None:
        return None
    if column is None or most is None:
        raise ValueError("unit= and max_records= go together: the column of the units, and the most rows of one")
    return str(column), int(most), keep
