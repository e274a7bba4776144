"""What the modules for other libraries share."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def needed(module: str, install: str) -> Any:
    """The module of another library, imported now.

    >>> needed("no_such_library", "no-such-library")
    Traceback (most recent call last):
    ...
    ImportError: this needs the library no_such_library: pip install 'no-such-library'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        name = module.partition(".")[0]
        raise ImportError(f"this needs the library {name}: pip install '{install}'") from error
