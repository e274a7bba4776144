"""What is spent at once leaves a ledger, which later calls count."""

from __future__ import annotations

import json

import jointly_dp as jd
import pytest
from conftest import people, write

BUDGET = {"epsilon": 2, "delta": 1e-6}
RANGES = {"columns": [{"name": "age", "kind": "numeric", "edges": [0, 10000], "integer": True}]}


def calls(schema, folder):
    table, public = write(folder / "private.csv", people(600, 1)), write(folder / "public.csv", people(500, 2))
    return {
        "answer": lambda **more: jd.answer(table, schema, **BUDGET, **more),
        "mixture-error": lambda **more: jd.mixture_error(table, public, schema, **BUDGET, **more)["ledger"],
        "trust": lambda **more: jd.trust(table, public, schema, **BUDGET, **more),
        "bins": lambda **more: json.loads(jd.bins(table, RANGES, **BUDGET, **more).ledger.to_json()),
        "thresholds": lambda **more: jd.thresholds(table, ["age"], grid=(0, 100, 5), **BUDGET, **more),
    }


@pytest.mark.parametrize("name", ["answer", "mixture-error", "trust", "bins", "thresholds"])
def test_what_spends_at_once_leaves_its_ledger(name, schema, tmp_path):
    call, path = calls(schema, tmp_path)[name], tmp_path / "ledger.json"
    found = call(ledger=path)
    written = json.loads(path.read_text())
    assert written["mechanism"] == name
    assert jd.Ledger.read(path).spent == pytest.approx(jd.rho(2, 1e-6), rel=0.03)
    if name in ("answer", "mixture-error", "bins"):
        assert found["ledger"]["entries"] == written["ledger"]["entries"]
    # No ledger takes the place of another unasked, and what was spent counts.
    with pytest.raises(jd.JointlyError, match="exists already"):
        call(ledger=path)
    with pytest.raises((jd.BudgetExceeded, jd.PrivacyError)):
        call(ledger_from=path)
    assert json.loads(path.read_text()) == written
    call(ledger=path, overwrite=True)
    assert jd.Ledger.read(path).spent > 0


def test_no_call_takes_the_private_file_as_a_public_one(schema, tmp_path):
    table, public = write(tmp_path / "private.csv", people(600, 1)), write(tmp_path / "public.csv", people(500, 2))
    for refused in (
        lambda: jd.mixture_error(table, table, schema, **BUDGET),
        lambda: jd.trust(table, [public, table], schema, **BUDGET),
        lambda: jd.Synthesizer(schema, **BUDGET).fit(table, public=table),
    ):
        with pytest.raises(jd.JointlyError, match="private"):
            refused()
