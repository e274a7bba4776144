"""Models: records, marginals and answers; and models of given measurements."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _native
from ._schema import Schema
from ._tables import Table, readable, returned


@dataclass(frozen=True)
class AnswerRow:
    """An answer about one group of records: the number of records and the answer, as measured if they were, otherwise from the
    model. Noise can make a measured number or share negative. ``answer``: ``None`` where the model expects no record.

    ``basis``: what it rests on, ``"measured"``, ``"public"`` or ``"model"``; ``None`` if that is not known. ``interval``: aims to
    hold the number of private records in 95 % of the cases, if there is one. ``answer_interval``: the same for the answer, if all
    that it is a function of was measured, and for shares of all records. ``model``: the number and the answer of the
    model, where the others were measured. ``stddev``, ``answer_stddev``: of the noise in the measured number and answer.
    ``grade``: ``"A"`` to ``"F"``, by the noise beside the number.
    """

    group: tuple[str, ...]
    values: tuple[str, ...]
    count: float
    answer: float | None
    basis: str | None = None
    interval: tuple[float, float] | None = None
    answer_interval: tuple[float, float] | None = None
    model: tuple[float, float | None] | None = None
    stddev: float | None = None
    answer_stddev: float | None = None
    grade: str | None = None


@dataclass(frozen=True)
class AnswerParts:
    """What an answer rests on whose attributes were not measured together.

    ``measured``: the attributes of each of the largest parts that were. ``public``: of each of the largest parts that the model has from a
    public table, with the table's name, where it is known. ``is_public``: whether one of these has all attributes, so that only the
    measurements correct it; otherwise it follows from the model how the parts go together.
    """

    measured: tuple[tuple[str, ...], ...]
    public: tuple[tuple[tuple[str, ...], str | None], ...]
    is_public: bool

    @classmethod
    def _of(cls, found: dict[str, Any] | None) -> AnswerParts | None:
        if found is None:
            return None
        public = tuple((tuple(names), table) for names, table in found["public"])
        return cls(tuple(map(tuple, found["measured"])), public, found["is_public"])


@dataclass(frozen=True)
class Answer:
    """The answers to one question, one for each group and combination of values.

    ``parts``: what they rest on, if not all attributes were measured together and it is known.
    """

    question: str
    is_date: bool
    rows: tuple[AnswerRow, ...]
    parts: AnswerParts | None = None


class Model:
    """A fitted distribution with its schema. Everything computed from it is free.

    >>> import jointly_dp as jd
    >>> model = jd.fit({"sex": 2, "age": 3}, [jd.Measurement(("sex", "age"), [5, 10, 15, 20, 25, 25], stddev=0.5)]).model
    >>> round(model.total), model.attributes
    (100, {'sex': 2, 'age': 3})
    """

    def __init__(self, native: _native.Model) -> None:
        self._native = native

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Reads a model file, such as ``jointly synth --model`` writes.

        >>> import jointly_dp as jd, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.json"
        >>> jd.fit({"sex": 2}, [jd.Measurement(["sex"], [60, 40])]).model.save(path)
        >>> jd.Model.load(path)
        Model(100 records, {'sex': 2}, NOT PRIVATE)
        """
        return cls(_native.Model.read(os.fspath(path)))

    @classmethod
    def from_json(cls, text: str) -> Model:
        """Reads the text of a model file."""
        return cls(_native.Model.from_json(text))

    def to_json(self) -> str:
        """The text of the model file."""
        return self._native.to_json()

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes the model file. ``overwrite``: whether a file that exists is replaced, and not refused."""
        self._native.write(os.fspath(path), overwrite)

    @property
    def schema(self) -> Schema:
        """The columns."""
        return Schema._of(self._native.schema)

    @property
    def attributes(self) -> dict[str, int]:
        """Names of the attributes with their numbers of values."""
        return self.schema.attributes

    @property
    def total(self) -> float:
        """The number of records that the model stands for."""
        return self._native.total

    @property
    def mechanism(self) -> str:
        """Name of the mechanism that made it."""
        return self._native.mechanism

    @property
    def is_private(self) -> bool:
        """False when the noise came from a fixed seed. Then nothing is private."""
        return self._native.is_private

    @property
    def conditional_on(self) -> list[str]:
        """Names of tables that were released without protection: the guarantee holds only among private tables that share them."""
        return self._native.conditional_on

    def sample(
        self,
        n: int | None = None,
        *,
        seed: int | None = None,
        given: str | None = None,
        refine: bool = True,
        labels: bool = False,
        kind: str = "arrow",
    ) -> Any:
        """Draws records, as ``jointly sample`` does: the same seed gives the same values.

        ``n``: how many; by default as many as the model stands for. ``given``: draws from the records that agree with this,
        such as ``"sex=1"``. ``refine``: whether the records are adjusted to the model's marginals; otherwise each is drawn
        independently. ``labels``: labels instead of codes. ``kind``: ``"pandas"``, ``"polars"``, ``"pyarrow"``,
        ``"columns"`` for lists by name, or ``"arrow"`` for an object with ``__arrow_c_stream__``, which all of these accept.

        >>> import jointly_dp as jd
        >>> model = jd.fit({"sex": 2}, [jd.Measurement(["sex"], [60, 40])]).model
        >>> model.sample(10, seed=1).num_rows
        10
        """
        records = self._native.records if n is None else n
        if records < 1:
            raise ValueError(f"n is {records}, expected at least 1")
        return returned(self._native.sample(records, seed, given, refine, True, labels), kind)

    def sample_to(
        self,
        path: str | os.PathLike[str],
        n: int | None = None,
        *,
        seed: int | None = None,
        given: str | None = None,
        refine: bool = True,
        overwrite: bool = False,
    ) -> None:
        """Draws records into a file: CSV, gzip if it ends in ``.gz``, Parquet if it ends in ``.parquet``.

        ``overwrite``: whether a file that exists is replaced, and not refused.

        The bytes are those of ``jointly sample`` with the same seed. Any number of records fits: they are written in blocks.

        >>> import jointly_dp as jd, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.csv"
        >>> jd.fit({"sex": 2}, [jd.Measurement(["sex"], [60, 40])]).model.sample_to(path, 3, seed=1)
        >>> len(path.read_text().splitlines())
        4
        """
        records = self._native.records if n is None else n
        self._native.sample_to(os.fspath(path), records, overwrite, seed, given, refine)

    def posterior(
        self,
        columns: Sequence[str],
        tables: int = 20,
        *,
        seed: int | None = None,
        kind: str = "arrow",
    ) -> list[Any]:
        """Draws tables of 2 to 12 columns that are each as likely to be the private one as what was measured allows, as ``jointly posterior``
        does: for analyses in other software, pooled by Rubin's rules. Each pair of the columns must have been measured. Costs no privacy.

        ``tables``: how many, 2 to 1000. ``kind``: as for :meth:`sample`.

        >>> import jointly_dp as jd
        >>> schema = jd.Schema({"sex": 2, "work": 2})
        >>> people = {"sex": [0, 1] * 1000, "work": [0, 0, 1, 1] * 500}
        >>> synth = jd.Synthesizer(schema, epsilon=1.0, delta=1e-6, mechanism="mst", workload="all-2-way").fit(people)
        >>> tables = synth.release_.model.posterior(["sex", "work"], 4, kind="pyarrow")
        >>> [table.num_rows for table in tables]
        [2000, 2000, 2000, 2000]
        """
        if not 2 <= tables <= 1000:
            raise ValueError(f"tables is {tables}, expected from 2 to 1000")
        return [returned(table, kind) for table in self._native.posterior(list(columns), tables, seed)]

    def marginal(self, attributes: Sequence[str]) -> Any:
        """The expected counts of all combinations of values, one axis for each attribute, in the order given.

        An array of numpy if it is installed, otherwise nested lists.

        >>> import jointly_dp as jd
        >>> model = jd.fit({"sex": 2, "age": 2}, [jd.Measurement(["age", "sex"], [[1, 2], [3, 4]])]).model
        >>> model.marginal(["sex"]).round().tolist()
        [4.0, 6.0]
        """
        shape, values = self._native.marginal(list(attributes))
        try:
            import numpy
        except ImportError:
            return _nested(shape, values)
        return numpy.array(values, dtype=numpy.float64).reshape(shape)

    def ask(
        self,
        *,
        marginal: Iterable[Sequence[str]] = (),
        share: Iterable[str] = (),
        having: Iterable[str] = (),
        mean: Iterable[str] = (),
        median: Iterable[str] = (),
        quantile: Mapping[str, float] | None = None,
        by: Sequence[str] = (),
        given: str | None = None,
        together: bool = False,
    ) -> list[Answer]:
        """Asks as ``jointly ask`` does: shares, means and quantiles, with the names of values and intervals.

        ``having``, of a model of households with their members: the share of those that have a member with this, and one with that,
        such as ``"AGEP=0..17; AGEP=65.."``; not within ``by``. ``by``: within each combination of values of these attributes. ``given``: of the records that agree with this.
        ``together``: wider intervals of measured numbers, which all hold at once in 95 % of releases.

        >>> import jointly_dp as jd
        >>> model = jd.fit({"sex": 2, "age": 2}, [jd.Measurement(["age", "sex"], [[1, 2], [3, 4]])]).model
        >>> [answer] = model.ask(share=["sex=1"], by=["age"])
        >>> [(row.group, round(row.answer, 2)) for row in answer.rows]
        [(('0',), 0.67), (('1',), 0.57)]
        """
        questions: list[dict[str, Any]] = [{"marginal": list(names)} for names in marginal]
        questions += [{"share": evidence} for evidence in share]
        questions += [{"mean": name} for name in mean]
        questions += [{"quantile": [name, 0.5]} for name in median]
        questions += [{"quantile": [name, at]} for name, at in (quantile or {}).items()]
        found = json.loads(self._native.ask(json.dumps(questions), list(by), given, together))
        conditions = list(having)
        if conditions:
            if by:
                raise ValueError("having is about all households, expected no by")
            found += json.loads(self._native.having(conditions, given))
        return [
            Answer(
                one["question"],
                one.get("is_date", False),
                tuple(
                    AnswerRow(
                        tuple(row["group"]),
                        tuple(row["values"]),
                        row["count"],
                        row["answer"],
                        row.get("basis"),
                        _ends(row.get("interval")),
                        _ends(row.get("answer_interval")),
                        (row["model"]["count"], row["model"]["answer"]) if "model" in row else None,
                        row.get("interval", {}).get("stddev"),
                        row.get("answer_interval", {}).get("stddev"),
                        row.get("grade"),
                    )
                    for row in one["rows"]
                ),
                AnswerParts._of(one.get("parts")),
            )
            for one in found
        ]

    def combine(
        self,
        synthetic: Table,
        *,
        share: Iterable[str] = (),
        mean: Iterable[str] = (),
        difference: Iterable[str] = (),
        linear: Iterable[str] = (),
        logistic: Iterable[str] = (),
        given: str | None = None,
        replicates: Iterable[Table] = (),
        population: bool = False,
        posterior: int | None = None,
        seed: int | None = None,
    ) -> dict[str, Any]:
        """Estimates, intervals and tests from a released table of this model, as ``jointly combine --json``. Costs no privacy.

        ``share``: conditions (``"AGEP=65.."``). ``mean``: numeric attributes. ``difference``: ``"AGEP: SEX=1 vs SEX=2"``. ``linear``, ``logistic``:
        regressions (``"PINCP ~ AGEP + SEX"``, ``"HICOV=2 ~ AGEP + SEX"``). ``given``: the records that all of them are about.
        ``replicates``: further tables that the release came with; the values on each are listed.
        ``population``: intervals for the population that the private table is a random sample of. ``posterior``: how many tables to draw from
        the posterior distribution of the private one (2 to 1000), for logistic regressions of which only pairs of columns were measured, and
        ``seed`` theirs.

        >>> import jointly_dp as jd
        >>> schema = jd.Schema({"sex": 2, "work": 2})
        >>> people = {"sex": [0, 1] * 1000, "work": [0, 0, 1, 1] * 500}
        >>> synth = jd.Synthesizer(schema, epsilon=1.0, delta=1e-6, workload="all-2-way").fit(people)
        >>> found = synth.release_.model.combine(synth.sample(), share=["work=1"])
        >>> interval = found["statistics"][0]["numbers"][0]["combined"]
        >>> interval["lower"] < interval["estimate"] < interval["upper"]
        True
        """
        texts = {
            "shares": list(share),
            "means": list(mean),
            "differences": list(difference),
            "linear": list(linear),
            "logistic": list(logistic),
            "given": given,
        }
        if posterior is not None and not 2 <= posterior <= 1000:
            raise ValueError(f"posterior is {posterior}, expected from 2 to 1000")
        tables = [readable(rows) for rows in replicates]
        found: dict[str, Any] = json.loads(
            self._native.combine(readable(synthetic), tables, json.dumps(texts), population, posterior, seed)
        )
        return found

    def __repr__(self) -> str:
        marked = "" if self.is_private else ", NOT PRIVATE"
        if self.conditional_on:
            marked += f", private only among tables that share {', '.join(self.conditional_on)}"
        return f"Model({self._native.records} records, {self.attributes!r}{marked})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Model.from_json, (self.to_json(),)


def _ends(interval: Mapping[str, float] | None) -> tuple[float, float] | None:
    return None if interval is None else (interval["lower"], interval["upper"])


def _nested(shape: Sequence[int], values: Sequence[float]) -> Any:
    """Row-major values as nested lists.

    >>> _nested([2, 2], [1.0, 2.0, 3.0, 4.0])
    [[1.0, 2.0], [3.0, 4.0]]
    """
    if len(shape) <= 1:
        return list(values)
    size = len(values) // shape[0]
    return [_nested(shape[1:], values[start : start + size]) for start in range(0, len(values), size)]


@dataclass(frozen=True)
class Measurement:
    """Counts of all combinations of values of some attributes, with noise.

    ``values``: one axis for each attribute in the order given, nested or row-major. ``stddev``: of the noise on each count;
    0 for none. ``source``: the public table that the counts come from, ``None`` for the private one. ``cell``: the only cell
    that was measured, row-major; ``None`` for all.

    >>> Measurement(("sex",), [60, 40], stddev=3.0).values
    (60.0, 40.0)
    """

    attributes: tuple[str, ...]
    values: tuple[float, ...]
    stddev: float = 0.0
    source: str | None = None
    cell: int | None = None

    def __init__(
        self,
        attributes: Sequence[str],
        values: Any,
        stddev: float = 0.0,
        source: str | None = None,
        cell: int | None = None,
    ) -> None:
        members = {
            "attributes": tuple(attributes),
            "values": tuple(_flat(values.tolist() if hasattr(values, "tolist") else values)),
            "stddev": float(stddev),
            "source": source,
            "cell": cell,
        }
        for name, value in members.items():
            object.__setattr__(self, name, value)


def _flat(values: Any) -> Iterable[float]:
    if isinstance(values, (int, float)):
        yield float(values)
    else:
        for value in values:
            yield from _flat(value)


@dataclass(frozen=True)
class Fit:
    """A model of given measurements, and how far it is from them."""

    model: Model
    loss: float
    oracle_calls: int
    total: float = field(default=0.0)


def fit(
    schema: Schema | Mapping[str, int],
    measurements: Iterable[Measurement],
    *,
    total: float | None = None,
    iterations: int = 1000,
    is_private: bool = False,
) -> Fit:
    """Fits a graphical model to measurements that were made elsewhere.

    It minimizes the squared distance to the measurements, each weighted by ``1 / stddev**2``, over all distributions.
    Post-processing: it costs no privacy. ``total``: number of records; by default what the measurements say on average.
    ``is_private``: what the model says of itself; only the caller knows where the measurements come from.

    >>> import jointly_dp as jd
    >>> noisy = [jd.Measurement(["a", "b"], [[30, 10], [20, 40]], stddev=2.0), jd.Measurement(["b"], [52, 49], stddev=1.0)]
    >>> fitted = jd.fit({"a": 2, "b": 2}, noisy)
    >>> [round(count) for count in fitted.model.marginal(["b"])]
    [51, 50]
    """
    columns = schema if isinstance(schema, Schema) else Schema(schema)
    given = []
    for measurement in measurements:
        if measurement.cell is not None:
            raise ValueError("a measurement of a single cell, expected whole marginals")
        given.append((list(measurement.attributes), list(measurement.values), measurement.stddev, None))
    native, report = _native.fit_measurements(columns._native, given, total, iterations, is_private)
    return Fit(Model(native), **json.loads(report))
