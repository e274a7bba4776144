"""Keyword arguments as the JSON of settings."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Mapping
from typing import Any


def as_json(settings: Mapping[str, Any]) -> str:
    """Settings that are not ``None``, as JSON: paths as text, numbers and arrays of numpy as Python's."""
    given = {name.replace("_", "-"): finite(value) for name, value in settings.items() if value is not None}
    return json.dumps(given, default=_plain, allow_nan=False)


def allowance(
    epsilon: float | None,
    delta: float | None,
    neighbors: str,
    unit: tuple[str, int, str] | None,
    seed: int | None,
    ledger: str | os.PathLike[str] | None,
    ledger_from: str | os.PathLike[str] | None,
    overwrite: bool,
) -> dict[str, Any]:
    """What a call may spend, and where its ledger goes."""
    if seed is not None:
        warnings.warn(
            "seed repeats the noise, which can then be removed: the result is NOT PRIVATE", UserWarning, stacklevel=3
        )
    return {
        "epsilon": epsilon,
        "delta": delta,
        "neighbors": neighbors,
        "unit": unit,
        "seed": None if seed is None else int(seed),
        "ledger": None if ledger is None else os.fspath(ledger),
        "ledger_from": None if ledger_from is None else os.fspath(ledger_from),
        "overwrite": overwrite,
    }


def finite(value: Any) -> Any:
    """The value, or the text of a number that JSON cannot hold."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    tolist = getattr(value, "tolist", None)
    if tolist is None:
        raise TypeError(f"a {type(value).__name__} is no setting, expected a number, a text or a list of these")
    return finite(tolist())
