"""The same seed and the same table give what the command line gives, whatever form the table has."""

from __future__ import annotations

import datetime
import json
import os
import pickle
import subprocess
import sys
import warnings

import jointly_dp as jd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from conftest import people, told, write

SYNTH = (
    "synth --private private.csv --public near=public.csv --schema schema.json --epsilon 2 --delta 1e-6 --seed 7 "
    "--mechanism jam-pgm --workload all-2-way --rounds 4 --quiet"
)


def polars_frame(table: dict[str, list]) -> pl.DataFrame:
    days = [datetime.date.fromisoformat(day) for day in table["seen"]]
    return pl.DataFrame({**table, "seen": days}).with_columns(pl.col("job").cast(pl.Enum(["full", "none", "part"])))


def pandas_frame(table: dict[str, list]) -> pd.DataFrame:
    # Integers with missing values become floats, and text becomes a category.
    frame = pd.DataFrame(table)
    assert frame["sex"].dtype == np.float64
    return frame.assign(job=frame["job"].astype("category"), seen=pd.to_datetime(frame["seen"]))


def numpy_columns(table: dict[str, list]) -> dict[str, object]:
    return {
        **table,
        "age": np.array(table["age"], dtype=np.int8),
        "pay": np.array([np.nan if pay is None else pay for pay in table["pay"]]),
        "seen": np.array(table["seen"], dtype="datetime64[D]"),
    }


FORMS = {
    "columns": dict,
    "numpy": numpy_columns,
    "polars": polars_frame,
    "pandas": pandas_frame,
    "pyarrow": pa.table,
    "batch": lambda table: pa.table(table).combine_chunks().to_batches()[0],
    "chunks": lambda table: pa.concat_tables([pa.table(table).slice(0, 100), pa.table(table).slice(100)]),
}


def fitted(schema: jd.Schema, private: object, public: object) -> jd.Synthesizer:
    synth = jd.Synthesizer(
        schema, epsilon=2, delta=1e-6, mechanism="jam-pgm", workload="all-2-way", seed=7, rounds=4
    )
    return synth.fit(private, public={"near": public})


def csv_of(table: object) -> str:
    """A table as the command line would write it."""
    columns = pa.table(table).to_pydict()
    lines = [",".join(columns)]
    for row in zip(*columns.values(), strict=True):
        lines.append(",".join("NA" if value is None else str(value) for value in row))
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="session")
def expected(command, folder) -> str:
    return told(command, folder, f"{SYNTH} --out - --ledger cli.ledger.json --model cli.model.json")


def assert_same_rows(table: object, expected: str) -> None:
    """Numbers are written in the same digits; only whole pay would differ (3.0 for 3), so compare values."""
    rows = [line.split(",") for line in expected.splitlines()]
    ours = [line.split(",") for line in csv_of(table).splitlines()]
    assert rows[0] == ours[0] and len(rows) == len(ours)
    pay = rows[0].index("pay")
    for row, own in zip(rows[1:], ours[1:], strict=True):
        for at, (one, other) in enumerate(zip(row, own, strict=True)):
            assert one == other or (at == pay and float(one) == float(other))


@pytest.mark.parametrize("form", FORMS)
def test_frames_give_the_rows_of_the_command_line(form, schema, expected):
    synth = fitted(schema, FORMS[form](people(600, 1)), FORMS[form](people(500, 2)))
    assert not synth.release_.is_private
    for table in (synth.sample(seed=7, kind="pyarrow"), synth.released(kind="pyarrow")):
        assert_same_rows(table, expected)


def test_paths_give_the_rows_of_the_command_line(schema, folder, expected):
    for form in ("csv", "parquet"):
        for name, seed in (("private", 1), ("public", 2)):
            if form == "parquet":
                pyarrow.parquet.write_table(pa.table(people(600 if seed == 1 else 500, seed)), folder / f"{name}.parquet")
        synth = fitted(schema, folder / f"private.{form}", folder / f"public.{form}")
        assert synth.sample(seed=7).num_rows == len(expected.splitlines()) - 1
        ours = json.loads(synth.release_.ledger.to_json())
        theirs = json.loads((folder / "cli.ledger.json").read_text())
        assert ours == theirs


def test_what_streams_into_a_run_gives_the_rows_of_the_frame(schema, expected, tmp_path):
    table, public = pa.table(people(600, 1)), pa.table(people(500, 2))
    files = tmp_path / "parts"
    files.mkdir()
    for part in range(3):
        pyarrow.parquet.write_table(table.slice(200 * part, 200), files / f"{part}.parquet")
    dataset = pytest.importorskip("pyarrow.dataset").dataset(files)
    forms = {
        "lazy": lambda: pl.scan_parquet(files / "*.parquet"),
        "dataset": lambda: dataset,
        "scanner": lambda: dataset.scanner(batch_size=70),
        "reader": lambda: dataset.scanner().to_reader(),
        "frames": lambda: (pl.from_arrow(table.slice(at, 100)) for at in range(0, 600, 100)),
        "columns": lambda: iter([people(600, 1)]),
    }
    for form in forms.values():
        synth = fitted(schema, form(), (part for part in (public.slice(0, 100), public.slice(100))))
        assert_same_rows(synth.released(kind="arrow"), expected)
    by_homes = {"unit": "home", "max_records": 2, "neighbors": "add-remove-one", "seed": 7, "mechanism": "independent"}
    synth = jd.Synthesizer(schema, epsilon=2, delta=1e-6, workload="all-1-way", **by_homes)
    with pytest.warns(UserWarning, match="NOT PRIVATE"):
        whole = synth.fit(table).release_.model.to_json()
        assert synth.fit(iter([table.slice(0, 301), table.slice(301)])).release_.model.to_json() == whole


def test_a_stream_that_breaks_off_is_refused(schema):
    def broken():
        yield people(10, 1)
        raise OSError("the disk is gone")

    synth = jd.Synthesizer(schema, epsilon=2, delta=1e-6)
    with pytest.raises(jd.InputError, match="the disk is gone"):
        synth.fit(broken())
    with pytest.raises(jd.InputError, match="a part with the columns sex, expected those of its first part: sex, job"):
        synth.fit(iter([people(10, 1), {"sex": [1]}]))
    with pytest.raises(jd.InputError, match="row 12"):
        synth.fit(iter([people(10, 1), {**people(2, 1), "kids": [1, 9]}]))
    with pytest.raises(ValueError, match="without parts"):
        synth.fit(iter([]))



def test_models_are_those_of_the_command_line(schema, folder, command, expected, tmp_path):
    synth = fitted(schema, folder / "private.csv", folder / "public.csv")
    assert synth.release_.model.to_json() == (folder / "cli.model.json").read_text()
    told(command, folder, "sample --model cli.model.json --rows 500 --seed 3 --out sampled.csv --quiet")
    model = jd.Model.load(folder / "cli.model.json")
    model.sample_to(tmp_path / "sampled.csv", 500, seed=3)
    assert (tmp_path / "sampled.csv").read_bytes() == (folder / "sampled.csv").read_bytes()
    model.sample_to(tmp_path / "sampled.parquet", 500, seed=3)
    assert pyarrow.parquet.read_table(tmp_path / "sampled.parquet") == pa.table(model.sample(500, seed=3))
    told(command, folder, "sample --model cli.model.json --rows 40 --seed 3 --given sex=1 --out given.csv --quiet")
    given = pa.table(model.sample(40, seed=3, given="sex=1")).column("age").to_pylist()
    assert given == [int(line.split(",")[2]) for line in (folder / "given.csv").read_text().splitlines()[1:]]


def test_answers_are_those_of_the_command_line(folder, command, expected):
    words = "ask --model cli.model.json --share sex=1 --mean age --median seen --quantile pay=0.9 --by job --json"
    theirs = json.loads(told(command, folder, words))["answers"]
    model = jd.Model.load(folder / "cli.model.json")
    ours = model.ask(share=["sex=1"], mean=["age"], median=["seen"], quantile={"pay": 0.9}, by=["job"])
    assert [one["question"] for one in theirs] == [one.question for one in ours]
    for one, other in zip(theirs, ours, strict=True):
        assert [row["answer"] for row in one["rows"]] == [row.answer for row in other.rows]
        assert [row.get("basis") for row in one["rows"]] == [row.basis for row in other.rows]
        for name in ("interval", "answer_interval"):
            ends = [tuple(row[name][end] for end in ("lower", "upper")) if name in row else None for row in one["rows"]]
            assert ends == [getattr(row, name) for row in other.rows]
        assert one.get("is_date", False) == other.is_date


def test_what_spends_without_a_table_is_that_of_the_command_line(schema, folder, command):
    budget = "--private private.csv --schema schema.json --epsilon 2 --delta 1e-6 --seed 7 --quiet --overwrite"
    told(command, folder, f"answer {budget} --workload all-2-way --mechanism hdmm --out answers.json")
    theirs = json.loads((folder / "answers.json").read_text())
    settings = {"epsilon": 2, "delta": 1e-6, "seed": 7, "workload": "all-2-way"}
    plan = jd.CountPlan(schema, workload="all-2-way", mechanism="hdmm")
    counter = plan.counter()
    counter.update(people(600, 1))
    for table in (people(600, 1), folder / "private.csv", counter):
        with pytest.warns(UserWarning, match="NOT PRIVATE"):
            assert jd.answer(table, schema, mechanism="hdmm", **settings) == theirs
    words = f"mixture-error {budget} --workload all-2-way --public public.csv --ledger mixture.json --json"
    theirs = json.loads(told(command, folder, words))
    with pytest.warns(UserWarning, match="NOT PRIVATE"):
        ours = jd.mixture_error(people(600, 1), people(500, 2), schema, **settings)
    assert [ours[name] for name in ("value", "stddev", "half_width")] == [
        theirs[name] for name in ("value", "stddev", "half_width")
    ]
    words = "mixture-error --private private.csv --schema schema.json --workload all-2-way --public public.csv --json"
    theirs = json.loads(told(command, folder, words))
    with pytest.warns(UserWarning, match="NOT PRIVATE"):
        ours = jd.mixture_error(people(600, 1), people(500, 2), schema, workload="all-2-way")
    assert ours == {name: theirs[name] for name in ours}
    with pytest.raises(TypeError, match="expected rows"):
        jd.mixture_error(counter, people(500, 2), schema)


def test_trust_is_that_of_the_command_line(schema, folder, command):
    words = (
        "trust --private private.csv --public public.csv --schema schema.json --epsilon 2 --delta 1e-6 --seed 7 --workload all-2-way "
        "--mixture-share 0.3 --rows 200 --cells supported --confidence 0.9 --ledger trust.json --json --quiet --overwrite"
    )
    theirs = json.loads(told(command, folder, words))
    counter = jd.CountPlan(schema, workload="all-2-way", mechanism="aim").counter()
    counter.update(people(600, 1))
    for table in (people(600, 1), folder / "private.csv", iter([people(600, 1)]), counter):
        with pytest.warns(UserWarning, match="NOT PRIVATE"):
            ours = jd.trust(
                table, folder / "public.csv", schema, epsilon=2, delta=1e-6, seed=7, workload="all-2-way", mixture_share=0.3,
                rows=200, cells="supported", confidence=0.9,
            )  # fmt: skip
        assert ours == theirs


RANGES = {
    "columns": [
        {"name": "age", "kind": "numeric", "edges": [0, 10000], "integer": True},
        {"name": "job", "kind": "categorical", "codes": ["none", "other"], "other": "other"},
    ]
}


def test_bins_are_those_of_the_command_line(folder, command, tmp_path):
    (folder / "ranges.json").write_text(json.dumps(RANGES))
    words = (
        "bins --private private.csv --schema ranges.json --categories job --category-share 0.4 --category-delta 2e-7 --epsilon 2 "
        "--delta 1e-6 --seed 7 --out bins.json --ledger bins-ledger.json --overwrite --quiet"
    )
    told(command, folder, words)
    table = people(600, 1)
    settings = {"epsilon": 2, "delta": 1e-6, "categories": ["job"], "category_share": 0.4, "category_delta": 2e-7, "seed": 7}
    for number, form in enumerate((table, folder / "private.csv", pl.DataFrame(table), pd.DataFrame(table))):
        ledger = tmp_path / f"{number}.json"
        with pytest.warns(UserWarning, match="NOT PRIVATE"):
            found = jd.bins(form, RANGES, **settings, ledger=ledger)
        assert found.schema == jd.Schema.read(folder / "bins.json")
        assert set(found.categories) == {"job"} and not found.ledger.is_private
        assert found.ledger == jd.Ledger.read(ledger) == jd.Ledger.read(folder / "bins-ledger.json")
    with pytest.raises(jd.JointlyError, match="category share is 2"):
        jd.bins(table, RANGES, **{**settings, "category_share": 2, "seed": None})


def test_combined_statistics_are_those_of_the_command_line(schema, folder, command, expected):
    told(command, folder, f"{SYNTH} --tables 2 --out several.csv --ledger several.json --model several.model.json --overwrite")
    words = "combine --model several.model.json --synthetic several.csv --tables 2 --share sex=1 --mean age --given job=none --json"
    more = ["--difference", "age: sex=1 vs sex=2", "--linear", "age ~ sex"]
    theirs = json.loads(told(command, folder, [*words.split(), *more]))
    model = jd.Model.load(folder / "several.model.json")
    asked = {
        "share": ["sex=1"], "mean": ["age"], "difference": ["age: sex=1 vs sex=2"], "linear": ["age ~ sex"], "given": "job=none",
    }  # fmt: skip
    replicates = [folder / f"several.replicate-{number}.csv" for number in (1, 2)]
    ours = model.combine(folder / "several.csv", replicates=replicates, **asked)
    assert ours == theirs
    frames = [pd.read_csv(path, dtype=str, keep_default_na=False) for path in (folder / "several.csv", *replicates)]
    assert model.combine(frames[0], replicates=frames[1:], **asked) == theirs
    synth = fitted(schema, people(600, 1), people(500, 2))
    own = synth.replicates(2, kind="pyarrow")
    for table, path in zip(own, replicates, strict=True):
        assert_same_rows(table, path.read_text())
    assert model.combine(synth.released(kind="pyarrow"), replicates=own, **asked) == theirs
    with pytest.raises(jd.UsageError, match="tables is 1, expected from 2 to 1000"):
        synth.replicates(1)
    with pytest.raises(TypeError, match="call replicates"):
        jd.Synthesizer(schema, epsilon=1, delta=1e-6, tables=5).fit(people(600, 1))
    with pytest.raises(RuntimeError, match="pickled"):
        synth.release_ = pickle.loads(pickle.dumps(synth.release_))
        synth.replicates(2)


def test_intervals_from_posterior_tables_are_those_of_the_command_line(folder, command):
    told(
        command,
        folder,
        "synth --private private.csv --schema schema.json --mechanism residual-planner --workload all-2-way --epsilon 5 --delta 1e-6 "
        "--seed 1 --out pairs.csv --model pairs.model.json --overwrite",
    )
    words = "combine --model pairs.model.json --synthetic pairs.csv --posterior 5 --seed 3 --json --logistic"
    theirs = json.loads(told(command, folder, [*words.split(), "sex=1 ~ age + job=none"]))
    model = jd.Model.load(folder / "pairs.model.json")
    ours = model.combine(folder / "pairs.csv", logistic=["sex=1 ~ age + job=none"], posterior=5, seed=3)
    assert ours == theirs
    assert ours["statistics"][0]["numbers"][1]["combined"]["method"] == "posterior"
    told(command, folder, "posterior --model pairs.model.json --columns sex,job,pay --tables 3 --seed 3 --out drawn.csv --overwrite".split())
    drawn = model.posterior(["sex", "job", "pay"], 3, seed=3, kind="pyarrow")
    for number, table in enumerate(drawn, start=1):
        assert_same_rows(table, (folder / f"drawn.posterior-{number}.csv").read_text())
    with pytest.raises(ValueError, match="tables is 1, expected"):
        model.posterior(["sex", "job"], 1)
    with pytest.raises(ValueError, match="posterior is 1, expected from 2 to 1000"):
        model.combine(folder / "pairs.csv", logistic=["sex=1 ~ age"], posterior=1)


def test_measures_are_those_of_the_command_line(schema, folder, command):
    rules = {"rules": [{"name": "no man works", "forbidden": {"sex": ["1"], "job": {"not": ["none"]}}}]}
    (folder / "rules.json").write_text(json.dumps(rules))
    words = (
        "evaluate --private private.csv --synthetic public.csv --schema schema.json --workload all-2-way --json --worst 4 "
        "--measures k-marginal,propensity,correlation,unique-matches,singles-and-pairs --k 2 --draws 3 --rules rules.json --groups sex "
        "--by sex,job --predict sex,job --regress age~sex+kids --regress pay~age --unit home --max-records 2 --unit-columns job "
        "--per-unit sex=1 --members sex --order kids --report theirs.html"
    )
    theirs = json.loads(told(command, folder, words))
    asked = {
        "measures": ["k-marginal", "propensity", "correlation", "unique-matches", "singles-and-pairs"],
        "k": np.int64(2), "draws": 3, "groups": ["sex"], "by": ("sex", "job"), "predict": ["sex", "job"], "regress": ["age~sex+kids", "pay~age"],
        "unit": "home", "max_records": 2, "unit_columns": ["job"], "per_unit": ["sex=1"], "worst": 4,
        "members": ["sex"], "order": "kids",
    }  # fmt: skip
    # The weight goes with none of these: the next test has it.
    assert set(jd.evaluation_settings()) == {*asked, "rules", "workload", "max_cells", "weight"}, "every setting is tried"
    page = folder / "ours.html"
    for real, rules_of in [(people(600, 1), rules), (str(folder / "private.csv"), folder / "rules.json")]:
        with pytest.warns(UserWarning, match="NOT PRIVATE"):
            ours = jd.evaluate(
                real, polars_frame(people(500, 2)), schema, workload="all-2-way", rules=rules_of, report=page,
                overwrite=page.exists(), **asked,
            )  # fmt: skip
        assert ours == theirs
    named = {"public.csv": "synthetic table"}
    text = (folder / "theirs.html").read_text()
    for name, ours in named.items():
        text = text.replace(name, ours)
    assert page.read_text() == text


WEIGHTED = {
    "columns": [
        {"name": "a", "kind": "coded", "size": 3},
        {"name": "b", "kind": "coded", "size": 2},
        {"name": "w", "role": "weight"},
    ]
}


def test_weighted_releases_are_those_of_the_command_line(folder, command):
    rng = np.random.default_rng(1)
    for name in ("sample", "public"):
        a, b = rng.integers(0, 3, 500), rng.integers(0, 2, 500)
        rows = zip(a, b, 10 + 5 * a + rng.integers(0, 9, 500), strict=True)
        (folder / f"{name}.csv").write_text("a,b,w\n" + "".join(f"{x},{y},{z}\n" for x, y, z in rows))
    (folder / "weighted.json").write_text(json.dumps(WEIGHTED))
    (folder / "b.csv").write_text("b,people\n0,5000\n1,4000\n")
    for emit in ("population", "weighted"):
        told(
            command, folder,
            "synth --private sample.csv --public near=public.csv --schema weighted.json --epsilon 1 --delta 1e-6 --mechanism mst "
            f"--seed 3 --weight w --totals b.csv --emit {emit} --out {emit}.csv --ledger {emit}.ledger.json --quiet",
        )  # fmt: skip
        synth = jd.Synthesizer(
            jd.Schema.read(folder / "weighted.json"), epsilon=1.0, delta=1e-6, mechanism="mst", seed=3, weight="w",
            totals=[str(folder / "b.csv")], emit=emit,
        )  # fmt: skip
        synth.fit(folder / "sample.csv", public={"near": folder / "public.csv"})
        theirs = pa.csv.read_csv(folder / f"{emit}.csv")
        ours = pa.table(synth.released())
        assert ours.column_names == theirs.column_names == (["a", "b"] if emit == "population" else ["a", "b", "w"])
        assert ours.column("b").to_pylist() == theirs.column("b").to_pylist()
        words = f"evaluate --private sample.csv --synthetic {emit}.csv --schema weighted.json --workload all-2-way --weight w --json"
        with pytest.warns(UserWarning, match="NOT PRIVATE"):
            found = jd.evaluate(
                folder / "sample.csv", pa.table(synth.released()), jd.Schema.read(folder / "weighted.json"),
                workload="all-2-way", weight="w",
            )  # fmt: skip
        assert found["error"]["mean_l1"] == pytest.approx(json.loads(told(command, folder, words))["error"]["mean_l1"], abs=1e-9)
    assert pa.table(synth.sample()).num_rows == 500
    assert pickle.loads(pickle.dumps(synth.release_))._usual_records == 500
    assert sum(ours.column("w").to_pylist()) == pytest.approx(9000)


COUNTED = {"columns": [{"name": "a", "kind": "coded", "size": 3}, {"name": "b", "kind": "coded", "size": 2}]}


def test_fits_to_tables_are_those_of_the_command_line(folder, command, tmp_path):
    (folder / "counted.json").write_text(json.dumps(COUNTED))
    tables = {
        "exact": {"b": [0, 1], "people": [500, 400]},
        "fives": {"a": [0, 1, 2], "people": [300, 250, 350]},
        "rare": {"a": [0, 1, 2], "b": [0, 0, 0], "people": [180, 120, None]},
        "noisy": {
            "measurement": [1, 1], "attribute_1": ["b", "b"], "value_1": [0, 1], "count": [510.5, 391.0],
            "stddev": [9.0, 9.0], "source": ["private"] * 2,
        },
    }  # fmt: skip
    for name, table in tables.items():
        (folder / f"{name}.csv").write_text(csv_of(table).replace("NA", ""))
    told(
        command, folder,
        "synth --private private.csv --schema schema.json --epsilon 1 --delta 1e-6 --mechanism independent --seed 1 "
        "--out paid.csv --ledger paid.json --quiet",
    )  # fmt: skip
    files = "--totals exact.csv --rounded 5:fives.csv --suppressed 250:rare.csv --measurements noisy.csv --ledger paid.json"
    words = f"fit --schema counted.json {files} --out fit.csv --model fit.json --fitted tables.csv --seed 4 --json"
    theirs = json.loads(told(command, folder, words))
    asked = {
        "totals": {"exact": tables["exact"]}, "rounded": {"fives": (5, pl.DataFrame(tables["fives"]))},
        "suppressed": {"rare": (250, str(folder / "rare.csv"))}, "measurements": {"noisy": pd.DataFrame(tables["noisy"])},
        "ledger": folder / "paid.json",
    }  # fmt: skip
    schema = jd.Schema.read(folder / "counted.json")
    fitted = jd.fit_tables(schema, **asked)
    ours = fitted.summary
    assert theirs.pop("rows_difference") == 0.0 and ours.pop("rows_difference") is None
    assert ours == theirs and fitted.guarantee.startswith("NOT PRIVATE: the noise") and not fitted.is_private
    assert fitted.model.to_json() == (folder / "fit.json").read_text()
    assert csv_of(fitted.sample(seed=4)) == (folder / "fit.csv").read_text()
    assert len(fitted.tables()) == len((folder / "tables.csv").read_text().splitlines()) - 1 == 13
    assert all(row["least"] - 15 <= row["fitted"] <= row["most"] + 15 for row in fitted.tables())

    # Records with weights.
    public = {"a": [0, 1, 2, 2], "b": [0, 1, 0, 1]}
    (folder / "few.csv").write_text(csv_of(public))
    told(command, folder, "fit --schema counted.json --totals exact.csv --public few.csv --emit weighted --out few.out.csv")
    weighted = jd.fit_tables(schema, totals={"exact": tables["exact"]}, public=public).weighted()
    assert pa.csv.read_csv(folder / "few.out.csv").to_pydict() == pa.table(weighted).to_pydict()

    # Every setting of a fit is a keyword here, or an argument of what draws and writes.
    drawn = {"schema", "rows", "emit", "draw", "labels", "seed", "out", "model", "fitted", "report"}
    fitted.report(folder / "fit.html")
    assert "paid by the ledger" in (folder / "fit.html").read_text(encoding="utf-8")
    with pytest.raises(jd.UsageError, match="exists"):
        fitted.report(folder / "fit.html")
    fitted.report(folder / "fit.html", overwrite=True)
    known = {one["name"] for one in json.loads(jd._native.fit_settings())}
    assert known == drawn | {*asked, "cleared", "total", "public", "size_limit_mib"}
    for wrong, error, message in [
        ({"totals": {"exact": tables["exact"]}, "total": 5.0}, jd.InputError, "expected 900, as in the exact tables"),
        ({"totals": {"exact": tables["exact"]}, "cleared": ["b"]}, jd.InputError, "names of tables: exact"),
        ({"totals": {"t": tables["exact"]}, "size_limit_mib": 1e-9}, jd.TooLarge, "the graphical model of these tables"),
        ({"measurements": {"noisy": tables["noisy"]}}, jd.InputError, "no ledger that paid for them"),
        ({"totals": {"t": {"b": [0], "c": [1], "people": [3]}}}, jd.InputError, "2 columns that are no attribute"),
    ]:
        with pytest.raises(error, match=message):
            jd.fit_tables(schema, **wrong)
    with pytest.raises(ValueError, match="n is 0"):
        fitted.sample(0)
    with pytest.raises(jd.InputError, match="a model of public records"):
        fitted.weighted()


def test_settings_of_an_evaluation_are_checked(schema, folder):
    table = people(50, 1)
    for wrong, error, message in [
        ({"regression": []}, TypeError, "no setting of an evaluation, expected one of workload, max_cells"),
        ({"measures": ["all"]}, jd.UsageError, 'measures is .* expected a list of k-marginal'),
        ({"per_unit": ["sex=1"]}, jd.UsageError, "per unit needs `unit`"),
        ({"by": ["work"]}, jd.InputError, "unknown attribute 'work' in `by`"),
        ({"unit": "home", "report": folder / "private.csv"}, jd.UsageError, "exists"),
    ]:
        with pytest.raises(error, match=message), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            jd.evaluate(table, table, schema, **wrong)


def test_units_count_as_on_the_command_line(schema, folder, command):
    words = (
        "synth --private private.csv --schema schema.json --epsilon 2 --delta 1e-6 --seed 7 --mechanism independent "
        "--neighbors add-remove-one --unit home --max-records 2 --out - --ledger units.json --quiet"
    )
    told(command, folder, words)
    synth = jd.Synthesizer(
        schema, epsilon=2, delta=1e-6, mechanism="independent", neighbors="add-remove-one", unit="home", max_records=2, seed=7
    )
    for table in (people(600, 1), pandas_frame(people(600, 1)), str(folder / "private.csv")):
        ledger = json.loads(synth.fit(table).release_.ledger.to_json())
        assert ledger == json.loads((folder / "units.json").read_text())


HOMES = {
    "columns": [
        {"name": "home", "role": "id"},
        {"name": "tenure", "kind": "categorical", "codes": ["own", "rent"]},
        {"name": "age", "kind": "numeric", "edges": [0, 18, 65, 100], "integer": True},
        {"name": "role", "kind": "categorical", "codes": ["head", "child"]},
    ],
}


def test_completed_rows_are_those_of_the_command_line(command, schema, tmp_path):
    write(tmp_path / "private.csv", people(400, 1))
    (tmp_path / "schema.json").write_text(schema.to_json())
    given = pd.DataFrame({"number": range(400), "sex": people(400, 2)["sex"], "job": people(400, 2)["job"]})
    given["sex"] = given["sex"].astype("Int64")
    given.to_csv(tmp_path / "given.csv", index=False, na_rep="NA")
    words = (
        "synth --private private.csv --schema schema.json --epsilon 2 --delta 1e-6 --seed 3 --mechanism mst --workload all-2-way --quiet "
        "--complete given.csv --keep-columns number --out full.parquet --model model.json"
    )
    told(command, tmp_path, words)
    expected = pa.parquet.read_table(tmp_path / "full.parquet")
    assert expected.column_names[:3] == ["number", "sex", "job"] and expected.num_rows == 400
    synth = jd.Synthesizer(
        schema, epsilon=2, delta=1e-6, mechanism="mst", workload="all-2-way", seed=3, keep_columns=["number"]
    )
    for rows in (tmp_path / "given.csv", given, pa.Table.from_pandas(given)):
        synth.fit(pd.DataFrame(people(400, 1)), complete=rows)
        assert pa.table(synth.released(kind="pyarrow")).equals(expected)
        # The measured errors are those of these rows, and not of what the model draws.
        assert synth.release_.errors is not None
        [answer] = synth.release_.model.ask(marginal=[["sex", "age", "job"]])
        assert all(row.interval is None for row in answer.rows)
        assert synth.release_.model.to_json() == (tmp_path / "model.json").read_text()
    with pytest.raises(jd.InputError, match="unknown column 'number'"):
        jd.Synthesizer(schema, epsilon=2, delta=1e-6, mechanism="mst").fit(people(400, 1), complete=given)
    with pytest.raises(jd.JointlyError, match="keep"):
        synth.fit(people(400, 1))
    # Rows that are written as they are must not be private ones, nor a part of them.
    rows = pd.DataFrame(people(400, 1))
    with pytest.raises(ValueError, match="complete is the private table"):
        synth.fit(rows, complete=rows)
    with pytest.raises(jd.JointlyError, match="is the private table"):
        synth.fit(tmp_path / "private.csv", complete=tmp_path / "private.csv")


def test_households_in_two_tables_are_those_of_the_command_line(command, tmp_path):
    (tmp_path / "homes.json").write_text(json.dumps(HOMES))
    homes = pd.DataFrame({"home": range(300), "tenure": ["own" if home % 3 else "rent" for home in range(300)]})
    members = [
        (home, place, (home * 7) % 60 + 20 if place == 1 else (home + place) % 18, "head" if place == 1 else "child")
        for home in range(300)
        for place in range(1, 2 + home % 3)
    ]
    people = pd.DataFrame(members, columns=["home", "place", "age", "role"])
    homes.to_csv(tmp_path / "homes.csv", index=False)
    people.to_csv(tmp_path / "people.csv", index=False)
    words = (
        "synth --private people.csv+homes.csv --schema homes.json --epsilon 5 --delta 1e-6 --seed 3 --mechanism mst --workload all-2-way "
        "--neighbors add-remove-one --unit home --max-records 3 --unit-columns tenure --members age,role --order place --quiet "
        "--out all.csv --model model.json"
    )
    told(command, tmp_path, words)
    told(command, tmp_path, words.replace("all.csv", "p.csv --units-out h.csv") + " --overwrite")
    synth = jd.Synthesizer(
        HOMES, epsilon=5, delta=1e-6, mechanism="mst", workload="all-2-way", neighbors="add-remove-one", unit="home", max_records=3,
        unit_columns=["tenure"], members=["age", "role"], order="place", seed=3,
    )  # fmt: skip
    expected = pd.read_csv(tmp_path / "all.csv")
    for table in (f"{tmp_path}/people.csv+{tmp_path}/homes.csv", people.merge(homes, on="home")):
        released = pa.table(synth.fit(table).released()).to_pandas()
        assert released.astype(str).equals(expected.astype(str))
    apart = pd.read_csv(tmp_path / "p.csv").merge(pd.read_csv(tmp_path / "h.csv"), on="home")
    assert list(apart["home"]) == list(expected["home"]) and list(apart["tenure"]) == list(expected["tenure"])
    # Who lives together.
    model = synth.release_.model
    [answer] = model.ask(having=["age=0..17; age=65.."])
    told(command, tmp_path, "ask --model model.json --having age=0..17;age=65.. --json")
    said = json.loads(told(command, tmp_path, ["ask", "--model", "model.json", "--having", "age=0..17; age=65..", "--json"]))
    assert (said["answers"][0]["question"], said["answers"][0]["rows"][0]["answer"]) == (answer.question, answer.rows[0].answer)
    assert 0.0 < answer.rows[0].answer < 0.3
    with pytest.raises(ValueError, match="expected no by"):
        model.ask(having=["age=0..17"], by=["tenure"])
    with pytest.raises(jd.InputError, match="a column of members"):
        model.ask(having=["tenure=own"])
    # What no household has.
    rules = "schema --schema homes.json --public people.csv --unit home --max-records 3 --members role --order place --out rules.json"
    narrow = {"columns": [column for column in HOMES["columns"] if column["name"] in ("home", "role")]}
    (tmp_path / "homes.json").write_text(json.dumps(narrow))
    told(command, tmp_path, rules)
    units = {"unit": "home", "max_records": 3, "members": ["role"], "order": "place"}
    path = tmp_path / "people.csv"
    drafted = jd.Schema(narrow).with_unlikely([path]).with_unlikely_members([path], **units)
    assert json.loads(drafted.to_json()) == json.loads((tmp_path / "rules.json").read_text())
    assert len(json.loads(drafted.to_json())["unlikely_members"]) == 2


def test_the_kind_that_went_in_comes_out(schema, tmp_path):
    table = people(200, 1)
    synth = jd.Synthesizer(schema, epsilon=5, delta=1e-6, mechanism="independent")
    frame = synth.fit(polars_frame(table)).sample(50)
    assert isinstance(frame, pl.DataFrame)
    assert frame.schema == {
        "sex": pl.Int64, "job": pl.String, "age": pl.Int64, "pay": pl.Float64, "seen": pl.Date, "kids": pl.Int64,
    }  # fmt: skip
    frame = synth.fit(pandas_frame(table)).sample(50)
    assert isinstance(frame, pd.DataFrame) and len(frame) == 50
    assert frame["sex"].dtype == pd.Int64Dtype() and frame["age"].dtype == np.int64
    assert isinstance(synth.fit(pa.table(table)).sample(50), pa.Table)
    arrow = synth.fit(table).sample(50, labels=True)
    assert hasattr(arrow, "__arrow_c_stream__")
    assert set(pl.DataFrame(arrow)["job"]) <= {"None", "Part time", "Full time"}
    # What comes out can go in again.
    assert synth.fit(synth.sample(60)).sample(5).num_rows == 5
    columns = synth.sample(60, kind="columns")
    assert isinstance(columns["seen"][0], datetime.date) and synth.fit(columns).sample(5).num_rows == 5
    with pytest.raises(ValueError, match="kind is 'excel'"):
        synth.sample(5, kind="excel")
    assert isinstance(synth.fit(write(tmp_path / "t.csv", table)).sample(5, kind="pandas"), pd.DataFrame)


ALONE = """
import sys
sys.modules["pyarrow"] = None
sys.path.insert(0, sys.argv[1])
import jointly_dp as jd, pandas as pd
from conftest import COLUMNS, people
frame = pd.DataFrame(people(300, 1)).assign(seen=lambda frame: pd.to_datetime(frame["seen"]))
settings = {"epsilon": 5.0, "delta": 1e-6, "mechanism": "independent", "seed": 1}
synth = jd.Synthesizer(jd.Schema(COLUMNS), **settings).fit(frame)
same = jd.Synthesizer(jd.Schema(COLUMNS), **settings).fit(people(300, 1))
assert synth.release_.model.to_json() == same.release_.model.to_json()
assert synth.sample(50)["sex"].dtype == pd.Int64Dtype()
"""


def test_pandas_needs_no_pyarrow():
    subprocess.run([sys.executable, "-c", ALONE, os.path.dirname(__file__)], check=True)
