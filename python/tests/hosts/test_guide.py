"""Runs the code of docs/guide/hosts.md, section by section, where the section's library is installed."""

from __future__ import annotations

import pathlib
import re
import warnings
from importlib.util import find_spec

import pytest

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "guide" / "hosts.md"
# What a section imports, by its title.
NEEDED = {
    "mbi": ("mbi",), "OpenDP": ("opendp", "polars", "mbi"), "SmartNoise": ("snsynth",), "SDGym": ("sdgym",),
    "SDMetrics": ("sdmetrics",), "SDNist": ("sdnist",),
}  # fmt: skip


def sections() -> dict[str, list[str]]:
    parts = re.split(r"^## (.+)\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    blocks = [re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL) for text in parts[1::2]]
    return {title: code for title, code in zip(parts[::2], blocks, strict=True) if code}


def test_every_section_with_code_is_run():
    assert sections().keys() == NEEDED.keys()


@pytest.mark.parametrize("title", NEEDED)
def test_the_code_of_the_page_runs(title, tmp_path, monkeypatch):
    missing = [name for name in NEEDED[title] if find_spec(name) is None]
    if missing:
        pytest.skip(f"NOT TESTED: {', '.join(missing)} is not installed")
    if title == "mbi" and not hasattr(pytest.importorskip("mbi"), "Constraint"):
        pytest.skip("the section is for mbi 2.0")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": title}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in sections()[title]:
            exec(compile(block, f"{PAGE.name}: {title}", "exec"), names)
