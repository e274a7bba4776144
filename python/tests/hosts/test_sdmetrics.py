"""`Schema.to_sdv_metadata` with the real SDMetrics."""

from __future__ import annotations

import warnings

import jointly_dp as jd
import pytest

reports = pytest.importorskip("sdmetrics.reports", reason="NOT TESTED: sdmetrics is not installed")
pandas = pytest.importorskip("pandas")
np = pytest.importorskip("numpy")


def test_a_synthetic_table_has_a_quality_report():
    columns = [
        {"name": "sex", "kind": "categorical", "codes": ["f", "m"]},
        {"name": "age", "kind": "numeric", "edges": [0, 18, 40, 65, 100], "integer": True},
        {"name": "seen", "kind": "date", "edges": ["2020-01-01", "2020-07-01", "2021-01-01"]},
    ]
    schema, draw = jd.Schema({"columns": columns}), np.random.default_rng(1)
    age = draw.integers(0, 100, 3000)
    real = pandas.DataFrame({
        "sex": np.where(draw.uniform(size=3000) < 0.8, np.where(age < 40, "f", "m"), "f"),
        "age": age,
        "seen": pandas.Timestamp("2020-01-01") + pandas.to_timedelta(draw.integers(0, 366, 3000), unit="D"),
    })  # fmt: skip
    synth = jd.Synthesizer(schema, epsilon=5.0, delta=1e-9, mechanism="mst", workload="all-2-way").fit(real)
    made, metadata = synth.sample(3000, kind="pandas"), {"tables": {"people": schema.to_sdv_metadata()}}
    made["seen"] = pandas.to_datetime(made["seen"])
    scores = []
    for table in (made, made.apply(lambda column: draw.permutation(column.to_numpy()))):
        report = reports.QualityReport()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report.generate({"people": real}, {"people": table}, metadata, verbose=False)
        scores.append(report.get_properties().set_index("Property")["Score"])
    assert scores[0]["Column Shapes"] > 0.9
    # Columns that were shuffled one by one have the same shapes and lack the pairs.
    assert scores[0]["Column Pair Trends"] > scores[1]["Column Pair Trends"] + 0.02
    diagnostic = reports.DiagnosticReport()
    diagnostic.generate({"people": real}, {"people": made}, metadata, verbose=False)
    assert diagnostic.get_score() > 0.99
