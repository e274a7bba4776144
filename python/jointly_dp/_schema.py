"""Schemas and workloads."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _native


class Schema:
    """The columns of a table, and how the values of each become codes.

    From a dictionary of names and numbers of values, for tables of integers that count from 0; or from the members of a
    ``schema.json``. :meth:`read` reads either from a file.

    >>> import jointly_dp as jd
    >>> schema = jd.Schema({"columns": [
    ...     {"name": "sex", "kind": "categorical", "codes": ["m", "f"]},
    ...     {"name": "age", "kind": "numeric", "edges": [0, 18, 65, 120], "integer": True},
    ... ]})
    >>> schema.attributes
    {'sex': 2, 'age': 3}
    >>> schema.values("age")
    ['0 to 17', '18 to 64', '65 to 119']
    """

    def __init__(self, members: Mapping[str, Any]) -> None:
        self._native = _native.Schema.from_json(json.dumps(dict(members)), "schema")

    @classmethod
    def _of(cls, native: _native.Schema) -> Schema:
        schema = cls.__new__(cls)
        schema._native = native
        return schema

    @classmethod
    def _given(cls, schema: Any) -> Schema:
        """A schema, or what makes one: a path, or a dictionary."""
        if isinstance(schema, Schema):
            return schema
        if isinstance(schema, (str, os.PathLike)):
            return cls.read(schema)
        if isinstance(schema, Mapping):
            return cls(schema)
        raise TypeError(f"a schema is a {type(schema).__name__}, expected a Schema, the path of one, or a dictionary")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Schema:
        """Reads a ``schema.json`` or a ``domain.json``.

        >>> import jointly_dp as jd, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "domain.json"
        >>> _ = path.write_text('{"sex": 2}')
        >>> jd.Schema.read(path).attributes
        {'sex': 2}
        """
        return cls._of(_native.Schema.read(os.fspath(path)))

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """Reads the text of such a file.

        >>> Schema.from_json('{"sex": 2}').attributes
        {'sex': 2}
        """
        return cls._of(_native.Schema.from_json(text, "schema"))

    @classmethod
    def draft(
        cls,
        public: Iterable[str | os.PathLike[str]] = (),
        document: str | None = None,
        *,
        decimal: str | None = None,
        dates: str | None = None,
    ) -> tuple[Schema, list[tuple[str | None, str]]]:
        """A draft from files of **public** tables, from a document, or from both; and remarks on its columns.

        ``document``: ``"KIND:FILE"``, where the kind is ``pums`` (a Census data dictionary), ``sdnist``, ``frictionless``,
        ``dpsynth`` or ``ddi``. The delimiter, decimal marks and forms of dates are found from the tables; ``decimal`` (``","``
        or ``"."``) and ``dates`` (such as ``"DD/MM/YYYY"``) decide where cells may be read in two ways.

        A draft must be read and corrected by someone who knows the table. Never draft from private rows: the values in a
        schema are published.

        >>> import jointly_dp as jd, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "public.csv"
        >>> _ = path.write_text("sex\\n" + "m\\nf\\n" * 50)
        >>> schema, remarks = jd.Schema.draft([path])
        >>> schema.attributes
        {'sex': 2}
        """
        files = [os.fspath(path) for path in public]
        native, remarks = _native.Schema.draft(files, document, decimal, dates)
        return cls._of(native), [(column, text) for column, text in json.loads(remarks)]

    @property
    def attributes(self) -> dict[str, int]:
        """Names of the attributes with their numbers of values, in order.

        >>> Schema({"sex": 2}).attributes
        {'sex': 2}
        """
        return dict(self._native.attributes())

    def values(self, attribute: str) -> list[str]:
        """The names of an attribute's values, in the order of their codes.

        >>> Schema({"sex": 2}).values("sex")
        ['0', '1']
        """
        return self._native.values(attribute)

    def with_unlikely(self, public: Iterable[str | os.PathLike[str]]) -> Schema:
        """The same schema with pairs of values that no row of some **public** files has, though chance would make at least 30.

        Records are drawn without these unless what was measured contradicts them. A draft has them already.

        >>> import json, jointly_dp as jd, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "public.csv"
        >>> _ = path.write_text("sex,births\\n" + "m,\\nf,0\\nf,1\\n" * 100)
        >>> schema = jd.Schema({"columns": [
        ...     {"name": "sex", "kind": "categorical", "codes": ["m", "f"]},
        ...     {"name": "births", "kind": "categorical", "codes": ["0", "1"], "na": True},
        ... ]}).with_unlikely([path])
        >>> json.loads(schema.to_json())["unlikely"][0]["values"]
        {'births': ['0', '1'], 'sex': ['m']}
        """
        return self._of(self._native.with_unlikely([os.fspath(path) for path in public]))

    def with_unlikely_members(
        self,
        public: Iterable[str | os.PathLike[str]],
        *,
        unit: str,
        max_records: int,
        members: Sequence[str],
        order: str,
    ) -> Schema:
        """The same schema with what the members of no unit of some **public** files have together, though chance would make at least 30.

        Units, such as households, are drawn without it unless what was measured contradicts it. `unit`, `max_records`, `members` and
        `order` are those of the release.

        >>> import json, jointly_dp as jd, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "public.csv"
        >>> homes = (f"{home},1,head\\n{home},2,child\\n{home},3,child\\n" for home in range(100))
        >>> _ = path.write_text("home,place,role\\n" + "".join(homes))
        >>> schema = jd.Schema({"columns": [{"name": "role", "kind": "categorical", "codes": ["head", "child"]}]})
        >>> schema = schema.with_unlikely_members([path], unit="home", max_records=4, members=["role"], order="place")
        >>> [rule["values"] for rule in json.loads(schema.to_json())["unlikely_members"]]
        [{'later': {'role': ['head']}}, {'first': {'role': ['child']}}]
        """
        files = [os.fspath(path) for path in public]
        return self._of(
            self._native.with_unlikely_members(files, unit, max_records, list(members), order)
        )

    def select(self, attributes: Sequence[str]) -> Schema:
        """The same schema with some attributes only.

        >>> Schema({"sex": 2, "age": 5}).select(["age"]).attributes
        {'age': 5}
        """
        return self._of(self._native.select(list(attributes)))

    def to_json(self) -> str:
        """The text of a ``schema.json``.

        >>> Schema.from_json(Schema({"sex": 2}).to_json()) == Schema({"sex": 2})
        True
        """
        return self._native.to_json()

    def to_sdv_metadata(self) -> dict[str, Any]:
        """The metadata of one table as SDV and SDMetrics take it.

        >>> Schema({"columns": [
        ...     {"name": "sex", "kind": "categorical", "codes": ["m", "f"]},
        ...     {"name": "age", "kind": "numeric", "edges": [0, 18, 120], "integer": True},
        ... ]}).to_sdv_metadata()["columns"]
        {'sex': {'sdtype': 'categorical'}, 'age': {'sdtype': 'numerical', 'computer_representation': 'Int64'}}
        """
        metadata: dict[str, Any] = json.loads(self._native.to_sdv_metadata())
        return metadata

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._native == other._native

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Schema({self.attributes!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Schema.from_json, (self.to_json(),)


SchemaLike = Schema | Mapping[str, Any] | str | os.PathLike[str]
"""A schema, its dictionary, or the path of a file with one."""


class Workload:
    """The marginals that the synthetic table should preserve.

    ``cliques``: a name such as ``"all-3-way"`` or ``"all-3-way:4096@0"`` (4,096 of them, drawn with seed 0), the path of a
    workload file, or lists of attribute names, each alone or with a weight. ``max_cells``: larger marginals are left out.

    >>> Workload([["sex", "age"], (["sex"], 2.0)], max_cells=10_000)
    Workload([['sex', 'age'], (['sex'], 2.0)], max_cells=10000)
    """

    def __init__(
        self,
        cliques: str | os.PathLike[str] | Iterable[Sequence[str] | tuple[Sequence[str], float]] = "all-3-way",
        max_cells: int | None = None,
    ) -> None:
        self.cliques = os.fspath(cliques) if isinstance(cliques, (str, os.PathLike)) else list(cliques)
        self.max_cells = max_cells

    @classmethod
    def _of(cls, given: Any) -> Workload:
        return given if isinstance(given, Workload) else cls(given)

    def _name(self) -> str:
        """The text that the native module takes."""
        if isinstance(self.cliques, str):
            return self.cliques
        entries: list[Any] = []
        for clique in self.cliques:
            if len(clique) == 2 and isinstance(clique[1], (int, float)):
                entries.append({"clique": list(clique[0]), "weight": float(clique[1])})
            else:
                entries.append(list(clique))
        return json.dumps({"cliques": entries})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Workload) and (self.cliques, self.max_cells) == (other.cliques, other.max_cells)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        limit = "" if self.max_cells is None else f", max_cells={self.max_cells}"
        return f"Workload({self.cliques!r}{limit})"
