"""Docstrings as the site needs them: examples as code, roles as code. Loaded by griffe, as mkdocs.yml says."""

from __future__ import annotations

import re
from typing import Any

import griffe


class Docstrings(griffe.Extension):
    """Changes the text of every docstring before it is read as Markdown."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = _markdown(obj.docstring.value)


def _markdown(text: str) -> str:
    text = re.sub(r":(?:class|func|meth|mod|data|attr):`~?\.?(?:jointly_dp\.)?([^`]+)`", r"`\1`", text)
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    # An indented block after `::` is code too.
    text = re.sub(r"^::$", "", text, flags=re.MULTILINE)
    lines, inside = [], False
    for line in text.split("\n"):
        begins = line.startswith(">>>") and not inside
        ends = inside and not line.strip()
        if begins:
            lines.append("```pycon")
        if ends:
            lines.append("```")
        lines.append(line)
        inside = (inside or begins) and not ends
    return "\n".join([*lines, "```"] if inside else lines)
