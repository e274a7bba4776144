"""Comparisons give the rows of the command line, and go on where they were stopped."""

from __future__ import annotations

import csv
import json

import jointly_dp as jd
import pytest
from conftest import people, told, write

PROTOCOL = """
delta = 1e-6
epsilons = [1.0, 2.0]
seeds = [0, 1]
mechanisms = ["jam-pgm", "mst"]
workload = "all-2-way"
measures = ["singles-and-pairs"]
[tuning.jam-pgm]
rounds = 3
[[data]]
name = "people"
schema = "schema.json"
private = "private.csv"
public = ["public.csv"]
"""
MEASURED_APART = ("seconds", "cpu_seconds", "peak_mib")


@pytest.fixture
def protocol(schema, tmp_path):
    write(tmp_path / "private.csv", people(600, 1))
    write(tmp_path / "public.csv", people(500, 2))
    (tmp_path / "schema.json").write_text(schema.to_json())
    path = tmp_path / "small.toml"
    path.write_text(PROTOCOL)
    return path


@pytest.mark.filterwarnings("ignore:seeds are fixed")
def test_rows_are_those_of_the_command_line(protocol, command, tmp_path):
    told(command, tmp_path, "compare small.toml --out theirs --seed 0,1 --epsilon 1 --quiet")
    done: list[dict] = []
    ours = jd.compare(protocol, out=tmp_path / "ours", epsilons=[1], progress=done.append)
    assert ours.table.read_text().count("\n") == (tmp_path / "theirs" / "results.csv").read_text().count("\n") == 1 + 6
    with open(tmp_path / "theirs" / "results.csv") as one, ours.table.open() as other:
        for their, own in zip(csv.DictReader(one), csv.DictReader(other), strict=True):
            assert {**their, **dict.fromkeys(MEASURED_APART)} == {**own, **dict.fromkeys(MEASURED_APART)}
    assert [fact["what"] for fact in done] == ["finished"] * 6
    runs = [(row["mechanism"], row["epsilon"], row["seed"]) for row in ours.rows if row["seed"] is not None]
    assert runs == [("jam-pgm", 1, 0), ("mst", 1, 0), ("jam-pgm", 1, 1), ("mst", 1, 1)]
    assert all(row["peak_mib"] > 10 and row["singles_l1"] > 0 for row in ours.rows if row["seed"] is not None)
    assert "jam-pgm" in ours.page.read_text()
    # Its results are continued by either.
    again = jd.compare(protocol, out=tmp_path / "theirs", epsilons=[1], progress=done.append)
    assert done[-1] == {"what": "resumed", "finished": 6, "runs": 6} and len(again.rows) == 6


@pytest.mark.filterwarnings("ignore:seeds are fixed")
def test_what_cannot_be_compared_is_refused_and_the_others_run(protocol, tmp_path):
    with pytest.raises(jd.UsageError, match="mechanism is aim, expected one that the protocol has"):
        jd.compare(protocol, out=tmp_path / "results", mechanisms=["aim"])
    with pytest.raises(jd.InputError, match="small.toml, line 3"):
        protocol.write_text(PROTOCOL.replace("1.0, 2.0", "-1"))
        jd.compare(protocol, out=tmp_path / "results")
    protocol.write_text(PROTOCOL + '[[data]]\nname = "none"\nschema = "schema.json"\nprivate = "none.csv"\n')
    (tmp_path / "none.csv").write_text("sex\n1\n")
    done: list[dict] = []
    with pytest.raises(jd.InputError, match="not all runs succeeded: none, .*none.csv"):
        jd.compare(protocol, out=tmp_path / "results", mechanisms=["mst"], epsilons=[1], seeds=[0], progress=done.append)
    assert {fact["what"] for fact in done} == {"finished", "failed"}
    assert (tmp_path / "results" / "results.csv").read_text().count("people") == 3
    # Other results are not overwritten.
    protocol.write_text(PROTOCOL.replace("1e-6", "1e-7"))
    with pytest.raises(jd.CheckpointError, match="run under another protocol"):
        jd.compare(protocol, out=tmp_path / "results", mechanisms=["mst"], epsilons=[1], seeds=[0])


@pytest.mark.filterwarnings("ignore:seeds are fixed")
def test_a_comparison_that_was_stopped_goes_on(protocol, tmp_path):
    def stop(fact):
        if fact["number"] == 2:
            raise KeyboardInterrupt

    settings = {"out": tmp_path / "results", "mechanisms": ["mst"]}
    with pytest.raises(KeyboardInterrupt):
        jd.compare(protocol, **settings, progress=stop)
    assert (tmp_path / "results" / "results.csv").read_text().count("\n") == 1 + 2
    done: list[dict] = []
    found = jd.compare(protocol, **settings, progress=done.append)
    assert done[0] == {"what": "resumed", "finished": 2, "runs": 6} and len(found.rows) == 6
    assert json.loads(json.dumps(found.rows)) == found.rows


def test_it_warns(protocol, tmp_path):
    with pytest.warns(UserWarning, match="NOT PRIVATE"):
        jd.compare(protocol, out=tmp_path / "results", mechanisms=["mst"], seeds=[0], epsilons=[1])
