"""Shares of records below any number."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from . import _native
from ._settings import allowance
from ._tables import Table, named, readable, units


class Bracket(NamedTuple):
    """An answer, and the numbers between which it lies."""

    value: float
    low: float
    high: float


class Thresholds:
    """A release of shares below all numbers, or in boxes. It holds no private rows, and answers cost nothing.

    >>> import jointly_dp as jd
    >>> people = {"age": [i % 90 for i in range(4000)]}
    >>> shares = jd.thresholds(people, ["age"], epsilon=1.0, delta=1e-6, grid=(0, 90, 10))
    >>> answer = shares.answer("age <= 40")
    >>> abs(answer.value - 41 / 90) < 0.1, shares.is_private, shares.columns
    (True, True, ('age',))
    """

    def __init__(self, text: str, place: str = "thresholds") -> None:
        """``text``: of a file that :meth:`write` or ``jointly thresholds`` wrote."""
        self._native = _native.Thresholds.from_json(text, place)
        release = json.loads(text)["release"]
        columns = release["columns"]
        self.columns: tuple[str, ...] = tuple(c if isinstance(c, str) else c["cuts"]["name"] for c in columns)
        self.confidence: float = release["confidence"]
        """Probability that the brackets of all questions hold at once."""
        self.is_private: bool = release["is_private"]
        """False when the noise came from a fixed seed."""

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Thresholds:
        """Reads a file."""
        return cls(pathlib.Path(path).read_text(encoding="utf-8"), os.fspath(path))

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes a file, which ``jointly thresholds ask`` reads too. ``overwrite``: whether it may exist."""
        with open(path, "w" if overwrite else "x", encoding="utf-8") as file:
            file.write(self.to_json())

    def to_json(self) -> str:
        """The text of the file."""
        return self._native.to_json()

    def answer(self, question: str, *, nearest: bool = False) -> Bracket:
        """The share of records that a question holds for, such as ``"18 < age <= 64 & income <= 41250"``.

        A release of half-planes answers ``"age + 2 * income <= 9000"``. ``nearest``: the value is that of the question
        about cuts that holds for the same cuts, as in the paper, and not by straight lines between cuts; half-planes are
        always answered so.
        """
        return Bracket(*self._native.answer(question, nearest))

    def quantile(self, column: str, p: float) -> Bracket:
        """The number below which a share ``p`` of a column's values lie. An end that nothing bounds is infinite."""
        return Bracket(*self._native.quantile(column, p))

    def __repr__(self) -> str:
        marked = "" if self.is_private else ", NOT PRIVATE"
        return f"Thresholds({', '.join(self.columns)}{marked})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Thresholds, (self.to_json(),)


Grid = tuple[float, float, int]


def _grids(grid: Grid | Mapping[str, Grid] | None) -> list[str]:
    if grid is None:
        return []
    if isinstance(grid, Mapping):
        return [f"{name}={low},{high},{count}" for name, (low, high, count) in grid.items()]
    low, high, count = grid
    return [f"{low},{high},{count}"]


def thresholds(
    table: Table,
    columns: Sequence[str],
    *,
    epsilon: float,
    delta: float,
    public: Table | Sequence[Table] = (),
    grid: Grid | Mapping[str, Grid] | None = None,
    cuts: int | None = None,
    questions: str | Sequence[str] = "intervals",
    release: str | None = None,
    rounds: int | None = None,
    confidence: float = 0.95,
    neighbors: str = "replace-one",
    unit: str | None = None,
    max_records: int | None = None,
    seed: int | None = None,
    ledger: str | os.PathLike[str] | None = None,
    ledger_from: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> Thresholds:
    """Shares of records at or below any number, with brackets, as ``jointly thresholds`` does. Spends the whole budget.

    ``public``: tables whose values become cuts, at most ``cuts`` of each column. ``grid``: (low, high, count), more cuts at even
    distances, for all columns or by name; chosen without looking at private values. ``questions``: a class, ``thresholds``,
    ``intervals``, ``stumps``, ``boxes``, ``conjunctions`` or ``half-planes``; or a list of questions, which decide the columns
    and cuts. Half-planes are of two columns, with lines between public points. Conjunctions are of columns of 0 and 1 unless
    there are cuts. ``release``: ``tree`` or ``pmw``, with ``rounds``; by default ``tree`` for the first three, otherwise ``pmw``.
    ``ledger``: a file for what was spent; ``ledger_from``: one whose cost counts against the budget.

    >>> import jointly_dp as jd
    >>> people = {"age": [i % 90 for i in range(4000)], "pay": [i % 7 for i in range(4000)]}
    >>> near = {"age": [10, 30, 50, 70], "pay": [1, 3, 5, 7]}
    >>> shares = jd.thresholds(people, ["age", "pay"], epsilon=1.0, delta=1e-6, public=near, questions="boxes")
    >>> shares.answer("age <= 30 & pay <= 3").low < 0.3
    True
    >>> halves = jd.thresholds(people, ["age", "pay"], epsilon=1.0, delta=1e-6, public=near, questions="half-planes")
    >>> halves.answer("age + 10 * pay <= 200").value > 0.5
    True
    >>> listed = jd.thresholds(people, [], epsilon=1.0, delta=1e-6, questions=["age <= 30 & pay <= 3", "pay > 5"])
    >>> listed.columns, listed.answer("pay > 5").high < 0.5
    (('age', 'pay'), True)
    """
    tables = [rows for _, rows in named(public)]
    is_list = not isinstance(questions, str)
    if is_list and (columns or tables or grid is not None or cuts is not None):
        raise ValueError("listed questions decide the columns and the cuts: give no columns, public tables, grid or cuts")
    if any(rows is table for rows in tables):
        raise ValueError("the private table is also a public one: its values would become cuts that nobody paid for")
    asked = {
        "columns": list(columns),
        "questions": list(questions) if is_list else [],
        "grids": _grids(grid),
        "cuts": cuts,
        "class": "list" if is_list else questions,
        "release": release,
        "rounds": rounds,
        "confidence": confidence,
        "allowance": allowance(epsilon, delta, neighbors, units(unit, max_records), seed, ledger, ledger_from, overwrite),
    }
    found = _native.thresholds(readable(table), [readable(rows) for rows in tables], json.dumps(asked))
    return Thresholds(found.to_json())
