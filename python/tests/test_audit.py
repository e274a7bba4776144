"""The privacy audit of what comes in through Python: neighbors give releases of the same form, told apart by no more than
the ledger claims. ``tests/audit`` of the Rust library has the method, and everything else.

``AUDIT_RUNS=100000 python -m pytest -s -k told_apart tests/test_audit.py`` prints the line of ``docs/results/audit.md``."""

from __future__ import annotations

import json
import math
import os
import statistics
import warnings
from typing import Any

import jointly_dp as jd
import pytest

SPENDING = [name for name, entry in jd.mechanisms().items() if entry["spends"]]
NONE: dict[str, list[int]] = {"a": [], "b": []}
PUBLIC = {"a": [0, 0, 1, 1, 0, 1], "b": [0, 1, 2, 1, 2, 0]}
SCHEMA, WIDE = jd.Schema({"a": 2, "b": 3}), jd.Schema({"a": 2, "b": 20})


def form(mechanism: str, table: dict[str, list[Any]], **settings: Any) -> Any:
    """What an observer sees of a run, without numbers."""
    parameters = jd.mechanisms()[mechanism]["parameters"]
    few = {"rounds": 4 if mechanism in ("aim", "anchor-pgm") else 2, "steps": 2, "pretrain-steps": 2, "groups": ["a"]}
    own = {name.replace("-", "_"): value for name, value in few.items() if name in parameters}
    events: list[str] = []
    if mechanism != "ide":
        own["workload"] = "all-2-way"
    synth = jd.Synthesizer(WIDE if "compress" in settings else SCHEMA, epsilon=1.0, delta=1e-6, mechanism=mechanism, **own, **settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        synth.fit(table, public={"near": PUBLIC}, progress=lambda event: events.append(type(event).__name__))
    release = synth.release_
    # Whether a fit is published, and JAM-PGM's choice of a public marginal, were paid for.
    kinds = {(entry["mechanism"]["kind"], entry["purpose"]) for entry in release.ledger.entries}
    kinds = {kind for kind in kinds if mechanism != "jam-pgm" or kind[1] != "marginal"}
    seen = set(events) - {"Certified"} if mechanism == "anchor-pgm" else set(events)
    said = {str(warning.message)[:20] for warning in caught}
    return kinds, seen, said, synth.sample(5).column_names, release.is_private


@pytest.mark.parametrize("mechanism", SPENDING)
def test_no_record_and_one_record_look_alike(mechanism):
    settings = {"neighbors": "add-remove-one"}
    assert form(mechanism, NONE, **settings) == form(mechanism, {"a": [1], "b": [2]}, **settings)


@pytest.mark.parametrize("more", [{"error_share": 0.1}, {"compress": 0.1}, {"unit": "h", "max_records": 2}])
def test_options_look_alike(more):
    none, one = NONE, {"a": [1, 0], "b": [2, 2]}
    if "unit" in more:
        none, one = {"h": [], **none}, {"h": ["x", "x"], **one}
    settings = {"neighbors": "add-remove-one", **more}
    assert form("aim", none, **settings) == form("aim", one, **settings)


def test_trust_looks_alike():
    def told(table):
        report = jd.trust(
            table, {"near": PUBLIC}, SCHEMA, epsilon=1.0, delta=1e-6, workload="all-2-way", neighbors="add-remove-one"
        )
        return sorted(report), [len(table["marginals"]) for table in report["tables"]]

    assert told(NONE) == told({"a": [1], "b": [2]})


@pytest.mark.parametrize("questions", ["intervals", "boxes"])
def test_thresholds_look_alike(questions):
    def told(table):
        shares = jd.thresholds(
            table, ["a", "b"], epsilon=1.0, delta=1e-6, grid=(0, 2, 3), questions=questions, neighbors="add-remove-one"
        )
        release = json.loads(shares.to_json())["release"]
        # The rounds of boxes follow from the number of records with noise.
        kinds = {entry["purpose"] for entry in release["ledger"]["entries"]}
        return sorted(release), [len(column["shares"]) for column in release["columns"]], kinds

    assert told(NONE) == told({"a": [1], "b": [2]})


def test_neighbors_are_told_apart_by_what_the_ledger_claims():
    """A record moves from one value to the other: a lower bound of the divergence of the measured counts."""
    schema, runs = jd.Schema({"a": 2}), int(os.environ.get("AUDIT_RUNS", "3000")) // 2
    counts = [(31, 30), (30, 31)]

    def drawn(which):
        table = {"a": [0] * counts[which][0] + [1] * counts[which][1]}
        ratios = []
        for _ in range(runs):
            synth = jd.Synthesizer(schema, epsilon=7.0, delta=1e-6, mechanism="independent", workload="all-1-way")
            release = synth.fit(table).release_
            (measurement,) = release.measurements
            loss = [
                sum((y - x) ** 2 for y, x in zip(measurement.values, truth, strict=True)) / (2 * measurement.stddev**2)
                for truth in counts
            ]
            ratios.append(max(-6.0, min(6.0, loss[1] - loss[0])))
        return ratios, release.ledger.spent

    (one, claim), (other, _) = drawn(0), drawn(1)
    exp = [math.exp(ratio) for ratio in other]
    mean = statistics.fmean(exp)
    measured = statistics.fmean(one) - math.log(mean)
    error = math.hypot(statistics.stdev(one), statistics.stdev(exp) / mean) / math.sqrt(runs)
    lower = measured - 5 * error
    print(f"| Python | replace-one | {claim:.4f} | {measured:.4f} | {lower:.4f} | {measured / claim:.2f} | |")
    assert lower <= claim, "more than the ledger claims"
    assert measured >= 0.7 * claim, "the test would not see a violation"
