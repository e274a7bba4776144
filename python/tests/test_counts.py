"""Counting part by part: any form of a table, streams, merging, and the release of the whole table."""

from __future__ import annotations

import os
import pickle
import stat
import subprocess

import jointly_dp as jd
import pytest

SCHEMA = jd.Schema(
    {
        "columns": [
            {"name": "sex", "kind": "categorical", "codes": ["m", "f"]},
            {"name": "age", "kind": "numeric", "edges": [0, 18, 65, 120], "integer": True, "na": True},
        ]
    }
)
PLAN = jd.CountPlan(SCHEMA, workload="all-2-way", mechanism="mst")


def columns(rows: int, first: int = 0) -> dict[str, list]:
    numbers = range(first, first + rows)
    ages = [None if row % 7 == 3 else row * 13 % 120 for row in numbers]
    return {"age": ages, "sex": ["mf"[row % 3 % 2] for row in numbers]}


def counted(table: object) -> bytes:
    counter = PLAN.counter()
    counter.update(table)
    return counter.state()


EXPECTED = counted(columns(5000))


def test_every_form_of_a_table_is_counted_alike() -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(columns(5000))
    table = pyarrow.table(columns(5000))
    for form in (
        frame,
        frame.astype({"sex": "category"}),
        frame.convert_dtypes(),
        polars.DataFrame(columns(5000)),
        polars.DataFrame(columns(5000)).with_columns(polars.col("sex").cast(polars.Enum(["f", "m"]))),
        table,
        table.set_column(1, "sex", table["sex"].dictionary_encode()),
    ):
        assert counted(form) == EXPECTED


def test_what_streams_is_counted_as_it_comes(tmp_path) -> None:
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    dataset = pytest.importorskip("pyarrow.dataset")
    parquet = pytest.importorskip("pyarrow.parquet")
    for part in range(5):
        parquet.write_table(pyarrow.table(columns(1000, 1000 * part)), tmp_path / f"{part}.parquet")
    lazy = polars.scan_parquet(tmp_path / "*.parquet")
    files = dataset.dataset(tmp_path)
    assert counted(lazy) == EXPECTED
    assert counted(files) == EXPECTED
    assert counted(files.scanner(batch_size=100)) == EXPECTED
    assert counted(files.scanner().to_reader()) == EXPECTED
    assert counted(columns(1000, 1000 * part) for part in range(5)) == EXPECTED
    duckdb = pytest.importorskip("duckdb")
    assert counted(duckdb.sql(f"SELECT sex, age FROM '{tmp_path}/*.parquet'")) == EXPECTED


def test_parts_are_merged_in_any_order_and_wrong_ones_refused() -> None:
    parts = [counted(columns(1000, 1000 * part)) for part in (3, 0, 4, 1, 2)]
    merged = pickle.loads(pickle.dumps(PLAN)).counter()
    for part in parts:
        merged.merge(part)
    assert (merged.state(), merged.records) == (EXPECTED, 5000)
    other = jd.CountPlan(SCHEMA, workload="all-1-way", mechanism="independent")
    for wrong in (other.counter().state(), EXPECTED[:-1], b""):
        with pytest.raises(jd.InputError):
            merged.merge(wrong)
    assert merged.state() == EXPECTED
    with pytest.raises(TypeError, match="exact counts"):
        pickle.dumps(merged)


def test_a_run_on_counts_is_the_run_on_the_table(tmp_path) -> None:
    def release(table: object) -> tuple[object, str]:
        synth = jd.Synthesizer(
            SCHEMA, epsilon=1.0, delta=1e-6, workload="all-2-way", mechanism="mst", seed=5, error_share=0.1
        )
        synth.fit(table)
        return synth.released(kind="columns"), synth.release_.model.to_json()

    counter = PLAN.counter()
    counter.update(columns(5000))
    counter.write(tmp_path / "people.counts")
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / "people.counts").stat().st_mode) == 0o600
    held = release(columns(5000))
    assert release(counter) == held
    assert release(tmp_path / "people.counts") == held
    with pytest.raises(jd.JointlyError, match="exists"):
        counter.write(tmp_path / "people.counts")
    synth = jd.Synthesizer(SCHEMA, epsilon=1.0, delta=1e-6, workload="all-2-way", mechanism="mst", compress=0.1)
    with pytest.raises(jd.UsageError):
        synth.fit(counter)
    less = jd.CountPlan(SCHEMA, workload="all-1-way", mechanism="independent").counter()
    less.update(columns(10))
    synth = jd.Synthesizer(SCHEMA, epsilon=1.0, delta=1e-6, workload="all-2-way", mechanism="mst")
    with pytest.raises(jd.InputError, match="no counts of"):
        synth.fit(less)
    assert not hasattr(synth, "release_")


def test_rows_that_do_not_fit_are_refused_in_the_end(tmp_path) -> None:
    counter = PLAN.counter()
    counter.update({"sex": ["m", "x", "y"], "age": [1, 2, 3]})
    assert counter.records == 1
    with pytest.raises(jd.InputError, match="2 rows against 'sex', such as 'x'"):
        counter.write(tmp_path / "people.counts")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(jd.InputError, match="'age'"):
        counter.update({"sex": ["m"]})


def test_counts_go_to_the_command_line(tmp_path) -> None:
    program = os.environ.get("JOINTLY_PROGRAM")
    if not program:
        pytest.skip("NOT TESTED: JOINTLY_PROGRAM is not set")
    (tmp_path / "schema.json").write_text(SCHEMA.to_json())
    counter = PLAN.counter()
    counter.update(columns(5000))
    counter.write(tmp_path / "people.counts")
    words = "synth --private people.counts --schema schema.json --workload all-2-way --mechanism mst --epsilon 1 --delta 1e-6"
    subprocess.run([program, *words.split(), "--out", "out.csv"], cwd=tmp_path, check=True, capture_output=True)
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 5001


def test_a_public_table_may_be_counted_too(tmp_path) -> None:
    schema = jd.Schema({"sex": 2, "age": 5})
    people = {"sex": [i % 2 for i in range(400)], "age": [i * i % 5 for i in range(400)]}
    counter = jd.CountPlan(schema, workload="all-2-way", mechanism="aim").counter()
    counter.update(people)
    near, exact = tmp_path / "near.counts", tmp_path / "exact.counts"
    counter.write(near, as_public=True)
    counter.write(exact)
    settings = {"epsilon": 1.0, "delta": 1e-6, "workload": "all-2-way", "seed": 3}
    synth = jd.Synthesizer(schema, mechanism="jam-pgm", rounds=2, **settings)
    of_rows = synth.fit(people, public={"near": people}).release_.ledger
    assert synth.fit(people, public={"near": near}).release_.ledger == of_rows
    for refused, found in ((exact, "exact counts of private records"), (near, "counts alone, expected records")):
        with pytest.raises(jd.InputError, match=found):
            jd.Synthesizer(schema, mechanism="pmw-pub", rounds=2, **settings).fit(people, public={"near": refused})
    with pytest.raises(jd.InputError, match="counts of a public table"):
        synth.fit(near)
    with pytest.raises(jd.InputError, match="counts alone, expected records"):
        jd.trust(people, near, schema, epsilon=1.0, delta=1e-6)


def test_files_of_other_writers_are_read_alike(tmp_path) -> None:
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    feather = pytest.importorskip("pyarrow.feather")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table(columns(5000))
    frame = polars.DataFrame(columns(5000))
    for form in ("lz4", "zstd", "uncompressed"):
        feather.write_feather(table, tmp_path / f"pyarrow-{form}.feather", compression=form)
        frame.write_ipc(tmp_path / f"polars-{form}.arrow", compression=form)
    words = table.set_column(1, "sex", table["sex"].dictionary_encode())
    feather.write_feather(words, tmp_path / "words.feather")
    frame.write_ipc(tmp_path / "old.arrow", compat_level=polars.CompatLevel.oldest())
    for version in ("1.0", "2.0"):
        place = tmp_path / f"brotli-{version}.parquet"
        parquet.write_table(table, place, compression="brotli", data_page_version=version, use_dictionary=False)

    def fitted(private: object) -> str:
        settings = {"workload": "all-2-way", "mechanism": "mst", "seed": 3, "error_share": 0}
        return jd.Synthesizer(SCHEMA, epsilon=1.0, delta=1e-6, **settings).fit(private).release_.model.to_json()

    expected = fitted(columns(5000))
    files = sorted(tmp_path.iterdir())
    assert len(files) == 10
    for file in files:
        assert fitted(file) == expected, file.name
