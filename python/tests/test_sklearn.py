"""The synthesizer in scikit-learn's hands, and what it takes in place of its own types."""

from __future__ import annotations

import warnings

import jointly_dp as jd
import numpy as np
import pytest

PEOPLE = {"sex": [0, 1, 1, 0] * 100, "age": [3, 1, 2, 2] * 100}
COLUMNS = {"sex": 2, "age": 4}
SETTINGS = {"epsilon": 1.0, "delta": 1e-6, "workload": "all-2-way"}


def test_pipelines_clones_and_checks(tmp_path) -> None:
    sklearn = pytest.importorskip("sklearn", reason="NOT TESTED: scikit-learn is not installed")
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer
    from sklearn.utils.validation import check_is_fitted

    assert sklearn.__version__
    synth = jd.Synthesizer(COLUMNS, mechanism="jam-pgm", rounds=3, **SETTINGS)
    again = clone(synth)
    assert again.get_params() == synth.get_params() and again is not synth
    with pytest.raises(NotFittedError):
        check_is_fitted(synth)
    pipeline = make_pipeline(FunctionTransformer(lambda table: table), synth)
    pipeline.fit(pytest.importorskip("pandas").DataFrame(PEOPLE))
    check_is_fitted(synth)
    assert len(pipeline[-1].sample(7)) == 7
    with pytest.raises(TypeError, match="no target"):
        again.fit(PEOPLE, [0] * 400)


def test_schemas_seeds_and_public_tables_are_taken_as_they_come(tmp_path) -> None:
    path = tmp_path / "domain.json"
    path.write_text(jd.Schema(COLUMNS).to_json())
    public = {"sex": [0, 1] * 50, "age": [0, 1, 2, 3] * 25}
    file = tmp_path / "ohio.csv"
    file.write_text("sex,age\n" + "".join(f"{a},{b}\n" for a, b in zip(*public.values(), strict=True)))

    def release(schema: object, seed: object, tables: object) -> tuple[dict, list[str]]:
        synth = jd.Synthesizer(schema, seed=seed, mechanism="jam-pgm", rounds=3, **SETTINGS)
        with pytest.warns(UserWarning, match="NOT PRIVATE"):
            synth.fit(PEOPLE, public=tables)
        sources = {str(m.source) for m in synth.release_.measurements}
        return synth.released(kind="columns"), sorted(sources)

    rows, _ = release(jd.Schema(COLUMNS), 5, {"ohio": public})
    for schema, seed, tables in (
        (COLUMNS, np.int64(5), {"ohio": file}),
        (path, np.uint8(5), [file]),
        (str(path), 5, file),
        (COLUMNS, 5, {"ohio": public}),
    ):
        assert release(schema, seed, tables)[0] == rows
    # One table of columns has a name of its own.
    assert release(COLUMNS, 5, public)[0] == rows
    assert release(COLUMNS, 5, [public])[0] == rows
    with pytest.raises(TypeError, match="a schema is a int"):
        jd.Synthesizer(5, **SETTINGS).fit(PEOPLE)


def test_without_a_seed_nothing_is_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jd.Synthesizer(COLUMNS, mechanism="independent", **SETTINGS).fit(PEOPLE)
