"""Keyword arguments as the JSON of settings."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any


def as_json(settings: Mapping[str, Any]) -> str:
    """Settings that are not ``None``, as JSON: paths as text, numbers and arrays of numpy as Python's."""
    given = {name.replace("_", "-"): finite(value) for name, value in settings.items() if value is not None}
    return json.dumps(given, default=_plain, allow_nan=False)


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
