"""The main job, in the manner of scikit-learn."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from typing import Any

from . import _native
from ._counts import Counter
from ._progress import Listener, Progress
from ._release import Release
from ._schema import Schema, SchemaLike, Workload
from ._settings import as_json
from ._tables import Public, Streamed, incoming, kind_of, named, returned, units

DEFAULT_MECHANISM = "anchor-pgm"

_OWN = (
    "schema", "epsilon", "delta", "mechanism", "workload", "max_cells", "neighbors", "unit", "max_records", "seed", "ledger",
    "ledger_from", "error_share", "compress", "overwrite",
)  # fmt: skip

# Settings of the command line that are given elsewhere here, and where.
_ELSEWHERE = {
    "private": "give the table to fit",
    "public": "give the tables to fit, as public=",
    "checkpoint": "give the folder to fit, as checkpoint=",
    "out": "write what released() returns",
    "labels": "ask released or sample for labels=True",
    "complete": "give the table to fit, as complete=",
    "units_out": "released() has the columns of units in each row: released()[[unit, *unit_columns]].drop_duplicates()",
    "model": "save release_.model, once fit has returned",
    "measurements": "release_.measurements has them, once fit has returned",
    "report": "call report(), once fit has returned",
    "tables": "call replicates(), once fit has returned",
}


class Synthesizer:
    """Makes a synthetic table that is differentially private.

    Parameters are kept as they are given, and checked by :meth:`fit`.

    ``schema``: the columns: a :class:`Schema`, the path of one, or its dictionary. ``epsilon``, ``delta``: the budget; the mechanism spends no more. ``mechanism``: a name, as the
    command line has them (:func:`jointly_dp.mechanisms`). ``workload``: the marginals to preserve, see :class:`Workload`;
    ``max_cells``: larger ones are left out. ``neighbors``: ``"replace-one"`` or ``"add-remove-one"``. ``unit``: the name of a
    column that identifies units of privacy such as households; ``max_records``: the most rows of one that count; ``keep="hash"``: which ones, whatever
    the order of the rows. ``seed``:
    repeats the noise; the release is then **not private**. ``ledger``: a file that always says what was spent, even when the process
    is killed. ``ledger_from``: a ledger whose entries count against the budget.
    ``error_share``: the share of the budget that measures the errors of the released records, 0.05 by default; 0 for none. ``compress``: the
    share that finds rare values of attributes with many, such as 0.1, to merge them for the fit; the records have all of them.
    ``overwrite``: whether a ``ledger`` file that exists is replaced; otherwise it is refused before anything is spent.
    ``weight="PWGTP"``, ``totals=["age=age.csv"]`` and ``emit="weighted"`` make a release of the population that weighted rows
    stand for; the weight's bins are in the schema, or come from public tables that are files.
    ``unit_columns=["TEN"]`` and ``members=["AGEP", "SEX"], order="SPORDER"`` make households: rows of a unit that share columns, or whose
    members belong together. ``keep_columns``: see :meth:`fit`.
    Any other parameter is a setting of the job, as the flags of ``jointly synth``, or the mechanism's own, with underscores:
    ``draw="independent"``, ``rounds=10``. Settings that name files, such as ``out``, are refused: :meth:`released`,
    :meth:`report` and ``release_`` give what they would hold.

    After :meth:`fit`, ``release_`` is the :class:`Release`.

    >>> import jointly_dp as jd
    >>> people = {"sex": [0, 1, 1, 0] * 50, "age": [3, 1, 2, 2] * 50, "job": [0, 1, 2, 0] * 50}
    >>> synth = jd.Synthesizer(
    ...     jd.Schema({"sex": 2, "age": 4, "job": 3}), epsilon=2.0, delta=1e-6, mechanism="jam-pgm", workload="all-2-way", rounds=4
    ... )
    >>> table = synth.fit(people).sample(100)
    >>> table.num_rows, synth.release_.ledger.spent <= synth.release_.ledger.limit
    (100, True)
    """

    def __init__(
        self,
        schema: SchemaLike,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        mechanism: str = DEFAULT_MECHANISM,
        workload: Any = "all-3-way",
        max_cells: int | None = None,
        neighbors: str = "replace-one",
        unit: str | None = None,
        max_records: int | None = None,
        seed: int | None = None,
        ledger: str | os.PathLike[str] | None = None,
        ledger_from: str | os.PathLike[str] | None = None,
        error_share: float | None = None,
        compress: float | None = None,
        overwrite: bool = False,
        **parameters: Any,
    ) -> None:
        self.schema = schema
        self.epsilon = epsilon
        self.delta = delta
        self.mechanism = mechanism
        self.workload = workload
        self.max_cells = max_cells
        self.neighbors = neighbors
        self.unit = unit
        self.max_records = max_records
        self.seed = seed
        self.ledger = ledger
        self.ledger_from = ledger_from
        self.error_share = error_share
        self.compress = compress
        self.overwrite = overwrite
        self.parameters = parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters, as scikit-learn wants them.

        >>> import jointly_dp as jd
        >>> jd.Synthesizer(jd.Schema({"sex": 2}), epsilon=1.0, rounds=5).get_params()["rounds"]
        5
        """
        return {**{name: getattr(self, name) for name in _OWN}, **self.parameters}

    def set_params(self, **params: Any) -> Synthesizer:
        """Changes parameters.

        >>> import jointly_dp as jd
        >>> jd.Synthesizer(jd.Schema({"sex": 2})).set_params(epsilon=3.0, rounds=7).get_params()["epsilon"]
        3.0
        """
        for name, value in params.items():
            if name in _OWN:
                setattr(self, name, value)
            else:
                self.parameters[name] = value
        return self

    def plan(self, records: int) -> dict[str, Any]:
        """What the budget buys, from the schema alone: rounds, and the noise of their measurements. Free.

        ``records``: their number, or a guess.

        >>> import jointly_dp as jd
        >>> synth = jd.Synthesizer(jd.Schema({"sex": 2, "age": 4}), epsilon=1.0, delta=1e-6, mechanism="independent")
        >>> plan = synth.plan(1000)
        >>> plan["cliques"], round(plan["plan"]["steps"][0]["stddev"], 1)
        (1, 9.1)
        """
        if self.epsilon is None or self.delta is None:
            raise ValueError("a plan needs epsilon and delta")
        workload = Workload._of(self.workload)
        text = _native.plan(
            Schema._given(self.schema)._native,
            self.mechanism,
            as_json(self.parameters),
            self.epsilon,
            self.delta,
            workload._name(),
            self._max_cells(workload),
            self.neighbors,
            records,
        )
        plan: dict[str, Any] = json.loads(text)
        return plan

    def fit(
        self,
        table: Streamed | Counter,
        y: None = None,
        *,
        public: Public | None = None,
        complete: Streamed | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        label: str = "",
        progress: Progress = False,
    ) -> Synthesizer:
        """Runs the mechanism on the private table. Spends the budget.

        ``table``: the records, or what was counted of them: a :class:`Counter`, or a file of ``jointly count`` or ``merge``. Of
        a polars ``LazyFrame``, a ``Dataset``, ``Scanner`` or ``RecordBatchReader`` of pyarrow, and an iterator of frames only the codes are held,
        four bytes a value; a :class:`Counter` holds none.
        ``public``: a public table, a list of them, or a dictionary of them by name; they may lack attributes. ``complete``: released
        rows with some of the columns, such as households of an earlier run: :meth:`released` then has them, each with the columns that it lacks,
        drawn given its own. The parameter ``keep_columns=["home"]`` names columns of theirs that the schema does not know. ``y``: nothing, as scikit-learn's
        pipelines give it. ``checkpoint``: a folder for the state after each round;
        the same call resumes a run that was interrupted, and pays for no round twice. ``label``: tells private tables apart in
        a checkpoint, which needs one where the table is no file; it must not depend on the rows. ``progress``: ``True`` for a bar of tqdm, or
        lines where that is missing; or a function that gets every :class:`Event`.

        Ctrl-C ends the run within about a second. What was spent stays spent: a note on the exception says how much. If the
        rounds have spent their budget, the run is finished first, an ``error_share`` included: ``release_`` is set, and the
        note says so. A second Ctrl-C stops it.

        >>> import jointly_dp as jd
        >>> events = []
        >>> synth = jd.Synthesizer(jd.Schema({"sex": 2}), epsilon=1.0, delta=1e-6, mechanism="independent")
        >>> _ = synth.fit({"sex": [0, 1] * 50}, progress=events.append)
        >>> [type(event).__name__ for event in events][:2]
        ['Started', 'Measured']
        """
        if y is not None:
            raise TypeError("y is given, expected nothing: a synthesizer has no target, so give its column with the others")
        if self.seed is not None:
            warnings.warn(
                "seed repeats the noise, which can then be removed: the release is NOT PRIVATE", UserWarning, stacklevel=2
            )
        native = Schema._given(self.schema)._native
        given = named(public)
        weight = self.parameters.get("weight")
        if weight is not None:
            files = [os.fspath(rows) for _, rows in given if isinstance(rows, (str, os.PathLike))]
            native = native.with_weight(weight, files)
        unit = units(self.unit, self.max_records, self.parameters.get("keep", "first"))
        together = as_json({name: self.parameters.get(name) for name in ("unit_columns", "members", "order")})
        if isinstance(table, Counter):
            private = _native.PrivateRows.of_counter(table._native)
        else:
            private = _native.PrivateRows.read(
                native, incoming(table), _name(table, "private table"), self.neighbors, unit, together
            )
        groups = self.parameters.get("groups") or []
        lacking = native.select([name for name, _ in native.attributes() if name not in groups]) if groups else native
        tables = [
            (name, _native.Rows.read(lacking, incoming(rows), _name(rows, name), unit, together))
            for name, rows in given
        ]
        given_rows = None
        if complete is table:
            raise ValueError("complete is the private table, expected rows that may be published")
        if complete is not None:
            keep_columns = list(self.parameters.get("keep_columns") or [])
            name = _name(complete, "rows to complete")
            given_rows = _native.Given.read(native, incoming(complete), name, keep_columns, self.unit)
        if isinstance(table, (str, os.PathLike)):
            label = label or _identity(table)
        if checkpoint is not None and not label:
            raise ValueError("a table in memory needs a label= to go with checkpoint=: a resumed run knows its table by it")
        listener = Listener(progress)
        kept: list[Release] = []

        def keep(found: _native.Release) -> None:
            kept.append(Release._of(found))
            self.release_ = kept[0]
            self._kind = "arrow" if isinstance(table, Counter) else kind_of(table)

        try:
            _native.fit(native, self._settings(checkpoint), label, self.overwrite, private, tables, given_rows, keep, listener)
        except BaseException as error:
            for text in listener.spending:
                error.add_note(text)
            if kept:
                spent = kept[0].ledger.spent
                error.add_note(f"the run had spent rho = {spent} and has ended: its release is in the attribute release_")
            raise
        finally:
            listener.close()
        return self

    def sample(self, n: int | None = None, *, seed: int | None = None, labels: bool = False, kind: str | None = None) -> Any:
        """Synthetic records, free of cost. A frame of the kind that went in; else an object with ``__arrow_c_stream__``.

        Without ``n`` and ``seed``: those of :meth:`released`, which :meth:`fit` has drawn, always the same ones. Otherwise others are drawn. ``n``: how many;
        by default as many as the model stands for, of a weighted release as many as the sample has.
        ``seed``: repeats them. ``labels``: labels, not codes.
        ``kind``: ``"pandas"``, ``"polars"``, ``"pyarrow"``, ``"columns"`` (lists by name) or ``"arrow"``, whatever went in.

        The rows are those that ``jointly synth --seed`` writes with this seed, if it was the seed of the noise too.

        >>> import jointly_dp as jd
        >>> synth = jd.Synthesizer(jd.Schema({"sex": 2}), epsilon=1.0, delta=1e-6, mechanism="independent")
        >>> synth.fit({"sex": [0, 1] * 50}).sample(7).num_rows
        7
        """
        release = self._released()
        if n is None and seed is None:
            return self.released(labels=labels, kind=kind)
        native = release.model._native
        records = release._usual_records if n is None else n
        if records < 1:
            raise ValueError(f"n is {records}, expected at least 1")
        return returned(native.sample(records, seed, None, True, False, labels), kind or self._kind)

    def released(self, *, labels: bool = False, kind: str | None = None) -> Any:
        """The records that :meth:`fit` drew. Their errors were measured, unless ``error_share`` is 0: publish these.

        ``labels`` and ``kind`` as for :meth:`sample`, which draws others where it is asked for a number of them. With a ``seed``, they are the rows
        of ``jointly synth`` with this seed.

        >>> import jointly_dp as jd
        >>> synth = jd.Synthesizer(
        ...     jd.Schema({"sex": 2}), epsilon=1.0, delta=1e-6, mechanism="independent", workload="all-1-way", error_share=0.2
        ... )
        >>> synth.fit({"sex": [0, 1] * 50}).released().num_rows
        100
        >>> 0 <= synth.release_.errors["mean"]["lower"] <= synth.release_.errors["mean"]["upper"] <= 2
        True
        """
        return returned(self._released().records(labels), kind or self._kind)

    def replicates(self, number: int = 20, *, kind: str | None = None, progress: Progress = False) -> list[Any]:
        """Tables that the same mechanism makes of the released one, for :meth:`Model.combine`. They cost no privacy, and are no releases.

        ``number``: from 2 to 1000; each takes as long as :meth:`fit`. ``kind`` as for :meth:`sample`. They are those of
        ``jointly synth --tables``.

        >>> import jointly_dp as jd
        >>> synth = jd.Synthesizer(jd.Schema({"sex": 2, "work": 2}), epsilon=1.0, delta=1e-6, mechanism="mst", workload="all-2-way")
        >>> synth = synth.fit({"sex": [0, 1] * 500, "work": [0, 0, 1, 1] * 250})
        >>> found = synth.release_.model.combine(synth.released(), share=["work=1"], replicates=synth.replicates(5))
        >>> interval = found["statistics"][0]["numbers"][0]["combined"]
        >>> interval["lower"] < interval["estimate"] < interval["upper"]
        True
        """
        release = self._released()
        if release._native is None:
            raise RuntimeError("this release was pickled, and has no records any more, of which replicates are made")
        listener = Listener(progress)
        try:
            tables = release._native.replicates(number, listener)
        finally:
            listener.close()
        return [returned(table, kind or self._kind) for table in tables]

    def report(self, path: str | os.PathLike[str], rows: int | None = None, *, overwrite: bool = False) -> None:
        """Writes a page about the run, HTML without scripts. ``rows``: how many records were drawn."""
        self._released().report(path, rows, overwrite=overwrite)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "release_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))

    def _released(self) -> Release:
        if not hasattr(self, "release_"):
            raise RuntimeError("call fit first")
        return self.release_

    def _max_cells(self, workload: Workload) -> int | None:
        return self.max_cells if workload.max_cells is None else workload.max_cells

    def _settings(self, checkpoint: Any) -> str:
        """The job as a file would hold it, without its tables."""
        for name in self.parameters:
            if name in _ELSEWHERE:
                raise TypeError(f"{name} is no parameter of Synthesizer: {_ELSEWHERE[name]}")
        workload = Workload._of(self.workload)
        job = {name: getattr(self, name) for name in _OWN if name not in ("schema", "overwrite")}
        job.update(self.parameters, workload=workload._name(), max_cells=self._max_cells(workload), checkpoint=checkpoint)
        return as_json(job)

    def __repr__(self) -> str:
        shown = {name: value for name, value in self.get_params().items() if value is not None}
        return f"Synthesizer({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def _name(table: Streamed, otherwise: str) -> str:
    """What stands for a table in errors."""
    return os.fspath(table) if isinstance(table, (str, os.PathLike)) else otherwise


def _identity(path: str | os.PathLike[str]) -> str:
    """What tells tables apart in a checkpoint: paths of their files and modification times, never the contents."""
    places = [os.path.realpath(file) for file in _native.files_of(os.fspath(path))]
    return "\n".join(f"{place} {os.stat(place).st_mtime_ns}" for place in places)
