"""What a run leaves behind, all of which may be published if ``is_private`` is true."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

from . import _native
from ._model import Measurement, Model


class Ledger:
    """Every access to the private rows, and what it cost. The form is that of the command line's ``--ledger`` file.

    >>> import jointly_dp as jd
    >>> synth = jd.Synthesizer(jd.Schema({"sex": 2}), epsilon=1.0, delta=1e-6, mechanism="independent")
    >>> ledger = synth.fit({"sex": [0, 1] * 50}).release_.ledger
    >>> ledger.spent == ledger.limit, [entry["purpose"] for entry in ledger.entries]
    (True, ['marginal', 'errors of the released table'])
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.spent, self.limit, self.is_private = _native.ledger(text)

    spent: float
    """ρ of all entries, of zero-concentrated differential privacy."""
    limit: float
    """ρ of the budget."""
    is_private: bool
    """False when the noise came from a fixed seed."""

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Ledger:
        """Reads a ledger file."""
        return cls(pathlib.Path(path).read_text(encoding="utf-8"))

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The accesses, in order."""
        entries: list[dict[str, Any]] = json.loads(self._text)["ledger"]["entries"]
        return entries

    def to_json(self) -> str:
        """The text of the ledger file."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and json.loads(self._text) == json.loads(other._text)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        marked = "" if self.is_private else ", NOT PRIVATE"
        return f"Ledger(rho {self.spent} of {self.limit} spent{marked})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Ledger, (self._text,)


class Release:
    """The result of a run: the model, the ledger and the measurements. It holds no private rows.

    >>> import jointly_dp as jd
    >>> synth = jd.Synthesizer(jd.Schema({"sex": 2}), epsilon=1.0, delta=1e-6, mechanism="independent")
    >>> release = synth.fit({"sex": [0, 1] * 50}).release_
    >>> release.is_private, [measurement.attributes for measurement in release.measurements]
    (True, [('sex',)])
    """

    def __init__(self, model: Model, ledger: Ledger, measurements: list[Measurement]) -> None:
        self.model = model
        """The fitted distribution."""
        self.ledger = ledger
        """What was spent."""
        self.measurements = measurements
        """What was measured, with its noise, in order."""
        self._native: _native.Release | None = None
        self._usual_records: int = model._native.records
        """How many records are drawn where nobody says how many."""

    @classmethod
    def _of(cls, native: _native.Release) -> Release:
        measured = [Measurement(**one) for one in json.loads(native.measurements())]
        release = cls(Model(native.model), Ledger(native.ledger()), measured)
        release._native = native
        release._usual_records = native.usual_records
        return release

    @property
    def is_private(self) -> bool:
        """False when the noise came from a fixed seed. Then nothing in it is private."""
        return self.model.is_private

    @property
    def errors(self) -> dict[str, Any] | None:
        """The measured errors of the released records, with 95 % intervals; ``None`` if ``error_share`` was 0."""
        errors: dict[str, Any] | None = json.loads(self.ledger.to_json()).get("errors")
        return errors

    def records(self, labels: bool = False) -> Any:
        """The released records, with ``__arrow_c_stream__``. A release that was pickled has none."""
        if self._native is None:
            raise RuntimeError("this release was pickled, and has no records any more")
        return self._native.released(labels)

    def report(self, path: str | os.PathLike[str], rows: int | None = None, *, overwrite: bool = False) -> None:
        """Writes a page about the run, HTML without scripts. ``rows``: how many records were drawn from it.

        ``overwrite``: whether a file that exists is replaced, and not refused.

        A release that was pickled does not have what this takes; make the page first.
        """
        if self._native is None:
            raise RuntimeError("this release was pickled, and has no report any more")
        self._native.report(os.fspath(path), self._usual_records if rows is None else rows, overwrite)

    def __repr__(self) -> str:
        return f"Release({self.model!r}, {self.ledger!r}, {len(self.measurements)} measurements)"

    def __reduce__(self) -> tuple[Any, ...]:
        return Release._unpickled, (self.model, self.ledger, self.measurements, self._usual_records)

    @classmethod
    def _unpickled(cls, model: Model, ledger: Ledger, measurements: list[Measurement], records: int) -> Release:
        release = cls(model, ledger, measurements)
        release._usual_records = records
        return release
