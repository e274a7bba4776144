"""Spark counts as everybody does, whatever the partitions are."""

from __future__ import annotations

import os
import sys

import jointly_dp as jd
import pytest

pytest.importorskip("pyspark", reason="NOT TESTED: PySpark is not installed")

SCHEMA = jd.Schema(
    {
        "columns": [
            {"name": "a.sex", "kind": "categorical", "codes": ["m", "f"]},
            {"name": "age", "kind": "numeric", "edges": [0, 18, 65, 120], "integer": True, "na": True},
        ]
    }
)


@pytest.fixture(scope="module")
def spark():
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    try:
        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .getOrCreate()
        )
    except (PySparkException, OSError, RuntimeError):
        pytest.skip("NOT TESTED: Spark cannot be started; it needs Java")
    yield session
    session.stop()


def test_partitions_of_spark_are_counted(spark) -> None:
    rows = [("mf"[row % 3 % 2], None if row % 7 == 3 else row * 13 % 120, row) for row in range(5000)]
    plan = jd.CountPlan(SCHEMA, workload="all-2-way", mechanism="mst")
    expected = plan.counter()
    expected.update({"a.sex": [row[0] for row in rows], "age": [row[1] for row in rows]})
    from jointly_dp import spark as counting

    frame = spark.createDataFrame(rows, "`a.sex` string, age int, id int")
    for partitions, merges in ((1, 8), (4, 1), (16, 3)):
        counter = counting.count(frame.repartition(partitions), plan, merges=merges)
        assert counter.state() == expected.state(), (partitions, merges)
    with pytest.raises(ValueError, match="no column 'a.sex'"):
        counting.count(frame.select("age"), plan)
