"""`jointly_dp.smartnoise` with the real SmartNoise Synth."""

from __future__ import annotations

import jointly_dp as jd
import pytest

snsynth = pytest.importorskip("snsynth", reason="NOT TESTED: smartnoise-synth is not installed")
pandas = pytest.importorskip("pandas")
np = pytest.importorskip("numpy")
hook = pytest.importorskip("jointly_dp.smartnoise")

from snsynth.transform import BinTransformer, LabelTransformer, TableTransformer  # noqa: E402

NAMES = hook.register()
SCHEMA = jd.Schema({
    "columns": [
        {"name": "sex", "kind": "categorical", "codes": ["f", "m"]},
        {"name": "age", "kind": "numeric", "edges": [0, 18, 40, 65, 100], "integer": True},
        {"name": "job", "kind": "categorical", "codes": ["1", "2", "3"], "na": True},
    ]
})  # fmt: skip


def people(rows: int, seed: int) -> pandas.DataFrame:
    draw = np.random.default_rng(seed)
    age = draw.integers(0, 100, rows)
    job = np.where(age < 18, np.nan, draw.integers(1, 4, rows))
    return pandas.DataFrame({"sex": draw.choice(["f", "m"], rows), "age": age, "job": job})


def share(frame: pandas.DataFrame) -> float:
    """Of the young, who have no job."""
    young = frame[frame["age"] < 18]
    return young["job"].isna().mean()


def test_synthesizers_are_made_by_name():
    assert "jam-pgm" in NAMES and "jointly-mst" in NAMES and "jointly-aim" in NAMES
    assert hook.register() == NAMES
    assert set(NAMES) <= set(snsynth.Synthesizer.list_synthesizers())
    assert type(snsynth.Synthesizer.create("mst", epsilon=1.0)).__module__ == "snsynth.mst.mst"
    assert snsynth.Synthesizer.create("jam-pgm", epsilon=1).mechanism == "jam-pgm"
    assert snsynth.Synthesizer.create(hook.JamPgm, epsilon=1).mechanism == "jam-pgm"


@pytest.mark.parametrize("as_transformer", [True, False])
def test_a_frame_comes_back_as_a_frame(as_transformer):
    own = {} if as_transformer else {"schema": SCHEMA}
    synth = snsynth.Synthesizer.create("jam-pgm", epsilon=4.0, workload="all-2-way", rounds=6, **own)
    given = {"transformer": SCHEMA} if as_transformer else {}
    synth.fit(people(3000, 1), public={"other": people(3000, 2)}, **given)
    table = synth.sample(2000)
    assert isinstance(table, pandas.DataFrame) and len(table) == 2000
    assert table.columns.tolist() == ["sex", "age", "job"] and str(table["job"].dtype) == "Int64"
    assert share(table) > 0.8
    ledger = synth.release_.ledger
    assert ledger.is_private and ledger.spent <= ledger.limit == pytest.approx(jd.rho(4.0, 1e-9))
    some = synth.sample_conditional(50, "age > 40")
    assert len(some) == 50 and (some["age"] > 40).all()


@pytest.mark.parametrize("kind", ["array", "tuples"])
def test_arrays_and_tuples_come_back_as_such(kind):
    codes = np.random.default_rng(1).integers(0, 3, (500, 2))
    data = codes if kind == "array" else [tuple(row) for row in codes.tolist()]
    synth = snsynth.Synthesizer.create("jointly-mst", epsilon=3.0, schema=jd.Schema({"a": 3, "b": 3}))
    table = synth.fit_sample(data)
    assert type(table) is type(data) and len(table) == 500
    with pytest.raises(jd.UsageError, match="has 2 columns, expected 1"):
        snsynth.Synthesizer.create("independent", epsilon=1.0, schema=jd.Schema({"a": 3})).fit(data)


def test_a_fitted_transformer_of_smartnoise_is_taken():
    rows = people(2000, 3).drop(columns="job")
    transformer = TableTransformer([LabelTransformer(nullable=False), BinTransformer(bins=5, lower=0, upper=100)])
    transformer.fit(pandas.DataFrame({"sex": ["f", "m"], "age": [0, 99]}))  # public knowledge
    synth = snsynth.Synthesizer.create("jointly-mst", epsilon=3.0)
    synth.fit(rows, transformer=transformer)
    table = synth.sample(1000)
    assert table.columns.tolist() == ["sex", "age"] and set(table["sex"]) == {"f", "m"}
    assert abs(table["age"].mean() - rows["age"].mean()) < 8


def test_what_a_transformer_spent_is_subtracted():
    rows = pandas.DataFrame({"age": people(2000, 4)["age"].astype(float)})
    transformer = TableTransformer([BinTransformer(bins=4)])
    transformer.fit(rows, epsilon=0.5)
    spent, _ = transformer.odometer.spent
    assert spent > 0
    synth = snsynth.Synthesizer.create("independent", epsilon=2.0)
    synth.fit(rows, transformer=transformer)
    assert synth.release_.ledger.limit <= jd.rho(2.0 - spent, 1e-9)


def test_values_are_not_taken_from_the_private_rows():
    for transformer in (None, {}, TableTransformer([LabelTransformer()])):
        synth = snsynth.Synthesizer.create("jam-pgm", epsilon=1.0)
        with pytest.raises(jd.UsageError, match="may not be taken from the private rows"):
            synth.fit(people(100, 1)[["sex"]], transformer=transformer)
    with pytest.raises(jd.UsageError, match="preprocessor_eps"):
        synth.fit(people(100, 1), transformer=SCHEMA, preprocessor_eps=0.1)
    with pytest.raises(jd.UsageError, match="call fit first"):
        synth.sample(3)
