"""`jointly_dp.sdnist` with the real SDNist, whose reports show the labels."""

from __future__ import annotations

import jointly_dp as jd
import pytest
from jointly_dp import sdnist as hook

OTHER = {"sex": [0, 1, 1, 0, 0] * 10, "age": [3, 1, 2, 3, 0] * 10}
TABLE = {"sex": [0, 1] * 50, "age": [0, 1, 2, 3] * 25, "home": [row // 2 for row in range(100)]}


def test_labels_say_how_the_table_was_made():
    schema = jd.Schema({"columns": [
        {"name": "sex", "kind": "coded", "size": 2}, {"name": "age", "kind": "coded", "size": 4}, {"name": "home", "role": "id"},
    ]})  # fmt: skip
    synth = jd.Synthesizer(
        schema, epsilon=1.0, delta=1e-6, mechanism="jam-pgm", workload="all-2-way", rounds=2,
        unit="home", max_records=2, neighbors="add-remove-one", seed=1,
    )  # fmt: skip
    found = hook.labels(synth.fit(TABLE, public={"near": OTHER}).release_)
    assert found["algorithm name"] == "jam-pgm" and (found["epsilon"], found["delta"]) == ("1.0", "1e-06")
    assert found["privacy unit"] == "up to 2 records with the same home, added or removed"
    assert found["privacy category"].startswith("none") and found["public tables"] == "near"
    assert all(isinstance(text, str) for text in found.values())


def test_the_report_shows_them():
    report = pytest.importorskip("sdnist.report.report_data", reason="NOT TESTED: sdnist is not installed")
    synth = jd.Synthesizer(jd.Schema({"sex": 2}), epsilon=1.0, delta=1e-6, mechanism="independent")
    given = hook.labels(synth.fit({"sex": [0, 1] * 50}).release_)
    shown = report.DataDescriptionPacket("table.csv", 100, 1, given).data["labels"]
    assert {"Label Name": "Epsilon", "Label Value": "1.0"} in shown and len(shown) == len(given)
