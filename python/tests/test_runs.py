"""Errors, interruptions, checkpoints, progress, pickles."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import jointly_dp as jd
import pytest
from conftest import people, write

SMALL = {"epsilon": 2.0, "delta": 1e-6, "mechanism": "jam-pgm", "workload": "all-2-way", "rounds": 4}


def error_of(schema, table=None, public=None, **changed):
    synth = jd.Synthesizer(schema, **{**SMALL, **changed})
    with pytest.raises(jd.JointlyError) as caught:
        synth.fit(people(50, 1) if table is None else table, public=public)
    return caught.value


def test_errors_have_a_class_for_each_kind(schema, tmp_path):
    wrong = people(50, 1)
    wrong["sex"][3] = 7
    error = error_of(schema, wrong)
    assert type(error) is jd.InputError and isinstance(error, ValueError)
    assert str(error) == "private table, row 4, column 'sex': found '7', expected one of '1', '2', or 'NA' (missing)"
    assert (error.facts["row"], error.facts["column"]) == ("4", "sex")
    fraction = people(50, 1)
    fraction["kids"][0] = 1.5
    assert "row 1, column 'kids': found '1.5'" in str(error_of(schema, fraction))
    assert type(error_of(schema, {"sex": [1, 2]})) is jd.InputError
    assert type(error_of(schema, epsilon=-1.0)) is jd.PrivacyError
    assert type(error_of(schema, epsilon=None)) is jd.UsageError
    absurd = error_of(schema, epsilon=1e308)
    assert type(absurd) is jd.PrivacyError and "at most 4096" in str(absurd)
    with pytest.raises(jd.PrivacyError, match="at most 4096"):
        jd.rho(1e308, 1e-6)
    assert type(error_of(schema, rounds=0)) is jd.UsageError
    assert type(error_of(schema, colour=3)) is jd.UsageError
    assert type(error_of(schema, mechanism="magic")) is jd.InputError
    none = error_of(schema, neighbors="none")
    assert type(none) is jd.UsageError and none.facts["expected"] == "replace-one or add-remove-one"
    assert str(error_of(schema, draw=3)) == "draw is 3, expected refined or independent"
    assert str(error_of(schema, rounds="many")) == 'rounds is "many", expected a whole number from 0 to 4294967295'
    assert type(error_of(schema, size_limit_mib=1e-9)) is jd.TooLarge
    assert type(error_of(schema, tmp_path / "nothing.csv")) is jd.JointlyError
    assert type(error_of(schema, public={"a": {"other": [1]}})) is jd.InputError
    for wrong, message in (({"sex": [1, "x"]}, "mixes"), ({"sex": [b"x"]}, "holds a bytes"), (3, "expected a path")):
        with pytest.raises(TypeError, match=message):
            jd.Synthesizer(schema, **SMALL).fit(wrong)


def test_a_ledger_counts_against_the_budget(schema, tmp_path):
    first = jd.Synthesizer(schema, **SMALL, ledger=tmp_path / "first.json").fit(people(300, 1))
    assert jd.Ledger.read(tmp_path / "first.json") == first.release_.ledger
    error = error_of(schema, ledger_from=tmp_path / "first.json")
    assert type(error) is jd.BudgetExceeded
    more = jd.Synthesizer(schema, **{**SMALL, "epsilon": 4.0}, ledger_from=tmp_path / "first.json").fit(people(300, 1))
    assert more.release_.ledger.spent > first.release_.ledger.spent


def test_progress_is_a_list_of_dataclasses(schema, capsys):
    events = []
    synth = jd.Synthesizer(schema, **SMALL).fit(people(300, 1), progress=events.append)
    assert [type(event) for event in events if isinstance(event, (jd.Started, jd.Measured))] == [jd.Started] + [jd.Measured] * 4
    measured = [event for event in events if isinstance(event, jd.Measured)]
    # The errors of the records are measured after the last round, with a twentieth of the budget.
    assert measured[-1].rho_spent == pytest.approx(0.95 * synth.release_.ledger.spent)
    assert synth.release_.errors is not None
    assert measured[0].source is None and set(measured[0].clique) <= set(synth.schema.attributes)
    assert any(isinstance(event, jd.Certified) for event in events)
    with pytest.raises(AttributeError):
        measured[0].round = 3
    jd.Synthesizer(schema, **SMALL).fit(people(300, 1), progress=True)
    shown = capsys.readouterr().err
    assert "jam-pgm" in shown and "spent" in shown
    jd.Synthesizer(schema, **SMALL).fit(people(300, 1))
    assert capsys.readouterr().err == ""


def test_the_private_table_among_the_public_ones_is_a_warning(schema):
    with pytest.warns(UserWarning, match="same rows as the private table"):
        jd.Synthesizer(schema, **SMALL).fit(people(80, 1), public={"same": people(80, 1)})


def test_an_exception_in_a_listener_stops_the_run_and_the_checkpoint_resumes_it(schema, tmp_path):
    class Stop(Exception):
        pass

    def stop(event):
        if isinstance(event, jd.Measured) and event.round == 2:
            raise Stop

    settings = {**SMALL, "seed": 5}
    expected = jd.Synthesizer(schema, **settings).fit(people(300, 1)).release_
    with pytest.raises(Stop):
        jd.Synthesizer(schema, **settings).fit(people(300, 1), checkpoint=tmp_path, label="people", progress=stop)
    resumed = jd.Synthesizer(schema, **settings).fit(people(300, 1), checkpoint=tmp_path, label="people").release_
    assert resumed.model.to_json() == expected.model.to_json()
    assert resumed.ledger == expected.ledger
    with pytest.raises(jd.CheckpointError):
        jd.Synthesizer(schema, **settings).fit(people(300, 1), checkpoint=tmp_path, label="another table")


def test_a_checkpoint_knows_all_files_of_a_table(schema, tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    write(parts / "part-0.csv", people(300, 1))
    write(parts / "part-1.csv", people(300, 2))
    synth = jd.Synthesizer(schema, **{**SMALL, "seed": 5})
    for table, kept in ((parts, "folder"), (f"{parts}/part-*.csv", "pattern")):
        first = synth.fit(table, checkpoint=tmp_path / kept).release_
        assert synth.fit(table, checkpoint=tmp_path / kept).release_.ledger == first.ledger
    # Another file in the folder is another table, though the folder's own path is the same.
    write(parts / "part-1.csv", people(300, 3))
    os.utime(parts / "part-1.csv", ns=(1, 1))
    for table, kept in ((parts, "folder"), (f"{parts}/part-*.csv", "pattern")):
        with pytest.raises(jd.CheckpointError):
            synth.fit(table, checkpoint=tmp_path / kept)


def test_no_table_gets_the_release_of_another(schema, tmp_path):
    synth = jd.Synthesizer(schema, **SMALL)
    with pytest.raises(ValueError, match="label"):
        synth.fit(people(300, 1), checkpoint=tmp_path)
    synth.fit(people(300, 1), checkpoint=tmp_path, label="a")
    with pytest.raises(jd.CheckpointError, match="these differ: private table$"):
        synth.fit(people(300, 2), checkpoint=tmp_path, label="b")
    # What is public of a table tells it apart even under the label of another: its number of rows, and its columns.
    with pytest.raises(jd.CheckpointError, match="these differ: number of private records$"):
        synth.fit(people(200, 2), checkpoint=tmp_path, label="a")
    narrow = jd.Synthesizer(schema.select(list(schema.attributes)[:-1]), **SMALL)
    with pytest.raises(jd.CheckpointError, match="these differ: attributes, .*schema"):
        narrow.fit(people(300, 1), checkpoint=tmp_path, label="a")


@pytest.mark.parametrize("last", [jd.Measured, jd.Certified])
def test_what_was_paid_for_is_kept_when_ctrl_c_comes_near_the_end(schema, tmp_path, last):
    def stop(event):
        is_paid = not isinstance(event, jd.Measured) or event.rho_spent >= 0.999 * event.rho_limit
        if isinstance(event, last) and is_paid:
            raise KeyboardInterrupt

    synth = jd.Synthesizer(schema, **SMALL, ledger=tmp_path / "ledger.json")
    with pytest.raises(KeyboardInterrupt) as told:
        synth.fit(people(300, 1), progress=stop)
    assert any("release_" in note and "rho" in note for note in told.value.__notes__)
    assert synth.release_.ledger == jd.Ledger.read(tmp_path / "ledger.json")
    assert synth.sample(10).num_rows == 10


def test_files_that_exist_are_refused_unless_overwriting_is_asked_for(schema, tmp_path):
    ledger = tmp_path / "ledger.json"
    ledger.write_text("somebody's work")
    with pytest.raises(jd.JointlyError, match="exists already"):
        jd.Synthesizer(schema, **SMALL, ledger=ledger).fit(people(300, 1))
    assert ledger.read_text() == "somebody's work"
    synth = jd.Synthesizer(schema, **SMALL, ledger=ledger, overwrite=True).fit(people(300, 1))
    assert jd.Ledger.read(ledger) == synth.release_.ledger
    model = synth.release_.model
    for write in (model.save, synth.report, lambda path, **more: model.sample_to(path, 5, **more)):
        path = tmp_path / "output.csv"
        path.write_text("somebody's work")
        with pytest.raises(jd.JointlyError, match="exists already"):
            write(path)
        assert path.read_text() == "somebody's work"
        write(path, overwrite=True)
        assert path.read_text() != "somebody's work"


def test_binding_functions_check_what_their_wrappers_check(schema):
    from jointly_dp import _native

    rows = _native.PrivateRows.read(schema._native, people(300, 1), "t", "add-remove-one", None)
    public = _native.Rows.read(schema._native, people(300, 1), "t")
    with pytest.raises(jd.JointlyError, match="units"):
        allowance = {"epsilon": 1.0, "delta": 1e-6, "neighbors": "add-remove-one", "unit": ["home", 1, "first"]}
        asked = json.dumps({"workload": "all-1-way", "allowance": allowance})
        _native.trust(schema._native, rows, [("t", public)], asked)


LONG = """
import json, sys, time
import jointly_dp as jd
names = [f"x{i}" for i in range(16)]
table = {name: [(row * (2 * i + 3) // 7) % 12 for row in range(2000)] for i, name in enumerate(names)}
synth = jd.Synthesizer(jd.Schema({name: 12 for name in names}), epsilon=10.0, delta=1e-6, mechanism="jam-pgm", rounds=400,
                       ledger=sys.argv[1])
def show(event):
    if isinstance(event, jd.Measured):
        print(event.round, flush=True)
try:
    synth.fit(table, progress=show)
except KeyboardInterrupt as error:
    print("stopped", json.dumps(getattr(error, "__notes__", [])), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_stops_a_long_fit_and_says_what_was_spent(tmp_path):
    ledger = tmp_path / "ledger.json"
    run = subprocess.Popen([sys.executable, "-c", LONG, ledger], stdout=subprocess.PIPE, text=True)
    for line in run.stdout:
        if int(line) >= 30:
            break
    run.send_signal(signal.SIGINT)
    sent = time.monotonic()
    rest = [line for line in run.stdout if not line.strip().isdigit()]
    took = time.monotonic() - sent
    assert run.wait() == 0 and rest[0].startswith("stopped"), rest
    [note] = json.loads(rest[0].removeprefix("stopped "))
    assert "was spent before the failure" in note and str(ledger) in note
    assert jd.Ledger.read(ledger).spent > 0
    # About a second by itself; other programs may use the processors.
    assert took < 5, took


def test_other_threads_run_during_a_fit(schema):
    turns = 0
    done = threading.Event()

    def count():
        nonlocal turns
        while not done.is_set():
            turns += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    began = time.monotonic()
    jd.Synthesizer(schema, **{**SMALL, "rounds": 40}).fit(people(2000, 1))
    took = time.monotonic() - began
    done.set()
    thread.join()
    assert turns > 20 * took, f"{turns} turns in {took} s"


def test_pickles_are_exact_and_hold_no_rows(schema):
    synth = jd.Synthesizer(schema, **SMALL).fit(people(300, 1), public={"near": people(200, 2)})
    release = synth.release_
    for value in (schema, jd.Workload("all-2-way", 50), release.ledger):
        assert pickle.loads(pickle.dumps(value)) == value
    again = pickle.loads(pickle.dumps(release))
    assert again.model.to_json() == release.model.to_json()
    assert (again.ledger, again.measurements) == (release.ledger, release.measurements)
    assert (again.is_private, again.model.is_private) == (True, True)
    with pytest.raises(RuntimeError, match="pickled"):
        again.report("page.html")
    from jointly_dp import _native

    rows = _native.PrivateRows.read(schema._native, people(20, 1), "t")
    for secret in (rows, release._native):
        with pytest.raises(TypeError):
            pickle.dumps(secret)
    assert [name for name in dir(rows) if not name.startswith("_")] == ["of_counter", "read"]
    assert "1" not in repr(rows).partition(" object")[0]


def test_the_report_and_the_plan(schema, tmp_path):
    synth = jd.Synthesizer(schema, **SMALL).fit(people(300, 1), public={"near": people(200, 2)})
    synth.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "near" in page and "jam-pgm" in page and "<script" not in page
    plan = synth.plan(300)
    assert plan["plan"]["rounds"] == 4 and plan["cliques"] == 15


def test_parameters_are_kept_as_given(schema):
    synth = jd.Synthesizer(schema, epsilon="a lot", rounds=3)
    assert synth.get_params()["epsilon"] == "a lot"
    copy = jd.Synthesizer(**synth.get_params())
    assert copy.get_params() == synth.get_params()
    with pytest.raises(RuntimeError, match="fit first"):
        synth.sample(3)


def test_rare_values_are_merged_and_come_back():
    jobs = [i % 3 if i % 10 < 9 else 3 + i // 10 % 37 for i in range(2000)]
    schema = jd.Schema({"job": 40, "sex": 2})
    settings = {**SMALL, "mechanism": "mst", "compress": 0.2}
    del settings["rounds"]
    synth = jd.Synthesizer(schema, **settings).fit({"job": jobs, "sex": [i // 2 % 2 for i in range(2000)]})
    job = json.loads(synth.release_.model.schema.to_json())["columns"][0]
    assert len(job["codes"]) < 20 and len(job["groups"][0]["values"]) > 20
    drawn = synth.released(kind="columns")["job"]
    assert len(set(drawn)) > 20 and set(drawn) <= set(range(40))


def test_workloads(schema):
    table = people(200, 1)
    def cliques(workload, **more):
        return jd.Synthesizer(schema, **{**SMALL, "workload": workload}, **more).plan(200)["cliques"]
    assert cliques([["sex", "age"], (["job"], 2.0)]) == 2
    assert cliques(jd.Workload("all-3-way:5@0")) == 5
    assert cliques("all-1-way", max_cells=2) == 1
    synth = jd.Synthesizer(schema, **{**SMALL, "workload": [["sex", "age"]]}).fit(table)
    assert {len(m.attributes) for m in synth.release_.measurements} <= {1, 2}
    with pytest.raises(jd.InputError, match="unknown attribute 'nobody'"):
        cliques([["nobody"]])


def test_measurements_in_any_order_of_attributes():
    values = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    turned = [list(column) for column in zip(*values, strict=True)]
    one = jd.fit({"a": 2, "b": 3}, [jd.Measurement(("a", "b"), values, stddev=0.1)])
    other = jd.fit({"a": 2, "b": 3}, [jd.Measurement(("b", "a"), turned, stddev=0.1)])
    assert one.total == pytest.approx(21.0)
    assert one.model.marginal(["a", "b"]).tolist() == other.model.marginal(["a", "b"]).tolist()
    assert one.model.marginal(["b", "a"]).tolist() == one.model.marginal(["a", "b"]).T.tolist()
    assert one.model.marginal(["a", "b"])[1, 2] == pytest.approx(6.0, abs=0.1)
    with pytest.raises(jd.InputError, match="has 5 cells, expected 6"):
        jd.fit({"a": 2, "b": 3}, [jd.Measurement(("a", "b"), [1, 2, 3, 4, 5])])


def test_threads_are_set_once():
    code = "import jointly_dp as jd; jd.set_threads(2)\ntry:\n    jd.set_threads(3)\nexcept jd.InputError: print('once')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ))
    assert done.stdout == "once\n"


def test_every_setting_of_a_job_is_a_keyword_or_refused_with_what_to_do() -> None:
    schema = jd.Schema({"sex": 2})
    refused = {"private", "public", "checkpoint", "out", "labels", "model", "measurements", "report", "tables", "units_out", "complete"}
    assert refused < set(jd.settings())
    for name, setting in jd.settings().items():
        assert setting["help"]
        if name in refused:
            with pytest.raises(TypeError, match=f"{name} is no parameter of Synthesizer: "):
                jd.Synthesizer(schema, **{name: "a value"}).fit({"sex": [0, 1]})
        elif name not in ("schema", "workload"):
            synth = jd.Synthesizer(schema, **{name: "a value"})
            assert f'"{name.replace("_", "-")}": "a value"' in synth._settings(None), name


def test_settings_are_numbers_of_any_kind(schema) -> None:
    numpy = pytest.importorskip("numpy")
    counted = {**SMALL, "rounds": numpy.int64(SMALL["rounds"]), "epsilon": numpy.float32(2.0)}
    expected = jd.Synthesizer(schema, **SMALL, seed=3).fit(people(300, 1)).release_
    found = jd.Synthesizer(schema, **counted, seed=numpy.uint8(3)).fit(people(300, 1)).release_
    assert found.model.to_json() == expected.model.to_json()
    for absurd in (float("inf"), float("nan"), numpy.float32("inf")):
        assert "epsilon is " in str(error_of(schema, epsilon=absurd))
        assert "measure-share is " in str(error_of(schema, measure_share=absurd))
    with pytest.raises(TypeError, match="a set is no setting"):
        jd.Synthesizer(schema, **SMALL, unit_columns={"sex"}).fit(people(300, 1))


def _homes(count: int, shift: int = 0) -> dict[str, list]:
    """Homes of one to three people in rows; the second is as old as the first, and of the other sex."""
    table: dict[str, list] = {"home": [], "place": [], "tenure": [], "sex": [], "age": []}
    for home in range(count):
        age, sex = home * 7 % 4, home % 2
        for place in range(1 + (home + shift) % 3):
            row = (f"h{home}", place + 1, home % 3 % 2, sex if place != 1 else 1 - sex, age if place < 2 else 0)
            for name, value in zip(table, row, strict=True):
                table[name].append(value)
    return table


def test_members_of_a_household_belong_together() -> None:
    schema = jd.Schema({"tenure": 2, "sex": 2, "age": 4})
    homes = {
        "neighbors": "add-remove-one", "unit": "home", "max_records": 3, "unit_columns": ["tenure"],
        "members": ["sex", "age"], "order": "place",
    }  # fmt: skip
    synth = jd.Synthesizer(schema, epsilon=3.0, delta=1e-6, mechanism="jam-pgm", rounds=12, **homes)
    synth.fit(_homes(600), public={"others": _homes(300, 1)})
    for found in (synth.sample(), synth.sample(200), synth.release_.model.sample(150)):
        found = found if isinstance(found, dict) else returned_columns(found)
        assert list(found) == ["home", "tenure", "place", "sex", "age"]
        together: dict[int, list] = {}
        for home, tenure, place, sex, age in zip(*found.values(), strict=True):
            together.setdefault(home, []).append((place, tenure, sex, age))
        assert all([row[0] for row in home] == list(range(1, len(home) + 1)) for home in together.values())
        assert all(len({row[1] for row in home}) == 1 for home in together.values())
        pairs = [home for home in together.values() if len(home) > 1]
        like = [a[2] != b[2] and a[3] == b[3] for a, b, *_ in pairs]
        assert sum(like) > 0.8 * len(like)
    assert synth.release_.ledger.spent > 0


def test_households_of_frames_are_compared_with_their_members() -> None:
    schema = jd.Schema({"tenure": 2, "sex": 2, "age": 4})
    homes = {
        "unit": "home", "max_records": 3, "unit_columns": ["tenure"], "members": ["sex", "age"], "order": "place",
    }  # fmt: skip
    with pytest.warns(UserWarning):
        same = jd.evaluate(_homes(300), _homes(300), schema, workload="all-2-way", **homes)["with_members"]
        other = jd.evaluate(_homes(300), _homes(300, 1), schema, workload="all-2-way", **homes)["with_members"]
    assert all(same[part]["mean_l1"] == 0 for part in ("one_member", "two_members", "compositions"))
    # Homes of other tenures, whose members are as many and as alike.
    assert other["one_member"]["mean_l1"] > 0.5 and other["two_members"]["mean_l1"] == 0
    assert other["compositions"]["mean_l1"] > 0.3 and other["compositions"]["tables"] == 21


def test_rows_of_a_unit_agree_and_come_with_their_unit() -> None:
    schema = jd.Schema({"tenure": 2, "sex": 2, "age": 4})
    synth = jd.Synthesizer(
        schema, epsilon=3.0, delta=1e-6, mechanism="mst", workload="all-2-way", neighbors="add-remove-one",
        unit="home", max_records=3, unit_columns=["tenure"],
    )  # fmt: skip
    found = returned_columns(synth.fit(_homes(300)).sample(kind="columns"))
    assert list(found) == ["home", "tenure", "sex", "age"]
    assert {home: tenure for home, tenure in zip(found["home"], found["tenure"], strict=True)} == dict(
        reversed(list(zip(found["home"], found["tenure"], strict=True)))
    )


def returned_columns(table) -> dict[str, list]:
    """The columns of whatever was returned."""
    if isinstance(table, dict):
        return table
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.table(table).to_pydict()
