"""Shares below any number, and parameters that are chosen on public tables, as the command line has them."""

from __future__ import annotations

import json
import pickle

import jointly_dp as jd
import polars as pl
import pytest
from conftest import people, told, write

FLAGS = "--private private.csv --columns age,pay --epsilon 1 --delta 1e-6 --seed 5 --quiet"
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


@pytest.fixture
def table():
    return {name: values for name, values in people(400, 1).items() if name in ("age", "pay", "home")}


@pytest.mark.parametrize("questions", ["intervals", "boxes"])
def test_shares_are_those_of_the_command_line(questions, table, tmp_path, command):
    folder = tmp_path
    write(folder / "private.csv", table)
    write(folder / "near.csv", people(60, 2))
    grid = "--grid age=0,90,4"
    told(command, folder, f"thresholds {FLAGS} --public near.csv {grid} --cuts 6 --class {questions} --out shares.json")
    expected = (folder / "shares.json").read_text()
    settings = {"grid": {"age": (0, 90, 4)}, "cuts": 6, "questions": questions, "seed": 5, **BUDGET}
    near = people(60, 2)
    for private, public in ((table, near), (folder / "private.csv", folder / "near.csv"), (pl.DataFrame(table), [near])):
        shares = jd.thresholds(private, ["age", "pay"], public=public, **settings)
        assert json.loads(shares.to_json()) == json.loads(expected)
    assert not shares.is_private and "NOT PRIVATE" in repr(shares)
    read = jd.Thresholds.read(folder / "shares.json")
    assert read.answer("age <= 40") == shares.answer("age <= 40")
    nearest = told(command, folder, "thresholds ask --in shares.json --nearest --json age<=41.5")
    assert json.loads(nearest)["answers"][0]["value"] == shares.answer("age <= 41.5", nearest=True).value
    again = pickle.loads(pickle.dumps(shares))
    assert again.quantile("pay", 0.5) == read.quantile("pay", 0.5)
    low, high = shares.answer("age <= 40 & pay <= 50")[1:]
    truth = sum(age <= 40 and pay is not None and pay <= 50 for age, pay in zip(table["age"], table["pay"])) / 400
    assert low <= truth <= high


@pytest.mark.parametrize(
    ("flags", "columns", "settings", "question"),
    [
        ("--columns age,pay --class half-planes --public near.csv", ["age", "pay"], {"questions": "half-planes"}, "age + 2 * pay <= 120"),
        ("--columns age,pay --class conjunctions", ["age", "pay"], {"questions": "conjunctions"}, "age > 0 & pay <= 0"),
        ("--class list --question age<=40&pay>20", [], {"questions": ["age <= 40 & pay > 20"]}, "age <= 40 & pay > 20"),
    ],
)
def test_other_classes_are_those_of_the_command_line(flags, columns, settings, question, table, tmp_path, command):
    folder = tmp_path
    write(folder / "private.csv", table)
    write(folder / "near.csv", people(60, 2))
    told(command, folder, f"thresholds --private private.csv --epsilon 1 --delta 1e-6 --seed 5 --quiet {flags} --out shares.json")
    expected = json.loads((folder / "shares.json").read_text())
    near = {"public": people(60, 2)} if "near.csv" in flags else {}
    for private in (table, folder / "private.csv", pl.DataFrame(table)):
        shares = jd.thresholds(private, columns, **settings, **near, seed=5, **BUDGET)
        assert json.loads(shares.to_json()) == expected
    assert shares.columns == ("age", "pay")
    value, low, high = shares.answer(question)
    assert low <= value <= high
    assert pickle.loads(pickle.dumps(shares)).answer(question) == (value, low, high)


def test_shares_have_a_ledger_that_counts(table, tmp_path):
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    settings = {"grid": (0, 100, 5), "neighbors": "add-remove-one", "unit": "home", "max_records": 3}
    jd.thresholds(table, ["age"], **BUDGET, **settings, ledger=first)
    with pytest.raises(jd.JointlyError, match="exists already"):
        jd.thresholds(table, ["age"], **BUDGET, **settings, ledger=first)
    jd.thresholds(table, ["age"], epsilon=2.0, delta=1e-6, **settings, ledger=second, ledger_from=first)
    one, both = jd.Ledger.read(first), jd.Ledger.read(second)
    assert one.is_private and both.spent > one.spent and len(both.entries) > len(one.entries)
    with pytest.raises(jd.BudgetExceeded):
        jd.thresholds(table, ["age"], **BUDGET, **settings, ledger_from=first)


def test_wrong_questions_and_settings_are_refused(table, tmp_path):
    def refused(kind, match, columns=("age",), **changed):
        with pytest.raises(kind, match=match):
            jd.thresholds(table, list(columns), **{"grid": (0, 90, 4), **BUDGET, **changed})

    refused(jd.UsageError, "class is circles", questions="circles")
    refused(jd.UsageError, "tree or pmw", release="forest")
    refused(jd.UsageError, "none with a tree", rounds=3)
    refused(jd.InputError, "increasing finite range", grid=(9, 0, 4))
    refused(jd.InputError, "one of the columns", grid={"height": (0, 9, 4)})
    refused(jd.InputError, "cuts of column 'age': none", grid=None)
    refused(jd.InputError, "height", columns=("height",))
    refused(jd.InputError, "missing", public={"age": ["old"]})
    refused(jd.PrivacyError, "epsilon", epsilon=-1.0)
    refused(jd.InputError, "1 columns", questions="half-planes")
    refused(jd.InputError, "a grid", columns=("age", "pay"), questions="half-planes")
    refused(jd.InputError, "at least 2", columns=("age", "pay"), questions="half-planes", grid=None)
    refused(ValueError, "listed questions decide", questions=["age <= 3"])
    refused(jd.InputError, "COLUMN <= NUMBER", columns=(), questions=["age = 3"], grid=None)
    shares = jd.thresholds(table, ["age"], grid=(0, 90, 4), **BUDGET)
    for question in ("height <= 3", "age = 3", "age"):
        with pytest.raises(jd.JointlyError):
            shares.answer(question)
    shares.write(tmp_path / "shares.json")
    with pytest.raises(FileExistsError):
        shares.write(tmp_path / "shares.json")


def test_a_tuning_is_that_of_the_command_line(schema, tmp_path, command):
    folder = tmp_path
    (folder / "schema.json").write_text(schema.to_json())
    stand_in, near = people(150, 3), people(150, 4)
    write(folder / "stand-in.csv", stand_in)
    write(folder / "near.csv", near)
    flags = "--schema schema.json --epsilon 1 --delta 1e-6 --workload all-1-way --mechanism mwem-pgm --seeds 2"
    words = f"tune --stand-in stand-in.csv --public near=near.csv {flags} --candidates rounds=1,2 --json"
    expected = json.loads(told(command, folder, words))["tuned"]
    found = jd.tune(
        stand_in,
        schema,
        {"rounds": [1, 2]},
        public={"near": near},
        mechanism="mwem-pgm",
        workload="all-1-way",
        seeds=2,
        **BUDGET,
    )
    assert found == expected
    chosen = jd.Synthesizer(schema, mechanism=found["mechanism"], workload="all-1-way", **found["parameters"], **BUDGET)
    assert chosen.fit(near).release_.is_private
    for grid, match in (({"rounds": []}, "candidates"), ({"noise": [1]}, "numeric parameter")):
        with pytest.raises(jd.UsageError, match=match):
            jd.tune(stand_in, schema, grid, mechanism="mwem-pgm", **BUDGET)


def test_private_values_never_become_cuts_and_no_input_is_overwritten(table, tmp_path):
    with pytest.raises(ValueError, match="also a public one"):
        jd.thresholds(table, ["age"], public=[table], **BUDGET)
    private = write(tmp_path / "private.csv", table)
    link = tmp_path / "link.csv"
    link.hardlink_to(private)
    for public in (private, link):
        with pytest.raises(ValueError, match="private"):
            jd.thresholds(private, ["age"], public=public, **BUDGET)
    before = private.read_bytes()
    with pytest.raises(jd.JointlyError):
        jd.thresholds(private, ["age"], grid=(0, 90, 4), ledger=private, overwrite=True, **BUDGET)
    assert private.read_bytes() == before
    first = tmp_path / "first.json"
    jd.thresholds(private, ["age"], grid=(0, 90, 4), ledger=first, **BUDGET)
    with pytest.raises(jd.JointlyError):
        jd.thresholds(private, ["age"], grid=(0, 90, 4), ledger=first, ledger_from=first, overwrite=True, **BUDGET)
    with pytest.raises(jd.BudgetExceeded):
        jd.thresholds(private, ["age"], grid=(0, 90, 4), ledger_from=first, **BUDGET)
