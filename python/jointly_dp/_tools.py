"""Functions beside the main job."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from . import _native
from ._counts import Counter
from ._schema import Schema, SchemaLike, Workload
from ._settings import allowance, as_json
from ._release import Ledger
from ._tables import Public, Streamed, Table, incoming, named, readable, units


def rho(epsilon: float, delta: float | None = None) -> float:
    """ρ of zero-concentrated differential privacy that a budget of (ε, δ) allows; without δ, of pure ε.

    >>> import jointly_dp as jd
    >>> round(jd.rho(1.0, 1e-9), 6)
    0.014973
    """
    return _native.budget(epsilon, delta)


def settings() -> dict[str, dict[str, Any]]:
    """The settings of a job, which are keyword arguments of :class:`Synthesizer`: what each means, and its default.

    >>> import jointly_dp as jd
    >>> jd.settings()["draw"]["default"]
    'refined'
    """
    return {one.pop("name"): one for one in json.loads(_native.settings())}


def mechanisms() -> dict[str, dict[str, Any]]:
    """The mechanisms by name: whether they spend, whether they resume from checkpoints, parameters with their defaults.

    >>> import jointly_dp as jd
    >>> jd.mechanisms()["jam-pgm"]["parameters"]["measure-share"]
    0.8
    """
    return {one.pop("name"): one for one in json.loads(_native.mechanisms())}


def set_threads(threads: int) -> None:
    """Sets the number of threads of all fits. Once only, and before the first fit; or set ``RAYON_NUM_THREADS``."""
    _native.set_threads(threads)


def evaluate(
    real: Table,
    synthetic: Table,
    schema: SchemaLike,
    *,
    workload: Any = "all-3-way",
    max_cells: int | None = None,
    report: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    **settings: Any,
) -> dict[str, Any]:
    """Compares a synthetic table with the real one, as ``jointly evaluate --json`` does. **Not private**: it warns.

    ``settings``: the flags of ``jointly evaluate``, such as ``measures=["propensity"]``, ``groups=["PUMA"]``, ``by=["SEX"]``,
    ``regress=["INCOME ~ AGE + SEX"]`` or ``unit="home"``; :func:`evaluation_settings` lists them. ``rules``: a file of edit
    rules, or its content as a dictionary. ``report``: a file for an HTML page of both tables, which is private too;
    ``overwrite``: whether it may exist.

    >>> import jointly_dp as jd, warnings
    >>> table = {"sex": [0, 1, 1, 0], "age": [3, 1, 2, 2]}
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     found = jd.evaluate(table, table, jd.Schema({"sex": 2, "age": 4}), workload="all-2-way")
    >>> found["error"]["mean_l1"], found["private"]
    (0.0, False)
    """
    marginals = Workload._of(workload)
    limit = max_cells if marginals.max_cells is None else marginals.max_cells
    known = evaluation_settings()
    for name in settings:
        if name not in known:
            raise TypeError(f"{name} is no setting of an evaluation, expected one of {', '.join(known)}")
    asked = as_json({**settings, "workload": marginals._name(), "max_cells": limit})
    warnings.warn(
        "these numbers are computed from the real records: they are NOT PRIVATE, do not publish them", stacklevel=2
    )
    page = None if report is None else os.fspath(report)
    found: dict[str, Any] = json.loads(
        _native.evaluate(Schema._given(schema)._native, readable(real), readable(synthetic), asked, page, overwrite)
    )
    return found


def evaluation_settings() -> dict[str, dict[str, Any]]:
    """The settings of :func:`evaluate`: what each means, and its default.

    >>> import jointly_dp as jd
    >>> jd.evaluation_settings()["k"]["default"]
    3
    """
    return {one.pop("name"): one for one in json.loads(_native.evaluation_settings())}


def trust(
    table: Streamed | Counter,
    public: Public,
    schema: SchemaLike,
    *,
    epsilon: float,
    delta: float,
    workload: Any = "all-2-way",
    max_cells: int | None = None,
    mixture_share: float | None = None,
    cells: str | None = None,
    rows: int | None = None,
    confidence: float | None = None,
    neighbors: str = "replace-one",
    unit: str | None = None,
    max_records: int | None = None,
    keep: str = "first",
    seed: int | None = None,
    ledger: str | os.PathLike[str] | None = None,
    ledger_from: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Which public table to trust, and for which marginals, as ``jointly trust --json`` does. Spends the whole budget.

    ``mixture_share``, ``cells``, ``rows``, ``confidence``: as the flags of ``jointly trust``. ``ledger``, ``ledger_from`` and ``overwrite``: as for
    :func:`answer`.

    >>> import jointly_dp as jd
    >>> near, far = {"a": [0, 1] * 200, "b": [0, 1] * 200}, {"a": [0, 1] * 200, "b": [1, 0] * 200}
    >>> found = jd.trust(near, {"near": near, "far": far}, jd.Schema({"a": 2, "b": 2}), epsilon=5.0, delta=1e-6, seed=1)
    >>> found["tables"][found["by_marginals"][0]]["name"], found["is_private"]
    ('near', False)
    """
    native = Schema._given(schema)._native
    of_units = units(unit, max_records, keep)
    tables = [(name, _native.Rows.read(native, incoming(rows), name)) for name, rows in named(public)]
    asked = _asked(workload, max_cells) | {
        "allowance": allowance(epsilon, delta, neighbors, of_units, seed, ledger, ledger_from, overwrite),
        "mixture_share": mixture_share,
        "cells": cells,
        "rows": rows,
        "confidence": confidence,
    }
    private = _private(native, table, neighbors, of_units)
    found: dict[str, Any] = json.loads(_native.trust(native, private, tables, json.dumps(asked)))
    return found


def answer(
    table: Streamed | Counter,
    schema: SchemaLike,
    *,
    epsilon: float,
    delta: float | None = None,
    workload: Any = "all-2-way",
    max_cells: int | None = None,
    mechanism: str = "residual-planner",
    neighbors: str = "replace-one",
    unit: str | None = None,
    max_records: int | None = None,
    keep: str = "first",
    seed: int | None = None,
    ledger: str | os.PathLike[str] | None = None,
    ledger_from: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    **parameters: Any,
) -> dict[str, Any]:
    """The marginals of a workload with noise, as ``jointly answer --out answers.json`` writes them. Spends the whole budget.

    Each member of ``marginals`` has ``attributes``, ``shape``, ``counts`` (row-major, unbiased, below 0 for some cells) and ``stddev``, that of
    the noise in each cell. The other members are the ledger's. ``table`` may be a :class:`Counter` of a plan for this mechanism.
    ``ledger``: a file that says what was spent, on disk before anything is returned, so that a process that is killed after that does not lose it;
    ``overwrite``: whether it may exist. ``ledger_from``: a ledger whose cost counts against the budget.

    >>> import jointly_dp as jd
    >>> found = jd.answer({"a": [0, 1, 1] * 200}, jd.Schema({"a": 2}), epsilon=5.0, delta=1e-6, workload="all-1-way", seed=1)
    >>> [one] = found["marginals"]
    >>> one["attributes"], [round(count / 100) for count in one["counts"]], found["private"]
    (['a'], [2, 4], False)
    """
    native = Schema._given(schema)._native
    of_units = units(unit, max_records, keep)
    asked = _asked(workload, max_cells) | {
        "allowance": allowance(epsilon, delta, neighbors, of_units, seed, ledger, ledger_from, overwrite),
        "mechanism": mechanism,
        "parameters": json.loads(as_json(parameters)),
    }
    found: dict[str, Any] = json.loads(
        _native.answer(native, _private(native, table, neighbors, of_units), json.dumps(asked))
    )
    return found


def mixture_error(
    table: Streamed | Counter,
    public: Table,
    schema: SchemaLike,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    workload: Any = "all-2-way",
    max_cells: int | None = None,
    cells: str = "all",
    tolerance: float | None = None,
    neighbors: str = "replace-one",
    seed: int | None = None,
    ledger: str | os.PathLike[str] | None = None,
    ledger_from: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> dict[str, Any]:
    """How near the rows of a public table can come to the private one by weights: the largest error of a cell of the workload, at best
    (Liu et al. 2021, section 5), as ``jointly mixture-error --json``.

    With ``epsilon``, ``value`` has noise, and lies within ``half_width`` of the true one with probability ``confidence``; with ``epsilon`` alone, the
    noise is Laplace's. Without it, ``value`` is exact and **not private**: it warns. ``ledger``, ``ledger_from`` and ``overwrite``: as for
    :func:`answer`.

    >>> import jointly_dp as jd
    >>> near, far = {"a": [0, 1] * 200}, {"a": [0] * 400}
    >>> schema = jd.Schema({"a": 2})
    >>> [round(jd.mixture_error(near, rows, schema, epsilon=10.0, delta=1e-6, workload="all-1-way", seed=1)["value"], 1)
    ...  for rows in (near, far)]
    [0.0, 0.5]
    """
    native = Schema._given(schema)._native
    asked = _asked(workload, max_cells) | {
        "allowance": allowance(epsilon, delta, neighbors, None, seed, ledger, ledger_from, overwrite),
        "cells": cells,
        "tolerance": tolerance,
    }
    rows = _native.Rows.read(native, incoming(public), "public table")
    if epsilon is None:
        if isinstance(table, Counter):
            raise TypeError("table is a counter, expected rows: only with epsilon= are counts enough")
        warnings.warn(
            "these numbers are computed from the real records: they are NOT PRIVATE, do not publish them", stacklevel=2
        )
        real = _native.Rows.read(native, incoming(table), "real table")
        found: dict[str, Any] = json.loads(_native.mixture_error(native, rows, json.dumps(asked), real=real))
        return found
    private = _private(native, table, neighbors, None)
    found = json.loads(_native.mixture_error(native, rows, json.dumps(asked), private=private))
    return found


class PaidBins(NamedTuple):
    """A schema whose bins and categories follow the private rows, and what it cost."""

    schema: Schema
    """With bins in place of ranges, and categories in place of ``other`` alone."""
    categories: dict[str, dict[str, int]]
    """Of each column of categories: the number of its ``values`` that are named, and the ``threshold`` that their noisy counts reach."""
    ledger: Ledger
    """What was spent."""


def bins(
    table: Table,
    schema: SchemaLike,
    *,
    epsilon: float,
    delta: float,
    columns: Sequence[str] = (),
    categories: Sequence[str] = (),
    category_share: float = 0.5,
    category_delta: float | None = None,
    neighbors: str = "replace-one",
    unit: str | None = None,
    max_records: int | None = None,
    seed: int | None = None,
    ledger: str | os.PathLike[str] | None = None,
    ledger_from: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> PaidBins:
    """A schema with bins of numbers, and categories, that follow the private rows, as ``jointly bins`` makes it. Spends the whole budget.

    ``columns``: numbers whose ranges are cut into bins; by default all with a single bin. ``categories``: columns with a code
    ``other``, whose frequent values get codes of their own. ``category_share``: the part of the budget that finds these; ``category_delta``: the
    part of ``delta``, half of it by default. The run that follows counts what was spent here: give it the file as ``ledger_from``.
    ``ledger``, ``ledger_from`` and ``overwrite``: as for :func:`answer`.

    >>> import jointly_dp as jd
    >>> schema = jd.Schema({"columns": [{"name": "pay", "kind": "numeric", "edges": [0, 100000], "integer": True}]})
    >>> people = {"pay": [10 * i * (i % 2) for i in range(5000)]}
    >>> found = jd.bins(people, schema, epsilon=0.5, delta=1e-9)
    >>> found.schema.values("pay")[0], found.ledger.is_private
    ('0', True)
    """
    asked = {
        "columns": list(columns),
        "categories": list(categories),
        "category_share": category_share,
        "category_delta": category_delta,
        "allowance": allowance(epsilon, delta, neighbors, units(unit, max_records), seed, ledger, ledger_from, overwrite),
    }
    found: dict[str, Any] = json.loads(_native.bins(Schema._given(schema)._native, readable(table), json.dumps(asked)))
    return PaidBins(Schema._given(json.loads(found["schema"])), found["categories"], Ledger(json.dumps(found["ledger"])))


def _asked(workload: Any, max_cells: int | None) -> dict[str, Any]:
    """The marginals that are asked for."""
    marginals = Workload._of(workload)
    return {
        "workload": marginals._name(),
        "max_cells": max_cells if marginals.max_cells is None else marginals.max_cells,
    }


def _private(
    native: _native.Schema, table: Streamed | Counter, neighbors: str, of_units: tuple[str, int, str] | None
) -> _native.PrivateRows:
    if isinstance(table, Counter):
        return _native.PrivateRows.of_counter(table._native)
    return _native.PrivateRows.read(native, incoming(table), "private table", neighbors, of_units)


def tune(
    stand_in: Table,
    schema: SchemaLike,
    grid: Mapping[str, Sequence[float]],
    *,
    epsilon: float,
    delta: float,
    mechanism: str,
    public: Public | None = None,
    workload: Any = "all-3-way",
    seeds: int = 5,
    records: int | None = None,
    neighbors: str = "replace-one",
    **parameters: Any,
) -> dict[str, Any]:
    """Numeric parameters of a mechanism, chosen on public tables alone, as ``jointly tune --json`` does. Spends nothing.

    ``stand_in``: a **public** table in place of the private one. Never the private one: its exact errors are shown. ``grid``:
    the values to try, by parameter; every combination is run with ``seeds`` seeds. ``records``: of the private table, if
    that is public, or a guess. The member ``parameters`` of the result can be passed on to :class:`Synthesizer`.

    >>> import jointly_dp as jd
    >>> near = {"a": [0, 1] * 200, "b": [0, 1] * 200}
    >>> found = jd.tune(near, jd.Schema({"a": 2, "b": 2}), {"rounds": [2, 4]}, epsilon=1.0, delta=1e-6, seeds=1,
    ...                 mechanism="mwem-pgm", workload="all-2-way")
    >>> found["parameters"]["rounds"] in (2, 4), len(found["candidates"])
    (True, 2)
    """
    whole = Schema._given(schema)
    native = whole._native
    groups = parameters.get("groups") or []
    lacking = whole.select([name for name in whole.attributes if name not in groups]) if groups else whole
    tables = [(name, _native.Rows.read(lacking._native, incoming(rows), name)) for name, rows in named(public)]
    asked = {
        "mechanism": mechanism,
        "parameters": json.loads(as_json(parameters)),
        "grids": [f"{name}={','.join(str(value) for value in values)}" for name, values in grid.items()],
        "seeds": seeds,
        "epsilon": epsilon,
        "delta": delta,
        "neighbors": neighbors,
        "records": records,
        "workload": Workload._of(workload)._name(),
        "max_cells": Workload._of(workload).max_cells,
    }
    own = _native.Rows.read(native, readable(stand_in), "stand-in")
    found: dict[str, Any] = json.loads(_native.tune(native, own, tables, json.dumps(asked)))
    return found
