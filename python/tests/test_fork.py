"""Forked processes: they have the memory of their parent and none of its threads."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

# A process that waits for threads that do not exist would wait without end.
PATIENCE = 120


def said(script: str) -> dict:
    """What a script prints, as JSON, in a process of its own: this one has other threads."""
    script = textwrap.dedent(script)
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


FORK = """
import json, os
import jointly_dp as jd

schema = jd.Schema({"a": 3, "b": 4, "c": 2})
table = {"a": [0, 1, 2] * 60, "b": [0, 1, 2, 3] * 45, "c": [0, 1] * 90}

def fit():
    settings = {"epsilon": 2.0, "delta": 1e-6, "mechanism": "jam-pgm", "workload": "all-2-way", "rounds": 4}
    return jd.Synthesizer(schema, **settings).fit(table)

def outcome(call):
    try:
        call()
    except BaseException as error:
        kinds = [kind.__name__ for kind in type(error).__mro__]
        return {"kinds": kinds, "message": str(error)}
    return {"kinds": [], "message": "done"}

def forked(*calls):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(write, "w") as out:
            json.dump([outcome(call) for call in calls], out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answers:
        found = json.load(answers)
    os.waitpid(child, 0)
    return found
"""


def test_a_process_forked_after_a_fit_raises():
    found = said(
        FORK
        + """
synth = fit()
release = synth.release_
model = release.model
calls = {
    "fit": fit,
    "sample": lambda: synth.sample(50),
    "model sample": lambda: model.sample(50),
    "evaluate": lambda: jd.evaluate(table, table, schema),
    "trust": lambda: jd.trust(table, {"near": table}, schema, epsilon=1.0, delta=1e-6),
    "marginal": lambda: model.marginal(["a", "b"]),
    "threads": lambda: jd.set_threads(2),
}
answers = dict(zip(calls, forked(*calls.values())))
answers["parent"] = outcome(fit)
print(json.dumps(answers))
"""
    )
    assert found.pop("parent")["message"] == "done"
    for call, answer in found.items():
        assert {"ForkError", "JointlyError", "RuntimeError"} <= set(answer["kinds"]), (call, answer)
        assert "forked" in answer["message"] and "spawn" in answer["message"], (call, answer)


def test_a_process_forked_before_any_use_works_and_so_does_its_parent():
    found = said(FORK + "print(json.dumps({'child': forked(fit), 'parent': outcome(fit)}))")
    assert [answer["message"] for answer in found["child"]] == ["done"]
    assert found["parent"]["message"] == "done"


FIT = (
    "(lambda jd: jd.Synthesizer(jd.Schema({'sex': 2}), epsilon=2.0, delta=1e-6, mechanism='independent')"
    ".fit({'sex': [0, 1] * 50}).sample(20).num_rows)(__import__('jointly_dp'))"
)


def test_a_spawned_process_works_after_a_fit():
    assert eval(FIT) == 20
    # As a text: a function of this file would be looked up by the name of its module, which depends on how pytest was called.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply_async(eval, (FIT,)).get(PATIENCE) == 20
