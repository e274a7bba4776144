"""Mechanisms compared across tables, budgets and seeds."""

from __future__ import annotations

import json
import os
import pathlib
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from . import _native
from ._errors import BudgetExceeded, CheckpointError, InputError, JointlyError, PrivacyError, UsageError

# A run has a process of its own, so that its memory can be measured.
_RUN = "import sys; sys.path.insert(0, sys.argv[1]); from jointly_dp._compare import run; run()"

_CODES = ((UsageError, 2), (InputError, 3), (BudgetExceeded, 4), (PrivacyError, 4), (CheckpointError, 5))


class Comparison(NamedTuple):
    """The results of a comparison. They are **not private**."""

    rows: list[dict[str, Any]]
    """One for each run that was asked for: ``data``, ``mechanism``, ``epsilon``, ``seed``, ``workload_error``, ``cpu_seconds``, ``peak_mib``, and
    whatever else the protocol measures; ``pandas.DataFrame(rows)`` makes a frame of them."""
    table: pathlib.Path
    """The CSV file of all rows, to which a later call adds."""
    page: pathlib.Path
    """The HTML page about them."""


def compare(
    protocol: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    data: Sequence[str] = (),
    mechanisms: Sequence[str] = (),
    epsilons: Sequence[float] = (),
    seeds: Sequence[int] = (),
    progress: bool | Callable[[dict[str, Any]], object] = False,
    overwrite: bool = False,
) -> Comparison:
    """Runs what a protocol lists, as ``jointly compare`` does. **Not private**: it warns.

    ``protocol``: a TOML file with data sets, mechanisms, budgets and seeds. ``out``: a folder for the results, by default the
    protocol's name with ``-results``; runs that are there already are not repeated. ``data``, ``mechanisms``, ``epsilons``, ``seeds``: only these;
    empty for all. Each run has a process of its own; ``RAYON_NUM_THREADS`` says how many threads it has. ``progress``: ``True`` for a line for
    each run; or a function that gets what is done as a dictionary. ``overwrite``: whether a page without results beside it is replaced.

    A run that fails does not keep the others from running; the exception comes at the end. After Ctrl-C, the same call continues with the next run.

    >>> import jointly_dp as jd, pathlib, tempfile, warnings
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "people.csv").write_text("sex,work\\n" + "0,1\\n1,0\\n" * 200)
    >>> _ = (folder / "schema.json").write_text('{"sex": 2, "work": 2}')
    >>> _ = (folder / "small.toml").write_text('''
    ... delta = 1e-6
    ... epsilons = [1.0]
    ... seeds = [0, 1]
    ... mechanisms = ["mst", "independent"]
    ... workload = "all-2-way"
    ... [[data]]
    ... name = "people"
    ... schema = "schema.json"
    ... private = "people.csv"
    ... ''')
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     found = jd.compare(folder / "small.toml", out=folder / "results", mechanisms=["mst"])
    >>> [row["seed"] for row in found.rows if row["mechanism"] == "mst"], found.page.name
    ([0, 1], 'comparison.html')
    """
    warnings.warn(
        "seeds are fixed and errors are those against the real records: NOT PRIVATE", UserWarning, stacklevel=2
    )
    path = pathlib.Path(protocol)
    folder = pathlib.Path(f"{path.stem}-results") if out is None else pathlib.Path(out)
    asked = {
        "data": list(data),
        "mechanism": list(mechanisms),
        "epsilon": [float(epsilon) for epsilon in epsilons],
        "seed": [int(seed) for seed in seeds],
        "overwrite": overwrite,
    }
    told = progress if callable(progress) else _line if progress else None

    def heard(text: str) -> None:
        if told is not None:
            told(json.loads(text))

    program = [sys.executable, "-c", _RUN, os.fspath(pathlib.Path(__file__).parent.parent)]
    found = json.loads(_native.compare(os.fspath(path), os.fspath(folder), json.dumps(asked), program, heard))
    return Comparison(found["rows"], pathlib.Path(found["table"]), pathlib.Path(found["page"]))


def _line(done: dict[str, Any]) -> None:
    """A line for what was done.

    >>> _line({"what": "failed", "error": "too large"})
    """
    if done["what"] == "finished":
        numbers = f"error {done['workload_error']:.4g}; {done['seconds']:.2g} s"
        print(f"{done['number']} of {done['runs']}: {done['run']}: {numbers}", file=sys.stderr)
    elif done["what"] == "resumed":
        print(f"{done['finished']} of {done['runs']} runs are there already", file=sys.stderr)
    elif done["what"] == "left out":
        print(f"{done['run']}: lacks attributes, left out", file=sys.stderr)
    else:
        print(f"warning: {done['error']}", file=sys.stderr)


def run() -> None:
    """The process of one run: reads a cell from standard input and writes its row to standard output."""
    try:
        print(_native.compare_run(sys.stdin.read()))
    except JointlyError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(next((code for kind, code in _CODES if isinstance(error, kind)), 1))
