"""`jointly_dp.sdgym` in a benchmark of the real SDGym, on a data set that is written here."""

from __future__ import annotations

import json
import warnings
import zipfile

import jointly_dp as jd
import pytest

sdgym = pytest.importorskip("sdgym", reason="NOT TESTED: sdgym is not installed")
pandas = pytest.importorskip("pandas")
np = pytest.importorskip("numpy")
hook = pytest.importorskip("jointly_dp.sdgym")

SCHEMA = jd.Schema({"sex": 2, "age": 5})


@pytest.fixture(scope="module")
def people() -> pandas.DataFrame:
    draw = np.random.default_rng(1)
    age = draw.integers(0, 5, 2000)
    return pandas.DataFrame({"sex": (draw.uniform(size=2000) < 0.1 + 0.2 * age).astype(int), "age": age})


def test_a_benchmark_runs_it(people, tmp_path, monkeypatch):
    folder = tmp_path / "single_table" / "people"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder.parent)  # SDGym 0.15.1 looks for local data sets by their names alone
    metadata = {"METADATA_SPEC_VERSION": "V1", "tables": {"people": SCHEMA.to_sdv_metadata()}, "relationships": []}
    (folder / "metadata.json").write_text(json.dumps(metadata))
    with zipfile.ZipFile(folder / "data.zip", "w") as file:
        file.writestr("people.csv", people.to_csv(index=False))
    asked = []

    def schema(table, metadata):
        asked.append(list(table.columns))
        return SCHEMA

    given = {"ours": SCHEMA, "by table": schema}
    classes = [hook.create(3.0, 1e-9, schema=columns, mechanism="mst", name=name) for name, columns in given.items()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = sdgym.benchmark_single_table(
            synthesizers=["UniformSynthesizer"], custom_synthesizers=classes, sdv_datasets=None,
            additional_datasets_folder=str(tmp_path), compute_privacy_score=False,
        )  # fmt: skip
    rows = found.set_index("Synthesizer")
    assert "Error" not in rows or rows["Error"].isna().all()
    quality = rows["Quality_Score"]
    for name in ("Custom:ours", "Custom:by table"):
        assert quality[name] > 0.9 > quality["UniformSynthesizer"]
    assert asked == [["sex", "age"]]


def test_columns_that_the_schema_lacks_are_an_error(people):
    custom = hook.create(1.0, 1e-9, schema=SCHEMA.select(["sex"]), mechanism="mst")
    with pytest.raises(jd.UsageError, match="lacks the columns \\['age'\\]"):
        custom().get_trained_synthesizer(people, {})
