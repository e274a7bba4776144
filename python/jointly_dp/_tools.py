"""Functions beside the main job."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from . import _native
from ._counts import Counter
from ._schema import Schema, SchemaLike, Workload
from ._settings import as_json
from ._tables import Public, Table, named, readable, units


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
    table: Table,
    public: Public,
    schema: SchemaLike,
    *,
    epsilon: float,
    delta: float,
    workload: Any = "all-2-way",
    neighbors: str = "replace-one",
    unit: str | None = None,
    max_records: int | None = None,
    keep: str = "first",
    seed: int | None = None,
) -> dict[str, Any]:
    """Which public table to trust, and for which marginals, as ``jointly trust --json`` does. Spends the whole budget.

    >>> import jointly_dp as jd
    >>> near, far = {"a": [0, 1] * 200, "b": [0, 1] * 200}, {"a": [0, 1] * 200, "b": [1, 0] * 200}
    >>> found = jd.trust(near, {"near": near, "far": far}, jd.Schema({"a": 2, "b": 2}), epsilon=5.0, delta=1e-6, seed=1)
    >>> found["tables"][found["by_marginals"][0]]["name"], found["is_private"]
    ('near', False)
    """
    native = Schema._given(schema)._native
    private = _native.PrivateRows.read(native, readable(table), "private table", neighbors, units(unit, max_records, keep))
    tables = [(name, _native.Rows.read(native, readable(rows), name)) for name, rows in named(public)]
    name = Workload._of(workload)._name()
    found: dict[str, Any] = json.loads(
        _native.trust(native, private, tables, name, epsilon, delta, neighbors, units(unit, max_records, keep), seed)
    )
    return found


def answer(
    table: Table | Counter,
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
    ledger_from: str | os.PathLike[str] | None = None,
    **parameters: Any,
) -> dict[str, Any]:
    """The marginals of a workload with noise, as ``jointly answer --out answers.json`` writes them. Spends the whole budget.

    Each member of ``marginals`` has ``attributes``, ``shape``, ``counts`` (row-major, unbiased, below 0 for some cells) and ``stddev``, that of
    the noise in each cell. The other members are the ledger's. ``table`` may be a :class:`Counter` of a plan for this mechanism.

    >>> import jointly_dp as jd
    >>> found = jd.answer({"a": [0, 1, 1] * 200}, jd.Schema({"a": 2}), epsilon=5.0, delta=1e-6, workload="all-1-way", seed=1)
    >>> [one] = found["marginals"]
    >>> one["attributes"], [round(count / 100) for count in one["counts"]], found["private"]
    (['a'], [2, 4], False)
    """
    native = Schema._given(schema)._native
    of_units = units(unit, max_records, keep)
    asked = _asked(workload, max_cells, epsilon, delta, neighbors, of_units, seed, ledger_from)
    asked |= {"mechanism": mechanism, "parameters": json.loads(as_json(parameters))}
    found: dict[str, Any] = json.loads(
        _native.answer(native, _private(native, table, neighbors, of_units), json.dumps(asked))
    )
    return found


def mixture_error(
    table: Table | Counter,
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
    ledger_from: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """How near the rows of a public table can come to the private one by weights: the largest error of a cell of the workload, at best
    (Liu et al. 2021, section 5), as ``jointly mixture-error --json``.

    With ``epsilon``, ``value`` has noise, and lies within ``half_width`` of the true one with probability ``confidence``; with ``epsilon`` alone, the
    noise is Laplace's. Without it, ``value`` is exact and **not private**: it warns.

    >>> import jointly_dp as jd
    >>> near, far = {"a": [0, 1] * 200}, {"a": [0] * 400}
    >>> schema = jd.Schema({"a": 2})
    >>> [round(jd.mixture_error(near, rows, schema, epsilon=10.0, delta=1e-6, workload="all-1-way", seed=1)["value"], 1)
    ...  for rows in (near, far)]
    [0.0, 0.5]
    """
    native = Schema._given(schema)._native
    asked = _asked(workload, max_cells, epsilon, delta, neighbors, None, seed, ledger_from)
    asked |= {"cells": cells, "tolerance": tolerance}
    rows = _native.Rows.read(native, readable(public), "public table")
    if epsilon is None:
        if isinstance(table, Counter):
            raise TypeError("table is a counter, expected rows: only with epsilon= are counts enough")
        warnings.warn(
            "these numbers are computed from the real records: they are NOT PRIVATE, do not publish them", stacklevel=2
        )
        real = _native.Rows.read(native, readable(table), "real table")
        found: dict[str, Any] = json.loads(_native.mixture_error(native, rows, json.dumps(asked), real=real))
        return found
    private = _private(native, table, neighbors, None)
    found = json.loads(_native.mixture_error(native, rows, json.dumps(asked), private=private))
    return found


def _asked(
    workload: Any,
    max_cells: int | None,
    epsilon: float | None,
    delta: float | None,
    neighbors: str,
    of_units: tuple[str, int, str] | None,
    seed: int | None,
    ledger_from: str | os.PathLike[str] | None,
) -> dict[str, Any]:
    """What a command that spends is asked."""
    if seed is not None:
        warnings.warn(
            "seed repeats the noise, which can then be removed: the result is NOT PRIVATE", UserWarning, stacklevel=3
        )
    marginals = Workload._of(workload)
    return {
        "workload": marginals._name(),
        "max_cells": max_cells if marginals.max_cells is None else marginals.max_cells,
        "epsilon": epsilon,
        "delta": delta,
        "neighbors": neighbors,
        "unit": of_units,
        "seed": None if seed is None else int(seed),
        "ledger_from": None if ledger_from is None else os.fspath(ledger_from),
    }


def _private(
    native: _native.Schema, table: Table | Counter, neighbors: str, of_units: tuple[str, int, str] | None
) -> _native.PrivateRows:
    if isinstance(table, Counter):
        return _native.PrivateRows.of_counter(table._native)
    return _native.PrivateRows.read(native, readable(table), "private table", neighbors, of_units)


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
    tables = [(name, _native.Rows.read(lacking._native, readable(rows), name)) for name, rows in named(public)]
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
