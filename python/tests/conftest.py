"""Tables of invented people, and the command line to compare with."""

from __future__ import annotations

import csv
import os
import pathlib
import random
import subprocess

import jointly_dp as jd
import pytest

COLUMNS = {
    "na_token": "NA",
    "columns": [
        {"name": "sex", "kind": "categorical", "codes": ["1", "2"], "na": True},
        {"name": "job", "kind": "categorical", "codes": ["none", "part", "full"], "labels": ["None", "Part time", "Full time"]},
        {"name": "age", "kind": "numeric", "edges": [0, 18, 40, 65, 100], "integer": True},
        {"name": "pay", "kind": "numeric", "edges": [0, 10, 50, 250], "integer": False, "na": True},
        {"name": "seen", "kind": "date", "edges": ["2020-01-01", "2020-07-01", "2021-01-01"]},
        {"name": "kids", "kind": "coded", "size": 4},
    ],
}


def people(rows: int, seed: int) -> dict[str, list]:
    """Columns of Python values; None is missing."""
    draw = random.Random(seed)
    table: dict[str, list] = {name: [] for name in ("sex", "job", "age", "pay", "seen", "kids", "home")}
    for row in range(rows):
        age = draw.randrange(100)
        works = 18 <= age < 65 and draw.random() < 0.8
        table["sex"].append(draw.choice([1, 2, None]))
        table["job"].append(draw.choice(["part", "full"]) if works else "none")
        table["age"].append(age)
        table["pay"].append(round(draw.uniform(5, 240), 2) if works else None)
        table["seen"].append(f"2020-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}")
        table["kids"].append(draw.randrange(4))
        table["home"].append(row // 3)
    return table


def write(path: pathlib.Path, table: dict[str, list]) -> pathlib.Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table)
        for row in zip(*table.values(), strict=True):
            writer.writerow(["NA" if value is None else value for value in row])
    return path


@pytest.fixture(scope="session")
def schema() -> jd.Schema:
    return jd.Schema(COLUMNS)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory, schema: jd.Schema) -> pathlib.Path:
    """A folder with both tables as CSV, and the schema."""
    folder = tmp_path_factory.mktemp("tables")
    write(folder / "private.csv", people(600, 1))
    write(folder / "public.csv", people(500, 2))
    (folder / "schema.json").write_text(schema.to_json())
    return folder


@pytest.fixture(scope="session")
def command() -> pathlib.Path:
    """The program, where it was built."""
    found = os.environ.get("JOINTLY_PROGRAM")
    if not found:
        pytest.skip("JOINTLY_PROGRAM does not name the program to compare with")
    return pathlib.Path(found)


def told(command: pathlib.Path, folder: pathlib.Path, words: str | list[str]) -> str:
    typed = words.split() if isinstance(words, str) else words
    done = subprocess.run([command, *typed], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
