"""Modules for other libraries are tested where these libraries are installed; `.ci/hosts` installs them."""

from __future__ import annotations

from importlib.util import find_spec

HOSTS = {"mbi.py": "mbi", "smartnoise.py": "snsynth", "sdgym.py": "sdgym"}
MISSING = {file: library for file, library in HOSTS.items() if find_spec(library) is None}

collect_ignore = [f"jointly_dp/{file}" for file in MISSING]


def pytest_report_header() -> list[str]:
    return [f"NOT TESTED: jointly_dp/{file}, because {library} is not installed" for file, library in MISSING.items()]
