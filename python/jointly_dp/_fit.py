"""Models of tables of counts: published, rounded, suppressed and noisy ones."""

from __future__ import annotations

import csv
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import _native
from ._model import Model
from ._schema import Schema
from ._settings import as_json
from ._tables import Table, readable, returned


class FittedTables:
    """A model that was fitted to tables of counts (:func:`fit_tables`)."""

    def __init__(self, native: _native.FittedTables) -> None:
        self._native = native

    @property
    def model(self) -> Model:
        """The model: to ask, to save, to draw records from in which exact tables hold in expectation."""
        return Model(self._native.model)

    @property
    def summary(self) -> dict[str, Any]:
        """How near the fit comes to each table, with a certificate, as ``jointly fit --json`` prints it."""
        found: dict[str, Any] = json.loads(self._native.summary())
        return found

    @property
    def guarantee(self) -> str:
        """What is promised about the people behind the tables, in a sentence."""
        return str(self.summary["guarantee"])

    @property
    def is_private(self) -> bool:
        """False where a table was cleared by hand, or the noise of a measurement came from a fixed seed."""
        return bool(self.summary["private"])

    def tables(self) -> list[dict[str, Any]]:
        """All tables, a dictionary for each cell: its file, attributes and values, what is known of its count, and the fitted
        count."""
        rows = csv.DictReader(self._native.tidy().splitlines())
        numbers = {"number": int, "least": float, "most": float, "stddev": float, "fitted": float}
        return [{name: numbers.get(name, str)(value) for name, value in row.items()} for row in rows]

    def report(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes a page of HTML that shows how near the fit comes to each table. A file that is there stays, without
        ``overwrite``."""
        self._native.report(os.fspath(path), overwrite)

    def sample(
        self,
        n: int | None = None,
        *,
        seed: int | None = None,
        refine: bool = True,
        labels: bool = False,
        kind: str = "arrow",
    ) -> Any:
        """Draws records in which exact tables hold: of as many as the tables are about, in whole numbers; of fewer, rounded.

        The arguments are those of :meth:`Model.sample`.
        """
        records = self._native.model.records if n is None else n
        if records < 1:
            raise ValueError(f"n is {records}, expected at least 1")
        table, _ = self._native.sample(records, seed, refine, labels)
        return returned(table, kind)

    def weighted(self, *, seed: int | None = None, labels: bool = False, kind: str = "arrow") -> Any:
        """The records of ``public``, each once, with a column ``weight``: under these weights the tables hold."""
        return returned(self._native.weighted(seed, labels), kind)


def fit_tables(
    schema: Schema | Mapping[str, int],
    *,
    totals: Mapping[str, Table] | None = None,
    rounded: Mapping[str, tuple[int | str, Table]] | None = None,
    suppressed: Mapping[str, tuple[int, Table]] | None = None,
    measurements: Mapping[str, Table] | None = None,
    ledger: str | os.PathLike[str] | None = None,
    cleared: Iterable[str] = (),
    total: float | None = None,
    public: Table | None = None,
    size_limit_mib: float | None = None,
) -> FittedTables:
    """Fits a model to tables of counts, as ``jointly fit`` does. No private row is read.

    Each table is a frame or a file, by its name: columns of the schema, and one of counts. ``totals`` hold exactly.
    ``rounded``: pairs of the base, or ``"random-3"`` for random rounding, and the table. ``suppressed``: pairs of the number below
    which counts are missing, and the table. ``measurements``: noisy tables, as ``Release.measurements`` or ``jointly synth
    --measurements`` writes them; those of a private table need the ``ledger`` that paid for them. ``cleared``: names of tables
    that come from private records and were cleared by hand: the fit is then not differentially private. ``total``: number of
    records, where no exact table says it. ``public``: records to reweight instead of a graphical model. ``size_limit_mib``: largest
    graphical model, in MiB.

    >>> import jointly_dp as jd
    >>> ages = {"age": [0, 1, 2], "people": [20, 50, 30]}
    >>> work = {"age": [0, 0, 1, 1, 2, 2], "work": [0, 1, 0, 1, 0, 1], "people": [20, 0, 10, 40, 20, 10]}
    >>> fitted = jd.fit_tables({"age": 3, "work": 2}, totals={"ages": ages}, rounded={"work": (10, work)})
    >>> table = fitted.sample(seed=1, kind="columns")
    >>> [table["age"].count(age) for age in (0, 1, 2)], fitted.is_private
    ([20, 50, 30], True)
    """
    columns = schema if isinstance(schema, Schema) else Schema(schema)
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)

        def file(name: str, table: Table) -> str:
            path = _file(columns, at, name, table)
            return f"{name}={path}"

        settings = {
            "totals": [file(name, table) for name, table in (totals or {}).items()],
            "rounded": [f"{base}:{file(name, table)}" for name, (base, table) in (rounded or {}).items()],
            "suppressed": [f"{below}:{file(name, table)}" for name, (below, table) in (suppressed or {}).items()],
            "measurements": [file(name, table) for name, table in (measurements or {}).items()],
            "ledger": None if ledger is None else os.fspath(ledger),
            "cleared": list(cleared),
            "total": total,
            "public": None if public is None else _file(columns, at, "public", public),
            "size_limit_mib": size_limit_mib,
        }
        return FittedTables(_native.fit_tables(columns._native, as_json(settings)))


def _file(schema: Schema, folder: Path, name: str, table: Table) -> str:
    """The path of a table; of one in memory, that of a copy."""
    given = readable(table)
    if isinstance(given, str):
        return given
    path = str(folder / f"{name}.csv")
    _native.write_csv(schema._native, given, path)
    return path
